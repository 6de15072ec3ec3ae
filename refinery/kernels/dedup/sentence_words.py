"""Words of a text and their tokens, by rules that closely follow spaCy's English tokenizer.

Every rule looks at a bounded part of the word, or at each part once: a text without white space is one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import regex

OTHER, PUNCT, TERMINAL = 0, 1, 2  # kinds of tokens


def characters(ranges: str) -> str:
    """Characters of code point ranges in hexadecimal."""
    parts = [item.partition("-") for item in ranges.split()]
    return "".join(chr(c) for first, _, last in parts for c in range(int(first, 16), int(last or first, 16) + 1))


# Sentence ends of spaCy's sentencizer.
TERMINALS = frozenset(
    characters("""
        21 2E 3F 589 61F 6D4 700-702 7F9 964-965 104A-104B 1362 1367-1368 166E 1735-1736 1803 1809 1944-1945 1AA8-1AAB
        1B5A-1B5B 1B5E-1B5F 1C3B-1C3C 1C7E-1C7F 203C-203D 2047-2049 2E2E 2E3C 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877
        A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE52 FE56-FE57 FF01 FF0E FF1F FF61 10A56-10A57 11047-11048
        110BE-110C1 11141-11143 111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C 115C2-115C3
        115C9-115D7 11641-11642 1173C-1173E 11A42-11A43 11A9B-11A9C 11C41-11C42 16A6E-16A6F 16AF5 16B37-16B38 16B44
        1BC9F 1DA88
    """)
)

# Single characters that spaCy cuts off both ends of a word, and those that it cuts off one end only.
_EDGES = frozenset("…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪'\"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉⟦⟧—–")
_PREFIXES = _EDGES | frozenset("§%=$£€¥฿₽﷼₴₠₡₢₣₤₥₦₧₨₩₪₫₭₮₯₰₱₲₳₵₶₷₸₹₺₻₼₾₿")
_SUFFIX = regex.compile(
    r"(?:(?<=[0-9])(?:\+|(?:US|[CA])?[$]|[£€¥₹%]|km[²³]?|[dcm]?m[²³]?|ha|[µn]m|yd|in|ft|[kmµ]?g|t|lb|oz|[mk]m?/[sh]|kmh|mph"
    r"|h?Pa|mbar|[mMkKgGtT][bB]|[TGMK])|['’][sS])\Z"
)
_UNCASED = (  # blocks of scripts without upper case, marks among them
    r"\u0591-\u05f4\u0620-\u06ff\u0750-\u077f\u08a0-\u08bd\u0900-\u09ff\u0b80-\u0cff\u0d80-\u0dff\u1100-\u137f"
    r"\u2e80-\u30ff\u31c0-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\ufb1d-\ufdff\ufe30-\ufe4f\ufe70-\ufefc"
    r"\U00020000-\U0002fa1f"
)
_QUOTES = r"'\"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉⟦⟧"
_BEFORE_STOP = regex.compile(rf"[0-9\p{{Ll}}{_UNCASED}%²\-+|…,:;!?¿؟¡()\[\]{{}}<>_#*&。？！，、；：～·।،۔؛٪{_QUOTES}]")
_INFIX = regex.compile(
    rf"\.\.+|…|\p{{So}}|(?<=[0-9])[+\-*^](?=[0-9-])|(?<=[\p{{Ll}}{_UNCASED}{_QUOTES}])\.(?=[\p{{Lu}}{_UNCASED}{_QUOTES}])"
    rf"|(?<=[\p{{L}}{_UNCASED}]),(?=[\p{{L}}{_UNCASED}])|(?<=[\p{{L}}{_UNCASED}0-9])(?:——|---|--|[-–—~])(?=[\p{{L}}{_UNCASED}])"
    rf"|(?<=[\p{{L}}{_UNCASED}0-9])[:<>=/](?=[\p{{L}}{_UNCASED}])"
)
_LABEL = re.compile(r"(?:[A-Za-z0-9\u00a1-\uffff][A-Za-z0-9\u00a1-\uffff_-]{0,62})?[A-Za-z0-9\u00a1-\uffff]")
_LAST_LABEL = regex.compile(rf"[\p{{Ll}}{_UNCASED}]{{2,63}}")
_MACHINE = regex.compile(r"(?:\d{1,3}\.){3}\d{1,3}")
_SCHEME = regex.compile(r"[\w+.-]{2,}://")
_HOST_END = re.compile(r"[:/?#@]|\Z")
_AFTER_HOST = regex.compile(r"(?::\d{2,5})?(?:[/?#]|\Z)")
_FIRST_OF_TWO = re.compile(  # contractions, with or without the apostrophe
    r"""(?:[Ii](?='?(?:[dm]|ll|ve)\Z)
    |(?:[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey|[Ww]ho|[Ww]hat|[Ww]hen|[Ww]here|[Ww]hy|[Hh]ow|[Tt]h(?:ere|at|is|ese|ose))
        (?='?(?:ll|ve|re|d|s)\Z)
    |(?:[Cc]a|[Cc]ould|[Dd](?:o|oes|id|are)|[Hh]a(?:d|s|ve)|[Mm](?:ay|ight|ust)|[Nn]eed|[Oo]ught|[Ss]ha|[Ss]hould
        |[Ww](?:o|ould|as|ere)|[Aa](?:i|re)|[Ii]s)(?=n'?t\Z)
    |[Cc]an(?=not\Z)|[Gg]on(?=na\Z)|[Gg]ot(?=ta\Z)|[Ll]et(?='s\Z)|(?:1[0-2]|[1-9])(?=(?:[ap]\.m\.|[ap]m)\Z))""",
    re.VERBOSE,
)
_ONE_WORD = frozenset(
    ["its", "Its", "were", "Were", "well", "Well", "hell", "Hell", "shell", "Shell", "shed", "Shed", "ill", "Ill"]
)
_ABBREVIATIONS = frozenset(
    """
    Adm. Ak. Ala. Apr. Ariz. Ark. Aug. Bros. Calif. Co. Colo. Conn. Corp. D.C. Dec. Del. Dr. E.G. E.g. Feb. Fla. Ga.
    Gen. Gov. I.E. I.e. Ia. Id. Ill. Inc. Ind. Jan. Jr. Jul. Jun. Kan. Kans. Ky. La. Ltd. Mar. Mass. Md. Messrs. Mich.
    Minn. Miss. Mo. Mont. Mr. Mrs. Ms. Mt. N.C. N.D. N.H. N.J. N.M. N.Y. Neb. Nebr. Nev. Nov. Oct. Okla. Ore. Pa. Ph.D.
    Prof. Rep. Rev. S.C. Sen. Sep. Sept. St. Tenn. Va. Wash. Wis. a.m. co. e.g. i.e. p.m. v.s. vs. and/or w/o
    """.split()
) | {f"{letter}." for letter in "abcdefghijklmnopqrstuvwxyzäöü"}

_LONGEST = max(map(len, _ABBREVIATIONS))


def tokens(word: str) -> Sequence[tuple[int, int]]:
    """Offset and kind of each token of a word that is not empty and holds no white space."""
    if len(word) > 50:
        return _split(word)
    return _remembered(word)


@lru_cache(maxsize=1 << 17)
def _remembered(word: str) -> Sequence[tuple[int, int]]:
    return _split(word)


def _split(word: str) -> Sequence[tuple[int, int]]:
    if word.isalnum() and not word[-1].isalpha():
        return ((0, OTHER),)
    start, end, suffixes = 0, len(word), []
    begins: list[int] = []  # where tokens start
    while start < end and not _is_abbreviation(word, start, end):
        before, after = _prefix(word, start, end), 0
        if before and _is_abbreviation(word, start + before, end):
            begins.append(start)
            start += before
            break
        if start + before < end:
            after = _suffix(word, start + before, end)
        if not before and not after:
            break
        if after:
            suffixes.append(end - after)
            end -= after
            if _is_abbreviation(word, start, end):
                break
        if before:
            begins.append(start)
            start += before
    if start < end:
        begins += [start + offset for offset in _inside(word[start:end])]
    begins += reversed(suffixes)
    begins = [a for i, a in enumerate(begins) if not (i and word[a] == "." and _abbreviated(word, begins, i))]
    ends = [*begins[1:], len(word)]
    return tuple((a, _kind(word[a:b])) for a, b in zip(begins, ends, strict=True))


def _is_abbreviation(word: str, start: int, end: int) -> bool:
    """Return whether a part of a word is one; long parts are not copied, since a word may be a whole text."""
    return end - start <= _LONGEST and word[start:end] in _ABBREVIATIONS


def _abbreviated(word: str, starts: list[int], i: int) -> bool:
    """True if token i, a full stop, makes an abbreviation of the previous token, so that both are one token."""
    end = starts[i + 1] if i + 1 < len(starts) else len(word)
    return word[starts[i - 1] : end] in _ABBREVIATIONS


def _kind(token: str) -> int:
    if token[0].isalnum():
        return OTHER
    if token in TERMINALS:
        return TERMINAL
    return PUNCT if all(unicodedata.category(c)[0] == "P" for c in token) else OTHER


def _prefix(word: str, start: int, end: int) -> int:
    """Number of characters to cut off the front of a part of a word."""
    first = word[start]
    if first in _PREFIXES:
        return 1
    if first == ".":
        dots = 1
        while start + dots < end and word[start + dots] == ".":
            dots += 1
        return dots if dots > 1 else 0
    if first == "+":
        return int(start + 1 == end or word[start + 1] not in "0123456789")
    if word.startswith(("US$", "C$", "A$"), start, end):
        return word.index("$", start) + 1 - start
    return int(first > "\x7f" and unicodedata.category(first) == "So")


def _suffix(word: str, start: int, end: int) -> int:
    """Number of characters to cut off the end of a part of a word."""
    last = word[end - 1]
    if last == ".":
        dots = 1
        while start < end - dots and word[end - dots - 1] == ".":
            dots += 1
        if dots > 1:
            return dots
        if end - start > 1 and _BEFORE_STOP.match(word[end - 2]):
            return 1
        return int(end - start > 2 and word[end - 3].isupper() and word[end - 2].isupper())
    if last in _EDGES:
        return 2 if word.endswith("……", start, end) else 1
    if last > "\x7f" and unicodedata.category(last) == "So":
        return 1
    match = _SUFFIX.search(word[max(start, end - 8) : end])
    return len(match.group()) if match else 0


def _inside(word: str) -> list[int]:
    """Starts of the tokens of a word that has nothing left to cut off its ends."""
    if word in _ABBREVIATIONS or word in _ONE_WORD:
        return [0]
    if two := _FIRST_OF_TWO.match(word):
        return [0, two.end()]
    if word.isalnum() or ("." in word and _is_address(word)):
        return [0]
    starts, end = [0], 0
    for match in _INFIX.finditer(word):
        if match.start() == 0:
            continue
        if match.start() != end:
            starts.append(match.start())
        end = match.end()
        if end < len(word):
            starts.append(end)
    return starts


def _is_address(word: str) -> bool:
    """Return whether a word is the address of a page or a mailbox, which is one token whatever it contains.

    It is [scheme://][name@]host[:port][/...]. A host contains no @, so each part of the word is looked at once.
    """
    scheme = _SCHEME.match(word)
    if _has_host(word, 0) or (scheme is not None and _has_host(word, scheme.end())):
        return True
    at = word.find("@", 1)
    while at >= 0:
        if _has_host(word, at + 1):
            return True
        at = word.find("@", at + 1)
    return False


def _has_host(word: str, start: int) -> bool:
    """Return whether a host begins here, followed by what may follow a host."""
    end = _HOST_END.search(word, start).start()  # type: ignore[union-attr]  # the end of the word, at least
    if not _AFTER_HOST.match(word, end):
        return False
    host = word[start:end]
    *labels, last = host.split(".")
    named = bool(labels) and _LAST_LABEL.fullmatch(last) and all(map(_LABEL.fullmatch, labels))
    return bool(named or _MACHINE.fullmatch(host))
