"""A row on which a function of the kind `process` fails, hangs or ends its process costs itself, wherever it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from refinery.api import Run
from refinery.errors import OperatorError, RecipeError
from refinery.operators import Function
from refinery.operators.headers import read_operator
from refinery.workers.function_results import Contract, checked
from refinery.workers.single_rows import SentRows, SingleRows, _of_texts
from tests.runs import exported, refine, rows, texts

LIMIT = 1.5  # seconds: rows that take none have it too, on a busy machine

# What an extractor does to a text that names it.
DEEDS = """
def work(text, tail):
    if "raises" in text:
        raise ValueError("not  this\\none")
    if "deep" in text:
        return work(text, tail)
    if "leaves" in text:
        sys.exit(3)
    if "surrogate" in text:
        return {"text": "\\ud800", "fault": None}
    if "loops" in text:
        while True:
            pass
    if "native" in text:  # hears no alarm
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
    if "segfault" in text:
        ctypes.string_at(0)
    open(SEEN, "a").write(text + "\\n")
    return {"text": text + tail}
"""
HEADER = """
import ctypes, hashlib, sys
SEEN = {seen!r}
OPERATOR = {{
    "doc": "Risk something.",
    "version": 1,
    "params": {{"seconds": {{"type": "float", "default": 30.0, "doc": "Limit."}}}},
    "resources": {{"files": []}},
    "functions": {{
        "risky": {{
            "columns": ["VARCHAR"],
            "constants": ["DOUBLE", "VARCHAR"],
            "returns": "STRUCT(text VARCHAR, fault VARCHAR)",
            "runs": "process",
            "call": "work",
            "prepare": "prepare",
        }}
    }},
    "sql": "SELECT risky({{{{ text }}}}, CAST({{{{ seconds | lit }}}} AS DOUBLE), '!') AS _r, _r.fault AS fault, _r.text AS delta,"
           " _r.text IS NULL OR _r.text <> 'none!' AS keep_none",
}}

def prepare(tail):
    assert tail == "!"
