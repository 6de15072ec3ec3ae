"""The driver's part of a filter of n-grams: hands out tasks that fill its parts, until decisions and filter agree.

In a filter that remembers only the n-grams of kept units, each decision depends on those before it. Tasks fill the parts of the filter
side by side as if decisions were known, first as if all units were kept. A filter of too many n-grams removes too many units, and
one of too few removes too few; so two fillings bound the kept units from below and above. What is open between the bounds is decided by
one task, unit by unit, from the bits that its n-grams lack. The last filling has exactly the n-grams of the kept units: decisions that it
confirms are those of one filter that sees all units in order, because no others can be confirmed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refinery.dedup import limits
from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.model import DedupInput
from refinery.dedup.ngram_filter import Decision, FilterSize, Measure
from refinery.dedup.tasks import ngrams as tasks
from refinery.storage.store import Store
from refinery.workers.executor import Executor

# Bytes of match keys of a group of files, whose n-grams one task divides.
_GROUP = 128 << 20
# Most bytes of a filter that one task holds as a whole.
_IN_ONE = 1 << 30
# Most bits that the n-grams of open units lack, for one task to decide these units.
MOST_OPEN = 20_000_000


@dataclass
class _Groups:
    """Groups of files of match keys. units: file of each. starts: of each in a file of flags, and the end. ngrams: of all."""

    files: list[list[str]]
    units: list[str]
    starts: list[int] = field(default_factory=list)
    ngrams: int = 0


class NgramTasks:
    """Tasks of one deduplicator."""

    def __init__(self, executor: Executor, exchange: Exchange, store: Store, inputs: DedupInput) -> None:
        self._executor, self._exchange, self._store, self._inputs = executor, exchange, store, inputs
        self._rule = Decision.of(inputs.step.params)
        self._rate = float(inputs.step.params["false_positive_rate"])
        self._expected = int(inputs.step.params.get("expected_ngrams") or 0)
        self.fillings = 0

    def removed(self, size: int, notes: list[str]) -> list[str]:
        """Files of the units to remove. size: bytes of the match keys. notes: gets lines on the filter.

        Raises OperatorError beyond a safety limit.
        """
        if size // 8 <= self._executor.worth and FilterSize.of(self._expected or 1, self._rate).bytes <= _IN_ONE:
            return self._in_one(notes)
        groups = self._sized(size)
        filter_size = FilterSize.of(self._expected or groups.ngrams, self._rate)
        filling = _Filling(self, groups, filter_size, self._divided(groups, filter_size.parts))
        counts, measure = filling.settled()
        names = self._exchange.names("found", len(groups.files), "parquet")
        calls = list(zip(groups.units, counts, names, strict=True))
        answers = [json.loads(answer) for answer in self.run(tasks.finish, calls, (self.rule,), "units")]
        notes += self._checked(filter_size, measure, answers)
        return [name for name, answer in zip(names, answers, strict=True) if answer[-1]]

    @property
    def rule(self) -> str:
        """The rule of decisions, as JSON."""
        return json.dumps(vars(self._rule))

    @property
    def remembers_all(self) -> bool:
        """True if decisions do not depend on each other."""
        return self._rule.remember_all

    def run(
        self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]], shared: Sequence[Any], label: str
    ) -> list[str]:
        """Run a task for each call."""
        return self._executor.map(work, calls, shared, f"{self._inputs.step.name}: {label}")

    def names(self, kind: str, count: int, suffix: str = "parts") -> list[str]:
        """Names of temporary files; those of each filling are others."""
        return self._exchange.names(f"{kind}_{self.fillings}", count, suffix)

    def _in_one(self, notes: list[str]) -> list[str]:
        names = self._exchange.names("found", 1, "parquet")
        calls = [(self._files(), names[0])]
        [answer] = self.run(tasks.in_one, calls, (self.rule, self._rate, self._expected), "units in order")
        size, measure, by_shard = json.loads(answer)
        notes += self._checked(FilterSize(**size), Measure(**measure), [by_shard])
        return names if by_shard[-1] else []

    def _files(self) -> list[str]:
        """Files of match keys in the order of the input."""
        return sorted(self._inputs.files, key=_shard_of)

    def _sized(self, size: int) -> _Groups:
        """Groups of files, with the numbers of their units and n-grams."""
        files, count = self._files(), -(-size // _GROUP)
        each = -(-len(files) // max(count, self._executor.capacity()))
        batches = [files[start : start + each] for start in range(0, len(files), each)]
        groups = _Groups(batches, self._exchange.names("units", len(batches), "parquet"))
        answers = self.run(tasks.sized, list(zip(groups.files, groups.units, strict=True)), (), "sizes")
        counts = [json.loads(answer) for answer in answers]
        groups.ngrams = sum(ngrams for _, ngrams in counts)
        groups.starts = [0, *np.cumsum([-(-units // 8) * 8 for units, _ in counts]).tolist()]
        return groups

    def _divided(self, groups: _Groups, parts: int) -> list[list[Share]]:
        """The n-grams of each part of the filter."""
        names = self._exchange.names("ngrams", len(groups.files))
        calls = [(files, group, name) for group, (files, name) in enumerate(zip(groups.files, names, strict=True))]
        answers = self.run(tasks.divide, calls, (parts,), "n-grams by parts of the filter")
        return self._exchange.shares(names, [json.loads(answer) for answer in answers], parts)

    def fill(
        self, groups: _Groups, size: FilterSize, ngrams: Sequence[Sequence[Share]], kept: str
    ) -> tuple[list[list[Share]], Measure]:
        """Fill the filter with the n-grams of kept units; the counts of each group, and the measure."""
        self.fillings += 1
        used = [shares for shares in ngrams if shares]
        names = self.names("counts", len(used))
        shared = json.dumps(vars(size)), groups.starts, kept, groups.ngrams
        answers = self.run(tasks.fill, list(zip(used, names, strict=True)), shared, "fill the filter")
        read = [json.loads(answer) for answer in answers]
        measures = [measure for _, measure in read]
        total = Measure(*(sum(one[name] for one in measures) for name in ("bits", "new", "wrong")))
        return self._exchange.shares(names, [places for places, _ in read], len(groups.files)), total

    def join(self, names: Sequence[str], to: str) -> None:
        """Write the flags of all groups to one file."""
        self._write(b"".join(self._store.bytes_at(name, 0) for name in names), to)

    def subtract(self, flags: str, others: str, to: str) -> None:
        """Write the flags that others do not have."""
        one, other = (np.frombuffer(self._store.bytes_at(name, 0), np.uint8) for name in (flags, others))
        self._write((one & ~other).tobytes(), to)

    def _write(self, data: bytes, to: str) -> None:
        path = self._inputs.folder / "flags.bits"
        path.write_bytes(data)
        self._store.publish(path, to)

    def _checked(self, size: FilterSize, measure: Measure, answers: Sequence[Any]) -> list[str]:
        """Notes on the filter, and on limits that the result exceeds."""
        step, sources = self._inputs.step, self._inputs.sources
        alive, removed = dict[str, int](), dict[str, int]()
        for shards, of_all, gone, _ in answers:
            for shard, some, lost in zip(shards, of_all, gone, strict=True):
                alive[sources[shard]] = alive.get(sources[shard], 0) + some
                removed[sources[shard]] = removed.get(sources[shard], 0) + lost
        if not alive:
            return []
        notes = [f"{step.where}: {step.name}: {_described(size, measure)}"]
        return notes + limits.check(step, 0, alive, removed, "n-grams", self._overfull(size, measure))

    def _overfull(self, size: FilterSize, measure: Measure) -> list[str]:
        rate = size.rate(measure.bits)
        if not self._expected or rate <= 1.1 * self._rate:
            return []
        return [
            f"filled its filter for {self._expected} n-grams with about {size.content(measure.bits)}: a new n-gram counts as known with "
            f"a probability of {rate:.2g}, more than false_positive_rate, which is {self._rate:g}"
        ]


class _Filling:
    """Fillings of a filter, until decisions and filter agree. ngrams: shares of each part."""

    def __init__(self, of: NgramTasks, groups: _Groups, size: FilterSize, ngrams: list[list[Share]]) -> None:
        self._of, self._groups, self._size, self._ngrams = of, groups, size, ngrams

    def settled(self) -> tuple[list[list[Share]], Measure]:
        """Counts by groups, of a filter that has exactly the n-grams of the units that its counts keep; and its measure."""
        filled = self._fill("")
        if self._of.remembers_all:
            return filled
        lower, changed = self._decided(filled[0], "")
        while changed:
            filled = self._fill(lower)
            upper, changed = self._decided(filled[0], lower)
            if not changed:
                break
            if changed * self._size.hashes <= MOST_OPEN:
                kept = self._settle(lower, upper)
                filled = self._fill(kept)
                _, wrong = self._decided(filled[0], kept)
                assert not wrong, "decisions of a filter of n-grams are not those that filled it"
                break
            filled = self._fill(upper)
            lower, changed = self._decided(filled[0], upper)
        return filled

    def _fill(self, kept: str) -> tuple[list[list[Share]], Measure]:
        return self._of.fill(self._groups, self._size, self._ngrams, kept)

    def _decided(self, counts: Sequence[Sequence[Share]], before: str) -> tuple[str, int]:
        """File of flags of the units that counts keep; the n-grams of units whose flag is another one than before."""
        groups, of = self._groups, self._of
        names = of.names("kept", len(groups.files), "bits")
        calls = list(zip(groups.units, counts, groups.starts[:-1], names, strict=True))
        changed = of.run(tasks.decide, calls, (of.rule, before), "decide")
        [name] = of.names("flags", 1, "bits")
        of.join(names, name)
        return name, sum(map(int, changed))

    def _settle(self, lower: str, upper: str) -> str:
        """File of flags of the kept units, which are those of `lower` and some of `upper`."""
        groups, of = self._groups, self._of
        asked, to = of.names("asked", 2, "bits")
        of.subtract(upper, lower, asked)
        parts = [part for part, shares in enumerate(self._ngrams) if shares]
        names = of.names("lacking", len(parts), "parquet")
        shared = json.dumps(vars(self._size)), groups.starts, lower, asked
        calls = [(part, self._ngrams[part], name) for part, name in zip(parts, names, strict=True)]
        of.run(tasks.lacking, calls, shared, "bits that n-grams lack")
        of.run(tasks.settle, [(names, to)], (of.rule, groups.starts, lower, asked, groups.units), "settle open units")
        return to


def _shard_of(name: str) -> int:
    return int(name.rpartition("/")[2].partition(".")[0])


def _described(size: FilterSize, measure: Measure) -> str:
    """The filter of a run, and its false positives."""
    text = (
        f"a filter of {size.bytes} bytes has about {size.content(measure.bits)} n-grams, {size.hashes} bits each; at its end, "
        f"a new n-gram counts as known with a probability of {size.rate(measure.bits):.2g}"
    )
    share = measure.wrong / max(1, measure.new)
    return (
        f"{text}; {measure.wrong} of {measure.new} new n-grams in a sample did ({share:.2g})" if measure.new else text
    )
