"""datatrove's recorded statistics files: read, added and merged as its README says."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

from refinery.stats import StatsMerger, StatsWarning, TopKConfig
from refinery.stats.entries import KeySums, joined, read
from tests.conftest import RECORDED

STATS = RECORDED / "datatrove" / "stats"
NUMBERS = ("total", "mean", "min", "max")


def lines(name: str) -> list[dict[str, Any]]:
    path = STATS / "edges" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line] if path.is_file() else []


def added(entries: list[Any]) -> dict[str, Any]:
    """The moments of entries under one key of as many files."""
    keys = KeySums()
    keys.add(
        read(*joined([json.dumps({"k": entry}).encode() for entry in entries]), [str(at) for at in range(len(entries))])
    )
    [row] = keys.moments().to_pylist()
    return row


def meanings(entries: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Entries of a file as (n, total, mean, min, max, variance, unit), by key."""
    keys = KeySums()
    keys.add(read(*joined([json.dumps(entries).encode()]), ["file"]))
    rows = keys.moments().to_pylist()
    return {row["key"]: row | {"variance": row["m2"] / (row["n"] - 1) if row["n"] > 1 else 0.0} for row in rows}


def close(found: float, expected: float) -> bool:
    return math.isclose(found, expected, rel_tol=1e-9)


def variance_close(found: float, expected: float, low: float, high: float) -> bool:
    return close(found, expected) or abs(found - expected) <= (1e-14 * max(abs(low), abs(high))) ** 2


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Moments are what datatrove recorded of them; of no values there is no mean."""
    assert found["n"] == expected["n"]
    if not found["n"]:
        assert found["total"] == expected["total"] == 0
        return
    for name in NUMBERS:
        assert close(found[name], expected[name]), name
    variance = found["m2"] / (found["n"] - 1) if found["n"] > 1 else 0.0
    assert variance_close(variance, expected["variance"], expected["min"], expected["max"])
    assert found["unit"] == expected["unit"]


@pytest.mark.parametrize("case", lines("reads"), ids=lambda case: case["name"])
def test_reads(recorded: Path, case: dict[str, Any]) -> None:
    check(added([case["data"]]), case["fields"])


def test_additions(recorded: Path) -> None:
    cases = lines("additions")
    assert cases
    for case in cases:
        check(added([case["a"], case["b"]]), case["sum"])


def test_updates(recorded: Path) -> None:
    """Values that are added as numbers, as datatrove's blocks do; numbers add up to what one pass over them gives."""
    cases = [case for case in lines("updates") if case["values"]]
    assert cases
    for case in cases:
        check(added(case["values"]), case["by_add"])


def merged(source: Path, target: Path, top_k: TopKConfig | None = None) -> dict[str, dict[str, Any]]:
    """Result of a merge: entries by path, as in the files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatsWarning)
        (StatsMerger(source, target, top_k_config=top_k) if top_k else StatsMerger(source, target)).merge()
    return files(target)


def files(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.relative_to(folder).as_posix(): json.loads(path.read_bytes()) for path in folder.rglob("metric.json")}


def compare(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> int:
    """Files, keys and entries are equal; how many entries there were."""
    assert ours.keys() == theirs.keys()
    count = 0
    for path, entries in theirs.items():
        assert ours[path].keys() == entries.keys(), path
        found, expected = meanings(ours[path]), meanings(entries)
        assert found.keys() == expected.keys() == entries.keys()
        for key, entry in entries.items():
            compare_entry(found[key], expected[key], entry, f"{path} {key!r}")
            count += 1
    return count


def compare_entry(found: Any, expected: Any, theirs: Any, where: str) -> None:
    if not isinstance(theirs, dict):  # their form of a total of zero, which does not say how many there were
        assert found["total"] == expected["total"] == 0, where
        return
    assert found["n"] == expected["n"], where
    assert found["unit"] == expected["unit"], where
    for name in NUMBERS:
        assert close(found[name], expected[name]), f"{where}: {name}"
    assert variance_close(found["variance"], expected["variance"], expected["min"], expected["max"]), where


@pytest.mark.parametrize(
    ("source", "target", "top_k"),
    [
        ("partials", "merged_topk5", 5),
        ("partials_topk8", "merged_topk8_then_topk5", 5),
        ("edges/partials", "edges/merged", None),
        ("edges/partials", "edges/merged_topk3", 3),
    ],
)
def test_merged_files(recorded: Path, tmp_path: Path, source: str, target: str, top_k: int | None) -> None:
    config = None if top_k is None else TopKConfig(["fqdn", "suffix"], top_k)
    ours, theirs = merged(STATS / source, tmp_path, config), files(STATS / target)
    if top_k is not None:  # only these groups were recorded
        ours = {path: entries for path, entries in ours.items() if path.startswith(("fqdn/", "suffix/"))}
    assert compare(ours, theirs) > 0
    if top_k is not None:
        assert all(list(ours[path]) == list(entries) for path, entries in theirs.items())


def test_merged_partials(recorded: Path, tmp_path: Path) -> None:
    """Groups that can be cut have the keys of most samples first, ties as they were met; so do later merges.

    One warning counts what was lost.
    """
    zeros = spreads = 0
    for path in (STATS / "partials").rglob("[0-9][0-9][0-9][0-9][0-9].json"):
        for entry in json.loads(path.read_bytes()).values():
            zeros += entry == 0
            if isinstance(entry, dict) and "n" not in entry and entry.get("mean", 1) != 1:
                spreads += "variance" in entry
    with pytest.warns(StatsWarning) as found:
        StatsMerger(STATS / "partials", tmp_path).merge()
    assert [f"{zeros + spreads:,} of the entries" in str(warning.message) for warning in found] == [True]
    ours, theirs = files(tmp_path), files(STATS / "merged")
    assert compare(ours, theirs) > 0
    for name, entries in theirs.items():
        assert list(ours[name]) == list(entries), name
