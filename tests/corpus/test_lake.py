"""A table of a database follows the snapshots of a corpus."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

import refinery
from refinery.corpus import lake
from refinery.corpus.change import Settings
from refinery.corpus.lake import Target
from refinery.errors import OutputError, RecipeError
from tests.corpus.living import Living, near_copies

STEPS = ["paragraph_deduplicator", {"key_deduplicator": {"key": "host || length(text) % 7"}}]


def table(path: Path, name: str = "kept") -> list[Any]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.sql(f"SELECT * FROM {name} ORDER BY _part, _row").fetchall()


def test_the_table_is_the_corpus_after_each_change(tmp_path: Path) -> None:
    chance, base = random.Random(3), tmp_path / "lake.duckdb"
    living = Living(tmp_path, STEPS, publish=f"duckdb:{base}")
    for first in (0, 100):
        living.add([row | {"extra": "x"} for row in near_copies(chance, 8, first)])
        assert table(base) == refinery.open_corpus(living.place).kept.fetchall()
    report = living.withdraw_ids({0, 1, 2, 103})
    assert any("snapshot 2 is now 3" in note for note in report.notes)
    assert table(base) == refinery.open_corpus(living.place).kept.fetchall()
    living.add(
        [{"id": 1.5, "text": "another type of id", "host": "z"}]
    )  # the column changes, so the table is written anew
    assert table(base) == refinery.open_corpus(living.place).kept.fetchall()


def test_a_failed_publication_is_made_up_by_the_next_command(tmp_path: Path) -> None:
    place = tmp_path / "not" / "there.duckdb"
    living = Living(tmp_path, STEPS, publish=f"duckdb:{place}")
    rows = near_copies(random.Random(4), 5, 0)
    with pytest.raises(OutputError, match=r"publish: duckdb:.*there\.duckdb"):
        living.add(rows)
    place.parent.mkdir()
    report = refinery.add(living.recipe, living.place, dataset_path=str(tmp_path / "in" / "001.jsonl"))
    assert not report.published
    assert table(place) == refinery.open_corpus(living.place).kept.fetchall()


def test_tables_of_others_stay(tmp_path: Path) -> None:
    base = tmp_path / "lake.duckdb"
    with duckdb.connect(str(base)) as con:
        con.execute("CREATE TABLE kept AS SELECT 1 AS a").fetchall()
    living = Living(tmp_path, STEPS)
    living.add(near_copies(random.Random(4), 5, 0), Settings(publish=f"duckdb:{base}#own"))
    with pytest.raises(OutputError, match="table kept in .* is not of a corpus"):
        living.add(near_copies(random.Random(5), 5, 50), Settings(publish=f"duckdb:{base}"))
    assert [row[:1] for row in table(base, "own")] == [(1,)] * len(table(base, "own"))
    other = Living(tmp_path / "other", STEPS)
    with pytest.raises(OutputError, match="is of another corpus"):
        other.add(near_copies(random.Random(6), 5, 0), Settings(publish=f"duckdb:{base}#own"))


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Target.of("ducklake:meta.ducklake#texts") == Target("ducklake", "meta.ducklake", "texts")
    with pytest.raises(RecipeError, match="Did you mean 'ducklake'"):
        Target.of("duckalke:x")
    with pytest.raises(RecipeError, match="Iceberg tables are not written"):
        Target.of("iceberg:x")
    monkeypatch.setitem(lake.SCHEMES, "ducklake", "no_such_extension")
    living = Living(tmp_path, STEPS)
    with pytest.raises(OutputError, match="DuckDB has no extension no_such_extension.*INSTALL"):
        living.add(near_copies(random.Random(4), 5, 0), Settings(publish="ducklake:meta.ducklake"))
    assert not living.place.exists()  # nothing was begun


def test_a_database_that_cannot_be_made_leaves_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "lake.duckdb"
    living = Living(tmp_path, ["document_deduplicator"], publish=f"duckdb:{base}")

    def cut_off(place: Path) -> None:
        place.write_bytes(b"\0" * 4096)
        raise duckdb.IOException("Could not write file: No space left on device")

    rows = near_copies(random.Random(5), 3, 0)
    with monkeypatch.context() as patch:
        patch.setattr(
            lake,
            "duckdb",
            SimpleNamespace(connect=lambda *of: cut_off(*of) if of else duckdb.connect(), Error=duckdb.Error),
        )
        with pytest.raises(OutputError, match="No space left on device.*The corpus has snapshot 1; repeat the command"):
            living.add(rows)
    assert [file.name for file in tmp_path.iterdir() if "lake" in file.name] == []
    living.parts.pop()
    assert not living.add(rows).published and len(table(base)) == len(living.kept())
