"""Filter on items of evaluation sets that a text has, also cut, reordered or slightly edited; by kernels."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Find items of evaluation sets in a text, and remove the sample (reason `contaminated`), or cut the passage out, or only "
        "note it. An item is looked for by n-grams of three words, in a stretch of the text half as long again as the item, so "
        "copies that are cut, reordered, slightly edited or formatted in another way are found. What counts is the share of the "
        "item's words that is found, weighed by rarity: words of grammar, words that many items have, common phrases and licences "
        "weigh little or nothing. The shorter an item, the greater the share that must be found: 0.8 of 6 words, 0.42 of 20, 0.3 of "
        "150. A text with other numbers or many other words amid those of the item is another problem. Items of fewer than min_words words are not looked for alone. "
        "docs/contamination.md shows how well this works."
    ),
    "version": 2,
    "params": {
        "sets": {
            "type": "files",
            "doc": "Evaluation sets: a file or folder, a list of them, or a mapping of names to paths or to mappings with `path`, "
            "perhaps `split`, and the fields `prompt`, `passage`, `choices`, `answer` and `id`. JSON lines, JSON, CSV, Parquet, "
            "Arrow; folders as Hugging Face has them. Fields with usual names (question, context, answers ...) need not be named.",
        },
        "action": {
            "type": "str",
            "default": "remove",
            "choices": ["remove", "span", "mark"],
            "doc": "Remove the sample, cut the passage out of its text, or keep it and only measure.",
        },
        "max_score": {
            "type": "float",
            "default": 1.0,
            "min": 0.5,
            "doc": "A kept sample has a lower score. The score is the share of an item that is found, divided by the share that "
            "its length requires.",
        },
        "min_words": {
            "type": "int",
            "default": 6,
            "min": 4,
            "doc": "Fewest words of an item, or of a part of it, that is looked for; two characters of scripts without blanks are a word.",
        },
        "common": {
            "type": "files",
            "default": None,
            "nullable": True,
            "doc": "Files with texts that are no evaluation items, such as a sample of the corpus: n-grams that five or more of them "
            "have weigh less. JSON lines, CSV or Parquet with the field `text`, or .txt.",
        },
    },
    "stats": {
        "contamination_score": {
            "type": "DOUBLE",
            "doc": "Highest score of an item, 0 if none has 0.5; from 1 on, the text has a copy.",
        },
        "contamination_set": {"type": "VARCHAR", "doc": "Set of this item; empty for none."},
        "contamination_item": {
            "type": "VARCHAR",
            "doc": "Id of this item, or its file and number; both, if rows before have the same id.",
        },
        "contamination_part": {
            "type": "VARCHAR",
            "doc": "Part of this item: prompt, passage, choices, answer, or item for all but passages.",
        },
        "contamination_passage": {
            "type": "VARCHAR",
            "doc": "Passage of the text with the item, at most 300 characters.",
        },
        "contamination_start": {"type": "BIGINT", "doc": "First character of the passage, from 0; NULL for none."},
        "contamination_end": {"type": "BIGINT", "doc": "Character after the passage; NULL for none."},
        "contaminations": {
            "type": "VARCHAR",
            "doc": "All items with a score of 0.5 or more, as a JSON list of objects: the view "
            "`contamination` has them as rows.",
        },
    },
    "resources": {"loads": True},
    "checks": "problems",
    "functions": {
        "contaminations": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"],
            "returns": (
                'STRUCT(score DOUBLE, "set" VARCHAR, item VARCHAR, part VARCHAR, passage VARCHAR, start BIGINT, "end" BIGINT, '
                "items VARCHAR, delta VARCHAR)"
            ),
            "runs": "kernel",
            "call": "contaminations",
        }
    },
    "sql": """
        SELECT
          contaminations(
            {{ text }}, {{ sets | tojson | lit }}, {{ common | tojson | lit }}, {{ min_words | lit }},
            {{ max_score | lit }}::DOUBLE, {{ (action == 'span') | lit }}
          ) AS _found,
          _found.delta AS delta,
          _found.score AS contamination_score,
          _found."set" AS contamination_set,
          _found.item AS contamination_item,
          _found.part AS contamination_part,
          _found.passage AS contamination_passage,
          _found.start AS contamination_start,
          _found."end" AS contamination_end,
          _found.items AS contaminations
          {% if action == 'remove' %}
          , contamination_score < {{ max_score | lit }} AS keep_contaminated
          {% endif %}
    """,
    "examples": [
        {
            "text": "Quiz night. WHICH lighthouse keeper first mapped the reefs of Brenner Sound? Send your answers to us.",
            "params": {"sets": "quiz.jsonl"},
            "files": {
                "quiz.jsonl": '{"id": "q7", "question": "Which lighthouse keeper first mapped the reefs of Brenner Sound?", '
                '"answer": "Ole Brandt"}\n'
            },
            "stats": {
                "contamination_set": "quiz",
                "contamination_item": "q7",
                "contamination_part": "prompt",
                "contamination_passage": "WHICH lighthouse keeper first mapped the reefs of Brenner Sound",
                "contamination_start": 12,
                "contamination_end": 75,
            },
            "keep": False,
            "reason": "contaminated",
        },
        {
            "text": "He said: <b>Which</b> old lighthouse keeper first mapped reefs of Brenner Sound?\nNobody knew.",
            "params": {"sets": {"quiz": {"path": "q.csv", "prompt": "Frage"}}, "action": "span"},
            "files": {"q.csv": "nr,Frage\n1,Which lighthouse keeper first mapped the reefs of Brenner Sound?\n"},
            "out": "He said: <b>Which</b> old ?\nNobody knew.",
            "stats": {"contamination_item": "q.csv:1"},
            "keep": True,
        },
        {
            "text": "At the end of the day, the keeper of the lighthouse mapped a reef of his own.",
            "params": {"sets": ["quiz.json"]},
            "files": {
                "quiz.json": [
                    {"question": "At the end of the day, which keeper first mapped the reefs of Brenner Sound?"}
                ]
            },
            "stats": {"contamination_score": 0.0, "contamination_set": "", "contaminations": "[]"},
            "keep": True,
        },
        {
            "text": "最初の灯台守がブレンナー海峡の暗礁を地図に描いたのは何年のことか。",
            "params": {"sets": "quiz.jsonl", "action": "mark"},
            "files": {
                "quiz.jsonl": '{"question": "最初の灯台守がブレンナー海峡の暗礁を地図に描いたのは何年のことか？"}\n'
            },
            "stats": {"contamination_item": "quiz.jsonl:1"},
            "keep": True,
        },
        {
            "text": "",
            "params": {"sets": "quiz.jsonl"},
            "files": {
                "quiz.jsonl": '{"question": "too short"}\n'
                '{"question": "Which lighthouse keeper first mapped the reefs of Brenner Sound?"}\n'
            },
            "stats": {"contamination_score": 0.0, "contamination_start": None},
            "keep": True,
        },
        {
            "text": "",
            "params": {"sets": {"quiz": "quiz.jsonl"}},
            "files": {"quiz.jsonl": '{"question": "too short"}\n'},
            "error": "set quiz: all of its items (1) are too short",
        },
        {"text": "", "params": {"sets": "none.jsonl"}, "error": "there is no such file or folder"},
        {
            "text": "",
            "params": {"sets": {"x": "x.jsonl"}},
            "files": {"x.jsonl": '{"foo": "a", "bar": "b"}\n'},
            "error": "none of the fields foo, bar has a usual name",
        },
        {
            "text": "",
            "params": {"sets": {"x": {"path": "x.jsonl", "prompt": "fo"}}},
            "files": {"x.jsonl": '{"foo": "a"}\n'},
            "error": "has no field 'fo'",
        },
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the files, as sentences."""
    from refinery.kernels.contamination import contaminations

    return contaminations.problems(params["sets"], params["common"], params["min_words"])


def contaminations(column: pa.Array, sets: str, common: str, min_words: int, max_score: float, cut: bool) -> pa.Array:
    """Items of the sets in each text; NULL for NULL."""
    from refinery.kernels.contamination import contaminations

    index = contaminations.index_of(json.loads(sets), json.loads(common), min_words)
    return contaminations.contaminations(column, index, max_score, bool(cut))
