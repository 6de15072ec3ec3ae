"""Steps for recorded results of datamap-rs (Dolma 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.web_cases import WEB, Steps, Translation

CURSED = WEB / "configs" / "datamap-rs" / "banlists" / "madlad400_cursed.txt.gz"

# Values of a wrong type, and names that the program does not read: it takes its default then (semantics.md, section 13).
IGNORED = {("text_len_filter", "upper_bound"): "262,144", ("regex_line_modifier", "regex_string"): None}


def same(op: str, value: str = "") -> Translation:
    """Translation to the operator of the same name and parameters."""

    def steps(params: Mapping[str, Any]) -> Steps:
        given = {
            name: one
            for name, one in params.items()
            if not name.startswith("_") and ((op, name) not in IGNORED or IGNORED[op, name] not in (None, one))
        }
        return Steps([{op: given}], value=value)

    return steps


def word_count(params: Mapping[str, Any]) -> Steps:
    return Steps([{"word_count_adder": dict(params)}], value=params["word_count_field"])


def intervals(params: Mapping[str, Any]) -> Steps:
    return Steps([{"interval_filter": dict(params)}], columns={params["interval_field"]: "BIGINT[][]"})


def madlad_annotator(rules: list[int]) -> dict[str, Any]:
    """The step that finds sentences that break rules."""
    return {"madlad400_sentence_annotator": {"rules_to_include": rules, "cursed_regex_file": str(CURSED)}}


def rules_of_madlad(params: Mapping[str, Any]) -> Steps:
    given = {name: value for name, value in params.items() if name != "after"}
    return Steps([madlad_annotator([2, 5]), {"madlad400_rule_filter": given}])


SAME = (
    "bullet_filter", "ellipsis_line_ratio_filter", "line_len_modifier", "massive_web_repetition_filter", "page_len_filter",
    "ratio_line_modifier", "regex_line_modifier", "regex_text_filter", "text_len_filter", "word_len_filter",
)  # fmt: skip

STEPS: dict[tuple[str, str], Translation] = {("datamap", op): same(op) for op in SAME}
STEPS["datamap", "word_count_adder"] = word_count

STEPS["datamap", "interval_filter"] = intervals
STEPS["datamap", "madlad400_rule_filter"] = rules_of_madlad

LEFT: dict[tuple[str, str], str] = {
    ("datamap", "madlad400_sentence_annotator"): "compared by test_web_madlad.py, with its annotations",
    ("datamap", "pipeline_all_dressed"): "compared by test_web_datamap_pipelines.py",
    ("datamap", "pipeline_dclm"): "compared by test_web_datamap_pipelines.py",
}
