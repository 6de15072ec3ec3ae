"""Remove lines of symbols, as datatrove's SymbolLinesFormatter; a kernel finds the texts that have any."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import pyarrow as pa

from refinery.kernels.core.arrow import delta
from refinery.kernels.text.symbol_lines import kinds, mark_rows

OPERATOR = {
    "doc": (
        "Remove lines that consist of symbols and spaces only; lines without any character, or with nothing but white "
        "space, stay. Each run of such lines is replaced by replace_char, as a line of its own, unless that is empty. "
        "A text is cut into lines as by Python's str.splitlines and joined by line feeds, so a last line end is lost, "
        "and other line ends (CR LF, form feed, U+0085, U+2028 ...) become line feeds, also in texts without such a line."
    ),
    "version": 2,
    "peer": "SymbolLinesFormatter of datatrove 0.10.1",
    "params": {
        "symbols_to_remove": {
            "type": "list[str]",
            "default": None,
            "nullable": True,
            "doc": "Single characters; null: datatrove's punctuation marks, control characters and marks that end a sentence in any script.",
        },
        "replace_char": {"type": "str", "default": "", "doc": "A line for each run of removed lines; empty for none."},
    },
    "functions": {
        "symbol_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "remove_symbol_lines",
        }
    },
    "sql": """
        SELECT symbol_lines_delta({{ text }},
            CAST({{ symbols_to_remove | lit }} AS VARCHAR[]), {{ replace_char | lit }}) AS delta
    """,
    "examples": [
        {"text": "a | b\n|  | |\n||\nc", "params": {"symbols_to_remove": ["|"]}, "out": "a | b\nc"},
        {"text": "a\n---\n***\nb\n...", "params": {"replace_char": "<sep>"}, "out": "a\n<sep>\nb\n<sep>"},
        {"text": "a\n|\nb", "params": {"symbols_to_remove": ["|"], "replace_char": "\n"}, "out": "a\n\n\nb"},
        {"text": "a\n\n  \n…》\nb", "out": "a\n\n  \nb"},
        {"text": "a\r\nb\x0cc\u2028d\n", "params": {"symbols_to_remove": []}, "out": "a\nb\nc\nd"},
        {"text": "a\n\u0964 \u061f\nb\n\u1362", "out": "a\nb"},
        {"text": "|\t|\n--", "params": {"symbols_to_remove": ["|", "--"]}, "out": "|\t|\n--"},
        {"text": "|", "params": {"symbols_to_remove": ["|"]}, "out": ""},
        {"text": "", "out": ""},
    ],
}


def remove_symbol_lines(column: pa.Array, symbols: Sequence[str] | None, replacement: str) -> pa.Array:
    """Each text without its lines of symbols; NULL where nothing changes."""
    from refinery.kernels.dedup.minhash_normalize import PUNCTUATION
    from refinery.kernels.words.mark_characters import END_MARKS

    wanted = frozenset([*PUNCTUATION, *END_MARKS] if symbols is None else symbols)
    single = {symbol for symbol in wanted if len(symbol) == 1}
    return delta(column, mark_rows, kinds(single), exact=partial(_without, symbols=single, replacement=replacement))


def _without(text: str, symbols: Collection[str], replacement: str) -> str:
    lines: list[str] = []
    allowed = "".join(symbols) + " "
    within = False  # a run of removed lines
    for line in text.splitlines():
        removed = not line.strip(allowed) and bool(line.strip())
        if not removed:
            lines.append(line)
        elif replacement and not within:
            lines.append(replacement)
        within = removed
    return "\n".join(lines)
