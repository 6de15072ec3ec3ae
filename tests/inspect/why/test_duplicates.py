"""`refinery why` through recipes of several stages: what deduplicators removed, kept and took out, and why."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.api import Run
from refinery.cli.render.console import console
from refinery.cli.render.why import history_text
from refinery.inspect.why.duplicates import SampleCluster, SharedShingles
from refinery.inspect.why.query import Event, RowHistories, RowHistory
from tests.runs import exported, refine, rows, settings, texts

WORDS = "the quick brown fox jumps over the lazy dog and then it runs away from all of them into the deep dark woods"


def histories(run: Run) -> list[RowHistory]:
    with RowHistories(run.work_dir) as found:
        return [found.of(row) for row in range(run.counts.read)]


def printed(history: RowHistory) -> str:
    """The history of a row, as a user reads it."""
    out = console()
    with out.capture() as captured:
        out.print(history_text(history))
    return captured.get()


def check_against_tables(run: Run) -> list[RowHistory]:
    """The ways of all rows say what the tables and the exported samples say."""
    found = histories(run)
    with duckdb.connect(str(run.database), read_only=True) as con:  # opening costs more than all the queries
        columns = [name for name, *_ in con.sql("DESCRIBE stats").fetchall() if name not in ("_row", "kept")]
        stats = {row: dict(zip(columns, values, strict=True)) for row, _, *values in con.sql("FROM stats").fetchall()}
        entries = con.sql("SELECT _row, step, reason, value, bound FROM ledger").fetchall()
        broken = dict(con.sql("SELECT _row, step FROM quarantine").fetchall())
        said = dict(con.sql("SELECT step, changed FROM steps").fetchall())
    ledger = {row: rest for row, *rest in entries}
    changed: dict[int, int] = dict.fromkeys(said, 0)
    for history in found:
        ends = ledger.get(history.row, [broken.get(history.row)])
        fate = "removed" if history.row in ledger else "quarantined" if history.row in broken else "kept"
        assert history.fate == fate
        assert [e.step for e in history.events] == list(changed)
        last = [e for e in history.events if e.fate in ("removed", "quarantined")]
        assert [e.step for e in last] == ([] if fate == "kept" else [ends[0]])
        if fate == "removed":
            assert [last[0].reason, last[0].value, last[0].bound] == ends[1:]
        measured = {name: value for e in history.events for name, value in (e.stats or {}).items()}
        if fate != "quarantined":
            assert stats[history.row] == dict.fromkeys(columns) | measured
            for e in history.events:
                changed[e.step] += e.after is not None
    assert said == changed
    kept = [_last_text(history) for history in found if history.fate == "kept"]
    assert kept == [(row["id"], row["text"]) for row in exported(run)]
    return found


def _last_text(history: RowHistory) -> tuple[Any, str]:
    text = history.sample["text"]
    for e in history.events:
        if e.after is not None:
            assert e.before == text and e.after != text
            text = e.after
    return history.sample["id"], text


# The number at the end of a text, if there is one; above 127 it is an error.
KEY = "CASE WHEN text SIMILAR TO '.*[0-9]+' THEN CAST(regexp_extract(text, '[0-9]+$') AS TINYINT) END"
STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"text_length_filter": {"min_len": 3}},
    {"key_deduplicator": {"key": "lower(text)"}},
    {"sql_mapper": {"text": "CASE WHEN n < 8 THEN text || ' ' || (12 // n) ELSE text END"}},
    {"sql_filter": {"where": "text_len < 30"}},
    {"document_line_deduplicator": {"frequency_threshold": 2}},
    {"text_length_filter": {"min_len": 5}},
    {"key_deduplicator": {"key": KEY, "keep": "length(text) DESC"}},
    {"sql_mapper": {"text": "upper(text)"}},
]
SAMPLES: list[dict[str, Any]] = [
    {"id": "a", "n": 1, "text": "Some text a@b.org"},
    {"id": "b", "n": 2, "text": "some TEXT c@d.org"},  # the key of a
    {"id": "c", "n": 3, "text": "no"},  # too short
    {"id": "d", "n": 0, "text": "divided by nothing"},  # quarantined by the mapper after the first deduplicator
    {"id": "e", "n": 4, "text": "shared\nline e"},
    {"id": "f", "n": 4, "text": "shared\nline, longer than that of e"},  # removed by text_len of stage 1
    {"id": "g", "n": 4, "text": "shared\nlonger line g"},
    {"id": "h", "n": 6, "text": "shared\nx"},  # loses a line, and is then too short
    {"id": "i", "n": 9, "text": "ends in 999"},  # 999 is no TINYINT: quarantined by a deduplicator
    {"id": "j", "n": 12, "text": "nothing like it"},
]
FATES = ["kept", "removed", "removed", "quarantined", "removed", "removed", "kept", "removed", "quarantined", "kept"]


def written(folder: Path, kind: str, samples: list[dict[str, Any]]) -> Path:
    path = folder / f"in.{kind}"
    lines = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
    if kind == "jsonl":
        path.write_text("\n" + lines)  # an empty line is no row
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(samples), path, row_group_size=3)
    else:
        pa.csv.write_csv(pa.Table.from_pylist(samples), path)
    return path


long = [pytest.param(kind, marks=pytest.mark.long) for kind in ("jsonl", "jsonl.gz", "csv")]


@pytest.mark.parametrize("kind", ["parquet", *long])
def test_all_stages_of_all_rows(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, SAMPLES)
    run = refinery.run(settings(tmp_path, STEPS, dataset_path=path, shard_size=150, np=2))
    found = check_against_tables(run)
    assert [history.fate for history in found] == FATES
    first = 2 if kind == "jsonl" else 1
    if kind != "csv":
        assert [history.file for history in found] == [f"{path}:{row + first}" for row in range(10)]
    assert found[8].events[7].fate == "quarantined" and "999" in (found[8].error or "")
    assert [e.fate for e in found[8].events[6:]] == ["kept", "quarantined", "not reached"]
    assert found[8].events[5].units == () and found[3].events[3].fate == "quarantined"
    duplicate = found[4].events[7].duplicate
    assert duplicate and duplicate.kept and (duplicate.kept.row, duplicate.kept.text) == (6, "longer line g 3")
    assert duplicate.kept.file == found[6].file and duplicate.matched == "3" and duplicate.kept.shared is None
    with RowHistories(run.work_dir) as asked:
        assert asked.find("n = 4") == [4, 5, 6]


def test_samples_that_are_read_again(tmp_path: Path) -> None:
    """If no text changes, the next stage reads the input itself."""
    steps = [
        {"text_length_filter": {"min_len": 2}},
        {"key_deduplicator": {"key": "text"}},
        {"sql_filter": {"where": "text_len < 5"}},
        {"key_deduplicator": {"key": "length(text)"}},
    ]
    values = ["a", "aa", "bb", "aa", "ccc", "much longer", "ddd"]
    found = check_against_tables(refine(tmp_path, texts(values), steps, shard_size=60))
    assert [history.fate for history in found] == [
        "removed",
        "kept",
        "removed",
        "removed",
        "kept",
        "removed",
        "removed",
    ]
    assert [e.reason for e in found[1].events[1::2]] == [
        "survivor of a cluster of 2 (rows 1, 3)",
        "survivor of a cluster of 2 (rows 1, 2)",
    ]
    assert found[3].events[1] == Event(
        2,
        "key_deduplicator",
        "recipe, step 2",
        "removed",
        reason="duplicate of row 1",
        duplicate=found[3].events[1].duplicate,
        cluster=SampleCluster(2, (1, 3)),
    )


def test_nobodys_duplicate(tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["a", "b", ""]), [{"key_deduplicator": {"key": "nullif(text, '')"}}])
    found = histories(run)
    assert [h.events[0].reason for h in found] == ["no duplicate", "no duplicate", "nothing to compare it by"]
    assert "kept: nothing to compare it by" in printed(found[2])


def test_text_files(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "two"), ("c", "One")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.txt").write_text(text)
    steps = [{"key_deduplicator": {"key": "lower(text)"}}, {"sql_mapper": {"text": "text || '!'"}}]
    run = refinery.run(settings(tmp_path, steps, dataset_path=tmp_path / "in"))
    found = histories(run)
    assert [h.fate for h in found] == ["kept", "kept", "removed"] and found[1].events[1].after == "two!"
    duplicate = found[2].events[0].duplicate
    assert duplicate and duplicate.kept and duplicate.kept.file == str(tmp_path / "in" / "a.txt")


def test_drawn_samples(tmp_path: Path) -> None:
    samples = [{"id": k, "text": f"number {k % 3}"} for k in range(40)]
    dataset = {"max_sample_num": 9, "configs": [{"type": "local", "path": str(tmp_path / "in.jsonl")}]}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
    keys = settings(tmp_path, [{"key_deduplicator": {"key": "text"}}, {"sql_mapper": {"text": "upper(text)"}}])
    del keys["dataset_path"]
    run = refinery.run(keys | {"dataset": dataset, "shard_size": 200})
    for history in check_against_tables(run):
        assert history.file == f"{tmp_path / 'in.jsonl'}:{history.sample['id'] + 1}"
        duplicate = history.events[0].duplicate
        assert not duplicate or duplicate.kept and duplicate.kept.text == history.sample["text"]


# Near duplicates


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> list[RowHistory]:
    """Row 1 is row 0 before the mails are taken out; row 3 is like 2, which is like 0; row 4 has too few tokens."""
    values = [f"{WORDS} a@b.org", f"{WORDS} c@d.org", WORDS.replace("lazy", "crazy"), "something else altogether", "x"]
    values.insert(3, values[2].replace("deep", "steep"))
    steps = [
        {"clean_email_mapper": None},
        {
            "document_minhash_deduplicator": {
                "jaccard_threshold": 0.5,
                "window_size": 2,
                "num_bands": 24,
                "num_rows_per_band": 2,
                "verify": True,
            }
        },
    ]
    return histories(refine(tmp_path_factory.mktemp("near"), texts(values), steps, shard_size=200))


def test_the_shingles_that_two_texts_share(near: list[RowHistory]) -> None:
    found = near[2].events[1]
    duplicate = found.duplicate
    assert duplicate and duplicate.kept and duplicate.via is None
    shared = duplicate.kept.shared
    # 22 runs of two words each ("the" stands between others every time), two of which hold the word that differs.
    assert shared == SharedShingles(
        20, 22, 22, 20 / 24, tuple(" ".join(WORDS.split()[i : i + 2]) for i in (0, 1, 2, 3, 4, 5, 8, 9, 10, 11))
    )
    assert duplicate.jaccard == pytest.approx(shared.jaccard) and duplicate.estimated_jaccard == found.value
    assert found.bound == 0.5 and duplicate.matched.startswith("band ")
    assert found.cluster == SampleCluster(4, (0, 1, 2, 3))


def test_texts_are_those_that_the_deduplicator_was_given(near: list[RowHistory]) -> None:
    duplicate = near[1].events[1].duplicate
    assert duplicate and duplicate.kept and duplicate.kept.text == WORDS + " "
    assert duplicate.kept.file.endswith("in.jsonl:1") and duplicate.kept.shared
    assert (duplicate.kept.shared.jaccard, duplicate.jaccard, duplicate.estimated_jaccard) == (1, 1, 1)


def test_kept_rows_of_near_duplicates(near: list[RowHistory]) -> None:
    assert near[0].events[1].reason == "survivor of a cluster of 4 (rows 0, 1, 2, 3)"
    assert [near[row].events[1].reason for row in (4, 5)] == ["no duplicate"] * 2


def test_a_pair_as_a_person_is_reported(near: list[RowHistory]) -> None:
    lines = [line.strip() for line in printed(near[2]).splitlines()]
    assert "removed (recipe, step 2): duplicate of row 0" in lines[3]
    assert lines[4].startswith("kept instead: row 0, ") and lines[4].endswith("in.jsonl:1: " + WORDS[:80] + "…")
    assert lines[5:7] == ["shares 20 distinct shingles, of 22 here and 22 there: Jaccard 0.833333", "the quick"]
    assert lines[16] == "and 10 more" and lines[-1] == "cluster of 4: rows 0, 1, 2, 3"
    assert lines[17].startswith("matched by: band ") and lines[17].endswith(", true Jaccard 0.833333")


def test_a_pair_as_json(near: list[RowHistory]) -> None:
    said = json.loads(near[2].json())["events"][1]
    assert said["duplicate"]["kept"]["shared"]["count"] == 20 and said["duplicate"]["kept_in_index"] is None
    assert said["cluster"] == {"size": 4, "rows": [0, 1, 2, 3]} and said["units"] is None


def test_a_match_through_another_sample(tmp_path: Path) -> None:
    """The hashes of rows 0 and 1 differ in 12 bits, those of 1 and 2 in 13, but those of 0 and 2 in 15."""
    words = WORDS.split()
    values = [" ".join(words), " ".join(words[:-3]), " ".join(words[:-8])]
    step = {"document_simhash_deduplicator": {"window_size": 2, "num_blocks": 15, "hamming_distance": 13}}
    found = histories(refine(tmp_path, texts(values), [step]))
    duplicate = found[2].events[0].duplicate
    assert duplicate and duplicate.kept and duplicate.via and (duplicate.kept.row, duplicate.via.row) == (0, 1)
    assert duplicate.simhash and duplicate.via.simhash and duplicate.kept.simhash
    apart = int(duplicate.simhash, 16) ^ int(duplicate.via.simhash, 16)
    assert apart.bit_count() == duplicate.distance == found[2].events[0].value == 13
    assert (int(duplicate.simhash, 16) ^ int(duplicate.kept.simhash, 16)).bit_count() == 15
    assert duplicate.via.shared and duplicate.kept.shared
    assert duplicate.via.shared.here == 14 and duplicate.via.shared.jaccard > duplicate.kept.shared.jaccard
    said = printed(found[2])
    assert "matched with: row 1" in said and f"{duplicate.simhash} and {duplicate.via.simhash}" in said


def test_texts_too_short_for_simhash(tmp_path: Path) -> None:
    step = {"document_simhash_deduplicator": None}
    found = histories(refine(tmp_path, texts(["too short", "something else"]), [step]))
    duplicate = found[1].events[0].duplicate
    assert duplicate and duplicate.kept and duplicate.kept.shared is None and duplicate.simhash == "0" * 16
    assert "of too few tokens for a shingle" in printed(found[1])


def test_exact_duplicates_have_a_key(tmp_path: Path) -> None:
    found = histories(refine(tmp_path, texts(["same", "other", " same "]), [{"document_deduplicator": None}]))
    duplicate = found[2].events[0].duplicate
    assert duplicate and duplicate.kept and duplicate.kept.shared is None
    assert f"matched by: key {duplicate.matched}" in printed(found[2]) and duplicate.matched.lstrip("-").isdigit()


def test_a_row_that_lies_in_an_index(tmp_path: Path) -> None:
    step = {"key_deduplicator": {"key": "lower(text)", "index": str(tmp_path / "index")}}
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = refine(tmp_path / "one", texts(["x", "a"]), [step], project_name="earlier")
    second = histories(refine(tmp_path / "two", texts(["b", "A", "B"]), [step]))
    [(number,)] = rows(first, "runs", "run_id")
    found = second[1].events[0]
    assert found.duplicate and found.duplicate.kept is None and found.duplicate.via is None
    assert found.duplicate.kept_in_index == f"earlier {number} row 1"
    assert found.reason == f"duplicate of earlier {number} row 1" and found.cluster == SampleCluster(2, (1,))
    assert f"kept instead: earlier {number} row 1, from the index" in printed(second[1])
    kept = second[2].events[0].duplicate
    assert kept and kept.kept and kept.kept.row == 0 and kept.kept_in_index is None


def test_a_text_of_its_own(tmp_path: Path) -> None:
    """A deduplicator that compares another field than the text."""
    samples = [{"body": str(k), "meta": {"title": title}} for k, title in enumerate(("A b", "c", "a B"))]
    steps = [
        {"sql_mapper": {"text": "lower(text)", "text_key": "meta.title"}},
        {"document_deduplicator": {"text_key": "meta.title"}},
    ]
    found = histories(refine(tmp_path, samples, steps, text_keys="body"))[2].events[1]
    assert found.duplicate and found.duplicate.kept and found.duplicate.kept.text == "a b"


# Parts of texts


def test_lines_that_went(tmp_path: Path) -> None:
    values = ["menu\none\nmenu", "menu\ntwo", "three", *["\n".join(f"line {k}" for k in range(30))] * 2]
    run = refine(tmp_path, texts(values), [{"document_line_deduplicator": {"frequency_threshold": 1}}])
    found = check_against_tables(run)
    units = found[0].events[0].units or ()
    assert [(u.unit, u.kind, u.text, u.matched, u.first) for u in units] == [
        (0, "line", "menu", "in 2 samples", None),
        (2, "line", "menu", "in 2 samples", None),
    ]
    assert (found[2].events[0].fate, found[2].events[0].units) == ("unchanged", ())
    assert 'line "menu": in 2 samples' in printed(found[1])
    assert len(found[3].events[0].units or ()) == 30 and "and 20 more" in printed(found[3])


def test_paragraphs_that_went(tmp_path: Path) -> None:
    """Also of a sample that has none left, and is removed."""
    values = ["opening words\n\nbody of a", "body of b\n\nOpening  words", "opening\nwords\n\nBODY of b\n\nbody of b"]
    steps = [
        {"key_deduplicator": {"key": "text"}},
        {"paragraph_deduplicator": {"min_length": 1, "lowercase": True}},
        {"sql_mapper": {"text": "text || '.'"}},
    ]
    run = refine(tmp_path, texts(values), steps, shard_size=50)
    found = check_against_tables(run)
    path = tmp_path / "in.jsonl"
    assert [h.fate for h in found] == ["kept", "kept", "removed"]
    lost = found[2].events[1]
    assert (lost.before, lost.after, lost.reason) == (values[2], "", "nothing is left of the text")
    assert [(u.unit, u.text, u.first, u.file) for u in lost.units or ()] == [
        (0, "opening\nwords", 0, f"{path}:1"),
        (1, "BODY of b", 1, f"{path}:2"),
        (2, "body of b", 1, f"{path}:2"),
    ]
    assert f'paragraph "opening\\nwords": seen before, first in row 0, {path}:1' in printed(found[2])


@pytest.mark.parametrize(
    ("params", "between"),
    [({}, " "), pytest.param({"sentences": "lines"}, "\n", marks=pytest.mark.long)],
    ids=["sentences", "lines"],
)
def test_sentences_that_went(tmp_path: Path, params: dict[str, str], between: str) -> None:
    values = ["A first one. Shared here. And here too. The end.", "Another. Shared here. And here too. Over."]
    values = [value.replace(". ", f".{between}") for value in values]
    step = {"sentence_deduplicator": {"n_sentences": 2, "min_doc_words": 0, "min_num_sentences": 0, **params}}
    [unit] = check_against_tables(refine(tmp_path, texts(values), [step]))[1].events[0].units or ()
    assert (unit.unit, unit.kind, unit.first) == (1, "sentences", 0)
    assert unit.text == f"Shared here.{between}And here too."


def test_a_row_that_a_step_after_a_deduplicator_raised_on(tmp_path: Path) -> None:
    steps = [
        {"text_length_filter": {"min_len": 1}},
        {"document_line_deduplicator": {"frequency_threshold": 1}},
        {"text_length_filter": {"min_len": 1, "max_len": 50}},
        {"sql_mapper": {"text": "CAST(CAST(text AS INTEGER) + text_len AS VARCHAR)"}},
        {"text_length_filter": {"min_len": 1}},
    ]
    found = check_against_tables(refine(tmp_path, texts(["menu\n1", "menu\n2 or 3", "12"]), steps))
    assert [h.fate for h in found] == ["kept", "quarantined", "kept"]
    assert [e.fate for e in found[1].events] == ["kept", "changed", "kept", "quarantined", "not reached"]
    assert found[0].events[3].after == "2" and found[1].events[1].after == "2 or 3"


@pytest.mark.parametrize("keep", ["first", "none"])
def test_passages_beside_their_copies(tmp_path: Path, keep: str) -> None:
    """As the step received them, in both samples; the text and the share are those of the run."""
    given = ["so the quick brown FOX", "é: the quick brown fox jumps", "none of it"]
    steps: list[Any] = [
        {"sql_mapper": {"text": "lower(text)"}},
        {"substring_deduplicator": {"min_length": 10, "keep": keep}},
    ]
    run = refine(tmp_path, texts(given), steps)
    found = histories(run)[1]
    [passage] = found.events[1].units or ()
    assert (passage.kind, passage.unit, passage.text) == ("passage", 3, " the quick brown fox")
    assert (passage.first, passage.copy) == (0, "so[ the quick brown fox]")
    assert passage.matched.endswith(", 20 bytes at 3 as at 2") and passage.matched.startswith("seen before") == (
        keep == "first"
    )
    assert (found.events[1].after, found.events[1].stats) == ("é: jumps", {"duplicate_share": 20 / 29})
    assert exported(run)[1]["text"] == "é: jumps"
    assert "copy in row 0" in printed(found) and 'there: "so[ the quick brown fox]"' in printed(found)
