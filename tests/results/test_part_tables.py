"""Tables as parts, made by tasks, have the rows of tables in the database, in the same order."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.api import Run
from refinery.errors import ConservationError, DataError
from refinery.execution import table_maker
from refinery.inspect.refilter.refilter import refilter
from refinery.results import blocks, part_tables, stat_summary
from refinery.results.blocks import Block
from refinery.results.views.create import VIEWS
from tests.commands import command
from tests.results.test_many import RECIPES, samples
from tests.runs import content, settings, write_lines
from tests.sampling import named

pytestmark = pytest.mark.usefixtures("comments")

GROUPED: dict[str, Any] = {
    "groups": ["summary", "histogram", "suffix"],
    "group_by": {"parity": "id % 3"},
    "top_k": 2,
    "top_k_groups": ["suffix", "parity"],
    "url_key": "url",
}


def in_parts_of(patch: pytest.MonkeyPatch) -> None:
    """Make tables of any size as parts, of 40 samples each."""
    patch.setattr(stat_summary, "BLOCK", 40)
    patch.setattr(table_maker, "HERE", -1)
    patch.setattr(table_maker, "SIZE", 40)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make tables of any size as parts, from a call on."""
    monkeypatch.setattr(stat_summary, "BLOCK", 40)
    return lambda: in_parts_of(monkeypatch)


