"""Samples that a program hands over as a stream become files of the run folder, and those the input of the recipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from refinery.errors import error_of
from refinery.execution.needs import check_needs
from refinery.io.python_data.kinds import first_items, is_ray_dataset
from refinery.io.python_data.spool import Spool, SpooledPart, SpoolNote
from refinery.operators import Library
from refinery.planning.pipeline import PlanRequest, walk
from refinery.recipe import Recipe
from refinery.recipe.executors import on_cluster
from refinery.recipe.input_config import InputConfig
from refinery.results.disk_space import explained
from refinery.storage.workplace import Workplace


@contextmanager
def spooled(recipe: Recipe, library: Library, dataset: Any) -> Iterator[Recipe]:
    """The recipe with the samples of a stream as its input; the run folder is held meanwhile.

    Without `use_cache`, the files are removed in the end. Raises RecipeError or OutputError before the stream is read,
    for problems that do not depend on the samples; DataError for a stream that ends with an error.
    """
    ahead = walk(PlanRequest(recipe, library, reads=False, runs=False))
    if problems := [*ahead.problems, *check_needs(recipe, ahead.value.sources).problems]:
        raise error_of(problems)
    place = Workplace.of(recipe.work_dir)
    store = place.input()
    note = SpoolNote(place.own(), place.run_dir.spooled.name)
    with ExitStack() as stack:
        with explained(place.name):
            stack.enter_context(place.run_dir.held())
            place.run_dir.input.mkdir(parents=True, exist_ok=True)  # so the run folder is seen to be one
            store.tidy()
            spool = Spool(store, note.read())
            most = recipe.limit if recipe.sample is None else None
            parts = _written(dataset, spool, most, on_cluster(recipe.executor_type))
            spool.keep_only(parts)
            note.write(parts)
        try:
            yield replace(recipe, inputs=(InputConfig(store.url),), suffixes=())
        finally:
            if not recipe.use_cache:
                spool.keep_only(())
                note.write(())


def _written(dataset: Any, spool: Spool, most: int | None, clustered: bool) -> list[SpooledPart]:
    """Write the samples; those of a Ray dataset by tasks where the run is on a cluster. most: number of samples; None for all."""
    if not is_ray_dataset(dataset):
        return spool.write(dataset if most is None else first_items(dataset, most))
    dataset = dataset if most is None else dataset.limit(most)  # Ray computes no further blocks
    reader = import_module("refinery.execution.ray.datasets")  # the package alone imports Ray
    if clustered:
        blocks: list[SpooledPart] = reader.spool_blocks(dataset, spool)
        return blocks
    return spool.tables(reader.tables_of(dataset))
