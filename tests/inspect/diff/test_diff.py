"""`refinery diff`: recipes aligned, fates counted, statistics measured against each other, texts beside each other."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError
from refinery.inspect.diff.diff import Difference, compare
from refinery.inspect.diff.recipes import StepRow, compare_keys, compare_steps
from tests.commands import Call, caller, outcome_of
from tests.runs import texts, write_lines
from tests.sampling import named

TEXTS = [
    "mail jane@example.org about it",
    "short",
    "  two   words  here and there  ",
    "same same",
    "same same",
    "a longer text that both of the runs will keep as it is",
    "tiny",
    "http://example.org/page stands in this one",
]
FIRST: list[Any] = [
    {"clean_email_mapper": None},
    {"text_length_filter": {"min_len": 5}},
    {"document_deduplicator": None},
    {"text_length_filter": {"min_len": 6, "max_len": 100}},
]
SECOND: list[Any] = [
    {"clean_links_mapper": None},
    {"text_length_filter": {"min_len": 6}},
    {"document_deduplicator": None},
    {"words_num_filter": {"min_num": 3}},
    {"text_length_filter": {"min_len": 6, "max_len": 45}},
]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys)


def run(folder: Path, steps: list[Any], kind: str = "jsonl", data: Path | None = None, **keys: Any) -> Path:
    """Run steps over the data beside the folder; the folder."""
    path = data or folder.parent / "in.jsonl"
    recipe = {"dataset_path": str(path), "export_path": str(folder / f"out.{kind}"), "np": 1, "process": steps}
    refinery.run(recipe | {"work_dir": str(folder)} | keys)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    write_lines(folder / "in.jsonl", [*texts(TEXTS), "not json"])
    return run(folder / "a", FIRST), run(folder / "b", SECOND, "parquet")


@pytest.fixture(scope="module")
def found(runs: tuple[Path, Path]) -> Difference:
    return compare(*runs, limit=2)


# Recipes


def steps(*given: tuple[str, dict[str, Any]]) -> list[StepRow]:
    return [StepRow(number, name, params) for number, (name, params) in enumerate(given, 1)]


def test_steps_are_aligned() -> None:
    a = steps(("m", {}), ("f", {"min": 1, "max": 2}), ("d", {}), ("g", {}))
    b = steps(("d", {}), ("m", {}), ("f", {"min": 1, "max": 3, "new": True}), ("h", {}), ("g", {}))
    changes = compare_steps(a, b)
    assert [(c.change, c.operator, c.step_a, c.step_b) for c in changes] == [
        ("moved", "d", 3, 1),
        ("same", "m", 1, 2),
        ("changed", "f", 2, 3),
        ("added", "h", None, 4),
        ("same", "g", 4, 5),
    ]
    assert changes[2].parameters == {"max": (2, 3), "new": (None, True)}


def test_recipes_without_a_common_step() -> None:
    changes = compare_steps(steps(("a", {})), steps(("b", {}), ("c", {})))
    assert [(c.change, c.step_a, c.step_b) for c in changes] == [
        ("removed", 1, None),
        ("added", None, 1),
        ("added", None, 2),
    ]
    assert compare_steps([], []) == []


def test_keys_that_decide_nothing_are_left_out() -> None:
    a = "text_keys: [body]\nnp: 2\nwork_dir: x\nprocess: []\n"
    b = "np: 4\nmeasure_only: true\nprocess: [{a: null}]\n"
    assert [(key.key, key.a, key.b) for key in compare_keys(a, b)] == [
        ("text_keys", ["body"], ("text",)),
        ("measure_only", False, True),
    ]


def test_the_recipes_of_two_runs(found: Difference) -> None:
    assert [(c.change, c.operator, c.step_a, c.step_b, c.parameters) for c in found.steps] == [
        ("removed", "clean_email_mapper", 1, None, {}),
        ("added", "clean_links_mapper", None, 1, {}),
        ("changed", "text_length_filter", 2, 2, {"min_len": (5, 6)}),
        ("same", "document_deduplicator", 3, 3, {}),
        ("added", "words_num_filter", None, 4, {}),
        ("changed", "text_length_filter", 4, 5, {"max_len": (100, 45)}),
    ]
    assert found.keys == () and found.notes == () and found.apart is None


# Rows


def fates(folder: Path) -> dict[int, str]:
    """Fate of each row, from other tables than the comparison reads."""
    with duckdb.connect(str(folder / "refinery.duckdb"), read_only=True) as con:
        kept = {row: "kept" for (row,) in con.execute("SELECT _row FROM stats WHERE kept").fetchall()}
        gone = con.execute("SELECT _row, operator, step FROM ledger").fetchall()
        broken = con.execute("SELECT _row FROM quarantine").fetchall()
    return kept | {row: f"{name} {step}" for row, name, step in gone} | {row: "broken" for (row,) in broken}


def test_every_row_is_in_one_cell_of_the_matrix(found: Difference, runs: tuple[Path, Path]) -> None:
    assert [(fate.a, fate.b, fate.rows, fate.examples) for fate in found.fates] == [
        ("kept", "kept", 3, (0, 2)),
        ("could not be read", "could not be read", 1, (8,)),
        ("kept", "removed by text_length_filter (step 4/5)", 1, (5,)),
        ("kept", "removed by words_num_filter", 1, (3,)),
        ("removed by document_deduplicator", "removed by document_deduplicator", 1, (4,)),
        ("removed by text_length_filter (step 2)", "removed by text_length_filter (step 2)", 1, (6,)),
        ("removed by text_length_filter (step 4/5)", "removed by text_length_filter (step 2)", 1, (1,)),
    ]
    one, other = (fates(folder) for folder in runs)
    assert sum(fate.rows for fate in found.fates) == len(one) == len(other) == 9
    changed = {row for row in one if (one[row] == "kept") != (other[row] == "kept")}
    told_of = {row for fate in found.fates if (fate.a == "kept") != (fate.b == "kept") for row in fate.examples}
    assert changed == told_of


def test_examples_are_the_first_rows(found: Difference, runs: tuple[Path, Path]) -> None:
    one, other = (fates(folder) for folder in runs)
    both = sorted(row for row in one if one[row] == other[row] == "kept")
    [cell] = [fate for fate in found.fates if fate.a == fate.b == "kept"]
    assert cell.rows == len(both) and list(cell.examples) == both[:2]


# Statistics


def column(folder: Path, name: str, where: str = "TRUE") -> np.ndarray:
    with duckdb.connect(str(folder / "refinery.duckdb"), read_only=True) as con:
        query = f"SELECT CAST({name} AS DOUBLE) FROM stats WHERE {name} IS NOT NULL AND {where}"
        return np.array([value for (value,) in con.execute(query).fetchall()])


def test_statistics_are_paired_by_aligned_steps(found: Difference) -> None:
    assert {stat.stat for stat in found.stats} == {"text_len", "text_len_4 / text_len_5"}


def test_effect_sizes(found: Difference, runs: tuple[Path, Path]) -> None:
    for stat in found.stats:
        where = "kept" if stat.over == "kept" else "TRUE"
        names = stat.stat.split(" / ") if "/" in stat.stat else [stat.stat, stat.stat]
        a, b = (column(folder, name, where) for folder, name in zip(runs, names, strict=True))
        assert (stat.n_a, stat.n_b) == (len(a), len(b))
        assert stat.mean_a == pytest.approx(a.mean()) and stat.mean_b == pytest.approx(b.mean())
        pooled = math.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2))
        assert stat.d == pytest.approx((b.mean() - a.mean()) / pooled)


def test_rows_whose_statistic_differs(found: Difference) -> None:
    by_name = {row.stat: row for row in found.rows}
    assert by_name["text_len"].both == 8 and by_name["text_len"].changed == 2
    assert by_name["text_len"].examples == (0, 7)
    assert by_name["text_len"].largest_change == len("http://example.org/page") == 23


# Texts


def test_texts_that_differ(found: Difference) -> None:
    assert found.texts is not None and found.texts.exact and found.texts.note is None
    assert found.texts.differing == 2
    assert [(pair.row, pair.a, pair.b) for pair in found.texts.examples] == [
        (0, "mail  about it", TEXTS[0]),
        (7, TEXTS[7], " stands in this one"),
    ]


@pytest.mark.parametrize(
    "kind", named({k: k for k in ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet")}, "jsonl.gz")
)
def test_exports_of_all_formats(tmp_path: Path, kind: str) -> None:
    write_lines(tmp_path / "in.jsonl", [{"meta": {"body": f"text {n}", "n": n}} for n in range(9)])
    upper = {"sql_mapper": {"text": "CASE WHEN text LIKE '%7' THEN upper(text) ELSE text END"}}
    keep = {"sql_filter": {"where": "text NOT LIKE '%3'"}}
    a = run(tmp_path / "a", [keep], text_keys="meta.body")
    b = run(tmp_path / "b", [upper], kind, text_keys="meta.body", export_shard_size=40)
    texts = compare(a, b).texts
    assert texts is not None and (texts.compared, texts.differing, texts.exact) == (8, 1, True)
    assert [(pair.row, pair.a, pair.b) for pair in texts.examples] == [(7, "text 7", "TEXT 7")]


def test_without_an_export_lengths_are_compared_and_texts_recomputed(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["ab", "a b", "  c", "d"]))
    a = run(tmp_path / "a", [{"sql_mapper": {"text": "trim(text)"}}])
    b = run(tmp_path / "b", [{"sql_mapper": {"text": "upper(text)"}}, {"document_deduplicator": None}])
    assert compare(a, b).texts.differing == 4  # type: ignore[union-attr]
    (a / "out.jsonl").unlink()
    found = compare(a, b).texts
    assert found is not None and (found.compared, found.differing, found.exact) == (4, 1, False)
    assert [(pair.row, pair.a, pair.b) for pair in found.examples] == [(2, "c", "  C")]
    assert found.note == f"{a / 'out.jsonl'} is not there any more, so only the lengths of texts were compared"
    (tmp_path / "in.jsonl").unlink()
    found = compare(a, b).texts
    assert found is not None and found.differing == 1 and not found.examples
    assert found.note is not None and "examples cannot be recomputed" in found.note


def test_an_export_that_has_changed_is_not_taken_for_the_runs(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["ab", "cd"]))
    a, b = (run(tmp_path / name, [{"clean_email_mapper": None}]) for name in "ab")
    (a / "out.jsonl").write_text('{"text": "other"}\n', encoding="utf-8")
    found = compare(a, b).texts
    assert found is not None and not found.exact and f"{a / 'out.jsonl'} has changed since the run" in str(found.note)


# What cannot be compared


def test_another_input(tmp_path: Path, call: Call) -> None:
    one, other = (
        write_lines(tmp_path / "one.jsonl", texts(TEXTS)),
        write_lines(tmp_path / "other.jsonl", texts(TEXTS[:5])),
    )
    run(tmp_path / "a", [{"text_length_filter": {"min_len": 6}}], data=one)
    run(tmp_path / "b", [{"text_length_filter": {"min_len": 7}}], data=other)
    found = outcome_of(call, "diff", "a", "b")
    assert found["apart"] == "one has read one.jsonl where the other has read other.jsonl"
    assert found["fates"] == found["rows"] == [] and found["texts"] is None
    assert [stat["n_a"] for stat in found["stats"] if stat["over"] == "measured"] == [8]
    assert found["steps"][0]["parameters"] == {"min_len": [6, 7]}
    code, out, _ = call("diff", "a", "b")
    assert code == 0 and "The runs have not read the same input: one has read one.jsonl" in out


def test_an_input_that_has_changed(tmp_path: Path) -> None:
    data = write_lines(tmp_path / "in.jsonl", texts(TEXTS))
    a = run(tmp_path / "a", [{"text_length_filter": None}])
    write_lines(data, texts(TEXTS[::-1]))
    b = run(tmp_path / "b", [{"text_length_filter": None}])
    assert compare(a, b).apart == f"{data} has changed between them"


def test_another_choice_of_samples(tmp_path: Path) -> None:
    path = str(write_lines(tmp_path / "in.jsonl", texts(TEXTS)))
    runs = []
    for name, most in (("a", 4), ("b", 5)):
        dataset = {"max_sample_num": most, "configs": [{"type": "local", "path": path}]}
        recipe = {
            "dataset": dataset,
            "export_path": str(tmp_path / name / "o.jsonl"),
            "process": ["text_length_filter"],
        }
        refinery.run(recipe)
        runs.append(tmp_path / name)
    assert compare(*runs).apart == "they have drawn different numbers of samples (max_sample_num)"


def test_a_moved_input_is_the_same(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(TEXTS))
    a = run(tmp_path / "a", [{"text_length_filter": None}])
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "in.jsonl", tmp_path / "elsewhere" / "in.jsonl")
    b = run(tmp_path / "b", [{"text_length_filter": None}], data=tmp_path / "elsewhere" / "in.jsonl")
    found = compare(a, b)
    assert found.apart is None and found.texts is not None and found.texts.differing == 0


def test_samples_from_python(tmp_path: Path) -> None:
    table = pa.table({"text": TEXTS})
    for name, least in (("a", 5), ("b", 9)):
        steps = [{"text_length_filter": {"min_len": least}}]
        refinery.run({"export_path": str(tmp_path / name / "o.parquet"), "process": steps}, dataset=table)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.apart is None and "assumed to be the same" in found.notes[0]
    assert [(fate.a, fate.b, fate.rows) for fate in found.fates if fate.a != fate.b] == [
        ("kept", "removed by text_length_filter", 1)
    ]


def test_what_is_no_run(runs: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are the same run"):
        compare(runs[0], runs[0])
    with pytest.raises(DataError, match="no finished run here"):
        compare(runs[0], tmp_path)


# The command


def test_the_command(call: Call, runs: tuple[Path, Path]) -> None:
    code, out, err = call("diff", *runs, "--limit", "2")
    assert code == 0, err
    lines = [line.strip() for line in out.splitlines()]
    assert any(line.startswith("-     1/–  clean_email_mapper") for line in lines)
    assert any(line.startswith("~     2/2  text_length_filter  min_len: 5 → 6") for line in lines)
    assert any(line.startswith("Rows: ") and line.endswith("of 9 have another fate") for line in lines)
    assert "- mail  about it" in lines and "+ mail jane@example.org about it" in lines
    assert any("d is the difference of means" in line for line in lines)


def test_two_runs_that_are_alike(call: Call, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(TEXTS))
    for name in "ab":
        run(tmp_path / name, FIRST)
    code, out, _ = call("diff", "a", "b")
    assert code == 0 and "The recipes do the same." in out and "0 of 8 have another fate" in out
    assert "Statistics: none moved" in out and "differ" in out.splitlines()[-1] and "Texts: 0 of the" in out
    found = json.loads(call("diff", "a", "b", "--json")[1])
    assert {step["change"] for step in found["steps"]} == {"same"} and found["texts"]["differing"] == 0
