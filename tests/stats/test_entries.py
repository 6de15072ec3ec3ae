"""Entries of statistics files: read by kernels as plain Python reads them, added up as fractions say."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.errors import DataError
from refinery.stats.entries import KeySums, joined, read
from refinery.stats.files import write_files
from tests.examples import share_of
from tests.stats.oracle import added

WORDS = st.text(alphabet='ab."\\/{}: \n\t\x01\x7fé漢😀', max_size=20) | st.integers(0, 300).map(str)
finite = st.floats(-1e9, 1e9) | st.integers(-100, 100) | st.sampled_from([0, 0.0, 1, 1.0, 1e15, 1e-12])
spreads = st.tuples(finite, st.integers(0, 10**9), finite, st.floats(0, 1e6), finite, finite)
FIELDS = ("total", "n", "mean", "variance", "min", "max")


@st.composite
def objects(draw: Any) -> dict[str, Any]:
    """Entries with some fields left out, in any order, with fields that nobody knows."""
    values = dict(zip(FIELDS, draw(spreads), strict=True))
    values["n"] = draw(st.integers(0, 500))
    kept = {name: value for name, value in values.items() if name in ("total", "n") or draw(st.booleans())}
    extra = {"unit": draw(st.sampled_from(["doc", "task", "token", 'hé"l'])), "std_dev": 1.5, "other": [1, {"a": "}"}]}
    kept |= {name: value for name, value in extra.items() if draw(st.booleans())}
    return dict(draw(st.permutations(list(kept.items()))))


entries = finite | objects()
files = st.lists(st.dictionaries(WORDS, entries, max_size=6), min_size=1, max_size=6)


def keys_of(contents: list[bytes]) -> KeySums:
    keys = KeySums()
    keys.add(read(*joined(contents), [f"file {at}" for at in range(len(contents))]))
    return keys


def close(found: float, expected: Fraction, size: float) -> bool:
    return abs(Fraction(found) - expected) <= Fraction(1, 10**12) * (abs(expected) + Fraction(size) / 10**3)


@settings(max_examples=share_of(300))
@given(files, st.booleans(), st.sampled_from([None, 1]), st.data())
def test_files_add_up(given: list[dict[str, Any]], ascii_only: bool, indent: int | None, data: st.DataObject) -> None:
    contents = [json.dumps(file, ensure_ascii=ascii_only, indent=indent).encode() for file in given]
    keys = KeySums()
    at = 0
    while at < len(contents):  # some files at once, some alone
        count = data.draw(st.integers(1, 3))
        names = [str(number) for number in range(at, at + count)][: len(contents) - at]
        keys.add(read(*joined(contents[at : at + count]), names))
        at += count
    rows = keys.moments().to_pylist()
    order = list(dict.fromkeys(key for file in given for key in file))
    assert [row["key"] for row in rows] == order
    for row in rows:
        parts = [file[row["key"]] for file in given if row["key"] in file]
        expected = added(parts)
        size = max(
            1.0,
            *(
                abs(float(v))
                for p in parts
                for v in ([p] if not isinstance(p, dict) else [p["total"], p.get("mean", 1)])
            ),
        )
        assert (row["n"], row["unit"]) == (expected.n, expected.unit)
        assert (row["min"], row["max"]) == (expected.min, expected.max)
        assert close(row["total"], expected.total, size)
        if expected.n:
            assert close(row["mean"], expected.mean, size)
            assert close(row["m2"], expected.m2, 0.0) or row["m2"] < 1e-18


@settings(max_examples=share_of(100))
@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1e3), st.integers(-8, 8)), min_size=1, max_size=50),
    st.randoms(),
)
def test_sums_keep_their_digits(parts: list[tuple[int, float, int]], dice: Any) -> None:
    """Means near 1e15 that differ in their last digits, in any order: the spread between them is exact."""
    entries = [
        {
            "total": n * (1e15 + step / 8),
            "n": n,
            "mean": 1e15 + step / 8,
            "variance": spread if n > 1 else 0.0,
            "min": 0,
            "max": 1,
        }
        for n, spread, step in parts
    ]
    dice.shuffle(entries)
    [row] = keys_of([json.dumps({"k": entry}).encode() for entry in entries]).moments().to_pylist()
    expected = added(entries)
    assert abs(Fraction(row["m2"]) - expected.m2) <= Fraction(1, 10**12) * expected.m2
    assert abs(Fraction(row["mean"]) + Fraction(row["mean_low"]) - expected.mean) <= expected.mean / 10**25


def test_what_is_written_is_read_as_it_was(tmp_path: Any) -> None:
    """Also what files of datatrove's form have no place for: counts of what is not finite, the rest of the mean."""
    rows = [
        ("g", "zeros", "s", 10, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0),
        ("g", "ones", "s", 7, 1.0, 0.0, 1.0, 1.0, 7.0, 0, 0, 0.0),
        ("g", "mean one", "s", 3, 1.0, 2.0, 0.0, 2.0, 3.0, 1, 2, 0.0),
        ("g", "nothing", "s", 0, None, None, None, None, None, 3, 0, None),
        ("g", "far", "s", 3, 1e15, 2.0, 1e15 - 1, 1e15 + 1, 3e15, 0, 0, 0.03125),
        ("g", "huge", "s", 2, 1.5e308, 1.0, 1.4e308, 1.6e308, math.inf, 0, 0, 0.0),
    ]
    with duckdb.connect() as con:
        con.execute(
            'CREATE TABLE given ("group" VARCHAR, key VARCHAR, stat VARCHAR, n BIGINT, mean DOUBLE, m2 DOUBLE, min DOUBLE, '
            "max DOUBLE, total DOUBLE, nans BIGINT, infinities BIGINT, mean_low DOUBLE)"
        ).fetchall()
        con.executemany(f"INSERT INTO given VALUES ({', '.join('?' * 12)})", rows).fetchall()
        [path] = write_files(con, "given", tmp_path, 0)
    found = {row["key"]: row for row in keys_of([open(path, "rb").read()]).moments().to_pylist()}
    for _, key, _, n, mean, m2, low, high, total, nans, infinities, rest in rows:
        row = found[key]
        assert (row["n"], row["mean"], row["nans"], row["infinities"], row["mean_low"]) == (
            n,
            mean,
            nans,
            infinities,
            rest,
        )
        if n:
            assert (row["m2"], row["min"], row["max"]) == (m2, low, high)
            assert row["total"] == min(total, math.nextafter(math.inf, 0))


