"""The run database holds what `docs/tables.md` and `docs/views.md` say, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import refinery
from refinery.api import Run
from refinery.execution.open import open_recipe
from refinery.planning.pipeline import prepare
from tests.conftest import ROOT
from tests.runs import content, exported, lines_of, refine, rows, settings, texts, write_lines
from tests.sampling import named

STEPS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"text_length_filter": {"min_len": 5, "max_len": 40}},
    {"sql_filter": {"where": "id <> 3"}},
    {"sql_mapper": {"text": "replace(text, 'old', 'brand new')"}},
    {"text_length_filter": {"min_len": 5, "max_len": 30}},
]
SAMPLES: list[Any] = [
    {"id": 0, "text": "an old\u00a0text"},
    {"id": 1, "text": "tiny"},
    "not json",
    {"id": 3, "text": "good, but number three"},
    {"id": 4, "text": "old old old old old old old"},
    {"id": 5, "text": "x" * 41},
    {"id": 6, "text": "nothing to do here"},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(tmp_path_factory.mktemp("tables"), SAMPLES, STEPS, open_tracer=True)


# The page


def documented(part: int = 0) -> dict[str, dict[str, str]]:
    """Table -> column -> type, as the pages say: 0, of every run; 1, what an analysis has besides."""
    found: dict[str, dict[str, str]] = {}
    page = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("tables.md", "views.md"))
    for line in page.split("<!-- analysis -->")[part].splitlines():
        heading = re.match(r"## (\w+)", line)
        column = re.match(r"\| `(\w+)` \| ([^|]+?) \|", line)
        if heading:
            columns = found.setdefault(heading[1], {})
        elif column:
            columns[column[1]] = column[2]
    return found


def test_the_page_names_every_column_with_its_type(run: Run) -> None:
    present: dict[str, dict[str, str]] = {}
    for table, column, kind in run.sql(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
    ).fetchall():
        present.setdefault(table, {})[column] = kind
    assert present.pop("fates") == present["row_outcomes"]  # the name before 0.2, a view
    assert {name: kind for name, kind in present["stats"].items() if name.startswith("text_len")} == {
        "text_len": "BIGINT",
        "text_len_5": "BIGINT",
    }
    for name in ("text_len", "text_len_5"):
        del present["stats"][name]
    of_mappers = {
        name: present["row_outcomes"].pop(name) for name in ("_changed_1", "_bytes_1", "_changed_4", "_bytes_4")
    }
    assert of_mappers == {"_changed_1": "BOOLEAN", "_bytes_1": "BIGINT", "_changed_4": "BOOLEAN", "_bytes_4": "BIGINT"}
    assert present["row_outcomes"].pop("_term_3") == "USMALLINT"  # of the predicate
    assert present == documented()


@pytest.mark.parametrize("samples", [[], ["not json"]], ids=["no samples", "none that can be read"])
def test_the_columns_are_the_same_without_rows(tmp_path: Path, samples: list[str]) -> None:
    empty = refine(tmp_path, samples, [{"clean_email_mapper": None}], max_quarantined="100%")
    kinds = {
        table: {name: kind for name, kind, *_ in empty.sql(f"DESCRIBE {table}").fetchall()} for table in documented()
    }
    del kinds["row_outcomes"]["_changed_1"], kinds["row_outcomes"]["_bytes_1"]
    assert kinds == documented()


# Rows


def test_a_run_is_described(run: Run) -> None:
    described = run.sql(
        "SELECT rows_read, rows_kept, rows_removed, rows_quarantined, outputs, length(run_id), seconds > 0, bytes > 0, "
        "peak_memory > 1000000, began > TIMESTAMP '2020-01-01', recipe FROM runs"
    ).fetchall()
    [(read, kept, removed, quarantined, outputs, name, *plausible, recipe)] = described
    assert (read, kept, removed, quarantined) == (7, 2, 4, 1)
    assert [Path(path) for path in outputs] == list(run.outputs) and name == 32 and all(plausible)
    assert "max_len: 40" in recipe and "min_closed_interval" not in recipe
    assert json.loads(run.sql("SELECT versions FROM runs").fetchall()[0][0])["duckdb"] == duckdb.__version__


def test_each_step_is_a_row_of_the_waterfall(run: Run) -> None:
    found = rows(run, "steps", "step, operator, kind, rows_in, rows_out, removed, changed, quarantined")
    assert found == [
        (1, "whitespace_normalization_mapper", "mapper", 6, 6, 0, 1, 0),
        (2, "text_length_filter", "filter", 6, 4, 2, 0, 0),
        (3, "sql_filter", "filter", 4, 3, 1, 0, 0),
        (4, "sql_mapper", "mapper", 3, 3, 0, 2, 0),
        (5, "text_length_filter", "filter", 3, 2, 1, 0, 0),
    ]
    [(parameters,)] = rows(run, "steps", "parameters", "step = 2")
    ranges = {"min_closed_interval": True, "max_closed_interval": True, "reversed_range": False}
    assert json.loads(parameters) == {"min_len": 5, "max_len": 40, **ranges}
    assert {where for (where,) in rows(run, "steps", "recipe_line")} == {f"recipe, step {k}" for k in range(1, 6)}


def test_bytes_are_those_of_the_text_as_utf8(run: Run) -> None:
    read = ["an old\u00a0text", "tiny", SAMPLES[3]["text"], SAMPLES[4]["text"], SAMPLES[5]["text"], SAMPLES[6]["text"]]
    after_1 = [text.replace("\u00a0", " ") for text in read]
    after_2 = [text for text in after_1 if 5 <= len(text) <= 40]
    after_3 = [text for text in after_2 if "three" not in text]
    after_4 = [text.replace("old", "brand new") for text in after_3]
    after_5 = [text for text in after_4 if len(text) <= 30]
    size = [sum(len(text.encode()) for text in some) for some in (read, after_1, after_2, after_3, after_4, after_5)]
    assert rows(run, "steps", "bytes_in, bytes_out") == list(zip(size, size[1:], strict=False))


def test_the_ledger_says_why_each_row_was_removed(run: Run) -> None:
    found = rows(run, "ledger", "* EXCLUDE (recipe_line, kept_instead, name)")
    assert found == [
        (1, 2, "text_length_filter", "text_len below min_len", "text_len", 4.0, 5.0),
        (3, 3, "sql_filter", "not kept by where: id <> 3", None, None, None),
        (4, 5, "text_length_filter", "text_len_5 above max_len", "text_len_5", 69.0, 30.0),
        (5, 2, "text_length_filter", "text_len above max_len", "text_len", 41.0, 40.0),
    ]
    assert rows(run, "ledger", "DISTINCT kept_instead") == [(None,)]


def test_every_sample_has_its_statistics(run: Run) -> None:
    assert rows(run, "stats", "_row, kept, text_len, text_len_5") == [
        (0, True, 11, 17),
        (1, False, 4, None),
        (3, False, 22, None),
        (4, False, 27, 69),
        (5, False, 41, None),
        (6, True, 18, 18),
    ]
    beside = lines_of(run.outputs[0].with_name("out_stats.jsonl"))
    assert beside == [{"__dj__stats__": {"text_len": n, "text_len_5": m}} for n, m in ((11, 17), (18, 18))]


def test_statistics_can_be_exported_inside_the_samples(tmp_path: Path) -> None:
    found = exported(refine(tmp_path, SAMPLES, STEPS, keep_stats_in_res_ds=True))
    assert [(row["id"], row["__dj__stats__"]) for row in found] == [
        (0, {"text_len": 11, "text_len_5": 17}),
        (6, {"text_len": 18, "text_len_5": 18}),
    ]


def test_moments_are_numpys(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(1, 3000, 400)
    steps = [{"text_length_filter": None}, {"alphanumeric_filter": {"min_ratio": 0.0}}, {"text_length_filter": None}]
    run = refine(tmp_path, texts("a-" * (n // 2) + "b" * (n % 5) for n in values.tolist()), steps)
    stats = {name: np.array(column, float) for name, column in run_columns(run, "stats").items() if name[0] != "_"}
    found = {row[2]: row for row in rows(run, "stat_summary")}
    assert list(found) == ["text_len", "alnum_ratio", "text_len_3"]
    for name, (group, key, _, *moments) in found.items():
        column = stats[name][~np.isnan(stats[name])]
        expected = [
            len(column),
            column.mean(),
            ((column - column.mean()) ** 2).sum(),
            column.min(),
            column.max(),
            column.sum(),
            0,
            0,
        ]
        assert (group, key) == ("summary", "summary") and moments == pytest.approx(expected, rel=1e-9)


def run_columns(run: Run, table: str) -> dict[str, Any]:
    with duckdb.connect(str(run.database), read_only=True) as con:
        return con.sql(f"SELECT * EXCLUDE (kept) FROM {table}").to_arrow_table().to_pydict()


def test_a_statistic_of_no_sample_has_no_moments(tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["short"]), [{"text_length_filter": {"min_len": 9}}, {"alphanumeric_filter": None}])
    assert rows(run, "stat_summary", "stat, n, mean, m2, min, max, total") == [
        ("text_len", 1, 5.0, 0.0, 5.0, 5.0, 5.0),
        ("alnum_ratio", 0, None, 0.0, None, None, None),
    ]


# Bounds

BOUNDS = [
    ({}, {4: "below", 11: "above"}),
    ({"min_closed_interval": False}, {4: "below", 5: "below", 11: "above"}),
    ({"max_closed_interval": False}, {4: "below", 10: "above", 11: "above"}),
    ({"reversed_range": True}, {6: "inside", 8: "inside"}),
    ({"reversed_range": True, "min_closed_interval": False}, {5: "inside", 6: "inside", 8: "inside"}),
    ({"reversed_range": True, "max_closed_interval": False}, {6: "inside", 8: "inside", 10: "inside"}),
]


@pytest.mark.parametrize(("keys", "removed"), named(dict(zip("abcdef", BOUNDS, strict=True)), "a", "b", "d", "f"))
def test_reasons_fit_the_interval(tmp_path: Path, keys: dict[str, Any], removed: dict[int, str]) -> None:
    step = {"text_length_filter": {"min_len": 5, "max_len": 10, **keys}}
    run = refine(tmp_path, texts("x" * n for n in (4, 5, 6, 8, 10, 11)), [step])
    words = {
        "below": ("text_len below min_len", 5.0),
        "above": ("text_len above max_len", 10.0),
        "inside": ("text_len inside the reversed range", 5.0),
    }
    expected = [(words[why][0], "text_len", float(n), words[why][1]) for n, why in removed.items()]
    assert rows(run, "ledger", "reason, statistic, value, bound") == expected
    assert [len(row["text"]) for row in exported(run)] == [n for n in (4, 5, 6, 8, 10, 11) if n not in removed]


def test_a_predicate_names_statistics_and_says_itself_why(tmp_path: Path) -> None:
    where = 'text_len % 2 = 0 OR "odd\'ity" IS NOT NULL'
    samples = [{"text": "four"}, {"text": "three"}, {"text": "three", "odd'ity": 1}]
    run = refine(tmp_path, samples, [{"text_length_filter": {"min_len": 1}}, {"sql_filter": {"where": where}}])
    assert rows(run, "ledger", "_row, reason, statistic, value") == [(1, f"not kept by where: {where}", None, None)]


# The run folder


def test_running_again_in_the_same_folder_gives_the_same(tmp_path: Path) -> None:
    first = refine(tmp_path, SAMPLES, STEPS, open_tracer=True)
    tables, export = content(first), first.outputs[0].read_bytes()
    names = sorted(path.name for path in first.work_dir.iterdir())
    second = refine(tmp_path, SAMPLES, STEPS, open_tracer=True)
    assert content(second) == tables and second.outputs[0].read_bytes() == export
    assert names == sorted(path.name for path in second.work_dir.iterdir())
    assert names == [
        ".refinery",
        "out.jsonl",
        "out_stats.jsonl",
        "refinery.duckdb",
        "trace",
    ]
    own = {path.name for path in (first.work_dir / ".refinery").iterdir()}
    assert own == {"log", "manifest.json", "parts", "plan.json", "recipe.yaml", "written.json"}


def test_the_folder_says_in_text_what_ran(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, project_name="said")
    manifest = json.loads((run.work_dir / ".refinery" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["rows"] == {"read": 7, "kept": 2, "removed": 4, "quarantined": 1}
    assert manifest["project_name"] == "said" and manifest["inputs"][0]["path"].endswith("in.jsonl")
    [path], stat = run.outputs, run.outputs[0].stat()
    known = {"path": str(path), "rows": 2, "bytes": stat.st_size, "modified": stat.st_mtime_ns}
    assert manifest["outputs"] == [known]
    assert [tuple(manifest[name] for name in ("run_id", "fingerprint"))] == rows(run, "runs", "run_id, fingerprint")
    [stage] = json.loads((run.work_dir / ".refinery" / "plan.json").read_text(encoding="utf-8"))["stages"]
    assert stage["sql"].startswith("WITH") and [step["step"] for step in stage["steps"]] == [1, 2, 3, 4, 5]
    again = refinery.run(run.work_dir / ".refinery" / "recipe.yaml")
    assert content(again, "steps", "ledger") == content(run, "steps", "ledger")
    assert rows(again, "steps", "DISTINCT split_part(recipe_line, ':', 1)") == [
        (str(run.work_dir / ".refinery" / "recipe.yaml"),)
    ]


def test_a_fingerprint_follows_parameters_and_operators(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    prints = [
        prepare(*open_recipe(settings(tmp_path, [{"text_length_filter": step}]))).fingerprint
        for step in (None, {"min_len": 10}, {"min_len": 11})
    ]
    assert prints[0] == prints[1] != prints[2]
