"""Identity of a corpus: all that decides its results besides its data. A change of it is refused, with the difference."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Any

from refinery.checkpoints.dependencies import with_digests
from refinery.corpus.manifest import Identity
from refinery.errors import DataError, Problem, RecipeError
from refinery.operators.versions import versions
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.dump import dump
from refinery.recipe.keys import KEYS

# Keys of a recipe that decide neither which samples are kept nor their fields.
NO_RESULT = (
    "project_name", "corpus", "publish", "max_sample_num", "export_path", "export_type", "export_shard_size", "export_in_parallel",
    "max_partitions", "removed_path", "removed_partition_by", "work_dir", "temp_dir", "suffixes", "np", "executor_type",
    "ray_address", "open_tracer", "op_list_to_trace", "trace_num", "trace_keys", "op_fusion", "fusion_strategy",
    "adaptive_batch_size", "use_checkpoint", "use_cache", "cache_compress", "open_monitor", "digests", "memory_limit",
    "threads", "workers", "max_quarantined", "shard_size", "override_num_blocks", "keep_fields", "stat_summary",
    "operators", "assets", "found_assets",
)  # fmt: skip
# Keys that a corpus cannot follow, with the reason.
_REFUSED = {
    "max_sample_num": "a corpus takes all samples of an add",
    "limit": "a corpus takes all samples of an add",
    "sample": "a corpus takes all samples of an add",
    "skipped": "a corpus takes all steps",
    "repeat_by": "a corpus has each sample once",
    "partition_by": "a corpus is written as files of its own; partition what you read from it",
    "measure_only": "a corpus removes what the steps remove",
}
_MOST = 12


def require_fit(recipe: Recipe) -> None:
    """Check that a recipe has nothing that a corpus cannot follow. Raises RecipeError with all problems."""
    plain = Recipe()
    problems = [
        Problem(recipe.place_of(name), f"{name} cannot be followed: {why}", "Leave it out, or make a run of its own.")
        for name, why in _REFUSED.items()
        if getattr(recipe, name) != getattr(plain, name)
    ]
    for step in recipe.steps:
        if step.params.get("index"):
            what = f"{step.name}: index cannot be used in a corpus, which compares all of its samples anyway"
            problems.append(Problem(step.where, what, "Leave out index."))
    for source in recipe.inputs:
        if source.format == "sql":
            what = f"{source.path} is a database, whose rows cannot be read again later as they are now"
            problems.append(Problem(recipe.place_of("dataset"), what, "Export the rows to Parquet, and add the file."))
        if source.left_out:
            what = "left_out of a source cannot be followed: a corpus leaves out what is withdrawn"
            problems.append(Problem(recipe.place_of("dataset"), what, "Add all samples, and withdraw these."))
    if problems:
        raise RecipeError(problems)


def identity_of(plan: Plan) -> Identity:
    """The identity of a planned recipe. Raises DataError for a file that cannot be read."""
    plan.stages = with_digests(plan.stages, plan.recipe.outputs, plan.sources)
    beside = {_name(path, plan): digest for path, digest in plan.beside.items()}
    return Identity(_text(plan.recipe), plan.fingerprint, beside, versions())


def _name(path: str, plan: Plan) -> str:
    """The name of a side file in keys, which is not its path, if it has one."""
    names = (planned.program.code.get(path) for planned in plan.stages)
    return next((name for name in names if name), path)


def _text(recipe: Recipe) -> str:
    plain = Recipe()
    defaults: dict[str, Any] = {name: getattr(plain, name) for name in NO_RESULT if hasattr(plain, name)}
    text = dump(replace(recipe, inputs=(), **defaults))
    unset = [f"{name}:" for name in (*NO_RESULT, "dataset_path") if name in KEYS]
    lines = text.splitlines()
    return "\n".join(line for line in lines if not any(line.startswith(name) for name in unset)) + "\n"


def require_same(corpus: str, was: Identity, now: Identity) -> None:
    """Check that nothing has changed. Raises RecipeError or DataError with the difference and the cure."""
    cure = "--renew computes the corpus anew and publishes the difference."
    if was.recipe != now.recipe:
        changes = [
            line
            for line in difflib.unified_diff(was.recipe.splitlines(), now.recipe.splitlines(), lineterm="", n=0)
            if not line.startswith(("---", "+++", "@@"))
        ]
        shown = [f"  {line}" for line in changes[:_MOST]]
        shown += [f"  and {len(changes) - _MOST} more lines"] if len(changes) > _MOST else []
        what = f"{corpus}: the corpus was made with another recipe. Use that one, or another corpus folder. {cure}"
        head = f"{what} The difference (- in the corpus, + now):"
        raise RecipeError([Problem("", line) for line in (head, *shown)])
    if was.versions != now.versions:
        raise DataError(
            f"{corpus}: the corpus was made with other versions: {_changes(was.versions, now.versions)}. {cure}"
        )
    if dict(was.beside) != dict(now.beside):
        raise DataError(f"{corpus}: files that steps read have changed: {_changes(was.beside, now.beside)}. {cure}")
    if was.steps != now.steps:
        raise DataError(f"{corpus}: the operators have changed. {cure}")


def _changes(was: Any, now: Any) -> str:
    names = [name for name in sorted({*was, *now}) if was.get(name) != now.get(name)]
    shown = [f"{name} {_short(was.get(name))}, now {_short(now.get(name))}" for name in names[:4]]
    return "; ".join(shown) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _short(value: str | None) -> str:
    return "absent" if value is None else value[:12]
