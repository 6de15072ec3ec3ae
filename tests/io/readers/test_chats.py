"""Lists of chat messages as texts: of lines and of tables, by a template, cut anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from refinery.io.chat_texts import TEMPLATE, NoMessages, Template
from tests.runs import exported, rows, write_lines

CHATS = [
    {"id": k, "messages": [{"role": "user", "content": f"ask {k}"}, {"role": "assistant", "content": 'Größe\n"ja"'}]}
    for k in range(60)
]
TEXTS = [f'user: ask {k}\nassistant: Größe\n"ja"\n' for k in range(60)]


def run(tmp_path: Path, path: Path, **options: Any) -> Any:
    source = {"path": str(path), "text_from": "messages", **options}
    steps = [{"text_length_filter": {"min_len": 1}}]
    return refinery.run(
        {
            "dataset": source,
            "export_path": str(tmp_path / "run" / "o.jsonl"),
            "shard_size": 900,
            "np": 2,
            "process": steps,
        }
    )


def test_lines_and_tables(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", CHATS)
    pq.write_table(pa.Table.from_pylist(CHATS), tmp_path / "b.parquet", row_group_size=20)
    for name in ("a.jsonl", "b.parquet"):
        found = exported(run(tmp_path / name.replace(".", "_"), tmp_path / name))
        assert [row.pop("text") for row in found] == TEXTS and found == CHATS


def test_a_template_and_an_old_text(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"text": "old", "messages": [{"from": "a", "value": "b"}]}])
    [row] = exported(run(tmp_path, tmp_path / "a.jsonl", template="<|{from}|>{ value }{}<end>"))
    assert row["text"] == "<|a|>b{}<end>" and json.dumps(row).count('"text"') == 1


def test_samples_without_messages_go_to_quarantine(tmp_path: Path) -> None:
    bad = [{"messages": None}, {"id": 1}, {"messages": "text"}, {"messages": ["x"]}, {"messages": [{"value": "x"}]}]
    write_lines(tmp_path / "a.jsonl", [CHATS[0], *bad, {"messages": []}, CHATS[1]])
    found = run(tmp_path, tmp_path / "a.jsonl")
    assert (found.counts.read, found.counts.kept, found.counts.removed, found.counts.quarantined) == (8, 2, 1, 5)
    assert rows(found, "quarantine", "line, error") == [
        *((line, "the field 'messages' is no list of messages") for line in (2, 3, 4)),
        (5, "the field 'messages' has no object as message 1"),
        (6, "the field 'messages' has none of the template's fields in message 1"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, "b"], "ab"),
        ({"x": "ä"}, '{"x": "ä"}'),
        (7, "7"),
    ],
)
def test_contents_that_are_no_text(content: Any, text: str) -> None:
    assert Template.of(TEMPLATE).text_of([{"role": "r", "content": content}]) == f"r: {text}\n"


def test_wrong_templates_are_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", CHATS)
    with pytest.raises(RecipeError, match="template has no field of messages, such as"):
        run(tmp_path, tmp_path / "a.jsonl", template="plain")
    with pytest.raises(NoMessages):
        Template.of("{a}").text_of({})
