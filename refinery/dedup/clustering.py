"""The driver's part of clusters by partitions: hands out tasks, adds up what they return, applies the safety limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from refinery.compiler.deduplicators import key_name, matched, size_column, statement
from refinery.dedup import limits
from refinery.dedup.audit.hub import hub_told
from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.matchers.params import is_star, size_field
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.tasks import clusters, roots, star_clusters
from refinery.dedup.tasks.hubs import largest_hub
from refinery.io.model import RemovedIn
from refinery.workers.executor import Executor
from refinery.workers.serialization import to_json

# Most equalities of roots that one task resolves alone, and equalities of each of several tasks.
_FEW, _EACH = 1 << 18, 1 << 16


class _Settled(NamedTuple):
    """Files that tasks have left of clusters.

    removed, members: shares by partitions of samples. matches: of removed samples, by partitions of roots, with the files of
    their match keys. largest: size of the largest cluster.
    """

    removed: list[list[Share]]
    members: list[list[Share]]
    matches: list[tuple[list[str], str]]
    largest: int


class ClusterTasks:
    """Tasks of one deduplicator. folder: of its stage in the store. keep: is given names of files that are results.

    With one partition nothing is exchanged: its tasks read the match keys from the files of the shards.
    """

    def __init__(
        self,
        executor: Executor,
        exchange: Exchange,
        folder: str,
        partitions: Partitions,
        keep: Callable[[Iterable[str]], None],
    ) -> None:
        self._executor, self._exchange, self._folder, self._keep = executor, exchange, folder, keep
        self._parts, self._count = partitions, len(partitions)

    def settle(self, inputs: DedupInput, links: LinkFiles, findings: DedupResult) -> Callable[[], None]:
        """Record the samples to remove; returns what writes the tables of these findings.

        Raises OperatorError if a safety limit is broken.
        """
        shares = self._exchange.shares(links.names, links.linked, self._count)
        shingles: list[list[Share]] = [[] for _ in range(self._count)]
        if self._count > 1 or sum(map(bool, links.linked)) > 1:  # else a sample has one link, whose root is final
            gathered = self._gather(shares)
            shares = self._spread(inputs, *gathered)
            if is_star(inputs.step.params) and links.shingles and self._count > 1:
                shingles = self._spread_shingles(links.shingles, *gathered)
        settled = self._settle(inputs, shares, links.shingles, shingles)
        self._remove(settled, findings)
        if size_field(inputs.step.params):
            self._save_sizes(inputs.step.index, settled, findings)
        findings.duplicates = self._final("duplicates", _some(settled.removed))
        findings.clusters = self._final("clusters", _some(settled.members))
        reason = partial(self._reason, inputs, settled)
        findings.notes = limits.check(inputs.step, settled.largest, *_by_source(inputs, findings), reason=reason)
        return partial(self._write_tables, inputs, settled, findings)

    def _gather(self, shares: Sequence[Sequence[Share]]) -> tuple[dict[int, str], list[list[Share]]]:
        """Files with one link for each sample, by partition, and shares of the first roots of other roots."""
        parts, links = _some(shares), self._exchange.names("links", self._count, "parquet")
        equal, wanted = (self._exchange.names(kind, self._count) for kind in ("equal", "wanted"))
        calls = [(shares[part], links[part], equal[part], wanted[part]) for part in parts]
        answers = [json.loads(answer) for answer in self._run(clusters.gather, calls, self._bounds)]
        there = {part: links[part] for part in parts}
        apart = sum(equalities for equalities, *_ in answers)
        if not apart:
            return there, [[] for _ in range(self._count)]
        gathered = self._exchange.shares(
            [equal[part] for part in parts], [places for _, places, _ in answers], self._count
        )
        asked: list[list[Share]] = [[] for _ in range(self._count)]
        for part, (*_, places) in zip(parts, answers, strict=True):
            asked[part] = [(wanted[part], start, size) for _, start, size in places]
        numbers = [[number for number, *_ in places] for *_, places in answers]
        return there, self._replies(
            self._resolved(gathered, apart), dict(zip(parts, numbers, strict=True)), asked, apart
        )

    def _resolved(self, shares: list[list[Share]], apart: int) -> list[list[Share]]:
        """Shares of equalities by which every root is equal to the first one of its component alone."""
        if apart <= _FEW:
            star = self._exchange.names("star", 1)
            [answer] = self._run(roots.resolve, [(_all(shares), star[0])], self._bounds)
            return self._exchange.shares(star, [json.loads(answer)], self._count)
        ranges, changes, rounds = self._ranges(apart), 1, 0
        while changes:
            changes, rounds = 0, rounds + 1
            for larger in (True, False):
                to = self._exchange.names(f"star_{rounds}_{'ab'[larger]}", len(ranges))
                calls = [(_all(shares[first:end]), name) for (first, end), name in zip(ranges, to, strict=True)]
                answers = [json.loads(answer) for answer in self._run(roots.star, calls, self._bounds, larger)]
                changes += sum(count for count, _ in answers)
                shares = self._exchange.shares(to, [places for _, places in answers], self._count)
        return shares

    def _replies(
        self, shares: list[list[Share]], numbers: dict[int, list[int]], asked: list[list[Share]], apart: int
    ) -> list[list[Share]]:
        """Shares of first roots. numbers: of the partitions of the roots that a partition asks for. asked: shares of these roots."""
        ranges, calls = self._ranges(apart), []
        to = self._exchange.names("reply", len(ranges))
        for (first, end), name in zip(ranges, to, strict=True):
            own = [
                [
                    share
                    for number, share in zip(numbers.get(part, ()), asked[part], strict=True)
                    if first <= number < end
                ]
                for part in range(self._count)
            ]
            calls.append((_all(shares[first:end]), own, name))
        places = [json.loads(answer) for answer in self._run(roots.reply, calls)]
        return self._exchange.shares(to, places, self._count)

    def _ranges(self, apart: int) -> list[tuple[int, int]]:
        """Ranges of partitions of which a task each resolves equalities, of which there are `apart`."""
        tasks = max(1, min(self._count, apart // _EACH))
        cuts = np.linspace(0, self._count, tasks + 1).astype(int).tolist()
        return list(zip(cuts[:-1], cuts[1:], strict=True))

    def _spread(self, inputs: DedupInput, links: dict[int, str], final: list[list[Share]]) -> list[list[Share]]:
        """Shares of links with match keys, by partitions of roots."""
        keys = self._parts.files(inputs.files) if self._count > 1 else [[]]
        to = self._exchange.names("spread", self._count)
        lists = [f"{column.each}_" for column in inputs.operator.matcher.columns if column.form == "columns"]
        lists = lists if not is_star(inputs.step.params) else []  # else bands are compared again
        calls = [(final[part], name, keys[part], to[part]) for part, name in links.items()]
        places = [json.loads(answer) for answer in self._run(clusters.spread, calls, lists, self._bounds)]
        return self._exchange.shares([to[part] for part in links], places, self._count)

    def _spread_shingles(
        self, files: Sequence[list[str]], links: dict[int, str], final: list[list[Share]]
    ) -> list[list[Share]]:
        """Shares of shingles of samples with links, by partitions of roots."""
        to = self._exchange.names("shingles", self._count)
        calls = [(final[part], name, files[part], to[part]) for part, name in links.items() if files[part]]
        places = [json.loads(answer) for answer in self._run(star_clusters.shingles, calls, self._bounds)]
        return self._exchange.shares([call[-1] for call in calls], places, self._count)

    def _settle(
        self,
        inputs: DedupInput,
        shares: Sequence[Sequence[Share]],
        files: Sequence[list[str]],
        shingles: Sequence[Sequence[Share]],
    ) -> _Settled:
        """Have the clusters settled. shares: of links, by partitions of roots; so are shingles, of which one partition has files."""
        keys, parts = (list(inputs.files) if self._count == 1 else []), _some(shares)
        own, matches = (self._exchange.names(kind, self._count, "parquet") for kind in ("keys", "matches"))
        removed, members = (self._exchange.names(kind, self._count) for kind in ("removed", "members"))
        calls: list[tuple[Any, ...]] = [
            (shares[part], own[part], removed[part], members[part], matches[part]) for part in parts
        ]
        if is_star(inputs.step.params):
            together = [name for names in files for name in names] if self._count == 1 else []
            calls = [(*call, together, list(shingles[part])) for call, part in zip(calls, parts, strict=True)]
            texts = self._run(star_clusters.settle, calls, _preferred(inputs), _direct(inputs), self._bounds, keys)
        else:
            texts = self._run(clusters.settle, calls, _survivors(inputs), self._bounds, keys)
        answers = [json.loads(answer) for answer in texts]
        by_sample = [
            self._exchange.shares([names[part] for part in parts], [answer[at] for answer in answers], self._count)
            for at, names in ((1, removed), (2, members))
        ]
        described = [(keys or [own[part]], matches[part]) for part in parts]
        return _Settled(by_sample[0], by_sample[1], described, max(size for size, *_ in answers))

    def _remove(self, settled: _Settled, findings: DedupResult) -> None:
        """Record the removed samples."""
        parts = _some(settled.removed)
        names = self._final("removed", parts, "rows")
        calls = [(settled.removed[part], name) for part, name in zip(parts, names, strict=True)]
        for name, answer in zip(names, self._run(clusters.remove, calls), strict=True):
            (size, digest), places = json.loads(answer)
            findings.seen[name] = size, digest
            findings.removed_in |= {shard: RemovedIn(name, *place) for shard, *place in places}
        self._keep(names)

    def _save_sizes(self, step: int, settled: _Settled, findings: DedupResult) -> None:
        """Write the sizes of clusters for the next stage."""
        calls = [(settled.members[part],) for part in _some(settled.members)]
        for answer in self._run(clusters.sizes, calls, size_column(step), self._folder):
            for shard, name, size, digest in json.loads(answer):
                findings.sizes[shard], findings.seen[name] = name, (size, digest)
        self._keep(findings.sizes.values())

    def _reason(self, inputs: DedupInput, settled: _Settled) -> str:
        """Sentences on the sample that connects most others; "" if their texts cannot be had."""
        calls = [(matches,) for _, matches in settled.matches]
        answers = self._executor.map(largest_hub, calls, (list(inputs.first_rows),))
        connected, row, members = max(map(json.loads, answers), key=lambda hub: (hub[0], -hub[1]))
        if not connected or inputs.texts is None:
            return ""
        return hub_told(inputs.step, inputs.texts, connected, row, members)

    def _write_tables(self, inputs: DedupInput, settled: _Settled, findings: DedupResult) -> None:
        """Write the tables of duplicates and of clusters."""
        to = self._exchange.names("described", len(settled.matches))
        calls = [(*one, name) for one, name in zip(settled.matches, to, strict=True)]
        sql, functions = statement("duplicates", **matched(inputs.operator)), to_json(list(inputs.operator.functions))
        places = [json.loads(answer) for answer in self._run(clusters.describe, calls, sql, functions, self._bounds)]
        described = self._exchange.shares(to, places, self._count)
        ordered = [
            *(
                (["_row"], described[part], name)
                for part, name in zip(_some(described), findings.duplicates, strict=True)
            ),
            *(
                (["kept", "_row"], settled.members[part], name)
                for part, name in zip(_some(settled.members), findings.clusters, strict=True)
            ),
        ]
        for (*_, name), answer in zip(ordered, self._run(clusters.in_order, ordered), strict=True):
            size, digest = json.loads(answer)
            findings.seen[name] = size, digest
        self._keep([*findings.duplicates, *findings.clusters])

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]], *shared: Any) -> list[str]:
        """Answers of tasks, in order. shared: first arguments of all of them."""
        return self._executor.map(work, calls, shared)

    @property
    def _bounds(self) -> str:
        return self._parts.bounds

    def _final(self, kind: str, parts: Iterable[int], suffix: str = "parquet") -> tuple[str, ...]:
        """Names of files that stay."""
        return tuple(f"{self._folder}/{kind}_{number:05d}.{suffix}" for number in parts)


def _some(shares: Sequence[Sequence[Share]]) -> list[int]:
    """Partitions that have shares."""
    return [part for part, own in enumerate(shares) if own]


def _all(shares: Iterable[Sequence[Share]]) -> list[Share]:
    """The shares of several partitions, those of one file together."""
    return sorted(share for own in shares for share in own)


def _survivors(inputs: DedupInput) -> str:
    """SQL that chooses the samples that stay; "" if the first ones do."""
    order = [replace(term, column=key_name(term.column)) for term in inputs.order]
    return statement("survivors", order=order) if order else ""


def _preferred(inputs: DedupInput) -> str:
    """SQL for the order in which samples are preferred."""
    return statement("preferred", order=[replace(term, column=key_name(term.column)) for term in inputs.order])


def _direct(inputs: DedupInput) -> dict[str, Any]:
    """Direct comparison of two samples."""
    params = inputs.step.params
    threshold = params.get("cosine_threshold") or params.get("jaccard_threshold")
    return {
        "kind": inputs.operator.sample_matcher.direct,
        "threshold": threshold,
        "distance": params.get("hamming_distance"),
    }


def _by_source(inputs: DedupInput, findings: DedupResult) -> tuple[dict[str, int], dict[str, int]]:
    """Number of samples of each input before the step, and number that it removes."""
    alive: dict[str, int] = {}
    gone: dict[str, int] = {}
    for shard, (source, rows) in enumerate(zip(inputs.sources, inputs.alive, strict=True)):
        place = findings.removed_in.get(shard)
        alive[source] = alive.get(source, 0) + rows
        gone[source] = gone.get(source, 0) + (place.end - place.first if place is not None else 0)
    return alive, gone
