"""Remove lines that many documents share; kernels over the UTF-8 bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.dedup import line_units

OPERATOR = {
    "doc": (
        "Remove lines that occur in more than frequency_threshold documents from all of them: navigation, licences, "
        "notices. A line counts once per document, however often it occurs there. Lines are separated by U+000A; "
        "white space at their ends is not compared, but stays in the text. No document is removed: if all its lines "
        "are removed, it stays with an empty text. With ignore_special_character, all lines of punctuation and "
        "digits alone count as the same line."
    ),
    "version": 1,
    "peer": "document_line_deduplicator of Data-Juicer 1.6.1",
    "params": {
        "frequency_threshold": {
            "type": "int",
            "default": 6,
            "doc": "Number of documents; a line that occurs in more documents is removed from all of them.",
        },
        "lowercase": {"type": "bool", "default": False, "doc": "Compare lines in lower case."},
        "ignore_special_character": {
            "type": "bool",
            "default": False,
            "doc": "Compare lines without their white space, decimal digits and ASCII punctuation.",
        },
        "min_line_length": {
            "type": "int",
            "default": 2,
            "doc": "Lines of fewer code points, white space at the ends not counted, always stay.",
        },
        "skip_brackets": {
            "type": "bool",
            "default": True,
            "doc": "Always keep lines of brackets and semicolons alone (`{}[]();`).",
        },
        "skip_markdown_headers": {
            "type": "bool",
            "default": True,
            "doc": "Always keep lines that begin with `#`.",
        },
        "skip_latex_env": {
            "type": "bool",
            "default": True,
            "doc": "Always keep lines that begin with exactly `\\begin{` or `\\end{`.",
        },
        "skip_html_tags": {
            "type": "bool",
            "default": True,
            "doc": "Always keep lines that are one HTML tag, even an unclosed one.",
        },
    },
    "functions": {
        "line_keys": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN", "BOOLEAN", "BIGINT", "BOOLEAN", "BOOLEAN", "BOOLEAN", "BOOLEAN"],
            "returns": "UBIGINT[]",
            "runs": "kernel",
            "call": "line_keys",
        },
        "without_lines": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "without_lines",
        },
    },
    "match": "units",
    "units": {"name": "line", "split": "lines"},
    "rule": {"kind": "more_documents_than", "threshold": "frequency_threshold"},
    "sql": (
        "SELECT line_keys({{ text }}, {{ lowercase | lit }}, {{ ignore_special_character | lit }}, "
        "{{ min_line_length | lit }}, {{ skip_brackets | lit }}, {{ skip_markdown_headers | lit }}, "
        "{{ skip_latex_env | lit }}, {{ skip_html_tags | lit }}) AS units"
    ),
    "apply": "SELECT without_lines({{ text }}, {{ removed }}) AS delta",
    "examples": [
        {
            "texts": ["Home | About\nfirst page", "second page\nHome | About", "Home | About\n\nthird page"],
            "params": {"frequency_threshold": 2},
            "out": ["first page", "second page", "\nthird page"],
        },
        {"texts": ["twice\ntwice", "twice", "once"], "params": {"frequency_threshold": 2}, "out": ["twice\ntwice", "twice", "once"]},
        {
            "texts": ["  Page 1\none", "PAGE 2  \ntwo"],
            "params": {"frequency_threshold": 1, "lowercase": True, "ignore_special_character": True},
            "out": ["one", "two"],
        },
        {
            "texts": ["# Usage\n});\n<br/>\n\\end{a}\nx", "# Usage\n});\n<br/>\n\\end{a}\nx"],
            "params": {"frequency_threshold": 1},
            "out": ["# Usage\n});\n<br/>\n\\end{a}\nx", "# Usage\n});\n<br/>\n\\end{a}\nx"],
        },
        {
            "texts": ["# Usage\n});\nx y", "# Usage\n});\nz"],
            "params": {"frequency_threshold": 1, "skip_brackets": False, "skip_markdown_headers": False},
            "out": ["x y", "z"],
        },
        {"texts": ["all of it", "all of it"], "params": {"frequency_threshold": 1}, "out": ["", ""]},
    ],
}  # fmt: skip


def line_keys(
    column: pa.Array,
    lowercase: bool,
    ignore_special_character: bool,
    min_line_length: int,
    skip_brackets: bool,
    skip_markdown_headers: bool,
    skip_latex_env: bool,
    skip_html_tags: bool,
) -> pa.Array:
    """A key per line of each text; 0 for lines that always stay."""
    how = lowercase * line_units.LOWER | ignore_special_character * line_units.LETTERS_ONLY
    skipped = (
        skip_brackets * line_units.SKIP_BRACKETS
        | skip_markdown_headers * line_units.SKIP_HEADERS
        | skip_latex_env * line_units.SKIP_LATEX
        | skip_html_tags * line_units.SKIP_TAGS
    )
    return line_units.line_keys(column, how, min_line_length, skipped)


def without_lines(column: pa.Array, removed: pa.Array) -> pa.Array:
    """Each text without the lines of these numbers; NULL where nothing changes."""
    return line_units.remove_lines(column, removed)


def lines(text: str, params: dict[str, Any]) -> list[str]:
    """The lines of a text, as the numbers of units count them."""
    return text.split("\n")
