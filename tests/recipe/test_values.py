"""YAML values and parameters: the value's spelling counts, not YAML 1.1's guess at its type."""

from __future__ import annotations

import math
from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.recipe import load, loads
from refinery.recipe.tree import Problems, from_python
from refinery.recipe.values import take
from tests.recipe.fake_library import MAX, Library, Param, operator

KINDS = ["int", "float", "bool", "str", "regex", "sql", "list[str]", "list[int]", "str_or_list", "any"]
LIBRARY = Library({"x_mapper": operator("x_mapper", *(Param(kind, kind, None, nullable=True) for kind in KINDS))})


def value(kind: str, written: str) -> Any:
    text = f"dataset_path: a.jsonl\nprocess:\n  - x_mapper:\n      {kind!r}: {written}\n"
    return loads(text, library=LIBRARY).steps[0].params[kind]


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        ("int", "2e5", 200000),
        ("int", "1E3", 1000),
        ("int", "200.0", 200),
        ("int", "'200'", 200),
        ("int", "1_000", 1000),
        ("int", "+7", 7),
        ("int", "0x10", 16),
        ("int", str(MAX), MAX),
        ("int", "9007199254740993", 9007199254740993),
        ("float", "1e-5", 1e-5),
        ("float", "3", 3.0),
        ("float", ".5", 0.5),
        ("float", "'0.25'", 0.25),
        ("float", ".inf", math.inf),
        ("float", "-.INF", -math.inf),
        ("bool", "yes", True),
        ("bool", "Off", False),
        ("bool", "'true'", True),
        ("bool", "'No'", False),
        ("str", "no", "no"),
        ("str", "on", "on"),
        ("str", "1.10", "1.10"),
        ("str", "010", "010"),
        ("str", "12:30:45", "12:30:45"),
        ("str", "2024-01-02", "2024-01-02"),
        ("str", "''", ""),
        ("str", "'null'", "null"),
        ("str", "null", None),
        ("str", "", None),
        ("str", "!!str 12", "12"),
        ("regex", r"'\p{P}{3}'", r"\p{P}{3}"),
        ("regex", r"'[{]{2}\w+'", r"[{]{2}\w+"),
        ("sql", "score > 2 and lang = 'no'", "score > 2 and lang = 'no'"),
        ("list[str]", "[no, 1.10, 'x']", ("no", "1.10", "x")),
        ("list[int]", "[1e3, '2', 3.0]", (1000, 2, 3)),
        ("list[str]", "[]", ()),
        ("str_or_list", "no", "no"),
        ("str_or_list", "[no, en]", ("no", "en")),
        ("any", "no", False),
        ("any", "1e3", "1e3"),
        ("any", "{a: [1, {b: 2.5}], c: no}", {"a": [1, {"b": 2.5}], "c": False}),
        ("any", "[1, [2]]", (1, [2])),
        ("any", r'"\ud83d\ude00"', "\U0001f600"),
    ],
)
def test_value(kind: str, written: str, expected: Any) -> None:
    found = value(kind, written)
    assert found == expected
    assert type(found) is type(expected)


REFUSED = {
    "int": ["1.5", "yes", "1e400", "1e-999999999", "''", "9223372036854775808", "012", "1:30", "0b", "[1]", "\u0663"],
    "float": [".nan", "1e400", "1:30", "false"],
    "bool": ["1", "t"],
    "str": ["[a]", "{a: b}", r'"\ud83d"'],
    "list[str]": ["a", "[a, ~]"],
    "list[int]": ["[1, a]"],
    "str_or_list": ["{a: b}"],
}


@pytest.mark.parametrize(("kind", "written"), [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_refused(kind: str, written: str) -> None:
    with pytest.raises(RecipeError, match=r"^recipe.yaml:4: "):
        value(kind, written)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("int", 5, 5),
        ("int", 5.0, 5),
        ("int", True, None),
        ("int", 10**400, None),
        ("float", 5, 5.0),
        ("float", 10**400, None),
        ("float", math.inf, math.inf),
        ("float", False, None),
        ("str", False, None),
        ("str", 12, "12"),
        ("str", "no", "no"),
        ("bool", "false", False),
        ("list[str]", ("a", "b"), ("a", "b")),
        ("list[str]", "a,b", None),
        ("any", {"a": (1, 2)}, {"a": [1, 2]}),
    ],
)
def test_python_values(kind: str, given: Any, expected: Any) -> None:
    problems = Problems()
    node = from_python(given, "p", problems)
    assert take(node, Param("p", kind, None), "p", problems) == expected
    assert bool(problems.found) == (expected is None)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("128MB", 128_000_000),
        ("1.5 GiB", 1_610_612_736),
        ("4g", 4_000_000_000),
        ("2e6", 2_000_000),
        ("5", 5),
        ("7B", 7),
    ],
)
def test_sizes(written: str, expected: int) -> None:
    recipe = loads(f"dataset_path: a\nmemory_limit: {written}\nprocess: [x_mapper]", library=LIBRARY)
    assert recipe.memory_limit == expected


@pytest.mark.parametrize("written", ["much", "1.5", "4XB", "1e30GB", ".GB", "iB", "yes"])
def test_sizes_refused(written: str) -> None:
    with pytest.raises(RecipeError, match="memory_limit must be"):
        loads(f"dataset_path: a\nmemory_limit: {written}\nprocess: [x_mapper]", library=LIBRARY)


@pytest.mark.parametrize(("written", "limit"), [("all", None), ("ALL", None), ("50", 50), ("0", 0), ("1e2", 100)])
def test_trace_num(written: str, limit: int | None) -> None:
    recipe = loads(f"dataset_path: a\ntrace_num: {written}\nprocess: [x_mapper]", library=LIBRARY)
    assert recipe.traces.limit == limit


def test_python_values_that_no_recipe_holds() -> None:
    recursive: dict[str, Any] = {}
    recursive["again"] = recursive
    bad = {
        "dataset_path": "a",
        "process": [{"x_mapper": {"any": recursive}}],
        "np": object(),
        5: 6,
        "work_dir": "\ud800",
    }
    with pytest.raises(RecipeError) as error:
        load(bad, library=LIBRARY)
    assert {problem.where.split(".")[0] for problem in error.value.problems} == {"process", "np", "recipe", "work_dir"}
