"""CSV with other marks, headers and encodings: the same rows at any number of shards, wrong ones refused or in quarantine."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RefineryError
from refinery.execution.open import open_recipe
from tests.runs import exported, rows
from tests.sampling import first_of_each

ROWS = [(f"Übung {k}; \"so\" 'und'\tso, ja\n" * (k % 3) + f"Größe {k}", k) for k in range(400)]


def text(quote: str = '"', delimiter: str = ",", header: bool = True) -> str:
    """The rows as Python writes them."""
    room = io.StringIO()
    options: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    writer = csv.writer(room, delimiter=delimiter, **options)
    plain = [(a.replace("\n", " ").replace("|", "/"), k) for a, k in ROWS] if not quote else ROWS
    writer.writerows([("text", "n"), *plain] if header else plain)
    return room.getvalue()


def run(tmp_path: Path, data: bytes, size: int = 1 << 30, name: str = "a.csv", **options: Any) -> Any:
    (tmp_path / name).write_bytes(data)
    source = {"path": str(tmp_path / name), **options}
    steps = [{"text_length_filter": {"min_len": 0}}]
    places = {"export_path": str(tmp_path / "run" / f"out{size}.jsonl"), "work_dir": str(tmp_path / f"run{size}")}
    return refinery.run({"dataset": source, **places, "np": 2, "shard_size": size, "process": steps})


# A file that is cut into shards; one that is not is `long`.
SIZES = [4_000, pytest.param(1 << 30, marks=pytest.mark.long)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("quote", "delimiter"), first_of_each(product("\"'", ",;\t|"), lambda quote, delimiter: (quote, delimiter in ",|"))
)
def test_marks(tmp_path: Path, delimiter: str, quote: str, size: int) -> None:
    found = run(tmp_path, text(quote, delimiter).encode(), size, delimiter=delimiter, quote=quote)
    assert [(row["text"], row["n"]) for row in exported(found)] == ROWS
    assert found.counts.quarantined == 0


def test_without_quotes_every_line_is_a_record(tmp_path: Path) -> None:
    data = b'text|n\n"a|1\nb"|2\n""|3\n'
    found = exported(run(tmp_path, data, delimiter="|", quote=""))
    assert [(row["text"], row["n"]) for row in found] == [('"a', 1), ('b"', 2), ('""', 3)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-be", "utf-8-sig", "utf-32"])
def test_encodings(tmp_path: Path, encoding: str, size: int) -> None:
    found = run(tmp_path, text().encode(encoding), size, encoding=encoding)
    assert [(row["text"], row["n"]) for row in exported(found)] == ROWS


def test_bytes_that_the_encoding_does_not_have_cost_their_record(tmp_path: Path) -> None:
    data = b"text,n\r\ngut \xe4,1\r\nbad \x81\x8d,2\r\nauch \xf6,3\r\n"
    found = run(tmp_path, data, encoding="cp1252")
    assert [row["text"] for row in exported(found)] == ["gut ä", "auch ö"]
    assert rows(found, "quarantine", "line, error") == [(3, "bytes that are not cp1252")]


@pytest.mark.parametrize("size", [1 << 30, 2_000])
def test_columns_without_a_header(tmp_path: Path, size: int) -> None:
    data = text(header=False).encode()
    found = run(tmp_path, data, size, header=False, columns=["text", "n"])
    assert [(row["text"], row["n"]) for row in exported(found)] == ROWS
    again = run(tmp_path, data, size, columns=["text", "n"])  # the first record counts as a header
    assert [(row["text"], row["n"]) for row in exported(again)] == ROWS[1:]


def test_columns_are_numbered_without_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("eins,1\nzwei,2\n")
    source = {"path": str(tmp_path / "a.csv"), "header": False}
    recipe = {"dataset": source, "text_keys": "column0", "export_path": str(tmp_path / "o.jsonl")}
    found = refinery.run({**recipe, "process": [{"text_length_filter": {"min_len": 0}}]})
    assert exported(found) == [{"column0": "eins", "column1": 1}, {"column0": "zwei", "column1": 2}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delimiter": ";;"}, "delimiter must be one ASCII character"),
        ({"delimiter": "a"}, "delimiter must be one ASCII character"),
        ({"quote": "§"}, "quote must be one ASCII character"),
        ({"encoding": "cp1253x"}, "encoding 'cp1253x' is not known to Python. Did you mean 'cp125"),
        ({"encoding": "base64"}, "encoding 'base64' is not known"),
        ({"columns": ["a", "a"]}, "columns must be different names"),
        ({"columns": ["a"]}, "the recipe names 1 columns, but the file has 2"),
        ({"header": "maybe"}, "header must be"),
        ({"delimitr": ";"}, "has no key 'delimitr'. Did you mean 'delimiter'?"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(RefineryError) as error:
        run(tmp_path, b"text,n\na,1\n", **options)
    assert said in str(error.value)


def test_options_of_another_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefineryError, match=r"is read as jsonl, which has no delimiter; csv and tsv have"):
        run(tmp_path, b'{"text": "a"}\n', name="a.jsonl", delimiter=";")
    found = run(tmp_path, b"text;n\na;1\n", name="a.dat", delimiter=";", format="csv")
    assert exported(found) == [{"text": "a", "n": 1}]


def test_the_options_are_in_the_recipe_of_the_run_and_in_keys(tmp_path: Path) -> None:
    data = b"text;a,text\nx;y,z\n"
    first = run(tmp_path, data, delimiter=";")
    wanted = exported(first)
    assert wanted == [{"text": "x", "a,text": "y,z"}]
    stored, _ = open_recipe(first.work_dir / ".refinery" / "recipe.yaml")
    assert stored.inputs[0].options == (("delimiter", ";"),)
    assert exported(run(tmp_path, data, delimiter=",")) == [{"text;a": "x;y", "text": "z"}]
    assert exported(run(tmp_path, data, delimiter=";")) == wanted
