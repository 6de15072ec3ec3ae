"""The driver's part of clusters by partitions: hands out tasks, adds up what they return, applies the safety limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from refinery.compiler.deduplicators import key_name, matched, statement
from refinery.dedup import limits
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.tasks import clusters, roots
from refinery.io.model import RemovedIn
from refinery.workers.executor import Executor
from refinery.workers.serialization import to_json

# Most equalities of roots that one task resolves alone, and equalities of each of several tasks.
_FEW, _EACH = 1 << 18, 1 << 16


class _Settled(NamedTuple):
    """Files that tasks have left of clusters, by partitions of roots.

    removed, members: with parts for all partitions. matches: of removed samples, with the files of their match keys. clustered:
    partitions of samples that stay, which have members. largest: size of the largest cluster.
    """

    removed: list[str]
    members: list[str]
    matches: list[tuple[list[str], str]]
    clustered: list[int]
    largest: int


class ClusterTasks:
    """Tasks of one deduplicator. folder: of its stage in the store. keep: is given names of files that are results.

    With one partition nothing is exchanged: its tasks read the match keys from the files of the shards.
    """

    def __init__(
        self, executor: Executor, folder: str, partitions: Partitions, keep: Callable[[Iterable[str]], None]
    ) -> None:
        self._executor, self._folder, self._keep = executor, folder, keep
        self._parts, self._count = partitions, len(partitions)

    def settle(self, given: DedupInput, links: LinkFiles, findings: DedupResult) -> Callable[[], None]:
        """Record the samples to remove; returns what writes the tables of these findings.

        Raises OperatorError if a safety limit is broken.
        """
        names = [name for name, rows in zip(links.names, links.linked, strict=True) if rows]
        if self._count > 1 or len(names) > 1:  # else a sample has one link, whose root is final
            names = self._spread(given, *self._gather(names))
        settled = self._settle(given, names)
        parts = self._remove(settled, findings)
        findings.duplicates = self._final("duplicates", parts)
        findings.clusters = self._final("clusters", settled.clustered)
        findings.notes = limits.check(given.step, settled.largest, *_by_source(given, findings))
        return partial(self._write_tables, given, settled, parts, findings)

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
        keys = self._parts.files(given.files) if self._count > 1 else [[]]
        to = self._names("spread", self._count, "parts")
        lists = [f"{column.each}_" for column in given.operator.matcher.columns if column.form == "columns"]
        calls = [(part, name, keys[part], to[part]) for part, name in links.items()]
        self._run(clusters.spread, calls, json.dumps(final), lists, self._bounds)
        return [to[part] for part in links]

    def _settle(self, given: DedupInput, names: list[str]) -> _Settled:
        """Have the clusters settled. names: files of links."""
        keys = list(given.files) if self._count == 1 else []
        own = self._names("keys", self._count)
        kinds = (("removed", "parts"), ("members", "parts"), ("matches", "parquet"))
        files = [self._names(kind, self._count, suffix) for kind, suffix in kinds]
        calls = [(part, keys, own[part], *(paths[part] for paths in files)) for part in range(self._count)]
        found = self._run(clusters.settle, calls, json.dumps(names), _survivors(given), self._bounds)
        answers = [json.loads(answer) for answer in found]
        some = [part for part, (_, size, _) in enumerate(answers) if size]
        removed, members, matches = ([paths[part] for part in some] for paths in files)
        matched_keys = [(keys or [own[part]], path) for part, path in zip(some, matches, strict=True)]
        there = sorted({part for _, _, parts in answers for part in parts})
        return _Settled(removed, members, matched_keys, there, max(size for _, size, _ in answers))

    def _remove(self, settled: _Settled, findings: DedupResult) -> list[int]:
        """Record the removed samples; returns their partitions."""
        names = self._final("removed", range(self._count), "rows")
        found = self._run(clusters.remove, list(enumerate(names)), json.dumps(settled.removed))
        answers = [json.loads(answer) for answer in found]
        parts = [part for part, (_, places) in enumerate(answers) if places]
        for part in parts:
            seen, places = answers[part]
            findings.seen[names[part]] = seen[0], seen[1]
            findings.removed_in |= {shard: RemovedIn(names[part], *place) for shard, *place in places}
        self._keep(names[part] for part in parts)
        return parts

    def _write_tables(self, given: DedupInput, settled: _Settled, parts: list[int], findings: DedupResult) -> None:
        """Write the tables of duplicates and of clusters."""
        to = self._names("described", len(settled.matches), "parts")
        calls = [(keys, matches, name) for (keys, matches), name in zip(settled.matches, to, strict=True)]
        sql, functions = statement("duplicates", **matched(given.operator)), to_json(list(given.operator.functions))
        self._run(clusters.describe, calls, sql, functions, self._bounds)
        files = json.dumps({"duplicates": to, "clusters": settled.members})
        ordered: list[tuple[Any, ...]] = [
            ("duplicates", ["_row"], part, name) for part, name in zip(parts, findings.duplicates, strict=True)
        ]
        ordered += [
            ("clusters", ["kept", "_row"], part, name)
            for part, name in zip(settled.clustered, findings.clusters, strict=True)
        ]
        for (*_, name), answer in zip(ordered, self._run(clusters.in_order, ordered, files), strict=True):
            size, digest = json.loads(answer)
            findings.seen[name] = size, digest
        self._keep([*findings.duplicates, *findings.clusters])

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]], *shared: Any) -> list[str]:
        """Answers of tasks, in order. shared: first arguments of all of them."""
        return self._executor.map(work, calls, shared)

    @property
    def _bounds(self) -> str:
        return self._parts.bounds

    def _names(self, kind: str, count: int, suffix: str = "parquet") -> list[str]:
        """Names of files that are removed when the deduplicator is done."""
        return [f"{self._folder}/joined/{kind}_{number:05d}.{suffix}" for number in range(count)]

    def _final(self, kind: str, parts: Iterable[int], suffix: str = "parquet") -> tuple[str, ...]:
        """Names of files that stay."""
        return tuple(f"{self._folder}/{kind}_{number:05d}.{suffix}" for number in parts)


def _survivors(given: DedupInput) -> str:
    """SQL that chooses the samples that stay; "" if the first ones do."""
    order = [replace(term, column=key_name(term.column)) for term in given.order]
    return statement("survivors", order=order) if order else ""


def _by_source(given: DedupInput, findings: DedupResult) -> tuple[dict[str, int], dict[str, int]]:
    """Number of samples of each input before the step, and number that it removes."""
    alive: dict[str, int] = {}
    gone: dict[str, int] = {}
    for shard, (source, rows) in enumerate(zip(given.sources, given.alive, strict=True)):
        place = findings.removed_in.get(shard)
        alive[source] = alive.get(source, 0) + rows
        gone[source] = gone.get(source, 0) + (place.end - place.first if place is not None else 0)
    return alive, gone
