"""The commands of a corpus, as users call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from tests.commands import command
from tests.runs import write_lines

RECIPE = """
export_path: unused/kept.jsonl
process:
  - words_num_filter: {min_num: 2}
  - document_deduplicator:
"""
MAY = [
    {"id": 1, "host": "a", "text": "one two three"},
    {"id": 2, "host": "b", "text": "other words"},
    {"id": 3, "host": "b", "text": "short"},
    "no JSON",
]
JUNE = [{"id": 4, "host": "c", "text": "one two three"}, {"id": 5, "host": "c", "text": "fresh words"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    write_lines(tmp_path / "may.jsonl", MAY)
    write_lines(tmp_path / "june.jsonl", JUNE)
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    ended, printed = command(*arguments, folder=folder)
    assert ended == code, printed
    return printed


def data(folder: Path, *arguments: str) -> dict[str, Any]:
    return json.loads(run(folder, *arguments, "--json").strip().splitlines()[-1])


def add(folder: Path, name: str) -> tuple[str, ...]:
    return ("add", "recipe.yaml", "--corpus", "corpus", "--dataset_path", name)


def kept(folder: Path) -> list[int]:
    with refinery.open_corpus(folder / "corpus") as corpus:
        return [id_ for (id_,) in corpus.kept.select("id").fetchall()]


def test_a_life(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = data(folder, *add(folder, "may.jsonl"))
    assert report["rows"] == {"rows": 4, "kept": 2, "removed": 1, "quarantined": 1, "withdrawn": 0}
    report = data(folder, *add(folder, "*.jsonl"))  # only June is new
    assert [known["add"] for known in report["known_files"]] == [1]
    assert (report["entered"], report["left"], kept(folder)) == (1, 0, [1, 2, 5])
    printed = run(folder, *add(folder, "june.jsonl"))
    assert "june.jsonl is in the corpus already, as add 2" in printed
    assert "nothing to change" in printed

    withdraw = ("withdraw", "--corpus", "corpus", "--where", "host = 'a'")
    report = data(folder, *withdraw, "--dry-run")
    assert (report["withdrawn"], report["entered"], report["left"], report["snapshot"]) == (1, 1, 1, None)
    assert kept(folder) == [1, 2, 5]
    report = data(folder, *withdraw)
    assert (report["withdrawn"], report["snapshot"], kept(folder)) == (1, 3, [2, 4, 5])
    assert "nothing to change" in run(folder, *withdraw)

    shown = data(folder, "corpus", "corpus")
    assert [one["rows"]["kept"] for one in shown["snapshots"]] == [2, 3, 3]
    assert [(one["rows"], one["withdrawn"]) for one in shown["adds"]] == [(4, 1), (2, 0)]
    assert "withdraw --where host = 'a'" in run(folder, "corpus", "corpus")
    assert "sample 1:0 is withdrawn" in run(folder, "corpus", "corpus", "--row", "1:0")
    assert "removed by step 1 words_num_filter" in run(folder, "corpus", "corpus", "--row", "1:2")
    assert "is quarantined" in run(folder, "corpus", "corpus", "--row", "1:3")
    assert "1:3 is quarantined\n  as it came: it is no sample: " in run(folder, "corpus", "corpus", "--row", "1:3")

    monkeypatch.chdir(folder / "corpus")
    with duckdb.connect() as con:
        con.execute(Path("snapshots/00003/kept.sql").read_text()).fetchall()
        assert con.sql("SELECT id FROM kept ORDER BY _part, _row").fetchall() == [(2,), (4,), (5,)]
    old = refinery.open_corpus(folder / "corpus", 2)
    assert [row[2] for row in old.kept.fetchall()] == [1, 2, 5]
    assert old.outcome(2, 0).instead == (1, 0)
    assert "removed snapshots: 1, 2" in run(folder, "corpus", "corpus", "--keep", "1")
    assert kept(folder) == [2, 4, 5]
    with pytest.raises(DataError, match="has no snapshot 2; there are 3"):
        refinery.open_corpus(folder / "corpus", 2)


def test_withdrawals_by_file_list_and_add(folder: Path) -> None:
    run(folder, "add", "recipe.yaml", "--corpus", "corpus", "--dataset_path", "*.jsonl")
    (folder / "rows.csv").write_text("_part,_row\n1,1\n1,0\n")
    assert kept(folder) == [4, 5, 2]  # June stands before May
    assert refinery.withdraw(folder / "corpus", rows=folder / "rows.csv").withdrawn == 2
    assert kept(folder) == [1, 2]
    assert refinery.withdraw(folder / "corpus", source="june.jsonl").withdrawn == 0
    assert refinery.withdraw(folder / "corpus", source="m*.jsonl").withdrawn == 4
    assert kept(folder) == []
    report = refinery.add(folder / "recipe.yaml", folder / "corpus", dataset_path=str(folder / "may.jsonl"))
    assert (report.back, kept(folder)) == (2, [1, 2])  # withdrawn as a whole, so it is new data
    assert refinery.withdraw(folder / "corpus", add=2).gone == 2


def test_refusals(folder: Path) -> None:
    run(folder, *add(folder, "may.jsonl"))
    printed = run(folder, *add(folder, "june.jsonl"), "--set", "process.1.min_num=1", code=2)
    assert "made with another recipe" in printed
    assert "min_num: 2" in printed
    assert "--renew" in printed
    report = data(folder, *add(folder, "june.jsonl"), "--set", "process.1.min_num=1", "--renew")
    assert (report["snapshot"], kept(folder)) == (2, [1, 2, 3, 5])
    assert "no such add; there are 2" in run(folder, "withdraw", "--corpus", "corpus", "--add", "7", code=3)
    assert "Did you mean 'host'" in run(folder, "withdraw", "--corpus", "corpus", "--where", "hosts = 'a'", code=2)
    assert "Did you mean 'may.jsonl'" in run(folder, "withdraw", "--corpus", "corpus", "--source", "mai.jsonl", code=3)
    printed = run(folder, "withdraw", "--corpus", "corpus", "--where", "CAST(host AS INT) = 1", code=2)
    assert "cannot be evaluated for sample 1:0" in printed and "TRY_CAST" in printed
    assert "give one of" in run(folder, "withdraw", "--corpus", "corpus", code=2)
    assert "is no corpus" in run(folder, "corpus", ".", code=3)
    assert "holds files that are no corpus" in run(
        folder, "add", "recipe.yaml", "--corpus", ".", "--dataset_path", "may.jsonl", code=6
    )
    assert "limit cannot be followed" in run(folder, *add(folder, "june.jsonl"), "--limit", "1", code=2)
    (folder / "may.jsonl").write_text('{"id": 9, "host": "z", "text": "quite another text"}\n')
    again = (*add(folder, "may.jsonl"), "--set", "process.1.min_num=1")
    assert "has changed since" in run(folder, *again, code=3)
    assert "may.jsonl of add 1 has changed since" in run(folder, "withdraw", "--corpus", "corpus", "--add", "2", code=3)
    assert kept(folder) == [1, 2, 3, 5]
    assert data(folder, "withdraw", "--corpus", "corpus", "--add", "1")["withdrawn"] == 4  # needs its files no more
    assert kept(folder) == [4, 5]


def test_copies_are_read_when_the_files_are_gone(folder: Path) -> None:
    run(folder, *add(folder, "may.jsonl"), "--copy")
    (folder / "may.jsonl").unlink()
    run(folder, *add(folder, "june.jsonl"))
    assert kept(folder) == [1, 2, 5]
    assert data(folder, "withdraw", "--corpus", "corpus", "--source", "may.jsonl")["withdrawn"] == 4
    assert kept(folder) == [4, 5]


def test_the_texts_of_a_sample(folder: Path) -> None:
    recipe = RECIPE.replace("  - document", "  - whitespace_normalization_mapper:\n  - document")
    (folder / "recipe.yaml").write_text(recipe)
    write_lines(folder / "july.jsonl", [{"id": 6, "text": "one two three "}, {"id": 7, "text": "now in\u00a0July "}])
    run(folder, *add(folder, "may.jsonl"))
    run(folder, *add(folder, "july.jsonl"))
    shown = run(folder, "corpus", "corpus", "--row", "2:0")
    assert shown == (
        "sample 2:0 is removed by step 3 document_deduplicator; 1:0 is kept instead\n"
        "  as it came: one two three \n  1:0 as it is kept: one two three\n"
    )
    assert run(folder, "corpus", "corpus", "--row", "1:1").endswith(
        "as it came: other words\n  as it is kept: unchanged\n"
    )
    told = data(folder, "corpus", "corpus", "--row", "2:1")
    assert (told["fate"], told["before"]["text"], told["after"]) == (
        "kept",
        "now in\u00a0July ",
        {"id": 7, "text": "now in July"},
    )
    (folder / "may.jsonl").unlink()
    assert "may.jsonl of add 1 is gone" in run(folder, "corpus", "corpus", "--row", "1:1")


def test_samples_of_a_program(folder: Path) -> None:
    place = folder / "corpus"
    rows = [{"id": 1, "text": "one two three"}, {"id": 2, "text": "other words"}]
    report = refinery.add(folder / "recipe.yaml", place, dataset=iter(rows))
    assert (report.back, [file.name for file in report.snapshot.part(1).files]) == (2, ["dataset/part-000000.samples"])
    assert refinery.add(folder / "recipe.yaml", place, dataset=list(rows)).known[0][1] == 1
    query = "SELECT 3 AS id, 'one two three' AS text UNION ALL SELECT 4, 'fresh words'"
    assert refinery.add(folder / "recipe.yaml", place, dataset=query).back == 1
    assert refinery.add(folder / "recipe.yaml", place, dataset=str(folder / "june.jsonl")).back == 0
    assert kept(folder) == [1, 2, 4]
    refinery.withdraw(place, where="id = 1")
    assert kept(folder) == [2, 3, 4]
    with pytest.raises(DataError, match="a dataset must be"):
        refinery.add(folder / "recipe.yaml", place, dataset=5)


def test_python_takes_one_choice(folder: Path) -> None:
    with pytest.raises(RecipeError, match="takes one of"):
        refinery.withdraw(folder, where="id = 1", add=1)
