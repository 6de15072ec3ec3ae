"""Fields that a recipe names and no sample has: a problem of the recipe, before anything runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.io import first_samples
from refinery.io.sources import cut, find
from refinery.operators import Library
from refinery.planning.pipeline import prepare
from refinery.recipe import load
from tests.runs import settings, write_lines
from tests.sampling import sampled

SAMPLES = [{"id": k, "text": f"some words {k}", "meta": {"lang": "en"}} for k in range(30)]
STEPS = [{"text_length_filter": {"min_len": 3}}]


def as_array(path: Path) -> Path:
    path.write_text(json.dumps(SAMPLES), encoding="utf-8")
    return path


def as_gzip(path: Path) -> Path:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, SAMPLES)).encode()))
    return path


def as_csv(path: Path) -> Path:
    path.write_text("id,text\n" + "".join(f"{k},words {k}\n" for k in range(30)), encoding="utf-8")
    return path


def as_parquet(path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(SAMPLES), path)
    return path


KINDS: dict[str, Callable[[Path], Path]] = {
    "a.jsonl": lambda path: write_lines(path, SAMPLES),
    "a.json": as_array,
    "a.jsonl.gz": as_gzip,
    "a.csv": as_csv,
    "a.parquet": as_parquet,
}


def problems(recipe: dict[str, Any], dataset: Any = None) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        refinery.run(recipe, dataset=dataset)
    return [str(problem) for problem in caught.value.problems]


def recipe(folder: Path, path: Path, steps: Any = STEPS, **keys: Any) -> dict[str, Any]:
    return settings(folder, steps, dataset_path=str(path), **keys)


@pytest.mark.parametrize("name", KINDS)
def test_a_misspelt_text_field(tmp_path: Path, name: str) -> None:
    path = KINDS[name](tmp_path / name)
    [problem] = problems(recipe(tmp_path, path, text_keys="txet"))
    assert "text_keys names the field 'txet'" in problem and name in problem
    assert "Fields there: id, text" in problem and problem.endswith("Did you mean 'text'?")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_in_utf16_is_named_with_the_cure(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes("text,id\nhello,1\n".replace(",", "\t" if name == "a.tsv" else ",").encode("utf-16-le"))
    [problem] = problems(recipe(tmp_path, path))
    assert problem.endswith("the file is UTF-16. Convert it: iconv -f UTF-16LE -t UTF-8")


def test_every_field_that_a_recipe_names(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", SAMPLES)
    steps = [
        {"text_length_filter": {"text_key": "meta.lnag"}},
        {"lang_stats": {"language": "en", "language_key": "lang"}},
        {"sql_filter": {"where": "score > 3"}},
        {"document_deduplicator": {"keep": "score desc"}},
    ]
    found = problems(recipe(tmp_path, path, steps, open_tracer=True, trace_keys=["idd"]))
    assert len(found) == 6
    for part in (
        "'meta.lnag'",
        "lang_stats.language_key names the field 'lang'",
        "'language_score'",
        "'idd'",
        "'score'",
    ):
        assert any(part in problem for problem in found), part
    assert any("Did you mean 'meta.lang'?" in problem for problem in found)


def test_a_field_that_only_some_files_have(tmp_path: Path) -> None:
    """One of several files may lack the field; its rows are in the quarantine, and a note has the reason."""
    write_lines(tmp_path / "in" / "a.jsonl", SAMPLES)
    write_lines(tmp_path / "in" / "b.jsonl", [{"body": "x"}])
    run = refinery.run(recipe(tmp_path, tmp_path / "in"))
    assert run.counts.quarantined == 1
    assert any("b.jsonl: no examined sample has the field 'text'" in line for line in run.warnings)


def test_a_field_that_comes_later(tmp_path: Path) -> None:
    """If the first samples of a large file lack the field, samples in its middle are checked too."""
    lines = [{"note": "x" * 100} for _ in range(2000)] + [{"text": "words " * 20} for _ in range(3000)]
    path = write_lines(tmp_path / "a.jsonl", lines)
    run = refinery.run(recipe(tmp_path, path, shard_size=50_000))
    assert run.counts.kept == 3000


def late(first: int, rest: int, pad: int = 0) -> list[dict[str, Any]]:
    """Samples of which the first have no text."""
    return [
        {"id": k, "pad": "x" * pad, **({"text": f"some words {k}"} if k >= first else {})} for k in range(first + rest)
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A file of JSON lines or a JSON array, compressed as its name says."""
    body = "\n".join(map(json.dumps, rows)) if ".jsonl" in path.name else json.dumps(rows)
    path.write_bytes(gzip.compress(body.encode()) if path.suffix == ".gz" else body.encode())
    return path


NAMES = ("a.json.gz", "a.json", "a.jsonl", "a.jsonl.gz")


@pytest.mark.parametrize(
    ("name", "workers"),
    [*sampled(((name, "threads") for name in NAMES), every=2), *sampled((name, "processes") for name in NAMES[1:])],
)
def test_a_field_that_begins_after_the_first_samples(tmp_path: Path, name: str, workers: str) -> None:
    path = written(tmp_path / name, late(300, 700))
    run = refinery.run(recipe(tmp_path, path, workers=workers))
    assert (run.counts.kept, run.counts.quarantined) == (700, 300)
    assert not any("'text'" in line and "examined" in line for line in run.warnings)


def test_a_field_that_begins_in_a_later_file(tmp_path: Path) -> None:
    """One of nine files, neither the first nor the last nor the middle one."""
    for number in range(9):
        write_lines(tmp_path / "in" / f"{number}.jsonl", late(0 if number == 6 else 20, 20 if number == 6 else 0))
    run = refinery.run(recipe(tmp_path, tmp_path / "in"))
    assert (run.counts.kept, run.counts.quarantined) == (20, 160)