def test_n_that_cannot_be_known_is_counted() -> None:
    given = {
        "a": 0,
        "b": 0.0,
        "c": 7,
        "d": {"total": 0, "n": 5, "mean": 0.0},
        "e": {"total": 4.0, "mean": 0.99, "variance": 0.5},
    }
    assert keys_of([json.dumps(given).encode()]).unknown == 3


def test_values_that_are_not_finite() -> None:
    """Python writes them as words that are no JSON; the values that they stand for are counted."""
    given = [
        {"a": {"total": math.nan, "n": 4, "mean": math.nan, "min": 1, "max": 2}, "b": math.inf, "c": -math.inf},
        {"a": 2},
    ]
    keys = keys_of([json.dumps(file).encode() for file in given])
    a, b, c = keys.moments().to_pylist()
    assert (a["n"], a["mean"], a["nans"], a["infinities"]) == (1, 2.0, 4, 0)
    assert [(row["n"], row["nans"], row["infinities"]) for row in (b, c)] == [(0, 0, 1)] * 2
    assert keys.not_finite == 6


def test_long_numbers() -> None:
    """More digits than a kernel takes are read by Python."""
    given = b'{"a": 0.1000000000000000055511151231257827021181583404541015625, "b": 123456789012345678901234567890}'
    assert [row["total"] for row in keys_of([given]).moments().to_pylist()] == [0.1, 123456789012345678901234567890.0]
    many = "{" + ",".join(f'"{at}": 0.{"1" * 30}' for at in range(1000)) + "}"
    assert keys_of([many.encode()]).moments()["total"].to_pylist() == [float(f"0.{'1' * 30}")] * 1000


def test_many_keys_and_long_ones() -> None:
    names = [f"host-{at}.example" for at in range(20_000)] + ["x" * 100_000, "", "é" * 5000]
    contents = [json.dumps({name: 2 for name in order}).encode() for order in (names, names[::-1], names[::2])]
    rows = keys_of(contents).moments()
    assert rows["key"].to_pylist() == names
    assert rows["n"].to_pylist() == [3 if at % 2 == 0 else 2 for at in range(len(names))]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b'{"a": 1', "damaged JSON"),
        (b'{"a": {"total": 1, "n"', "damaged JSON"),
        (b'{"a" 1}', "damaged JSON"),
        (b'{"a": 1} x', "damaged JSON"),
        (b'{"a": 01}', "damaged JSON"),
        (b'{"a": 1,}', "damaged JSON"),
        (b"[1]", "no JSON object"),
        (b'{"a": null}', "not an entry"),
        (b'{"a": "text"}', "not an entry"),
        (b'{"a": {"total": true}}', "not an entry"),
        (b'{"a": {"total": 1, "unit": 3}}', "not an entry"),
        (b'{"a\xff": 1}', "not UTF-8"),
        (b'{"a": {"n": 3}}', "'a' has no total"),
        (b'{"a": {}}', "'a' has no total"),
        (b'{"a": {"total": 1, "n": 1.5}}', "'a' has an n that is not a whole number"),
        (b'{"a": {"total": 1, "n": -1}}', "'a' has an n"),
        (b'{"a": 1, "\\u0061": 2}', "'a' is there twice"),
    ],
)
def test_damaged_files_are_named(content: bytes, said: str) -> None:
    with pytest.raises(DataError, match="file 1") as error:
        keys_of([b'{"a": 1}', content])
    assert said in str(error.value)


@settings(max_examples=share_of(300))
@given(st.data())
def test_cut_files_are_never_read(data: st.DataObject) -> None:
    """Every beginning of a file is damaged; a kernel that read beyond it would see the next."""
    content = json.dumps({"a": {"total": 1.5, "n": 2, "unit": "task", "min": -1e-5}, "é": 12345678}).encode()
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    with pytest.raises(DataError, match="file 0"):
        keys_of([cut, b'{"a": 1}'])


def test_no_files() -> None:
    keys = KeySums()
    keys.add(read(*joined([]), []))
    assert keys.moments().num_rows == 0
    assert keys_of([b"{}", b" { } \n"]).moments().num_rows == 0
