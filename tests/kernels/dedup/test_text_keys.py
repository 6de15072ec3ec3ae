"""Keys of whole texts against ordinary Python and recorded results, and SQL expressions as keys."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.compiler.templates import template
from refinery.kernels.dedup.text_keys import fold, text_keys
from refinery.operators import Library, Operator
from refinery.workers.functions import register
from tests.conftest import RECORDED
from tests.examples import share_of

EXACT = Library().operators["document_deduplicator"]
BY_KEY = Library().operators["key_deduplicator"]
CASES = RECORDED / "data_juicer" / "ops" / "document_deduplicator.jsonl"

NASTY = [
    *" \n\t\x0b\x1c\x1f\x85\xa0\u2003\u3000.,-_aAbBßẞİıΣσςΑ\u0301\u00ad٣９²½中…😀Ⱥ",
    "long enough for several words",
]
texts = st.lists(st.sampled_from(NASTY), max_size=12).map("".join) | st.text(max_size=6)


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | texts, max_size=8), st.booleans(), st.booleans())
def test_equal_keys_for_equal_folded_texts(
    values: list[str | None], lowercase: bool, ignore_non_character: bool
) -> None:
    folded = [None if text is None else fold(text, lowercase, ignore_non_character) for text in values]
    expected = text_keys(pa.array(folded, pa.string()), False, False).to_pylist()
    for kind in (pa.string(), pa.large_string()):
        column = pa.array(["other", *values], kind).slice(1)
        assert text_keys(column, lowercase, ignore_non_character).to_pylist() == expected
    assert len(set(expected)) == len(set(folded))


def test_hash_is_murmur3() -> None:
    (key,) = text_keys(pa.array(["The quick brown fox jumps over the lazy dog"]), False, False).to_pylist()
    assert int(key) == (0x7A433CA9C49A9347 & (1 << 62) - 1) << 64 | 0xE34BBC7BBC071B6C


def test_every_byte_counts() -> None:
    values = [f"{'x' * at}{letter}{'x' * (40 - at)}" for at in range(41) for letter in "yz"]
    values += ["x" * length for length in range(1, 60)] + ["x\0" + "\0" * n + "x" for n in range(40)]
    assert len(set(text_keys(pa.array(values), False, False).to_pylist())) == len(set(values))


def groups(operator: Operator, values: list[str | None], **given: Any) -> list[list[int]]:
    """Rows with equal keys, as DuckDB reads them from a Parquet file or not."""
    params = {name: param.default for name, param in operator.params.items()} | given
    con = duckdb.connect()
    register(con, operator.functions)
    con.register("samples", pa.table({"_row": range(len(values)), "text": pa.array(values, pa.string())}))
    marks = template(operator.sql).render(text="text", **params)
    found: dict[Any, list[int]] = defaultdict(list)
    for row, key in con.execute(f"SELECT _row, ({marks}) FROM samples ORDER BY _row").fetchall():
        found[("alone", row) if key is None else key].append(row)
    return list(found.values())


@pytest.mark.parametrize("number", range(4))
def test_recorded_groups(number: int, recorded: Path) -> None:
    case = json.loads(CASES.read_bytes().decode().split("\n")[number])
    lines = (recorded / "data_juicer" / case["input"]).read_bytes().decode().rstrip("\n").split("\n")
    documents = [json.loads(line) for line in lines]
    found = groups(EXACT, [document["text"] for document in documents], **case["params"])
    found = [[documents[row]["id"] for row in group] for group in found]
    assert [group[0] for group in found] == case["kept"]
    assert sorted(group for group in found if len(group) > 1) == sorted(case["groups"])


@pytest.mark.parametrize(("operator", "example"), [(o, e) for o in (EXACT, BY_KEY) for e in o.examples])
def test_examples(operator: Operator, example: dict[str, Any]) -> None:
    assert [group[0] for group in groups(operator, example["texts"], **example.get("params", {}))] == example["kept"]


def test_null_is_nobodys_duplicate() -> None:
    assert groups(EXACT, [None, "", None, ""]) == [[0], [1, 3], [2]]
    assert groups(BY_KEY, [None, "a", None, "a"], key="text") == [[0], [1, 3], [2]]


def test_keys_survive_parquet(tmp_path: Path) -> None:
    """They are written in one piece of 16 bytes, not as a number that is rounded."""
    con = duckdb.connect()
    register(con, EXACT.functions)
    con.execute(
        f"COPY (SELECT i, text_key(i::VARCHAR, false, false) AS key FROM range(1000) t(i)) TO '{tmp_path}/k.parquet'"
    )
    query = f"SELECT count(*) FROM '{tmp_path}/k.parquet' WHERE key = text_key(i::VARCHAR, false, false)"
    assert con.execute(query).fetchall() == [(1000,)]


def test_the_name_on_ray_is_the_same_operator() -> None:
    other = Library().operators["ray_document_deduplicator"]
    assert other.sql == EXACT.sql and set(other.params) - set(EXACT.params) == {
        "backend",
        "redis_address",
        "dedup_set_num",
    }
