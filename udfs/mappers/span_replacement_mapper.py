"""Replace spans that a tagger of dolma marks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from refinery.errors import did_you_mean
from refinery.kernels.core.arrow import each
from refinery.kernels.text.tagged_spans import TAGGERS, Span, replaced

OPERATOR = {
    "doc": (
        "Replace spans that taggers of dolma mark within a text, such as e-mail addresses, lines without an end mark or "
        "repetition. All spans are those of the text before the step; of two that overlap the first one is replaced. `{}` in "
        "a replacement stands for the span."
    ),
    "version": 1,
    "peer": "span_replacement of the mixer of dolma 1.2.1",
    "params": {
        "spans": {
            "type": "any",
            "doc": "List of mappings with `tagger` and `type` of the spans, and perhaps `replacement` (empty if left out), "
            "`min_score` and `max_score`: spans with min_score ≤ score < max_score are replaced.",
        },
    },
    "checks": "check",
    "functions": {
        "span_replacement_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "replace_spans",
        }
    },
    "sql": "SELECT span_replacement_delta({{ text }}, {{ spans | tojson | lit }}) AS delta",
    "examples": [
        {
            "text": "Write to a@b.org or call 425 882 9080.",
            "params": {
                "spans": [
                    {
                        "tagger": "pii_regex_v1",
                        "type": "EMAIL_ADDRESS",
                        "min_score": 0.5,
                        "replacement": " |||EMAIL||| ",
                    },
                    {"tagger": "pii_regex_v1", "type": "PHONE_NUMBER", "replacement": " <{} >"},
                ]
            },
            "out": "Write to |||EMAIL||| or call < 425 882 9080 >.",
        },
        {
            "text": "A line.\nmenu\nTwo words.\n",
            "params": {"spans": [{"tagger": "c4_v1", "type": "lines_with_no_ending_punctuation"}]},
            "out": "A line.\nTwo words.\n",
        },
        {
            "text": "one\ntwo words here\n",
            "params": {
                "spans": [{"tagger": "uniseg_length_paragraphs_v1", "type": "negative_paragraph", "min_score": -2}]
            },
            "out": "two words here\n",
        },
        {
            "text": "ha ha ha ha ha, no no no no",
            "params": {"spans": [{"tagger": "repetitions_v1", "type": "repetition", "max_score": 5}]},
            "out": "ha ha ha ha ha,",
        },
        {
            "text": "",
            "params": {"spans": [{"tagger": "c4_v1", "type": "lines_with_too_few_words", "replacement": "x"}]},
            "out": "",
        },
        {"text": "", "params": {"spans": [{"tagger": "c4_v1", "type": "lines"}]}, "error": "unknown type"},
    ],
}

KEYS = ("tagger", "type", "replacement", "min_score", "max_score")


def check(params: Mapping[str, Any]) -> list[str]:
    """Faults of the list `spans`, as sentences."""
    spans = params["spans"]
    if not isinstance(spans, (list, tuple)) or not all(isinstance(given, dict) for given in spans):
        return ["spans is a list of mappings, each with tagger and type"]
    return [sentence for given in spans for sentence in _faults(given)]


def _faults(given: Mapping[str, Any]) -> Iterator[str]:
    for key in given:
        if key not in KEYS:
            yield f"an entry of spans has no {key!r}{did_you_mean(str(key), KEYS)}; it has {', '.join(KEYS)}"
    tagger, kind = given.get("tagger"), given.get("type")
    if tagger not in TAGGERS:
        yield f"{tagger!r} is no tagger with spans within a text{did_you_mean(str(tagger), TAGGERS)}: {', '.join(TAGGERS)}"
    elif kind not in TAGGERS[tagger][1]:
        yield f"{tagger} has no spans of type {kind!r}{did_you_mean(str(kind), TAGGERS[tagger][1])}: {', '.join(TAGGERS[tagger][1])}"
    if not isinstance(given.get("replacement") or "", str):
        yield f"replacement is {given['replacement']!r}; it must be a text"
    for key in ("min_score", "max_score"):
        if isinstance(given.get(key), bool) or not isinstance(given.get(key) or 0, (int, float)):
            yield f"{key} is {given[key]!r}; it must be a number"


def replace_spans(column: pa.Array, spans: str) -> pa.Array:
    """Each text with its spans replaced; NULL where there are none."""
    given = json.loads(spans)
    return each(column, lambda text: replaced(text, [*_spans(text, given)]))


def _spans(text: str, given: list[dict[str, Any]]) -> Iterator[tuple[Span, str]]:
    """The spans of a text that are to be replaced, each with its replacement."""
    found = {tagger: TAGGERS[tagger][0](text) for tagger in dict.fromkeys(one["tagger"] for one in given)}
    for one in given:
        low, high = one.get("min_score"), one.get("max_score")
        for span in found[one["tagger"]]:
            if span.type == one["type"] and (low is None or low <= span.score) and (high is None or span.score < high):
                yield span, one.get("replacement") or ""
