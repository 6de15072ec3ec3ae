"""Facts of a plan for the manifest and the tables of its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.common.source_files import digest_of_folder
from refinery.dedup.audit.parts import AuditedStep
from refinery.execution.assets import described
from refinery.execution.audited_texts import audited_steps, text_key_of
from refinery.planning.plan import Plan


@dataclass(frozen=True)
class PlanFacts:
    """Facts of a plan.

    manifest: entries of the manifest that are known before the run. orderings: of filters, as plain data. comments: on the
    columns of `stats`, by table and column. audited: steps whose removed samples are compared with those that stay, by the
    text at `text_key`.
    """

    manifest: dict[str, Any]
    orderings: list[dict[str, Any]]
    comments: dict[tuple[str, str], str]
    audited: list[AuditedStep]
    text_key: tuple[str, ...]

    @staticmethod
    def of(prepared: Plan) -> PlanFacts:
        """The facts of a plan; its inputs and assets as they are now. Raises DataError for an asset that cannot be read."""
        orderings = [ordering.json() for ordering in prepared.orderings]
        audited = audited_steps(prepared.stages, prepared.library.operators)
        return PlanFacts(_manifest(prepared), orderings, _comments(prepared), audited, text_key_of(prepared.stages))


def _manifest(prepared: Plan) -> dict[str, Any]:
    recipe = prepared.recipe
    return {
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
        "packages": _packages(prepared),
    }


def _packages(prepared: Plan) -> dict[str, dict[str, str]]:
    """Versions of the installed packages that steps are from, and digests of their operators, by name."""
    library = prepared.library
    packages = {library.package_of(library.operators[step.name].path) for step in prepared.recipe.steps}
    return {
        package.name: {"version": package.version, "digest": digest_of_folder(str(package.folder))}
        for package in packages
        if package is not None
    }


def _comments(prepared: Plan) -> dict[tuple[str, str], str]:
    """Comments on the columns of `stats`: the step, and what its operator says of the statistic."""
    steps = {step.index: step for step in prepared.recipe.steps}
    comments: dict[tuple[str, str], str] = {}
    for stat in prepared.stats:
        step = steps[stat.step]
        doc = prepared.library.operators[step.name].stats_of(step.params).get(stat.name, {}).get("doc", "")
        comments["stats", stat.column] = ": ".join(filter(None, (f"step {step.index}, {step.label}", doc)))
    return comments
