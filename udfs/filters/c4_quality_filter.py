"""C4's rules for lines and pages, as datatrove has them: lines are dropped, and the rest of a text is judged; by a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

OPERATOR = {
    "doc": (
        "Drop lines by C4's rules, and keep samples with enough sentences left. A line (of str.splitlines, without white space at "
        "its ends) goes if a word is too long, if it does not end with one of . ? ! \" ' or ends with ..., if it has too few "
        "words, mentions javascript or a policy on cookies, privacy or use. Citations such as [1] and [edit] are cut out of "
        "lines; the number of words is that before. A line with `lorem ipsum` or { that no rule before has dropped removes the "
        "sample. The reason of a removal is lorem_ipsum, curly_bracket or too_few_sentences. A number of -1 turns its rule off."
    ),
    "version": 2,
    "peer": "C4QualityFilter of datatrove 0.10.1",
    "params": {
        "split_paragraph": {
            "type": "bool",
            "default": True,
            "doc": "Judge lines, which are joined by line feeds; otherwise sentences, which are joined by blanks.",
        },
        "remove_citations": {"type": "bool", "default": True, "doc": "Cut out [1], [], [edit] and [citation needed]."},
        "filter_no_terminal_punct": {"type": "bool", "default": True, "doc": "Drop lines without an end mark."},
        "min_num_sentences": {"type": "int", "default": 5, "doc": "Fewest sentences; -1: any number."},
        "min_words_per_line": {
            "type": "int",
            "default": 3,
            "doc": "Fewest words, between white space, of a line; -1: any number.",
        },
        "max_word_length": {
            "type": "int",
            "default": 1000,
            "doc": "Most characters of a word of a line; -1: any number.",
        },
        "filter_lorem_ipsum": {"type": "bool", "default": True, "doc": "Remove samples with `lorem ipsum`."},
        "filter_javascript": {"type": "bool", "default": True, "doc": "Drop lines that mention javascript."},
        "filter_curly_bracket": {"type": "bool", "default": True, "doc": "Remove samples with {."},
        "filter_policy": {"type": "bool", "default": True, "doc": "Drop lines that mention a policy."},
        "language": {"type": "str", "default": "eng", "doc": "Code of the language whose sentences are counted."},
    },
    "stats": {
        "c4_lines": {"type": "BIGINT", "doc": "Lines, up to one that removes the sample."},
        "c4_kept_lines": {"type": "BIGINT", "doc": "Lines that are not dropped."},
        "c4_sentences": {"type": "BIGINT", "doc": "Sentences of these; 0 if they are not counted."},
        "lorem_ipsum": {"type": "BIGINT", "doc": "1 if the search ended at a line with `lorem ipsum`."},
        "curly_bracket": {"type": "BIGINT", "doc": "1 if the search ended at a line with {."},
    },
    "checks": "check",
    "functions": {
        "c4_lines": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT[]", "BOOLEAN"],
            "returns": (
                "STRUCT(delta VARCHAR, lines BIGINT, kept_lines BIGINT, sentences BIGINT, lorem_ipsum BIGINT, "
                "curly_bracket BIGINT)"
            ),
        },
        "c4_lines_of_language": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT[]", "BOOLEAN", "VARCHAR"],
            "returns": (
                "STRUCT(delta VARCHAR, lines BIGINT, kept_lines BIGINT, sentences BIGINT, lorem_ipsum BIGINT, "
                "curly_bracket BIGINT)"
            ),
            "runs": "python",
        },
    },
    "sql": """
        {% set rules = [
          max_word_length, remove_citations | int, filter_no_terminal_punct | int, min_words_per_line,
          filter_lorem_ipsum | int, filter_javascript | int, filter_curly_bracket | int, filter_policy | int,
          (min_num_sentences != -1) | int
        ] %}
        {% set english = language in ('eng', 'en', 'eng_Latn', 'en_Latn') %}
        SELECT
          {% if english %}c4_lines({{ text }}, {{ rules | lit }}::BIGINT[], {{ (not split_paragraph) | lit }})
          {% else %}
          c4_lines_of_language(
            {{ text }}, {{ rules | lit }}::BIGINT[], {{ (not split_paragraph) | lit }}, {{ language | lit }}
          )
          {% endif %} AS _left,
          _left.delta AS delta,
          _left.lines AS c4_lines,
          _left.kept_lines AS c4_kept_lines,
          _left.sentences AS c4_sentences,
          _left.lorem_ipsum AS lorem_ipsum,
          _left.curly_bracket AS curly_bracket,
          lorem_ipsum <= 0 AS keep_lorem_ipsum,
          curly_bracket <= 0 AS keep_curly_bracket
          {% if min_num_sentences > 0 %}
          , c4_sentences >= {{ min_num_sentences | lit }} AS keep_too_few_sentences
          {% endif %}
    """,
    "examples": [
        {
            "text": "Home | About\nIt was cold. It was late![1] Who came?\n  Nobody came here.  \nThis line: no end\nI know.",
            "params": {"min_num_sentences": 3},
            "out": "It was cold. It was late! Who came?\nNobody came here.",
            "stats": {"c4_lines": 5, "c4_kept_lines": 2, "c4_sentences": 4},
            "keep": True,
        },
        {
            "text": "One line is enough.\n{ no end mark\nNow {this} goes, too.\nLorem ipsum is not reached.",
            "stats": {"c4_lines": 3, "curly_bracket": 1, "lorem_ipsum": 0},
            "keep": False,
            "reason": "curly_bracket",
        },
        {
            "text": "We use COO\u212aIES on this page.\nEnable Java[2]Script to see it.\nLOREM IPSUM dolor sit.",
            "stats": {"c4_kept_lines": 0, "lorem_ipsum": 1},
            "keep": False,
            "reason": "lorem_ipsum",
        },
        {
            "text": "Short. This is longer, and kept. So is this one! Or not",
            "params": {"split_paragraph": False, "min_num_sentences": -1, "filter_no_terminal_punct": False},
            "out": "This is longer, and kept. So is this one!",
            "stats": {"c4_lines": 4, "c4_kept_lines": 2, "c4_sentences": 0},
            "keep": True,
        },
        {
            "text": "\u4eca\u5929 \u5929\u6c14 \u5f88 \u597d\u3002\n\u597d\u3002",
            "params": {"filter_no_terminal_punct": False, "min_num_sentences": 1, "language": "deu"},
            "out": "\u4eca\u5929 \u5929\u6c14 \u5f88 \u597d\u3002",
            "keep": True,
        },
        {
            "text": "",
            "stats": {"c4_lines": 0, "c4_sentences": 0},
            "keep": False,
            "reason": "too_few_sentences",
        },
        {
            "text": "Hello.World are three words",
            "params": {"min_num_sentences": 1, "filter_no_terminal_punct": False, "language": "hin_Deva"},
            "stats": {"c4_sentences": 1},
            "keep": True,
        },
        {"text": "One.", "params": {"language": "no such"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return language_words.problems(params["language"])


def c4_lines(column: pa.Array, rules: list[int], by_sentence: bool) -> pa.Array:
    """A struct of what is left of each text, and counts; NULL for NULL."""
    from refinery.kernels.text import c4_lines  # imports numpy and Arrow, which check() does not need

    return c4_lines.c4_lines(column, rules, bool(by_sentence))


def c4_lines_of_language(column: pa.Array, rules: list[int], by_sentence: bool, language: str) -> pa.Array:
    """The same with the sentences of another language, by a library; NULL for NULL."""
    from refinery.kernels.text import c4_language

    return c4_language.c4_lines(column, rules, bool(by_sentence), language)
