"""Word rules of spaCy's tokenizer for English in plain Python, which `word_tokens` implements in kernels.

A text is cut at white space. Marks are cut off both ends of each piece one by one, and the rest is cut at marks inside
it; exceptions (contractions, abbreviations, emoticons, addresses) come before that. The lists are facts about spaCy
3.8; a test compares them with it. Classes of characters follow the Unicode tables of Python, with spaCy's blocks.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import accumulate

import numpy as np

from refinery.kernels.core.charclass import kept
from refinery.kernels.dedup.sentence_units import TERMINALS

# Bits of a code point.
PREFIX, SUFFIX, ICON, LOWER, UPPER, ALPHA, QUOTE, BEFORE_STOP, CURRENCY = (1 << n for n in range(9))
DIGIT, SPACE, CASED_UPPER, CASED_LOWER, TITLE, IN_HOST, JOINT, PUNCT, TERMINAL, WORD = (1 << n for n in range(9, 19))


def characters(ranges: str) -> list[int]:
    """Code points of ranges in hexadecimal."""
    parts = [item.partition("-") for item in ranges.split()]
    return [c for first, _, last in parts for c in range(int(first, 16), int(last or first, 16) + 1)]


# Where letters of category Ll and Lu count as such, and letters of scripts without upper case, marks among them.
_CASED = """41-7A C0-2AF 386-38F 391-3A9 3AC-3AF 3B1-3C9 3CC-3CE 400-401 403-40A 40C-40D 410-451 453-45A 45C-45D
    490-491 496-497 4A2-4A3 4AE-4AF 4BA-4BB 4D8-4D9 4E8-4E9 1D00-1D25 1D6B-1EFF 2C60-2C7F A722-A7B9 A7FA-AB64 FF21-FF5A"""
_UNCASED = """591-5F4 620-64A 66E-6D5 6E5-6FF 750-77F 8A0-8BD 900-9FF B80-CFF D80-DFF 1100-137F 2E80-2FDF 2FF0-30FF
    31C0-31EF 3200-4DBF 4E00-9FFF AC00-D7AF F900-FAFF FB1D-FBB1 FBD3-FD3D FD50-FDC7 FDF0-FDFB FE30-FE4F FE70-FEFC
    1EE00-1EEBB 1F200-1F2FF 20000-2A6DF 2A700-2EBEF 2F800-2FA1F"""
_NEITHER_CASE = "1BB 1C5 1C8 1CB 1F2"
# Symbols of category So that are no symbols to spaCy: mostly newer ones.
_NO_ICONS = """166D 2B97 2BC9 2BFF 2E50-2E51 32FF FD40-FD4F FDCF FDFE-FDFF 1019C 11FD5-11FDC 11FE1-11FF1 1CF50-1CFC3
    1D1E9-1D1EA 1E14F 1ED2E 1F10D-1F10F 1F16C-1F16F 1F1AD 1F6D5-1F6D7 1F6DC-1F6DF 1F6FA-1F6FC 1F774-1F776 1F77B-1F77F
    1F7D9 1F7E0-1F7EB 1F7F0 1F8B0-1F8B1 1F90C-1F90F 1F93F 1F971-1F972 1F977-1F979 1F97B 1F9A3-1F9AF 1F9BA-1F9BF
    1F9C3-1F9CF 1FA00-1FA53 1FA6E-1FBCA"""
_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》\u3008\u3009\u2329\u232a⟦⟧"
_MARKS = "…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪"
_CURRENCIES = "$£€¥฿₽﷼" + "".join(map(chr, range(0x20A0, 0x20C0)))
HYPHENS = ("——", "---", "--", "-", "–", "—", "~")
DOLLARS = ("US$", "C$", "A$")
UNITS = frozenset(
    """
    km km² km³ m m² m³ dm dm² dm³ cm cm² cm³ mm mm² mm³ ha µm nm yd in ft kg g mg µg t lb oz m/s km/h kmh mph hPa Pa
    mbar mb MB kb KB gb GB tb TB T G M K % км км² км³ м м² м³ дм дм² дм³ см см² см³ мм мм² мм³ нм кг г мг м/с км/ч кПа
    Па мбар Кб КБ кб Мб МБ мб Гб ГБ гб Тб ТБ тбكم كم² كم³ م م² م³ سم سم² سم³ مم مم² مم³ كم غرام جرام جم كغ ملغ كوب
    اكواب
    """.split()
)


LONGEST_PHRASE = 11  # most words that an exception is cut into
_PIECE = re.compile(r"\S+")


@lru_cache(maxsize=1)
def classes() -> np.ndarray:
    """Bits of every code point, uint32 (0x110000)."""
    return kept("words", np.uint32, _classes)


def _classes() -> np.ndarray:
    table = np.zeros(0x110000, np.uint32)
    categories = {c: unicodedata.category(chr(c)) for c in range(0x110000)}
    known = set(characters(_CASED)) - {0x294}
    for c, category in categories.items():
        char = chr(c)
        bits = SPACE if char.isspace() else PUNCT if category[0] == "P" else 0
        bits |= (char.isalnum() or char == "_") * WORD  # \w
        if c < 0x20000:  # beyond, no character has case; a test checks all of them
            bits |= char.isupper() * CASED_UPPER | char.islower() * CASED_LOWER
            bits |= (char.istitle() and not char.isupper()) * TITLE
        if category in ("Ll", "Lu") and c in known:
            bits |= ALPHA | (LOWER if category == "Ll" else UPPER)
        if category == "So":
            bits |= ICON
        table[c] = bits
    table[0x294] |= ALPHA | LOWER
    table[0x3A2] |= ALPHA | UPPER
    table[characters(_UNCASED)] |= ALPHA | LOWER | UPPER
    table[characters(_NEITHER_CASE)] |= ALPHA
    table[characters(_NO_ICONS)] &= ~np.uint32(ICON)
    table[0x30:0x3A] |= DIGIT
    host = np.zeros(0x110000, np.bool_)
    host[0xA1:0x10000] = True
    for char in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
        host[ord(char)] = True
    table[host] |= IN_HOST
    for text, bit in (
        (_QUOTES + _MARKS + "§%=—–" + _CURRENCIES, PREFIX),
        (_QUOTES + _MARKS + "—–", SUFFIX),
        (_QUOTES, QUOTE),
        (_QUOTES + _MARKS + "%²-+|0123456789", BEFORE_STOP),
        (_CURRENCIES, CURRENCY),
        (".…,+-*^:<>=/–—~", JOINT),
        ("".join(TERMINALS), TERMINAL),
    ):
        table[[ord(char) for char in text]] |= bit
    table[(table & LOWER) != 0] |= BEFORE_STOP
    table[(table & ICON) != 0] |= PREFIX | SUFFIX | JOINT
    return table


def _has(char: str, bits: int) -> bool:
    return bool(classes()[ord(char)] & bits)


# Exceptions


def _contractions() -> list[tuple[str, ...]]:
    """Parts of contractions, in lower case, with U+0027 for every apostrophe."""
    pieces: list[str] = []
    for word, marked, plain in (
        ("i", "d ll m ve", "d m ve"),
        ("you", "d ll re ve", "d ll re ve"),
        ("he", "d ll s", "d s"),
        ("she", "d ll s", "s"),
        ("it", "d ll s", "d ll"),
        ("we", "d ll re ve", "d ve"),
        ("they", "d ll re ve", "d ll re ve"),
        ("who", "d ll re s ve", "d ll s ve"),
        *((word, "d ll re s ve", "d ll re s ve") for word in ("what", "when", "where", "why", "how", "there")),
        *((word, "d ll s", "d ll s") for word in ("that", "this")),
        *((word, "d ll re ve", "d ll re ve") for word in ("these", "those")),
        *((word, "ve", "ve") for word in ("could", "might", "must", "should", "would", "not")),
    ):
        pieces += [f"{word}|'{part}" for part in marked.split()] + [f"{word}|{part}" for part in plain.split()]
        if "d" in marked.split():
            pieces += [f"{word}|'d|'ve", f"{word}|'ll|'ve", f"{word}|d|ve", f"{word}|ll|ve"]
    twice = "ca could did does do had may might must need ought sha should wo would".split()
    for word in (*twice, "is", "are", "was", "were", "have", "has", "dare", "ai"):
        pieces += [f"{word}|n't", f"{word}|nt"]
        pieces += [f"{word}|n't|'ve", f"{word}|nt|ve"] if word in twice else []
    pieces += ["i|'m|a", "i|m|a", "how|'d|'y", "let|'s", "can|not", "gon|na", "got|ta", "c'm|on"]
    return [tuple(item.split("|")) for item in pieces]


_ABBREVIATIONS = """
    Adm. Ak. Ala. Apr. Ariz. Ark. Aug. Bros. Calif. Co. Colo. Conn. Corp. D.C. Dec. Del. Dr. E.G. E.g. Feb. Fla. Ga. Gen.
    Gov. I.E. I.e. Ia. Id. Ill. Inc. Ind. Jan. Jr. Jul. Jun. Kan. Kans. Ky. La. Ltd. Mar. Mass. Md. Messrs. Mich. Minn.
    Miss. Mo. Mont. Mr. Mrs. Ms. Mt. N.C. N.D. N.H. N.J. N.M. N.Y. Neb. Nebr. Nev. Nov. Oct. Okla. Ore. Pa. Ph.D. Prof.
    Rep. Rev. S.C. Sen. Sep. Sept. St. Tenn. Va. Wash. Wis. a.m. co. e.g. i.e. p.m. v.s. vs. and/or w/o C++ em ll nuff
