"""Arrow columns to numpy views and back."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from refinery.kernels.core.arrow import flags, ints, numbers, of_texts, rows_at, texts

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
