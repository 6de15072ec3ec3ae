"""Rows, bytes and tokens of the whole input after every step, with bounds, from the run of a sample.

Rows of filters are scaled by the share of rows that was sampled. The sample consists of 16 groups, each a sample by itself; how
their figures differ gives the standard error (Student's t, 15 degrees of freedom). Rows that a deduplicator removes follow
`cluster_law`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refinery.compiler.model import bytes_name
from refinery.inspect.forecast.cluster_law import Removed, all_beyond, all_but_one, removed_rows
from refinery.inspect.forecast.drawing import GROUPS
from refinery.inspect.forecast.measured import PartKeys
from refinery.inspect.forecast.sampled import InputSize, Sample
from refinery.planning.plan import Plan
from refinery.results.tables import listed

# Quantile of Student's t for 95 % and 15 degrees of freedom.
_T = 2.131
# Rows of which none is seen in a sample: at most this many would be expected, with 95 %.
_NONE_SEEN = 3.0


@dataclass(frozen=True)
class Estimate:
    """A figure with bounds of 95 %."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Estimate:
        """The figure in other units."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class StepEstimate:
    """Samples, bytes of their texts and tokens that a step leaves.

    seconds: of processor time that the step takes in the run. law: by which a deduplicator's rows are estimated; removed: the samples that it removes, or parts of
    texts.
    """

    step: int
    operator: str
    name: str | None
    kind: str
    rows: Estimate
    bytes: Estimate
    tokens: Estimate
    seconds: float = 0.0
    law: str = ""
    removed: float = 0.0


@dataclass(frozen=True)
class SampledRows:
    """Results of the run of a sample, as arrays over its rows.

    ended: place among the steps where a row ended, the number of steps for kept ones; -1 for unreadable rows. texts: bytes by version
    of the text. tokens: None without a statistic of tokens. clusters: rows of each cluster, by step. parts: match keys of parts of
    texts, by step.
    """

    ended: np.ndarray
    texts: Mapping[str, np.ndarray]
    tokens: np.ndarray | None
    clusters: Mapping[int, Sequence[Sequence[int]]]
    parts: Mapping[int, PartKeys]


def read_rows(
    con: Any, order: Sequence[int], count: int, tokens: str | None, parts: Mapping[int, PartKeys]
) -> SampledRows:
    """Read the tables of a run. order: numbers of the steps as they ran. tokens: column of the statistic."""
    outcomes = con.execute("SELECT * FROM row_outcomes").fetchnumpy()
    place_of = {step: place for place, step in enumerate(order)}
    ended = np.full(count, -1, np.int64)
    dropped = np.ma.filled(np.ma.asarray(outcomes["_dropped"]).astype(np.int64), 0)
    ended[outcomes["_row"]] = [place_of.get(int(step), len(order)) for step in dropped]
    for row, step in con.execute("SELECT _row, step FROM quarantine").fetchall():
        ended[row] = place_of.get(step, -1)
    texts = {name: np.zeros(count) for name in outcomes if name.startswith("_bytes_")}
    for name, values in texts.items():
        values[outcomes["_row"]] = np.ma.filled(np.ma.asarray(outcomes[name]).astype(float), 0)
    clusters: dict[int, dict[int, list[int]]] = {}
    for step, cluster, row in con.execute("SELECT step, cluster, _row FROM clusters").fetchall():
        clusters.setdefault(step, {}).setdefault(cluster, []).append(row)
    return SampledRows(
        ended,
        texts,
        _tokens(con, count, tokens),
        {step: list(members.values()) for step, members in clusters.items()},
        parts,
    )


def _tokens(con: Any, count: int, column: str | None) -> np.ndarray | None:
    if column is None:
        return None
    found = con.execute(f'SELECT _row, CAST("{column}" AS DOUBLE) AS n FROM stats').fetchnumpy()
    values = np.zeros(count)
    values[found["_row"]] = np.nan_to_num(np.ma.filled(np.ma.asarray(found["n"]).astype(float), 0))
    return values


def step_order(plan: Plan) -> list[int]:
    """Numbers of the steps as they run."""
    return [number for planned in plan.stages for number in planned.stage.numbers()]


class RowEstimator:
    """Estimates what steps leave, from a sample. per_token: bytes of a token, where no statistic counts tokens."""

    def __init__(self, plan: Plan, sample: Sample, size: InputSize, found: SampledRows, per_token: float) -> None:
        self._plan, self._sample, self._size, self._found, self._per_token = plan, sample, size, found, per_token
        self._order = step_order(plan)
        versions = {step for planned in plan.stages for step in planned.chain.versions}
        self._version = _versions(self._order, versions)
        # Factors by which what follows a deduplicator is larger or smaller than scaled, of rows and bytes, with the
        # logarithms of their bounds.
        self._rows, self._bytes = _Factor(), _Factor()

    def input(self) -> Estimate:
        """Rows of the input."""
        if self._size.exact:
            return Estimate(self._size.rows, self._size.rows, self._size.rows)
        alive = np.ones(len(self._sample.groups))
        return self._scaled(alive, self._sample.unread / self._sample.share)

    def steps(self) -> list[StepEstimate]:
        """Every step, in the order in which they run."""
        by_number = {step.index: (step, kind) for step, kind in listed(self._plan.stages)}
        most, found = self.input().high, []
        for place, number in enumerate(self._order):
            step, kind = by_number[number]
            alive = self._found.ended > place
            removes = kind == "deduplicator"
            law = self._deduplicated(step, place) if removes else Removed(0.0, 0.0, 0.0, "")
            name = bytes_name(self._version[number][1])
            sizes = np.where(alive, self._found.texts.get(name, 0.0), 0.0)
            rows = self._bounded(self._scaled(alive.astype(float)), self._rows, int(alive.sum()))
            rows = replace(rows, high=max(rows.value, min(rows.high, most)))
            size = self._bounded(self._scaled_bytes(sizes), self._bytes, int(alive.sum()))
            left = rows, size, self._tokens(alive, size)
            found.append(StepEstimate(number, step.name, step.title, kind, *left, law=law.law, removed=law.rows))
        return found

    def _tokens(self, alive: np.ndarray, size: Estimate) -> Estimate:
        if self._found.tokens is None:
            return size.times(1 / self._per_token)
        counted = self._scaled_bytes(np.where(alive, self._found.tokens, 0.0))
        return self._bounded(counted, self._bytes, int(alive.sum()))

    def _scaled(self, values: np.ndarray, more: float = 0.0) -> Estimate:
        """The sum of some values over all rows of the input, if the sampled rows are like the others."""
        share, mean = self._sample.share, float(values.mean()) if self._size.exact and self._sample.whole else 0.0
        groups = np.bincount(
            self._sample.groups, values - mean, GROUPS
        )  # a known number of rows leaves the error of their mean
        error = _T * math.sqrt(GROUPS * float(groups.var(ddof=1)) * (1 - share)) / share
        total = float(values.sum()) / share + more
        return Estimate(total, max(0.0, total - error), total + error)

    def _scaled_bytes(self, values: np.ndarray) -> Estimate:
        """The sum of some values that grow with the bytes of a row, by their ratio to the bytes that are known of all rows."""
        lengths = self._sample.lengths
        if lengths is None:
            return self._scaled(values)
        ratio = float(values.sum() / lengths.sum())
        rest = np.bincount(self._sample.groups, values - ratio * lengths, GROUPS)
        factor = self._size.bytes / float(lengths.sum())
        error = _T * math.sqrt(GROUPS * float(rest.var(ddof=1)) * (1 - self._sample.share)) * factor
        total = ratio * self._size.bytes
        return Estimate(total, max(0.0, total - error), total + error)

    def _bounded(self, scaled: Estimate, factor: _Factor, seen: int) -> Estimate:
        """The figure after deduplicators: relative errors of the scaled figure and of the deduplicators' laws add up."""
        value = scaled.value * factor.value
        if not value:
            return Estimate(0.0, 0.0, _NONE_SEEN / self._sample.share * (self._size.mean if seen else 1.0))
        below = math.log(scaled.value / max(scaled.low, scaled.value * 1e-6))
        above = math.log(max(scaled.high, scaled.value) / scaled.value)
        low, high = math.hypot(below, factor.below), math.hypot(above, factor.above)
        return Estimate(value, value * math.exp(-low), value * math.exp(high))

    def _deduplicated(self, step: Any, place: int) -> Removed:
        """Set the factors to those after a deduplicator; returns what it removes."""
        number, takes_units = step.index, bool(self._plan.library.operators[step.name].matcher.takes_units)
        before, after = self._found.ended >= place, self._found.ended > place
        rows, left = self._sum(before) * self._rows.value, self._sum(after)
        texts = self._found.texts
        old, new = texts[bytes_name(self._version[number][0])], texts[bytes_name(self._version[number][1])]
        size, rest = self._sum(before, old) * self._bytes.value, self._sum(after, new)
        if takes_units:
            law, mean = self._parts(step, size, float((old - new)[after].sum()))
        else:
            law = removed_rows(self._cluster_sizes(number), self._sample.share, rows)
            copies = [row for members in self._found.clusters.get(number, ()) for row in members]
            mean = float(old[copies].mean()) if copies else size / max(1.0, rows)
            self._rows = self._rows.follow(rows, law, 1.0, left)
        self._bytes = self._bytes.follow(size, law, mean, rest)
        return law

    def _sum(self, rows: np.ndarray, values: np.ndarray | float = 1.0) -> float:
        return float(np.where(rows, values, 0.0).sum()) / self._sample.share

    def _cluster_sizes(self, number: int) -> Counter[int]:
        """Number of clusters by their rows in the sample; rows that stood beside each other count once."""
        cells = self._sample.cells
        several = (len({int(cells[row]) for row in rows}) for rows in self._found.clusters.get(number, ()))
        return Counter(size for size in several if size > 1)

    def _parts(self, step: Any, size: float, removed: float) -> tuple[Removed, float]:
        """Removed parts of texts, and their mean bytes. Repetitions within a row are scaled as rows are."""
        parts, share = self._found.parts[step.index], self._sample.share
        most = step.params.get("frequency_threshold")
        _, keys = np.unique(parts.keys, return_inverse=True)
        cells = np.unique(np.stack([keys, self._sample.cells[parts.rows]]), axis=1)
        in_cells = np.bincount(cells[0]) if len(keys) else np.zeros(0, np.int64)
        within = (len(keys) - cells.shape[1]) / share
        gone = len(keys) - len(in_cells) if most is None else int((in_cells[keys] > most).sum())
        mean = removed / gone if gone else size * share / max(1, len(keys))
        loss = all_but_one if most is None else all_beyond(most)
        seen = Counter(in_cells[in_cells > 1].tolist())
        law = removed_rows(seen, share, cells.shape[1] / share, loss)
        own = within if most is None else 0.0
        return Removed(law.rows + own, law.low + own, law.high + own, f"parts of texts: {law.law}"), mean


@dataclass(frozen=True)
class _Factor:
    """A factor, and the logarithms by which its bounds lie below and above."""

    value: float = 1.0
    below: float = 0.0
    above: float = 0.0

    def follow(self, whole: float, law: Removed, each: float, rest: float) -> _Factor:
        """The factor after a deduplicator. whole: before it. each: what a removed item takes. rest: as scaled."""
        least = max(1e-9, whole * 1e-3)
        left, low, high = (max(least, whole - count * each) for count in (law.rows, law.high, law.low))
        below, above = math.log(left / min(left, low)), math.log(max(left, high) / left)
        return _Factor(left / max(1e-9, rest), math.hypot(self.below, below), math.hypot(self.above, above))


def _versions(order: Sequence[int], versions: set[int]) -> dict[int, tuple[int, int]]:
    """The versions of the text before and after each step."""
    version, by_step = 0, {}
    for step in order:
        before, version = version, step if step in versions else version
        by_step[step] = before, version
    return by_step
