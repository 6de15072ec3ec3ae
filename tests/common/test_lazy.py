"""A lazy module is imported by its first attribute, and gives what the module has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from refinery.common.lazy import LazyModule, pc

CODE = """
import sys
from refinery.common.lazy import duckdb, exp, jinja2, pc, pq
before = sorted({"duckdb", "sqlglot", "jinja2", "pyarrow"} & {*sys.modules})
found = duckdb.Error, exp.Column, jinja2.Template, pc.is_null, pq.ParquetFile
import duckdb as a, jinja2 as c, pyarrow.compute as d, pyarrow.parquet as e
from sqlglot import exp as b
assert found == (a.Error, b.Column, c.Template, d.is_null, e.ParquetFile)
print(before)
"""


def test_nothing_is_imported_before_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_attribute_that_is_not_there_is_an_error_as_of_the_module() -> None:
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = pc.no_such_function  # type: ignore[attr-defined]
    with pytest.raises(ModuleNotFoundError):
        _ = LazyModule("no_such_module_anywhere").thing
