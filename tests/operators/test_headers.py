"""Headers of operators that do not keep their contract are refused, naming the file and the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.errors import OperatorError
from refinery.execution.open import open_recipe
from refinery.operators import Library
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
        ({"bounds": "{size: [null, null]}"}, "bounds of 'size' name no parameter"),
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
    path.write_text(HEADER.format(**parts | {"bounds": "{size: [null, most]}"}))
    assert read_operator(path).bounds == {"size": [None, "most"]}
    path.write_text(HEADER.format(**parts | given))
    with pytest.raises(OperatorError, match=message):
        read_operator(path)


DEPENDING = """/*---
doc: A filter.
version: 1
params:
  least: {{type: int, default: 1, doc: Least.}}
  unit: {{type: str, default: words, choices: [words, bytes], doc: Unit.}}
  most: {{type: int, default: 9, choices: {choices}, default_when: {rules}, doc: Most.}}
stats: {{size: {{type: BIGINT}}}}
bounds: {{size: [least, most]}}
examples: []
---*/
SELECT length(text) AS size
"""


def test_a_default_may_depend_on_other_parameters(tmp_path: Path) -> None:
    path = tmp_path / "filters" / "size_filter.sql"
    path.parent.mkdir()
    rules = "[{when: {unit: bytes, least: 2}, default: 50}, {when: {unit: bytes}, default: 40}]"
    path.write_text(DEPENDING.format(rules=rules, choices="[9, 40, 50]"))

    def most(**given: Any) -> Any:
        recipe, _ = open_recipe({"process": [{"size_filter": given}]}, operators=[tmp_path], need_inputs=False)
        return recipe.steps[0].params["most"]

    assert [most(), most(unit="bytes"), most(unit="bytes", least=2), most(unit="bytes", most=9)] == [9, 40, 50, 9]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("[{when: {units: bytes}, default: 40}]", "cannot depend on 'units'.*unit"),
        ("[{when: {most: 9}, default: 40}]", "cannot depend on 'most'"),
        ("[{when: {unit: bytes}, default: 41}]", "has 41, which is no choice"),
        ("[{when: unit, default: 40}]", "must have items"),
        ("[{unit: bytes}]", "must have items"),
    ],
)
def test_a_default_that_cannot_be_is_named(tmp_path: Path, rules: str, message: str) -> None:
    path = tmp_path / "filters" / "size_filter.sql"
    path.parent.mkdir()
    path.write_text(DEPENDING.format(rules=rules, choices="[9, 40]"))
    with pytest.raises(OperatorError, match=message):
        read_operator(path)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("stats: {size: Characters.}", "statistic 'size' must be a mapping with type and doc, not 'Characters.'"),
        ("stats: {size: }", "statistic 'size' must be a mapping"),
        ("stats: [size]", r"stats must be a mapping of names, not \['size'\]"),
        ("params: [least]", "params must be a mapping of names"),
    ],
)
def test_a_field_of_a_header_that_is_no_mapping_is_named(tmp_path: Path, field: str, message: str) -> None:
    path = tmp_path / "filters" / "size_filter.sql"
    path.parent.mkdir()
    path.write_text(f"/*---\ndoc: Keep.\nversion: 1\n{field}\n---*/\nSELECT 1 AS size, true AS keep\n")
    with pytest.raises(OperatorError, match=message):
        read_operator(path)


def test_functions_of_shipped_files_have_different_names() -> None:
    """One script may call functions of several operators and features, and `refinery.register` adds them all."""
    library = Library()
    files: dict[str, set[Path]] = {}
    for one in (*library.operators.values(), *library.features.values()):
        for function in one.functions:
            files.setdefault(function.name.lower(), set()).add(function.path)
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
