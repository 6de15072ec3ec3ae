"""The driver's part of clusters by partitions: hands out tasks, adds up what they return, applies the safety limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refinery.compiler.deduplicators import key_name, matched, statement
from refinery.dedup import limits
from refinery.dedup.barrier import DedupInput, DedupResult, by_source
from refinery.dedup.row_groups import Share, shares_of
from refinery.execution.ray import clusters, joins
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.map import every
from refinery.storage.store import Store
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.serialization import to_json


@dataclass(frozen=True)
class Partitions:
    """Ranges of shards with about as many samples each. starts: the first shard of each; the number of shards at the end.

    before: first number and file of each piece of an index, which is a partition, too, and comes before the others.
    """

    starts: tuple[int, ...]
    before: tuple[tuple[int, str], ...] = ()

    @staticmethod
    def of(given: DedupInput, count: int, before: tuple[tuple[int, str], ...] = ()) -> Partitions:
        """At most `count` partitions of the shards of a deduplicator, and those of its index."""
        ends = np.cumsum(given.alive)
        cuts = np.searchsorted(ends, np.linspace(0, ends[-1], count + 1)[1:-1], "right")
        return Partitions((*np.unique([0, *cuts]).tolist(), len(given.alive)), before)

    @property
    def bounds(self) -> str:
        """First number of a sample of each partition, and the end, as JSON."""
        return json.dumps([first for first, _ in self.before] + [start << SHARD_BITS for start in self.starts])

    def __len__(self) -> int:
        return len(self.before) + len(self.starts) - 1

    def files(self, names: Sequence[str]) -> list[list[str]]:
        """Files of match keys of each partition. names: of shards' files, by shards; those of an index need not be among them."""
        pieces = [[name] for _, name in self.before]
        remembered = {name for _, name in self.before}
        names = [name for name in names if name not in remembered]
        shards = [int(name.rpartition("/")[2].partition(".")[0]) for name in names]
        of_file = np.searchsorted(self.starts, shards, "right") - 1
        own: list[list[str]] = [[] for _ in self.starts[1:]]
        for name, at in zip(names, of_file.tolist(), strict=True):
            own[at].append(name)
        return [*pieces, *own]


@dataclass
class FoundLinks:
    """Files of links, the partitions that each of them has, and notes."""

    names: list[str] = field(default_factory=list)
    linked: list[list[int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class ClusterTasks:
    """Tasks of one deduplicator. folder: of its stage in the store."""

    def __init__(
        self, cluster: ClusterConnection, place: joins.Place, store: Store, folder: str, partitions: Partitions
    ) -> None:
        self._cluster, self._place, self._store, self._folder = cluster, place, store, folder
        self._parts, self._count = partitions, len(partitions)

    def settle(
        self, given: DedupInput, names: Sequence[str], linked: Sequence[Sequence[int]], findings: DedupResult
    ) -> None:
        """Record the samples to remove. names: files of links. linked: partitions that each of them has.

        Raises OperatorError if a safety limit is broken.
        """
        spread, of_roots = self._spread(given, self._gather(shares_of(names, linked, self._count)))
        settled, files = self._settle(given, shares_of(spread, of_roots, self._count))
        by_row = shares_of(files["duplicates"], [one["duplicates"] for one in settled], self._count)
        rows = self._names("removed", self._count, "npy")
        order = ["_row"], self._final("duplicates")
        found = self._run(
            clusters.in_order, [(at, shares, order[0], order[1][at], rows[at]) for at, shares in _some(by_row)]
        )
        findings.duplicates = tuple(order[1][at] for at in found)
        removed = [np.load(self._store.fetch(rows[at])) for at in found]
        findings.removed = np.concatenate(removed) if removed else findings.removed
        largest = max(one["largest"] for one in settled)
        findings.notes = limits.check(given.step, largest, *by_source(given, findings.removed))
        by_kept = shares_of(files["members"], [one["members"] for one in settled], self._count)
        members = self._final("clusters")
        there = self._run(clusters.in_order, [(at, s, ["kept", "_row"], members[at]) for at, s in _some(by_kept)])
        findings.clusters = tuple(members[at] for at in there)

    def _gather(self, shares: Sequence[Sequence[Share]]) -> tuple[dict[int, str], str]:
        """Files with one link for each sample, by partition, and the file of equal roots, "" without any."""
        links, equal = self._names("links", self._count), self._names("equal", self._count)
        found = self._run(clusters.gather, [(at, own, links[at], equal[at]) for at, own in _some(shares)])
        apart, roots = [equal[at] for at, count in found.items() if int(count)], ""
        if apart:
            [roots] = self._names("roots", 1)
            self._run(clusters.resolve, [(0, apart, roots)])
        return {at: links[at] for at in found}, roots

    def _spread(self, given: DedupInput, gathered: tuple[dict[int, str], str]) -> tuple[list[str], list[list[int]]]:
        """Files of links with match keys, and the partitions of roots that each of them has."""
        links, roots = gathered
        keys, to = self._parts.files(given.files), self._names("spread", self._count)
        lists = [f"{column.each}_" for column in given.operator.matcher.columns if column.form == "columns"]
        calls = [(at, name, roots, keys[at], lists, self._parts.bounds, to[at]) for at, name in links.items()]
        found = self._run(clusters.spread, calls)
        return [to[at] for at in found], [json.loads(answer) for answer in found.values()]

    def _settle(
        self, given: DedupInput, shares: Sequence[Sequence[Share]]
    ) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """Answers of `clusters.settle`, and its files."""
        statements, bounds = _statements(given), self._parts.bounds
        files = {name: self._names(name, self._count) for name in ("duplicates", "members")}
        calls = [
            (at, own, statements, bounds, files["duplicates"][at], files["members"][at]) for at, own in _some(shares)
        ]
        found = self._run(clusters.settle, calls)
        answers = [json.loads(answer) for answer in found.values()]
        return answers, {name: [paths[at] for at in found] for name, paths in files.items()}

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]]) -> dict[int, str]:
        """Answers of tasks by partition, which is the first item of each call."""
        answers = every(self._cluster, work, [(self._place, *rest) for _, *rest in calls], {"num_cpus": 1})
        return {at: answer for (at, *_), answer in zip(calls, answers, strict=True)}

    def _names(self, kind: str, count: int, suffix: str = "parquet") -> list[str]:
        """Names of files that are removed when the deduplicator is done."""
        return [f"{self._folder}/joined/{kind}_{number:05d}.{suffix}" for number in range(count)]

    def _final(self, kind: str) -> list[str]:
        """Names of files that stay."""
        return [f"{self._folder}/{kind}_{number:05d}.parquet" for number in range(self._count)]


def _some(shares: Sequence[Sequence[Share]]) -> list[tuple[int, list[Share]]]:
    """Partitions with row groups."""
    return [(at, list(own)) for at, own in enumerate(shares) if own]


def _statements(given: DedupInput) -> str:
    """SQL that `clusters.settle` runs, as JSON."""
    terms = [key_name(term.column) for term in given.order]
    order = [type(term)(**{**vars(term), "column": name}) for term, name in zip(given.order, terms, strict=True)]
    return json.dumps(
        {
            "survivors": statement("survivors", order=order) if order else "",
            "duplicates": statement("duplicates", **matched(given.operator)),
            "functions": to_json(list(given.operator.functions)),
        }
    )
