"""Every way of comparing is one registered matcher, and nothing else asks for a matcher by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from refinery.dedup.matchers import MATCHERS
from refinery.operators import Library
from refinery.operators.user_matchers import _MEMBERS

PACKAGE = Path(__file__).parent.parent.parent / "refinery"
HOME = PACKAGE / "dedup" / "matchers"


def named(node: ast.AST) -> set[str]:
    """Names of matchers among the constants of an expression."""
    constants = {
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    return constants & MATCHERS.keys()


def decisions(tree: ast.AST) -> Iterator[ast.AST]:
    """Places that decide by a matcher's name: comparisons, cases, and mappings from several names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(named(side) for side in (node.left, *node.comparators)):
            yield node
        elif isinstance(node, ast.MatchValue) and named(node):
            yield node
        elif isinstance(node, ast.Dict) and len({name for key in node.keys if key for name in named(key)}) > 1:
            yield node


@pytest.mark.parametrize(
    "code",
    [
        "operator.match == 'units'",
        "'hamming' != given.operator.match",
        "match in ('keys', 'bands')",
        "FINDERS = {'keys': 1, 'bands': 2}",
        "match operator.match:\n    case 'bands': pass",
    ],
)
def test_a_decision_by_name_is_found(code: str) -> None:
    assert list(decisions(ast.parse(code)))


def test_no_matcher_is_asked_for_by_name() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if HOME not in path.parents and "shipped" not in path.parts]
    assert len(files) > 300
    found = [
        f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"
        for path in files
        for node in decisions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_no_template_asks_for_a_matcher() -> None:
    templates = sorted((PACKAGE.parent / "sql").rglob("_*.sql"))
    assert len(templates) > 20
    assert [path.name for path in templates if "match ==" in path.read_text(encoding="utf-8")] == []


def test_shipped_matchers_have_what_others_must_have() -> None:
    for matcher in MATCHERS.values():
        if not matcher.takes_units:
            assert [member for member in _MEMBERS if not hasattr(matcher, member)] == []


def test_deduplicators_have_the_parameters_of_their_matcher() -> None:
    operators = Library().operators
    found = {name: operators[name] for name in operators if operators[name].kind == "deduplicator"}
    assert len(found) >= 7
    for operator in found.values():
        assert operator.matcher is MATCHERS[operator.match]
        assert operator.params.keys() >= operator.matcher.params.keys()
