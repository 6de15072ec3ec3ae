"""The driver's part of a search by a matcher's own code: cuts the values of columns into shares, and hands out tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.model import DedupInput
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.tasks import searches
from refinery.operators import imported_modules
from refinery.workers.executor import Executor
from refinery.workers.serialization import to_json

# Carried columns, compared columns, number of shares, least number of tasks; returns the shares of each part.
Divide = Callable[[Sequence[str], Sequence[str], int, int], list[list[Share]]]
# A column, a share of its values, and the number of shares.
Among = tuple[str, int, int]


class SearchTasks:
    """Tasks of one deduplicator. most: bytes of match keys in a share.

    seen: columns, rows and bytes of the match keys. divide: writes carried and compared columns by shares, with so many tasks at
    least; returns the shares of each part, see `joins.divide`.
    """

    def __init__(
        self,
        executor: Executor,
        exchange: Exchange,
        most: int,
        inputs: DedupInput,
        seen: Any,
        divide: Divide,
    ) -> None:
        self._executor, self._exchange, self._most = executor, exchange, most
        self._inputs, self._seen, self._divide = inputs, seen, divide

    def shares(self, columns: Sequence[str], wave: int) -> list[Among]:
        """Column, share and number of shares of each task. wave: tasks that are worth while at once."""
        if not columns:
            return []
        shares = max(-(-self._seen["bytes"] // self._most), wave // len(columns), 1)
        return [(column, share, shares) for column in columns for share in range(shares)]

    def links(self, among: Sequence[Among], partitions: Partitions, here: bool = False) -> LinkFiles:
        """Links of matched samples.

        among: shares in which matched samples are; empty: one task searches all samples. here: by this process, where texts can be
        compared.
        """
        columns = list(dict.fromkeys(column for column, *_ in among))
        divided = self._divided(columns, among)
        names = self._exchange.names("found", max(1, len(among)))
        matching, bounds = json.dumps(vars(_search(self._inputs)), default=list), partitions.bounds
        calls = []
        for at, name in enumerate(names):
            group = among[at] if among else None
            read = self._values([column for column in columns if group is None or column != group[0]])
            files, shares = ([], divided[at]) if divided else (list(self._inputs.files), [])
            calls.append((files, shares, matching, read, group, bounds, name))
        answers = self._here(calls) if here else self._run(searches.search, calls, "matches")
        kinds = {kind for one in answers for kind in one["kinds"]}
        if kinds:
            self._inputs.operator.sample_matcher.require(kinds)
        notes = [note for one in answers for note in one["notes"]]
        return LinkFiles([call[-1] for call in calls], [one["parts"] for one in answers], notes)

    def _divided(self, columns: Sequence[str], among: Sequence[Among]) -> list[list[Share]]:
        """Places of each share, which is written once so that its task need not read the others; none where they are few.

        Only for columns of numbers: values of other types may be of several types in several files.
        """
        lists = [column for column in self._inputs.operator.matcher.columns if column.form == "columns"]
        if not all(any(one.holds(name) for one in lists) for name in columns) or not among or among[0][2] == 1:
            return []
        return self._divide(self._values(columns), columns, among[0][2], -(-4 * self._seen["bytes"] // self._most))

    def _values(self, without: Sequence[str]) -> list[str]:
        """Stored columns of a search: all but the orders of samples, and some columns that other tasks search."""
        return [name for name in self._seen["columns"] if name not in without and not name.startswith("order_")]

    def _here(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        complete = [(self._executor.place, *call, self._inputs.compare) for call in calls]
        return [json.loads(searches.search(*arguments)) for arguments in complete]

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]], label: str) -> list[Any]:
        label = f"{self._inputs.step.name}: {label}"
        answers = self._executor.map(work, calls, label=label, files=_files(self._inputs))
        return [json.loads(answer) for answer in answers]


def _search(inputs: DedupInput) -> searches.Search:
    """The matcher of a step for tasks."""
    operator, functions = inputs.operator, to_json(list(inputs.operator.functions))
    return searches.Search(operator.match, str(operator.matcher_path or ""), dict(inputs.step.params), functions)


def _files(inputs: DedupInput) -> list[str]:
    """The files of a user's matcher."""
    path = inputs.operator.matcher_path
    return [str(path), *map(str, imported_modules(path).values())] if path is not None else []
