"""Filter on n-grams of evaluation tasks, as datatrove's NGramsDecontFilter with the index of NGramsDecontIndexer."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

OPERATOR = {
    "doc": (
        "Remove samples with an n-gram of n_grams words of an evaluation task (reason `contaminated`). An item has a query (the "
        "prompt), a label (the correct answer, or a list of them) and a task. Counted are n-grams of the label, with "
        "find_overlap_ngrams those with words of the end of the query and the begin of the label, and with "
        "find_query_ngrams those of the query. Texts are normalised as by simplify_text of datatrove, then cut by the "
        "tokenizer of the language. An item with too few words for an n-gram is not found. contamination_filter finds "
        "edited copies and short items, too."
    ),
    "version": 1,
    "peer": "NGramsDecontFilter of datatrove 0.10.1",
    "peers": {"datatrove": "NGramsDecontIndexer"},
    "params": {
        "evaluation": {
            "type": "files",
            "doc": "File or folder of items, a list of them, or paths by task: JSON lines, JSON, CSV or Parquet with the fields "
            "`query`, `label` and perhaps `task`, in whose place stands the name of the path in the recipe, else of the file.",
        },
        "n_grams": {"type": "int", "default": 12, "min": 1, "max": 1000, "doc": "Words in an n-gram."},
        "find_query_ngrams": {"type": "bool", "default": False, "doc": "Look for n-grams of the query alone, too."},
        "find_overlap_ngrams": {
            "type": "bool",
            "default": True,
            "doc": "Look for n-grams of the end of the query and the begin of the label, too.",
        },
        "language": {"type": "str", "default": "eng", "doc": "Code of the language whose tokenizer cuts words."},
        "lowercase": {"type": "bool", "default": True, "doc": "Compare in lower case."},
        "norm_whitespace": {
            "type": "bool",
            "default": True,
            "doc": "Compare with every run of white space as one space.",
        },
        "remove_punctuation": {"type": "bool", "default": True, "doc": "Compare with punctuation marks as spaces."},
        "norm_unicode_diacritics": {"type": "bool", "default": True, "doc": "Compare without accents and other marks."},
        "norm_numbers": {"type": "bool", "default": True, "doc": "Compare with every number as 0."},
        "norm_weekdays": {
            "type": "bool",
            "default": False,
            "doc": "Compare with English names of weekdays as one word.",
        },
        "norm_monthnames": {
            "type": "bool",
            "default": False,
            "doc": "Compare with English names of months as one word.",
        },
    },
    "stats": {
        "contaminated_ngram": {
            "type": "VARCHAR",
            "doc": "First n-gram of a task in the text, normalised; empty for none.",
        },
        "contaminated_task": {
            "type": "VARCHAR",
            "doc": "Tasks that have this n-gram, divided by commas; datatrove names the last one that it has loaded.",
        },
    },
    "resources": {"loads": True},
    "checks": "problems",
    "functions": {
        "task_ngrams": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "STRUCT(ngram VARCHAR, tasks VARCHAR)",
            "runs": "kernel",
            "call": "task_ngrams",
        },
        "task_ngrams_of_language": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "STRUCT(ngram VARCHAR, tasks VARCHAR)",
            "runs": "python",
            "call": "task_ngrams",
        },
    },
    "sql": """
        {% set how = [
          lowercase | int, norm_whitespace | int, remove_punctuation | int, norm_unicode_diacritics | int, norm_numbers | int,
          norm_weekdays | int, norm_monthnames | int
        ] %}
        {% set settings = [n_grams, find_query_ngrams, find_overlap_ngrams, how, language] %}
        SELECT
          {{ 'task_ngrams' if language in ('eng', 'en', 'eng_Latn', 'en_Latn') else 'task_ngrams_of_language' }}(
            {{ text }}, {{ evaluation | tojson | lit }}, {{ settings | tojson | lit }}
          ) AS _found,
          _found.ngram AS contaminated_ngram,
          _found.tasks AS contaminated_task,
          contaminated_ngram = '' AS keep_contaminated
    """,
    "examples": [
        {
            "text": "He said: the CAPITAL of Norway, is Oslo!",
            "params": {"evaluation": "geo.jsonl", "n_grams": 4},
            "files": {"geo.jsonl": '{"query": "What is the capital of Norway?", "label": "is Oslo"}\n'},
            "stats": {"contaminated_ngram": "capital of norway is", "contaminated_task": "geo"},
            "keep": False,
            "reason": "contaminated",
        },
        {
            "text": "the capital of Norway",
            "params": {"evaluation": {"b": "2.jsonl", "a": "1.jsonl"}, "n_grams": 4, "find_query_ngrams": True},
            "files": {
                "1.jsonl": '{"query": "The capital of Norway?", "label": ["Oslo", "oslo"]}\n',
                "2.jsonl": '{"label": "the capital of Norway is Oslo", "query": ""}\n',
            },
            "stats": {"contaminated_ngram": "the capital of norway", "contaminated_task": "a, b"},
            "keep": False,
        },
        {
            "text": "the capital of Norway",
            "params": {"evaluation": ["geo.jsonl"], "n_grams": 4},
            "files": {"geo.jsonl": '{"query": "The capital of Norway?", "label": "Oslo", "task": "x"}\n'},
            "stats": {"contaminated_ngram": "", "contaminated_task": ""},
            "keep": True,
        },
        {
            "text": "Am Montag 12 Uhr",
            "params": {
                "evaluation": "t.json",
                "n_grams": 3,
                "find_overlap_ngrams": False,
                "norm_numbers": False,
                "lowercase": False,
                "language": "deu",
            },
            "files": {"t.json": [{"query": "wann?", "label": "Am Montag, 12 Uhr"}]},
            "stats": {"contaminated_ngram": "Am Montag 12"},
            "keep": False,
        },
        {
            "text": "",
            "params": {"evaluation": "e.jsonl"},
            "files": {"e.jsonl": '{"query": "", "label": ""}\n'},
            "error": "no item has an n-gram of 12 words",
        },
        {
            "text": "",
            "params": {"evaluation": "e.jsonl"},
            "files": {"e.jsonl": '{"question": "a"}\n'},
            "error": "an item has no field label",
        },
        {"text": "", "params": {"evaluation": "missing.jsonl"}, "error": "there is no such file"},
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the language and of the files, as sentences. The index is made of them, which the run then finds."""
    sentences = list(language_words.problems(params["language"]))
    if sentences:
        return sentences
    from refinery.kernels.contamination import set_files, task_grams

    try:
        settings = [params[name] for name in ("n_grams", "find_query_ngrams", "find_overlap_ngrams")]
        grams = _grams([*settings, [1] * 5 + [0] * 2, params["language"]])
        index = task_grams.task_index(tuple(task_grams.named_files(params["evaluation"])), grams)
    except set_files.SetError as error:
        return [str(error)]
    cure = "set find_query_ngrams: true, or a smaller n_grams"
    return [] if index.tasks else [f"no item has an n-gram of {grams.n} words, so nothing is looked for; {cure}"]


def _grams(settings: list[Any]) -> Any:
    from refinery.kernels.contamination.task_grams import Grams
    from refinery.kernels.dedup import sentence_units

    n, of_query, across, how, language = settings
    flags = ("LOWER", "SPACES", "PUNCTUATION", "DIACRITICS", "NUMBERS", "WEEKDAYS", "MONTHS")
    bits = sum(getattr(sentence_units, name) for name, on in zip(flags, how, strict=True) if on)
    return Grams(n, bool(of_query), bool(across), bits, language)


def task_ngrams(column: pa.Array, evaluation: str, settings: str) -> pa.Array:
    """The first n-gram of a task in each text, and its tasks; NULL for NULL."""
    from refinery.kernels.contamination import task_grams

    return task_grams.found_grams(column, json.loads(evaluation), _grams(json.loads(settings)))
