"""Registers operators' Python functions with a DuckDB connection."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.kernels.core.arrow import ints, whole
from refinery.kernels.core.jit import compile_expected
from refinery.kernels.core.kernel_calls import Caller
from refinery.operators import Function, is_shipped
from refinery.workers.function_results import Contract, checked
from refinery.workers.process_guard import guarded

_OPTIONS: Any = {"type": "arrow", "null_handling": "special"}


def conduct(function: Function, run: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The guarded Python code of a function; kernels of refinery stay unguarded. run: the code, where it is wrapped."""
    run = run or function.resolve()
    return run if is_shipped(function.path) and function.runs != "python" else guarded(run)


Wrap = Callable[[Function, Callable[..., Any]], Callable[..., Any]]


def register(
    con: duckdb.DuckDBPyConnection,
    functions: Iterable[Function],
    run: Callable[[Function], Callable[..., Any]] = conduct,
    around: Wrap | None = None,
) -> Contract:
    """Make functions callable from SQL on this connection by their names, with checked results.

    run: gives the code of each function. around: wraps the checked function.
    Statements that call the functions must run within `kept` of the returned Contract.

    Imports the files of the functions, with their dependencies, and compiles those of their kernels that are not yet
    compiled: the time is no step's.
    """
    contract, given = Contract(), list(functions)
    for function in given:
        types: list[Any] = [*function.columns, *function.constants]
        returns: Any = function.returns
        call = checked(function, run(function), contract)
        call = around(function, call) if around is not None else call
        con.create_function(function.name, _vectorised(function, call), types, returns, **_OPTIONS)
    compile_expected(*(Caller(function.path, function.call) for function in given))
    return contract


def _vectorised(function: Function, run: Callable[..., Any]) -> Callable[..., pa.Array]:
    width = len(function.columns)

    def call(*arguments: pa.ChunkedArray) -> pa.Array:
        columns = [whole(argument) for argument in arguments[:width]]
        return _by_constants(run, columns, [whole(argument) for argument in arguments[width:]])

    # DuckDB counts the parameters of the Python function.
    names = [f"a{i}" for i in range(width + len(function.constants))]
    positional = inspect.Parameter.POSITIONAL_ONLY
    call.__signature__ = inspect.Signature([inspect.Parameter(n, positional) for n in names])  # type: ignore[attr-defined]
    return call


def sliced(function: Function, run: Callable[..., pa.Array], rows: int | None) -> Callable[..., pa.Array]:
    """The function with at most `rows` rows in a call; the results are the same for any number."""
    if rows is None or not function.columns:
        return run
    width = len(function.columns)

    def call(*arguments: Any) -> pa.Array:
        columns, constants = arguments[:width], arguments[width:]
        if len(columns[0]) <= rows:
            return run(*arguments)
        starts = range(0, len(columns[0]), rows)
        return pa.concat_arrays([run(*(column.slice(at, rows) for column in columns), *constants) for at in starts])

    return call


def _by_constants(run: Callable[..., pa.Array], columns: list[pa.Array], constants: list[pa.Array]) -> pa.Array:
    """Call `run` once per distinct set of constants; in a compiled recipe that is once."""
    if not constants or all(_uniform(constant) for constant in constants):
        return run(*columns, *(constant[0].as_py() if len(constant) else None for constant in constants))
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, key in enumerate(zip(*(constant.to_pylist() for constant in constants), strict=True)):
        groups[repr(key)].append(row)
    order = [row for rows in groups.values() for row in rows]
    pieces = []
    for rows in groups.values():
        index = ints(np.array(rows))
        pieces.append(run(*(c.take(index) for c in columns), *(constant[rows[0]].as_py() for constant in constants)))
    joined = pa.concat_arrays([whole(piece) for piece in pieces])
    back = sorted(range(len(order)), key=order.__getitem__)
    return joined.take(ints(np.array(back)))


def _uniform(constant: pa.Array) -> bool:
    return len(constant) <= 1 or constant[1:].equals(constant[:-1])  # works for lists too, which have no `unique`
