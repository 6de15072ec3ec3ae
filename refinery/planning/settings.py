"""Settings of a plan: a recipe turned into the values that each phase of planning needs.

No other module of planning reads the keys of a recipe.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from refinery.common.fields import OTHERS, field_name, keys_of
from refinery.operators import Library
from refinery.planning.discovery import InputSettings
from refinery.planning.field_check import FieldNames, NamedField, written_fields
from refinery.planning.input_schema import SchemaSettings
from refinery.planning.plan import CompileSettings
from refinery.planning.samples import SampleSettings
from refinery.planning.shard_cut import CutSettings, worker_count
from refinery.planning.sql_names import names_in_sql
from refinery.recipe import Recipe
from refinery.recipe.executors import EXECUTORS
from refinery.recipe.model import Step
from refinery.recipe.portion import Portion
from refinery.security.sql_paths import folder_of, folders_of
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url
from refinery.workers.statement_limits import seconds_of


@dataclass(frozen=True)
class PlanSettings:
    """Settings of each phase of planning.

    strategy: of the order of filters, `probe` or `greedy`; None for the recipe's order. portion: the part of the recipe that is
    run; None for all of it. fields_place: of the types of fields that the recipe declares; "" if it declares none.
    """

    inputs: InputSettings
    names: FieldNames
    cut: CutSettings
    samples: SampleSettings
    schema: SchemaSettings
    compile: CompileSettings
    steps: tuple[Step, ...]
    strategy: str | None
    portion: Portion | None
    fields_place: str

    @staticmethod
    def of(recipe: Recipe, library: Library) -> PlanSettings:
        """The settings of a recipe."""
        workers, place = worker_count(recipe.np), recipe.places.get("dataset_path", "")
        repeats = (recipe.repeat_by,) if recipe.repeat_by is not None else ()
        by = [sql for _, sql in (*recipe.stat_summary.group_by, *recipe.partition_by)]
        return PlanSettings(
            InputSettings(recipe.inputs, recipe.suffixes, recipe.path, tuple(library.readers.values()), place),
            FieldNames.of([*_fields_of_keys(recipe, library)], recipe.steps, library, recipe.max_quarantined is None),
            CutSettings(
                recipe.shard_size,
                recipe.override_num_blocks,
                recipe.adaptive_batch_size,
                recipe.memory_limit,
                len(recipe.steps),
                workers,
                recipe.work_dir,
            ),
            SampleSettings(
                tuple(one.left_out for one in recipe.inputs),
                tuple(one.weight for one in recipe.inputs),
                recipe.max_sample_num,
                recipe.sample,
                recipe.limit,
                workers,
                place,
            ),
            SchemaSettings(
                names_in_sql((*by, *repeats), recipe.steps, library, recipe.text_key, recipe.keep_fields),
                {keys_of(name): kind for name, kind in recipe.fields},
                EXECUTORS[recipe.executor_type].profiles,
                workers,
            ),
            _compile_settings(recipe, library),
            recipe.steps,
            recipe.reorders,
            recipe.portion,
            recipe.place_of("fields") if recipe.fields else "",
        )

    def without_files(self) -> PlanSettings:
        """The settings for samples that a program hands over in place of the recipe's files."""
        samples = replace(self.samples, left_out=(), weights=(), place="")
        return replace(self, inputs=replace(self.inputs, place=""), samples=samples)


def _compile_settings(recipe: Recipe, library: Library) -> CompileSettings:
    return CompileSettings(
        keys_of(recipe.text_key),
        recipe.op_fusion,
        recipe.measure_only,
        recipe.keep_stats_in_res_ds,
        recipe.stat_summary,
        folders_of(recipe.steps, library, bool(recipe.stat_summary.group_by), _folders(recipe)),
        seconds_of(recipe.row_timeout),
        recipe.partition_by if recipe.exports else (),
        recipe.place_of("partition_by"),
        recipe.removed_path is not None,
        recipe.repeat_by if recipe.exports else None,
        recipe.place_of("repeat_by"),
        recipe.keep_fields,
        recipe.place_of("keep_fields"),
    )


def _fields_of_keys(recipe: Recipe, library: Library) -> Iterator[NamedField]:
    """The fields that keys of a recipe name, besides its steps; the text field comes first."""
    yield NamedField(recipe.text_key, recipe.place_of("text_keys"), "text_keys", is_text=True)
    for key in recipe.traces.fields if recipe.traces.are_on else ():
        yield NamedField(key, recipe.place_of("trace_keys"), "trace_keys", is_either=True)
    for field in recipe.keep_fields:
        yield NamedField(field, recipe.place_of("keep_fields"), "keep_fields", is_either=True)
    written = written_fields(recipe.steps, library)
    for field in (name for name, _ in recipe.export_fields if name != OTHERS):
        if field_name((keys_of(field)[0],)) not in written:
            yield NamedField(field, recipe.place_of("export_fields"), "export_fields")


def _folders(recipe: Recipe) -> Iterator[str]:
    """Folders of a recipe, its inputs and its operators."""
    if recipe.path:
        yield RunDir.around(recipe.path)
    yield from (folder_of(source.path) for source in recipe.inputs if not is_url(source.path))
    yield from (os.path.abspath(os.path.expanduser(folder)) for folder in recipe.operators)
