"""All checks before a run begins; the problems of all phases are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from refinery.common.extras import install_command
from refinery.common.fields import keys_of
from refinery.compiler.model import Schema
from refinery.compiler.stages import cut_at_barriers
from refinery.errors import DataError, OutputError, Problem, RecipeError, RefineryError, by_place, joined
from refinery.execution.assets import require_locked
from refinery.io.model import Shard, Source
from refinery.io.readers.read import read
from refinery.io.sources import carrier, cut, find
from refinery.operators import Library
from refinery.planning.binding import remembering
from refinery.planning.field_check import missing_fields, text_fields
from refinery.planning.input_schema import input_schema, part_of
from refinery.planning.plan import Plan, compile_stages, prepare
from refinery.planning.shard_cut import Capacity
from refinery.recipe import Recipe
from refinery.recipe.executors import EXECUTORS
from refinery.recipe.lost import MissingStatistics
from refinery.results.output_checks import keep_inputs, require_folders, require_own, require_place
from refinery.stats import step as merging
from refinery.storage.urls import is_url
from refinery.workers.threads import cores

# Errors that a user can mend; any other error ends the command at once.
_OURS = (RecipeError, DataError, OutputError)
Found = list[tuple[RefineryError, str]]


def ready(
    recipe: Recipe,
    library: Library,
    dataset: Any = None,
    probes: bool = True,
    overwrite: bool = False,
    capacity: Capacity | None = None,
    runs: bool = False,
) -> Plan:
    """Prepare the recipe for a run.

    capacity: of the cluster that the run is for, see `execution.capacity`. runs: the recipe runs afterwards.
    probes: test that the URL of the export can be written to. overwrite: accept existing files that no run has written.
    Raises one error with all problems: RecipeError if the recipe has one, else DataError, else OutputError.
    """
    with remembering():
        try:
            prepared = prepare(recipe, library, dataset, capacity=capacity, runs=runs)
        except _OURS as error:
            found = problems_of_recipe(recipe, library, MissingStatistics(), dataset, probes)
            raise joined(found or [(error, "")]) from error
    found = _around(recipe, prepared.sources, probes)
    if found := found or _caught(
        partial(require_own, prepared, overwrite, probes), recipe.places.get("export_path", "")
    ):
        raise joined(found)
    return prepared


def with_the_rest(error: RecipeError, need_inputs: bool = True) -> RecipeError:
    """The error of a recipe that could not be read, with the problems of the rest of the recipe."""
    if error.partial is None:
        return error
    recipe, library, lost = error.partial.recipe, error.partial.library, error.partial.lost
    seen = {problem.where for problem in error.problems}
    found = problems_of_recipe(recipe, library, lost, None, seen=seen, reads=need_inputs)
    whole = joined([(error, ""), *found])
    return whole if isinstance(whole, RecipeError) else error


def problems_of_recipe(
    recipe: Recipe,
    library: Library,
    lost: MissingStatistics,
    dataset: Any = None,
    probes: bool = True,
    seen: set[str] | frozenset[str] = frozenset(),
    reads: bool = True,
) -> Found:
    """All problems, each error with its place.

    lost: steps that were left out of the recipe because of errors. seen: places with known problems. reads: the recipe
    names its inputs.
    """
    sources, found = _sources(recipe, library) if dataset is None and reads else ([], [])
    place = recipe.places.get("dataset_path", "")
    try:
        _compile(recipe, library, lost, sources)
    except _OURS as error:
        found.append((error, place))
        if isinstance(error, DataError) and not isinstance(error, RecipeError):
            found += _caught(partial(_compile, recipe, library, lost, []), place)
    return found + _around(recipe, sources, probes, seen)


def _sources(recipe: Recipe, library: Library) -> tuple[list[Source], Found]:
    """The files of every input that is found, and the problems of the others."""
    sources: list[Source] = []
    found: Found = []
    texts = text_fields(recipe)
    for dataset, item in enumerate(recipe.inputs):
        try:
            of_input, _ = find([item], recipe.suffixes, recipe.path, library.readers.values())
        except DataError as error:
            found.append((error, recipe.places.get("dataset_path", "")))
            continue
        sources += [replace(source, dataset=dataset, texts=texts) for source in of_input]
    return sources, found


def _compile(recipe: Recipe, library: Library, lost: MissingStatistics, sources: Sequence[Source]) -> None:
    """Compile all stages for the samples of the sources. Raises RecipeError with all problems, or DataError."""
    stages = cut_at_barriers(recipe.steps, library, recipe.measure_only)
    if not sources:
        compile_stages(recipe, library, stages, Schema(True, unknown=True, lost=lost), [])
        return
    shards, lines = cut(sources, recipe.shard_size), carrier(sources) == "lines"
    problems, _ = missing_fields(recipe, library, shards)
    schema = input_schema(recipe, library, lines, part_of(shards), max(1, min(recipe.np, cores())))
    there = schema.columns if lines else {keys_of(recipe.text_key)[0]: "VARCHAR", **schema.columns}
    schema = replace(schema, columns=there, lost=lost)
    try:
        compile_stages(recipe, library, stages, schema, shards if lines or not problems else _stand_in(recipe, shards))
    except RecipeError as error:
        problems += error.problems
    if problems:
        raise RecipeError(by_place(problems))


def _stand_in(recipe: Recipe, shards: Sequence[Shard]) -> list[Shard] | None:
    """One sample of nulls like those of a table, whose text fields are text, as they should be; None for nested ones."""
    fields = text_fields(recipe)
    batch = next((batch for shard in shards for batch in read(shard, 1 << 16)), None)
    if batch is None or any(len(keys) > 1 for keys in fields):
        return None
    columns = {name: batch.table.schema.field(name).type for name in batch.table.column_names}
    columns |= {name: pa.string() for (name,) in fields}
    return cut([Source.of_table(pa.table({name: pa.nulls(1, kind) for name, kind in columns.items()}))])


def _around(
    recipe: Recipe, sources: Sequence[Source], probes: bool, seen: set[str] | frozenset[str] = frozenset()
) -> Found:
    """Problems of other needs of a run: places to write to, packages, folders with statistics."""
    found: Found = []
    looks: list[tuple[str, Callable[[], None]]] = [
        ("executor_type", partial(_require_package, recipe)),
        ("process", partial(merging.check, recipe)),
        ("process", partial(require_locked, recipe)),
        ("export_path", partial(keep_inputs, recipe, sources)),
    ]
    if probes or not is_url(recipe.export_path):
        looks.append(("export_path", partial(require_place, recipe)))
    looks.append(("work_dir", partial(require_folders, recipe)))
    for key, look in looks:
        derived = (
            key == "work_dir" and key not in recipe.places and any(isinstance(error, OutputError) for error, _ in found)
        )
        if not derived and (recipe.places.get(key) not in seen or key == "process"):
            found += _caught(look, recipe.places.get(key, ""))
    return found


def _caught(look: Callable[[], None], place: str) -> Found:
    try:
        look()
    except _OURS as error:
        return [(error, place)]
    return []


def _require_package(recipe: Recipe) -> None:
    package = EXECUTORS[recipe.executor_type].package
    if package is not None and find_spec(package) is None:
        what = f"executor_type: {recipe.executor_type} needs the Python package {package}"
        cure = f"Install it: {install_command(package)}"
        raise RecipeError([Problem(recipe.place_of("executor_type"), what, cure)])
