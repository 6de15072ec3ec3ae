"""`refinery forecast`: rows, bytes, seconds, memory and disk of a run that has not been made."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refinery.errors import DataError, Problem, RecipeError
from refinery.inspect.forecast import costs as costing
from refinery.inspect.forecast.cluster import ClusterSeconds, cluster_seconds, shards_on
from refinery.inspect.forecast.costs import Load, RunCosts
from refinery.inspect.forecast.disk import Disk, database_bytes, results_bytes
from refinery.inspect.forecast.estimates import Estimate, RowEstimator, StepEstimate, read_rows, step_order
from refinery.inspect.forecast.measured import MeasuredRun, measured, memory_now, processor_seconds
from refinery.inspect.forecast.sampled import InputSize, Sample, sample, size_of, without_blanks
from refinery.operators import Library
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.executors import on_cluster
from refinery.recipe.model import Step
from refinery.results.open_tables import open_tables
from refinery.results.tables import listed

# Rows of a sample: least, most without a deduplicator, share of the input between; and rows for the square root of the
# input's rows that a deduplicator needs, so that the sample has pairs.
LEAST, MOST, SHARE, FOR_PAIRS = 2000, 20_000, 0.01, 12
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
    recipe = replace(request.recipe, executor_type="default", steps=tuple(map(_without_limits, request.recipe.steps)))
    refuse_unknown(recipe)
    plan = prepare(recipe, request.library, runs=False)
    _refuse_steps(plan)
    started, before = processor_seconds(), memory_now()
    size = size_of(plan.sources, plan.shards)
    share = _share(plan, size, request.rows)
    with tempfile.TemporaryDirectory(prefix="refinery-forecast-", dir=recipe.temp_dir) as name:
        folder = Path(name)
        (folder / "input").mkdir()
        drawn = sample(plan.sources, plan.shards, share, size, folder / "input")
        if not len(drawn.groups):
            raise DataError("no sample was drawn from the input, which has no rows that can be read")
        size, drawn = without_blanks(size, drawn)
        run = measured(plan, drawn, folder)
        return _Forecaster(request, plan, size, drawn, run, folder).forecast(started, before)


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


def _share(plan: Plan, size: InputSize, asked: int | None) -> float:
    """The share of rows to sample. Raises DataError for an input that is too small."""
    removes = any(planned.stage.after is not None for planned in plan.stages)
    pairs = math.ceil(FOR_PAIRS * math.sqrt(size.rows)) if removes else 0
    wanted = asked or max(LEAST, pairs, min(MOST, int(size.rows * SHARE)))
    if size.rows < _WORTH * wanted:
        about = "" if size.exact else "about "
        raise DataError(
            f"the input has {about}{size.rows:,.0f} samples, too few for a forecast from {wanted:,} of them. "
            "Just run it: refinery run"
        )
    return wanted / size.rows


class _Forecaster:
    """Puts a forecast together from the run of a sample."""

    def __init__(
        self,
        request: ForecastRequest,
        plan: Plan,
        size: InputSize,
        drawn: Sample,
        run: MeasuredRun,
        folder: Path,
    ) -> None:
        self._request, self._plan, self._size, self._sample = request, plan, size, drawn
        self._run, self._folder = run, folder

    def forecast(self, started: float, before: int) -> Forecast:
        """The forecast. started: processor seconds of the command up to its plan. before: bytes of memory by then."""
        plan, counts = self._plan, self._run.outcome.counts
        if counts.read != len(self._sample.groups):
            raise DataError(f"{len(self._sample.groups):,} samples were drawn, and {counts.read:,} read")
        with open_tables(self._run.outcome.run_dir.database) as con:
            tokens = next((stat.column for stat in plan.stats if stat.name in _TOKENS), None)
            found = read_rows(con, step_order(plan), counts.read, tokens, self._run.parts)
            seconds = dict(con.execute("SELECT step, seconds FROM steps").fetchall())
        estimator = RowEstimator(plan, self._sample, self._size, found, self._request.bytes_per_token)
        rows, steps = estimator.input(), estimator.steps()
        costs = costing.costs_of(plan, self._sample, self._run, started)
        load = self._load(rows, steps)
        wall, cluster = self._seconds(costs, load, steps)
        disk, parts = self._disk(rows, steps)
        memory = costing.memory_of(plan, self._run, before, rows.value, self._shard_bytes())
        return Forecast(
            counts.read,
            self._sample.share,
            sum(source.size for source in plan.sources),
            rows,
            tuple(self._timed(steps, seconds, costs, load)),
            wall,
            costing.processor_seconds_of(costs, load, plan.workers),
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

    def _shard_bytes(self) -> float:
        return self._whole() / max(1, len(self._plan.shards))

    def _load(self, rows: Estimate, steps: Sequence[StepEstimate]) -> Load:
        """Work of the run: the bytes and rows that come into each stage."""
        left = {step.step: step.rows.value for step in steps}
        sizes, counts, now = [], [], rows.value
        for planned in self._plan.stages:
            sizes.append(self._whole() * now / max(1.0, rows.value))
            after, arrived = planned.stage.after, [now, *(left[step.index] for step in planned.stage.steps)]
            parts = self._run.parts.get(after.index) if after is not None else None
            matched = len(parts.keys) / self._sample.share if parts is not None else arrived[-1]
            counts.append(matched if after is not None else now)
            now = left[planned.stage.numbers()[-1]] if planned.stage.numbers() else now
        return Load(sizes, counts, rows.value, max(1, len(self._plan.shards)))

    def _seconds(
        self, costs: RunCosts, load: Load, steps: Sequence[StepEstimate]
    ) -> tuple[Estimate, ClusterSeconds | None]:
        error, cluster = costing.error_of(costs, load), None
        seconds = costing.wall_seconds_of(costs, load, self._plan.workers)
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
            if planned.stage.after is not None and not numbers:
                spent[planned.stage.after.index] = total + rows * costing.PER_MATCHED_ROW
                continue
            spent |= {number: total * seconds.get(number, 0.0) / whole if whole else 0.0 for number in numbers}
            if planned.stage.after is not None:
                spent[planned.stage.after.index] = stage.barrier + rows * costing.PER_MATCHED_ROW
        return (replace(step, seconds=spent.get(step.step, 0.0)) for step in steps)

    def _disk(self, rows: Estimate, steps: Sequence[StepEstimate]) -> tuple[Estimate, Disk]:
        counts, run_dir = self._run.outcome.counts, self._run.outcome.run_dir
        written = [path.stat().st_size for path in (run_dir.root / "export").rglob("*") if path.is_file()]
        removed = [path.stat().st_size for path in (run_dir.root / "removed").rglob("*") if path.is_file()]
        grows = steps[-1].bytes if steps else rows
        sampled = self._kept_bytes() if steps else counts.read
        export = grows.times(sum(written) / max(1.0, sampled))
        gone = sum(removed) * (rows.value - (steps[-1].rows.value if steps else 0)) / max(1, counts.removed)
        sizes = {shard.index: shard.size for shard in self._sample.shards}
        results = results_bytes(self._run.stored, sizes, self._whole(), len(self._plan.shards))
        database = database_bytes(run_dir.database, counts.read, rows.value, self._folder)
        parts = Disk(export.value + gone, results if self._plan.recipe.use_cache else 0.0, database)
        loose = (parts.results + parts.database) * _DISK_ERROR
        low, high = (math.hypot(bound - export.value, loose) for bound in (export.low, export.high))
        return Estimate(parts.total, parts.total - low, parts.total + high), parts

    def _kept_bytes(self) -> float:
        """Bytes of the texts that the sample's run has kept."""
        with open_tables(self._run.outcome.run_dir.database) as con:
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
        if self._plan.workers > 1:
            yield "seconds and memory: one worker has run the sample; several at once took up to twice as much on some machines"
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
            yield "cluster: cores as fast as this machine's, links of 25 Gbit/s for 160 cores each, nodes that are there"
