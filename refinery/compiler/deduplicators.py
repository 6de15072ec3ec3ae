"""Parts of a deduplicator's SQL that runs and scripts share: names of match keys, queries, the ledger's bound."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refinery.compiler.kept_order import problem_of_order
from refinery.compiler.templates import template
from refinery.dedup.matchers import measure_of
from refinery.dedup.matchers.model import SetQuery
from refinery.dedup.matchers.params import is_star, problem_of_verify, size_field
from refinery.operators import Operator, read_sql

MATCH_KEY = "_mark_"


def key_name(column: str) -> str:
    """A match key's own name, from the name of its column in the chain."""
    return column.removeprefix(MATCH_KEY)


def size_column(step: int) -> str:
    """Column of the batch with the sizes of clusters that a deduplicator leaves for the next stage."""
    return f"_size_{step}"


def statement(name: str, /, **values: Any) -> str:
    """A rendered statement of `sql/deduplicators`."""
    return template(read_sql(f"deduplicators/_{name}.sql")).render(values)


def body(name: str, /, **values: Any) -> str:
    """A query of `sql/deduplicators` for use within a statement: without its comment."""
    lines = statement(name, **values).strip().rstrip(";").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def sql_of(query: SetQuery) -> str:
    """The text of a matcher's query."""
    return query.text or statement(query.name, **values_of(query))


def body_of(query: SetQuery) -> str:
    """The text of a matcher's query, for use within a statement."""
    return query.text or body(query.name, **values_of(query))


def values_of(query: SetQuery) -> dict[str, Any]:
    """Values of a query's template, with the texts of queries among them."""
    return {name: body_of(one) if isinstance(one, SetQuery) else one for name, one in query.values.items()}


def matched(operator: Operator) -> dict[str, Any]:
    """Values for `_duplicates.sql`: SQL for the columns that describe the match."""
    return asdict(operator.sample_matcher.match)


def judged(step: Any) -> dict[str, Any]:
    """Values for `ledger.sql`: a step's place, and its statistic with the bound if there is one."""
    parameter, statistic = measure_of(step.params) or ("", None)
    bound = float(step.params[parameter]) if parameter else None
    place = {"step": step.index, "name": step.name, "where": step.where, "title": step.title}
    return {**place, "statistic": statistic, "bound": bound}


def require_params(step: Any, operator: Operator) -> None:
    """Check the shared parameters of a deduplicator. Raises ValueError with the problem and the cure."""
    size_field(step.params)
    direct: str = getattr(operator.matcher, "direct", "")
    if problem := problem_of_verify(step.params) or problem_of_order(step.params):
        raise ValueError(problem)
    if is_star(step.params) and not operator.matcher.takes_units and not direct:
        raise ValueError(f"cluster: star is not possible for the matcher {operator.match}; use cluster: connected")
