"""Filter on the sentences that break rules of MADLAD-400."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPERATOR = {
    "doc": (
        "Remove samples of which too many sentences break rules of MADLAD-400, as madlad400_sentence_annotator has found them: for "
        "one of the lists of rules_to_remove, the share of sentences that break any rule of the list is threshold or more. A sample "
        "without an annotation has too few sentences; it is kept unless remove_too_short."
    ),
    "version": 1,
    "peer": "madlad400_rule_filter of datamap-rs",
    "params": {
        "rules_to_remove": {
            "type": "any",
            "doc": "Lists of rules that the annotator has looked for, such as [[2, 5]].",
        },
        "threshold": {"type": "float", "default": 0.2, "doc": "Share of sentences from which on a sample is removed."},
        "remove_too_short": {"type": "bool", "default": False, "doc": "Remove samples without an annotation."},
        "annotation_key": {"type": "sql", "default": "madlad", "doc": "The annotation, a statistic or a field."},
    },
    "stats": {
        "madlad_share": {
            "type": "DOUBLE",
            "most": 1,
            "doc": "Largest share of sentences for one of the lists; NULL without an annotation.",
        }
    },
    "checks": "check",
    "sql": """
        SELECT
          ({{ annotation_key }})::VARCHAR AS _annotation,
          greatest(0
            {% for rules in rules_to_remove %}
            , len(list_distinct([]
              {% for rule in rules %}
              || coalesce(json_extract(_annotation, '$."rule.{{ rule | int }}"')::BIGINT[], [])
              {% endfor %}))
            {% endfor %}
          ) / json_extract(_annotation, '$.num_sentences[0]')::DOUBLE AS madlad_share
          {% if remove_too_short %}, madlad_share IS NOT NULL AS keep_too_short{% endif %}
          , coalesce(madlad_share < {{ threshold | lit }}, true) AS keep_suspicious_sentences
    """,
    "examples": [
        {
            "text": "",
            "params": {"annotation_key": '\'{"num_sentences": [5], "rule.2": [3]}\'', "rules_to_remove": [[2, 5]]},
            "stats": {"madlad_share": 0.2},
            "keep": False,
            "reason": "suspicious_sentences",
        },
        {
            "text": "",
            "params": {
                "annotation_key": '\'{"num_sentences": [9], "rule.2": [3, 4], "rule.5": [4]}\'',
                "rules_to_remove": [[2, 5]],
                "threshold": 0.3,
            },
            "stats": {"madlad_share": 0.2222222222222222},
            "keep": True,
        },
        {
            "text": "",
            "params": {
                "annotation_key": '\'{"num_sentences": [9], "rule.2": [3], "rule.5": [4]}\'',
                "rules_to_remove": [[2], [5]],
            },
            "stats": {"madlad_share": 0.1111111111111111},
            "keep": True,
        },
        {
            "text": "",
            "params": {"annotation_key": "NULL", "rules_to_remove": [[2]]},
            "stats": {"madlad_share": None},
            "keep": True,
        },
        {
            "text": "",
            "params": {"annotation_key": "NULL", "rules_to_remove": [[2]], "remove_too_short": True},
            "keep": False,
            "reason": "too_short",
        },
        {"text": "", "params": {"annotation_key": "NULL", "rules_to_remove": [2, 5]}, "error": True},
        {"text": "", "params": {"annotation_key": "NULL", "rules_to_remove": [[7]]}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    lists = params["rules_to_remove"]
    if not isinstance(lists, (list, tuple)) or not all(isinstance(rules, (list, tuple)) and rules for rules in lists):
        return ["rules_to_remove is no list of lists: write lists of rules in a list, such as [[2, 5]]"]
    unknown = [rule for rules in lists for rule in rules if type(rule) is not int or rule not in range(1, 6)]
    return [f"rules_to_remove has {rule!r}, which is no rule: there are 1 to 5" for rule in unknown[:1]]
