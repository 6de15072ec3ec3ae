"""Untrusted texts as HTML: escaped, cut, and with invisible characters spelled out.

A document may hold markup, terminal codes, and characters that change the direction of the text. None of these may act
on the page or hide from the reader.
"""

from __future__ import annotations

import regex
from markupsafe import Markup, escape

# Controls, format characters (directions, zero widths, tags), line separators, noncharacters. Joiners of letters and
# emoji, and visible format characters, stay as they are.
_HIDDEN = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Cs}"
_UNSEEN = regex.compile(rf"({_HIDDEN}--[\t\n\u200c\u200d\p{{Prepended_Concatenation_Mark}}]])\1*", regex.V1)
# For a difference, which may consist of white space and joiners only.
_UNSEEN_EVERYWHERE = regex.compile(rf"({_HIDDEN}\p{{Zs}}--[\x20]])\1*", regex.V1)
_SIGNS = {"\n": "↵\n", "\t": "⇥\t"}


def visible(text: object, every: bool = False) -> Markup:
    """Return text as HTML, with invisible characters as code points: <i class="c">U+202E</i>.

    every: also line ends, tabs, joiners and all spaces but U+0020.
    """
    pattern = _UNSEEN_EVERYWHERE if every else _UNSEEN
    pieces, last, text = list[Markup](), 0, str(text)
    for match in pattern.finditer(text):
        pieces += [escape(text[last : match.start()]), _spelled(match[0])]
        last = match.end()
    return Markup("").join([*pieces, escape(text[last:])])


def _spelled(run: str) -> Markup:
    """A run of one character as its code point, with the count if more than one."""
    if run[0] in _SIGNS:
        return Markup('<i class="c">{}</i>{}').format(_SIGNS[run[0]][0], run[0]) * len(run)
    times = f"×{len(run)}" if len(run) > 1 else ""
    return Markup('<i class="c">U+{}{}</i>').format(f"{ord(run[0]):04X}", times)


def plain(text: object) -> str:
    """Return text for a plot, which takes no markup: one line, with code points for invisible characters."""
    return _UNSEEN_EVERYWHERE.sub(lambda match: f"[U+{ord(match[0][0]):04X}]", str(text))


def beginning(text: str, width: int, lines: int | None = None) -> str:
    """The first `width` characters of the first `lines` lines; an ellipsis marks that text is left out."""
    start = text[:width]
    if lines is not None:
        start = "\n".join(start.split("\n", lines)[:lines])
    return text if len(start) == len(text) else start.rstrip("\n") + "…"
