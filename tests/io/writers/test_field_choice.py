"""Fields of exported samples, chosen, renamed and left out: lines and tables against plain Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.io.writers.field_choice import FieldChoice, NamedFields
from refinery.kernels.core.arrow import texts

NAMES = ["a", "b", "c", 'q"uote', "größe", "new", "deep"]
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=4), st.lists(st.integers(0, 3), max_size=2)
)
INNER = st.dictionaries(st.sampled_from(["x", "y", "z"]), VALUES, max_size=3)
SAMPLES = st.dictionaries(st.sampled_from(NAMES), st.one_of(VALUES, INNER), max_size=5)


def expected(sample: dict[str, Any], fields: NamedFields) -> dict[str, Any]:
    """The meaning of a choice in plain Python."""
    choice = FieldChoice(fields)
    values = {}
    for keys, name in choice.named:
        value: Any = sample
        for key in keys:
            value = value[key] if isinstance(value, dict) and key in value else KeyError
        if value is not KeyError and name is not None:
            values[name] = value
    if not choice.keeps_others:
        return values
    rest = json.loads(json.dumps(sample))
    for keys, _ in choice.named:
        inner: Any = rest
        for key in keys[:-1]:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner.pop(keys[-1], None)
    targets = {name for _, name in choice.chosen}
    return {name: value for name, value in rest.items() if name not in targets} | values


CHOICES: list[NamedFields] = [
    (("a", "a"), ("b", "b")),
    (("b", "new"), ("deep.x", "x"), ("größe", "size")),
    (("*", "*"), ("a", None)),
    (("*", "*"), ("a", "b"), ("b", "a")),
    (("*", "*"), ("deep.x", None), ("deep.y", "y"), ('q"uote', None)),
    (("*", "*"), ("c", "new"), ("deep.z", "c")),
]


@pytest.mark.parametrize("fields", CHOICES)
@given(samples=st.lists(SAMPLES, max_size=6), loose=st.booleans())
def test_lines_have_the_chosen_fields(fields: NamedFields, samples: list[dict[str, Any]], loose: bool) -> None:
    separators = (" , ", " : ") if loose else (",", ":")
    lines = [json.dumps(sample, ensure_ascii=loose, separators=separators) + "\n" for sample in samples]
    view = texts(pa.array(lines, pa.string()))
    data, offsets = FieldChoice(fields).of_lines((view.data, view.offsets))
    assert len(offsets) == len(samples) + 1
    found = [data[a:b].tobytes().decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in found)
    assert [json.loads(line) for line in found] == [expected(sample, fields) for sample in samples]


def test_values_are_copied_byte_by_byte() -> None:
    line = '{"n": 1.50, "big": 123456789012345678901234567890, "t": "\\u00e9\\/", "drop": {"a": [1, {"b": "}"}]}, "z": 1e5}\n'
    choice = FieldChoice((("*", "*"), ("drop", None), ("t", "text")))
    data, _ = choice.of_lines((np.frombuffer(line.encode(), np.uint8), np.array([0, len(line)])))
    assert data.tobytes().decode() == (
        '{"n": 1.50, "big": 123456789012345678901234567890, "text": "\\u00e9\\/", "z": 1e5}\n'
    )


def test_repeated_members_are_all_left_out_and_the_last_is_chosen() -> None:
    line = '{"a": 1, "b": 2, "a": 3}\n'
    lines = np.frombuffer(line.encode(), np.uint8), np.array([0, len(line)])
    assert FieldChoice((("*", "*"), ("a", None))).of_lines(lines)[0].tobytes() == b'{"b": 2}\n'
    assert FieldChoice((("a", "n"),)).of_lines(lines)[0].tobytes() == b'{"n": 3}\n'


@pytest.mark.parametrize("fields", CHOICES)
def test_tables_have_the_chosen_columns(fields: NamedFields) -> None:
    samples: list[dict[str, Any]] = [
        {"a": 1, "b": "x", "deep": {"x": 1, "y": "p", "z": None}, "c": 5},
        {"a": None, "b": "y", "deep": None, "c": 6},
    ]
    table = FieldChoice(fields).of_table(pa.Table.from_pylist(samples))
    for row, sample in zip(table.to_pylist(), samples, strict=True):
        wanted = expected(sample, fields)
        assert {name: value for name, value in row.items() if value is not None} == {
            name: value for name, value in wanted.items() if value is not None
        }
    assert [
        name for name in FieldChoice(fields).names(list(samples[0])) if name in table.column_names
    ] == table.column_names
