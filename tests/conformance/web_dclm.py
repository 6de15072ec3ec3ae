"""Recorded operators of DCLM, and those whose names it shares with datamap-rs and NeMo Curator, as steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.web_cases import Steps, Translation

OPERATORS = """
    alphabetic_word_ratio_filter alphanumeric_char_ratio_filter bullet_count_filter citation_removal_modifier
    ellipsis_count_filter line_length_filter line_length_modifier newline_removal_modifier numeric_ratio_line_modifier
    massive_web_repetition_filters punctuation_line_modifier repetition_filter stop_word_filter symbol_ratio_filter uppercase_ratio_line_modifier word_length_filter
    word_length_modifier
""".split()
OF_DATAMAP = "alphabetic_word_ratio_filter newline_removal_modifier stop_word_filter symbol_ratio_filter".split()


def same(op: str, peer: str = "") -> Translation:
    """The operator of the same name. peer: the value of `as`."""

    def steps(params: Mapping[str, Any]) -> Steps:
        given = {name: value for name, value in params.items() if not name.startswith("_")}
        return Steps([{op: given | ({"as": peer} if peer else {})}])

    return steps


def quality(params: Mapping[str, Any]) -> Steps:
    return Steps([{"quality_filter": dict(params)}], columns={params["key"]: "DOUBLE"})


STEPS: dict[tuple[str, str], Translation] = {
    **{("dclm", op): same(op) for op in OPERATORS},
    **{("datamap", op): same(op, "datamap") for op in OF_DATAMAP},
    ("dclm", "quality_filter"): quality,
}
