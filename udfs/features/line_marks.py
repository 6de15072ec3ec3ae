"""Numbers of the lines of a text with bullets and ellipses, which the filters of several peers share."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_marks as kernels

FEATURE = {
    "doc": (
        "Numbers of the lines of a text, cut at U+000A: lines (an empty text has one), filled (not empty), inked (more than "
        "white space). Of lines as they are: raw_bullets begin with ● • * or -, raw_dashes with * or -; raw_ellipses end with "
        "..., . . . or …, raw_ellipsis_chars with …. Of inked lines after str.strip: bullets begin with ● • * or -, "
        "typed_bullets with one of • ‣ ⁃ ⁌ ⁍ ∙ ○ ● ◘ ◦ ⦾ ⦿; ellipses end with ..., . . . or …; unended do not end with one of "
        ". ? ! \" '; cut_short end with ... [...] (...) … […] -» or, in any case, with read more or read more.. ."
    ),
    "version": 1,
    "functions": {
        "line_marks": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": (
                "STRUCT(lines BIGINT, filled BIGINT, inked BIGINT, bullets BIGINT, raw_bullets BIGINT, raw_dashes BIGINT, "
                "typed_bullets BIGINT, ellipses BIGINT, raw_ellipses BIGINT, raw_ellipsis_chars BIGINT, unended BIGINT, "
                "cut_short BIGINT)"
            ),
            "runs": "kernel",
            "call": "line_marks",
        }
    },
    "sql": "line_marks({{ text }})",
}


def line_marks(column: pa.Array) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    return kernels.line_marks(column)