def test_text_that_is_a_number_at_first(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"text": k} for k in range(300)]
    path = write_lines(tmp_path / "a.jsonl", [*rows, *({"text": f"some words {k}"} for k in range(700))])
    assert refinery.run(recipe(tmp_path, path)).counts.kept == 700


@pytest.mark.parametrize("name", sampled(["a.jsonl", "a.json", "a.jsonl.gz"], every=2))
def test_a_field_that_is_not_found_in_a_large_input(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of it was looked at, so the run begins, with a warning; `check` has it as a note."""
    monkeypatch.setattr(first_samples, "_CLOSER_BYTES", 128 << 10)
    rows = [{"id": k, "pad": "x" * 100} for k in range(8000)]
    rows[3000:3004] = [{"id": 1, "body": "some words"}] * 4
    given = recipe(tmp_path, written(tmp_path / name, rows), text_keys="body", max_quarantined="100%")
    run = refinery.run(given)
    [warning] = [line for line in run.warnings if "'body'" in line and "examined" in line]
    assert run.counts.kept == 4
    for part in (
        "text_keys names the field 'body', which none of the",
        name,
        "The rest of the input was not examined",
    ):
        assert part in warning
    assert "Fields there: id, pad." in warning
    library = Library()
    notes = prepare(load(given, library=library), library).notes  # as `refinery check` shows them
    assert any("'body'" in note for note in notes)


@pytest.mark.parametrize("field", ["padd", "PAD"])
def test_a_similar_name_in_a_large_input(tmp_path: Path, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_samples, "_CLOSER_BYTES", 128 << 10)
    path = write_lines(tmp_path / "a.jsonl", [{"id": k, "pad": "x" * 100} for k in range(8000)])
    [problem] = problems(recipe(tmp_path, path, text_keys=field))
    assert problem.endswith("Did you mean 'pad'?")


def test_nothing_found_in_a_large_input_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_samples, "_CLOSER_BYTES", 128 << 10)
    path = write_lines(tmp_path / "a.jsonl", [{"id": k, "pad": "x" * 100} for k in range(8000)])
    with pytest.raises(DataError, match="body"):
        refinery.run(recipe(tmp_path, path, text_keys="body"))


def test_how_much_is_looked_at(tmp_path: Path) -> None:
    """All of a small input, whatever its files; places all over a large one."""
    write_lines(tmp_path / "small" / "a.jsonl", late(300, 700))
    written(tmp_path / "small" / "b.jsonl.gz", late(300, 700))
    assert first_samples.closer_look(cut(find([tmp_path / "small"])[0])).whole
    large = write_lines(tmp_path / "large.jsonl", [{"id": k, "pad": "x" * 1000} for k in range(10_000)])
    look = first_samples.closer_look(cut(find([large])[0]))
    assert not look.whole and 1000 < look.glimpses[0].samples < 5000


@pytest.mark.parametrize("lines", [["{broken", "x"], [], ['["no object"]']])
def test_no_sample_to_look_at(tmp_path: Path, lines: list[str]) -> None:
    """Nothing is known of the fields then, so nothing is said of them."""
    path = write_lines(tmp_path / "a.jsonl", lines)
    run = refinery.run(recipe(tmp_path, path, text_keys="anything", max_quarantined="100%"))
    assert run.counts.quarantined == len(lines)


def test_samples_that_are_handed_over(tmp_path: Path) -> None:
    given = settings(tmp_path, STEPS, text_keys="body")
    given.pop("dataset_path", None)
    [problem] = problems(given, pa.table({"text": ["a"]}))
    assert "'body'" in problem and "Fields there: text." in problem


@pytest.mark.parametrize("kind", sampled(["a.parquet", "a.jsonl"]))
def test_a_name_with_a_dot_in_it_is_found(tmp_path: Path, kind: str) -> None:
    """In quotes it is one name, without them the way to a member; `trace_keys` take it both ways."""
    path = tmp_path / kind
    rows = [{"te.xt": f"some words {k}", "meta": {"body": "other words"}} for k in range(3)]
    if kind == "a.jsonl":
        write_lines(path, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    traced = {"open_tracer": True, "trace_keys": ["te.xt", "meta.body"]}
    for number, name in enumerate(['"te.xt"', "meta.body", 'meta."body"']):
        run = refinery.run(recipe(tmp_path / str(number), path, text_keys=name, **traced))
        assert run.counts.kept == 3
    assert "'te.xt'" in problems(recipe(tmp_path, path, text_keys="te.xt"))[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    sampled(
        ((name, kind) for name in ("id", "meta.lang", "text", "_row") for kind in ("a.jsonl", "a.parquet")), every=3
    ),
)
def test_a_field_within_a_subquery(tmp_path: Path, kind: str, name: str) -> None:
    """DuckDB only says that there is no such column, though the samples have the field."""
    path = KINDS[kind](tmp_path / kind)
    inside = [{"sql_filter": {"where": f"id >= 0 AND (SELECT count(*) FROM range(10) a WHERE a.range = {name}) > 0"}}]
    [problem] = problems(recipe(tmp_path, path, inside))
    assert "fields of a sample cannot be named within it" in problem
    assert problem.endswith("Name them outside, as in id IN (SELECT id FROM 'list.csv')")


@pytest.mark.parametrize("kind", ["a.jsonl", "a.parquet"])
def test_a_field_outside_of_a_subquery(tmp_path: Path, kind: str) -> None:
    path = KINDS[kind](tmp_path / kind)
    outside = [{"sql_filter": {"where": "id % 13 IN (SELECT range FROM range(10))"}}]
    assert refinery.run(recipe(tmp_path, path, outside)).counts.kept == 24
