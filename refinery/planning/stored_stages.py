"""Compiled stages in the user's cache folder, so that a recipe which was compiled before loads neither sqlglot nor Jinja.

A stage is stored once DuckDB has bound it. Its key covers everything that compiling reads: steps with all parameters and
places, statistics of earlier stages, columns of the samples, refinery's sources with its operators, and versions of libraries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from refinery.common.cache_files import read_cached, write_cached
from refinery.common.cache_folder import cache_root
from refinery.compiler.layers import Layers
from refinery.compiler.model import Chain
from refinery.compiler.program import Program
from refinery.operators import Library, is_shipped
from refinery.operators.versions import versions
from refinery.workers.serialization import from_json, to_json

_MOST = 200  # stages, of some 50 kB each


def stage_key(steps: Sequence[Any], library: Library, *compiled_from: Any) -> str | None:
    """Key of a stage. compiled_from: all else that it is compiled from. None for a stage with operators of users, which is not stored."""
    if not all(is_shipped(library.operators[step.name].path) for step in steps):
        return None
    plain = json.dumps([versions(), _every_field(compiled_from)])
    return hashlib.sha256(plain.encode()).hexdigest()


def stored_stage(key: str, steps: Sequence[Any]) -> tuple[Program, Chain] | None:
    """The stored stage of a key; None if there is none, or it is damaged."""
    text = read_cached(_place(key))
    if text is None:
        return None
    try:
        program, chain = from_json(text)
        return program, _chain(chain, steps)
    except (ValueError, KeyError, TypeError):
        return None


def store_stage(key: str, program: Program, chain: Chain, library: Library) -> None:
    """Store a stage that DuckDB has bound, if it is the same whenever it is compiled; without a folder, do nothing.

    Features with `variables` run Python code that may read files, such as models.
    """
    used = [library.features[name] for name in chain.used_features]
    if any(feature.variables or not is_shipped(feature.path) for feature in used):
        return
    write_cached(_place(key), to_json([program, _plain(chain)]).encode(), _MOST)


def binds_alike(program: Program) -> bool:
    """True if DuckDB binds the statement whenever it has done so once with the same versions of everything.

    Statements that read files or call Python functions may fail later, and columns of tables are not in the key.
    """
    return program.lines and not program.files and all(function.runs == "kernel" for function in program.functions)


def _place(key: str) -> Path:
    return cache_root() / "stages" / f"{key}.json"


# Fields of a chain that are sets, which are stored as lists.
_SETS = ("functions", "used_features", "files", "conditions")


def _plain(chain: Chain) -> dict[str, Any]:
    """The chain without its steps, which come from the recipe."""
    plain = {declared.name: getattr(chain, declared.name) for declared in fields(Chain) if declared.name != "steps"}
    plain |= {name: sorted(plain[name]) for name in _SETS}
    asked = {step: sorted(names) for step, names in chain.asked.items()}
    return {**plain, "asked": asked, "layers": chain.layers.layers(), "available": chain.layers.available}


def _chain(plain: dict[str, Any], steps: Sequence[Any]) -> Chain:
    layers = Layers(plain.pop("available"), plain.pop("layers"))
    sets = {name: set(plain[name]) for name in _SETS}
    asked = {step: set(names) for step, names in plain["asked"].items()}
    return Chain(**{**plain, **sets, "asked": asked, "layers": layers, "steps": list(steps)})


def _every_field(value: Any) -> Any:
    """A value as data for JSON, the same in every process, with all fields of dataclasses. Raises TypeError for others."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Path):
        return ["path", str(value)]
    if is_dataclass(value) and not isinstance(value, type):
        named = {declared.name: _every_field(getattr(value, declared.name)) for declared in fields(value)}
        return [type(value).__name__, named]
    if isinstance(value, Mapping):
        return ["mapping", [[_every_field(key), _every_field(item)] for key, item in value.items()]]
    if isinstance(value, AnySet):
        return ["set", sorted((_every_field(item) for item in value), key=json.dumps)]
    if isinstance(value, (list, tuple)):
        return ["list", [_every_field(item) for item in value]]
    raise TypeError(f"{type(value).__name__} cannot be in a key")
