"""Sentences of a text that break rules of MADLAD-400."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.text import madlad

OPERATOR = {
    "doc": (
        "Find the sentences of each text that break rules of MADLAD-400, for madlad400_rule_filter. A sentence ends at marks . ! ? "
        "that white space follows; sizes are in bytes. Rules: 1, its language differs from that of the text; 2, of at least "
        "case_tok_lower_bound words more than case_upper_bound begin with a capital; 3, it is shorter or longer than the bounds; 4, "
        "digits and { } + / ( ) > are more than tech_lower_bound of it; 5, it holds a string of cursed_regex_file, or matches one of the "
        "last four of its lines, which are regular expressions. The annotation is JSON: the number of sentences, and for each rule the "
        "numbers, from 0, of those that break it; NULL for a text of fewer than sentence_lower_bound sentences."
    ),
    "version": 1,
    "peer": "madlad400_sentence_annotator of datamap-rs, which writes fields",
    "resources": {"loads": {"fast_text_file": True}},
    "params": {
        "rules_to_include": {
            "type": "list[int]",
            "doc": "Numbers of the rules to look for, 1 to 5; Dolma 3 has 2 and 5.",
        },
        "cursed_regex_file": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "For rule 5: strings, one a line, the last four regular expressions of Rust; .gz is decompressed.",
        },
        "fast_text_file": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "For rule 1: model of fastText (.bin or .ftz) that names languages.",
        },
        "langid_field": {
            "type": "sql",
            "default": None,
            "nullable": True,
            "doc": "For rule 1: the language of the text, a field or earlier statistic; JSON of languages and scores stands for the best.",
        },
        "annotation_key": {"type": "str", "default": "madlad", "doc": "Name of the statistic with the annotation."},
        "sentence_lower_bound": {"type": "int", "default": 5, "min": 0, "doc": "Fewest sentences of a text."},
        "sentence_question_upper_bound": {
            "type": "float",
            "default": 0.2,
            "doc": "Largest share of sentences that break a rule for the status survived.",
        },
        "case_tok_lower_bound": {"type": "int", "default": 12, "doc": "Rule 2: fewest words."},
        "case_upper_bound": {"type": "float", "default": 0.5, "doc": "Rule 2: largest share of words with a capital."},
        "char_len_lower_bound": {"type": "int", "default": 20, "doc": "Rule 3: fewest bytes."},
        "char_len_upper_bound": {"type": "int", "default": 500, "doc": "Rule 3: most bytes."},
        "tech_lower_bound": {"type": "float", "default": 0.2, "doc": "Rule 4: largest share of technical characters."},
    },
    "stats": {
        "{annotation_key}": {"type": "VARCHAR", "doc": "The annotation."},
        "madlad_status": {
            "type": "VARCHAR",
            "doc": "killed:too_short, killed:too_many_sus_sentences or survived.",
        },
        "madlad_sentences": {"type": "BIGINT", "doc": "Sentences; NULL for a text that is too short."},
        "madlad_rule_{rules_to_include}": {"type": "BIGINT", "doc": "Sentences that break the rule of this number."},
    },
    "checks": "check",
    "functions": {
        "madlad_annotation": {
            "columns": ["VARCHAR", "VARCHAR"],
            "constants": ["BIGINT[]", "DOUBLE[]", "BIGINT", "DOUBLE", "VARCHAR", "VARCHAR"],
            "returns": "STRUCT(status VARCHAR, annotation VARCHAR)",
            "runs": "kernel",
            "call": "annotate",
        }
    },
    "sql": """
        {% set limits = [case_tok_lower_bound, case_upper_bound, char_len_lower_bound, char_len_upper_bound, tech_lower_bound] %}
        SELECT
          madlad_annotation(
            {{ text }}, {% if 1 in rules_to_include %}({{ langid_field }})::VARCHAR{% else %}NULL{% endif %},
            {{ rules_to_include | unique | list | lit }}::BIGINT[], {{ limits | lit }}::DOUBLE[], {{ sentence_lower_bound | lit }},
            {{ sentence_question_upper_bound | lit }}::DOUBLE, {{ (cursed_regex_file or "") | lit }}, {{ (fast_text_file or "") | lit }}
          ) AS _found,
          _found.annotation AS {{ annotation_key | ident }},
          _found.status AS madlad_status,
          json_extract(_found.annotation, '$.num_sentences[0]')::BIGINT AS madlad_sentences
          {% for rule in rules_to_include | unique %}
          , CASE WHEN _found.annotation IS NOT NULL
              THEN coalesce(json_array_length(_found.annotation, '$."rule.{{ rule }}"'), 0) END AS madlad_rule_{{ rule }}
          {% endfor %}
    """,
    "examples": [
        {
            "text": "One two three four five. Six. Seven eight nine ten. Call +49 (30) 901820 {now}! It was on Facebook, they say.",
            "params": {"rules_to_include": [3, 4, 5], "cursed_regex_file": "cursed.txt"},
            "files": {"cursed.txt": "Facebook\na..z\nb[^ ]?c\nd\\.e\n(x|y)+z"},
            "stats": {
                "madlad": '{"num_sentences": [5], "rule.3": [1], "rule.4": [3], "rule.5": [4]}',
                "madlad_status": "killed:too_many_sus_sentences",
                "madlad_sentences": 5,
                "madlad_rule_4": 1,
            },
            "keep": True,
        },
        {
            "text": "Too. Short. A. Text.",
            "params": {"rules_to_include": [2]},
            "stats": {"madlad": None, "madlad_status": "killed:too_short", "madlad_rule_2": None},
        },
        {
            "text": "Home News About Us Contact Jobs and our Press Map Help Terms. b. c. d. e",
            "params": {"rules_to_include": [2]},
            "stats": {
                "madlad": '{"num_sentences": [5], "rule.2": [0]}',
                "madlad_status": "survived",
                "madlad_rule_2": 1,
            },
        },
        {
            "text": "zz ax/z. xyz e.g.this d.e? bc xxxyz\n! ",
            "params": {"rules_to_include": [5], "cursed_regex_file": "cursed.txt", "sentence_lower_bound": 1},
            "files": {"cursed.txt": "Facebook\na..z\nb[^ ]?c\nd\\.e\n(x|y)+z"},
            "stats": {"madlad": '{"num_sentences": [3], "rule.5": [0, 1, 2]}', "madlad_rule_5": 3},
        },
        {
            "text": "the the. der\nder! the. the? the the",
            "params": {
                "rules_to_include": [1],
                "langid_field": """'{"__label__lq": 0.2, "__label__hq": 0.7}'""",
                "fast_text_file": "lid.bin",
            },
            "files": {
                "lid.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"madlad": '{"num_sentences": [5], "rule.1": [1]}', "madlad_status": "survived"},
        },
        {
            "text": "",
            "params": {"rules_to_include": [2]},
            "stats": {"madlad_status": "killed:too_short", "madlad_sentences": None},
        },
        {"text": "a", "params": {"rules_to_include": [6]}, "error": True},
        {"text": "a", "params": {"rules_to_include": [5]}, "error": True},
        {"text": "a", "params": {"rules_to_include": [1]}, "error": True},
        {
            "text": "a",
            "params": {"rules_to_include": [5], "cursed_regex_file": "cursed.txt"},
            "files": {"cursed.txt": "a\nb\n("},
            "error": True,
        },
    ],
}

_NEEDED = {
    1: {
        "fast_text_file": "give the path of a model of fastText that names languages, such as lid.176.bin",
        "langid_field": "name the field or statistic with the language of a text",
    },
    5: {
        "cursed_regex_file": (
            "give the path of a list of strings, such as banlists/madlad400_cursed.txt.gz of the repository allenai/datamap-rs"
        )
    },
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    rules = params["rules_to_include"]
    found = [f"there is no rule {rule}: name some of 1 to 5" for rule in rules if rule not in range(1, 6)]
    for rule, needed in _NEEDED.items():
        found += [
            f"rule {rule} needs {name}: {cure}" for name, cure in needed.items() if rule in rules and not params[name]
        ]
    if not found and 5 in rules:
        found += madlad.problems(params["cursed_regex_file"])
    if not found and 1 in rules:
        from refinery.kernels.models import fasttext

        found += fasttext.problems(params["fast_text_file"])
    return found


def annotate(
    column: pa.Array,
    languages: pa.Array,
    rules: Sequence[int],
    limits: Sequence[float],
    fewest: int,
    most_share: float,
    cursed: str,
    model: str,
) -> pa.Array:
    """Status and annotation of each text; NULL for NULL."""
    view = texts(column)
    rules = sorted(rules or [])
    found = madlad.sentences(view, rules, limits or [0.0] * 5, madlad.cursed_list(cursed))
    if 1 in rules and model:
        _mark_languages(view, found, languages, model, fewest)
    status, annotation = madlad.status_and_annotation(found, rules, fewest or 0, most_share or 0.0)
    return structs(view.valid, status=status, annotation=annotation)


def _mark_languages(view: Any, found: madlad.Sentences, languages: pa.Array, model: str, fewest: int) -> None:
    """Set the bit of rule 1 for sentences in another language than their text's."""
    from refinery.kernels.models import fasttext

    long = found.counts >= fewest
    labels = fasttext.best_labels(madlad.texts_of(view, found, long), model, False, 1, ()).field("label").to_pylist()
    wanted = [_label(language) for language in languages.to_pylist()]
    expected = [wanted[row] for row in np.repeat(np.arange(len(view)), found.counts * long)]
    differ = np.array([label != one for label, one in zip(labels, expected, strict=True)], np.bool_)
    chosen = np.flatnonzero(np.repeat(long, found.counts))
    found.rules[chosen[differ]] |= madlad.LANGUAGE


def _label(language: str | None) -> str | None:
    """A language without fastText's prefix; of JSON of languages and scores the best one."""
    if language is not None and language.startswith("{"):
        scores = json.loads(language)
        language = max(scores, key=scores.get) if scores else None
    return None if language is None else language.removeprefix("__label__")
