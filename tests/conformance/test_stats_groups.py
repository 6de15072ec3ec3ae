"""The statistics files that a run writes are those that datatrove recorded, from the documents and their statistics.

The run receives the recorded statistics of each document, so that groups are tested independently of word rules.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.operators import Library
from refinery.stats.entries import KeySums, joined, read
from tests.conftest import RECORDED
from tests.runs import write_lines

STATS = RECORDED / "datatrove" / "stats"
ALL = ["summary", "histogram", "fqdn", "suffix"]
# Operators whose statistics depend on words and sentences, which are spaCy's there.
SPACY = {"word_stats", "sentence_stats", "words_contamination_stats"}
TOP = ["WordStats", "LineStats", "DocStats"]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


def values_by_id(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {name: {stat: value for stat, value in found.items() if value is not None} for name, found in values.items()}


def operator_of(folder: Path, names: Mapping[str, Any]) -> str:
    """A folder with an operator that gives the statistics that stand in a sample's field `recorded`."""
    kinds = {name: "BIGINT" if isinstance(value, int) else "DOUBLE" for name, value in names.items()}
    stats = "\n".join(f"  {name}: {{type: {kind}, doc: recorded}}" for name, kind in kinds.items())
    columns = ",\n".join(f"""({{{{ field('recorded') }}}})."{name}" AS {name}""" for name in kinds)
    header = f"/*---\ndoc: Statistics as recorded.\nversion: 1\nparams: {{}}\nstats:\n{stats}\n---*/\n"
    path = folder / "operators" / "statistics" / "recorded_stats.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{header}SELECT {columns}\n", encoding="utf-8")
    return str(folder / "operators")


def run(folder: Path, docs: list[dict[str, Any]], values: Mapping[str, Mapping[str, Any]], **summary: Any) -> Any:
    """Run one rank over documents; the statistics files are in `folder/stats`."""
    rank = summary.get("rank", 0)
    path = write_lines(folder / f"{rank}.jsonl", ({**doc, "recorded": values[doc["id"]]} for doc in docs))
    return refinery.run(
        {
            "dataset_path": str(path),
            "export_path": str(folder / f"out_{rank}" / "docs.jsonl"),
            "np": 2,
            "shard_size": 100_000,
            "operators": [operator_of(folder, next(iter(values.values())))],
            "process": ["recorded_stats"],
            "stat_summary": {"export": str(folder / "stats"), **summary},
        }
    )


def moments(path: Path) -> dict[str, dict[str, Any]]:
    """Entries of a file as datatrove's rules read them."""
    return moments_of([path.read_bytes()], str(path))


def moments_of(files: list[Any], name: str = "recorded") -> dict[str, dict[str, Any]]:
    """Entries of files, or of what would stand in them, added up as datatrove's rules read them."""
    keys = KeySums()
    contents = [file if isinstance(file, bytes) else json.dumps(file).encode() for file in files]
    keys.add(read(*joined(contents), [f"{name} {number}" for number in range(len(files))]))
    return {row["key"]: row for row in keys.moments().to_pylist()}


def same(found: float, expected: float) -> bool:
    return math.isclose(found, expected, rel_tol=1e-9)


def compare(found: Path, expected: Path, raw: Mapping[str, Any] | None = None) -> int:
    """Hold a file against datatrove's; how many entries it has."""
    raw = json.loads(expected.read_text(encoding="utf-8")) if raw is None else raw
    mine, theirs = moments(found), moments(expected)
    assert mine.keys() == raw.keys(), found
    for key, entry in raw.items():
        ours, other = mine[key], theirs[key]
        if entry == 0:  # it has lost its n; ours has it
            assert ours["total"] == ours["mean"] == ours["m2"] == 0 and ours["n"] >= 1
            continue
        assert ours["n"] == other["n"] and ours["unit"] == other["unit"], (found, key)
        assert all(same(ours[name], other[name]) for name in ("total", "mean", "min", "max")), (found, key)
        if ours["n"] > 1:
            ends = max(abs(other["min"]), abs(other["max"]))
            variances = ours["m2"] / (ours["n"] - 1), other["m2"] / (other["n"] - 1)
            assert same(*variances) or abs(variances[0] - variances[1]) <= (1e-14 * ends) ** 2, (found, key)
    return len(raw)


