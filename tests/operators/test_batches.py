"""The value of a row does not depend on the other rows of its batch: every operator, on texts made to strain kernels."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refinery.compiler.model import CompileContext, Schema
from refinery.compiler.program import Program, build
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.inspect.examples.expectations import parameters
from refinery.io.batch import Batch
from refinery.operators import Operator
from refinery.workers.worker import Worker
from tests.operators.test_examples import LIBRARY
from tests.sampling import sampled

WORDS = " ".join(f"w{n:x} don't U.S. {n}km" for n in range(1100))  # more than a table of words has at first
SENTENCE = "On Monday 12 May the café prices rose by 3.50, as jane@example.org said at http://example.org/a?b=c. "
TEXTS = [
    "one two three " + "1" * 4097,
    "one two three " + "1" * 4097,  # the same again
    "one two three",
    "",
    " ",
    "\n\n\n",
    "\x00\x01\x02\x1b\x7f a\x00b \x85\u2028",
    "a" * 5000 + " " + "a" * 5000,
    "é" * 40000,
    "." * 4100 + " x " + "'" * 300,
    "-".join("ab" for _ in range(25000)),
    WORDS,
    WORDS[::-1],
    "\n".join(f"line {n} of many" for n in range(5000)),
    "\n".join("the same line over and over" for _ in range(300)),
    SENTENCE * 12,
    SENTENCE * 12 + "\n" + SENTENCE,
    "数据处理很重要。" * 40 + "\n这是一个例子，。",
    "a\u0301\u0302\u0303" * 3000,
    "\U0001f469\u200d\U0001f680\U0001d54f" * 200,
    "Ünïcödé Straße İstanbul ΣΑΣ ΠΑΣ ǅ ﬀ ß " * 30,
    "â€œmojibakeâ€\x9d caf\u00c3\u00a9 &amp; &lt;b&gt; ｆｕｌｌ " * 20,
    "<html><body><p>a &nbsp; b</p>" + "<div>" * 500 + "x" + "</div>" * 500,
    "def f(x):\n    # why\n    return [x') :].l(y) for y in (1, 2)] /* c */ // d\n" * 20,
    "\\newcommand{\\mac}{macro} \\mac \\section{One} % comment\n\\begin{thebibliography}x\\end{thebibliography}" * 8,
    "1.2.3.4 and 255.255.255.255 mail a.b+c@d.example " * 50,
    "\r\n".join(f"{n}\t{n * n}" for n in range(400)),
    "(" * 200 + "x" + ")" * 200 + " :-) " * 50,
]
FEW = [*TEXTS[:9], *TEXTS[11:13], *TEXTS[-12::3]]
_ONCE = 500_000  # bytes of a line that is not repeated in a batch
HUGE = ["lorem ipsum, dolor " * 55000, "x" * 1_000_000]  # a line of a megabyte, a word of one; most of the time
WITH_HUGE = {*list(LIBRARY.operators)[::12]}  # operators that have them in `make test`


def cases() -> list[Any]:
    """Operators with each of their examples' parameters, and the texts of its own examples.

    The first parameters of every operator are run over all texts; of the others, every fifteenth is left in `make test`.
    """
    found: dict[str, Any] = {}
    for operator in LIBRARY.operators.values():
        for example in operator.examples if not operator.alias_of and operator.name != "stats_merger" else ():
            key = f"{operator.name} {json.dumps([example.get('params'), example.get('files')])}"
            if not example.get("error") and key not in found:
                number = sum(case.values[0] is operator for case in found.values())
                found[key] = pytest.param(operator, example, number == 0, id=f"{operator.name}-{number + 1}")
    first = [case for case in found.values() if case.values[2]]
    return [*first, *sampled((case for case in found.values() if not case.values[2]), 15)]


def program_of(operator: Operator, given: dict[str, Any]) -> Program:
    """The operator as the only step; of a deduplicator, what it compares samples by."""
    recipe, library = open_recipe({"process": [{operator.name: given}]}, need_inputs=False)
    if operator.kind == "deduplicator":
        return build((), library, Schema(True, {}), ("text",), around=CompileContext(after=recipe.steps[0]))[0]
    return build(recipe.steps, library, Schema(True, {}), ("text",))[0]


def measured(worker: Worker, lines: Sequence[str]) -> list[str]:
    """Results of each row, as text that is equal only for equal values."""
    numbers = np.arange(len(lines))
    table = pa.table({"_line": pa.array(lines, pa.string())})
    done, failed = worker.attempt(Batch(True, table, numbers, numbers + 1))
    found = {row.pop("_i"): repr(row) for row in done.to_pylist()}
    found |= {failure.at: f"{failure.step} {failure.error}" for failure in failed}
    return [found[number] for number in range(len(lines))]


def check(worker: Worker, lines: Sequence[str], group: int) -> None:
    """Compare batches of all lines with batches of a few; group: lines in these."""
    groups = [lines[at : at + group] for at in range(0, len(lines), group)]
    few = [value for batch in groups for value in measured(worker, batch)]
    first = [measured(worker, batch[:1])[0] for batch in groups] if group > 1 else few
    assert first == few[::group], "a text alone is another than the first of a batch"
    together = random.Random(1).sample(range(len(lines)), len(lines))
    again = [n for n in together if len(lines[n]) < _ONCE]
    for order in (range(len(lines) - 1, -1, -1), [*together, *again]):
        found = measured(worker, [lines[n] for n in order])
        differing = [n for n, value in zip(order, found, strict=True) if value != few[n]]
        assert not differing, f"text {differing[0]} depends on the rest of its batch"


# Of the batches that others are compared with, every text is one by itself in `make soak`, every sixth in `make test`; huge
# texts are those of all operators in `make soak`, of every twelfth in `make test`.
@pytest.mark.parametrize("group", [6, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(("operator", "example", "first"), cases())
def test_a_row_does_not_depend_on_its_batch(
    operator: Operator, example: dict[str, Any], first: bool, group: int, tmp_path: Path
) -> None:
    own = example["texts"] if "texts" in example else [example["text"]]
    huge = HUGE if group == 1 or operator.name in WITH_HUGE else []
    texts = [*own, *TEXTS, *huge] if first else [*own, *FEW]
    fields = example.get("fields", {})
    fields = fields if isinstance(fields, list) else [fields]
    samples = [{"text": text, **(fields[n % len(fields)] if fields else {})} for n, text in enumerate(texts)]
    try:
        program = program_of(operator, parameters(operator, example, tmp_path))
    except RecipeError as error:
        pytest.skip(str(error))
    worker = Worker(program)
    try:
        check(worker, [json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples], group)
    finally:
        worker.close()
