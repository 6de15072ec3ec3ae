"""Values of a parameter to try: `10,20,50`, `10..200`, `0.1..0.5:0.05`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from refinery.errors import Problem, RecipeError
from refinery.operators import Param
from refinery.recipe.parse import parse_option
from refinery.recipe.tree import Problems, SourcePlace
from refinery.recipe.values import take

# Approximate number of values in a range without a step.
_ABOUT = 20
# More values of one parameter are a mistake.
_MOST = 1000

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(?::\s*({_NUMBER})\s*)?", re.ASCII)


def read_values(param: Param, text: str) -> list[Any]:
    """Read the values of `--param name=text`, each once, in order. Raises RecipeError for values of another type.

    `a..b:c` is a, a + c, ... up to b; without c it is cut at round numbers into about 20 values, both ends included.
    """
    place, problems = SourcePlace(f"--param {param.name}"), Problems()
    values: list[Any] = []
    for piece in text.split(","):
        for value in _spelled(param, piece, str(place)):
            values.append(take(parse_option(value, place), param, param.name, problems))
    if problems.found:
        raise RecipeError(problems.sorted())
    return list(dict.fromkeys(values))


def _spelled(param: Param, piece: str, where: str) -> Iterator[str]:
    """The single values that one part of the text stands for, as texts."""
    match = _RANGE.fullmatch(piece)
    if match is None:
        yield piece.strip()
        return
    low, high = Decimal(match[1]), Decimal(match[2])
    step = Decimal(match[3]) if match[3] else round_step(high - low, param.type == "int")
    if high < low or step <= 0:
        raise RecipeError([Problem(where, f"{piece.strip()!r} has no values", "Write low..high, or low..high:step.")])
    count = int((high - low) / step) + 1
    if count > _MOST:
        raise RecipeError([Problem(where, f"{piece.strip()!r} is {count:,} values", f"At most {_MOST:,} are tried.")])
    if match[3]:
        yield from (f"{low + k * step:f}" for k in range(count))
        return
    start = ((low / step).to_integral_value(ROUND_FLOOR) + 1) * step
    yield f"{low:f}"
    yield from (f"{start + k * step:f}" for k in range(count) if start + k * step < high)
    yield f"{high:f}"


def round_step(span: Decimal, is_integer: bool) -> Decimal:
    """The smallest step of 1, 2 or 5 times a power of ten that cuts a span into about 20 pieces at most."""
    if span <= 0:
        return Decimal(1)
    power = Decimal(10) ** ((span / _ABOUT).adjusted())
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= _ABOUT)
    return max(step, Decimal(1)) if is_integer else step
