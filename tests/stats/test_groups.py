"""Statistics summed up by groups: keys, rounding, moments, blocks, stages, and the script that comes to the same."""

from __future__ import annotations

import importlib.util
import json
import math
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refinery
from refinery.compiler.stat_summary import _rounded
from refinery.errors import RecipeError
from refinery.kernels.stats.moments import moments, rounded
from refinery.results import stat_summary as summary
from tests.examples import share_of
from tests.runs import refine, rows
from tests.runs import settings as recipe_of

GROUPS = ["summary", "histogram", "fqdn", "suffix"]
LENGTH = {"text_length_filter": {"min_len": 3}}
SAMPLES: list[Any] = [
    {"text": "aaaa", "url": "http://a.example.co.uk/1", "meta": {"lang": "en"}, "token_count": 2},
    {"text": "bb", "url": "https://b.example.org:80", "meta": {"lang": "de"}, "token_count": 1},
    {"text": "cccccc", "url": None, "meta": {}},
    "no sample",
    {"text": "aaaa", "url": "http://A.example.co.uk./2?x=http://z.com", "meta": {"lang": "en"}, "token_count": 3},
    {"text": "ééé 1", "fqdn": "given.host", "url": "http://b.example.org", "meta": None, "token_count": None},
]


def of_group(run: Any, group: str, columns: str = "key, stat, n, total") -> list[tuple[Any, ...]]:
    return rows(run, "stat_summary", columns, f"\"group\" = '{group}'")


def test_groups_of_a_run(tmp_path: Path) -> None:
    run = refine(
        tmp_path, SAMPLES, [LENGTH], stat_summary={"groups": GROUPS, "group_by": ["meta.lang", "length(text) > 4"]}
    )
    assert of_group(run, "summary") == [("summary", "text_len", 5, 21.0)]
    assert of_group(run, "histogram") == [
        ("2", "text_len", 1, 1.0), ("4", "text_len", 2, 2.0), ("5", "text_len", 1, 1.0), ("6", "text_len", 1, 1.0),
        ("2", "text_len__chars", 1, 2.0), ("4", "text_len__chars", 2, 8.0),
        ("5", "text_len__chars", 1, 5.0), ("6", "text_len__chars", 1, 6.0),
        ("2", "text_len__tokens", 1, 1.0), ("4", "text_len__tokens", 2, 5.0),
    ]  # fmt: skip
    # The most samples first; the removed sample counts; letter case is kept; what has no address has the key ''.
    assert of_group(run, "fqdn", "key, n") == [
        ("a.example.co.uk", 1), ("b.example.org", 1), ("", 1), ("A.example.co.uk", 1), ("given.host", 1),
    ]  # fmt: skip
    assert of_group(run, "suffix", "key, n, total") == [("co.uk", 2, 8.0), ("org", 2, 7.0), ("", 1, 6.0)]
    assert of_group(run, "meta.lang", "key, n") == [("en", 2), ("", 2), ("de", 1)]
    assert of_group(run, "length(text) > 4", "key, n") == [("false", 3), ("true", 2)]
    assert run.counts.quarantined == 1


def test_lengths_are_of_the_text_that_was_measured(tmp_path: Path) -> None:
    steps = [LENGTH, {"sql_mapper": {"text": "text || '!!'"}}, LENGTH]
    run = refine(tmp_path, [{"text": "abc"}], steps, stat_summary={"groups": ["histogram"]})
    assert of_group(run, "histogram", "stat, key, total") == [
        ("text_len", "3", 1.0), ("text_len__chars", "3", 3.0), ("text_len_3", "5", 1.0), ("text_len_3__chars", "5", 5.0),
    ]  # fmt: skip


def test_an_expression_that_fails_loses_no_sample(tmp_path: Path) -> None:
    samples = [{"text": "one", "n": "7"}, {"text": "two", "n": "x"}]
    run = refine(tmp_path, samples, [LENGTH], stat_summary={"group_by": {"number": "CAST(n AS INT) + 1"}})
    assert of_group(run, "number", "key, n") == [("8", 1), ("", 1)] and run.counts.kept == 2


