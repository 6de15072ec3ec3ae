"""Lines with a key that stands twice: what is judged, changed and written is what Python reads, the last of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.io.duplicate_keys import last_of_each
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from refinery.kernels.json import jsoncheck
from tests.examples import share_of
from tests.runs import lines_of, refine

KEYS = st.sampled_from(
    ["text", "meta", "a", "b", "", 'q"', "\\", "é", "😀", "key of more than eight bytes", "key of more"]
)
SPACE = st.sampled_from(["", " ", "\t", "  "])
SCALARS = st.sampled_from(["1", "-0.50", "1e400", "12345678901234567890123", "null", "true", "NaN", '"x"', '"}{][,:"'])


@st.composite
def spelled(draw: st.DrawFn, name: str) -> str:
    """A key as JSON, some of its characters as escapes that are not needed."""
    found = json.dumps(name, ensure_ascii=draw(st.booleans()))
    if "\\" in found or not draw(st.booleans()):
        return found
    return '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 0xFFFF else c for c in name) + '"'


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.builds("".join, st.tuples(SPACE, KEYS.flatmap(spelled), SPACE, st.just(":"), SPACE, values, SPACE))
    return st.lists(member, max_size=5).map(lambda members: "{" + ",".join(members) + "}")


ARRAYS = st.lists(SCALARS, max_size=2).map(lambda items: "[" + ",".join(items) + "]")
VALUES = st.recursive(SCALARS | ARRAYS, lambda inner: objects(inner) | inner.map("[{}]".format), max_leaves=8)
LINES = objects(VALUES)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)


def kind_of(line: str) -> int:
    raw = line.encode()
    kinds = np.zeros(2, np.uint8)
    for k, behind in enumerate((b" ", 40 * b'"\\')):
        data = np.frombuffer(raw + behind, np.uint8)[: len(raw) + len(behind) * k]
        jsoncheck.objects(data, np.array([0]), np.array([len(raw)]), kinds[k : k + 1])
    assert kinds[0] == kinds[1]
    return int(kinds[0])


def has_repeated(line: str) -> bool:
    try:
        json.loads(line, object_pairs_hook=unique)
    except AssertionError:
        return True
    return False


@settings(max_examples=share_of(200))
@given(LINES)
def test_lines_say_afterwards_to_all_readers_what_they_say_to_python(line: str) -> None:
    assert kind_of(line) == (jsoncheck.REPEATING if has_repeated(line) else jsoncheck.OBJECT)
    found = last_of_each(line.encode()).decode()
    assert not has_repeated(found)
    assert json.dumps(json.loads(found), sort_keys=True) == json.dumps(json.loads(line), sort_keys=True)
    assert (found == line) == (not has_repeated(line))


@settings(max_examples=share_of(75, least=15))
@given(st.lists(LINES, min_size=1, max_size=8), st.sampled_from([1, 40, 1 << 20]))
def test_readers_give_what_python_reads(tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int) -> None:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a.jsonl").write_text("\n".join([*lines, "broken", lines[0]]))
    (folder / "b.json").write_text("[" + ",\n".join(lines) + "]")
    (folder / "c.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    expected = [json.dumps(json.loads(line), sort_keys=True) for line in [*lines, lines[0]]]
    for name, count in (("a.jsonl", len(expected)), ("b.json", len(lines)), ("c.jsonl.gz", len(lines))):
        found = []
        for shard in cut(find([folder / name])[0], size):
            for batch in read(shard, batch_bytes=100):
                found += [batch.table["_line"][i].as_py() for i in range(len(batch))]
        assert [json.dumps(json.loads(line, object_pairs_hook=unique), sort_keys=True) for line in found] == expected[
            :count
        ]


def test_a_line_of_very_many_keys() -> None:
    for count in (255, 256, 257, 5000):
        members = [f'"k{k}":{k}' for k in range(count)]
        assert kind_of("{" + ",".join(members) + "}") == jsoncheck.OBJECT
        again = [*members, '"k0":"again"']
        assert kind_of("{" + ",".join(again) + "}") == jsoncheck.REPEATING
        nested = ['{"k":1}' for _ in range(count)]
        assert kind_of('{"k":[' + ",".join(nested) + "]}") == jsoncheck.OBJECT
    long = "x" * 3000
    assert kind_of(f'{{"{long}a":1,"{long}b":2}}') == jsoncheck.OBJECT
    line = f'{{"{long}a":1,"{long}\\u0061":2}}'
    assert kind_of(line) == jsoncheck.REPEATING
    assert json.loads(last_of_each(line.encode()), object_pairs_hook=unique) == {f"{long}a": 2}


# Whole runs

SPAM = '{"text": "clean words", "te\\u0078t": "buy spam"}'
CLEAN = '{"text": "buy spam", "n": 1.50, "text": "clean  words"}'
NESTED = '{"text": "nested", "meta": {"lang": "en"}, "meta": {"lang": "de", "k": 1, "k": 2}, "id": 1, "id": 2}'


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line, object_pairs_hook=unique) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("export", ["jsonl", "parquet"])
def test_a_run_judges_and_writes_the_last(tmp_path: Path, export: str) -> None:
    from refinery import api

    (tmp_path / "in.jsonl").write_text(f"{SPAM}\n{CLEAN}\n{NESTED}\n")
    (tmp_path / "r.yaml").write_text(
        f"""
dataset_path: {tmp_path}/in.jsonl
export_path: {tmp_path}/out.{export}
work_dir: {tmp_path}/work
open_tracer: true
trace_keys: [id]
process:
  - sql_filter: {{where: "text NOT LIKE '%spam%' AND coalesce(id, 2) = 2 AND coalesce(meta ->> 'lang', 'de') = 'de'"}}
  - sql_mapper: {{text: "replace(text, '  ', ' ')"}}
  - document_deduplicator:
"""
    )
    api.run(tmp_path / "r.yaml")
    con = duckdb.connect()
    out = f"{tmp_path}/out.{export}"
    found = con.sql(f"SELECT text FROM '{out}' ORDER BY ALL").fetchall()
    assert found == [("clean words",), ("nested",)]
    if export == "jsonl":
        assert rows_of(tmp_path / "out.jsonl") == [
            {"n": 1.5, "text": "clean words"},
            {"text": "nested", "meta": {"lang": "de", "k": 2}, "id": 2},
        ]
        assert '"n": 1.50' in (tmp_path / "out.jsonl").read_text()


def test_stages_that_read_the_input_again_look_for_repeated_keys_only_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    objects = jsoncheck.objects

    def counted(data: np.ndarray, starts: np.ndarray, *more: np.ndarray) -> int:
        looked.append(len(starts))
        return objects(data, starts, *more)

    monkeypatch.setattr(jsoncheck, "objects", counted)
    same, times = '{"text": "the same", "n": 1}', []
    once, twice = '{"text": "another", "n": 2}', '{"text": "another", "n": 1, "n": 2}'
    for name, other in (("first", once), ("once", once), ("twice", twice)):  # the first run may bind its stages
        looked.clear()
        run = refine(tmp_path / name, [same, other, same], [{"document_deduplicator": None}], np=1, audit=0)
        assert [line["n"] for line in lines_of(Path(run.outputs[0]))] == [1, 2]
        assert Path(run.outputs[0]).read_text().count('"n"') == 2
        times.append(looked.count(3))
    assert times[2] == times[1] + 1
