"""Outcomes of samples alone, in pairs and in large batches, as lines and as columns, which must be the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.compiler.model import Schema
from refinery.errors import RefineryError
from refinery.inspect.examples.expectations import Difference, Example, differences, equal
from refinery.inspect.examples.samples import CompiledSteps, as_columns, as_lines, compiled, outcomes, working
from refinery.workers.worker import Worker

# Texts beside those of examples: empty, white space, several lines, other scripts, long ones.
_BESIDE = (
    "",
    " ",
    "\n\n",
    "One line.\nAnother line, longer than the first.",
    "数据处理很重要。",
    "é" * 300,
    "word " * 2000,
)
# Samples of a large batch.
_MANY = 300

Outcome = dict[str, Any]
# The samples of a batch; the place of the example that each is of, None for one beside.
_Batch = tuple[list[dict[str, Any]], list[int | None]]


def failures_of(
    steps: list[Any], examples: Sequence[Example], operators: Sequence[str], folders: tuple[str, ...]
) -> list[tuple[int, str, list[Any]]]:
    """Examples that do not hold, as plain data: place, form of the batch ("" for alone), differences as lists.

    operators: the user's folders. folders: those that SQL may read. Raises RecipeError if the operator refuses the
    parameters.
    """
    check = BatchCheck(steps, examples, operators, folders)
    return [
        (at, form, [[one.what, _plain(one.expected), _plain(one.actual)] for one in unlike])
        for at, form, unlike in check.wrong()
    ]


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))


class BatchCheck:
    """Check of examples that share their parameters. operators: the user's folders. folders: those that SQL may read.

    Raises RecipeError if the operator refuses the parameters.
    """

    def __init__(
        self, steps: list[Any], examples: Sequence[Example], operators: Sequence[str], folders: tuple[str, ...]
    ) -> None:
        self._steps, self._examples, self._operators, self._folders = steps, examples, operators, folders
        self._samples = [{"text": example["text"], **(example.get("fields") or {})} for example in examples]
        self._lines = compiled(steps, Schema(True, {}), True, operators, folders)

    def wrong(self) -> Iterator[tuple[int, str, list[Difference]]]:
        """Examples that do not hold: place, form of the batch ("" for the sample alone), differences."""
        with working(self._lines.program) as worker:
            alone = [self._of_lines(worker, [sample])[0] for sample in self._samples]
            sound: list[int] = []
            for at, (example, outcome) in enumerate(zip(self._examples, alone, strict=True)):
                if example.get("error"):
                    yield at, "", [Difference("outcome", "an error", "none: the parameters are accepted")]
                elif unlike := differences(example, outcome):
                    yield at, "", unlike
                else:
                    sound.append(at)
            for at, form, outcome in self._other_forms(worker):
                if at in sound and (unlike := _unlike(alone[at], outcome)):
                    sound.remove(at)
                    yield at, form, unlike

    def _other_forms(self, worker: Worker) -> Iterator[tuple[int, str, Outcome]]:
        """Outcomes of the examples in batches, and in columns."""
        for batch in self._pairs():
            yield from _placed(batch, "a batch of 2", self._of_lines(worker, batch[0]))
        many = self._many()
        yield from _placed(many, f"a batch of {len(many[0])}", self._of_lines(worker, many[0]))
        yield from self._typed(many)

    def _of_lines(self, worker: Worker, samples: Sequence[dict[str, Any]]) -> list[Outcome]:
        return outcomes(self._lines, worker, as_lines(samples), [sample["text"] for sample in samples])

    def _pairs(self) -> Iterator[_Batch]:
        """Each example before and after another sample."""
        for at, sample in enumerate(self._samples):
            other = {**sample, "text": _BESIDE[3 + at % 4]}
            yield [sample, other], [at, None]
            yield [other, sample], [None, at]

    def _many(self) -> _Batch:
        """All examples several times, among other samples, in a mixed order."""
        count = len(self._samples)
        beside = [({**sample, "text": text}, None) for sample in self._samples[:8] for text in _BESIDE]
        own = [(self._samples[n % count], n % count) for n in range(max(_MANY - len(beside), 2 * count))]
        mixed = random.Random(1).sample([*own, *beside], len(own) + len(beside))
        return [sample for sample, _ in mixed], [at for _, at in mixed]

    def _typed(self, many: _Batch) -> Iterator[tuple[int, str, Outcome]]:
        """Outcomes of columns of a table, alone and together; none for fields without a common type."""
        try:
            table = pa.Table.from_pylist([*self._samples, *many[0]])
        except (pa.ArrowException, TypeError, OverflowError):
            return
        table = pa.table({name: table[name] for name in _names(self._samples)})
        for text_type in (pa.string(), pa.large_string()):
            columns = table.set_column(0, "text", table["text"].cast(text_type))
            steps = self._compiled(columns)
            if steps is None:
                return
            with working(steps.program) as worker:
                count, form = len(self._samples), f"columns of a table ({text_type} text)"
                for at in range(count):
                    yield (
                        at,
                        form,
                        outcomes(steps, worker, as_columns(columns.slice(at, 1)), [self._samples[at]["text"]])[0],
                    )
                texts = [sample["text"] for sample in many[0]]
                yield from _placed(
                    many, f"a batch of {form}", outcomes(steps, worker, as_columns(columns.slice(count)), texts)
                )

    def _compiled(self, table: pa.Table) -> CompiledSteps | None:
        """The steps for the columns of a table; None for an operator that takes JSON lines alone."""
        try:
            return compiled(self._steps, Schema(False, _kinds(table)), True, self._operators, self._folders)
        except RefineryError:
            return None


def _names(samples: Sequence[dict[str, Any]]) -> list[str]:
    """Names of the fields, the text first."""
    return list(dict.fromkeys(["text", *(name for sample in samples for name in sample)]))


def _kinds(table: pa.Table) -> dict[str, str]:
    """DuckDB's types of the columns."""
    with connect() as con:
        con.register("_columns", table.slice(0, 0))
        rows = con.execute("DESCRIBE SELECT * FROM _columns").fetchall()
    return {name: kind for name, kind, *_ in rows}


def _placed(batch: _Batch, form: str, rows: Sequence[Outcome]) -> Iterator[tuple[int, str, Outcome]]:
    for at, outcome in zip(batch[1], rows, strict=True):
        if at is not None:
            yield at, form, outcome


def _unlike(alone: Outcome, outcome: Outcome) -> list[Difference]:
    """Differences from the outcome of the sample alone: the text and so on, statistics, and whether there is an error."""
    if (alone["error"] is None) != (outcome["error"] is None):  # its words may depend on errors before it
        return [Difference("error", alone["error"], outcome["error"])]
    pairs = [(name, alone[name], outcome[name]) for name in ("text", "kept", "reason", "written")]
    pairs += [(name, value, outcome["stats"].get(name)) for name, value in alone["stats"].items()]
    return [Difference(*pair) for pair in pairs if not equal(*pair[1:])]
