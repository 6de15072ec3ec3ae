"""Recorded operators of DCLM, and those whose names it shares with datamap-rs and NeMo Curator, as steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.web_cases import WEB, Steps, Translation

OPERATORS = """
    alphabetic_word_ratio_filter alphanumeric_char_ratio_filter arxiv_appendix_modifier arxiv_comment_modifier
    arxiv_macro_modifier arxiv_section_strip_modifier bullet_count_filter citation_removal_modifier
    ellipsis_count_filter line_length_filter line_length_modifier newline_removal_modifier page_length_filter numeric_ratio_line_modifier
    massive_web_repetition_filters punctuation_line_modifier repetition_filter stop_word_filter substring_filter substring_line_modifier symbol_ratio_filter counter_line_modifier within_page_dedup uppercase_ratio_line_modifier word_length_filter
    word_length_modifier
""".split()
OF_DATAMAP = "alphabetic_word_ratio_filter newline_removal_modifier stop_word_filter symbol_ratio_filter".split()


def same(op: str, peer: str = "") -> Translation:
    """The operator of the same name. peer: the value of `as`."""

    def steps(params: Mapping[str, Any]) -> Steps:
        given = {name: value for name, value in params.items() if not name.startswith("_")}
        return Steps([{op: given | ({"as": peer} if peer else {})}])

    return steps


def datamap_lines(params: Mapping[str, Any]) -> Steps:
    """datamap-rs ignores parameters that it does not know: `max_length`, which the published files write."""
    return same("substring_line_modifier", "datamap")(
        {name: value for name, value in params.items() if name != "max_length"}
    )


def without_urls(params: Mapping[str, Any]) -> Steps:
    """With the list of top-level domains that the peer had."""
    return Steps([{"url_removal_modifier": {**params, "tlds_filepath": str(WEB / "configs/dclm/iana_tlds.txt")}}])


def quality(params: Mapping[str, Any]) -> Steps:
    return Steps([{"quality_filter": dict(params)}], columns={params["key"]: "DOUBLE"})


def language(params: Mapping[str, Any]) -> Steps:
    return Steps([{"language_filter": {**params, "as": "dclm"}}], columns={params["key"]: "JSON"})


def counter(op: str, name: str) -> Translation:
    """An enricher; its count is compared with the recorded value."""
    return lambda params: Steps([{op: dict(params)}], value=name)


def removal(before: str, peer: str) -> Translation:
    """The filter on removed words. before: parameter with the name of the recorded field of the count before."""

    def steps(params: Mapping[str, Any]) -> Steps:
        name, given = params[before], params["_given"].partition(" = ")[2]
        (step,) = same("word_removal_ratio_filter", peer)(params).process
        return Steps(
            [step],
            fields=lambda doc: {name: 0 if given == "0" else len(doc["text"].split())},
            columns={name: "BIGINT"},
        )

    return steps


STEPS: dict[tuple[str, str], Translation] = {
    **{("dclm", op): same(op) for op in OPERATORS},
    **{("datamap", op): same(op, "datamap") for op in OF_DATAMAP},
    ("datamap", "substring_line_modifier"): datamap_lines,
    ("dclm", "url_removal_modifier"): without_urls,
    ("dclm", "language_filter"): language,
    ("dclm", "quality_filter"): quality,
    ("nemo", "substring_filter"): lambda params: Steps(
        [{"substring_filter": dict(params) | {"as": "nemo"}}], value="substring"
    ),
    ("dclm", "word_counter_enricher"): counter("word_counter_enricher", "word_count"),
    ("dclm", "line_counter_enricher"): counter("line_counter_enricher", "num_lines"),
    ("dclm", "word_removal_ratio_filter"): removal("prev_word_count_key", "dclm"),
    ("datamap", "word_removal_ratio_filter"): removal("word_count_field", "datamap"),
}

LEFT: dict[tuple[str, str], str] = {
    ("dclm", "ccnet_dedup_normalizer"): "a normalizer of DCLM's exact_dedup, which has no translation",
    ("dclm", "pipeline_dclm_baseline_refinedweb"): "test_web_configs.py runs it from its configuration",
    ("dclm", "split_lines_modifier"): "a text stays one text; the translation of configurations leaves the step out",
    ("dclm", "split_sentences"): "test_dclm_units.py compares the numbers",
    ("dclm", "split_words"): "test_dclm_units.py compares the numbers",
}
