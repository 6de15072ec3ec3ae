"""Registration of operators as SQL functions of a DuckDB connection."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from refinery.common.lazy import duckdb
from refinery.dedup.script_functions import SET_FUNCTIONS
from refinery.errors import Problem, RecipeError
from refinery.execution.open import open_recipe
from refinery.io.script_functions import LINE_FUNCTIONS
from refinery.operators import Function, Library, Operator
from refinery.sql_functions.inlined import NotOneText
from refinery.sql_functions.model import SqlFunction
from refinery.sql_functions.of_operator import functions_of_step
from refinery.sql_functions.stored import functions_of
from refinery.workers.functions import register as register_functions


def register(
    con: duckdb.DuckDBPyConnection,
    operators: Sequence[str | Path] = (),
    steps: Mapping[str, Any] | None = None,
) -> list[str]:
    """Register all functions on a connection; return their names. Raises RecipeError for a step that is no function."""
    library = Library(tuple(operators))
    functions = [function for function in library.functions() if installed(library.operators.get(function.path.stem))]
    functions += [*SET_FUNCTIONS, *LINE_FUNCTIONS]
    configured = _of_steps(steps or {}, operators, {function.name.lower() for function in functions})
    for function in functions:  # those of an earlier call
        with suppress(duckdb.Error):
            con.remove_function(function.name)
    register_functions(con, functions)
    names = {function.name for function in functions}
    names |= {_whole_text(con, function) for function in functions if function.name.endswith("_delta")}
    shipped = [
        one for operator in library.operators.values() if installed(operator) for one in functions_of(operator, library)
    ]
    for macro in (*shipped, *configured):
        con.execute(macro.statement).fetchall()
        names.add(macro.name)
    return sorted(names)


def _whole_text(con: duckdb.DuckDBPyConnection, function: Function) -> str:
    """Make the macro beside a `_delta` function that always gives the text; return its name."""
    name = function.name.removesuffix("_delta")
    columns = ", ".join(["t", *(f"a{i}" for i in range(len(function.columns) + len(function.constants) - 1))])
    con.execute(f"CREATE OR REPLACE TEMP MACRO {name}({columns}) AS coalesce({function.name}({columns}), t)").fetchall()
    return name


def installed(operator: Operator | None) -> bool:
    """Return whether the packages are here that an operator needs; None: a function of no operator alone."""
    return operator is None or all(importlib.util.find_spec(module) for module in operator.needs)


def _of_steps(steps: Mapping[str, Any], operators: Sequence[str | Path], taken: Iterable[str]) -> list[SqlFunction]:
    """The functions of configured steps, by the names that the caller gives them."""
    functions, problems = list[SqlFunction](), list[Problem]()
    for name, item in steps.items():
        if not isinstance(name, str) or not name or name.lower() in taken:
            problems.append(
                Problem(f"steps[{name!r}]", "is the name of another function, or none", "Choose another name.")
            )
            continue
        recipe, library = open_recipe({"dataset_path": "-", "process": [item]}, operators=operators, need_inputs=False)
        try:
            functions += functions_of_step(name, recipe.steps[0], library)
        except NotOneText as error:
            problems.append(Problem(f"steps[{name!r}]", f"{recipe.steps[0].name} is no function of a text: it {error}"))
    if problems:
        raise RecipeError(problems)
    return functions
