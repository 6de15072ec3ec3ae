"""Tokens of texts for MinHash and SimHash; a shingle is a window of tokens.

One pass lowers the text, drops ignored characters, and splits. Python and the `regex` module give the rule of each
character once. Texts whose lower case depends on more than the single character go through `str.lower` first; an
`ignore_pattern` that is not a set of characters goes through the `regex` module.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.cached import cached
from refinery.common.packages import installed_version
from refinery.kernels.core.arrow import Texts, of_texts, replaced, strings, texts, texts_at
from refinery.kernels.core.blocks import (
    BLOCK,
    HALF,
    blanks,
    copy_block,
    copy_lower,
    equal_to,
    first_set,
    low_bits,
    wide,
)
from refinery.kernels.core.charclass import CODE_POINTS, WORD, classes, kept
from refinery.kernels.core.jit import entry, inlined
from refinery.kernels.core.utf8 import decode, encode
from refinery.kernels.models import sentencepiece
from refinery.kernels.words import subwords, words

TOKENIZATIONS = ("space", "punctuation", "character", "sentencepiece", "word", "english")

DROPPED, TOKEN, SEPARATOR = 0, 1, 2  # kinds of a character, in the low two bits of a rule
LINE_FEED, SPACE = 0x0A, 0x20
AT_LEAST = 4  # bytes of plain text that are worth taking at once
KEPT = 64 << 20  # most bytes of an array that a `Room` keeps
ROOM = 64  # bytes behind `data` that a kernel may read without a test

# A single character class, perhaps repeated: removing its matches is the same as removing its characters.
_ONE_CLASS = re.compile(
    r"(?:\\[pP]\{\w+\}|\\[pP][LMNPSZC]|\\[wWdDsS]"
    r"|\[\^?(?:\\[pP]\{\w+\}|\\[wWdDsSntr]|\\[^\w\s]|[\w !\"#$%'()*+,./:;<=>?@`{}])+\])\+?"
)


class Tokens(NamedTuple):
    """Tokens of a column.

    data: uint8, UTF-8 of the texts after lower-casing and ignoring, `gap` bytes between two tokens. starts: int64,
    start of each token; one more per row: end of its last token + gap. firsts: int64 (rows + 1), the tokens of row r
    are starts[firsts[r] : firsts[r + 1] - 1]. gap: 1 where a space joins tokens, 0 where nothing does. valid: bool.

    Shingle i of w tokens of a row that has n, 0 <= i <= n - w, is data[starts[f + i] : starts[f + i + w] - gap].
    """

    data: np.ndarray
    starts: np.ndarray
    firsts: np.ndarray
    gap: int
    valid: np.ndarray


class Room:
    """Memory for the tokens of one column after the other, which is not asked for anew each time."""

    def __init__(self) -> None:
        self._arrays: dict[type, np.ndarray] = {}

    def array(self, size: int, kind: type) -> np.ndarray:
        """An array with any content; the one before it of the same kind is overwritten."""
        kept = self._arrays.get(kind)
        if kept is not None and size <= len(kept):
            return kept[:size]
        made: np.ndarray = np.empty(size, kind)
        if made.nbytes <= KEPT:
            self._arrays[kind] = made
        return made


class ShingleRules(NamedTuple):
    """Rules by code point (int32): output code point << 2 | kind, -1 for characters that need Python.

    ascii_kinds (int64) and ascii_bytes (uint8): the same rules for ASCII. leads: the possible first bytes of a
    character that needs Python (uint8). plain: True if ASCII is copied, at most with its letters lowered, and
    split at the space alone.
    """

    code_points: np.ndarray
    ascii_kinds: np.ndarray
    ascii_bytes: np.ndarray
    leads: np.ndarray
    plain: bool


def tokens(
    column: pa.Array | pa.ChunkedArray,
    tokenization: str,
    lowercase: bool,
    ignore_pattern: str | None,
    tokenizer_model: str | None = None,
    room: Room | None = None,
) -> Tokens:
    """Lower the texts, remove what `ignore_pattern` (of the `regex` module) matches, and split.

    tokenization: `space` splits at U+0020 alone, empty tokens left out; `punctuation` at every single character of the
    general category P, empty tokens kept; `character` gives code points; `sentencepiece` the pieces of
    `tokenizer_model`; all of these as in Data-Juicer's MinHash and SimHash. `word` gives runs of \\w joined by a space, `english`
    the words and marks of spaCy's English rules, which are cut before the text is lowered.
    A NULL row has no tokens. room: of the caller, who needs the tokens no longer when it is given again.
    Raises ValueError for another tokenization and `regex.error` for an invalid pattern.
    """
    if tokenization not in TOKENIZATIONS:
        raise ValueError(f"tokenization is {tokenization!r}, which is not one of {', '.join(TOKENIZATIONS)}")
    if tokenization == "english" and ignore_pattern:
        column, lowercase, ignore_pattern = _prepared(texts(column).array, lowercase, ignore_pattern), False, None
    one_class = ignore_pattern if ignore_pattern and _ONE_CLASS.fullmatch(ignore_pattern) else None
    if tokenization == "sentencepiece" or (ignore_pattern and not one_class):
        column = _prepared(texts(column).array, lowercase, ignore_pattern)
        lowercase, one_class = False, None
    if tokenization == "sentencepiece":
        return _pieces(column, tokenizer_model or "")
    if tokenization == "english":
        column, tokenization = _english(texts(column).array), "space"
    rules = _rules(tokenization, lowercase, one_class)
    view = _lowered(texts(column), rules) if lowercase else texts(column)
    return _split(view, tokenization, rules, room or Room())


def _prepared(column: pa.Array, lowercase: bool, ignore_pattern: str | None) -> pa.Array:
    """Lower texts by `str.lower` and remove the matches of the pattern, in plain Python."""
    values = column.to_pylist()
    if lowercase:
        values = [text and text.lower() for text in values]
    if ignore_pattern:
        without = _compiled(ignore_pattern).sub
        values = [text and without("", text) for text in values]
    return of_texts(values)


def _english(column: pa.Array) -> pa.Array:
    """The words of each text with a space between two."""
    from refinery.kernels.words.english_words import english_words  # its tables are large, and few recipes need it

    joined = texts(english_words(column)[1])
    data = joined.data.copy()
    data[data == LINE_FEED] = SPACE  # no word holds either
    return strings(data, joined.offsets, joined.valid)


@lru_cache(maxsize=16)
def _compiled(pattern: str):
    import regex

    return regex.compile(pattern)


def _lowered(view: Texts, rules: ShingleRules) -> Texts:
    """Lower, in plain Python, only the texts with a character that the rules cannot lower."""
    todo = np.zeros(len(view), np.bool_)
    if not _find_exact(view.data, view.offsets, view.valid, rules.leads, rules.code_points, todo):
        return view
    rows = np.flatnonzero(todo)
    data, offsets = replaced(view.data, view.offsets, rows, [text.lower() for text in texts_at(view, rows)])
    return Texts(data, offsets, view.valid, view.array)


def _split(view: Texts, tokenization: str, rules: ShingleRules, room: Room) -> Tokens:
    rows = len(view)
    gap = 0 if tokenization == "character" else 1
    out = room.array(view.size + rows + ROOM, np.uint8)
    # At least one byte lies between two non-empty tokens.
    most = view.size if tokenization in ("character", "punctuation") else view.size // 2
    starts, firsts = room.array(most + 3 * rows + 1, np.int64), np.zeros(rows + 1, np.int64)
    columns = view.data, view.offsets, view.valid, *rules[:3]
    if tokenization in ("character", "punctuation"):
        kernel = _split_characters if tokenization == "character" else _split_at_each
        used, n = kernel(*columns, out, starts, firsts)
    else:
        used, n = _split_at_runs(*columns, rules.plain, rules.ascii_bytes[65] != 65, out, starts, firsts)
    return Tokens(out[:used], starts[:n], firsts, gap, view.valid)


def _pieces(column: pa.Array, model: str) -> Tokens:
    if subwords.has_kernel(model):
        return _unspaced(sentencepiece.pieces(column, model))
    split = subwords.pieces(model)
    parts, lengths = [], [[0]]
    firsts = np.zeros(len(column) + 1, np.int64)
    for row, text in enumerate(column.to_pylist()):
        encoded = [piece.encode() for piece in split(text)] if text is not None else []
        parts += encoded
        lengths.append([len(piece) for piece in encoded] + [0])
        firsts[row + 1] = firsts[row] + len(encoded) + 1
    flat = np.fromiter((n for row in lengths for n in row), np.int64)[:-1]
    data = np.frombuffer(bytearray(b"".join(parts) + bytes(ROOM)), np.uint8)[:-ROOM]
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return Tokens(data, np.cumsum(flat), firsts, 0, valid)


def _unspaced(pieces: pa.Array) -> Tokens:
    """Pieces that a space separates, without the spaces."""
    view = texts(pieces.field("joined"))
    rows = len(view)
    out = np.empty(view.size + ROOM, np.uint8)
    starts, firsts = np.empty(view.size + 2 * rows + 1, np.int64), np.zeros(rows + 1, np.int64)
    used, n = _close_up(view.data, view.offsets, view.valid, out, starts, firsts)
    return Tokens(out[:used], starts[:n], firsts, 0, view.valid)


@entry("uint8[] int64[] bool[] uint8[] int64[] int64[] -> int64 int64")
def _close_up(data, offsets, valid, out, starts, firsts):
    """Copy tokens without the spaces between them; returns the bytes, and the number of starts."""
    w = n = 0
    for row in range(len(valid)):
        begin, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        for i in range(begin, end):
            if i == begin or data[i - 1] == SPACE:
                starts[n] = w
                n += 1
            if data[i] != SPACE:
                out[w] = data[i]
                w += 1
        starts[n] = w
        n += 1
        firsts[row + 1] = n
    return w, n


# Rules of each character


@cached(8)
def _rules(tokenization: str, lowercase: bool, ignored: str | None) -> ShingleRules:
    written = words.tables().code_points >> 2 if lowercase else np.arange(CODE_POINTS, dtype=np.int32)
    known = written >= 0
    kinds = np.full(CODE_POINTS, TOKEN, np.int32)
    if tokenization == "space":
        kinds[SPACE] = SEPARATOR
    elif tokenization == "word":
        kinds[:] = SEPARATOR
        kinds[(classes() & WORD) != 0] = TOKEN
    elif tokenization == "punctuation":
        kinds[kept(f"punctuation-regex{installed_version('regex')}", np.bool_, _punctuation)] = SEPARATOR
    if ignored:
        kinds[_matching(ignored)] = DROPPED
    target = np.maximum(written, 0)
    kind = kinds[target]
    rules = np.where(kind == SEPARATOR, np.int32(SPACE), target) << 2 | kind
    rules[~known] = -1
    ascii_kinds, ascii_bytes = np.zeros(256, np.int64), np.zeros(256, np.uint8)
    ascii_kinds[:128], ascii_bytes[:128] = rules[:128] & 3, rules[:128] >> 2
    firsts = {chr(cp).encode()[0] for cp in np.flatnonzero(~known) if not 0xD800 <= cp < 0xE000}
    leads = np.array(sorted(firsts), np.uint8)
    return ShingleRules(rules, ascii_kinds, ascii_bytes, leads, _is_plain(ascii_kinds, ascii_bytes))


def _is_plain(kinds: np.ndarray, written: np.ndarray) -> bool:
    """True if all ASCII but the space belongs to tokens, copied as it is or with all letters in lower case."""
    as_is = np.arange(128, dtype=np.uint8)
    lower = np.where((as_is >= 65) & (as_is <= 90), as_is | 32, as_is)
    tokens = np.where(as_is == SPACE, SEPARATOR, TOKEN)
    return bool((kinds[:128] == tokens).all() and any((written[:128] == form).all() for form in (as_is, lower)))


def _punctuation() -> np.ndarray:
    table = np.zeros(CODE_POINTS, np.bool_)
    table[_matching(r"\p{P}")] = True
    return table


@lru_cache(maxsize=8)
def _matching(pattern: str) -> np.ndarray:
    """Code points matched by a pattern for single characters."""
    everything = "".join(chr(cp) for cp in range(CODE_POINTS) if not 0xD800 <= cp < 0xE000)
    return np.array([ord(char) for run in _compiled(pattern).findall(everything) for char in run], np.int64)


# Kernels


@entry("uint8[] int64[] bool[] uint8[] int32[] bool[] -> int64")
def _find_exact(data, offsets, valid, leads, rules, todo):
    """Mark the rows with a character whose rule is -1; returns their number."""
    row = count = 0
    i, end = offsets[0], offsets[len(valid)]
    while i < end:
        candidates, size = np.uint64(0), BLOCK
        if i + BLOCK <= end:
            for k in range(len(leads)):
                candidates |= equal_to(data, i, leads[k])
        else:
            size = 1
            for k in range(len(leads)):
                candidates |= np.uint64(data[i] == leads[k])
        while candidates != 0:
            at = i + first_set(candidates)
            candidates &= candidates - np.uint64(1)
            while offsets[row + 1] <= at:
                row += 1
            if valid[row] and not todo[row]:
                cp, _ = decode(data, at)
                if rules[cp] < 0:
                    todo[row] = True
                    count += 1
        i += size
    return count


@entry("uint8[] int64[] bool[] int32[] int64[] uint8[] bool bool uint8[] int64[] int64[] -> int64 int64")
def _split_at_runs(data, offsets, valid, rules, ascii_kinds, ascii_bytes, plain, lower, out, starts, firsts):
    """Split at runs of separators; returns the bytes written and the entries of `starts`.

    `outside` is 1 between tokens. The start of a possible token is written at every character and kept only if a token
    starts there. Plain text is taken in blocks, up to a non-ASCII byte or a second separator in a row.
    """
    w, k = 0, 0
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        outside, again = 1, i if plain else end
        while i < end:
            if i >= again and i + BLOCK <= end:
                spaces = blanks(data, i)
                n = first_set(wide(data, i) | (spaces & (spaces << np.uint64(1) | np.uint64(outside))))
                if n >= AT_LEAST:
                    k = _take_block(data, i, spaces & low_bits(n - 1), lower, outside, out, w, starts, k)
                    outside = 1 if spaces >> np.uint64(n - 1) & np.uint64(1) else 0
                    i += n
                    w += n
                    continue
                again = i + AT_LEAST
            byte = data[i]
            starts[k] = w
            if byte < 0x80:
                kind = ascii_kinds[byte]
                out[w] = ascii_bytes[byte]
                is_token, is_separator = kind & 1, kind >> 1
                w += is_token | (is_separator & (outside ^ 1))
                k += is_token & outside
                outside = is_separator | (outside & (is_token ^ 1))
                i += 1
                continue
            cp, after = decode(data, i)
            rule = rules[cp]
            kind = rule & 3
            if kind == TOKEN:
                k += outside
                outside = 0
                w = _write(data, i, after, cp, rule >> 2, out, w)
            elif kind == SEPARATOR:
                out[w] = SPACE
                w += outside ^ 1
                outside = 1
            i = after
        if not outside:
            out[w] = SPACE
            w += 1
        starts[k] = w
        k += 1
        firsts[row + 1] = k
    return w, k


@inlined
def _take_block(data, i, spaces, lower, outside, out, w, starts, k):
    """Copy a block and note token starts: the block's start if outside of a token, and after each of `spaces`."""
    if lower:
        copy_lower(data, i, out, w)
        copy_lower(data, i + HALF, out, w + HALF)
    else:
        copy_block(data, i, out, w)
    starts[k] = w
    k += outside
    while spaces != 0:
        place = first_set(spaces)
        starts[k] = w + place + 1
        k += 1
        spaces &= spaces - np.uint64(1)
    return k


