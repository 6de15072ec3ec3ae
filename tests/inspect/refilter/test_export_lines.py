"""`refinery refilter` where fewer samples stay and all is known: lines of the old export are copied as they stand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.errors import OperatorError
from refinery.inspect.refilter import export_lines
from refinery.inspect.refilter.export_lines import copy_lines
from refinery.inspect.refilter.refilter import refilter
from tests.inspect.refilter.refiltered import prepared, same_as_fresh
from tests.inspect.refilter.test_refilter import SAMPLES
from tests.inspect.refilter.test_table_patch import KNOWN
from tests.sampling import named

TIGHTER = {"process.4.min_num": 5}


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Names of the files that were copied from."""
    names: list[str] = []

    def watched(source: Path, target: Path, wanted: Any) -> int:
        names.append(source.name)
        return copy_lines(source, target, wanted)

    monkeypatch.setattr(export_lines, "copy_lines", watched)
    return lambda: names


Prepared = Callable[..., Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Recipe and run of the steps with these keys: made once, for tests that change nothing of it."""
    found: dict[str, Path] = {}

    def run(**keys: Any) -> Path:
        name = json.dumps(keys, sort_keys=True)
        if name not in found:
            found[name] = prepared(tmp_path_factory.mktemp("made"), SAMPLES, KNOWN, **keys)
        return found[name]

    return run


KEYS: list[dict[str, Any]] = [
    {},
    {"keep_stats_in_res_ds": True, "add_suffix": True, "stat_summary": {"groups": ["summary", "histogram"]}},
]
FEWER: list[dict[str, Any]] = [
    TIGHTER,
    {"process.5.where": "num_words NOT IN (6, 7) AND text_len < 44"},
    {},
    {"process.4.min_num": 99},
    {"open_tracer": True, "trace_num": 4, **TIGHTER},
]


@pytest.mark.parametrize(
    ("keys", "changes"),
    named({str(at): case for at, case in enumerate(product(KEYS, FEWER))}, "3", "6"),
)
def test_fewer_samples(
    made: Prepared, tmp_path: Path, changes: dict[str, Any], keys: dict[str, Any], copied: Callable[[], list[str]]
) -> None:
    assert same_as_fresh(made(**keys), tmp_path, changes).again == 0
    assert sorted(copied()) == ["out.jsonl", "out_stats.jsonl"]


@pytest.mark.parametrize(
    ("keys", "changes"),
    [
        *named(
            {
                "more samples": ({}, {"process.5.where": "text_len < 50"}),
                "other names": ({}, {"add_suffix": True, **TIGHTER}),
                "other format": ({}, {"export_type": "jsonl.gz", **TIGHTER}),
                "other columns": ({}, {"keep_stats_in_res_ds": True, **TIGHTER}),
                "tables": ({"export_type": "parquet"}, TIGHTER),
                "compressed": ({"export_type": "jsonl.zst"}, TIGHTER),
                "no export": ({"export_type": "none"}, {"export_type": "jsonl", **TIGHTER}),
            },
            "other columns",
            "tables",
        )
    ],
)
def test_what_has_to_be_written_anew(
    made: Prepared, tmp_path: Path, keys: dict[str, Any], changes: dict[str, Any], copied: Callable[[], list[str]]
) -> None:
    same_as_fresh(made(**keys), tmp_path, changes)
    assert copied() == []


@pytest.mark.parametrize(
    ("name", "left", "damage"),
    [
        ("out_stats.jsonl", ["out.jsonl"], "gone"),
        pytest.param("out.jsonl", [], "other", marks=pytest.mark.long),
        pytest.param("out.jsonl", [], "gone", marks=pytest.mark.long),
        pytest.param("out_stats.jsonl", ["out.jsonl"], "other", marks=pytest.mark.long),
        ("out.jsonl", [], "edited"),  # in place, and its time put back: size and time are those of the run
        pytest.param("out_stats.jsonl", ["out.jsonl"], "edited", marks=pytest.mark.long),
    ],
)
def test_files_that_are_not_as_they_were(
    tmp_path: Path, name: str, left: list[str], damage: str, copied: Callable[[], list[str]]
) -> None:
    recipe = prepared(tmp_path, SAMPLES, KNOWN)
    path = tmp_path / "run" / name
    if damage == "gone":
        path.unlink()
    else:
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(b"one", b"eno").replace(b"1", b"2") + b"{}\n" * (damage == "other"))
        if damage == "edited":
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert path.stat().st_size == before.st_size
    same_as_fresh(recipe, tmp_path, TIGHTER)
    assert copied() == left


def test_a_run_of_an_earlier_version_tells_no_file_of_statistics(
    tmp_path: Path, copied: Callable[[], list[str]]
) -> None:
    recipe = prepared(tmp_path, SAMPLES, KNOWN)
    manifest = tmp_path / "run" / ".refinery" / "manifest.json"
    said = json.loads(manifest.read_text())
    del said["beside"]
    manifest.write_text(json.dumps(said))
    same_as_fresh(recipe, tmp_path, TIGHTER)
    assert copied() == ["out.jsonl"]


@pytest.mark.parametrize(
    "failing", ["refinery.inspect.refilter.export_lines.stats_path", "refinery.results.whole_tables.summarise"]
)
def test_what_nothing_accounts_for_is_not_left(
    made: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The copy fails between its files, and the tables fail beside it."""
    run = made().parent / "run"

    def fails(*arguments: Any) -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(failing, fails)
    with pytest.raises(OperatorError, match="no more"):
        refilter(run, ["process.4.min_num=5"], work_dir=str(tmp_path / "again"))
    assert not [path for path in (tmp_path / "again").rglob("*") if path.suffix in (".jsonl", ".duckdb", ".tmp")
                and "log" not in path.parts]  # fmt: skip


@given(
    lines=st.lists(st.tuples(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), st.booleans())),
    block=st.integers(1, 40),
)
def test_copied_lines_are_those_that_are_wanted(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[bytes, bool]], block: int
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a").write_bytes(b"".join(line + b"\n" for line, _ in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_lines, "_BLOCK", block)
        rows = copy_lines(folder / "a", folder / "b", np.array([wanted for _, wanted in lines], np.bool_))
    assert (folder / "b").read_bytes() == b"".join(line + b"\n" for line, wanted in lines if wanted)
    assert rows == sum(wanted for _, wanted in lines)