"""


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    folder = tmp_path / "operators" / "mappers"
    folder.mkdir(parents=True)
    (folder / "risky_mapper.py").write_text(HEADER.format(seen=str(tmp_path / "seen")) + DEEDS)
    return folder.parent


def run(folder: Path, operators: Path, samples: list[str], seconds: float = 30.0, **keys: Any) -> Run:
    steps: list[Any] = [{"risky_mapper": {"seconds": seconds}}, {"text_length_filter": {"min_len": 3}}]
    return refine(folder, texts(samples), steps, operators=str(operators), **keys)


def test_a_row_that_fails_costs_itself_and_nothing_runs_twice(tmp_path: Path, operators: Path) -> None:
    samples = ["one", "raises", "two", "deep", "leaves", "surrogate", "none", "x", "three"]
    done = run(tmp_path, operators, samples)
    assert [one["text"] for one in exported(done)] == ["one!", "two!", "three!"]
    assert rows(done, "quarantine", "line, step, operator, error") == [
        (2, 1, "risky_mapper", "ValueError: not this one"),
        (4, 1, "risky_mapper", "RecursionError: maximum recursion depth exceeded"),
        (5, 1, "risky_mapper", "SystemExit: 3"),
        (6, 1, "risky_mapper", rows(done, "quarantine", "error", "line = 6")[0][0]),
    ]
    assert "surrogates not allowed" in rows(done, "quarantine", "error", "line = 6")[0][0]
    assert rows(done, "ledger", "_row, step, reason") == [(6, 1, "none"), (7, 2, "text_len below min_len")]
    assert (tmp_path / "seen").read_text().split() == ["one", "two", "none", "x", "three"]


def test_a_row_that_takes_too_long_costs_itself(tmp_path: Path, operators: Path) -> None:
    done = run(tmp_path, operators, ["one", "loops", "two"], LIMIT)
    assert [one["text"] for one in exported(done)] == ["one!", "two!"]
    late = f"took longer than {LIMIT} seconds (time limit of the step)"
    assert rows(done, "quarantine", "line, step, error") == [(2, 1, late)]
    assert (tmp_path / "seen").read_text().split() == ["one", "two"]


def test_native_code_that_does_not_return_ends_its_process_once(tmp_path: Path, operators: Path) -> None:
    done = run(tmp_path, operators, ["one", "native", "two"], LIMIT, workers="threads")
    assert [one["text"] for one in exported(done)] == ["one!", "two!"]
    late = f"took longer than {LIMIT} seconds (time limit of the step)"
    assert rows(done, "quarantine", "line, step, error") == [(2, 1, late)]
    assert (tmp_path / "seen").read_text().split() == ["one", "one", "two"]  # the shard ran again, the row did not


def test_a_row_that_ends_its_process_costs_itself(tmp_path: Path, operators: Path) -> None:
    done = run(tmp_path, operators, ["one", "segfault", "two"], np=2)
    assert [one["text"] for one in exported(done)] == ["one!", "two!"]
    killed = "the worker process was killed by SIGSEGV"
    assert rows(done, "quarantine", "line, step, error") == [(2, 1, killed)]


def test_the_limit_of_a_row_counts_too_where_it_is_less(tmp_path: Path, operators: Path) -> None:
    done = run(tmp_path, operators, ["one", "loops"], row_timeout=LIMIT)
    assert rows(done, "quarantine", "error") == [(f"took longer than {LIMIT} seconds (time limit of the step)",)]


def test_every_number_of_workers_and_shards_gives_the_same(tmp_path: Path, operators: Path) -> None:
    samples = [f"text {n} {'raises' if n % 7 == 0 else ''}" for n in range(200)]
    one, many = (
        run(tmp_path / name, operators, samples, np=np, shard_size=size)
        for name, np, size in (("one", 1, "1MB"), ("many", 2, "1kB"))
    )
    assert exported(one) == exported(many) and len(rows(one, "quarantine")) == 29
    columns = "line, step, operator, error"
    assert rows(one, "quarantine", columns) == rows(many, "quarantine", columns)


def test_rows_are_traced_as_others_are(tmp_path: Path, operators: Path) -> None:
    done = run(tmp_path, operators, ["one", "raises", "two"], open_tracer=True)
    traced = rows(done, "trace", "original_text, processed_text", "operator = 'risky_mapper'")
    assert traced == [("one", "one!"), ("two", "two!")]


def function(returns: str = "STRUCT(text VARCHAR, fault VARCHAR)") -> Function:
    return Function("f", ("VARCHAR",), ("DOUBLE",), returns, "process", "f", Path("f.py"))


def test_rows_are_reported_before_they_run() -> None:
    contract, sent = Contract(), list[Any]()
    watch = SentRows(sent.append, None, {})
    call = checked(function(), SingleRows(function(), lambda text: {"text": text + "!"}, contract, watch), contract)
    assert call(pa.array(["a", None, "a"]), 5.0).to_pylist() == [
        {"text": "a!", "fault": None},
        None,
        {"text": "a!", "fault": None},
    ]
    assert [one["call"] is None for one in sent] == [False, False, True] and sent[0] == sent[1]
    spoiled = SentRows(sent.append, None, {sent[0]["call"]: "it hung"})
    again = SingleRows(function(), lambda text: {"text": text}, contract, spoiled)
    assert again(pa.array(["a", "b"]), 5.0).to_pylist() == [
        {"text": None, "fault": "it hung"},
        {"text": "b", "fault": None},
    ]


def test_a_missing_package_ends_the_run() -> None:
    def work(text: str) -> dict[str, Any]:
        raise ImportError("no module named x")

    contract = Contract()
    with pytest.raises(OperatorError, match="cannot import what it needs: no module named x"):
        SingleRows(function(), work, contract)(pa.array(["a"]), None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({'"runs": "process"': '"runs": "thread"'}, "runs must be one of kernel, python, process, not 'thread'"),
        ({", fault VARCHAR": ""}, "returns a STRUCT with the field `fault VARCHAR`"),
        ({'"DOUBLE", ': ""}, "its first constant is DOUBLE, its time limit"),
    ],
)
def test_headers_say_what_such_a_function_needs(operators: Path, change: dict[str, str], message: str) -> None:
    path = operators / "mappers" / "risky_mapper.py"
    text = path.read_text()
    for old, new in change.items():
        text = text.replace(old, new)
    path.write_text(text)
    with pytest.raises((OperatorError, RecipeError), match=message):
        read_operator(path)


TEXT_FIELDS = pa.struct([("text", pa.string()), ("fault", pa.string())])


@pytest.mark.parametrize("rows", [[], [None], [{"text": "é", "fault": None}, None, {"fault": "x", "more": 1}, {}]])
def test_results_of_texts_are_arrays_as_arrow_makes_them(rows: list[dict[str, Any] | None]) -> None:
    assert _of_texts(rows, TEXT_FIELDS).equals(pa.array(rows, TEXT_FIELDS))


@pytest.mark.parametrize(("value", "kind"), [(1, TEXT_FIELDS), (1, pa.struct([("text", pa.int64())])), (1, pa.int64())])
def test_other_results_are_left_to_arrow(value: Any, kind: pa.DataType) -> None:
    assert _of_texts([{"text": value}], kind) is None


def test_results_of_texts_need_no_pandas() -> None:
    """Arrow imports it for a list of Python, a third of a second in each process."""
    code = """
import sys
import pyarrow as pa
from refinery.workers.single_rows import _array
_array([{"text": "a"}, None], pa.struct([("text", pa.string())]))
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