@entry("uint8[] int64[] bool[] int32[] int64[] uint8[] uint8[] int64[] int64[] -> int64 int64")
def _split_at_each(data, offsets, valid, rules, ascii_kinds, ascii_bytes, out, starts, firsts):
    """Split at every separator; tokens may be empty."""
    w, k = 0, 0
    for row in range(len(valid)):
        starts[k] = w
        if not valid[row]:
            k += 1
            firsts[row + 1] = k
            continue
        k += 1
        i, end = offsets[row], offsets[row + 1]
        while i < end:
            byte = data[i]
            if byte < 0x80:
                kind = ascii_kinds[byte]
                out[w] = ascii_bytes[byte]
                w += kind != DROPPED
                starts[k] = w
                k += kind >> 1
                i += 1
                continue
            cp, after = decode(data, i)
            kind = rules[cp] & 3
            if kind != DROPPED:
                w = _write(data, i, after, cp, rules[cp] >> 2, out, w)
            if kind == SEPARATOR:
                starts[k] = w
                k += 1
            i = after
        out[w] = SPACE
        w += 1
        starts[k] = w
        k += 1
        firsts[row + 1] = k
    return w, k


@entry("uint8[] int64[] bool[] int32[] int64[] uint8[] uint8[] int64[] int64[] -> int64 int64")
def _split_characters(data, offsets, valid, rules, ascii_kinds, ascii_bytes, out, starts, firsts):
    """Split into characters: every character is a token."""
    w, k = 0, 0
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            byte = data[i]
            starts[k] = w
            if byte < 0x80:
                out[w] = ascii_bytes[byte]
                kept = ascii_kinds[byte] & 1
                w += kept
                k += kept
                i += 1
                continue
            cp, after = decode(data, i)
            if rules[cp] & 3 != DROPPED:
                w = _write(data, i, after, cp, rules[cp] >> 2, out, w)
                k += 1
            i = after
        starts[k] = w
        k += 1
        firsts[row + 1] = k
    return w, k


@inlined
def _write(data, i, after, cp, new, out, w):
    if new != cp:
        return encode(new, out, w)
    for j in range(i, after):
        out[w + j - i] = data[j]
    return w + after - i
