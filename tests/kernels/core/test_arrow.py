"""Arrow columns to numpy views and back."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.kernels.core.arrow import (
    flags,
    ints,
    items,
    numbers,
    of_texts,
    present,
    replaced,
    rows_at,
    texts,
    texts_at,
)

VALUES = ["a", None, "", "漢字", "e" * 100, None, "f", "g", "h"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("values", [VALUES, [v or "" for v in VALUES]])
def test_slices_of_one_array_are_put_together_without_a_copy(values: list[str | None], kind: pa.DataType) -> None:
    whole = pa.array(values, kind)
    for cuts in ([0, 9], [0, 2, 3, 9], [1, 4, 8], [3, 3, 5], [2, 7]):
        chunks = [whole.slice(a, b - a) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
        view = texts(pa.chunked_array(chunks, kind))
        assert view.array.to_pylist() == values[cuts[0] : cuts[-1]]
        assert view.valid.tolist() == [v is not None for v in values[cuts[0] : cuts[-1]]]
        assert view.data.ctypes.data == whole.buffers()[2].address
        assert int(view.offsets[-1]) == sum(len((v or "").encode()) for v in values[: cuts[-1]])


def test_other_chunks_are_copied() -> None:
    whole = pa.array(VALUES, pa.string())
    for chunks in ([whole.slice(0, 2), whole.slice(3, 2)], [whole.slice(3, 2), whole.slice(0, 3)], [whole, whole], []):
        assert texts(pa.chunked_array(chunks, pa.string())).array.to_pylist() == [
            v for c in chunks for v in c.to_pylist()
        ]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64, np.float64])
def test_numbers(dtype: type) -> None:
    values = np.arange(10).astype(dtype)
    for array in (values, values[:0], values[2:5], values[::3]):
        assert ints(array).equals(pa.array(array))
        valid = np.arange(len(array)) % 3 != 1
        assert ints(array, valid).equals(pa.array(array, mask=~valid))
        assert numbers(pa.array(array)).tolist() == array.tolist() and numbers(pa.array(array)).dtype == dtype
        whole = pa.array(array)
        parts = pa.chunked_array([whole.slice(1), whole.slice(0, 0), whole.slice(0, 1)], whole.type)
        assert numbers(parts).tolist() == parts.to_pylist()


@pytest.mark.parametrize("values", [VALUES, [], [None], ["", ""], ["\0", "😀"]])
def test_texts_of_python(values: list[str | None]) -> None:
    assert of_texts(values).equals(pa.array(values, pa.string()))


def test_truth_values() -> None:
    values = np.random.default_rng(0).integers(0, 2, 77).astype(np.bool_)
    for array in (values, values[:0], values[3:20]):
        assert flags(array).equals(pa.array(array))


def test_pandas_is_not_imported_for_them() -> None:
    code = """
import sys
import numpy as np
from refinery.kernels.core.arrow import flags, ints, numbers, of_texts
numbers(ints(np.arange(3))), flags(np.ones(3, np.bool_)), of_texts(["a", None])
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_name_before_0_2_is_the_same_module() -> None:
    import refinery.kernels.arrow as old
    from refinery.kernels.core import arrow

    assert old is arrow


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_rows_at_positions_are_those_that_take_gives(kind: pa.DataType) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 7, 64, 300):
        keep = rng.random(count) < 0.6
        words = ["", "a", "Straße", "名前" * 40]
        gaps = [words[i % 4] if kept else None for i, kept in enumerate(keep)]
        full = [words[i % 4] if i % 5 else None for i in range(count)]
        columns = {"gaps": pa.array(gaps, kind), "full": pa.array(full, kind), "n": pa.array(range(count))}
        table = pa.table(columns | {"flag": pa.array([None if i % 3 else i % 2 == 0 for i in range(count)])})
        for sliced in (table, table.slice(count // 3), pa.concat_tables([table.slice(0, 2), table.slice(2)])):
            index = np.flatnonzero(rng.random(len(sliced)) < 0.5)
            chosen = np.flatnonzero(keep[len(keep) - len(sliced) :])
            for places in (index, chosen, index[:0], np.arange(len(sliced))):
                found = rows_at(sliced, places)
                found.validate(full=True)
                assert found.equals(sliced.take(pa.array(places, pa.int64())))


def test_rows_at_positions_share_texts_that_only_they_have() -> None:
    texts = pa.array([None, "first", None, "", "second", None], pa.large_string())
    found = rows_at(pa.table({"text": texts}), np.array([1, 3, 4]))["text"].chunk(0)
    assert found.to_pylist() == ["first", "", "second"]
    assert found.buffers()[2].address == texts.buffers()[2].address


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=9), st.data())
def test_replaced_texts(values: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values)))
    view = texts(pa.array(values, pa.large_string()).slice(start))
    wanted = values[start:]
    rows = data.draw(st.lists(st.integers(0, max(0, len(wanted) - 1)), unique=True, max_size=len(wanted)).map(sorted))
    new = [data.draw(st.text(st.characters(codec="utf-8"), max_size=9)) for _ in rows]
    assert texts_at(view, np.array(rows, np.int64)) == [wanted[row] for row in rows]
    found, offsets = replaced(view.data, view.offsets, np.array(rows, np.int64), new)
    for row, text in zip(rows, new, strict=True):
        wanted[row] = text
    assert len(offsets) == len(wanted) + 1
    assert [found[a:b].tobytes().decode() for a, b in zip(offsets, offsets[1:], strict=False)] == wanted


@pytest.mark.parametrize("values", [[[1, 2], [], [3]], [[1], None, [2, 3]], [[]], []])
def test_items_of_lists(values: list[list[int] | None]) -> None:
    for start in range(len(values) + 1):
        lists = pa.array(values, pa.list_(pa.int64())).slice(start)
        assert items(lists).to_pylist() == [one for some in values[start:] for one in some or []]


KINDS = [pa.int32(), pa.int64(), pa.uint64(), pa.float64(), pa.bool_(), pa.string(), pa.float32(), pa.list_(pa.int8())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_rows_of_all_kinds_of_columns(kind: pa.DataType, missing: bool) -> None:
    plain = [None if missing and n % 3 == 1 else n for n in range(20)]
    if pa.types.is_list(kind):
        column = pa.array([None if n is None else [n] for n in plain], kind)
    elif pa.types.is_boolean(kind):
        column = pa.array([None if n is None else n % 2 == 0 for n in plain], kind)
    else:
        column = pa.array([None if n is None else str(n) for n in plain]).cast(kind)
    for array in (column, column.slice(3), column.slice(2, 9)):
        for index in ([0], [1, 4, 7], list(range(len(array))), []):
            found = rows_at(pa.table({"a": array}), np.array(index, np.int64))["a"]
            assert found.to_pylist() == [array[i].as_py() for i in index] and found.type == kind
        if not pa.types.is_list(kind):
            assert present(array).tolist() == array.is_valid().to_pylist()
