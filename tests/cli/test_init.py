"""`refinery init`: a recipe for the user's data that is correct as it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.conftest import Call

SAMPLES = [
    {
        "url": f"https://example.com/{n}",
        "meta": {"te.xt": f"a note on {n}"},
        "body": f"a long text number {n} " * 9,
        "n": n,
    }
    for n in range(30)
]


def written(kind: str) -> str:
    """The samples in a file."""
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(SAMPLES), "my docs.parquet")
    elif kind == "csv":
        lines = ["url,body,n", *(f"{row['url']},{row['body']},{row['n']}" for row in SAMPLES)]
        Path("my docs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        Path("my docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SAMPLES), encoding="utf-8")
    return f"my docs.{kind}"


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
def test_the_recipe_runs_as_it_is_written(folder: Path, call: Call, kind: str) -> None:
    done = call("init", written(kind))
    assert done.code == 0 and "my_docs.yaml is written" in done.out
    content = yaml.safe_load(Path("my_docs.yaml").read_text(encoding="utf-8"))
    assert content["text_keys"] == "body"
    again = call("run", "my_docs.yaml", "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["rows"]["kept"] == 30


def test_fields_are_described(folder: Path, call: Call) -> None:
    call("init", written("jsonl"), "-o", "first.yaml")
    text = Path("first.yaml").read_text(encoding="utf-8")
    assert "refinery run first.yaml --show" in text and "Fields of 30 samples" in text
    assert '#   "body": text, 19' in text and '#   "n": a number' in text
    assert '#   "meta.\\"te.xt\\"": text, 1' in text


def test_a_nested_field_may_be_the_text(folder: Path, call: Call) -> None:
    Path("a.jsonl").write_text(json.dumps({"id": "x", "meta": {"te.xt": "a long text"}}) + "\n", encoding="utf-8")
    assert call("init", "a.jsonl").code == 0
    assert call("run", "a.yaml", "--quiet").code == 0


def test_no_file_is_overwritten(folder: Path, call: Call) -> None:
    Path("my_docs.yaml").write_text("mine", encoding="utf-8")
    done = call("init", written("jsonl"))
    assert done.code == 6 and "my_docs.yaml: is there already" in done.err
    assert Path("my_docs.yaml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"n": 1}\n', "no field holds text. Its fields are n"), ("no json\n", "no sample can be read")],
)
def test_data_without_text(folder: Path, call: Call, content: str, message: str) -> None:
    Path("a.jsonl").write_text(content, encoding="utf-8")
    done = call("init", "a.jsonl")
    assert done.code == 3 and message in done.err and not Path("a.yaml").exists()


def test_data_that_are_missing(folder: Path, call: Call) -> None:
    done = call("init", "nowhere.jsonl")
    assert done.code == 3 and "nowhere.jsonl" in done.err
