"""Steps for recorded results of dolma's taggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.web_cases import Steps, Translation

TAGGERS = (
    "bytes_length_v1", "c4_v1", "c4_v2", "char_length_strip_ws_v1", "char_length_v1", "char_length_with_paragraphs_v1",
    "doc_count_v1", "gopher_v1", "gopher_v2", "not_alphanum_paragraph_v1", "paragraph_repetitions_v1", "pii_regex_v1",
    "pii_regex_v2", "pii_regex_with_counts_fast_v2", "pii_regex_with_counts_v2", "repetitions_v1",
    "uniseg_length_paragraphs_v1", "uniseg_length_v1", "whitespace_tokenizer_v1",
)  # fmt: skip

# Types of spans within a text; one that covers all of it is recorded like a measure of the text.
WITHIN = {
    "char_length_with_paragraphs_v1": ("paragraph",),
    "paragraph_repetitions_v1": ("repetition",),
    "repetitions_v1": ("repetition",),
    "uniseg_length_paragraphs_v1": ("paragraph", "negative_paragraph"),
}


def same(op: str) -> Translation:
    """Translation to the statistics operator of the tagger's name."""

    def steps(params: Mapping[str, Any]) -> Steps:
        return Steps([{op: {}}], document=dict.fromkeys(WITHIN.get(op, ()), ""))

    return steps


STEPS: dict[tuple[str, str], Translation] = {("dolma", op): same(op) for op in TAGGERS}

LEFT = {
    ("dolma", op): "all recorded documents lack the metadata that the tagger reads" for op in ("cc_re", "cc_re_fast")
}
