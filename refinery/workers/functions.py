"""Registers operators' Python functions with a DuckDB connection."""

from __future__ import annotations

import inspect
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.errors import OperatorError
from refinery.kernels.core.arrow import ints, whole
from refinery.operators import Function, is_shipped
from refinery.operators.opened_files import suspended
from refinery.operators.user_process import apart, is_worker
from refinery.workers.function_result_types import declared_type
from refinery.workers.function_results import Contract, checked, named
from refinery.workers.single_rows import RowWatch, SingleRows

_OPTIONS: Any = {"type": "arrow", "null_handling": "special"}


Wrap = Callable[[Function, Callable[..., Any]], Callable[..., Any]]


def register(
    con: duckdb.DuckDBPyConnection,
    functions: Iterable[Function],
    watched: Wrap | None = None,
    around: Wrap | None = None,
    rows: RowWatch | None = None,
) -> Contract:
    """Make functions callable from SQL on this connection by their names, with checked results.

    watched: wraps the code of a user's function in a worker process. around: wraps the checked function.
    rows: hears of the rows of functions that may hang.
    Statements that call the functions must run within `kept` of the returned Contract.

    Imports the files of the functions, with their dependencies: the time is no step's.
    """
    contract = Contract()
    for function in functions:
        types: list[Any] = [*function.columns, *function.constants]
        returns: Any = function.returns
        call = _code(function, contract, watched, rows)
        call = around(function, call) if around is not None else call
        con.create_function(function.name, _vectorised(function, call), types, returns, **_OPTIONS)
    return contract


def _code(
    function: Function, contract: Contract, watched: Wrap | None, rows: RowWatch | None = None
) -> Callable[..., pa.Array]:
    """The function with checked results. That of a user, or of the kind `process`, runs in a worker process, which imports it."""
    if function.runs_apart and not is_worker():
        return _apart(function, contract)
    run = function.resolve()
    if not is_shipped(function.path):
        run = repairing(run if watched is None else watched(function, run))
    elif is_worker():
        run = unnoticed(run)
    if function.runs == "process":
        run = SingleRows(function, run, contract, rows)
    return checked(function, run, contract)


def _apart(function: Function, contract: Contract) -> Callable[..., pa.Array]:
    """The function as one that a worker process carries out."""
    declared_type(function)
    apart(str(function.path), _imported, function)

    def call(*arguments: Any) -> pa.Array:
        try:
            return apart(named(function), _values, function, arguments)
        except OperatorError as error:
            contract.refuse(error)

    return call


def _imported(function: Function) -> None:
    """Import the file of a function. Raises OperatorError if that fails, or the function is missing."""
    function.resolve()


@lru_cache(maxsize=64)
def _here(function: Function) -> Callable[..., pa.Array]:
    return _code(function, Contract(), None)


def _values(function: Function, arguments: Sequence[Any]) -> pa.Array:
    """The checked results of a function."""
    return _here(function)(*arguments)


def repairing(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of a user: the working folder is restored, to which a run's paths can be relative.

    A process that the code has forked ends when the code returns; else it would continue the run a second time.
    """
    here = _folder()

    def call(*arguments: Any) -> Any:
        owner = os.getpid()
        try:
            return run(*arguments)
        finally:
            if os.getpid() != owner:
                os._exit(0)
            if here and _folder() != here:
                os.chdir(here)

    return call


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # the folder has been removed
        return None


def unnoticed(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of refinery: what it opens is no doing of a user's code, whose threads its own may look like."""

    def call(*arguments: Any) -> Any:
        with suspended():
            return run(*arguments)

    return call


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
