"""The driver's part of clusters by partitions: hands out tasks, adds up what they return, applies the safety limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refinery.compiler.deduplicators import key_name, matched, statement
from refinery.dedup import limits
from refinery.dedup.barrier import DedupInput, DedupResult, by_counts
from refinery.execution.ray import clusters, joins, roots
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.map import every
from refinery.io.model import RemovedIn
from refinery.storage.store import Store
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.serialization import to_json

# Most equalities of roots that one task resolves alone, and equalities of each of several tasks.
_FEW, _EACH = 1 << 18, 1 << 16


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
    linked: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class ClusterTasks:
    """Tasks of one deduplicator. folder: of its stage in the store."""

    def __init__(
        self, cluster: ClusterConnection, place: joins.Place, store: Store, folder: str, partitions: Partitions
    ) -> None:
        self._cluster, self._place, self._store, self._folder = cluster, place, store, folder
        self._parts, self._count = partitions, len(partitions)

    def settle(self, given: DedupInput, names: Sequence[str], linked: Sequence[object], findings: DedupResult) -> None:
        """Record the samples to remove. names: files of links. linked: for each, whether there are any (0, empty: none).

        Raises OperatorError if a safety limit is broken.
        """
        links, final = self._gather([name for name, found in zip(names, linked, strict=True) if found])
        settled, files = self._settle(given, self._spread(given, links, final))
        for rows, answer in self._ordered(files):
            findings.seen |= {name: (size, digest) for name, (size, digest) in answer["seen"].items()}
            findings.removed_in |= {shard: RemovedIn(rows, *place) for shard, *place in answer["removed"]}
        findings.duplicates, findings.clusters = (
            tuple(name for name in self._final(kind) if name in findings.seen) for kind in ("duplicates", "clusters")
        )
        removed = findings.removed_in
        counts = [removed[at].end - removed[at].first if at in removed else 0 for at in range(len(given.sources))]
        findings.notes = limits.check(given.step, max(settled), *by_counts(given, counts))

    def _ordered(self, files: dict[str, list[str]]) -> list[tuple[str, dict[str, Any]]]:
        """Answers of `clusters.in_order` for the tables of duplicates and of clusters, with the file of removed samples."""
        gone, own = self._final("duplicates"), self._final("clusters")
        rows = self._final("removed", "rows")
        parts = range(self._count)
        calls: list[tuple[Any, ...]] = [("duplicates", ["_row"], part, gone[part], rows[part]) for part in parts]
        calls += [("members", ["kept", "_row"], part, own[part]) for part in parts]
        found = map(json.loads, self._run(clusters.in_order, calls, json.dumps(files)))
        return list(zip([*rows, *[""] * self._count], found, strict=True))

    def _gather(self, names: Sequence[str]) -> tuple[dict[int, str], list[str]]:
        """Files with one link for each sample, by partition, and files of the first roots of other roots."""
        links = self._names("links", self._count)
        equal, wanted = (self._names(kind, self._count, "parts") for kind in ("equal", "wanted"))
        calls = [(part, links[part], equal[part], wanted[part]) for part in range(self._count)]
        found = [json.loads(answer) for answer in self._run(clusters.gather, calls, json.dumps(names), self._bounds)]
        there = {part: links[part] for part, (rows, _) in enumerate(found) if rows}
        apart = sum(equalities for _, equalities in found)
        if not apart:
            return there, []
        asked = [wanted[part] if part in there else "" for part in range(self._count)]
        return there, self._replies(self._resolved([equal[part] for part in there], apart), asked, apart)

    def _resolved(self, names: list[str], apart: int) -> list[str]:
        """Files of equalities by which every root is equal to the first one of its component alone."""
        if apart <= _FEW:
            star = self._names("star", 1, "parts")
            self._run(roots.resolve, [(star[0],)], json.dumps(names), self._bounds)
            return star
        ranges, changes, rounds = self._ranges(apart), 1, 0
        while changes:
            changes, rounds = 0, rounds + 1
            for larger in (True, False):
                to = self._names(f"star_{rounds}_{'ab'[larger]}", len(ranges), "parts")
                calls = list(zip(ranges, to, strict=True))
                found = self._run(roots.star, calls, json.dumps(names), self._bounds, larger)
                changes, names = changes + sum(map(int, found)), to
        return names

    def _replies(self, names: list[str], asked: list[str], apart: int) -> list[str]:
        """Files of first roots, a part for each partition."""
        ranges = self._ranges(apart)
        to = self._names("reply", len(ranges), "parts")
        self._run(roots.reply, list(zip(ranges, to, strict=True)), json.dumps(names), json.dumps(asked))
        return to

    def _ranges(self, apart: int) -> list[tuple[int, int]]:
        """Ranges of partitions of which a task each resolves equalities, of which there are `apart`."""
        tasks = max(1, min(self._count, apart // _EACH))
        cuts = np.linspace(0, self._count, tasks + 1).astype(int).tolist()
        return list(zip(cuts[:-1], cuts[1:], strict=True))

    def _spread(self, given: DedupInput, links: dict[int, str], final: list[str]) -> list[str]:
        """Files of links with match keys, a part for each partition of roots."""
        keys, to = self._parts.files(given.files), self._names("spread", self._count, "parts")
        lists = [f"{column.each}_" for column in given.operator.matcher.columns if column.form == "columns"]
        calls = [(part, name, keys[part], to[part]) for part, name in links.items()]
        self._run(clusters.spread, calls, json.dumps(final), lists, self._bounds)
        return [to[part] for part in links]

    def _settle(self, given: DedupInput, names: list[str]) -> tuple[list[int], dict[str, list[str]]]:
        """Sizes of the largest clusters, and the files of `clusters.settle`."""
        files = {kind: self._names(kind, self._count, "parts") for kind in ("duplicates", "members")}
        calls = [(part, files["duplicates"][part], files["members"][part]) for part in range(self._count)]
        found = self._run(clusters.settle, calls, json.dumps(names), _statements(given), self._bounds)
        answers = [json.loads(answer) for answer in found]
        there = [part for part, (rows, _) in enumerate(answers) if rows]
        return [largest for _, largest in answers], {kind: [paths[at] for at in there] for kind, paths in files.items()}

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]], *shared: Any) -> list[str]:
        """Answers of tasks, in order. shared: first arguments of all of them."""
        return every(self._cluster, work, calls, {"num_cpus": 1}, shared=(self._place, *shared))

    @property
    def _bounds(self) -> str:
        return self._parts.bounds

    def _names(self, kind: str, count: int, suffix: str = "parquet") -> list[str]:
        """Names of files that are removed when the deduplicator is done."""
        return [f"{self._folder}/joined/{kind}_{number:05d}.{suffix}" for number in range(count)]

    def _final(self, kind: str, suffix: str = "parquet") -> list[str]:
        """Names of files that stay."""
        return [f"{self._folder}/{kind}_{number:05d}.{suffix}" for number in range(self._count)]


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