def test_fields_of_any_type(tmp_path: Path) -> None:
    samples = [
        {"text": "one", "url": {"a": 1}, "source": [1], "token_count": -1},
        {"text": "two", "url": 5, "fqdn": 7, "source": "x", "token_count": "9"},
        {"text": "six", "url": "http://[::1]:80/", "source": True, "token_count": 2.5},
    ]
    run = refine(tmp_path, samples, [LENGTH], stat_summary={"groups": ["fqdn", "histogram"], "group_by": "source"})
    assert of_group(run, "fqdn", "key, n") == [("", 2), ("7", 1)]
    assert of_group(run, "source", "key, n") == [("[1]", 1), ("x", 1), ("true", 1)]
    assert of_group(run, "histogram", "stat, n, total")[2:] == [("text_len__tokens", 1, 9.0)]
    table = pa.table({"text": ["one"], "meta": [{"url": "http://x.org/", "n": 3.0}]})
    keys = {"groups": ["suffix", "histogram"], "url_key": "meta.url", "tokens_key": "meta.n"}
    recipe = {"export_path": str(tmp_path / "o.jsonl"), "process": [LENGTH], "stat_summary": keys}
    typed = refinery.run(recipe, dataset=table)
    assert of_group(typed, "suffix", "key") == [("org",)]
    assert of_group(typed, "histogram", "stat, total")[2:] == [("text_len__tokens", 3.0)]


def test_nothing_to_sum_up_is_reported(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, ["clean_email_mapper"], stat_summary={"groups": GROUPS})
    assert rows(run, "stat_summary") == []
    assert any("no step of the recipe computes a statistic" in line for line in run.warnings)


def test_after_deduplicators(tmp_path: Path) -> None:
    """Keys are those of the samples as read; statistics of later stages count what is left."""
    steps = [LENGTH, {"document_deduplicator": None}, {"sql_mapper": {"text": "text || text"}}, LENGTH]
    run = refine(tmp_path, SAMPLES, steps, stat_summary={"groups": GROUPS, "group_by": "meta.lang"})
    assert of_group(run, "summary") == [("summary", "text_len", 5, 21.0), ("summary", "text_len_4", 3, 30.0)]
    assert of_group(run, "suffix", "key, stat, n, total") == [
        ("co.uk", "text_len", 2, 8.0), ("org", "text_len", 2, 7.0), ("", "text_len", 1, 6.0),
        ("co.uk", "text_len_4", 1, 8.0), ("org", "text_len_4", 1, 10.0), ("", "text_len_4", 1, 12.0),
    ]  # fmt: skip
    assert ("8", "text_len_4__tokens", 1, 2.0) in of_group(run, "histogram")


def many(count: int) -> list[dict[str, Any]]:
    hosts = ("a.org", "b.co.uk", "c.example.com", "")
    return [
        {"text": "x1 " * (n * n % 97 + 1), "url": f"http://{hosts[n % 7 % 4]}/{n}", "source": f"s{n % 5}", "token_count": n % 11}
        for n in range(count)
    ]  # fmt: skip


