"""View `bounds`: a filter's statistics by fate, bounds to drag, samples at a bound, and the recipe with the new values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refinery.errors import Problem, RecipeError
from refinery.explore.filter_rows import FilterRows, Variants
from refinery.explore.handles import Handle, handles_of
from refinery.explore.histograms import choices_of, histogram_of
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.parameters import ends_of, parameters_of, read_moved, switches_of
from refinery.explore.refiltering import Refilters
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun
from refinery.explore.step_recipe import FilterChange, recipe_of, sets_of
from refinery.explore.texts import Texts
from refinery.inspect.tuned_filter import TunedFilter

_FILTERS = "FROM steps WHERE kind = 'filter' ORDER BY step"
_BEFORE = "SELECT count(*) FROM row_outcomes WHERE _dropped < ?"
# Samples on each side of a bound.
_SHOWN = 3


def filters(run: ExploredRun, query: Query) -> list[dict[str, Any]]:
    """The filters of the run."""
    with run.con() as con:
        return dicts(con, _FILTERS)


def about(run: ExploredRun, query: Query) -> dict[str, Any]:
    """A filter: its parameters, the histograms of its statistics, and the rows of which it knows nothing."""
    number = query.integer("step")
    rows = _rows(run, number)
    return run.remember(("filter", number), lambda: _about(run, rows)) | {"figures": _figures(rows, {})}


def _about(run: ExploredRun, rows: FilterRows) -> dict[str, Any]:
    tuned, stored = rows.tuned, rows.tuned.stored
    parameters = _parameters(run, rows)
    [reached] = rows.rows("SELECT count(*) AS rows, coalesce(sum(_bytes_here), 0) AS bytes FROM filter_rows")
    with run.stored() as own:
        before = own.count(_BEFORE, [tuned.step.index])
    return {
        "step": tuned.step.index,
        "operator": tuned.step.name,
        "name": tuned.step.title,
        "doc": tuned.spec.doc,
        "why_not": rows.why_not or _nothing_to_move(parameters),
        "measure_only": stored.recipe.measure_only,
        "parameters": [known | _choices(rows, known) for known in parameters],
        "switches": switches_of(tuned),
        "statistics": [histogram_of(rows, column, ends_of(parameters, column)) for column in rows.columns],
        "rows": stored.manifest["rows"]["read"],
        "quarantined": stored.manifest["rows"]["quarantined"],
        "removed_before": before,
        "reached": reached,
        "notes": tuned.notes,
        "steps": {step.index: step.title or step.name for step in stored.recipe.steps},
    }


def _choices(rows: FilterRows, parameter: dict[str, Any]) -> dict[str, Any]:
    """The values to choose from, of a parameter that is a list."""
    column = parameter.get("column")
    return {"choices": choices_of(rows, column, parameter["value"])} if column in rows.columns else {}


def _parameters(run: ExploredRun, rows: FilterRows) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = run.remember(
        ("parameters", rows.tuned.step.index), lambda: parameters_of(rows.tuned, _handles(run, rows.tuned))
    )
    return parameters


def _nothing_to_move(parameters: list[dict[str, Any]]) -> str:
    if not parameters:
        return "This filter has no bounds to move: its condition compares no statistic with a value. Change it in the recipe; `refinery refilter` applies it."
    if all(known["by_column"] for known in parameters):
        return "The bounds depend on a column, and the run has not stored what tells their samples apart. Change the values in the recipe."
    return ""


def trial(run: ExploredRun, query: Query) -> dict[str, Any]:
    """Rows and bytes that other values keep and remove; `others`: changes of other filters, as in `_changes`."""
    rows = _rows_beside(run, query)
    return _figures(rows, _moved(run, rows.tuned, query.object("values")))


def _handles(run: ExploredRun, tuned: TunedFilter) -> list[Handle]:
    handles: list[Handle] = run.remember(("handles", tuned.step.index), lambda: handles_of(tuned))
    return handles


def _moved(run: ExploredRun, tuned: TunedFilter, moved: dict[str, Any]) -> dict[str, Any]:
    """Values of parameters from those of the page."""
    return read_moved(tuned, moved, _handles(run, tuned) if moved else ())


def _figures(rows: FilterRows, values: dict[str, Any]) -> dict[str, Any]:
    if rows.why_not:
        return {}
    return asdict(rows.trial(values)) | {"sets": FilterChange(rows.tuned, values).sets}


def samples(run: ExploredRun, query: Query) -> dict[str, Any]:
    """Samples just inside and just outside of one bound, with the beginnings of their texts before the step."""
    rows, name = _rows_beside(run, query), query.text("parameter")
    moved = query.object("values")
    values = _moved(run, rows.tuned, moved)
    known = next((each for each in _parameters(run, rows) if each["name"] == name), None)
    value = (values | moved).get(name, known and known["value"])
    if known is None or not known["statistics"] or not isinstance(value, int | float):
        raise RecipeError([Problem(name, "bounds no statistic")])
    column = query.choice("statistic", tuple(known["statistics"]))
    sides = rows.nearest(values, column, known["side"], value, _SHOWN, known["among"])
    texts = Texts.of(run)
    listed = {side: texts.before([row["row"] for row in near], rows.tuned.step.index) for side, near in sides.items()}
    return {side: [row | text for row, text in zip(near, listed[side], strict=True)] for side, near in sides.items()}


def recipe(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The values as YAML and as a command."""
    if not (changes := _changes(run, query)):
        raise RecipeError([Problem("changes", "name no step")])
    return recipe_of(changes)


