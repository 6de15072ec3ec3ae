"""Facts of a plan for the manifest and the tables of its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.source_files import digest_of_folder
from refinery.compiler.model import Stat
from refinery.dedup.audit.parts import AuditedStep
from refinery.execution.assets import described
from refinery.execution.audited_texts import audited_steps, text_key_of
from refinery.operators import Library
from refinery.planning.plan import Plan
from refinery.recipe.model import Step
from refinery.results.views.input_macro import InputSamples


@dataclass(frozen=True)
class PlanFacts:
    """Facts of a plan.

    manifest: entries of the manifest that are known before the run. orderings: of filters, as plain data. comments: on the
    columns of `stats`, by table and column. audited: steps whose removed samples are compared with those that stay, by the
    text at `text_key`. samples: of the input, as its files have them.
    """

    manifest: dict[str, Any]
    orderings: list[dict[str, Any]]
    comments: dict[tuple[str, str], str]
    audited: list[AuditedStep]
    text_key: tuple[str, ...]
    samples: InputSamples

    @staticmethod
    def of(prepared: Plan) -> PlanFacts:
        """The facts of a plan; its inputs and assets as they are now. Raises DataError for an asset that cannot be read."""
        recipe, library, stages = prepared.recipe, prepared.library, prepared.stages
        manifest = {
            "project_name": recipe.project_name,
            "recipe": recipe.path,
            "fingerprint": prepared.fingerprint,
            "portion": recipe.portion and recipe.portion.plain(),
            "shard_size": prepared.shard_size,
            "workers": prepared.workers,
            "inputs": prepared.inputs(),
            "inodes": prepared.inodes(),
            "side_files": prepared.beside,
            "assets": described(recipe.assets_of_steps),
            "packages": _packages(recipe.steps, library),
        }
        text_key = text_key_of(stages)
        return PlanFacts(
            manifest,
            [ordering.json() for ordering in prepared.orderings],
            _comments(prepared.stats, recipe.steps, library),
            audited_steps(stages, library.operators),
            text_key,
            InputSamples(prepared.sources, prepared.shards, [*prepared.schema.columns], text_key),
        )


def _packages(steps: Sequence[Step], library: Library) -> dict[str, dict[str, str]]:
    """Versions of the installed packages that steps are from, and digests of their operators, by name."""
    packages = {library.package_of(library.operators[step.name].path) for step in steps}
    return {
        package.name: {"version": package.version, "digest": digest_of_folder(str(package.folder))}
        for package in packages
        if package is not None
    }


def _comments(stats: Sequence[Stat], steps: Sequence[Step], library: Library) -> dict[tuple[str, str], str]:
    """Comments on the columns of `stats`: the step, and what its operator says of the statistic."""
    by_number = {step.index: step for step in steps}
    comments: dict[tuple[str, str], str] = {}
    for stat in stats:
        step = by_number[stat.step]
        doc = library.operators[step.name].stats_of(step.params).get(stat.name, {}).get("doc", "")
        comments["stats", stat.column] = ": ".join(filter(None, (f"step {step.index}, {step.label}", doc)))
    return comments
