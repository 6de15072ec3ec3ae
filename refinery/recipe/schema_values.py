"""JSON Schemas of single values: of each type of a key or parameter, in every form that the loader takes.

Numbers may be texts (YAML 1.1 reads `2e5` as one), truth values words, and a variable may stand in place of any value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from refinery.recipe.values import Spec

Schema = dict[str, Any]

# A variable within a text. Without quotes, YAML takes `{{ name }}` for a mapping whose only key has no value.
VARIABLE = r"\{\{|\$\{"
_NUMBER = r"^\s*[+-]?((\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?|0[xXbBoO][0-9a-fA-F_]+)\s*$"
_INFINITE = r"^\s*[+-]?\.?(inf|Inf|INF|infinity|Infinity)\s*$"
_SIZE = r"^\s*[0-9._]+([eE][0-9]{1,2})?\s*[kKmMgGtT]?i?[bB]?\s*$"
_SHARE = r"^\s*\d{1,3}(\.\d{1,9})?\s*%\s*$"


def any_case(words: Sequence[str], before: str = "") -> str:
    """A pattern for one of some words in any letter case, with or without blanks around it. before: a pattern."""
    cased = ["".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else re.escape(c) for c in word) for word in words]
    return rf"^\s*{before}({'|'.join(cased)})\s*$"


_TEXT: Schema = {"type": ["string", "number", "boolean"]}

DEFINITIONS: dict[str, Schema] = {
    "variable": {
        "anyOf": [
            {"type": "string", "pattern": VARIABLE},
            {
                "type": "object",
                "minProperties": 1,
                "patternProperties": {r"^\{": {"type": "null"}},
                "additionalProperties": False,
            },
        ]
    },
    "text": _TEXT,
    "texts": {"type": "array", "items": {"$ref": "#/$defs/text"}},
    "number_text": {"type": "string", "pattern": _NUMBER},
    "infinite_text": {"type": "string", "pattern": _INFINITE},
    "size_text": {"type": "string", "pattern": _SIZE},
    "truth_text": {"type": "string", "pattern": any_case(("true", "yes", "on", "false", "no", "off"))},
    "false_text": {"type": "string", "pattern": any_case(("false", "no", "off"))},
}


def ref(name: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def value_of(spec: Spec, doc: str = "") -> Schema:
    """The schema of a key's or parameter's value, with its default and description."""
    forms = [*_forms(spec), ref("variable")]
    if spec.nullable or (spec.default is None and not getattr(spec, "required", False)):
        forms.append({"type": "null"})
    schema: Schema = {"description": doc} if doc else {}
    if not getattr(spec, "required", False):
        schema["default"] = list(spec.default) if isinstance(spec.default, tuple) else spec.default
    return schema if spec.type == "any" else schema | {"anyOf": forms}


def _forms(spec: Spec) -> list[Schema]:
    """The forms of a value besides variables and null."""
    if spec.type.startswith("list["):
        return [{"type": "array", "items": {"anyOf": [*_scalar(spec.type[5:-1], spec), ref("variable")]}}]
    if spec.type in ("strings", "str_or_list", "paths"):
        items = _scalar("str", spec)
        return [*items, {"type": "array", "items": {"anyOf": [*items, ref("variable")]}}]
    return _scalar(spec.type, spec)


def _scalar(kind: str, spec: Spec) -> list[Schema]:
    if spec.choices:
        return [{"enum": list(spec.choices)}]
    ends = {"minimum": spec.min, "maximum": spec.max}
    bounds = {name: value for name, value in ends.items() if value is not None}
    integers = [{"type": "integer", **bounds}, ref("number_text")]
    of_kind: dict[str, list[Schema]] = {
        "int": integers,
        "float": [{"type": "number", **bounds}, ref("number_text"), ref("infinite_text")],
        "bool": [{"type": "boolean"}, ref("truth_text")],
        "size": [*integers, ref("size_text")],
        "count_or_all": [*integers, {"type": "string", "pattern": any_case(("all",))}],
        "count_or_share": [*integers, {"type": "string", "pattern": _SHARE}],
        "share": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            ref("number_text"),
            {"type": "string", "pattern": _SHARE},
        ],
        "mapping": [{"type": "object"}],
        "files": [ref("text"), ref("texts"), {"type": "object"}],
        "expressions": [ref("text"), ref("texts"), {"type": "object", "additionalProperties": ref("text")}],
        "fields": [
            ref("text"),
            ref("texts"),
            {"type": "object", "additionalProperties": {"anyOf": [ref("text"), {"type": "null"}]}},
        ],
    }
    return of_kind.get(kind, [ref("text")])
