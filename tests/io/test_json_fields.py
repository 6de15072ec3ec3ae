"""Lines without their text: every other field stays, and a line that cannot be parsed is unchanged."""

from __future__ import annotations

import json

import pytest

from refinery.io.json_fields import find_member, without
from refinery.kernels.core.arrow import of_texts

LINES = [
    '{"text": "a long \\" text", "url": "u"}\n',
    ' { "url" : {"text": "inner"} , "text":"" , "n": [1, 2] } ',
    '{"text": "one", "text": "two", "a": 1}',
    '{"text": null, "a": 1}',
    '{"a": 1}',
    '{"te\\u0078t": "spelled", "a": "ü"}',
    '{"text": "cut off',
]


@pytest.mark.parametrize("start", [0, 2])
def test_the_rest_of_lines(start: int) -> None:
    column = of_texts(LINES)[start:]
    found = without(column, find_member(column, "text")).to_pylist()
    for line, rest in zip(LINES[start:], found, strict=True):
        try:
            pairs = json.loads(line, object_pairs_hook=list)
        except ValueError:
            assert rest == line
            continue
        texts = [value for name, value in pairs if name == "text"]
        if len(texts) == 1 and isinstance(texts[0], str):
            assert json.loads(rest) == json.loads(line) | {"text": ""}
        else:
            assert rest == line
