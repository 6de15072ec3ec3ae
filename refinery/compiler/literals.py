"""Literals in a user's SQL that a column of numbers cannot be compared with: texts, and whole numbers that its type has not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

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
    """Raise ValueError for a column of numbers that is compared with a text that is no number, or with a whole number that a DOUBLE would round.

    types: of columns.
    """
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
        _require_exact(kinds, sides)


def _require_exact(kinds: Mapping[str, str], sides: Sequence[exp.Expr]) -> None:
    """Raise ValueError for a DOUBLE beside a whole number that has no DOUBLE: DuckDB would compare with another number."""
    real = next((name for name, kind in kinds.items() if kind.startswith(("DOUBLE", "FLOAT"))), None)
    plain = [side.this if isinstance(side, exp.Neg) else side for side in sides]
    numbers = [number for number in plain if isinstance(number, exp.Literal) and _is_rounded(number)]
    if real is not None and numbers:
        what = f"{real} is {kinds[real]}, in which {numbers[0].name} would be {float(numbers[0].name):.0f}"
        raise ValueError(
            f"{what}; declare {real} as DECIMAL under fields, or compare it with a number of up to 15 digits"
        )


def _is_rounded(literal: exp.Literal) -> bool:
    if literal.is_string or not literal.name.isdigit():
        return False
    rounded = float(literal.name)
    return math.isfinite(rounded) and int(rounded) != int(literal.name)  # DuckDB refuses numbers that long itself


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
