"""Counts of lines with bullets and ellipses against what plain Python says of the same texts."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.line_marks import line_marks
from tests.examples import share_of

PIECES = [
    "\n",
    "\n",
    " ",
    ".",
    "...",
    ". . .",
    "…",
    "●",
    "•",
    "*",
    "-",
    "◦",
    "⦿",
    "é",
    "\xa0",
    "\x1c",
    "a",
    "?",
    "x" * 63,
    "\u2025",
    "'",
    "»",
    "]",
    "[",
    "read more",
    "rEaD mORe..",
    "READ\u00a0MORE",
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
ELLIPSES = ("...", ". . .", "…")
CUTS = ("...", "[...]", "(...)", "…", "[…]", "-»", "read more..", "read more")


def counts(text: str) -> dict[str, int]:
    lines = text.split("\n")
    inked = [line.strip() for line in lines if line.strip()]
    return {
        "lines": len(lines),
        "filled": sum(map(bool, lines)),
        "inked": len(inked),
        "bullets": sum(line.startswith(("●", "•", "*", "-")) for line in inked),
        "raw_bullets": sum(line.startswith(("●", "•", "*", "-")) for line in lines),
        "raw_dashes": sum(line.startswith(("*", "-")) for line in lines),
        "typed_bullets": sum(line[0] in "•‣⁃⁌⁍∙○●◘◦⦾⦿" for line in inked),
        "ellipses": sum(line.endswith(ELLIPSES) for line in inked),
        "raw_ellipses": sum(line.endswith(ELLIPSES) for line in lines),
        "raw_ellipsis_chars": sum(line.endswith("…") for line in lines),
        "unended": sum(line[-1] not in ".?!\"'" for line in inked),
        "cut_short": sum(line.lower().endswith(CUTS) for line in inked),
    }


@settings(max_examples=share_of(500))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_counts_of_lines(texts: list[str | None]) -> None:
    expected = [None if text is None else counts(text) for text in texts]
    assert line_marks(pa.array(texts, pa.string())).to_pylist() == expected
    shifted = pa.array(["é\n", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert line_marks(shifted).to_pylist() == expected
