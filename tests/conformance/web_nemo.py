"""Steps for recorded results of NeMo Curator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tests.conformance.web_cases import WEB, Steps, Translation

# Filters and the statistics that hold their scores.
SCORES = {
    "alpha_filter": "alpha_filter",
    "boiler_plate_string_filter": "boilerplate_string_ratio",
    "bullets_filter": "bullet_ratio",
    "common_english_words_filter": "common_english_words",
    "ellipsis_filter": "ellipsis",
    "general_comment_to_code_filter": "comment_ratio",
    "html_boilerplate_filter": "html_boilerplate",
    "long_word_filter": "max_word_length",
    "mean_word_length_filter": "mean_word_length",
    "non_alpha_numeric_filter": "alpha_numeric",
    "number_of_lines_of_code_filter": "num_lines",
    "numbers_filter": "numbers_ratio",
    "parentheses_filter": "parentheses_ratio",
    "pornographic_urls_filter": "pornographic_urls",
    "punctuation_filter": "punctuation",
    "python_comment_to_code_filter": "python_comment_ratio",
    "repeated_lines_by_char_filter": "repeated_lines_char",
    "repeated_lines_filter": "repeated_lines",
    "repeated_paragraphs_by_char_filter": "repeated_paragraphs_char",
    "repeated_paragraphs_filter": "repeated_paragraphs",
    "repeating_duplicate_n_grams_filter": "repeating_dup_{n}gram",
    "repeating_top_n_grams_filter": "repeating_top_{n}grams",
    "symbols_to_words_filter": "symbol_to_word",
    "urls_filter": "urls_ratio",
    "white_space_filter": "white_space",
    "word_count_filter": "word_count",
    "words_without_alphabets_filter": "words_without_alphabets",
    "xml_header_filter": "xml_header",
}

MODIFIERS = (
    "boiler_plate_string_modifier", "line_remover", "markdown_remover", "newline_normalizer", "quotation_remover", "slicer",
    "url_remover",
)  # fmt: skip


def same(op: str, value: str = "") -> Translation:
    """Translation to the operator of the same name and parameters."""
    return lambda params: Steps([{op: dict(params)}], value=value.format(**params))


def pipeline(params: Mapping[str, Any]) -> Steps:
    """The filters of a configuration."""
    stages = yaml.safe_load((WEB / "configs/nemo-curator" / params["config"]).read_text("utf-8"))["stages"]
    filters = [dict(stage["filter_obj"]) for stage in stages if "filter_obj" in stage]
    return Steps([{operator(given.pop("_target_").rpartition(".")[2]): given} for given in filters])


def operator(name: str) -> str:
    """The operator for the name of a class."""
    names = {op.replace("_", ""): op for op in SCORES}
    return names[name.lower()]


STEPS: dict[tuple[str, str], Translation] = {
    **{("nemo", op): same(op, value) for op, value in SCORES.items()},
    **{("nemo", op): same(op) for op in MODIFIERS},
    ("nemo", "pipeline_heuristic_filter_english_pipeline"): pipeline,
    ("nemo", "pipeline_heuristic_filter_non_english_pipeline"): pipeline,
}
