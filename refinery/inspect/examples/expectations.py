"""Comparison of an example's expectations with the outcome of its sample."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.common.paths import CONTENTS, with_paths
from refinery.errors import did_you_mean
from refinery.operators import Operator

Example = Mapping[str, Any]

_INPUT = {"params", "fields", "files"}
_OF_SAMPLES = {"text", "out", "written", "stats", "keep", "reason", "quarantined", "error"}
_OF_DEDUPLICATORS = {"texts", "kept", "out", "error"}


@dataclass(frozen=True)
class Difference:
    """A part of an outcome that is not as expected. what: `text`, `keep`, a statistic."""

    what: str
    expected: Any
    actual: Any


def problem_of(operator: Operator, example: Any) -> str:
    """The reason why an example cannot be run, or expects nothing; "" for a sound one."""
    if not isinstance(example, Mapping):
        return f"an example is a mapping, not {example!r:.80}"
    compares = operator.kind == "deduplicator"
    known = _INPUT | (_OF_DEDUPLICATORS if compares else _OF_SAMPLES)
    for key in example:
        if key not in known:
            return f"an example has no field {key!r}{did_you_mean(str(key), known)}"
    given = "texts" if compares else "text"
    if given not in example:
        return f"the example has no {given!r}"
    if not {*example} - _INPUT - {given}:
        return "the example expects nothing: add out, stats, keep or the like"
    if (
        compares
        and "kept" in example
        and not all(isinstance(n, int) and 0 <= n < len(example["texts"]) for n in example["kept"])
    ):
        return f"kept must hold numbers of the texts, from 0, not {example['kept']!r}"
    for name in example.get("params") or {}:
        if name not in operator.params and name not in ("text_key",):
            return f"{operator.name} has no parameter {name!r}{did_you_mean(name, operator.params)}"
    return ""


def parameters(operator: Operator, example: Example, folder: Path) -> dict[str, Any]:
    """The example's parameters; files that it brings along are written to the folder, and paths point to them."""
    for name, content in (example.get("files") or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file_content(content))
    given = dict(example.get("params") or {})
    for name, value in given.items():
        if name in operator.params and operator.params[name].type in CONTENTS:
            given[name] = with_paths(value, lambda path: str(folder / path))
    return given


def file_content(content: Any) -> bytes:
    """Bytes of a file of an example: a text, `{"zlib": base64 of compressed bytes}`, or a value to be written as JSON."""
    if isinstance(content, dict) and list(content) == ["zlib"]:
        return zlib.decompress(base64.b64decode(content["zlib"]))
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def differences(example: Example, row: Mapping[str, Any]) -> list[Difference]:
    """Parts of the outcome of a sample that are not as its example expects."""
    error = row["error"]
    if "quarantined" in example:
        expected = example["quarantined"]
        return [] if error is not None and expected in error else [Difference("quarantined", expected, error)]
    if error is not None:
        return [
            Difference(
                "outcome", {key: example[key] for key in example if key in _OF_SAMPLES - {"text"}}, f"error: {error}"
            )
        ]
    return [one for one in _compared(example, row) if not equal(one.expected, one.actual)]


def _compared(example: Example, row: Mapping[str, Any]) -> Iterator[Difference]:
    if "out" in example:
        yield Difference("text", example["out"], row["text"])
    if "written" in example:
        yield Difference("written", example["written"], {n: v and json.loads(v) for n, v in row["written"].items()})
    if "keep" in example:
        yield Difference("keep", example["keep"], row["kept"])
    if "reason" in example:
        yield Difference("reason", example["reason"], row["reason"])
    for name, value in (example.get("stats") or {}).items():
        yield Difference(
            name, value, row["stats"].get(name, f"no statistic {name!r}{did_you_mean(name, row['stats'])}")
        )


def equal(expected: Any, actual: Any) -> bool:
    """True for equal values of one kind; floating-point numbers may differ in the last digits."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        both_nan = math.isnan(expected) and math.isnan(actual)
        return both_nan or math.isclose(expected, actual, rel_tol=1e-9, abs_tol=0)
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        return len(expected) == len(actual) and all(map(equal, expected, actual))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(equal(expected[key], actual[key]) for key in expected)
    return bool(expected == actual)
