"""A run on a Ray cluster leaves what the run on this machine leaves: rows, tables, traces, quarantine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import OutputError
from refinery.execution.ray import export as exporting
from refinery.execution.ray.export import MARKER, Listing
from refinery.execution.ray.temporary import temporary
from refinery.io.model import Written
from refinery.storage.open import open_store
from refinery.storage.workplace import Workplace
from tests import recrawls
from tests.execution.ray.runs import assert_same, in_partitions, in_parts, local, on_ray, samples, text_of
from tests.runs import operator_folder, rows, settings, write_lines
from tests.sampling import sampled
from tests.user_formats import example, folder_with, genes

KEYS = {"shard_size": 20_000, "np": 2}
EVERYTHING = [
    "clean_email_mapper",
    {"words_num_filter": {"min_num": 5}},
    "picky_mapper",
    "document_deduplicator",
    "clean_links_mapper",
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.5, "keep": "length(text) desc"}},
    {"document_line_deduplicator": {"frequency_threshold": 20}},
    {"bloom_deduplicator": {"n_grams": 3, "min_ngram_size": 1, "duplicate_threshold": 0.4}},
    "doc_stats",
    {"text_length_filter": {"min_len": 20}},
]


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    """A mapper that raises on some texts and is run by actors."""
    body = """
        if "tau3" in text:
            raise ValueError("not this one")
        return text.replace("rho1", "RHO") if "rho1" in text else None
    """
    return operator_folder(tmp_path / "own", '"resources": {"loads": True},', picky=body)


def evaluation(folder: Path) -> list[Any]:
    """Steps that look for two samples as items of evaluation sets."""
    (folder / "quiz.jsonl").write_text(json.dumps({"question": text_of(26)}))
    (folder / "task.jsonl").write_text(json.dumps({"query": text_of(61, 12), "label": text_of(61)}))
    return [
        {"contamination_filter": {"sets": str(folder / "quiz.jsonl"), "action": "mark"}},
        {"ngram_decontamination_filter": {"evaluation": str(folder / "task.jsonl")}},
    ]


@pytest.mark.parametrize("layout", ["parts", pytest.param("whole", marks=pytest.mark.long)])
def test_everything(driver: Any, tmp_path: Path, operators: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if layout == "parts":
        in_parts(monkeypatch)
        in_partitions(monkeypatch)
    write_lines(tmp_path / "in.jsonl", samples(200))
    keys = {
        "shard_size": 13_000,
        "np": 2,
        "open_tracer": True,
        "trace_num": 3,
        "trace_keys": ["id"],
        "operators": [str(operators)],
    }
    keys |= {"stat_summary": {"group_by": {"source": "meta.source"}}, "keep_stats_in_res_ds": True}
    keys |= {"keep_fields": ["id", "meta.source"]}
    steps = [*EVERYTHING, *evaluation(tmp_path)]
    one, other = local(tmp_path, steps, **keys), on_ray(tmp_path, steps, **keys)
    assert rows(one, "shards", "count(*)")[0][0] > 3
    assert rows(one, "contamination", "evaluation_set, kept", "score >= 1") == [("quiz", True)]
    assert rows(one, "ledger", "count(*)", "reason = 'contaminated'") == [(1,)]
    assert rows(one, "quarantine", "count(DISTINCT step)") == [(2,)] and rows(one, "duplicates", "count(*)")[0][0] > 50
    assert_same(one, other)
    places = [rows(each, "(SELECT _row, line, id FROM samples ORDER BY ALL)") for each in (one, other)]
    assert places[0] == places[1] and all(line == row + 1 for row, line, _ in places[0])
    assert rows(one, "samples", "count(*)", 'id IS NOT NULL AND "meta.source" = id % 3')[0][0] > 150
    assert rows(other, "table_parts", "count(*) > 20") == [(layout == "parts",)]
    names = sorted(path.name for path in other.outputs)
    assert [name.rpartition("_")[2] for name in names] == [f"{number:06d}.json" for number in range(len(names))]
    assert not (tmp_path / "ray" / ".tmp").exists()


def test_data_that_an_operator_has_read_in_an_earlier_run(driver: Any, tmp_path: Path) -> None:
    """Ray keeps the processes of a driver, and with them the modules that a run has imported."""
    own = operator_folder(tmp_path / "own", picky="return f'{text} {WORD}'")
    path = own / "mappers" / "picky_mapper.py"
    path.write_text(path.read_text() + "\nWORD = (Path(__file__).parent / 'word.txt').read_text()\n")
    write_lines(tmp_path / "in.jsonl", samples(20))
    for word in ("one", "two"):
        (path.parent / "word.txt").write_text(word)
        run = on_ray(tmp_path, ["picky_mapper"], np=2, operators=[str(own)])
        assert {text.split()[-1] for text in run.to_arrow()["text"].to_pylist()} == {word}


def test_a_matcher_of_a_user(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", recrawls.SAMPLES)
    keys = {"shard_size": 120, "np": 2, "operators": [str(recrawls.operators_with_matcher(tmp_path / "own"))]}
    one, other = local(tmp_path, [recrawls.STEP], **keys), on_ray(tmp_path, [recrawls.STEP], **keys)
    assert rows(one, "shards", "count(*)")[0][0] > 1 and rows(one, "duplicates", "_row") == [(1,), (3,), (5,)]
    assert_same(one, other)


@pytest.mark.long  # a run of everything has the others
@pytest.mark.parametrize(
    "step",
    [
        {"document_simhash_deduplicator": {"hamming_distance": 4}},
        {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "verify": True}},
        {"paragraph_deduplicator": {}},
    ],
    ids=str,
)
def test_other_deduplicators(driver: Any, tmp_path: Path, step: Any) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    one, other = local(tmp_path, [step], **KEYS), on_ray(tmp_path, [step], **KEYS)
    assert rows(one, "duplicates", "count(*)")[0][0] > 10
    assert_same(one, other)


def test_one_machine_uses_what_a_cluster_has_found(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_partitions(monkeypatch)
    write_lines(tmp_path / "in.jsonl", samples(200))
    steps = [{"document_minhash_deduplicator": {"jaccard_threshold": 0.5}}, "clean_email_mapper"]
    one, place = local(tmp_path, steps, **KEYS), {"work_dir": tmp_path / "ray", "export_path": tmp_path / "ray.jsonl"}
    on_ray(tmp_path, steps, export_path=tmp_path / "ray" / "kept", **KEYS)
    monkeypatch.setattr("refinery.dedup.barrier.Barrier.find", lambda *given: 1 / 0)
    again = refinery.run(settings(tmp_path, steps, **KEYS, **place))
    assert rows(again, "duplicates", "count(*)")[0][0] > 10
    assert_same(one, again)


def test_near_values_are_found_by_a_task(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_partitions(monkeypatch)
    texts = (text_of(n // 2, 400) + " alpha" * (n % 2) for n in range(200))
    write_lines(tmp_path / "in.jsonl", [{"id": n, "text": text} for n, text in enumerate(texts)])
    step = {"document_simhash_deduplicator": {"hamming_distance": 4, "keep": "length(text) desc"}}
    one = local(tmp_path, [step, "clean_email_mapper"], **KEYS)
    other = on_ray(tmp_path, [step, "clean_email_mapper"], **KEYS)
    assert rows(one, "duplicates", "max(distance)")[0][0] > 0
    assert_same(one, other)


@pytest.mark.long  # tests/execution/ray/test_indexed.py has one
def test_an_index_goes_on_from_run_to_run(driver: Any, tmp_path: Path) -> None:
    found = []
    for run, where in ((local, "a"), (on_ray, "b")):
        step = {"document_deduplicator": {"index": str(tmp_path / where)}}
        write_lines(tmp_path / "in.jsonl", samples(100))
        run(tmp_path, [step], f"first {where}", **KEYS)
        write_lines(tmp_path / "in.jsonl", samples(150)[50:])
        second = run(
            tmp_path, [step], f"second {where}", **KEYS
        )  # whose export does not take the place of the first one's
        found.append(rows(second, "duplicates", "_row, kept, kept_in_index IS NULL"))
    assert found[0] == found[1] and any(not here for *_, here in found[0])


def test_parquet_in_memory_and_out(driver: Any, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([sample for sample in samples(120) if isinstance(sample, dict)])
    steps = [{"words_num_filter": {"min_num": 5}}, "document_deduplicator", "clean_email_mapper"]
    found = []
    for name, keys in (("local", {}), ("ray", {"executor_type": "ray"})):
        place = tmp_path / name
        path = place / "kept" if keys else place / "out.parquet"
        recipe = settings(tmp_path, steps, work_dir=place, export_path=path, export_type="parquet", **KEYS, **keys)
        del recipe["dataset_path"]
        found.append(refinery.run(recipe, dataset=table))
    written = [pa.concat_tables(pq.read_table(path) for path in sorted(run.outputs)) for run in found]
    assert written[0].equals(written[1]) and written[0].num_rows == found[0].counts.kept > 0


def test_an_export_replaces_the_one_before(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    first = on_ray(tmp_path, [{"text_length_filter": {"min_len": 20}}], **KEYS)
    second = on_ray(tmp_path, [{"text_length_filter": {"min_len": 30}}], **KEYS)
    there = set((tmp_path / "ray" / "kept").iterdir())
    assert there == set(second.outputs) and not there & set(first.outputs)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.json").write_text("{}\n")
    with pytest.raises(OutputError, match="holds 'mine.json', which is no part of an export"):
        on_ray(tmp_path, ["clean_email_mapper"], export_path=tmp_path / "other", **KEYS)


def test_a_second_run_reuses_what_the_first_has_left(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    steps: list[dict[str, Any]] = [{"clean_email_mapper": {}}, {"words_num_filter": {"min_num": 20}}]
    one = on_ray(tmp_path, steps, **KEYS)
    again = on_ray(tmp_path, steps, **KEYS)
    assert rows(again, "shards", "min(reused)") == [(1,)]
    assert_same(one, again, "shards")
    names = ["no addresses", "too short"]
    named = on_ray(tmp_path, [{**step, "name": name} for step, name in zip(steps, names, strict=True)], **KEYS)
    assert rows(named, "shards", "min(reused)") == [(1,)]
    assert rows(named, "steps", "name") == [(name,) for name in names]
    assert rows(named, "ledger", "DISTINCT step, name") == [(2, "too short")]


def test_a_list_names_what_is_there(tmp_path: Path) -> None:
    folder, place = tmp_path / "kept", Workplace.of(str(tmp_path / "run"))
    folder.mkdir()
    names = [f"{'a' * 16}_{number:06d}.json" for number in range(3)]
    written = [Written(str(folder / name), 1, 3) for name in names]

    def listing() -> Listing:
        return Listing(place, str(folder))

    def there() -> list[str]:
        return sorted(path.name for path in folder.iterdir())

    listing().begin(names)
    for name in names:
        (folder / name).write_text("{}\n")
    (folder / f".{names[0]}.77.tmp").touch()  # of a task that was killed
    (folder / ".refinery-77-abc").mkdir()
    exporting.check_folder(str(folder), listing(), open_store(str(tmp_path)))
    exporting.publish(str(folder), listing(), written)
    assert listing().names == names == there() and not listing().begun
    (folder / names[1]).unlink()
    exporting.correct(str(folder), listing())
    assert listing().names == [names[0], names[2]] == there()
    (folder / "mine.json").touch()
    (folder / ".mine.tmp").touch()
    exporting.publish(str(folder), listing(), [])
    assert there() == [".mine.tmp", "mine.json"]


def test_a_run_that_is_killed_while_it_exports_leaves_nothing_unknown(tmp_path: Path) -> None:
    folder, place = tmp_path / "kept", Workplace.of(str(tmp_path / "run"))
    folder.mkdir()
    old, new = (f"{mark * 16}_000000.json" for mark in "ab")
    (folder / old).touch()
    exporting.publish(str(folder), Listing(place, str(folder)), [Written(str(folder / old), 1, 0)])
    (folder / new).touch()
    Listing(place, str(folder)).begin([new])
    Listing(place, str(folder)).publish(
        [{"name": new, "rows": 1, "bytes": 0}]
    )  # killed before the old part was removed
    exporting.check_folder(str(folder), Listing(place, str(folder)), open_store(str(tmp_path)))
    exporting.publish(str(folder), Listing(place, str(folder)), [Written(str(folder / new), 1, 0)])
    assert [path.name for path in folder.iterdir()] == [new]


def test_parts_of_another_work_dir_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    part = folder / f"{'a' * 16}_000000.json"
    part.touch()
    first, second = (Listing(Workplace.of(str(tmp_path / name)), str(folder)) for name in ("one", "two"))
    exporting.publish(str(folder), first, [Written(str(part), 1, 0)])
    with pytest.raises(OutputError, match="holds 'a{16}_000000.json', which is of a run with another work_dir"):
        exporting.check_folder(str(folder), second, open_store(str(tmp_path)))
    exporting.correct(str(folder), second)
    assert part.exists()


def test_the_marker_of_an_earlier_version_goes(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    old = folder / f"{'a' * 16}_000000.json"
    old.touch()
    (folder / MARKER).write_text(json.dumps({"files": [{"name": old.name, "rows": 0, "bytes": 0}]}))
    listing = Listing(Workplace.of(str(tmp_path / "run")), str(folder))
    exporting.check_folder(str(folder), listing, open_store(str(tmp_path)))
    exporting.publish(str(folder), listing, [])
    assert list(folder.iterdir()) == []


def test_a_temporary_folder_of_a_killed_run_goes_with_the_next(tmp_path: Path) -> None:
    place = Workplace.of(str(tmp_path))
    (place.temporary / "mine").mkdir(parents=True)
    killed = temporary(str(tmp_path), "0a000000")
    with killed as folder:
        note = place.run_dir.temporary.read_text()
    assert not folder.exists()
    (folder / "spill").mkdir(parents=True)
    place.run_dir.temporary.write_text(note)  # as a killed run leaves them
    with temporary(str(tmp_path), "0b000000") as other:
        assert sorted(path.name for path in place.temporary.iterdir()) == ["0b000000", "mine"] and other.is_dir()
    assert [path.name for path in place.temporary.iterdir()] == ["mine"]
    place.run_dir.temporary.write_text('["..", "mine/../x", 3]')
    place.tidy()
    assert (place.temporary / "mine").is_dir()


@pytest.mark.long
def test_the_format_of_a_user(driver: Any, tmp_path: Path) -> None:
    keys = {"dataset_path": genes(tmp_path / "genes"), "operators": [str(folder_with(tmp_path / "own", example()))]}
    steps = [{"text_length_filter": {"min_len": 5}}]
    here, there = local(tmp_path, steps, **keys), on_ray(tmp_path, steps, **keys)
    assert rows(here, "quarantine", "count(*)") == [(2,)]
    assert_same(here, there)


@pytest.mark.parametrize("part", sampled([{"sample": 0.6, "limit": 50}, {"limit": 70}, {"sample": 0.4}]), ids=str)
def test_a_part_of_the_input(driver: Any, tmp_path: Path, part: dict[str, Any]) -> None:
    write_lines(tmp_path / "in.jsonl", [*samples(100), "no JSON", *samples(60), "[1]"])
    steps = ["clean_email_mapper", "document_deduplicator", {"text_length_filter": {"min_len": 20}}]
    one, other = local(tmp_path, steps, **KEYS, **part), on_ray(tmp_path, steps, **KEYS, **part)
    assert one.counts.read == rows(one, "row_outcomes", "count(*)")[0][0] + one.counts.quarantined < 160
    assert_same(one, other)
