"""The plan of a recipe: its inputs, cut to shards, its stages compiled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from refinery.common.paths import shorter
from refinery.compiler.column_names import Keys
from refinery.compiler.filter_order import FilterOrder
from refinery.compiler.model import Chain, Schema, Stat
from refinery.compiler.program import Program
from refinery.compiler.stages import Stage
from refinery.io.model import Shard, Source
from refinery.io.unchanged import Stamps
from refinery.operators import Library
from refinery.planning.filter_costs import store_orders
from refinery.planning.shard_cut import Capacity, ShardCut
from refinery.planning.sizes import Sizes
from refinery.recipe import Recipe
from refinery.recipe.stat_summary import StatSummary
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url
from refinery.workers.backends import WorkerSettings


@dataclass(frozen=True)
class CompileSettings:
    """Settings of a recipe that all its stages are compiled with.

    shares: operators share features. measures: filters only measure. exports_stats: samples are exported with their statistics.
    folders: those whose files the SQL may read. seconds: time limit of a statement. partition: names and SQL of `partition_by`, at
    its place in the recipe. repeat: SQL of `repeat_by`, at its place. keeps_removed: removed samples are written, too.
    keep_fields: fields of the input that are stored, named at keep_place.
    """

    text_key: Keys
    shares: bool
    measures: bool
    exports_stats: bool
    summary: StatSummary
    folders: tuple[str, ...]
    seconds: float
    partition: tuple[tuple[str, str], ...] = ()
    partition_place: str = ""
    keeps_removed: bool = False
    repeat: str | None = None
    repeat_place: str = ""
    keep_fields: tuple[str, ...] = ()
    keep_place: str = ""


@dataclass(frozen=True)
class CompileInputs:
    """All that a stage is compiled from, besides its steps.

    schema: of the samples that it gets. earlier: statistics of the stages before it. keyed: compiled stages are stored in the
    user's cache folder, and taken from there; not those of a process whose sources have changed meanwhile.
    """

    settings: CompileSettings
    library: Library
    schema: Schema
    earlier: tuple[Stat, ...] = ()
    keyed: bool = False


@dataclass(frozen=True)
class CompiledStage:
    """A stage with its compiled program and chain.

    key: of the stage in the user's cache folder, see `stored_stages`. stored: it comes from there.
    """

    stage: Stage
    inputs: CompileInputs
    program: Program
    chain: Chain
    key: str | None = None
    stored: bool = False

    @property
    def all_steps(self) -> list[Any]:
        """Steps that a worker of the stage computes something for: those of the chain, and the deduplicators' parts."""
        return [*self.steps, *([self.stage.after] if self.stage.after is not None else [])]

    @property
    def steps(self) -> list[Any]:
        """Steps of the chain, after the deduplicator that removes units from texts, if there is one."""
        before = [self.stage.before] if self.program.removed else []
        return [*before, *self.stage.steps]


def stats_of(stages: Sequence[CompiledStage]) -> list[Stat]:
    """The statistics of all stages."""
    return [stat for planned in stages for stat in planned.program.stats]


@dataclass
class Plan:
    """A recipe with its inputs, cut to shards, and its stages compiled.

    cut: size of the shards, with the reason. schema: of the input. capacity: of the cluster; None for a run on this machine.
    """

    recipe: Recipe
    library: Library
    stages: tuple[CompiledStage, ...]
    sources: list[Source]
    shards: list[Shard]
    workers: int
    cut: ShardCut
    schema: Schema
    capacity: Capacity | None = None
    notes: list[str] = field(default_factory=list)
    orderings: tuple[FilterOrder, ...] = ()
    sizes: Sizes = Sizes()
    stamps: Stamps = field(default_factory=dict)

    @property
    def worker_settings(self) -> WorkerSettings:
        """Settings of the workers of a run on this machine."""
        recipe = self.recipe
        return WorkerSettings(recipe.workers, self.workers, recipe.threads, recipe.memory_limit, recipe.row_timeout)

    @property
    def shard_size(self) -> int:
        """Most input bytes of a shard."""
        return self.cut.size

    @property
    def fingerprint(self) -> str:
        """A digest of all steps, without the order in which they run."""
        last = self.stages[-1].stage
        return last.of_recipe or last.fingerprint

    def order_key(self) -> str:
        """A digest of everything that the order of the steps depends on."""
        inputs = [{**item, "path": shorter(item["path"])} for item in self.inputs()]
        parts = [self.fingerprint, self.recipe.reorders, inputs]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def keep_order(self, run_dir: RunDir) -> None:
        """Store the order of steps, if `fusion_strategy` set one, for a run that continues this one."""
        if self.orderings:
            store_orders(run_dir.order, self.order_key(), self.orderings)

    @property
    def lines(self) -> bool:
        """True if samples are carried as JSON lines."""
        return self.schema.lines

    @property
    def stats(self) -> list[Stat]:
        """The statistics of all stages."""
        return stats_of(self.stages)

    @property
    def beside(self) -> dict[str, str]:
        """Digests of everything besides the samples that results depend on, by name; known when a run begins."""
        return {name: digest for planned in self.stages for name, digest in planned.program.beside.items()}

    def inputs(self) -> list[dict[str, Any]]:
        """The input files as they are now: path, format, size, time of change."""
        files = []
        for source in self.sources:
            modified = source.state()[2] if source.table is None else 0
            files.append({"path": source.path, "format": source.format, "size": source.size, "modified": modified})
        return files

    def inodes(self) -> dict[str, int]:
        """Times at which inodes of local input files changed last (ns), which nobody can set, by path."""
        paths = [source.path for source in self.sources if source.table is None and not is_url(source.path)]
        return {path: os.stat(path).st_ctime_ns for path in paths}
