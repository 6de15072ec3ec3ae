"""Evaluation sets of all formats, and messages for those that cannot be used."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.kernels.contamination.contaminations import problems
from refinery.kernels.contamination.items import evaluation_sets, items_of
from refinery.kernels.contamination.set_files import SetError, files_of

ROWS = [
    {"id": "a", "question": "Who came first?", "choices": ["the cat", "the dog"], "answer": 1},
    {"id": "b", "question": "Who came last?", "choices": ["the hen", "the ox"], "answer": 0},
]


def write_table(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path)


def write_stream(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
WRITERS: dict[str, Callable[[Path], Any]] = {
    "set.jsonl": lambda path: path.write_text(LINES),
    "set.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES.encode())),
    "set.json": lambda path: path.write_text(json.dumps(ROWS)),
    "splits.json": lambda path: path.write_text(json.dumps({"version": 2, "data": ROWS})),
    "lines.json": lambda path: path.write_text(LINES),
    "set.parquet": write_table,
    "set.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_each_format_has_the_same_items(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    [one] = evaluation_sets(str(tmp_path / name))
    found = list(items_of(one))
    assert [item.place for item in found] == ["a", "b"]
    assert found[0].parts == (("prompt", "Who came first?"), ("choices", "the cat\nthe dog"))


@pytest.mark.parametrize(("name", "delimiter"), [("set.csv", ","), ("set.tsv", "\t")])
def test_tables_of_text(tmp_path: Path, name: str, delimiter: str) -> None:
    (tmp_path / name).write_text(f"question{delimiter}answer\nWho?{delimiter}I\n")
    [item] = items_of(evaluation_sets({"x": str(tmp_path / name)})[0])
    assert item.place == f"{name}:1" and item.parts == (("prompt", "Who?"), ("answer", "I"))


def test_a_folder_of_a_dataset_has_splits(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# set")
    (tmp_path / "dataset_infos.json").write_text("{}")
    (tmp_path / "all").mkdir()
    for split in ("test", "validation"):
        write_table(tmp_path / "all" / f"{split}-00000-of-00001.parquet")
    assert len(files_of(str(tmp_path))) == 2
    [one] = evaluation_sets({"x": {"path": str(tmp_path), "split": "test"}})
    assert [item.place for item in items_of(one)] == ["a", "b"]
    with pytest.raises(SetError, match="no file is named for the split 'tets'"):
        files_of(str(tmp_path), "tets")


def test_usual_fields_of_known_layouts(tmp_path: Path) -> None:
    rows = [
        {"context": "A passage.", "question": "Q?", "answers": {"text": ["yes"], "answer_start": [0]}},
        {"ctx": "He opens", "endings": ["a door", "a jar"], "label": "1"},
        {"task_id": "t/0", "prompt": "def f():", "canonical_solution": "return 1", "test": "assert f()"},
        {"text": "Write a function.", "code": "x = 1", "task_id": 11},
    ]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(items_of(evaluation_sets([str(tmp_path / "x.jsonl")])[0]))
    assert found[0].passages == ("A passage.",) and found[0].parts == (("prompt", "Q?"), ("answer", "yes"))
    assert found[1].parts[:2] == (("prompt", "He opens"), ("choices", "a door\na jar"))
    assert found[2].place == "t/0" and found[2].parts == (("prompt", "def f():"), ("answer", "return 1"))
    assert found[3].place == "11" and found[3].parts == (("prompt", "Write a function."), ("answer", "x = 1"))


@pytest.mark.parametrize(
    ("content", "sets", "message"),
    [
        ("{\n", "x.jsonl", "x.jsonl:1: not JSON"),
        ("[1]\n", "x.jsonl", "x.jsonl:1: an item must be an object"),
        ("", "x.jsonl", "there is no item"),
        ('{"question": "Who?"}\n{"question": "\xe9"}', "x.jsonl", "x.jsonl:2: not UTF-8 (byte 0xe9)"),
        ('{"question": ""}\n{"question": null}', "x.jsonl", "no item has a text in its fields"),
        ('{"foo": "a"}\n', "x.jsonl", "none of the fields foo has a usual name"),
        ('{"foo": "a"}\n', {"x": {"path": "x.jsonl", "prompt": "fo"}}, "has no field 'fo'"),
        ('{"foo": "a"}\n', {"x": {"path": "x.jsonl", "promt": "foo"}}, "no setting 'promt'"),
        ('{"foo": "a"}\n', ["x.jsonl", "x.jsonl"], "two sets have the name 'x'"),
        ("", "s3://bucket/x.jsonl", "files of this machine"),
        ("", "y.jsonl", "there is no such file or folder"),
    ],
)
def test_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, sets: Any, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text(content, "latin-1")
    [problem] = problems(sets, None, 6)
    assert message in problem


def items_in(folder: Path, *rows: Any, **settings: str) -> list[Any]:
    """Items of JSON lines."""
    (folder / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [one] = evaluation_sets({"s": {"path": str(folder / "set.jsonl"), **settings}})
    return list(items_of(one))


def test_each_row_has_the_fields_that_it_has(tmp_path: Path) -> None:
    """The first row does not decide which fields those after it have."""
    rows = [{"question": "Who?"}, {"question": "Where?", "answer": "here"}, {"context": "Once.", "extra": 1}]
    found = items_in(tmp_path, *rows)
    assert [item.parts for item in found] == [(("prompt", "Who?"),), (("prompt", "Where?"), ("answer", "here")), ()]
    assert found[2].passages == ("Once.",)


def test_a_named_field_may_be_missing_in_some_rows_but_not_in_all(tmp_path: Path) -> None:
    rows = {"q": "Who?"}, {"q": "Where?", "a": "here"}
    assert [len(item.parts) for item in items_in(tmp_path, *rows, prompt="q", answer="a")] == [1, 2]
    with pytest.raises(
        SetError, match=r"set.jsonl:1\): set s has no field 'aa'. Did you mean 'q'\?|set s has no field 'aa'"
    ):
        items_in(tmp_path, *rows, prompt="q", answer="aa")


def test_items_have_different_names(tmp_path: Path) -> None:
    rows = [{"id": 1, "question": "Who?"}, {"id": 1, "question": "Where?"}, {"question": "Why?"}]
    assert [item.place for item in items_in(tmp_path, *rows)] == ["1", "1 (set.jsonl:2)", "set.jsonl:3"]
    for name in ("x", "y"):
        (tmp_path / "d" / name).mkdir(parents=True)
        (tmp_path / "d" / name / "test.jsonl").write_text('{"question": "Who?"}')
    [one] = evaluation_sets(str(tmp_path / "d"))
    assert [item.place for item in items_of(one)] == ["x/test.jsonl:1", "y/test.jsonl:1"]


def test_half_surrogate_pairs_are_question_marks(tmp_path: Path) -> None:
    assert items_in(tmp_path, {"question": "Who\ud800 came?"})[0].parts == (("prompt", "Who? came?"),)


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ('{"question": ' + "[" * 100_000, {}, "nested too deeply"),
        ('{"question": "Who?"}\n{}', {}, "set.jsonl:2): an item without fields"),
        ('{"question": "Who?"}', {"prompt": 3}, "prompt is 3; write the name of a field, or a list of names"),
        ('{"question": "Who?"}', {"prompt": {"a": "b"}}, "write the name of a field, or a list of names"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, content: str, settings: dict[str, Any], message: str) -> None:
    (tmp_path / "set.jsonl").write_text(content)
    [problem] = problems({"s": {"path": str(tmp_path / "set.jsonl"), **settings}}, None, 6)
    assert message in problem