def start(run: ExploredRun, query: Query) -> dict[str, Any]:
    """Start `refinery refilter` with the values of the body."""
    sets = sets_of(_changes(run, query))
    if not sets:
        raise RecipeError([Problem("", "the values equal the run's, so there is nothing to do")])
    return Refilters.of(run).start(sets)


def _changes(run: ExploredRun, query: Query, name: str = "changes") -> list[FilterChange]:
    """The changes of a request, `{step: {parameter: value}}`."""
    changes = []
    for step, values in query.object(name).items():
        number = Query({"step": step}).integer("step")
        if not isinstance(values, dict):
            raise RecipeError([Problem(f"step {number}", "has no JSON object of values")])
        tuned = _tuned(run, number)
        changes.append(FilterChange(tuned, _moved(run, tuned, values)))
    return sorted(changes, key=_by_step)


def _by_step(change: FilterChange) -> int:
    return int(change.tuned.step.index)


def refilter(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The latest refilter: its progress, result or error."""
    return Refilters.of(run).latest()


def _tuned(run: ExploredRun, number: int) -> TunedFilter:
    """A filter, compiled by the first request for it."""
    with run.con():
        pass  # a run that was replaced is an error here
    tuned: TunedFilter = run.remember(("tuned", number), lambda: TunedFilter.of(run.lasting(), str(number)))
    return tuned


def _rows(run: ExploredRun, number: int) -> FilterRows:
    """The rows of a filter, loaded by the first request for it."""
    tuned = _tuned(run, number)
    rows: FilterRows = run.remember(("rows", number), lambda: FilterRows(tuned))
    return rows


def _rows_beside(run: ExploredRun, query: Query) -> FilterRows:
    """The rows of a filter beside changed other filters.

    Only a run whose filters just measured has every statistic of every sample. In others, changed filters count as they decided.
    """
    number = query.integer("step")
    changes = [change for change in _changes(run, query, "others") if change.tuned.step.index != number and change.sets]
    tuned = _tuned(run, number)
    if not changes or not tuned.stored.recipe.measure_only:
        return _rows(run, number)
    conditions = {change.tuned.step.index: change.condition for change in changes}
    variants: Variants = run.remember("filters beside changed ones", Variants)
    return variants.rows(run, tuned, conditions)


VIEW = View(
    "bounds",
    "Bounds",
    20,
    (
        Endpoint("", filters),
        Endpoint("filter", about),
        Endpoint("trial", trial),
        Endpoint("samples", samples),
        Endpoint("recipe", recipe),
        Endpoint("refilter", start, "POST"),
        Endpoint("refilter", refilter),
    ),
)
