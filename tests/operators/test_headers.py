"""Headers of operators that do not keep their contract are refused, naming the file and the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.errors import OperatorError
from refinery.operators.headers import read_operator

HEADER = """/*---
doc: A filter.
version: 1
params:
  least: {{type: float, default: {default}, doc: Least.}}
  most: {{type: float, default: 9.0, doc: Most.}}
stats: {{size: {{type: DOUBLE}}}}
bounds: {bounds}
functions: {functions}
examples: []
---*/
SELECT length(text) AS size
"""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bounds": "{size: []}"}, r"bounds of 'size' must be \[lower, upper\], two parameters, not \[\]"),
        ({"bounds": "{size: least}"}, "bounds of 'size' must be"),
        ({"bounds": "[size]"}, "bounds must be a mapping"),
        ({"bounds": "{size: [least, more]}"}, "bounds name 'more', which is neither"),
        ({"default": "1e9"}, "default of parameter 'least' is '1e9', no number; YAML reads 1e9 as text"),
        ({"functions": "{measure: {columns: [VARCHAR]}}"}, "function 'measure' needs `returns`"),
        ({"functions": "{measure: kernel}"}, "function 'measure' needs `returns`"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, given: dict[str, str], message: str) -> None:
    path = tmp_path / "filters" / "size_filter.sql"
    path.parent.mkdir()
    parts = {"default": "1.0", "bounds": "{size: [least, most]}", "functions": "{}"}
    path.write_text(HEADER.format(**parts))
    assert read_operator(path).bounds == {"size": ["least", "most"]}
    path.write_text(HEADER.format(**parts | given))
    with pytest.raises(OperatorError, match=message):
        read_operator(path)