@pytest.mark.parametrize("name", named({name: name for name in RECIPES}, "samples go", "units go"))
def test_parts_have_the_rows_of_tables(name: str, in_parts: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", [*samples(), "not json", {"id": 151, "text": "the last one of them all"}])
    keys = {"shard_size": 1_400, "open_tracer": True, "trace_num": 20, "use_cache": False}
    whole = refinery.run(settings(tmp_path, RECIPES[name], work_dir=tmp_path / "whole", **keys))
    expected, lines = content(whole), whole.outputs[0].read_bytes()
    stats = (tmp_path / "run" / "out_stats.jsonl").read_bytes()
    in_parts()
    parts = refinery.run(settings(tmp_path, RECIPES[name], work_dir=tmp_path / "parts", **keys))
    assert parts.sql("SELECT count(DISTINCT path) > 6 FROM table_parts").fetchall() == [(True,)]
    found = content(parts)
    for table in found:
        assert found[table] == expected[table], table
    assert parts.outputs[0].read_bytes() == lines
    assert (tmp_path / "run" / "out_stats.jsonl").read_bytes() == stats


def test_groups_of_blocks_are_merged(in_parts: Any, tmp_path: Path) -> None:
    given = [
        sample | {"url": f"http://a{i % 5}.example.{'com' if i % 3 else 'org'}/"} for i, sample in enumerate(samples())
    ]
    write_lines(tmp_path / "in.jsonl", given)
    keys = {"shard_size": 3_000, "stat_summary": GROUPED | {"export": str(tmp_path / "stats")}}
    whole = refinery.run(settings(tmp_path, RECIPES["one stage"], work_dir=tmp_path / "whole", **keys))
    in_parts()
    parts = refinery.run(settings(tmp_path, RECIPES["one stage"], work_dir=tmp_path / "parts", **keys))
    assert content(parts) == content(whole) and parts.warnings == whole.warnings
    assert parts.sql("SELECT DISTINCT \"group\" FROM stat_summary ORDER BY 1").fetchall() == [
        ("histogram",), ("parity",), ("suffix",), ("summary",),
    ]  # fmt: skip
    assert not list((tmp_path / "parts").rglob("driver"))


COUNTS = [([5, 0, 5], 4), ([0, 0], 4), ([4, 4, 0, 1], 4), ([], 4), ([0, 3, 0], 9), ([9], 2), ([2, 2, 2], 4)]


@pytest.mark.parametrize(("counts", "size"), COUNTS)
def test_blocks_hold_every_sample_once(counts: list[int], size: int) -> None:
    found, seen = blocks.blocks(counts, size), []
    places = [(piece, at) for piece, count in enumerate(counts) for at in range(count)]
    for block in found:
        own = [place for place in places if block.start <= place[0] < block.end]
        assert not own[block.skip + block.take :] or own[-1][0] == block.end - 1
        seen += own[block.skip : block.skip + block.take]
    assert seen == places
    assert [block.number for block in found] == list(range(max(1, -(-len(places) // size))))
    assert all(isinstance(block, Block) for block in found)


@pytest.mark.parametrize(("counts", "size"), COUNTS)
def test_pieces_hold_every_shard_once(counts: list[int], size: int) -> None:
    found = blocks.pieces(counts, size)
    assert [shard for piece in found for shard in range(piece.start, piece.end)] == list(range(len(counts)))
    assert [piece.number for piece in found] == list(range(len(found))) and found
    held = [sum(counts[piece.start : piece.end]) for piece in found]
    assert all(count >= size for count in held[:-1]) and (held[-1] or not any(counts))


@pytest.fixture(scope="module")
def made(comments: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with tables in parts."""
    with pytest.MonkeyPatch.context() as patch:
        in_parts_of(patch)
        return run_in(tmp_path_factory.mktemp("made"))


def run_in(folder: Path) -> Run:
    write_lines(folder / "in.jsonl", samples())
    return refinery.run(settings(folder, RECIPES["samples go"], shard_size=1_400))


@pytest.fixture
def run(made: Run, in_parts: Any, tmp_path: Path) -> Run:
    """A copy of it, in whose folder runs are made as it was."""
    shutil.copy2(made.work_dir.parent / "in.jsonl", tmp_path)
    shutil.copytree(made.work_dir, tmp_path / "run")
    in_parts()
    return replace(made, work_dir=tmp_path / "run", database=tmp_path / "run" / "refinery.duckdb")


def done(*arguments: str | Path) -> str:
    """Output of a command that ends well."""
    code, said = command(*map(str, arguments))
    assert code == 0, said
    return said


def folders(run: Run) -> list[str]:
    return sorted(path.name for path in (run.work_dir / ".refinery" / "tables").iterdir())


def test_a_missing_part_is_an_error(in_parts: Any, tmp_path: Path) -> None:
    in_parts()
    run = run_in(tmp_path)
    [(path,)] = run.sql("SELECT path FROM table_parts WHERE name = 'ledger' ORDER BY path DESC LIMIT 1").fetchall()
    Path(path).unlink()
    with pytest.raises(DataError, match=r"1 of \d+ files of its tables are missing or damaged.*run the recipe again"):
        refinery.open(run.work_dir)
    with pytest.raises(duckdb.IOException):
        run.sql("SELECT count(*) FROM ledger").fetchall()
    with duckdb.connect(str(run.database), read_only=True) as con, pytest.raises(duckdb.IOException):
        con.execute("SELECT count(*) FROM ledger").fetchall()


def test_a_moved_and_a_copied_folder_have_their_own_parts(run: Run, tmp_path: Path) -> None:
    expected = content(run)
    moved, copied = tmp_path / "it's moved", tmp_path / "copied"
    shutil.copytree(run.work_dir, copied)
    run.work_dir.rename(moved)
    for folder in (moved, copied):
        here = replace(run, work_dir=folder, database=folder / "refinery.duckdb")
        paths = here.sql("SELECT path FROM table_parts").fetchall()
        assert paths and all(path.startswith(f"{folder}/") for (path,) in paths)
        assert content(here) == expected
    shutil.rmtree(moved)
    assert content(here) == expected


def test_parts_of_earlier_runs_go(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [before] = folders(run)
    (run.work_dir / ".refinery" / "tables" / "of a killed run").mkdir()
    (run.work_dir / ".refinery" / "tables" / "of a killed run" / "part.parquet").touch()
    again = refinery.run(settings(tmp_path, RECIPES["samples go"], shard_size=1_400))
    [after] = folders(again)
    assert after != before and content(again)["stats"]
    monkeypatch.setattr(part_tables, "steps_statement", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        refinery.run(settings(tmp_path, RECIPES["samples go"], shard_size=1_400))
    assert folders(again) == [after] and content(again)["stats"]
    monkeypatch.undo()
    again = refinery.run(settings(tmp_path, RECIPES["samples go"], shard_size=1_400))
    assert folders(again) == [] and again.sql("SELECT * FROM table_parts").fetchall() == []


def test_a_task_counts_the_rows_of_its_shards(in_parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "in.jsonl", samples())
    in_parts()
    made = part_tables.piece_statements

    def without_one(*given: Any) -> Any:
        return [replace(one, sql=f"{one.sql} LIMIT 16") if one.table == "facts" else one for one in made(*given)]

    monkeypatch.setattr(part_tables, "piece_statements", without_one)
    with pytest.raises(ConservationError, match=r"shard \d+: \d+ rows were read, but \d+ are in its facts"):
        refinery.run(settings(tmp_path, RECIPES["one stage"], shard_size=1_400))
    assert not (tmp_path / "run" / "refinery.duckdb").exists()


def test_materialised_tables_need_no_parts(run: Run, tmp_path: Path) -> None:
    expected, elsewhere = content(run), tmp_path / "elsewhere.duckdb"
    assert json.loads(done("tables", run.work_dir, "--json"))["parts"] > 6
    done("tables", run.work_dir, "--materialise", "-o", elsewhere)
    code, said = command("tables", str(run.work_dir), "--materialise", "-o", str(elsewhere))
    assert code == 6 and "add --overwrite" in said
    kinds = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
    of_views = run.sql(kinds).fetchall()
    assert all(comment for *_, comment in of_views)
    done("tables", run.work_dir, "--materialise")
    assert folders(run) == []
    assert "has all rows" in done("tables", run.work_dir)
    for database in (run.database, elsewhere):
        here = replace(run, database=database)
        assert content(here) == expected and here.sql(kinds).fetchall() == of_views
        assert here.sql("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(len(VIEWS) + 1,)]


COMMANDS: dict[str, list[str]] = {
    "why": ["why", "7", "--run", "{run}"],
    "tune": ["tune", "{run}", "text_length_filter", "--param", "min_len=5..20:5"],
    "report": ["report", "{run}", "-o", "{page}", "--overwrite"],
    "status": ["status", "{run}"],
    "diff": ["diff", "{run}", "{other}"],
}


def test_commands_read_parts(run: Run, tmp_path: Path) -> None:
    other, page = tmp_path / "other", tmp_path / "page.html"
    shutil.copytree(run.work_dir, other)

    def printed(name: str) -> str:
        arguments = [part.format(run=run.work_dir, other=other, page=page) for part in COMMANDS[name]]
        said = done(*arguments) + (page.read_text() if name == "report" else "")
        return _without_times(said)

    before = {name: printed(name) for name in COMMANDS}
    assert all(before.values())
    done("tables", run.work_dir, "--materialise")
    assert {name: printed(name) for name in COMMANDS} == before


def _without_times(page: str) -> str:
    """A page without moments in time."""
    return re.sub(r"\d+ (second|minute)s? ago|\d{4}-\d\d-\d\d[T ][\d:.+Z]+", "", page)


def test_refilter_and_analyze_over_parts(run: Run, in_parts: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(run.work_dir, whole)
    done("tables", whole, "--materialise")
    found = []
    for folder in (run.work_dir, whole):
        target = tmp_path / f"{folder.name} refiltered"
        refiltered = refilter(folder, ["process.2.min_len=12"], work_dir=str(target))
        found.append(content(replace(run, work_dir=target, database=refiltered.outcome.run_dir.database)))
    assert found[0] == found[1] and found[0]["ledger"]
    assert len(list((tmp_path / "run refiltered" / ".refinery").rglob("table=facts/*.parquet"))) > 1
