"""Arrays and objects of JSON over several lines: the broken elements are set apart, the others read."""

from pathlib import Path

import pytest

from tests.io.hostile.everything import read_all


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ('[{"a":1},\n{"a":2,\n{"a":3},\n{"a":4}]', [1, 3, 4], [(2, '{"a":2,', "never ends")]),
        ('[\n  {"a":1},\n  {"a":"2},\n  {"a":3}\n]', [1, 3], [(3, '{"a":"2},', "never ends")]),
        ('[{"a":1}, {"a":tru}, 5, {"a":3}]', [1, 3], [(1, '{"a":tru}', "expecting value"), (1, "5", "not an object")]),
        ('[{"a":1},\n{"a":2}', [1, 2], [(2, "", "not closed")]),
        ('[{"a":1}] 2', [1], [(1, "2", "after the end")]),
        ('[{"a":1}] ]', [1], [(1, "]", "after the end")]),
        ('[{"a":1}]\n[{"a":2},\n', [1, 2], [(3, "", "not closed")]),
        (
            '[{"a":1}]\n[{"a":2}, 5]\n{"a":3}\n[{"a":tru}]',
            [1, 2, 3],
            [(2, "5", "not an"), (4, '{"a":tru}', "expecting")],
        ),
        ('[{"a":1},\n{"a":', [1], [(2, '{"a":', "never ends; samples after")]),
        ('[{"a":1}}, {"a":2}]', [1, 2], [(1, "}", "expecting value")]),
        ('[{"a":1} {"a":2},,{"a":3}]', [1, 2, 3], []),
        ('{\n "a": 1\n}\n{\n "a": 2,\n}\n{\n "a": 3\n}', [1, 3], [(4, '{"a": 2,}', "expecting property name")]),
    ],
)
def test_what_is_wrong_in_an_array_is_set_apart(tmp_path: Path, text: str, good: list, bad: list) -> None:
    (tmp_path / "a.json").write_text(text)
    for block in (1 << 20, 1):
        samples, found = read_all(tmp_path / "a.json", batch_bytes=block)
        assert [sample["a"] for sample in samples] == good
        assert [(b.line, b.raw.decode()) for b in found] == [(line, raw) for line, raw, _ in bad]
        assert all(error in b.error for b, (_, _, error) in zip(found, bad, strict=True))


def test_many_broken_elements_take_no_long_time(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" + ",\n".join(['{"a":1,'] * 3000 + ["5"] * 3000) + "]")
    good, bad = read_all(tmp_path / "a.json")
    assert good == [] and len(bad) >= 3000
