"""`refinery forecast`: rows, bytes, seconds, memory and disk of a run that has not been made."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refinery.common.free_memory import release
from refinery.errors import DataError, Problem, RecipeError
from refinery.inspect.forecast import costs as costing
from refinery.inspect.forecast.audits import audit_work, audited_work
from refinery.inspect.forecast.cluster import ASSUMED, ClusterSeconds, cluster_seconds, shards_on
from refinery.inspect.forecast.costs import Load, RunCosts
from refinery.inspect.forecast.disk import Disk, database_bytes, results_bytes
from refinery.inspect.forecast.estimates import Estimate, RowEstimator, SampledRows, StepEstimate, read_rows, step_order
from refinery.inspect.forecast.measured import MeasuredRuns, measured, processor_seconds, workers_of
from refinery.inspect.forecast.memory import Held, memory_of
from refinery.inspect.forecast.reading import largest_bytes, page_bytes, whole_bytes
from refinery.inspect.forecast.sampled import InputSize, Sample, sample, size_of, without_blanks
from refinery.inspect.forecast.scratch import ScratchCut
from refinery.operators import Library
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.executors import on_cluster
from refinery.recipe.model import Step
from refinery.results.open_tables import open_tables
from refinery.results.tables import listed

# Rows of a sample: least; share of the input, and most rows of that, if the least ones leave wide bounds; and rows for the square root of the
# input's rows that a deduplicator needs, so that the sample has pairs.
LEAST, MOST, SHARE, FOR_PAIRS = 2000, 20_000, 0.01, 12
# Rows that show the seconds of a row, if they are not more than this share of the input nor more than these bytes.
_TIMED, _TIMED_SHARE, _TIMED_BYTES = 8000, 0.25, 64 << 20
# Relative half of bounds that is narrow. A larger sample has so many times the rows, or is not worth a further try.
_NARROW, _LARGER = 0.05, 1.5
# Most of the sample's rows that are in the shards of the smaller run, one for each worker.
_FIRST = 0.25
# Inputs of fewer samples than this many for each sampled row are run, not forecast.
_WORTH = 4
# Bytes of a token, where no statistic counts tokens: that of English text in common tokenizers.
BYTES_PER_TOKEN = 4.0
# Relative error of a forecast of memory and of disk besides the export.
_MEMORY_ERROR, _DISK_ERROR = 0.35, 0.2
LIMITS = ("max_cluster_size", "max_removed_share")
_TOKENS = ("num_token", "token_count")


@dataclass(frozen=True)
class ForecastRequest:
    """A recipe to forecast. rows: of the sample, by default chosen. cores: of a cluster; None for this machine."""

    recipe: Recipe
    library: Library
    rows: int | None = None
    cores: int | None = None
    bytes_per_token: float = BYTES_PER_TOKEN


@dataclass(frozen=True)
class Forecast:
    """Forecast of a run.

    sampled: rows of the sample; share: their share of the input. rows: of the input. seconds: of the run; processor: seconds of all cores; spent: processor
    seconds of the forecast besides those of the plan. memory: of this machine's process, or of the largest on a cluster. disk: by kind.
    """

    sampled: int
    share: float
    input_bytes: int
    rows: Estimate
    steps: tuple[StepEstimate, ...]
    seconds: Estimate
    processor: float
    workers: int
    memory: Estimate
    disk: Estimate
    disk_parts: Disk
    cluster: ClusterSeconds | None
    spent: float
    notes: tuple[str, ...]


def forecast(request: ForecastRequest) -> Forecast:
    """Forecast the run of a recipe. Raises RecipeError, or DataError for an input that is too small."""
    clock = processor_seconds(), time.perf_counter()
    recipe = replace(request.recipe, executor_type="default", steps=tuple(map(_without_limits, request.recipe.steps)))
    refuse_unknown(recipe)
    plan = prepare(recipe, request.library, runs=False)
    _refuse_steps(plan)
    waited = max(0.0, time.perf_counter() - clock[1] - (processor_seconds() - clock[0]))
    started = processor_seconds()
    size = size_of(plan.sources, plan.shards)
    *smaller, largest = _sample_rows(plan, size, request.rows)
    for rows in smaller:
        found = _from_sample(request, plan, size, rows, started, waited)
        if is_narrow(found.steps):
            return found
    return _from_sample(request, plan, size, largest, started, waited)


def _from_sample(
    request: ForecastRequest, plan: Plan, size: InputSize, rows: int, started: float, waited: float
) -> Forecast:
    """The forecast from a sample of some rows. started, waited: processor seconds of the command up to its plan, and seconds in which it waited."""
    share = rows / size.rows
    with tempfile.TemporaryDirectory(prefix="refinery-forecast-", dir=plan.recipe.temp_dir) as name:
        folder = Path(name)
        (folder / "input").mkdir()
        drawn = sample(plan.sources, plan.shards, share, size, folder / "input", _pieces(plan, share))
        if not len(drawn.groups):
            raise DataError("no sample was drawn from the input, which has no rows that can be read")
        size, drawn = without_blanks(size, drawn)
        release()
        runs = measured(plan, drawn, folder)
        return _Forecaster(request, plan, size, drawn, runs, folder).forecast(started, started + waited)


def is_narrow(steps: Sequence[StepEstimate]) -> bool:
    """Return whether the bounds of rows after every step are so narrow that a larger sample is not worth its time."""
    return all(step.rows.high - step.rows.low <= 2 * _NARROW * step.rows.value for step in steps)


def refuse_unknown(recipe: Recipe) -> None:
    """Raise RecipeError for what a sample does not show."""
    problems = []
    if recipe.max_sample_num is not None:
        what = "max_sample_num limits the samples, and which it takes is not known to a forecast"
        problems.append(Problem(recipe.place_of("dataset"), what, "Forecast the recipe without it."))
    for key in ("limit", "sample"):
        if getattr(recipe, key) is not None:
            what = f"{key} chooses a part of the samples, and a forecast is of all of them"
            problems.append(Problem(recipe.place_of(key), what, "Forecast the recipe without it."))
    for step in recipe.steps:
        if step.params.get("index"):
            what = f"{step.name} has an index of earlier runs, whose samples a forecast does not compare"
            problems.append(Problem(step.where, what, "Forecast the recipe without it."))
    if problems:
        raise RecipeError(problems)


def _without_limits(step: Step) -> Step:
    """The step without the limits of a deduplicator that end a run: a sample has fewer duplicates."""
    if step.params.get("on_excess") != "fail":
        return step
    return replace(step, params=step.params | dict.fromkeys(LIMITS))


def _refuse_steps(plan: Plan) -> None:
    """Raise RecipeError if a step depends on the numbers of rows, which are others in a sample."""
    if any(planned.program.uses_row for planned in plan.stages):
        what = "a step's SQL names _row, and rows of a sample have other numbers"
        raise RecipeError([Problem(plan.recipe.path or "recipe", what, "Forecast the recipe without that step.")])


def _sample_rows(plan: Plan, size: InputSize, asked: int | None) -> list[int]:
    """Rows to sample: a few, and more if these leave wide bounds. Raises DataError for an input that is too small."""
    removes = any(planned.stage.after is not None for planned in plan.stages)
    pairs = math.ceil(FOR_PAIRS * math.sqrt(size.rows)) if removes else 0
    timed = int(min(_TIMED, size.rows * _TIMED_SHARE, _TIMED_BYTES / max(1.0, size.mean)))
    wanted = asked or max(LEAST, pairs, timed)
    if size.rows < _WORTH * wanted:
        about = "" if size.exact else "about "
        raise DataError(
            f"the input has {about}{size.rows:,.0f} samples, too few for a forecast from {wanted:,} of them. "
            "Just run it: refinery run"
        )
    most = min(MOST, int(size.rows * SHARE))
    return [wanted] if asked or most < _LARGER * wanted else [wanted, most]


def _pieces(plan: Plan, share: float) -> ScratchCut:
    """Shards of the sample: one for each worker in the smaller run, and others as large as the largest one of the run, but one for each worker at least.

    Memory and the seconds of a byte depend on the size of batches, which are as large as shards, but at most 16 MB.
    """
    workers = workers_of(plan)
    like = share * whole_bytes(plan.shards) / max(1.0, largest_bytes(plan.shards))
    first = min(_FIRST, workers / max(1.0, like))
    return ScratchCut(workers, max(workers, round((1 - first) * like)), first)


class _Forecaster:
    """Puts a forecast together from the run of a sample."""

    def __init__(
        self,
        request: ForecastRequest,
        plan: Plan,
        size: InputSize,
        drawn: Sample,
        runs: MeasuredRuns,
        folder: Path,
    ) -> None:
        self._request, self._plan, self._size, self._sample = request, plan, size, drawn
        self._runs, self._folder = runs, folder

    def forecast(self, started: float, waited: float) -> Forecast:
        """The forecast. started, waited: processor and wall seconds of the command up to its plan."""
        plan, counts = self._plan, self._runs.outcome.counts
        if counts.read != len(self._sample.groups):
            raise DataError(f"{len(self._sample.groups):,} samples were drawn, and {counts.read:,} read")
        with open_tables(self._runs.outcome.run_dir.database) as con:
            tokens = next((stat.column for stat in plan.stats if stat.name in _TOKENS), None)
            found = read_rows(con, step_order(plan), counts.read, tokens, self._runs.parts)
            seconds = dict(con.execute("SELECT step, seconds FROM steps").fetchall())
        estimator = RowEstimator(plan, self._sample, self._size, found, self._request.bytes_per_token)
        rows, steps = estimator.input(), estimator.steps()
        costs = costing.costs_of(plan, self._runs, self._sample_loads(found), (started, waited))
        left = {step.step: step.rows.value for step in steps}
        audit = audit_work(plan, rows.value, steps, self._runs.outcome.run_dir.database)
        load = self._load(self._whole(), rows.value, left, self._sample.share)
        load = replace(load, audited=audit.samples, reread=audit.seconds)
        wall, cluster = self._seconds(costs, load, steps)
        disk, parts = self._disk(rows, steps)
        memory = self._memory(rows)
        return Forecast(
            counts.read,
            self._sample.share,
            sum(source.size for source in plan.sources),
            rows,
            tuple(self._timed(steps, seconds, costs, load)),
            wall,
            costing.processor_seconds_of(costs, load),
            self._request.cores or plan.workers,
            Estimate(memory, memory * (1 - _MEMORY_ERROR), memory * (1 + _MEMORY_ERROR)),
            disk,
            parts,
            cluster,
            processor_seconds() - started,
            tuple([*self._excess(rows, steps), *self._notes(tokens is not None)]),
        )

    def _whole(self) -> float:
        """Bytes of the input, as they are in the sample's files."""
        if self._sample.lengths is not None:
            return float(self._size.bytes)
        return sum(source.size for source in self._sample.sources) / self._sample.share

    def _memory(self, rows: Estimate) -> float:
        """Most bytes of memory of this process, or of the largest worker."""
        runs, plan = self._runs, self._plan
        sample, whole = (
            Held(largest_bytes(shards), page_bytes(shards, plan.shards), count)
            for shards, count in ((self._sample.shards, runs.outcome.counts.read), (plan.shards, rows.value))
        )
        return memory_of(plan, runs.memory, sample, whole, runs.apart)

    def _sample_loads(self, found: SampledRows) -> tuple[Load, Load]:
        """Work of the small runs of the sample, and of the large one."""
        order = step_order(self._plan)
        left = {step: float((found.ended > place).sum()) for place, step in enumerate(order)}
        shards = self._sample.shards
        size, rows = float(sum(shard.size for shard in shards)), len(self._sample.groups)
        databases = self._runs.before, self._runs.outcome.run_dir.database
        audits = [
            audited_work(self._plan, some, database)
            for some, database in zip((shards[: self._sample.first], shards), databases, strict=True)
        ]
        large = replace(self._load(size, rows, left, 1.0), shards=len(shards))
        large = replace(large, audited=audits[1].samples, reread=audits[1].seconds)
        part = sum(shard.size for shard in shards[: self._sample.first]) / max(1.0, size)
        sizes, matched = ([part * value for value in values] for values in (large.sizes, large.matched))
        exported = part * large.exported
        audit = audits[0].samples, audits[0].seconds
        return Load(sizes, matched, part * rows, self._sample.first, exported, *audit), large

    def _load(self, whole: float, rows: float, left: Mapping[int, float], share: float) -> Load:
        """Work of a run: the bytes and rows that come into each stage. left: rows by step. share: of the sample in that run."""
        sizes, counts, now = [], [], rows
        for planned in self._plan.stages:
            sizes.append(whole * now / max(1.0, rows))
            after, arrived = planned.stage.after, [now, *(left[step.index] for step in planned.stage.steps)]
            parts = self._runs.parts.get(after.index) if after is not None else None
            matched = len(parts.keys) / share if parts is not None else arrived[-1]
            counts.append(matched if after is not None else now)
            now = left[planned.stage.numbers()[-1]] if planned.stage.numbers() else now
        exported = now if self._plan.recipe.exports else 0.0
        return Load(sizes, counts, rows, max(1, len(self._plan.shards)), exported)

    def _seconds(
        self, costs: RunCosts, load: Load, steps: Sequence[StepEstimate]
    ) -> tuple[Estimate, ClusterSeconds | None]:
        error, cluster = costing.error_of(costs, load), None
        seconds = costing.wall_seconds_of(costs, load)
        if self._request.cores:
            load = replace(load, shards=shards_on(self._request.cores, self._whole(), self._plan.recipe.shard_size))
            export = steps[-1].bytes.value if steps and self._plan.recipe.exports else 0.0
            cluster = cluster_seconds(costs, load, self._request.cores, [*load.sizes, export])
            seconds, error = cluster.total, math.hypot(error, 0.3)
        return Estimate(seconds, seconds * max(0.0, 1 - error), seconds * (1 + error)), cluster

    def _timed(
        self, steps: Sequence[StepEstimate], seconds: dict[int, float], costs: RunCosts, load: Load
    ) -> Iterator[StepEstimate]:
        """Steps with their processor seconds: those of their stage, shared as in the sample's run."""
        stages = zip(self._plan.stages, costs.stages, load.sizes, load.matched, strict=True)
        spent: dict[int, float] = {}
        for planned, stage, size, rows in stages:
            numbers = [step.index for step in planned.stage.steps]
            whole, total = sum(seconds.get(number, 0.0) for number in numbers), stage.seconds(size, load.shards)
            barrier = stage.barrier.processor(rows) if stage.barrier else 0.0
            if planned.stage.after is not None and not numbers:
                spent[planned.stage.after.index] = total + barrier
                continue
            spent |= {number: total * seconds.get(number, 0.0) / whole if whole else 0.0 for number in numbers}
            if planned.stage.after is not None:
                spent[planned.stage.after.index] = barrier
        return (replace(step, seconds=spent.get(step.step, 0.0)) for step in steps)

    def _disk(self, rows: Estimate, steps: Sequence[StepEstimate]) -> tuple[Estimate, Disk]:
        counts, run_dir = self._runs.outcome.counts, self._runs.outcome.run_dir
        written = [path.stat().st_size for path in (run_dir.root / "export").rglob("*") if path.is_file()]
        removed = [path.stat().st_size for path in (run_dir.root / "removed").rglob("*") if path.is_file()]
        grows = steps[-1].bytes if steps else rows
        sampled = self._kept_bytes() if steps else counts.read
        export = grows.times(sum(written) / max(1.0, sampled))
        gone = sum(removed) * (rows.value - (steps[-1].rows.value if steps else 0)) / max(1, counts.removed)
        sizes = {shard.index: shard.size for shard in self._sample.shards}
        results = results_bytes(self._runs.stored, sizes, self._whole(), len(self._plan.shards))
        database = database_bytes(run_dir.database, counts.read, rows.value, self._folder)
        parts = Disk(export.value + gone, results if self._plan.recipe.use_cache else 0.0, database)
        loose = (parts.results + parts.database) * _DISK_ERROR
        low, high = (math.hypot(bound - export.value, loose) for bound in (export.low, export.high))
        return Estimate(parts.total, parts.total - low, parts.total + high), parts

    def _kept_bytes(self) -> float:
        """Bytes of the texts that the sample's run has kept."""
        with open_tables(self._runs.outcome.run_dir.database) as con:
            query = "SELECT bytes_out FROM steps WHERE step = ?"
            found: list[tuple[Any, ...]] = con.execute(query, [step_order(self._plan)[-1]]).fetchall()
        return float(found[0][0]) if found else 0.0

    def _excess(self, rows: Estimate, steps: Sequence[StepEstimate]) -> Iterator[str]:
        """Limits of deduplicators at which the run would end."""
        limits = {step.index: step.params.get("max_removed_share") for step in self._request.recipe.steps}
        before = rows.value
        for step in steps:
            share = 1 - step.rows.value / max(1.0, before)
            limit, before = limits.get(step.step), step.rows.value
            if step.law and limit is not None and share > limit:
                yield f"step {step.step} {step.operator} would remove {100 * share:.0f} %, more than max_removed_share allows"

    def _notes(self, counted: bool) -> Iterator[str]:
        """Assumptions that the reader should know."""
        kinds = {kind for _, kind in listed(self._plan.stages)}
        if not counted:
            yield f"tokens: {self._request.bytes_per_token:g} bytes of text each (--bytes-per-token)"
        if "deduplicator" in kinds:
            yield "duplicates: extrapolated from the clusters of the sample; the bounds cover laws that it does not contradict"
        if not self._sample.whole:
            yield "rows of some parts of the input were sampled, as single rows of these files cannot be read"
        if on_cluster(self._request.recipe.executor_type) and not self._request.cores:
            yield "seconds and memory are those of this machine: --cluster CORES gives those of a cluster"
        if self._plan.recipe.open_tracer:
            yield "traces are not in the forecast"
        if self._request.cores:
            yield f"cluster: {ASSUMED}"