STEPS: list[Any] = [LENGTH, "alphanumeric_filter", {"text_length_filter": {"min_len": 20}}, "special_characters_filter"]
ALL = {"groups": GROUPS, "group_by": ["source"], "top_k": 3, "top_k_groups": ["fqdn", "source"]}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run over many(150) in one shard."""
    return refine(tmp_path_factory.mktemp("plain"), many(150), STEPS, stat_summary=ALL)


def test_shards_and_workers_change_nothing(tmp_path: Path, plain: Any) -> None:
    found = rows(plain, "stat_summary")
    assert {row[0] for row in found} == {*GROUPS, "source"} and len(
        {row[1] for row in found if row[0] == "source"}
    ) == 3
    run = refine(tmp_path, many(150), STEPS, stat_summary=ALL, shard_size=5000, np=2)
    assert rows(run, "stat_summary") == found and len(rows(run, "shards")) > 2


def test_blocks_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: Any) -> None:
    expected = rows(plain, "stat_summary")
    monkeypatch.setattr(summary, "BLOCK", 35)
    found = rows(refine(tmp_path / "blocks", many(150), STEPS, stat_summary=ALL), "stat_summary")
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    assert [row[4:] for row in found] == [pytest.approx(row[4:], rel=1e-12, abs=1e-12) for row in expected]


STAGES: list[Any] = [STEPS[0], {"document_deduplicator": None}, STEPS[2]]


@pytest.mark.parametrize(
    ("steps", "form"),
    [
        pytest.param(STAGES, "jsonl", id="stages-jsonl"),
        pytest.param(STEPS, "parquet", id="pass-parquet", marks=pytest.mark.long),
        pytest.param(STEPS, "jsonl", id="pass-jsonl", marks=pytest.mark.long),
        pytest.param(STAGES, "parquet", id="stages-parquet", marks=pytest.mark.long),
    ],
)
def test_the_script_comes_to_the_same(tmp_path: Path, steps: list[Any], form: str) -> None:
    plain = refine(tmp_path, many(80), steps, stat_summary=ALL | {"histogram_round_digits": 1})
    recipe = recipe_of(tmp_path, steps, stat_summary=ALL | {"histogram_round_digits": 1})
    if form == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(many(80)), tmp_path / "in.parquet")
        recipe["dataset_path"] = str(tmp_path / "in.parquet")
        assert rows(refinery.run(recipe), "stat_summary") == rows(plain, "stat_summary")
    with duckdb.connect() as con:
        refinery.register(con)
        con.execute(refinery.compile(recipe)).fetchall()
        found = con.execute("FROM stat_summary").fetchall()
    expected = rows(plain, "stat_summary")
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    assert [row[4:] for row in found] == [pytest.approx(row[4:], rel=1e-12, abs=1e-12) for row in expected]


def test_files(tmp_path: Path) -> None:
    wanted = {"groups": ["summary"], "group_by": "a/b", "export": tmp_path / "stats", "rank": 12}
    samples = [{"text": "short", "a/b": 1}]
    steps = [{"text_length_filter": {"min_len": 9}}, "alphanumeric_filter"]
    run = refine(tmp_path, samples, steps, stat_summary={**wanted, "group_by": {"a/b": '"a/b"'}})
    paths = sorted(str(path.relative_to(tmp_path / "stats")) for path in (tmp_path / "stats").rglob("*.json"))
    # A statistic that was computed for no sample has no file.
    assert paths == ["a%2Fb/text_len/00012.json", "summary/text_len/00012.json"]
    entry = json.loads((tmp_path / "stats" / paths[1]).read_bytes())["summary"]
    assert (entry["total"], entry["n"]) == (5, 1)
    assert any("2 statistics files of rank 12" in line for line in run.warnings)


# Mistakes


def refused(folder: Path, **wanted: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        refine(folder, SAMPLES, [LENGTH], stat_summary=wanted)
    return str(caught.value)


def test_mistakes_are_told_before_the_run(tmp_path: Path) -> None:
    assert "stat_summary: no column or statistic 'metta'. Did you mean 'meta'?" in refused(
        tmp_path, group_by="metta.lang"
    )
    assert "stat_summary.stats names 'text_length', which no step computes" in refused(tmp_path, stats=["text_length"])
    assert "RANDOM() gives another result" in refused(tmp_path, group_by="random() > 0.5")
    assert "stat_summary: " in refused(tmp_path, group_by="no_such_function(text)")
    assert not (tmp_path / "run").exists()


def test_a_table_without_the_column(tmp_path: Path) -> None:
    table = pa.table({"text": ["one"], "urls": ["http://a.org"]})
    recipe = {"export_path": str(tmp_path / "o.jsonl"), "process": [LENGTH], "stat_summary": {"groups": ["fqdn"]}}
    with pytest.raises(RecipeError, match="stat_summary: no column 'url'. Did you mean 'urls'"):
        refinery.run(recipe, dataset=table)
    run = refinery.run(recipe, dataset=table, **{"stat_summary.url_key": "urls"})
    assert of_group(run, "fqdn", "key, n") == [("a.org", 1)]


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "tldextract" else found(name, *rest)
    )
    said = refused(tmp_path, groups=["suffix"])
    assert (
        "stat_summary.groups suffix need the Python package tldextract. Run pip install 'tldextract>=5' (extra urls of corpus-refinery)"
        in said
    )


def test_no_address_at_all_is_reported(tmp_path: Path) -> None:
    run = refine(tmp_path, [{"text": "one"}], [LENGTH], stat_summary={"groups": ["fqdn"]})
    assert "stat_summary, group fqdn: every sample has the key ''; url_key is 'url'" in run.warnings


# Arithmetic

DUCKDB = duckdb.connect()  # an instance for each example would take more time than the example
finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
floats = st.one_of(finite, st.floats(-1e4, 1e4), st.integers(-20_000, 20_000).map(lambda n: n / 2000))


@settings(max_examples=share_of(200))
@given(st.lists(floats, min_size=1, max_size=50), st.integers(-4, 15))
def test_rounding_is_pythons(values: list[float], digits: int) -> None:
    expected = [round(value, digits) for value in values]
    found = rounded(np.array(values), digits)
    assert [struct.pack("d", value) for value in found] == [struct.pack("d", value) for value in expected]
    with DUCKDB.cursor() as con:
        con.register("given", pa.table({"nth": range(len(values)), "value": values}))
        sql = _rounded("value", True, digits)
        near = [(x, y) for x, y in zip(values, expected, strict=True) if digits >= 0 or abs(x) < 2**53]
        shown = con.execute(f"SELECT value, {sql} FROM given ORDER BY nth").fetchall()
        assert [pair for pair in shown if digits >= 0 or abs(pair[0]) < 2**53] == near


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1), st.integers(-6, 3))
def test_rounding_of_whole_numbers(values: list[int], digits: int) -> None:
    assert rounded(np.array(values, np.int64), digits).tolist() == [round(value, digits) for value in values]
    with DUCKDB.cursor() as con:
        shown = f"SELECT {_rounded('value', False, digits)} FROM (SELECT unnest({values}) AS value)"
        assert [row[0] for row in con.execute(shown).fetchall()] == [round(value, digits) for value in values]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.floats(-1e6, 1e6), st.integers(0, 5).map(lambda n: 1e15 + n / 8),
                                               st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))),
        max_size=60,
    )
)  # fmt: skip
def test_moments_are_exact(values: list[tuple[int, float]]) -> None:
    codes = np.array([code for code, _ in values], np.int64)
    found = moments(codes, 4, np.array([value for _, value in values], np.float64))
    for key in range(4):
        mine = [value for code, value in values if code == key]
        numbers = [Fraction(value) for value in mine if math.isfinite(value)]
        assert found.n[key] == len(numbers)
        assert found.nans[key] == sum(map(math.isnan, mine)) and found.infinities[key] == sum(map(math.isinf, mine))
        if numbers:
            mean = sum(numbers) / len(numbers)
            m2 = sum((value - mean) ** 2 for value in numbers)
            most = float(max(map(abs, numbers)))
            assert found.mean[key] == pytest.approx(float(mean), rel=1e-12, abs=1e-15 * most)
            small = (1e-15 * most) ** 2 * len(numbers) + 1e-320  # squares of the least values have few digits
            assert found.m2[key] == pytest.approx(float(m2), rel=1e-12, abs=small)
            assert (found.min[key], found.max[key]) == (float(min(numbers)), float(max(numbers)))
    whole = moments(None, 1, np.array([value for _, value in values], np.float64))
    assert whole.n[0] == found.n.sum() and whole.seen.tolist() == [bool(values)]


def test_keys_of_histograms_are_spelled_as_python_does(tmp_path: Path) -> None:
    values = [-0.0, 0.0, -0.0004, math.nan, math.inf, -math.inf, 1e16, 1e-7, 123456.7895, 2.5, None, -3.25]
    table = pa.table({"text": ["one"] * len(values), "v": pa.array(values, pa.float64())})
    folder = tmp_path / "operators" / "statistics"
    folder.mkdir(parents=True)
    header = "/*---\ndoc: A column.\nversion: 1\nparams: {}\nstats: {v_stat: {type: DOUBLE, doc: it}}\n---*/\n"
    (folder / "v_stats.sql").write_text(header + "SELECT {{ field('v') }} AS v_stat")
    recipe = {"export_path": str(tmp_path / "o.jsonl"), "process": ["v_stats"], "operators": [str(folder.parent)],
              "stat_summary": {"groups": ["summary", "histogram"]}}  # fmt: skip
    run = refinery.run(recipe, dataset=table)
    expected: dict[str, int] = {}
    for value in values:
        if value is not None:
            key = str(round(value, 3)) if math.isfinite(value) else str(value)
            expected[key] = expected.get(key, 0) + 1
    found = of_group(run, "histogram", "key, n, stat")
    assert {key: n for key, n, stat in found if stat == "v_stat"} == expected
    assert [key for key, _, stat in found if stat == "v_stat"][:3] == ["-inf", "-3.25", "-0.0"]
    assert of_group(run, "summary", "n, nans, infinities") == [(8, 1, 2)]
    with duckdb.connect() as con:
        con.register("dataset", table)
        script = refinery.compile(recipe, dataset=table)
        con.execute(script[: script.index("-- Write")]).fetchall()
        assert con.execute("SELECT key, n, stat FROM stat_summary WHERE \"group\" = 'histogram'").fetchall() == found
