"""Names of the assets that an operator needs with given parameters.

A parameter of type `file` or `folder` declares `asset`, the name of the file, or for a folder a pattern of the files in
it; `{param}` stands for the value of a parameter. It declares `needed` where it is not needed with every value of other
parameters.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

PLACE = re.compile(r"\{(\w+)\}")


class AssetParam(Protocol):
    """A parameter that names an asset."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def asset(self) -> str: ...
    @property
    def needed(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Need:
    """An asset that a step needs.

    param: the parameter that takes its path. name: file name, or a pattern of files for a folder. given: the value of
    the parameter in the recipe, None for the operator's own name.
    """

    param: str
    name: str
    folder: bool
    given: str | None = None


def needs(params: Mapping[str, Any], specs: Mapping[str, Any]) -> list[Need]:
    """The needs of an operator with these parameters. specs: its declared parameters.

    A value that leads somewhere as a path is no need; nor is one that cannot be a name.
    """
    optional_needs = (need_of(spec, params) for spec in specs.values() if getattr(spec, "asset", ""))
    return [need for need in optional_needs if need is not None]


def need_of(spec: AssetParam, params: Mapping[str, Any]) -> Need | None:
    """The need of one parameter; None if it is a path of its own, or is not needed with these parameters."""
    setting = params.get(spec.name)
    if not all(_holds(params.get(name), value) for name, value in spec.needed.items()):
        return None
    if setting is None or setting == "":
        name = _filled(spec.asset, params)
        return Need(spec.name, name, spec.type == "folder") if name else None
    if not isinstance(setting, str) or os.path.exists(os.path.expanduser(setting)) or not is_name(setting):
        return None
    name = _filled(spec.asset, params) if f"{{{spec.name}}}" in spec.asset else setting
    ending = spec.asset.rpartition(".")[2]
    return Need(spec.name, setting if setting.endswith(f".{ending}") else name, spec.type == "folder", setting)


def is_name(text: str) -> bool:
    """Return whether a text can be looked for in folders: a relative path without `..`, and no URL."""
    parts = text.split("/")
    return all(part not in ("", ".", "..") for part in parts) and not text.startswith("~") and "\0" not in text


def matches(file: str, pattern: str) -> bool:
    """Return whether a file in a folder belongs to the asset that a pattern stands for."""
    return not pattern or fnmatch.fnmatchcase(file, pattern)


def _holds(value: Any, wanted: Any) -> bool:
    return bool(value) if wanted is True else value == wanted


def _filled(asset: str, params: Mapping[str, Any]) -> str:
    """The name with values for its parameters; empty without a value for one of them."""
    values = {name: params.get(name) for name in PLACE.findall(asset)}
    if not all(isinstance(value, str) and is_name(value) for value in values.values()):
        return ""
    return PLACE.sub(lambda match: str(values[match[1]]), asset)
