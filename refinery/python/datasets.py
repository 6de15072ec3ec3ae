"""`dataset=` as a path, a list of paths, or the text of a query; everything else is left as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from refinery.common.lazy import duckdb
from refinery.errors import DataError, Problem, RecipeError
from refinery.storage.urls import is_url

# First words of a query; a path that begins like this, with a space behind it, is a path if the file is there.
_QUERY = re.compile(r"\s*\(*\s*(from|select|with|values|table|pivot|unpivot|describe|summarize)\b[\s(]", re.IGNORECASE)


def samples_and_keys(dataset: Any, keys: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The samples to pass in, if any, and the keys of the recipe to change. Raises DataError or RecipeError."""
    if isinstance(dataset, str) and is_query(dataset):
        return rows_of(dataset), dict(keys)
    paths = _paths(dataset)
    if paths is None:
        return dataset, dict(keys)
    if "dataset_path" in keys:
        raise RecipeError([Problem("", "dataset names files, and dataset_path does too", "Leave out one of the two.")])
    return None, {**keys, "dataset_path": paths}


def is_query(text: str) -> bool:
    """Return whether a text is a query, not the path of a file."""
    return _QUERY.match(text) is not None and not is_url(text) and not _is_there(text)


def _is_there(text: str) -> bool:
    try:
        return os.path.exists(text)
    except ValueError:  # a NUL
        return False


def rows_of(query: str) -> duckdb.DuckDBPyRelation:
    """The relation of a query over DuckDB's default connection, whose tables and views it can name. Raises DataError."""
    con = duckdb.default_connection()
    try:
        [statement] = con.extract_statements(query)
        if statement.type != duckdb.StatementType.SELECT:
            raise DataError(f"dataset: {query!r:.200} is no query. Write SELECT ... or FROM ...")
        return con.sql(query)
    except ValueError:
        raise DataError("dataset: a query is one statement") from None
    except duckdb.Error as error:
        raise DataError(f"dataset: {query!r:.200} cannot be run: {str(error).strip()}") from None


def _paths(dataset: Any) -> list[str] | None:
    """The paths that a dataset names; None if it has samples of its own."""
    if isinstance(dataset, (str, os.PathLike)):
        return [_text(dataset)]
    if isinstance(dataset, Sequence) and dataset and all(isinstance(item, (str, os.PathLike)) for item in dataset):
        return [_text(item) for item in dataset]
    return None


def _text(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"dataset: {path!r:.80} is no path")
    return text
