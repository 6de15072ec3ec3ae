"""Merging folders of statistics files: which files, which folders, what is removed and when."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refinery.cli.main import cli
from refinery.errors import DataError, OutputError, RecipeError
from refinery.stats import StatsMerger, StatsWarning, TopKConfig
from refinery.stats.folders import LocalFolder
from refinery.stats.removal import NOTE
from refinery.storage.run_folder import aside


def put(folder: Path, path: str, entries: dict[str, Any] | str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(entries if isinstance(entries, str) else json.dumps(entries), "utf-8")
    return file


def entry(n: int, mean: float = 2.0) -> dict[str, Any]:
    return {"total": n * mean, "n": n, "mean": mean, "unit": "task"}


def counts(folder: Path) -> dict[str, dict[str, int]]:
    """n of each key, by the path of its metric.json."""
    found = folder.rglob("metric.json")
    return {
        path.parent.relative_to(folder).as_posix(): {k: e["n"] for k, e in json.loads(path.read_bytes()).items()}
        for path in found
    }


def paths(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def partials(tmp_path: Path) -> Path:
    """Three folders of two ranks."""
    folder = tmp_path / "partials"
    for rank in range(2):
        put(folder, f"summary/length/{rank:05d}.json", {"summary": entry(10 + rank)})
        put(folder, f"summary/n_words/{rank:05d}.json", {"summary": entry(10 + rank)})
        put(folder, f"fqdn/length/{rank:05d}.json", {"a.de": entry(3), "b.de": entry(rank + 1), "c.de": entry(3)})
    return folder


MERGED = {
    "summary/length": {"summary": 21},
    "summary/n_words": {"summary": 21},
    "fqdn/length": {"a.de": 6, "c.de": 6, "b.de": 3},
}


def test_merge(partials: Path, tmp_path: Path) -> None:
    merged = StatsMerger(partials, tmp_path / "out").merge()
    assert counts(tmp_path / "out") == MERGED
    assert (merged.folders, merged.files, merged.keys, merged.removed) == (3, 6, 5, 0)
    assert merged.bytes == sum(path.stat().st_size for path in partials.rglob("*.json"))
    assert list(counts(tmp_path / "out")["fqdn/length"]) == ["a.de", "c.de", "b.de"]


def test_ten_zeros_and_a_one(tmp_path: Path) -> None:
    """Our form keeps through any number of merges the values that datatrove's form loses."""
    put(tmp_path / "in", "g/s/00000.json", {"k": {"total": 0.0, "n": 10, "mean": 0.0, "unit": "task"}})
    put(tmp_path / "in", "g/s/00001.json", {"k": {"total": 1.0, "n": 1, "mean": 1.0, "unit": "task"}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StatsMerger(tmp_path / "in", tmp_path / "out").merge()
    [found] = json.loads((tmp_path / "out/g/s/metric.json").read_bytes()).values()
    assert (found["n"], found["total"], found["min"], found["max"]) == (11, 1.0, 0.0, 1.0)
    assert found["mean"] == pytest.approx(1 / 11, rel=1e-15)
    assert found["variance"] == pytest.approx(1 / 11, rel=1e-15)


def test_only_leaves_and_five_digits(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(folder, "00000.json", {"k": entry(1)})
    put(folder, "a/00000.json", {"k": entry(1)})
    put(folder, "a/b/00000.json", {"k": entry(2)})
    put(folder, "deep/er/still/00017.json", {"k": entry(3)})
    for name in (
        "0000.json",
        "000000.json",
        "metric.json",
        "00000.json.tmp",
        "x00000.json",
        "00000.jsonl",
        "٠٠٠٠٠.json",
    ):
        put(folder, f"a/b/{name}", "not to be read")
    put(folder, "others/metric.json", {"k": entry(4)})
    merged = StatsMerger(folder, tmp_path / "out").merge()
    assert counts(tmp_path / "out") == {"a/b": {"k": 2}, "deep/er/still": {"k": 3}}
    assert merged.left_alone == ["others"]


def test_files_in_the_folder_itself(tmp_path: Path) -> None:
    put(tmp_path / "in", "00000.json", {"k": entry(1)})
    put(tmp_path / "in", "00001.json", {"k": entry(2)})
    StatsMerger(tmp_path / "in", tmp_path / "out").merge()
    assert json.loads((tmp_path / "out" / "metric.json").read_bytes())["k"]["n"] == 3


def test_in_place(partials: Path) -> None:
    """Input and output can be one folder; a second merge does not take the first for a part."""
    for _ in range(2):
        StatsMerger(partials, partials).merge()
        assert counts(partials) == MERGED
    StatsMerger(partials, partials, remove_input=True).merge()
    again = StatsMerger(partials, partials, remove_input=True).merge()
    assert counts(partials) == MERGED  # with nothing left to merge, what was merged stays
    assert again.folders == 0 and len(again.left_alone) == 3


def test_ranks_share_the_folders(partials: Path, tmp_path: Path) -> None:
    found: dict[str, dict[str, int]] = {}
    for rank in range(4):
        StatsMerger(partials, tmp_path / str(rank)).merge(rank, 4)
        mine = counts(tmp_path / str(rank)) if (tmp_path / str(rank)).exists() else {}
        assert not mine.keys() & found.keys()
        found |= mine
    assert found == MERGED
    for rank in (-1, 4):
        with pytest.raises(DataError, match="ranks are 0 to 3"):
            StatsMerger(partials, tmp_path).merge(rank, 4)


def test_top_k(partials: Path, tmp_path: Path) -> None:
    for k, keys in ((0, []), (1, ["a.de"]), (2, ["a.de", "c.de"]), (9, ["a.de", "c.de", "b.de"])):
        StatsMerger(partials, tmp_path / "out", top_k_config=TopKConfig(["fqdn"], k)).merge()
        assert list(counts(tmp_path / "out")["fqdn/length"]) == keys
        assert counts(tmp_path / "out")["summary/length"] == {"summary": 21}
    StatsMerger(partials, tmp_path / "out", top_k_config=TopKConfig(["summary"], 0)).merge()
    assert counts(tmp_path / "out")["summary/length"] == {}
    assert list(counts(tmp_path / "out")["fqdn/length"]) == ["a.de", "b.de", "c.de"]


def test_a_group_that_is_not_there_is_reported(partials: Path, tmp_path: Path) -> None:
    with pytest.warns(
        StatsWarning, match="no group is called 'sumary', so nothing is cut for it. Did you mean 'summary'"
    ):
        StatsMerger(partials, tmp_path / "out", top_k_config=TopKConfig(["sumary", "suffix"], 1)).merge()
    assert counts(tmp_path / "out") == MERGED


def test_a_step_passes_its_rows_through(partials: Path, tmp_path: Path) -> None:
    """Datatrove's way: run(data, rank, world_size); the merge is done when rows come."""
    rows: Iterator[int] = iter(range(3))
    passed = StatsMerger(str(partials), str(tmp_path / "out")).run(rows, 0, 1)
    assert counts(tmp_path / "out") == MERGED
    assert list(passed) == [0, 1, 2]
    assert list(StatsMerger(partials, tmp_path / "again")()) == []
    assert counts(tmp_path / "again") == MERGED


def test_threads_and_order_change_nothing(tmp_path: Path) -> None:
    for rank in range(40):
        file = {f"k{(7 * rank + at) % 90}": entry(at + 1, (at + 0.1) / (rank + 3)) for at in range(50)}
        put(tmp_path / "in", f"g/s/{rank:05d}.json", file)
    found = []
    for threads in (1, 2, 5):
        StatsMerger(tmp_path / "in", tmp_path / str(threads)).merge(threads=threads)
        found.append((tmp_path / str(threads) / "g/s/metric.json").read_bytes())
    assert found[0] == found[1] == found[2]


def test_damaged_files_leave_their_folders_alone(partials: Path, tmp_path: Path) -> None:
    for name in ("summary/length/00001.json", "fqdn/length/00000.json"):
        (partials / name).write_text('{"a": 1', "utf-8")
    before = paths(partials)
    with pytest.raises(DataError) as error:
        StatsMerger(partials, tmp_path / "out", remove_input=True).merge()
    said = str(error.value)
    assert str(partials / "summary/length/00001.json") in said and str(partials / "fqdn/length/00000.json") in said
    assert said.endswith("not merged; folders merged: 1")
    assert counts(tmp_path / "out") == {"summary/n_words": {"summary": 21}}
    assert before - paths(partials) == {"summary/n_words/00000.json", "summary/n_words/00001.json"}


def test_input_is_removed(partials: Path, tmp_path: Path) -> None:
    put(partials, "fqdn/length/notes.txt", "stays")
    merged = StatsMerger(partials, tmp_path / "out", remove_input=True).merge()
    assert merged.removed == 6
    assert paths(partials) == {"fqdn/length/notes.txt"}
    assert counts(tmp_path / "out") == MERGED
    assert paths(tmp_path / "out") == {f"{leaf}/metric.json" for leaf in MERGED}


KILLED = """
import os, sys
from refinery.stats import StatsMerger, folders, removal
left = int(sys.argv[3])
def dying(method):
    def call(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return method(*arguments, **named)
    return call
folders.LocalFolder.remove = dying(folders.LocalFolder.remove)
folders.LocalFolder.write = dying(folders.LocalFolder.write)
StatsMerger(sys.argv[1], sys.argv[2], remove_input=True).merge()
"""


@pytest.mark.parametrize("steps", [1, 4, *(pytest.param(steps, marks=pytest.mark.long) for steps in (0, 2, 3, 5, 8))])
def test_a_kill_at_any_step_loses_nothing(partials: Path, tmp_path: Path, steps: int) -> None:
    """Killed before a write or a removal, then run again: as if it had not been."""
    command = [sys.executable, "-c", KILLED, str(partials), str(tmp_path / "out"), str(steps)]
    assert subprocess.run(command, check=False).returncode == 9
    StatsMerger(partials, tmp_path / "out", remove_input=True).merge()
    assert counts(tmp_path / "out") == MERGED
    assert paths(partials) == set()
    assert paths(tmp_path / "out") == {f"{leaf}/metric.json" for leaf in MERGED}


def test_a_kill_in_the_middle_of_writing(partials: Path, tmp_path: Path) -> None:
    """The unfinished file is beside metric.json under another name, and the next merge removes it."""
    StatsMerger(partials, tmp_path / "out").merge()
    name = aside(tmp_path / "out" / "summary" / "length" / "metric.json").name.rpartition(".")[0]
    left = put(tmp_path / "out", f"summary/length/{name}.12345", '{"summary": {"tot')
    assert counts(tmp_path / "out") == MERGED
    StatsMerger(partials, tmp_path / "out").merge()
    assert not left.exists()


def test_new_files_after_a_kill_are_not_removed_unread(partials: Path, tmp_path: Path) -> None:
    """A note of a removal names files by size and time: one that was written again since is another."""
    target, source = LocalFolder(tmp_path / "out"), LocalFolder(partials)
    files = source.partials("summary/length")
    StatsMerger(partials, tmp_path / "out").merge()
    content = (tmp_path / "out/summary/length/metric.json").read_bytes()
    import hashlib

    note = {"metric": hashlib.sha256(content).hexdigest(), "files": [[f.path, f.size, f.version] for f in files]}
    target.write(f"summary/length/{NOTE}", [json.dumps(note).encode()], durable=True)
    put(partials, "summary/length/00001.json", {"summary": entry(500)})
    StatsMerger(partials, tmp_path / "out", remove_input=True).merge()
    assert counts(tmp_path / "out")["summary/length"] == {"summary": 500}
    assert paths(partials) == set()


@pytest.mark.parametrize("note", ["", "[]", '{"metric": "0", "files": []}', '{"metric": "0", "files": [1]}'])
def test_a_note_of_something_else_is_passed_over(partials: Path, tmp_path: Path, note: str) -> None:
    put(tmp_path / "out", f"summary/length/{NOTE}", note)
    StatsMerger(partials, tmp_path / "out", remove_input=True).merge()
    assert counts(tmp_path / "out") == MERGED
    assert paths(tmp_path / "out") == {f"{leaf}/metric.json" for leaf in MERGED}


def test_one_warning(tmp_path: Path) -> None:
    for rank in range(3):
        put(tmp_path / "in", f"g/s/{rank:05d}.json", {"a": 0, "b": 3})
        put(tmp_path / "in", f"g/t/{rank:05d}.json", {"a": 0})
    with pytest.warns(StatsWarning, match="6 of the entries") as found:
        StatsMerger(tmp_path / "in", tmp_path / "out").merge()
    assert len(found) == 1


def test_no_folder_and_no_permission(partials: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        StatsMerger(tmp_path / "nowhere", tmp_path / "out").merge()
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        StatsMerger(partials, tmp_path / "out").merge()


def test_command(partials: Path, tmp_path: Path) -> None:
    put(partials, "summary/zeros/00000.json", {"summary": 0})
    arguments = ["stats", "merge", str(partials), str(tmp_path / "out"), "--top-k", "1", "--top-k-groups", "fqdn, x"]
    done = CliRunner().invoke(cli, [*arguments, "--remove-input"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "7 files" in done.stdout and "4 folders" in done.stdout and "7 merged files removed" in done.stdout
    assert "warning: 1 of the entries" in done.stderr
    assert counts(tmp_path / "out")["fqdn/length"] == {"a.de": 6}
    assert paths(partials) == set()


def test_command_ranks(partials: Path, tmp_path: Path) -> None:
    arguments = ["stats", "merge", str(partials), str(tmp_path / "out"), "--world-size", "2", "--rank"]
    for rank in ("0", "1"):
        assert CliRunner().invoke(cli, [*arguments, rank]).exit_code == 0
    assert counts(tmp_path / "out") == MERGED
    wrong = CliRunner().invoke(cli, [*arguments, "2"])
    assert isinstance(wrong.exception, RecipeError) and "--rank" in str(wrong.exception)


def test_command_errors_have_no_traceback(tmp_path: Path) -> None:
    bad = put(tmp_path / "in", "g/s/00000.json", '{"a": 1')
    command = [sys.executable, "-m", "refinery", "stats", "merge", str(tmp_path / "in"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 3
    assert str(bad) in done.stderr and "damaged JSON" in done.stderr and "Traceback" not in done.stderr


def test_a_folder_whose_name_is_not_utf8_is_named_and_the_others_merged(partials: Path, tmp_path: Path) -> None:
    odd = os.fsencode(partials) + b"/suffix\xe9/length"
    os.makedirs(odd)
    Path(os.fsdecode(odd + b"/00000.json")).write_text(json.dumps({"a": entry(1)}), "utf-8")
    with pytest.raises(DataError, match=r"suffix\\xe9/length: the name is not UTF-8. Rename the folder\n.*merged: 3"):
        StatsMerger(partials, tmp_path / "out").merge()
    assert counts(tmp_path / "out") == MERGED


def test_the_top_k_as_a_mapping(partials: Path, tmp_path: Path) -> None:
    StatsMerger(partials, tmp_path / "out", top_k_config={"top_k_groups": ["fqdn"], "top_k": 1}).merge()
    assert counts(tmp_path / "out")["fqdn/length"] == {"a.de": 6}
    for wrong, said in (
        ({"top": 1}, "no 'top'; its fields are top_k_groups, top_k"),
        ([1], r"is \[1\]; give a TopKConfig"),
    ):
        with pytest.raises(ValueError, match=said):
            StatsMerger(partials, tmp_path / "out", top_k_config=wrong)
