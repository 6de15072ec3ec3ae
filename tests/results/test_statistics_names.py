"""A statistic may be named like anything in the SQL of tables, reports and analyses, and the numbers are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.api import Run
from refinery.compiler.templates import ident
from refinery.errors import OperatorError
from refinery.inspect.analyze.analyze import analyze
from refinery.inspect.analyze.request import from_command_line
from refinery.inspect.diff.diff import compare
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.refilter import refilter
from refinery.inspect.report.facts import read_steps
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.statistics import read_statistics
from refinery.inspect.report.tables import RunTables
from refinery.inspect.tune import tune
from refinery.operators.headers import read_operator
from refinery.operators.home import shipped
from tests.runs import rows, settings, write_lines

HEADER = """/*---
doc: Statistics that all differ.
version: 1
params:
  least: {{type: float, default: 1.0, doc: Least.}}
  most: {{type: float, default: 1000000000.0, doc: Most.}}
stats: {{{stats}}}
bounds: {{{bounds}}}
examples: []
---*/
SELECT {columns}
"""
# Names of tables, and of columns that tables of a run, readers and single statements have.
MORE = "stats facts fates row_outcomes ledger duplicates sources batch a b f p q d t keep_1 filename x_0 text_0 near value_1 number_1 keeps"
# Their columns have other names: tables of a run, or statements, have these.
RENAMED = {"kept", "batch"}
# Templates in which they could meet one.
PUT = """
stat_summary.sql stat_summary_keys.sql stat_summary_histogram.sql facts.sql ledger.sql histogram.sql quantiles.sql known.sql
tune.sql tune_classes.sql ranks.sql values.sql suggestions.sql
""".split()
# Statistics with bounds: what `refinery tune` counts by.
DECIDES = "n fate bytes_here bytes_end value_1 number_1 bound keeps number step"
TEXTS = ["word " * (n % 7) + "x" * (n % 5) for n in range(40)]
SAMPLES: list[Any] = [
    *({"id": n, "text": text, "url": f"http://h{n % 3}.org"} for n, text in enumerate(TEXTS)),
    "broken",
]


def aliases(prefix: str = "") -> list[str]:
    """Aliases of the templates that statistics are put into, with 1 where the templates put a number."""
    found = set(MORE.split())
    for path in (shipped() / "sql").rglob("*.sql"):
        text = path.read_text(encoding="utf-8")
        if path.name in PUT and path.name.startswith(prefix):
            names = re.findall(r"AS \"?_?([a-z]\w*(?:\{\{[^}]*\}\})?)", text)
            found |= {re.sub(r"\{\{.*\}\}", "1", name) for name in names}
    return sorted(found)


def operators(folder: Path, names: dict[str, list[str]]) -> Path:
    """Filters of the same statistics under other names, with the same bounds on those that DECIDES names."""
    (folder / "filters").mkdir(parents=True)
    deciding = [place for place, name in enumerate(next(iter(names.values()))) if name in DECIDES.split()]
    for operator, given in names.items():
        columns = [f"length({{{{ text }}}}) * {n + 1} / 7 - {n} AS {ident(name)}" for n, name in enumerate(given)]
        text = HEADER.format(
            stats=", ".join(f"{name!r}: {{type: DOUBLE, doc: A number.}}" for name in given),
            bounds=", ".join(f"{given[place]!r}: [least, most]" for place in deciding),
            columns=", ".join(columns),
        )
        (folder / "filters" / f"{operator}.sql").write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Pair:
    """A run with odd names, the same with plain ones, and their recipes."""

    odd: Run
    plain: Run
    recipes: tuple[dict[str, Any], ...]

    def __iter__(self) -> Iterator[Run]:
        return iter((self.odd, self.plain))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder, names = tmp_path_factory.mktemp("names"), aliases()
    own = {"odd_filter": names, "some_filter": [f"plain_{n}" for n in range(len(names))]}
    place = operators(folder / "own", own)
    more: list[Any] = [{"document_deduplicator": {}}, {"suffix_filter": {}}]
    summed = [n for n, name in enumerate(names) if name in {*aliases("stat_summary")} - RENAMED]
    recipes = []
    for name, given in own.items():
        stats = [given[n] for n in summed]
        summary = {"groups": ["summary", "histogram"], "group_by": ["length(text) % 3"], "stats": stats}
        steps = [{name: {"least": 2.0}}, *more]
        keys = {"operators": [str(place)], "stat_summary": summary, "keep_stats_in_res_ds": True}
        recipes.append(settings(folder / name, steps, **keys))
    for recipe in recipes:
        write_lines(Path(recipe["dataset_path"]), SAMPLES)
    return Pair(refinery.run(recipes[0]), refinery.run(recipes[1]), tuple(recipes))


def in_order(columns: list[str], value: Any) -> Any:
    """A value with numbers in place of statistics, and one name for both operators."""
    numbers = {**{name: n for n, name in enumerate(columns)}, "odd_filter": "it", "some_filter": "it"}

    def other(value: Any) -> Any:
        if isinstance(value, str):
            name, _, part = value.partition("__")
            return (numbers.get(name, name), part)
        if isinstance(value, dict):
            return [(other(key), other(item)) for key, item in value.items()]
        return [other(item) for item in value] if isinstance(value, (tuple, list)) else value

    return other(value)


def columns_of(run: Run) -> list[str]:
    return [name for name, *_ in run.sql("DESCRIBE stats").fetchall()]


def same(pair: Pair, found: Sequence[Any]) -> None:
    """See that what both runs gave differs in the names of statistics alone."""
    odd, plain = (in_order(columns_of(run), value) for run, value in zip(pair, found, strict=True))
    assert odd == plain


TABLES = {
    "stats": "*",
    "ledger": "* EXCLUDE (reason)",
    "stat_summary": "*",
    "row_outcomes": "*",
    "steps": "* EXCLUDE (parameters, recipe_line, seconds)",
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_the_run(pair: Pair, table: str) -> None:
    assert pair.odd.counts == pair.plain.counts and pair.odd.counts.removed
    same(pair, [rows(run, table, TABLES[table]) for run in pair])


@pytest.mark.long
def test_tables_of_the_script(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: list[Any] = []
    for name, recipe, run in zip("ab", pair.recipes, pair, strict=True):
        with duckdb.connect() as con:
            refinery.register(con)
            con.execute(refinery.compile(recipe, export_path=f"{name}.jsonl")).fetchall()
            assert con.execute("FROM stats").fetchall() == rows(run, "stats")
            found.append(con.execute("FROM stat_summary").fetchall())
    same(pair, found)


def test_report(pair: Pair) -> None:
    found = []
    for run in pair:
        with RunTables(run.work_dir) as tables, Replay(run.work_dir) as again:
            statistics = read_statistics(tables, read_steps(tables), again)
            found.append([(s.column, s.mean, s.deviation, s.quantiles, s.histogram) for s in statistics])
            some = [ident(name) for name in columns_of(run)[2:6]]
            pairs = [(some[0], some[1]), (some[2], some[3])]
            found[-1].append(tables.query("correlations", columns=some, pairs=pairs, every=1)[0].values())
            found[-1][-1] = list(found[-1][-1])
    assert any(histogram for *_, histogram in found[0][:-1])
    same(pair, found)


def test_tuning(pair: Pair) -> None:
    found = []
    for run in pair:
        with FinishedRun.open(run.work_dir) as stored:
            found.append(tune(stored, "1", ["least=0,2,8,20"]))
    assert found[0].trials == found[1].trials
    assert len({trial.alone.rows for trial in found[0].trials}) > 2


@pytest.mark.long
def test_differences_of_refiltered_runs(pair: Pair, tmp_path: Path) -> None:
    found = []
    for name, run in zip("ab", pair, strict=True):
        refiltered = refilter(run.work_dir, ["process.1.least=8"], work_dir=str(tmp_path / name))
        difference = compare(run.work_dir, tmp_path / name)
        counts = refiltered.outcome.counts
        found.append([(counts.kept, counts.removed), *(list(vars(s).values()) for s in difference.stats)])
        found[-1] += [list(vars(changed).values()) for changed in difference.rows]
    assert found[0][0][0] < pair.odd.counts.kept
    same(pair, found)


@pytest.mark.long
def test_analysis(pair: Pair, tmp_path: Path) -> None:
    found = []
    for name, recipe in zip("ab", pair.recipes, strict=True):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(recipe | {"stat_summary": {}}), encoding="utf-8")
        made = analyze(from_command_line(str(path), [], [], [], [], (), None, str(tmp_path / name), True))
        found.append([list(vars(one).values()) for one in made.descriptions])
    same(pair, found)


@pytest.mark.parametrize("name", ["_value", "_row", "keep", ""])
def test_names_that_mean_something_else_are_refused(name: str, tmp_path: Path) -> None:
    place = operators(tmp_path, {"odd_filter": [name]})
    with pytest.raises(OperatorError, match=f"a statistic cannot be named '{name}'"):
        read_operator(place / "filters" / "odd_filter.sql")
