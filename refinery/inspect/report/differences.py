"""Word-by-word differences of two texts, in a short excerpt."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import SequenceMatcher

import regex

# Words of each text to compare; the time is up to quadratic in it.
_WORDS = 300
# Characters of each text around its first difference.
_WINDOW = 4000
# Common text shown around differences; the longest shown difference, in characters and in lines.
_CONTEXT = 60
_LONGEST = 400
_LINES = 8
# Most characters of all pieces together.
_MOST = 1500
# A word; a letter of a script without spaces; one white space; any other character with its combining marks.
_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"[[\p{{L}}\p{{N}}\p{{M}}_]--[{_ALONE}]]+|\s|\X", regex.V1)


@dataclass(frozen=True)
class DifferencePart:
    """A part of two texts. kind: "same", "removed" or "added"."""

    kind: str
    text: str


def difference(before: str, after: str) -> list[DifferencePart]:
    """Pieces of two texts around their first differences; an ellipsis marks omitted text."""
    start, end = _same_ends(before, after)
    first = max(0, start - _CONTEXT)
    windows = [text[first : min(len(text) - max(0, end - _CONTEXT), first + _WINDOW)] for text in (before, after)]
    left, right = (_WORD.findall(window) for window in windows)
    cut = [first + sum(map(len, words[:_WORDS])) < len(text) for text, words in ((before, left), (after, right))]
    pieces = _pieces(left[:_WORDS], right[:_WORDS])
    if any(cut):
        pieces = _without_torn_end(pieces)
    shown = [
        DifferencePart(piece.kind, _short(piece, at == 0, at == len(pieces) - 1)) for at, piece in enumerate(pieces)
    ]
    few = _first(shown)
    if (any(cut) or len(few) < len(shown)) and not (few and few[-1].text.endswith("…")):
        few.append(DifferencePart("same", "…"))
    return [DifferencePart("same", "…"), *few] if first and not (few and few[0].text.startswith("…")) else few


def _first(pieces: list[DifferencePart]) -> list[DifferencePart]:
    """The first pieces, up to the limit of characters."""
    total = 0
    for at, piece in enumerate(pieces):
        total += len(piece.text)
        if total > _MOST and at:
            return pieces[:at]
    return pieces


def _same_ends(before: str, after: str) -> tuple[int, int]:
    """Lengths of the common start of two texts, and of the common end after it."""
    start = len(os.path.commonprefix((before, after)))
    end = len(os.path.commonprefix((before[start:][::-1], after[start:][::-1])))
    return start, end


def _pieces(left: list[str], right: list[str]) -> list[DifferencePart]:
    parts: list[DifferencePart] = []
    for kind, i, j, k, m in SequenceMatcher(str.isspace, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(DifferencePart("same", "".join(left[i:j])))
            continue
        parts += [DifferencePart("removed", "".join(left[i:j]))] if j > i else []
        parts += [DifferencePart("added", "".join(right[k:m]))] if m > k else []
    return parts


def _without_torn_end(pieces: list[DifferencePart]) -> list[DifferencePart]:
    """The pieces without differences after the last common part, which come from cutting the texts."""
    same = [at for at, piece in enumerate(pieces) if piece.kind == "same"]
    changed = [at for at, piece in enumerate(pieces) if piece.kind != "same"]
    return pieces[: same[-1] + 1] if same and changed and changed[0] < same[-1] else pieces


def _short(piece: DifferencePart, first: bool, last: bool) -> str:
    """The text of a piece, with its middle left out if it is long."""
    text = piece.text
    if piece.kind != "same":
        text = text if len(text) <= _LONGEST else text[: _LONGEST // 2] + " … " + text[-_LONGEST // 2 :]
        lines = text.split("\n")
        return text if len(lines) <= _LINES else "\n".join([*lines[: _LINES // 2], "…", *lines[-_LINES // 2 :]])
    if len(text) <= 2 * _CONTEXT:
        return text
    head, tail = "" if first else text[:_CONTEXT], "" if last else text[-_CONTEXT:]
    return f"{head}…{tail}"
