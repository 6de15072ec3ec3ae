"""The JSON Schema of recipes, for editors: keys, nested keys, operators with their parameters.

It accepts every form that the loader accepts; what needs the data, other keys or an operator's own check is left to
`refinery check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from refinery.io.readers.registry import READABLE
from refinery.operators.resources import RESOURCE_ALIASES, RESOURCE_PARAMS
from refinery.recipe.by_column import TYPES
from refinery.recipe.key import RecipeKey
from refinery.recipe.keys import BASE_PARAMS, DATASET_KEYS, KEYS, RANGE_PARAMS, SOURCE_KEYS, SUMMARY_KEYS, TEXT_KEY
from refinery.recipe.model import GROUPS
from refinery.recipe.protocols import LibraryLike, OperatorLike
from refinery.recipe.schema_values import DEFINITIONS, VARIABLE, Schema, any_case, ref, value_of
from refinery.recipe.step_items import NAME

_NULL: Schema = {"type": "null"}
_NAMED_VARIABLE: Schema = {VARIABLE: {}}
_TEXT_KEY = RecipeKey(TEXT_KEY, "str", None, "Field that the step works on; by default the recipe's.", nullable=True)

_NAME: Schema = {
    "description": "A name for the step: tables and reports show it, and options find the step by it.",
    "anyOf": [{"type": "string", "pattern": r"\S", "not": {"pattern": r"^\s*\d+\s*$"}}, ref("variable")],
}


def recipe_schema(library: LibraryLike) -> Schema:
    """The schema of recipes with the operators of a library, as data for JSON."""
    operators = {name: library.operators[name] for name in sorted(library.operators)}
    readers = sorted(getattr(library, "readers", ()))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Recipe of refinery",
        "type": "object",
        "properties": {name: _key(key, readers) for name, key in KEYS.items()},
        "patternProperties": {rf"^({_either(_without_effect())})\.": ref("no_effect"), **_NAMED_VARIABLE},
        "additionalProperties": False,
        "required": ["process"],
        "$defs": {
            **DEFINITIONS,
            "no_effect": {"description": "Accepted without effect."},
            "by_column": {"description": "Values by the text of a column.", "type": "object", "minProperties": 1},
            "step": _step(operators),
            **{name: value_of(param, param.doc) for name, param in RESOURCE_PARAMS.items()},
            **{f"operator_{name}": _operator(operator) for name, operator in operators.items()},
        },
    }


def _key(key: RecipeKey, readers: Sequence[str]) -> Schema:
    if key.note:
        return {"description": f"Has no effect: {key.note}.", "deprecated": True}
    if key.refuses:
        texts = [ref("false_text")] if key.default is False else []
        return {
            "description": f"Cannot be followed: {key.refuses}.",
            "deprecated": True,
            "anyOf": [{"const": key.default}, *texts, ref("variable")],
        }
    structured: dict[str, Callable[[], Schema]] = {
        "process": _process,
        "dataset": partial(_dataset, readers),
        "stat_summary": _summary,
        "dataset_path": _paths,
        "fields": _fields,
    }
    made = structured.get(key.name)
    return {"description": key.help, **made()} if made else value_of(key, key.help)


def _fields() -> Schema:
    return {"anyOf": [{"type": "object", "additionalProperties": ref("text")}, _NULL, ref("variable")]}


def _paths() -> Schema:
    return {"anyOf": [ref("text"), ref("texts"), _NULL, ref("variable")]}


def _process() -> Schema:
    steps = {"type": "array", "items": ref("step")}
    nothing = [_NULL, {"type": "string", "pattern": r"^\s*$"}, {"type": "object", "maxProperties": 0}]
    return {"anyOf": [steps, ref("step"), *nothing]}


def _dataset(readers: Sequence[str]) -> Schema:
    sources = {"type": "array", "minItems": 1, "items": {"anyOf": [_source(readers), ref("variable")]}}
    plain = {name: value_of(key, key.help) for name, key in DATASET_KEYS.items()}
    configs = {"description": DATASET_KEYS["configs"].help, "anyOf": [sources, ref("variable")]}
    alone = _source(readers, {name: value for name, value in plain.items() if name != "configs"})
    return {"anyOf": [_object({**plain, "configs": configs}, ["configs"]), alone, _NULL, ref("variable")]}


def _source(readers: Sequence[str], beside: Schema | None = None) -> Schema:
    """A source. beside: keys of `dataset` that stand beside its own."""
    plain = (beside or {}) | {name: value_of(key, key.help) for name, key in SOURCE_KEYS.items()}
    readable = {"type": "string", "pattern": any_case(("text", *READABLE, *readers), before=r"\.*")}
    places = {"type": "string", "pattern": any_case(("s3", "huggingface"), before=r"\.*")}
    forms = [{"enum": [*READABLE, *readers]}, readable, _NULL, ref("variable")]
    plain["format"] = {"description": SOURCE_KEYS["format"].help, "anyOf": forms}
    plain["source"] = {"description": SOURCE_KEYS["source"].help, "anyOf": [*forms, places]}
    plain["type"] = {
        "description": SOURCE_KEYS["type"].help,
        "enum": ["local", "remote", "huggingface", "sql", "", None],
    }
    return {"anyOf": [_object(plain, ["path"]), _object(plain, ["database", "query"])]}


def _summary() -> Schema:
    plain = {name: value_of(key, key.help) for name, key in SUMMARY_KEYS.items()}
    group = {"anyOf": [{"enum": [*GROUPS]}, ref("variable")]}
    plain["groups"] = {**plain["groups"], "anyOf": [*group["anyOf"], {"type": "array", "items": group}]}
    return {"anyOf": [_object(plain), _NULL, ref("variable")]}


def _step(operators: Mapping[str, OperatorLike]) -> Schema:
    """One item of `process`: an operator, or a mapping of an operator to parameters, with a name of the step or without."""
    alone = [name for name, operator in operators.items() if not _required(operator)]
    named = _object({name: ref(f"operator_{name}") for name in operators} | {NAME: _NAME})
    one = {"if": {"required": [NAME]}, "then": {"minProperties": 2}, "else": {"maxProperties": 1}}
    return {"anyOf": [{"enum": alone}, named | {"minProperties": 1, "maxProperties": 2} | one, ref("variable")]}


def _operator(operator: OperatorLike) -> Schema:
    """The parameters of an operator."""
    plain = {name: value_of(param, _doc(param)) for name, param in operator.params.items()}
    for name in plain if operator.kind != "deduplicator" else ():
        if "anyOf" in plain[name] and operator.params[name].type in TYPES:
            plain[name]["anyOf"].append(ref("by_column"))
    plain.setdefault(TEXT_KEY, value_of(_TEXT_KEY, _TEXT_KEY.help))
    for name in (*RESOURCE_PARAMS, *RESOURCE_ALIASES):
        plain.setdefault(name, ref(RESOURCE_ALIASES.get(name, name)))
    others = [name for name in (*BASE_PARAMS, *RANGE_PARAMS) if name not in plain]
    schema = _object(plain, _required(operator))
    schema["patternProperties"] = {f"^({_either(others)})$": ref("no_effect"), **_NAMED_VARIABLE}
    schema["type"] = "object" if _required(operator) else ["object", "null"]
    doc = " ".join(str(getattr(operator, "doc", "")).split())
    return ({"description": doc} if doc else {}) | schema


def _object(properties: dict[str, Schema], required: Iterable[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | {"patternProperties": _NAMED_VARIABLE} | ({"required": [*required]} if required else {})


def _required(operator: OperatorLike) -> list[str]:
    return [name for name, param in operator.params.items() if getattr(param, "required", False)]


def _doc(param: Any) -> str:
    return " ".join(str(getattr(param, "doc", "")).split())


def _without_effect() -> list[str]:
    return [name for name, key in KEYS.items() if key.note]


def _either(names: Iterable[str]) -> str:
    return "|".join(names)
