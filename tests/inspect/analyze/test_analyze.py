"""`refinery analyze`: everything is measured and nothing removed; its output is true."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml

import refinery
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.inspect.analyze.analyze import Analysis, analyze
from refinery.inspect.analyze.request import AnalysisRequest, default_operators, from_command_line, operators_of
from refinery.operators import Library
from refinery.planning.pipeline import prepare
from tests.commands import Call, caller, outcome_of
from tests.results.test_tables import documented
from tests.runs import refine, settings, texts, write_lines
from tests.sampling import sampled

WORDS = "a of it the that with from these which people sentence 2024 ... naïve 日本語".split()


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys)


def samples(count: int = 200) -> list[Any]:
    """Texts of many lengths, an empty one and one that cannot be read among them."""
    some = random.Random(7)
    found: list[Any] = []
    for number in range(count):
        lines = [" ".join(some.choices(WORDS, k=some.randint(0, 30))) for _ in range(some.randint(1, 6))]
        found.append({"id": number, "text": "\n".join(lines), "source": some.choice(["web", "book"])})
    return [*found, {"id": -1, "text": "", "source": "web"}, "not json"]


def request(path: Path, *names: str, folder: Path, **keys: Any) -> AnalysisRequest:
    options = [f"--{name}={value}" for name, value in keys.items()]
    return from_command_line(str(path), options, [], [], [], names, None, str(folder))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("data") / "in.jsonl", samples())


@pytest.fixture(scope="module")
def found(data: Path) -> Analysis:
    return analyze(request(data, "text_len", "num_words", "alnum_ratio", folder=data.parent / "run"))


def values(found: Analysis, column: str) -> np.ndarray:
    with duckdb.connect(str(found.outcome.run_dir.database), read_only=True) as con:
        return con.execute(f"SELECT {column} FROM stats ORDER BY _row").fetchnumpy()[column].astype(float)


# What is measured


def test_nothing_is_removed_or_written(found: Analysis, data: Path) -> None:
    counts = found.outcome.counts
    assert (counts.read, counts.kept, counts.removed, counts.quarantined) == (202, 201, 0, 1)
    assert found.outcome.outputs == ()
    left = {path.name for path in (data.parent / "run").iterdir()}
    assert left == {"refinery.duckdb", ".refinery"}


def test_the_tables_are_those_of_the_page(found: Analysis) -> None:
    with duckdb.connect(str(found.outcome.run_dir.database), read_only=True) as con:
        kinds = {
            table: {n: kind for n, kind, *_ in con.execute(f"DESCRIBE {table}").fetchall()} for table in documented(1)
        }
    assert kinds == documented(1)


def test_moments_and_quantiles_are_true(found: Analysis) -> None:
    assert [d.stat for d in found.descriptions] == ["text_len", "num_words", "alnum_ratio"]
    for d in found.descriptions:
        all_of = values(found, d.stat)
        assert (d.n, d.missing) == (201, 0)
        assert d.mean == pytest.approx(all_of.mean(), rel=1e-12) and d.std == pytest.approx(
            all_of.std(ddof=1), rel=1e-12
        )
        assert (d.min, d.max) == (all_of.min(), all_of.max())
        ordered = np.sort(all_of)
        for quantile, value in d.quantiles.items():
            true = ordered[max(1, math.ceil(round(quantile * 100) * 201 / 100)) - 1]
            assert value == pytest.approx(true, rel=0.001)


def test_correlations_are_those_of_pandas(found: Analysis) -> None:
    frame = pd.DataFrame({d.stat: values(found, d.stat) for d in found.descriptions})
    assert len(found.correlations) == 3
    for row in found.correlations:
        for method, given in (("pearson", frame), ("spearman", frame.rank())):
            true = given[row["stat_a"]].corr(given[row["stat_b"]])
            assert row[method] == pytest.approx(true, abs=1e-12)
        assert row["n"] == 201
    strengths = [max(abs(row["pearson"]), abs(row["spearman"])) for row in found.correlations]
    assert strengths == sorted(strengths, reverse=True)


def test_what_is_missing_is_counted_and_what_does_not_vary_has_no_correlation(tmp_path: Path) -> None:
    own = tmp_path / "own" / "statistics"
    own.mkdir(parents=True)
    body = (
        "/*---\ndoc: For a test.\nversion: 1\nstats: {odd: {type: DOUBLE, doc: x}, same: {type: BIGINT, doc: x}, "
        "short: {type: BOOLEAN, doc: x}, first: {type: VARCHAR, doc: x}}\n---*/\n"
        "SELECT CASE WHEN length({{ text }}) % 2 = 1 THEN length({{ text }}) WHEN length({{ text }}) = 0 "
        "THEN 'nan'::DOUBLE END AS odd, 7 AS same, "
        "length({{ text }}) < 2 AS short, left({{ text }}, 1) AS first"
    )
    (own / "odd_stats.sql").write_text(body, encoding="utf-8")
    path = write_lines(tmp_path / "in.jsonl", texts(["", "a", "bb", "ccc", "dddd", "e" * 5]))
    made = from_command_line(
        str(path), [], [], [], [str(own.parent)], ["odd_stats", "text_len"], None, str(tmp_path / "run")
    )
    found = analyze(made)
    odd = next(d for d in found.descriptions if d.stat == "odd")
    assert (odd.n, odd.missing, odd.mean, odd.min, odd.max) == (3, 3, 3.0, 1.0, 5.0)
    pairs = {(row["stat_a"], row["stat_b"]): row for row in found.correlations}
    assert pairs["odd", "same"]["pearson"] is None and pairs["odd", "same"]["spearman"] is None
    [near] = [row for pair, row in pairs.items() if set(pair) == {"odd", "text_len"}]
    assert near["n"] == 3 and near["pearson"] == pytest.approx(1.0)
    written = yaml.safe_load(found.fragments["quantile"])
    assert written["process"] == [
        {"odd_stats": None},
        {"text_length_filter": {"min_len": 0, "max_len": 5}},
        {"sql_filter": {"where": "odd BETWEEN 1 AND 5"}},  # what is always the same suggests nothing
        {"sql_filter": {"where": "short BETWEEN 0 AND 1"}},
    ]
    opened, library = open_recipe(written | {"operators": [str(own.parent)]})
    assert len(prepare(opened, library).stages[0].steps) == 4
    assert [d.stat for d in found.descriptions] == [
        "odd",
        "same",
        "short",
        "text_len",
    ]  # a text is no statistic to describe


@pytest.mark.parametrize(
    "keys", [{"shard_size": 5000, "np": 2}, pytest.param({"shard_size": 500, "np": 1}, marks=pytest.mark.long)]
)
def test_shards_and_workers_change_nothing(found: Analysis, data: Path, tmp_path: Path, keys: dict[str, Any]) -> None:
    other = analyze(request(data, "text_len", "num_words", "alnum_ratio", folder=tmp_path / "run", **keys))
    assert other.descriptions == found.descriptions
    assert other.correlations == found.correlations and other.suggestions == found.suggestions


# Groups


def test_each_key_of_a_group_is_described(data: Path, tmp_path: Path) -> None:
    options = ["--set", "stat_summary.groups=histogram"]  # has no quantiles: its keys are the values
    made = from_command_line(str(data), options, [], [], [], ["text_len"], "source", str(tmp_path / "run"))
    found = analyze(made)
    assert [(d.group, d.key) for d in found.descriptions][0] == ("summary", "summary")
    by_key = {d.key: d for d in found.descriptions if d.group == "source"}
    assert set(by_key) == {"web", "book"} and len(found.descriptions) == 3
    sources = [sample["source"] for sample in samples() if isinstance(sample, dict)]
    lengths = values(found, "text_len")
    for key, d in by_key.items():
        own = np.sort(lengths[np.array(sources) == key])
        assert (d.n, d.missing) == (len(own), 0) and d.mean == pytest.approx(own.mean(), rel=1e-12)
        assert d.quantiles[0.5] == pytest.approx(own[math.ceil(len(own) / 2) - 1], rel=0.001)


def test_only_the_keys_that_are_summed_up_have_quantiles(tmp_path: Path) -> None:
    rows = [{"text": "x" * n, "kind": kind} for n, kind in enumerate(["a", "b", "b", "c", "c", "c", None])]
    path = write_lines(tmp_path / "in.jsonl", rows)
    sets = ["stat_summary.top_k=2", "stat_summary.top_k_groups=kind"]
    found = analyze(from_command_line(str(path), [], sets, [], [], ["text_len"], "kind", str(tmp_path / "run")))
    assert [(d.key, d.n) for d in found.descriptions if d.group == "kind"] == [("c", 3), ("b", 2)]


# Bounds


@pytest.mark.parametrize("method", sampled(["quantile", "3-sigma"]))
def test_a_fragment_removes_what_it_says(found: Analysis, tmp_path: Path, method: str) -> None:
    whole = yaml.safe_load(found.fragments[method])
    rows = {row["operator"]: row for row in found.suggestions if row["method"] == method}
    assert len(whole["process"]) == len(rows) == 3
    for step in whole["process"]:
        [name] = step
        run = refinery.run(
            {"dataset_path": whole["dataset_path"], "export_path": str(tmp_path / name / "o.jsonl"), "process": [step]}
        )
        [(rows_in, removed, bytes_in, bytes_out)] = run.sql(
            "SELECT rows_in, removed, bytes_in, bytes_out FROM steps"
        ).fetchall()
        row = rows[name]
        assert (removed, rows_in) == (row["rows_removed"], row["rows"])
        assert (bytes_in - bytes_out, bytes_in) == (row["bytes_removed"], row["bytes"])
        share = (
            f"removes {100 * removed / rows_in:.2f} % of rows, {100 * (bytes_in - bytes_out) / bytes_in:.2f} % of bytes"
        )
        assert share in found.fragments[method]


def test_quantile_bounds_leave_out_at_most_what_they_are_named_for(found: Analysis) -> None:
    for row in found.suggestions:
        if row["method"] == "quantile":
            assert row["rows_removed"] <= 2 * math.ceil(0.01 * row["rows"])


# What is asked for


def test_a_recipe_is_measured_after_its_mappers(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["mail a@b.org now", "same", "same", "x" * 50]))
    steps = [
        {"clean_email_mapper": None},
        {"text_length_filter": {"min_len": 10, "max_len": 20}},
        {"document_deduplicator": None},
        {"sql_filter": {"where": "id > 0"}},
        {"words_num_filter": {"min_num": 2}},
    ]
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(settings(tmp_path, steps, keep_stats_in_res_ds=True)), "utf-8")
    found = analyze(
        from_command_line(str(tmp_path / "r.yaml"), [], [], [], [], ["text_len", "alnum_ratio"], None, None)
    )
    folder = tmp_path / "run" / "analysis"
    assert found.outcome.run_dir.root == folder and not (tmp_path / "run" / "out.jsonl").exists()
    assert found.outcome.notes == ("step 3: document_deduplicator is left out, because measure_only is on",)
    with duckdb.connect(str(folder / "refinery.duckdb"), read_only=True) as con:
        stats = con.execute("SELECT text_len, num_words, alnum_ratio IS NULL FROM stats ORDER BY _row").fetchall()
        assert stats == [(9, 2, False), (4, 1, False), (4, 1, False), (50, 1, False)]
        [(bounds,)] = con.execute("SELECT parameters FROM steps WHERE step = 2").fetchall()
    assert json.loads(bounds)["min_len"] == 10  # tune and report receive the bounds in force
    assert [d.stat for d in found.descriptions] == ["text_len", "alnum_ratio"]
    names = [
        list(step)[0] if isinstance(step, dict) else step
        for step in yaml.safe_load(found.fragments["quantile"])["process"]
    ]
    assert names == [*(list(step)[0] for step in steps), "alphanumeric_filter"]


def test_data_is_measured_by_all_filters_that_need_nothing() -> None:
    library = Library()
    names = default_operators(library)
    assert {"text_length_filter", "words_num_filter", "special_characters_filter"} <= set(names)
    assert not {"stopwords_filter", "flagged_words_filter", "sql_filter", "suffix_filter"} & set(names)
    assert operators_of(["num_words", "words_num_filter", "text_len"], library) == [
        "words_num_filter",
        "text_length_filter",
    ]


def test_data_is_measured_by_filters_whose_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "XDG_CACHE_HOME", "DATA_JUICER_CACHE_HOME", "DATA_JUICER_ASSETS_CACHE", "REFINERY_ASSETS"):
        monkeypatch.setenv(variable, str(tmp_path))
    listed = {"stopwords_filter", "perplexity_filter"}
    assert not listed & set(default_operators(Library()))
    (tmp_path / "stopwords.json").write_text('{"en": ["a"]}')
    assert listed & set(default_operators(Library())) == {"stopwords_filter"}


def test_all_wrong_names_are_told_at_once() -> None:
    with pytest.raises(RecipeError) as error:
        operators_of(["num_wrds", "clean_email_mapper", "text_len"], Library())
    assert [str(problem) for problem in error.value.problems] == [
        "--stats: there is no operator or statistic 'num_wrds'. Did you mean 'num_words'?",
        "--stats: clean_email_mapper computes no statistic. `refinery ops NAME` shows what an operator computes.",
    ]


def test_a_statistic_that_is_declared_but_not_computed_is_an_error_before_the_run(data: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no statistic 'alpha_token_ratio'"):
        analyze(request(data, "alpha_token_ratio", folder=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_recipe_without_statistics_is_an_error(call: Call, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    Path("r.yaml").write_text("dataset_path: in.jsonl\nprocess: [clean_email_mapper]\n", "utf-8")
    code, _, err = call("analyze", "r.yaml")
    assert code == 2 and "no step computes a statistic" in err


# The command


def test_the_command_tells_it_all(call: Call, tmp_path: Path) -> None:
    write_lines(tmp_path / "docs.jsonl", samples(60))
    code, out, err = call("analyze", "docs.jsonl", "--stats", "text_len,num_words", "--np", "1")
    assert code == 0, err
    assert "62 rows read, 61 measured, 1 quarantined; nothing was removed" in out
    assert "strongest correlations, 1 of 1 pairs" in out and "- text_length_filter:" in out
    assert "outputs/docs_analysis/refinery.duckdb" in out
    Path("f.yaml").write_text(out[out.index("# Bounds") : out.rindex("# Bounds")], "utf-8")
    code, out, err = call("check", "f.yaml")
    assert code == 0 and "2 steps" in out


def test_the_command_as_json(call: Call, tmp_path: Path) -> None:
    write_lines(tmp_path / "docs.jsonl", samples(60))
    found = outcome_of(call, "analyze", "-o", "here", "docs.jsonl", "--stats=text_len")
    assert found["work_dir"] == "here" and found["rows"]["kept"] == 61
    [only] = found["statistics"]
    assert only["stat"] == "text_len" and list(only["quantiles"]) == ["1", "5", "25", "50", "75", "95", "99"]
    assert set(found["recipes"]) == {"quantile", "3-sigma"} and found["correlations"] == []


def test_nothing_to_measure(call: Call, tmp_path: Path) -> None:
    Path("bad.jsonl").write_text("not json\n", "utf-8")
    code, _, err = call("analyze", "bad.jsonl", "--stats", "text_len,num_words")
    assert code == 3 and "no row could be read" in err


def test_a_recipe_in_json(call: Call, tmp_path: Path) -> None:
    recipe = {"dataset_path": "in.json", "export_path": "run/o.jsonl", "process": ["text_length_filter"]}
    Path("recipe.json").write_text(json.dumps(recipe), "utf-8")
    Path("in.json").write_text(json.dumps([{"text": "one"}, {"text": "three"}]), "utf-8")
    assert outcome_of(call, "analyze", "--config", "recipe.json")["work_dir"] == "run/analysis"
    found = outcome_of(call, "analyze", "in.json", "--stats", "text_len", "-o", "data")
    assert found["work_dir"] == "data" and found["statistics"][0]["max"] == 5


@pytest.mark.parametrize("name", sampled(["docs.csv", "docs.parquet"]))
def test_other_formats(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"body": ["one", "two words", "three more words"], "n": [1, 2, 3]})
    path = tmp_path / name
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
    found = analyze(request(path, "num_words", folder=tmp_path / "run", text_keys="body"))
    assert found.descriptions[0].quantiles[0.5] == 2.0


# The keys that it is built on


def test_measure_only_and_no_export(tmp_path: Path) -> None:
    steps = [{"text_length_filter": {"min_len": 3}}, {"sql_filter": {"where": "text_len > 3"}}]
    run = refine(tmp_path, texts(["a", "abcd"]), steps, measure_only=True, export_type="none", open_tracer=True)
    assert run.outputs == () and run.counts.kept == 2
    assert run.sql("SELECT step, removed, rows_out FROM steps").fetchall() == [(1, 0, 2), (2, 0, 2)]
    assert not list((tmp_path / "run").glob("out*"))
    plain = refine(tmp_path, texts(["a", "abcd"]), steps, export_type="none")
    assert plain.outputs == () and (plain.counts.kept, plain.counts.removed) == (1, 1)


def test_the_script_of_a_recipe_that_measures(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a", "abcd"]))
    steps = [{"text_length_filter": {"min_len": 3}}, {"document_deduplicator": None}]
    script = refinery.compile(settings(tmp_path, steps, measure_only=True, export_type="none"))
    assert "COPY" not in script and "writes no samples" in script
    with duckdb.connect() as con:
        refinery.register(con)
        con.execute(script).fetchall()
        assert con.execute("SELECT _row, kept, text_len FROM stats").fetchall() == [(0, True, 1), (1, True, 4)]


def test_why_knows_what_was_left_out(call: Call, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a", "a"]))
    Path("r.yaml").write_text(
        "dataset_path: in.jsonl\nexport_path: run/o.jsonl\nprocess: [document_deduplicator, text_length_filter]\n",
        "utf-8",
    )
    assert call("analyze", "r.yaml", "-o", "run")[0] == 0
    code, out, _ = call("why", "1", "--run", "run")
    assert code == 0 and "text_length_filter  kept  text_len = 1" in out and "document_deduplicator" not in out


def test_an_analysis_leaves_the_files_of_the_recipe_alone(call: Call, tmp_path: Path) -> None:
    """They are of the samples that came to the filters; only who asks for files of an analysis gets some."""
    write_lines(tmp_path / "in.jsonl", samples(20))
    recipe = tmp_path / "recipe.json"
    steps = [{"text_length_filter": {"min_len": 3}}]
    recipe.write_text(
        json.dumps(settings(tmp_path, steps, stat_summary={"groups": ["summary"], "export": str(tmp_path / "files")}))
    )
    code, _, err = call("analyze", "--config", recipe, "-o", tmp_path / "a")
    assert code == 0, err
    assert not (tmp_path / "files").exists()
    code, _, err = call("analyze", "--config", recipe, "-o", tmp_path / "b", "--stat_summary.export", tmp_path / "mine")
    assert code == 0, err
    assert (tmp_path / "mine" / "summary" / "text_len" / "00000.json").exists()