def files(folder: Path, pattern: str = "*/*/*.json") -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.glob(pattern)}


def compare_all(found: Path, expected: Path, ranks: Iterable[int]) -> int:
    names = [f"{rank:05d}.json" for rank in ranks]
    theirs = {name for name in files(expected) if Path(name).name in names}
    assert files(found) == theirs and theirs
    return sum(compare(found / name, expected / name) for name in theirs)


@pytest.fixture(scope="module")
def docs(recorded: Path) -> list[dict[str, Any]]:
    return lines(recorded / "datatrove" / "docs.jsonl")


@pytest.fixture(scope="module")
def values(recorded: Path) -> dict[str, Mapping[str, Any]]:
    return values_by_id({row["id"]: row["values"] for row in lines(STATS / "per_doc.jsonl")})


@pytest.fixture(scope="module")
def params(recorded: Path) -> Any:
    return json.loads((STATS / "params.json").read_text(encoding="utf-8"))


def shard(docs: list[dict[str, Any]], cut: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [doc for doc in docs if cut["first_id"] <= doc["id"] <= cut["last_id"]]


# The recorded ranks, of which each has a shard of the documents.
ranks = pytest.mark.parametrize("ranks", [(0,), pytest.param((1, 2, 3), marks=pytest.mark.long)], ids=["one", "others"])


def cuts(params: Any, ranks: tuple[int, ...]) -> list[Any]:
    """The shards of these ranks."""
    assert params["ranks"] == 4 == len(params["shards"])
    return [cut for cut in params["shards"] if cut["rank"] in ranks]


def keys_in_order(*folders: Path) -> list[list[str]]:
    """Keys of the files of both groups that a top-k can cut."""
    return [
        [*json.loads((folder / group / "n_words" / "00000.json").read_bytes())]
        for folder in folders
        for group in ALL[2:]
    ]


@ranks
def test_every_partial_file(tmp_path: Path, docs: Any, values: Any, params: Any, ranks: tuple[int, ...]) -> None:
    for cut in cuts(params, ranks):
        part = shard(docs, cut)
        assert len(part) == cut["docs"]
        run(tmp_path, part, values, groups=ALL, rank=cut["rank"])
    entries = compare_all(tmp_path / "stats", STATS / "partials", ranks)
    assert entries > 2500 * len(ranks)
    if 0 in ranks:  # the order of keys decides ties in a top-k
        assert keys_in_order(tmp_path / "stats") == keys_in_order(STATS / "partials")


def steps_of(params: Any, without: set[str]) -> list[Any]:
    """The operators of the recorded blocks, as far as they are there, can run here and are not among `without`."""
    library, found = Library(), []
    for block in params["blocks"]:
        name = "_".join(re.findall("[A-Z][a-z]+", block["class"])).lower()
        operator = library.operators.get(name)
        if operator is None or name in without or (name in SPACY and importlib.util.find_spec("spacy") is None):
            continue
        own = {"words_from": "spacy"} if "words_from" in operator.params else {"words": "spacy"}
        found.append({name: {**block["kwargs"], **(own if name in SPACY else {})}})
    return found


@pytest.mark.parametrize("without", [SPACY, pytest.param(set(), marks=pytest.mark.long)], ids=["few", "all"])
@ranks
def test_partial_files_of_operators(
    tmp_path: Path, docs: Any, params: Any, ranks: tuple[int, ...], without: set[str]
) -> None:
    """The same from the documents alone, their statistics computed by the operators.

    What spaCy's words give is held document by document in `test_stats_operators`, too.
    """
    steps = steps_of(params, without)
    for cut in cuts(params, ranks):
        rank = cut["rank"]
        path = write_lines(tmp_path / f"{rank}.jsonl", shard(docs, cut))
        refinery.run(
            {
                "dataset_path": str(path),
                "export_path": str(tmp_path / f"out_{rank}" / "docs.jsonl"),
                "process": steps,
                "stat_summary": {"export": str(tmp_path / "stats"), "groups": ALL, "rank": rank},
            }
        )
    mine = files(tmp_path / "stats")
    assert sum(compare(tmp_path / "stats" / name, STATS / "partials" / name) for name in mine) > 1250 * len(ranks)
    if len(steps) == len(params["blocks"]):
        names = {f"{rank:05d}.json" for rank in ranks}
        assert mine == {name for name in files(STATS / "partials") if Path(name).name in names}


@ranks
def test_top_k(tmp_path: Path, docs: Any, values: Any, params: Any, ranks: tuple[int, ...]) -> None:
    own = params["partials_topk8"]
    assert own["blocks"] == TOP and own["top_k"] == 8
    names = sorted({path.parent.name for path in (STATS / "partials_topk8").glob("*/*/*.json")})
    for cut in cuts(params, ranks):
        done = run(
            tmp_path,
            shard(docs, cut),
            values,
            groups=own["groups"],
            top_k=own["top_k"],
            top_k_groups=own["top_k_groups"],
            rank=cut["rank"],
            stats=names,
        )
        assert any("group fqdn: top_k keeps 8 of" in line for line in done.warnings)
    compare_all(tmp_path / "stats", STATS / "partials_topk8", ranks)


@pytest.mark.parametrize(
    ("name", "digits"), [pytest.param("doc_round_0", 0, marks=pytest.mark.long), ("doc_round_minus_2", -2)]
)
def test_rounding(tmp_path: Path, docs: Any, values: Any, name: str, digits: int) -> None:
    variant = json.loads((STATS / "variants" / f"{name}.json").read_text(encoding="utf-8"))
    stats = list(variant["files"]["summary"])
    run(tmp_path, docs, values, groups=["summary", "histogram"], histogram_round_digits=digits, stats=stats)
    for group, found in variant["files"].items():
        for stat, entries in found.items():
            theirs = tmp_path / "theirs.json"
            theirs.write_text(json.dumps(entries), encoding="utf-8")
            compare(tmp_path / "stats" / group / stat / "00000.json", theirs, entries)
    assert len(files(tmp_path / "stats")) == sum(map(len, variant["files"].values()))


def test_fields_in_place_of_the_address(tmp_path: Path, recorded: Path) -> None:
    """A sample without an address counts under the empty key, where datatrove raises."""
    cases = json.loads((STATS / "url_metadata.json").read_text(encoding="utf-8"))
    metadata: dict[str, dict[str, Any]] = {
        "absent": {},
        "null": {"url": None},
        "fqdn_and_suffix_given": {"fqdn": "given.example", "suffix": "given"},
        "empty": {"url": ""},
    }
    assert {case["metadata"] for case in cases} == set(metadata)
    docs = [{"id": name, "text": "nine char", **fields} for name, fields in metadata.items()]
    run(tmp_path, docs, dict.fromkeys(metadata, {"length": 9}), groups=["fqdn", "suffix"])
    for group in ("fqdn", "suffix"):
        empty = {"": {"total": 9, "mean": 9.0, "unit": "task"}}
        expected = [
            case["length_files"].get(group, empty if "error" in case["length_files"] else None) for case in cases
        ]
        assert moments(tmp_path / "stats" / group / "length" / "00000.json") == moments_of(expected)


def test_hosts(tmp_path: Path, recorded: Path) -> None:
    """Every address of the documents has the host name and suffix that datatrove recorded."""
    cases = lines(STATS / "urls.jsonl")
    path = write_lines(tmp_path / "in.jsonl", ({"text": "x", "url": case["url"]} for case in cases))
    done = refinery.run(
        {
            "dataset_path": str(path),
            "export_path": str(tmp_path / "out.jsonl"),
            "process": ["text_length_filter"],
            "stat_summary": {"groups": ["fqdn", "suffix"]},
        }
    )
    for group in ("fqdn", "suffix"):
        expected: dict[str, int] = {}
        for case in cases:
            expected[case[group]] = expected.get(case[group], 0) + 1
        assert dict(done.sql(f"SELECT key, n FROM stat_summary WHERE \"group\" = '{group}'").fetchall()) == expected
