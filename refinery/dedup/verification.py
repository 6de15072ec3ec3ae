"""The driver's part of the exact comparison of candidates: hands out tasks, round by round."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.matchers.candidates import ROUNDS, left_over
from refinery.dedup.model import DedupInput
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.recomputed import computed_again
from refinery.dedup.tasks import candidates
from refinery.workers.executor import Executor
from refinery.workers.serialization import to_json


class CandidateTasks:
    """Tasks of one deduplicator. folder: of the shingles in the store."""

    def __init__(
        self,
        executor: Executor,
        exchange: Exchange,
        folder: str,
        partitions: Partitions,
    ) -> None:
        self._executor, self._exchange, self._folder = executor, exchange, folder
        self._parts, self._count = partitions, len(partitions)

    def verified(self, inputs: DedupInput, groups: Sequence[Sequence[tuple[int, Sequence[Share]]]]) -> LinkFiles:
        """Links of samples that share a band and are alike; see `matchers.candidates.verified`.

        groups: the parts of each task: the band, and the shares of `joins.divide`.
        """
        links, states = LinkFiles(), self._names("buckets", len(groups))
        members = self._buckets(groups, states)
        if not any(members):
            return links
        shingles, keys = self._shingles(inputs, members), self._parts.files(inputs.files)
        links.shingles = shingles
        known, answers = self._contents(shingles, members, keys), list[str]()
        if not known:
            return links
        for number in range(ROUNDS + 1):
            states, shares = self._pairs(number, states, known, answers)
            if not any(shares):
                return links
            if number == ROUNDS:
                left = sum(map(int, self._run(candidates.left, [(at, own) for at, own in _some(shares)]).values()))
                links.notes.append(left_over(left))
                return links
            answers, known = [], []
            for column, here, there in self._sides(shingles, keys):
                carried = self._carried(number, shares, here, column)
                answers += self._compared(number, inputs, carried, there, column, links)
        return links

    def _sides(
        self, shingles: Sequence[list[str]], keys: Sequence[list[str]]
    ) -> Iterator[tuple[str, list[list[str]], list[list[str]]]]:
        """Columns that compare pairs, with the files, by partition, of their samples and of their representatives."""
        index = len(self._parts.before)
        yield "shingles", list(shingles), list(shingles)
        if index:
            nothing: list[list[str]] = [[]]
            yield (
                "signature",
                nothing * index + list(keys[index:]),
                list(keys[:index]) + nothing * (self._count - index),
            )

    def _buckets(
        self, groups: Sequence[Sequence[tuple[int, Sequence[Share]]]], states: Sequence[str]
    ) -> list[list[Share]]:
        """Parts of members by partition."""
        to = self._names("members", len(groups), "parts")
        calls = [(at, list(group), states[at], to[at]) for at, group in enumerate(groups)]
        answers = self._run(candidates.buckets, calls, self._parts.bounds)
        return self._exchange.shares(to, [json.loads(answer) for answer in answers.values()], self._count)

    def _shingles(self, inputs: DedupInput, members: Sequence[Sequence[Share]]) -> list[list[str]]:
        """Files of shingles of the members, by partition."""
        folder = f"{self._folder}/compared"
        first = len(self._parts.before)
        own = [[] if at < first else own for at, own in enumerate(members)]
        names = computed_again(self._executor, inputs, folder, own)
        files = self._parts.files(names)
        return [[] if at < first else own for at, own in enumerate(files)]

    def _contents(
        self, shingles: Sequence[Sequence[str]], members: Sequence[Sequence[Share]], keys: Sequence[Sequence[str]]
    ) -> list[str]:
        """Files with the contents of members, which the shingles of samples give, and the signatures of an index."""
        to, index = self._names("contents", self._count), len(self._parts.before)
        signed: Sequence[Sequence[str]] = keys if index else [()] * self._count
        here = [(at, list(own), list(signed[at]), to[at]) for at, own in enumerate(shingles) if at >= index and own]
        before = [(at, own, list(keys[at]), to[at]) for at, own in _some(members) if at < index]
        counts = self._run(candidates.contents, here) | self._run(candidates.remembered, before)
        return [to[at] for at in counts]

    def _pairs(
        self, number: int, states: Sequence[str], contents: Sequence[str], answers: Sequence[str]
    ) -> tuple[list[str], list[list[Share]]]:
        """States that have pairs, and parts of the pairs by partition of their samples."""
        after, to = self._names(f"open_{number}", len(states)), self._names(f"pairs_{number}", len(states), "parts")
        calls = [
            (at, state, list(contents), list(answers), self._parts.bounds, after[at], to[at])
            for at, state in enumerate(states)
        ]
        places = [json.loads(answer) for answer in self._run(candidates.pairs, calls).values()]
        return [name for name, parts in zip(after, places, strict=True) if parts], self._exchange.shares(
            to, places, self._count
        )

    def _carried(
        self, number: int, shares: Sequence[Sequence[Share]], files: Sequence[list[str]], column: str
    ) -> list[list[Share]]:
        """Parts of pairs with a column of their samples, by partition of their representatives."""
        to, bounds = self._names(f"carried_{column}_{number}", self._count, "parts"), self._parts.bounds
        calls = [(at, own, files[at], column, bounds, to[at]) for at, own in _some(shares) if files[at]]
        answers = self._run(candidates.carry, calls)
        places = [json.loads(answer) for answer in answers.values()]
        return self._exchange.shares([to[at] for at in answers], places, self._count)

    def _compared(
        self,
        number: int,
        inputs: DedupInput,
        carried: Sequence[Sequence[Share]],
        files: Sequence[list[str]],
        column: str,
        findings: LinkFiles,
    ) -> list[str]:
        """Files with the pairs that are alike; `findings` gets their links."""
        answers = self._names(f"answers_{column}_{number}", self._count)
        to = self._names(f"alike_{column}_{number}", self._count, "parts")
        known = {f.name: f for f in (*inputs.operator.functions, *inputs.compare.program().functions)}
        functions = to_json([known[candidates.FUNCTIONS[column]]])
        more = column, functions, float(inputs.step.params["jaccard_threshold"]), self._parts.bounds
        calls = [(at, own, files[at], *more, answers[at], to[at]) for at, own in _some(carried)]
        found = self._run(candidates.compare, calls)
        findings.names += [to[at] for at in found]
        findings.linked += [json.loads(answer) for answer in found.values()]
        return [answers[at] for at in found]

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]], *shared: Any) -> dict[int, str]:
        """Answers of tasks by the first item of each call. shared: first arguments of all of them."""
        label, rest = f"compare: {work.__name__}", [tuple(rest) for _, *rest in calls]
        found = self._executor.map(work, rest, shared, label)
        return {at: answer for (at, *_), answer in zip(calls, found, strict=True)}

    def _names(self, kind: str, count: int, suffix: str = "parquet") -> list[str]:
        return self._exchange.names(kind, count, suffix)


def _some(shares: Sequence[Sequence[Share]]) -> list[tuple[int, list[Share]]]:
    """Partitions with parts."""
    return [(at, list(own)) for at, own in enumerate(shares) if own]
