"""The functions of shipped operators in the user's cache folder: making all of them takes seconds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

from refinery.common.cache_files import read_cached, write_cached
from refinery.common.cache_folder import cache_root
from refinery.operators import Library, Operator, is_shipped
from refinery.operators.versions import sources_changed, versions
from refinery.sql_functions.inlined import NotOneText
from refinery.sql_functions.model import Parameter, SqlFunction
from refinery.sql_functions.of_operator import functions_of_operator

_MOST = 4  # files, of some 300 kB each


def functions_of(operator: Operator, library: Library) -> list[SqlFunction]:
    """The functions of an operator; none for one that has none."""
    stored = stored_functions()
    if is_shipped(operator.path) and operator.name in stored:
        return stored[operator.name]
    return _made(operator, library)


def _made(operator: Operator, library: Library) -> list[SqlFunction]:
    try:
        return functions_of_operator(operator, library)
    except NotOneText:
        return []


@cache
def stored_functions() -> dict[str, list[SqlFunction]]:
    """The functions, by operator, of the shipped operators whose functions last."""
    if sources_changed():
        return {}
    place = cache_root() / "sql_functions" / f"{_key()}.json"
    functions = _read(place)
    if functions is None:
        library = Library(())
        made = {name: _made(operator, library) for name, operator in library.operators.items()}
        functions = {name: forms for name, forms in made.items() if forms and all(one.lasting for one in forms)}
        plain = {name: [asdict(one) for one in forms] for name, forms in functions.items()}
        write_cached(place, json.dumps(plain).encode(), _MOST)
    return functions


def _key() -> str:
    """The digest of all that the functions are made from: refinery's sources with its operators, and libraries."""
    return hashlib.sha256(json.dumps(["SQL functions", versions()]).encode()).hexdigest()


def _read(place: Path) -> dict[str, list[SqlFunction]] | None:
    text = read_cached(place)
    if text is None:
        return None
    try:
        return {name: [_function(one) for one in functions] for name, functions in json.loads(text).items()}
    except (ValueError, KeyError, TypeError, AttributeError):  # a damaged file
        return None


def _function(plain: dict[str, object]) -> SqlFunction:
    parameters = plain.pop("parameters")
    assert isinstance(parameters, list)
    return SqlFunction(parameters=tuple(Parameter(**one) for one in parameters), **plain)  # type: ignore[arg-type]
