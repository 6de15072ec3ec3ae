"""Checks of a function's result, once per call: a wrong one ends the run or costs its row."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from refinery.errors import OperatorError
from refinery.operators import Function, Library
from refinery.workers import function_result_types
from refinery.workers.function_results import BadValue, Contract, checked
from tests.runs import exported, refine, rows, texts
from tests.sampling import sampled

_OPERATOR = '''"""An operator for one test."""

import decimal
import os

import numpy as np
import pyarrow as pa

OPERATOR = {{
    "doc": "An operator for one test.",
    "version": 1,
    "params": {{}},
    "stats": {{"n": {{"type": "{kind}", "doc": "Its value."}}}},
    "functions": {{"measured": {{"columns": ["VARCHAR"], "returns": "{kind}", "runs": "python", "call": "measure"}}}},
    "sql": "SELECT measured({{{{ text }}}}) AS n, TRUE AS keep",
    "examples": [],
}}


def strings(*values):
    """A string array over bytes, whatever they are."""
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


def measure(column):
    n = len(column)
    texts = column.to_pylist()
{body}
'''

TEXTS = [f"text {k}" for k in range(20)]
SAMPLES = texts(TEXTS)


def operators(folder: Path, kind: str, body: str) -> str:
    """A folder with `measured_filter`; body: that of a function of `column`, its length `n` and its `texts`."""
    path = folder / "operators" / "filters" / "measured_filter.py"
    path.parent.mkdir(parents=True)
    path.write_text(_OPERATOR.format(kind=kind, body=textwrap.indent(textwrap.dedent(body), "    ")))
    return str(folder / "operators")


def answer(kind: str, body: str, contract: Contract, values: list[str] = TEXTS) -> pa.Array:
    """The array that DuckDB receives for the texts from a function with this body."""
    names: dict[str, Any] = {}
    exec(_OPERATOR.format(kind=kind, body=textwrap.indent(body, "    ")), names)
    path = Path("filters/measured_filter.py")
    function = Function("measured", ("VARCHAR",), (), kind, "python", "measure", path)
    return checked(function, names["measure"], contract)(pa.array(values))


BROKEN = {
    "short": ("VARCHAR", 'return pa.array(["x"])', "returned 1 value for 20 rows"),
    "long": ("VARCHAR", 'return pa.array(["x"] * (n + 1))', "returned 21 values for 20 rows"),
    "a list that is short": ("VARCHAR", 'return ["x"]', "returned 1 value for 20 rows"),
    "none": ("VARCHAR", "return None", "returned None; it must return an Arrow array"),
    "scalar": ("VARCHAR", 'return pa.scalar("x")', "returned a value of type pyarrow.lib.StringScalar"),
    "text": ("VARCHAR", 'return "x" * n', "returned a value of type str"),
    "generator": ("VARCHAR", "return (text for text in texts)", "returned a value of type generator"),
    "table": ("VARCHAR", 'return pa.table({"x": texts})', "returned a value of type pyarrow.lib.Table"),
    "two dimensions": ("DOUBLE", "return np.zeros((n, 2))", "returned a ndarray of 2 dimensions"),
    "numbers for texts": ("VARCHAR", "return pa.array(range(n))", "returned values of type int64; VARCHAR is declared"),
    "bytes for texts": ("VARCHAR", 'return pa.array([b"x"] * n)', "values of type binary; VARCHAR is declared"),
    "texts for truth": ("BOOLEAN", 'return pa.array(["true"] * n)', "values of type string; BOOLEAN is declared"),
    "numbers for truth": ("BOOLEAN", "return np.ones(n, np.int8)", "values of type int8; BOOLEAN is declared"),
    "texts for numbers": ("BIGINT", 'return pa.array(["12"] * n)', "values of type string; BIGINT is declared"),
    "truth for numbers": ("BIGINT", "return np.ones(n, np.bool_)", "values of type bool; BIGINT is declared"),
    "fractions": ("BIGINT", "return pa.array([1.5] * n)", "returned fractions; BIGINT is declared"),
    "texts in lists": ("BIGINT[]", 'return pa.array([["1"]] * n)', "BIGINT[] is declared"),
    "another field": ("STRUCT(a BIGINT)", 'return pa.array([{"b": 1}] * n)', "STRUCT(a BIGINT) is declared"),
    "offsets": (
        "BIGINT[]",
        "return pa.ListArray.from_arrays(pa.array([0, 9] * n, pa.int32())[: n + 1], pa.array(range(9)))",
        "returned an array that does not hold together",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_function_that_breaks_its_contract(name: str) -> None:
    kind, body, said = BROKEN[name]
    contract = Contract()
    with pytest.raises(OperatorError) as caught:
        answer(kind, body, contract)
    assert str(caught.value).startswith("measured_filter: the function measure (filters/measured_filter.py) ")
    assert said in str(caught.value) and caught.value.exit_code == 4
    with pytest.raises(OperatorError), contract.kept():  # also where DuckDB has swallowed it
        pass


def test_it_ends_the_run_at_once(tmp_path: Path) -> None:
    counted = "CALLS = __import__('pathlib').Path(__file__).with_name('calls')"
    body = f"{counted}\nCALLS.write_text((CALLS.read_text() if CALLS.exists() else '') + '.')\nreturn texts[:1]"
    folder = operators(tmp_path, "VARCHAR", body)
    path = Path(folder) / "filters" / "measured_filter.py"
    with pytest.raises(OperatorError, match=re.escape(f"measure ({path}) returned 1 value for 20 rows")):
        refine(tmp_path, SAMPLES, ["measured_filter"], operators=folder)
    assert path.with_name("calls").read_text() == "."  # nothing was tried with fewer rows
    assert not (tmp_path / "run" / "out.jsonl").exists()


@pytest.mark.parametrize("keys", sampled([{"row_timeout": 20}, {"workers": "processes"}]))
def test_it_ends_a_run_by_processes_too(tmp_path: Path, keys: dict[str, Any]) -> None:
    with pytest.raises(OperatorError, match=r"measured_filter: the function measure .*returned 1 value for 20 rows"):
        folder = operators(tmp_path, "VARCHAR", 'return pa.array(["x"])')
        refine(tmp_path, SAMPLES, ["measured_filter"], operators=folder, **keys)


def test_a_try_does_not_hide_it(tmp_path: Path) -> None:
    folder = operators(tmp_path, "VARCHAR", 'return pa.array(["x"])')
    path = Path(folder) / "filters" / "measured_filter.py"
    path.write_text(path.read_text().replace("SELECT measured({{ text }})", "SELECT try(measured({{ text }}))"))
    with pytest.raises(OperatorError, match="returned 1 value for 20 rows"):
        refine(tmp_path, SAMPLES, ["measured_filter"], operators=folder)


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("VARCHAR", r'return strings(*(b"\xff" if t == "text 7" else t.encode() for t in texts))', "is not UTF-8"),
        ("VARCHAR[]", r"return pa.ListArray.from_arrays(range(n + 1), strings(*(b'\xff' if t == 'text 7' else b'' for t in texts)))", "is not UTF-8"),
        ("VARCHAR", r'return ["\ud800" if t == "text 7" else t for t in texts]', "is no VARCHAR"),
        ("VARCHAR", 'return [7 if t == "text 7" else t for t in texts]', "measure returned 7; VARCHAR is declared"),
        ("VARCHAR", 'return np.array([object() if t == "text 7" else t for t in texts], object)', "VARCHAR is declared"),
        ("BIGINT", 'return pa.array([float("nan") if t == "text 7" else 1.0 for t in texts])', "is no BIGINT"),
        ("BIGINT", 'return [float("inf") if t == "text 7" else 1 for t in texts]', "returned inf; BIGINT is declared"),
        ("BIGINT", 'return [1.5 if t == "text 7" else 1 for t in texts]', "returned 1.5; BIGINT is declared"),
        ("BIGINT", 'return [2**63 if t == "text 7" else 1 for t in texts]', "is no BIGINT"),
        ("TINYINT", 'return pa.array([200 if t == "text 7" else 1 for t in texts])', "is no TINYINT"),
        ("BOOLEAN", 'return ["yes" if t == "text 7" else True for t in texts]', "returned 'yes'; BOOLEAN is declared"),
        ("BIGINT[]", 'return ["ab" if t == "text 7" else [1] for t in texts]', "returned 'ab'; BIGINT[] is declared"),
    ],
)  # fmt: skip
def test_a_bad_value_is_one_of_its_row(kind: str, body: str, reason: str) -> None:
    contract = Contract()
    with pytest.raises(BadValue, match=re.escape(reason)):
        answer(kind, body, contract)
    with contract.kept():
        assert len(answer(kind, body, contract, TEXTS[:7])) == 7


@pytest.mark.parametrize("workers", sampled(["threads", "processes"]))
def test_a_bad_value_costs_its_row(tmp_path: Path, workers: str) -> None:
    body = r'return strings(*(b"\xff" if t == "text 7" else t.encode() for t in texts))'
    keys = {"operators": operators(tmp_path, "VARCHAR", body), "workers": workers}
    run = refine(tmp_path, SAMPLES, ["measured_filter"], **keys)
    [(row, step, operator, error)] = rows(run, "quarantine", "_row, step, operator, error")
    assert (row, step, operator) == (7, 1, "measured_filter") and "is not UTF-8" in error
    assert [sample["id"] for sample in exported(run)] == [k for k in range(20) if k != 7]


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("BIGINT", "return pa.array(range(n), pa.int32())", list(range(20))),
        ("INTEGER", "return pa.array(range(n))", list(range(20))),
        ("UBIGINT", "return pa.array(range(n), pa.uint8())", list(range(20))),
        ("BIGINT", "return pa.array([1.0, None] * (n // 2))", [1, None] * 10),
        ("DOUBLE", "return pa.array(range(n), pa.int8())", [float(k) for k in range(20)]),
        ("DOUBLE", "return np.arange(n, dtype=np.float32)", [float(k) for k in range(20)]),
        ("DOUBLE", "return [1, 2.5] * (n // 2)", [1.0, 2.5] * 10),
        ("VARCHAR", "return texts", [f"text {k}" for k in range(20)]),
        ("VARCHAR", "return tuple(texts)", [f"text {k}" for k in range(20)]),
        ("VARCHAR", "return np.array(texts)", [f"text {k}" for k in range(20)]),
        ("VARCHAR", "return pa.chunked_array([column[:5], column[5:5], column[5:]])", [f"text {k}" for k in range(20)]),
        ("VARCHAR", "return column.cast(pa.large_string())", [f"text {k}" for k in range(20)]),
        ("VARCHAR", "return column.cast(pa.string_view())", [f"text {k}" for k in range(20)]),
        ("VARCHAR", 'return pa.array(["a", None] * (n // 2)).dictionary_encode()', ["a", None] * 10),
        ("VARCHAR", 'return pa.array(["a", "b", None] * n)[2 : n + 2]', ([None, "a", "b"] * 7)[:20]),
        ("BIGINT", 'import pandas as pd\nreturn pd.Series([1, None] * (n // 2))', [1, None] * 10),
        ("VARCHAR", 'import pandas as pd\nreturn pd.Series(["a", pd.NA] * (n // 2), dtype=object)', ["a", None] * 10),
        ("VARCHAR", "return pa.nulls(n)", [None] * 20),
        ("VARCHAR", r'return pa.Array.from_buffers(pa.string(), n, [pa.py_buffer(bytes(3)), *strings(*[b"\xff"] * n).buffers()[1:]])', [None] * 20),
        ("BOOLEAN", "return [np.bool_(True), None] * (n // 2)", [True, None] * 10),
        ("DECIMAL(9, 2)", "return [decimal.Decimal('1.25')] * n", [1.25] * 20),
        ("BIGINT[]", "return pa.array([[1], None] * (n // 2), pa.large_list(pa.int16()))", [[1], None] * 10),
        ("STRUCT(a BIGINT, b VARCHAR)", 'return pa.array([{"b": "x", "a": 1}, None] * (n // 2))', [{"a": 1, "b": "x"}, None] * 10),
    ],
)  # fmt: skip
def test_what_is_clearly_meant_is_taken(kind: str, body: str, expected: list[Any]) -> None:
    found = answer(kind, body, Contract()).to_pylist()
    assert [float(value) if kind.startswith("DEC") else value for value in found] == expected


def test_what_arrow_encodes_reaches_duckdb(tmp_path: Path) -> None:
    body = 'return pa.chunked_array([pa.array(["q", None, *texts])[1:6], pa.array(texts[5:])])'
    run = refine(tmp_path, SAMPLES, ["measured_filter"], operators=operators(tmp_path, "VARCHAR", body))
    assert [value for (value,) in rows(run, "stats", "n")] == [None, *TEXTS[:4], *TEXTS[5:]]


def test_a_type_that_duckdb_does_not_know_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"measured_filter\.py: measured: returns 'TEXTS' is no type of DuckDB"):
        refine(tmp_path, SAMPLES, ["measured_filter"], operators=operators(tmp_path, "TEXTS", "return texts"))


def test_inputs_cannot_be_written_to(tmp_path: Path) -> None:
    body = """
    for buffer in column.buffers()[1:]:
        np.frombuffer(buffer, np.uint8)[:] = 88
    return texts
    """
    run = refine(tmp_path, SAMPLES, ["measured_filter"], operators=operators(tmp_path, "VARCHAR", body))
    assert run.counts.quarantined == 20
    assert "read-only" in rows(run, "quarantine", "error")[0][0]


FREQUENT = ["BIGINT", "BLOB", "BOOLEAN", "DOUBLE", "FLOAT", "INTEGER", "UBIGINT", "VARCHAR", "VARCHAR[]", "UBIGINT[]"]
SHIPPED = sorted({function.returns for function in Library().functions()})


@pytest.mark.parametrize("declared", [*FREQUENT, *SHIPPED, "STRUCT(a VARCHAR, b DOUBLE[])"])
def test_types_that_are_known_without_duckdb_are_duckdbs(declared: str) -> None:
    with duckdb.connect() as con:
        asked = con.sql(f"SELECT CAST(NULL AS {declared}) AS v").to_arrow_table().schema.field("v").type
    known = function_result_types._plain_type(declared)
    assert known is None or (known == asked and str(known) == str(asked))
    assert declared not in FREQUENT or known is not None


@pytest.mark.parametrize(
    "declared", ["BIGINT[3]", "INT", "STRUCT(end BIGINT)", "STRUCT(a BIGINT, a BIGINT)", "DECIMAL(3, 1)"]
)
def test_other_types_are_asked_of_duckdb(declared: str) -> None:
    assert function_result_types._plain_type(declared) is None
