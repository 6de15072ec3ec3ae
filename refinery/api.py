"""The Python API: `refinery.run`, `refinery.compile`, `refinery.register`."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.common.paths import shorter
from refinery.common.version import __version__
from refinery.compiler.column_names import OF_BATCH
from refinery.compiler.model import CompileContext
from refinery.compiler.program import build
from refinery.compiler.script.between_stages import ScriptPass
from refinery.compiler.script.script import ScriptExport, ScriptInput, script
from refinery.dedup.script_functions import SET_FUNCTIONS
from refinery.errors import DataError, OperatorError, Problem, RecipeError
from refinery.execution.needs import ready
from refinery.execution.open import open_recipe
from refinery.execution.run import Progress, execute
from refinery.io.formats import IN_SQL
from refinery.io.readers.registry import reader_of
from refinery.io.schema import common_schema, partitions_beside, texts_anew
from refinery.io.script_functions import LINE_FUNCTIONS
from refinery.io.writers.export import stats_path
from refinery.operators import Function, Library
from refinery.operators.processes import using_processes
from refinery.planning.plan import CompiledStage, Plan
from refinery.recipe import Recipe
from refinery.recipe.absolute_paths import seen_from_here
from refinery.results.database import Counts
from refinery.results.delivery import not_as_left
from refinery.results.kept_samples import KeptSamples
from refinery.results.open_tables import open_tables
from refinery.results.pandas_frames import frame_of
from refinery.results.stdout import pour
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_stdout
from refinery.workers.functions import register as register_functions

_REPLACED = "a later run has replaced the results of this one. Use the object that it has returned, or give each run a work_dir of its own"
# Types of CSV columns, by their names in Arrow and DuckDB.
_CSV_TYPES = {"bool": "BOOLEAN", "int64": "BIGINT", "double": "DOUBLE"}


@dataclass(frozen=True)
class Run:
    """A finished run.

    work_dir: the run folder. database: its DuckDB file. outputs: files of kept samples, URLs as texts. counts: rows
    read, kept, removed and quarantined. warnings: lines that a user should read. seconds: wall time. bytes: input
    processed. run_id: as in the table `runs`.
    """

    work_dir: Path
    database: Path
    outputs: tuple[Path | str, ...]
    counts: Counts
    warnings: tuple[str, ...]
    seconds: float
    bytes: int
    run_id: str = ""

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query on the run's tables. Raises DataError if a later run has replaced them."""
        with open_tables(self.database) as con:
            if self.run_id and con.execute("SELECT run_id FROM runs").fetchall() != [(self.run_id,)]:
                raise DataError(f"{self.database}: {_REPLACED}")
            return con.execute(query).fetchall()

    def to_arrow(self) -> pa.Table:
        """The kept samples as one Arrow table, in order.

        Raises DataError if they are nowhere, of unlike types, or replaced by a later run.
        """
        return self._kept.table()

    def to_batches(self) -> pa.RecordBatchReader:
        """The kept samples, in order, with memory for some batches. Raises DataError as `to_arrow`."""
        return self._kept.reader()

    def to_duckdb(self, con: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """A relation that reads the exported files. con: by default DuckDB's own connection."""
        return self._kept.relation(con if con is not None else duckdb.default_connection())

    def to_pandas(self) -> Any:
        """The kept samples as a pandas frame, large integers beside NULL as objects. Raises OperatorError without pandas."""
        if importlib.util.find_spec("pandas") is None:
            raise OperatorError("to_pandas needs pandas: pip install pandas")
        return frame_of(self.to_arrow())

    def to_ray(self) -> Any:
        """The kept samples as a `ray.data.Dataset`, which tasks read (extra `ray`)."""
        from refinery.execution.ray.kept import dataset_of

        return dataset_of(self._kept)

    @property
    def _kept(self) -> KeptSamples:
        if (not self.outputs and self.counts.kept) or any(is_stdout(str(path)) for path in self.outputs):
            raise DataError(
                f"{self.work_dir}: the run has left no files of kept samples. Name an export_path that is a file or a "
                "folder, and no export_type: none"
            )
        self._require_own()
        return KeptSamples(tuple(map(str, self.outputs)), self.counts.kept)

    def _require_own(self) -> None:
        """Raise DataError if the run folder or the exported files are no longer those of this run."""
        place = RunDir(self.work_dir).manifest
        if not self.run_id or not place.is_file():
            return
        manifest = json.loads(place.read_text(encoding="utf-8"))
        if manifest["run_id"] != self.run_id:
            raise DataError(f"{self.work_dir}: {_REPLACED}")
        if changed := not_as_left(manifest):
            raise DataError(changed[0])


@using_processes(anew=True)
def run(
    recipe: str | Path | Mapping[str, Any],
    dataset: Any = None,
    progress: Progress | None = None,
    overwrite: bool = False,
    **overrides: Any,
) -> Run:
    """Run a recipe to its end.

    recipe: a YAML file, or its content as a dict. dataset: samples in place of `dataset_path`: an Arrow table, batch or
    reader, a DuckDB relation, a pandas or polars frame, a Hugging Face or Ray dataset, or an iterable of dicts or Arrow
    batches; streams are read once, into files of the run folder. progress: called with (bytes done, bytes in all). overwrite: overwrite also files that no
    run has written. overrides: recipe keys with new values.
    Raises RecipeError, DataError, OperatorError, ConservationError or OutputError.
    """
    opened, library = open_recipe(recipe, overrides, need_inputs=dataset is None)
    outcome = execute(opened, library, dataset, progress, overwrite=overwrite)
    pour(outcome)
    return Run(
        outcome.run_dir.root,
        outcome.run_dir.database,
        outcome.outputs,
        outcome.counts,
        (*map(str, outcome.alarms), *map(str, opened.ignored), *outcome.notes),
        outcome.seconds,
        outcome.bytes,
        outcome.run_id,
    )


@using_processes(anew=True)
def compile(recipe: str | Path | Mapping[str, Any], dataset: Any = None, **overrides: Any) -> str:
    """Compile a recipe to a readable SQL script. Raises as `run` does; the input must exist, for its columns."""
    return script_of(*open_recipe(recipe, overrides, need_inputs=dataset is None), dataset)


def script_of(recipe: Recipe, library: Library, dataset: Any = None) -> str:
    """The script of an opened recipe."""
    differences = _outputs_not_followed(recipe)
    recipe = replace(seen_from_here(recipe, library.operators), removed_path=None, partition_by=())
    prepared = ready(recipe, library, dataset, probes=False)
    title = (
        f"{recipe.project_name}: {shorter(recipe.path or 'a recipe given in Python')} as SQL, by refinery {__version__}"
    )
    writes = prepared.stats and recipe.exports and not is_stdout(recipe.export_path)
    stats = stats_path(recipe.export_path) if writes else None
    path = "/dev/stdout" if is_stdout(recipe.export_path) else recipe.export_path
    export = ScriptExport(path, recipe.export_format, stats, recipe.add_suffix, _taken(prepared))
    _refuse_columns(prepared)
    parts = [_part(prepared, planned) for planned in prepared.stages]
    return script(
        parts, _files(prepared), export, title, [*differences, *_differences(recipe, prepared)], recipe.stat_summary
    )


def _refuse_columns(prepared: Plan) -> None:
    """Raise DataError for columns whose names clash in a script, which reads them by name, and for columns that are new."""
    if not prepared.lines and any(planned.program.written for planned in prepared.stages):
        raise DataError(
            "there is no script of a recipe that adds a field to the columns of a table; use `refinery run`"
        )
    schema = prepared.shards[0].schema if prepared.shards and not prepared.lines else None
    seen: set[str] = set()
    for name in schema.names if schema is not None else ():
        if name.lower() in seen or OF_BATCH.fullmatch(name.lower()) or name.lower() == "filename":
            what = (
                "differs from another in letter case only" if name.lower() in seen else "has a name that a script uses"
            )
            raise DataError(
                f"column {name!r} {what}, so there is no script of this recipe; rename it, or use `refinery run`"
            )
        seen.add(name.lower())


def _part(prepared: Plan, planned: CompiledStage) -> ScriptPass:
    """The parts of a stage that a script needs."""
    step, comparison = planned.stage.after, None
    operator = None if step is None else prepared.library.operators[step.name]
    if step is not None and step.params.get("verify"):
        around = CompileContext(after=step, compare=True)
        comparison = build([], prepared.library, prepared.schema, planned.program.text_key, around=around)[1]
    schema = prepared.shards[0].schema if prepared.shards and not prepared.lines else None
    columns = () if schema is None else tuple(schema.names)
    return ScriptPass(planned.stage, planned.program, planned.chain, operator, comparison, columns)


def _taken(prepared: Plan) -> tuple[str, ...]:
    """Columns of a table that the recipe writes anew."""
    wanted = {"__dj__stats__": prepared.stages[-1].program.stats_json, "__dj__suffix__": prepared.recipe.add_suffix}
    schema = prepared.shards[0].schema if prepared.shards else None
    return tuple(name for name, new in wanted.items() if new and schema is not None and name in schema.names)


def _files(prepared: Plan) -> list[ScriptInput]:
    found = []
    for source in prepared.sources:
        columns: tuple[tuple[str, str], ...] = ()
        reader = reader_of(source)
        if not reader.script:
            by = f" ({reader.code()})" if reader.code() else ""
            what = f"{source.path} is read by Python code{by}, which no SQL script can do"
            raise RecipeError([Problem(prepared.recipe.places.get("dataset_path", ""), what)])
        if source.options:
            named = ", ".join(name for name, _ in source.options)
            what = f"{source.path} is read with {named}, which no SQL script does"
            raise RecipeError([Problem(prepared.recipe.places.get("dataset_path", ""), what)])
        if source.compression not in IN_SQL:
            what = (
                f"{source.path} holds {source.compression} data, which DuckDB does not read: decompress it for a script"
            )
            raise RecipeError([Problem(prepared.recipe.places.get("dataset_path", ""), what)])
        if reader.inferred:
            typed = prepared.shards[0].schema if prepared.shards and not prepared.lines else None
            schema = common_schema([source]) if typed is None else typed
            columns = tuple((field.name, _CSV_TYPES.get(str(field.type), "VARCHAR")) for field in schema)
        folders = partitions_beside(source)
        columns = tuple(column for column in columns if column[0] not in {key for key, *_ in folders})
        found.append(ScriptInput(source.path, source.suffix, reader, columns, folders, tuple(texts_anew(source))))
    return found


def _outputs_not_followed(recipe: Recipe) -> list[str]:
    """Lines on files that a script does not write. Raises RecipeError for fields that it cannot choose."""
    if recipe.export_fields and recipe.exports:
        what, place = "export_fields cannot be followed by a script", recipe.place_of("export_fields")
        raise RecipeError([Problem(place, what, "Use `refinery run`, or leave it out: --export_fields null.")])
    found = []
    if recipe.partition_by:
        found.append(
            f"partition_by ({', '.join(name for name, _ in recipe.partition_by)}) is not followed: it writes one file."
        )
    if recipe.removed_path is not None:
        found.append(f"removed_path ({recipe.removed_path}) is not followed: it writes no files of removed samples.")
    return found


def _differences(recipe: Recipe, prepared: Plan) -> list[str]:
    """Lines on the settings of the recipe that a plain script does not follow."""
    found = []
    if recipe.export_shard_size:
        found.append(f"export_shard_size ({recipe.export_shard_size} bytes) is not followed: it writes one file.")
    if recipe.max_sample_num is not None:
        found.append(f"max_sample_num ({recipe.max_sample_num}) is not followed: it takes all samples.")
    if recipe.measure_only:
        found.append("Filters measure and remove nothing, deduplicators are left out: measure_only is on.")
    if recipe.stat_summary.export:
        found.append(
            f"stat_summary.export ({recipe.stat_summary.export}) is not followed: it writes no statistics files."
        )
    if recipe.open_tracer:
        found.append("It writes no traces; `refinery run` does.")
    for step in (planned.stage.after for planned in prepared.stages if planned.stage.after is not None):
        if step.params.get("index"):
            index = step.params["index"]
            found.append(f"Step {step.index}: index {index} is not followed: earlier runs' samples are not looked at.")
        limits = [name for name in ("max_cluster_size", "max_removed_share") if step.params.get(name) is not None]
        if limits:
            found.append(
                f"Step {step.index}: {' and '.join(limits)} {'is' if len(limits) == 1 else 'are'} not checked."
            )
    return found


def register(con: duckdb.DuckDBPyConnection, operators: Sequence[str | Path] = ()) -> list[str]:
    """Register the functions that compiled recipes call on a connection; returns their names.

    A function such as `clean_links_delta` returns NULL where nothing changes, as compiled SQL expects; the macro
    `clean_links` beside it always returns the text.
    """
    library = Library(tuple(operators))
    functions = [function for function in library.functions() if _installed(library, function)]
    functions += [*SET_FUNCTIONS, *LINE_FUNCTIONS]
    register_functions(con, functions)
    names = [function.name for function in functions]
    for function in functions:
        if function.name.endswith("_delta"):
            names.append(_whole_text(con, function))
    return sorted(names)


def _whole_text(con: duckdb.DuckDBPyConnection, function: Function) -> str:
    name = function.name.removesuffix("_delta")
    given = ", ".join(["t", *(f"a{i}" for i in range(len(function.columns) + len(function.constants) - 1))])
    con.execute(f"CREATE OR REPLACE TEMP MACRO {name}({given}) AS coalesce({function.name}({given}), t)").fetchall()
    return name


def _installed(library: Library, function: Function) -> bool:
    operator = library.operators.get(function.path.stem)
    return operator is None or all(importlib.util.find_spec(module) for module in operator.needs)
