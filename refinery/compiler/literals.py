"""Texts in a user's SQL that are compared with numbers, and are none: the comparison would fail for every sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from refinery.common.lazy import exp
from refinery.compiler.stability import reads_elsewhere

_NUMBERS = (
    "BIGINT",
    "INTEGER",
    "SMALLINT",
    "TINYINT",
    "UBIGINT",
    "UINTEGER",
    "HUGEINT",
    "UHUGEINT",
    "DOUBLE",
    "FLOAT",
    "DECIMAL",
)


def require_numbers(expression: exp.Expr, types: Mapping[str, str]) -> None:
    """Raise ValueError for a column of numbers that is compared with a text that is no number. types: of columns."""
    for node in expression.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between):
        sides = list(node.iter_expressions())
        kinds = {name: kind for side in sides for name, kind in _numbers(side, types) if not reads_elsewhere(node)}
        wrong = [
            side.name
            for side in sides
            if isinstance(side, exp.Literal) and side.is_string and not _is_number(side.name)
        ]
        if kinds and wrong:
            name, kind = next(iter(kinds.items()))
            raise ValueError(
                f"{name} is {kind}, and {wrong[0]!r} is no number; compare it with a number, or CAST it AS VARCHAR"
            )


def _numbers(side: exp.Expr, types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(side, exp.Column) and len(side.parts) == 1:
        kind = types.get(side.name, "").upper()
        if kind.startswith(_NUMBERS) and not kind.endswith("]"):
            yield side.name, kind


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
