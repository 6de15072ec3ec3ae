"""Numbers of characters by class, from which filters compute shares."""

from __future__ import annotations

from refinery.kernels.text.character_counts import character_counts

__all__ = ["character_counts"]

FEATURE = {
    "doc": (
        "Counts of a text's characters as NeMo Curator's filters see them. chars: code points. plain: ASCII letters and "
        "digits, line feed and ?!,. (not the blank). digits: 0 to 9. blanks: tab, line feed, "
        "carriage return, backspace and blank. brackets: {}⟨⟩[](). letters: the Unicode property Alphabetic, so also "
        "dependent vowel signs."
    ),
    "version": 1,
    "functions": {
        "counts_of_characters": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": (
                "STRUCT(chars BIGINT, plain BIGINT, digits BIGINT, blanks BIGINT, brackets BIGINT, letters BIGINT)"
            ),
            "runs": "kernel",
            "call": "character_counts",
        }
    },
    "sql": "counts_of_characters({{ text }})",
}
