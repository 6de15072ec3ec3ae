"""Ends of words as the patterns of tokenizers cut them.

Each alternative of a pattern is a step of its function, in the pattern's order. Texts are valid UTF-8, and `end` is the
end of the text that the pattern sees.
"""

from __future__ import annotations

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.utf8 import before, decode
from refinery.kernels.models.character_classes import LETTER, NUMBER, SPACE

_KINDS = LETTER | NUMBER | SPACE
_QUOTE, _BLANK, _LINE_FEED, _RETURN = 0x27, 0x20, 0x0A, 0x0D
_LONG_S_1, _LONG_S_2 = 0xC5, 0xBF  # U+017F, an s where case does not count


@inlined
def _kind(text, i, classes):
    """LETTER, NUMBER, SPACE, or 0 of the character at i, and the place after it."""
    byte = text[i]
    if byte < 0x80:
        return classes[byte] & _KINDS, i + 1
    code_point, after = decode(text, i)
    return classes[code_point] & _KINDS, after


@inlined
def _run(text, i, end, kind, classes):
    """The end of the characters of a kind from i on."""
    while i < end:
        next_kind, after = _kind(text, i, classes)
        if next_kind != kind:
            break
        i = after
    return i


@inlined
def _is_line_end(byte):
    return byte == _LINE_FEED or byte == _RETURN


@inlined
def _contraction(text, i, end, fold):
    """Bytes of 's, 't, 're, 've, 'm, 'll or 'd at the quote at i, 0 for none. fold: 0x20 if case does not count."""
    if i + 1 >= end:
        return 0
    first = text[i + 1] | fold
    if first == 0x73 or first == 0x74 or first == 0x6D or first == 0x64:
        return 2
    if i + 2 >= end:
        return 0
    if fold and text[i + 1] == _LONG_S_1 and text[i + 2] == _LONG_S_2:
        return 3
    second = text[i + 2] | fold
    if (first == 0x72 or first == 0x76) and second == 0x65:
        return 3
    return 3 if first == 0x6C and second == 0x6C else 0


@inlined
def _spaces(text, start, end, stop):
    r"""The end of `\s+(?!\S)|\s+` in the spaces from `start` to `stop`: before the last one, unless the text ends there."""
    if stop == end:
        return stop
    last = before(text, stop, start)
    return last if last > start else stop


@kernel
def gpt2_end(text, i, end, classes):
    """The end of the word at i by GPT-2's pattern."""
    if text[i] == _QUOTE:
        size = _contraction(text, i, end, 0)
        if size:
            return i + size
    start = i + 1 if text[i] == _BLANK and i + 1 < end else i
    kind, after = _kind(text, start, classes)
    if kind != SPACE:
        return _run(text, after, end, kind, classes)
    return _spaces(text, i, end, _run(text, i, end, SPACE, classes))


@kernel
def cl100k_end(text, i, end, digits, classes):
    """The end of the word at i by the pattern of GPT-4, with so many digits in a number at most."""
    if text[i] == _QUOTE:
        size = _contraction(text, i, end, 0x20)
        if size:
            return i + size
    kind, after = _kind(text, i, classes)
    if kind == LETTER:
        return _run(text, after, end, LETTER, classes)
    if kind == NUMBER:
        return _digits(text, after, end, digits - 1, classes)
    following, beyond = _kind(text, after, classes) if after < end else (SPACE, end)
    if following == LETTER and not _is_line_end(text[i]):
        return _run(text, beyond, end, LETTER, classes)
    if kind == 0 or (text[i] == _BLANK and following == 0):
        stop = _run(text, after, end, 0, classes)
        while stop < end and _is_line_end(text[stop]):
            stop += 1
        return stop
    stop = _run(text, after, end, SPACE, classes)
    for k in range(stop - 1, i - 1, -1):
        if _is_line_end(text[k]):
            return k + 1
    return _spaces(text, i, end, stop)


@inlined
def _digits(text, i, end, most, classes):
    while most > 0 and i < end:
        kind, after = _kind(text, i, classes)
        if kind != NUMBER:
            break
        i = after
        most -= 1
    return i