"""
_DROPPED_G = "doin goin havin lovin nothin nuthin somethin ol"  # with and without an apostrophe
_BEGUN_LATE = "'cause 'cos 'coz 'cuz"
_APOSTROPHES = "'S 's 'bout 'd 'em 'll 'nuff 're ma'am Ma'am o'clock O'clock"
_EMOTICONS = r"""
    (*_*) (-8 (-: (-; (-_-) (._.) (: (; (= (>_<) (^_^) (o: (¬_¬) (ಠ_ಠ) (╯°□°）╯︵┻━┻ )-: ): -_- -__- ._. 0.0 0.o 0_0 0_o
    8) 8-) 8-D 8D :'( :') :'-( :'-) :( :(( :((( :() :) :)) :))) :* :-( :-(( :-((( :-) :-)) :-))) :-* :-/ :-0 :-3 :-> :-D
    :-O :-P :-X :-] :-o :-p :-x :-| :-} :/ :0 :1 :3 :> :D :O :P :X :] :o :o) :p :x :| :} :’( :’) :’-( :’-) ;) ;-) ;-D ;D
    ;_; <.< </3 <3 <33 <333 <space> =( =) =/ =3 =D =[ =] =| >.< >.> >:( >:o ><(((*> @_@ O.O O.o O_O O_o V.V V_V XD XDD
    [-: [: [= \") \n \t ]= ^_^ ^__^ ^___^ o.0 o.O o.o o_0 o_O o_o v.v v_v xD xDD ¯\(ツ)/¯ ಠ_ಠ ಠ︵ಠ — '' ’’ ’ '
"""


@lru_cache(maxsize=1)
def exceptions() -> dict[str, tuple[str, ...]]:
    """Listed pieces of text, with their words."""
    pieces: dict[str, tuple[str, ...]] = {}
    for parts in _contractions():
        capital = (parts[0][0].upper() + parts[0][1:], *parts[1:])
        for spelled in (parts, capital):
            curly = tuple(part.replace("'", "’") for part in spelled)
            pieces |= {"".join(spelled): spelled, "".join(curly): curly}
    for hour in range(1, 13):
        pieces |= {f"{hour}{half}": (str(hour), half) for half in ("am", "pm", "a.m.", "p.m.")}
    for degree in "CFKcfk":
        pieces[f"°{degree}."] = ("°", degree, ".")
    pieces |= {"y'all": ("y'", "all"), "y’all": ("y’", "all"), "yall": ("y", "all")}
    single = [
        *_ABBREVIATIONS.split(),
        *_EMOTICONS.split(),
        *(f"{letter}." for letter in "abcdefghijklmnopqrstuvwxyzäöü"),
    ]
    for word in _DROPPED_G.split():
        single += [form + end for form in (word, word.capitalize()) for end in ("", "'", "’")]
    late = [form for word in _BEGUN_LATE.split() for form in (word, "'" + word[1:].capitalize())]
    single += [form.replace("'", mark) for form in (*late, *_APOSTROPHES.split()) for mark in "'’"]
    single += ["‘S", "‘s"]
    return pieces | {text: (text,) for text in single}


@lru_cache(maxsize=1)
def phrases() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Exceptions that the rules alone would cut, by the resulting words; they also apply where these words occur."""
    by_words = {tuple(cut(text, known=False)): parts for text, parts in exceptions().items()}
    return {words: parts for words, parts in by_words.items() if len(words) > 1}


# Rules


def words(text: str) -> list[str]:
    """Words and marks of a text."""
    return [word for _, of_piece in pieces(text) for word in of_piece]


def pieces(text: str) -> list[tuple[int, list[str]]]:
    """Pieces between white space: start and words of each."""
    result: list[tuple[int, list[str]]] = []
    run: list[tuple[int, list[str]]] = []  # pieces with a single U+0020 between two
    end = -2
    for match in _PIECE.finditer(text):
        if text[end : match.start()] != " ":
            result += joined(run)
            run = []
        run.append((match.start(), _parts(match.group())))
        end = match.end()
    return result + joined(run)


def _parts(piece: str) -> list[str]:
    parts = exceptions().get(piece)
    return list(parts) if parts else cut(piece)


def joined(run: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Join phrases among the parts of adjacent pieces into the form of their exceptions.

    Longer phrases come first, then earlier ones. A phrase that is skipped, because one of its ends belongs to another
    phrase, still blocks its parts for later phrases; so does a phrase across several pieces, which has no such form.
    """
    parts = [part for _, piece in run for part in piece]
    begins = list(accumulate((len(piece) for _, piece in run), initial=0))
    seen = [False] * len(parts)
    taken: dict[int, tuple[int, tuple[str, ...]]] = {}
    for length in range(min(len(parts), LONGEST_PHRASE), 1, -1):
        for i in range(len(parts) - length + 1):
            whole = phrases().get(tuple(parts[i : i + length]))
            if whole:
                if not seen[i] and not seen[i + length - 1] and not any(i < begin < i + length for begin in begins):
                    taken[i] = (length, whole)
                seen[i : i + length] = [True] * length
    places = [place for place, _ in run]
    return [(places[n], _written(parts, begins[n], begins[n + 1], taken)) for n in range(len(run))]


def _written(parts: list[str], i: int, end: int, taken: dict[int, tuple[int, tuple[str, ...]]]) -> list[str]:
    cut_words: list[str] = []
    while i < end:
        length, whole = taken.get(i, (1, (parts[i],)))
        cut_words += whole
        i += length
    return cut_words


def cut(text: str, known: bool = True) -> list[str]:
    """Cut marks off both ends, then cut the rest; known: stop at exceptions."""
    special = exceptions() if known else {}
    before: list[str] = []
    after: list[str] = []
    while text and text not in special:
        first = prefix(text)
        if first and text[first:] in special:
            before.append(text[:first])
            text = text[first:]
            break
        last = suffix(text[first:])
        if last and text[:-last] in special:
            after.append(text[-last:])
            text = text[:-last]
            break
        if not first and not last:
            break
        if first:
            before.append(text[:first])
        if last:
            after.append(text[len(text) - last :])
        text = text[first : len(text) - last]
    return before + (inside(text, special) if text else []) + after[::-1]


def prefix(text: str) -> int:
    """Number of characters to cut off the front."""
    first = text[:1]
    if not first:
        return 0
    if _has(first, PREFIX):
        return 1
    if first == ".":
        dots = len(text) - len(text.lstrip("."))
        return dots if dots > 1 else 0
    if first == "+":
        return int(not text[1:2] or not _has(text[1], DIGIT))
    return next((len(sign) for sign in DOLLARS if text.startswith(sign)), 0)


def suffix(text: str) -> int:
    """Number of characters to cut off the end."""
    if not text:
        return 0
    last, before = text[-1], text[-2:-1]
    if last == ".":
        dots = len(text) - len(text.rstrip("."))
        return dots if dots > 1 else int(bool(before) and _ends_before_stop(text))
    if text.endswith("……") or (last in "sS" and before and before in "'’"):
        return 2
    if _has(last, SUFFIX):
        return 1
    digit = max((i for i, char in enumerate(text) if _has(char, DIGIT)), default=-1)
    tail = text[digit + 1 :]
    if digit < 0 or not tail:
        return 0
    one = len(tail) == 1 and (tail == "+" or _has(tail, CURRENCY))
    return len(tail) if one or tail in DOLLARS or tail in UNITS else 0


def _ends_before_stop(text: str) -> bool:
    """True if the full stop at the end of the text is a separate mark."""
    if _has(text[-2], BEFORE_STOP):
        return True
    if len(text) < 3:
        return False
    return (text[-3] == "°" and text[-2] in "FfCcKk") or (_has(text[-3], UPPER) and _has(text[-2], UPPER))


def inside(text: str, special: dict[str, tuple[str, ...]]) -> list[str]:
    """Words of a text with its ends already cut."""
    if text in special:
        return list(special[text])
    if is_address(text):
        return [text]
    cut_words, start, i = [], 0, 0
    while i < len(text):
        length = infix(text, i)
        if length and i > 0:
            cut_words += [text[start:i]] if i > start else []
            cut_words.append(text[i : i + length])
            start = i + length
        i += max(length, 1)
    return cut_words + ([text[start:]] if start < len(text) else [])


def infix(text: str, i: int) -> int:
    """Length of a mark at i that cuts the text in two; 0 without such a mark."""
    char, before = text[i], text[i - 1 : i] if i else ""
    if char == "." and text[i : i + 2] == "..":
        return len(text) - i - len(text[i:].lstrip("."))
    if char == "…" or _has(char, ICON):
        return 1
    if not before:
        return 0
    after = text[i + 1 : i + 2]
    if after and char in "+-*^" and _has(before, DIGIT) and (_has(after, DIGIT) or after == "-"):
        return 1
    if after and char == "." and _has(before, LOWER | QUOTE) and _has(after, UPPER | QUOTE):
        return 1
    if after and char == "," and _has(before, ALPHA) and _has(after, ALPHA):
        return 1
    if not _has(before, ALPHA | DIGIT):
        return 0
    if after and char in ":<>=/" and _has(after, ALPHA):
        return 1
    for hyphen in HYPHENS:
        end = i + len(hyphen)
        if text.startswith(hyphen, i) and end < len(text) and _has(text[end], ALPHA):
            return len(hyphen)
    return 0


def sentences(text: str) -> list[str]:
    """Sentences of a text, without white space at their ends; empty sentences are left out.

    A sentence begins at the first word after a terminal mark that is not punctuation. White space is a word, except a
    single U+0020 behind another word.
    """
    result, begin, end, seen = [], -1, 0, False
    known = iter(pieces(text))
    for match in re.finditer(r"\s+|\S+", text):
        blank = match.group().isspace()
        at = match.start()
        if blank and ((match.group()[0] == " " and at > 0 and len(match.group()) == 1) or not seen):
            continue
        for word in [""] if blank else next(known)[1]:
            terminal = len(word) == 1 and _has(word, TERMINAL)
            if seen and not terminal and not (word and all(_has(char, PUNCT) for char in word)):
                result.append(text[begin:end])
                begin, seen = -1, False
            seen = seen or terminal
            begin = at if begin < 0 and word else begin
            at += len(word)
            end = at if word else end
    return [*result, text[begin:end]] if begin >= 0 else result


# Addresses of pages and mailboxes: one word, whatever they contain

_SCHEME = re.compile(r"[\w+.-]{2,}://")
_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\Z", re.ASCII)
_PORT = re.compile(r"(?::[0-9]{2,5})?(?:[/?#].*)?\Z", re.DOTALL)


def is_address(text: str) -> bool:
    """True if a text is an address: a host, with or without a scheme, a user, a port, a path."""
    if "." not in text:
        return False
    starts = {0} | {i + 1 for i, char in enumerate(text) if char == "@" and i}
    scheme = _SCHEME.match(text)
    if scheme:
        starts.add(scheme.end())
    return any(_is_host(text, start) for start in starts)


def _is_host(text: str, start: int) -> bool:
    end = next((i for i in range(start, len(text)) if text[i] in ":/?#"), len(text))
    if not _PORT.match(text, end):
        return False
    host = text[start:end]
    numbers = _NUMBERS.match(host)
    if numbers:
        return _is_public([int(n) for n in numbers.groups()], numbers.groups())
    *labels, top = host.split(".")
    return bool(labels) and 2 <= len(top) <= 63 and all(_has(c, LOWER) for c in top) and all(map(_is_label, labels))


def _is_label(label: str) -> bool:
    if not 0 < len(label) <= 64 or not _has(label[0], IN_HOST) or not _has(label[-1], IN_HOST):
        return False
    return all(_has(char, IN_HOST) or char in "_-" for char in label)


def _is_public(numbers: list[int], written: tuple[str, ...]) -> bool:
    """True if four numbers are an address outside private networks, without needless zeros at either end."""
    a, b, c, d = numbers
    if a in (10, 127) or (a, b) in ((169, 254), (192, 168)) or (a == 172 and 16 <= b <= 31):
        return False
    plain = not written[0].startswith("0") and not written[3].startswith("0")
    return plain and 1 <= a <= 223 and b <= 255 and c <= 255 and 1 <= d <= 254
