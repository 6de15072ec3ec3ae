"""The effective recipe as YAML, with every parameter; reading it gives the same recipe."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import yaml

from refinery.common.fields import OTHERS
from refinery.recipe.input_config import InputConfig
from refinery.recipe.keys import KEYS, RANGE_PARAMS, TEXT_KEY
from refinery.recipe.model import Recipe, Step
from refinery.recipe.stat_summary import StatSummary
from refinery.recipe.step_items import NAME
from refinery.recipe.template import escape

_UNUSUAL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Dumper that quotes texts so that neither YAML nor variables change them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    escaped = escape(text)
    style = "|" if "\n" in text else None
    if escaped != text or _UNUSUAL.search(text):  # doubled quotes would change `{{ '{{' }}`
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", escaped, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(recipe: Recipe) -> str:
    """Return the effective recipe: every key that differs from its default, every step with all its parameters.

    Credentials are left out. Reading the text again gives an equal recipe.
    """
    content: dict[str, Any] = {}
    for name, key in KEYS.items():
        value = getattr(recipe, name, key.default)
        if name == "dataset_path":
            content |= _inputs(recipe)
        elif name == "process":
            continue
        elif name == "stat_summary":
            content |= _summary(recipe.stat_summary)
        elif name == "fields":
            content |= {name: dict(recipe.fields)} if recipe.fields else {}
        elif name == "found_assets":
            content |= {name: dict(recipe.found_assets)} if recipe.found_assets else {}
        elif name == "export_fields":
            content |= (
                {name: {f: True if f == OTHERS else n for f, n in recipe.export_fields}} if recipe.export_fields else {}
            )
        elif name == "partition_by":
            content |= {name: dict(recipe.partition_by)} if recipe.partition_by else {}
        elif value != key.default and name not in ("export_aws_credentials", "dataset", "vars"):
            content[name] = _plain(value)
    content["process"] = [{step.name: _params(step) or None, **_name(step)} for step in recipe.steps]
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))


def _summary(summary: StatSummary) -> dict[str, Any]:
    """Keys of `stat_summary` that differ from the defaults."""
    plain = StatSummary()
    names = [field.name for field in fields(summary) if field.compare]
    changes = {n: _plain(getattr(summary, n)) for n in names if getattr(summary, n) != getattr(plain, n)}
    if summary.group_by:
        changes["group_by"] = dict(summary.group_by)
    return {"stat_summary": changes} if changes else {}


def _inputs(recipe: Recipe) -> dict[str, Any]:
    sources = recipe.inputs
    if not sources:
        return {}
    if recipe.max_sample_num is None and all(source == InputConfig(source.path) for source in sources):
        paths = [source.path for source in sources]
        single = len(paths) == 1 and not any(character.isspace() for character in paths[0])
        return {"dataset_path": paths[0] if single else paths}
    most = {} if recipe.max_sample_num is None else {"max_sample_num": recipe.max_sample_num}
    return {"dataset": {**most, "configs": [_source(source) for source in sources]}}


def _source(source: InputConfig) -> dict[str, Any]:
    form = {} if source.format is None else {"format": source.format}
    options: dict[str, Any] = {name: _plain(value) for name, value in source.options}
    if source.format == "sql":
        return {"type": "sql", "database": source.path, "weight": source.weight, **options}
    part: dict[str, Any] = {"files": list(source.files)} if source.files else {}
    part |= {"left_out": source.left_out} if source.left_out else {}
    return {"type": "local", "path": source.path, "weight": source.weight, **form, **options, **part}


def _name(step: Step) -> dict[str, str]:
    """The name of a step, beside its operator."""
    return {} if step.title is None else {NAME: step.title}


def _params(step: Step) -> dict[str, Any]:
    """All parameters of a step; those common to all operators or filters only if they have an effect, and resources."""
    params = {
        name: _plain(value)
        for name, value in step.params.items()
        if not (name in RANGE_PARAMS and value == RANGE_PARAMS[name]) and not (name == TEXT_KEY and value is None)
    }
    return params | dict(step.resources)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
