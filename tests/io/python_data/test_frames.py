"""Frames of pandas and polars: right values, or an error that names the column and the cure."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import refinery
from refinery.errors import DataError

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
TEXTS = ["a b", "c d"]


def kept(tmp_path: Path, dataset: Any) -> list[dict[str, Any]]:
    recipe = {"export_path": str(tmp_path / "k.jsonl"), "process": ["whitespace_normalization_mapper"]}
    return refinery.run(recipe, dataset=dataset).to_arrow().to_pylist()


def of_polars(kind: Any, values: list[Any] | None = None) -> Any:
    return polars.DataFrame({"text": TEXTS, "c": polars.Series(values or ["u", "v"], dtype=kind)})


FRAMES: dict[str, Callable[[], Any]] = {
    "categorical": lambda: of_polars(polars.Categorical),
    "enum": lambda: of_polars(polars.Enum(["u", "v"])),
    "lazy": lambda: of_polars(polars.Categorical).lazy(),
    "in lists": lambda: of_polars(polars.List(polars.Categorical), [["u"], None]),
    "in a struct": lambda: of_polars(polars.Categorical).select("text", polars.struct("c")),
    "as the text": lambda: of_polars(polars.Categorical).with_columns(polars.col("text").cast(polars.Categorical)),
    "several": lambda: iter([of_polars(polars.Categorical), of_polars(polars.Categorical, ["w", "u"])]),
}


@pytest.mark.parametrize("name", list(FRAMES))
def test_categories_of_polars_are_texts(tmp_path: Path, name: str) -> None:
    frames = FRAMES[name]()
    if name == "several":
        wanted = [row for frame in FRAMES[name]() for row in frame.to_dicts()]
    else:
        wanted = (frames.collect() if name == "lazy" else frames).to_dicts()
    assert kept(tmp_path, frames) == wanted


REFUSED: dict[str, Callable[[], Any]] = {
    "objects of polars": lambda: of_polars(polars.Object, [{1}, {2}]),
    "objects of a lazy frame": lambda: of_polars(polars.Object, [{1}, {2}]).lazy(),
    "wide integers of polars": lambda: of_polars(polars.Int128, [2**100, 1]),
    "numbers and texts": lambda: pandas.DataFrame({"text": TEXTS, "c": [1, "x"]}),
    "objects and texts": lambda: pandas.DataFrame({"text": TEXTS, "c": [{"a": 1}, "x"]}),
    "lists of several types": lambda: pandas.DataFrame({"text": TEXTS, "c": [[1], ["x"]]}),
    "categories of several types": lambda: pandas.DataFrame({"text": TEXTS, "c": pandas.Categorical([1, "x"])}),
    "integers that a double rounds": lambda: pandas.DataFrame({"text": TEXTS, "c": [2**70, 0.5]}).astype({"c": object}),
    "a stream of frames": lambda: iter([pandas.DataFrame({"text": TEXTS, "c": [1, "x"]})]),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_column_without_one_type_is_named_with_the_cure(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"column 'c' .*Give it values of one type, such as text, or leave it out"):
        kept(tmp_path, REFUSED[name]())


def test_two_columns_of_one_name_are_a_refusal(tmp_path: Path) -> None:
    frame = pandas.DataFrame([["a b", 1, 2]], columns=["text", "c", "c"])
    with pytest.raises(DataError, match="the frame cannot be read as a table: .*[Dd]uplicate"):
        kept(tmp_path, frame)


COLUMNS = {
    "pandas": lambda: pandas.Series(TEXTS),
    "polars": lambda: polars.Series(TEXTS),
    "array": lambda: pyarrow.array(TEXTS),
    "chunks": lambda: pyarrow.chunked_array([TEXTS]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_one_column_is_refused_with_the_cure(tmp_path: Path, kind: str) -> None:
    with pytest.raises(DataError, match="which is one column. Make a table of it"):
        kept(tmp_path, COLUMNS[kind]())
