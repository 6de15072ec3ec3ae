"""The Python API: `refinery.run`, `open`, `compile`, `register`, and of a corpus `add`, `withdraw`, `open_corpus`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.common.lazy import duckdb
from refinery.common.paths import shorter
from refinery.common.version import __version__
from refinery.compiler.column_names import OF_BATCH
from refinery.compiler.model import CompileContext
from refinery.compiler.program import build
from refinery.compiler.script.between_stages import ScriptPass
from refinery.compiler.script.script import ScriptExport, ScriptInput, script
from refinery.corpus import corpus as corpora
from refinery.corpus.change import Report
from refinery.corpus.change import Settings as ChangeSettings
from refinery.corpus.corpus import Corpus, Withdrawal
from refinery.dedup.matchers.params import is_star
from refinery.errors import DataError, Problem, RecipeError
from refinery.execution.needs import ready
from refinery.execution.open import open_recipe
from refinery.execution.run import Progress, execute
from refinery.io.formats import IN_SQL
from refinery.io.readers.registry import reader_of
from refinery.io.schema import common_schema, partitions_beside, texts_anew
from refinery.io.writers.export import stats_path
from refinery.operators import Library
from refinery.operators.processes import using_processes
from refinery.planning.plan import CompiledStage, Plan
from refinery.python.datasets import samples_and_keys
from refinery.python.progress import shown
from refinery.python.run import Run, open_run, run_of
from refinery.recipe import Recipe
from refinery.recipe.absolute_paths import seen_from_here
from refinery.results.stdout import pour
from refinery.sql_functions.register import register as register_operators
from refinery.storage.urls import is_stdout

# Types of CSV columns, by their names in Arrow and DuckDB.
_CSV_TYPES = {"bool": "BOOLEAN", "int64": "BIGINT", "double": "DOUBLE"}


def run(
    recipe: str | Path | Mapping[str, Any],
    dataset: Any = None,
    progress: Progress | bool | None = None,
    overwrite: bool = False,
    **overrides: Any,
) -> Run:
    """Run a recipe to its end.

    recipe: a YAML file, or its content as a dict. dataset: samples in place of `dataset_path`: a path or a list of
    paths, the text of a query, an Arrow table, batch or reader, a DuckDB relation, a pandas or polars frame, a Hugging
    Face or Ray dataset, or an iterable of dicts or Arrow batches; streams are read once, into files of the run folder.
    progress: called with (bytes done, bytes in all); True: a bar; by default a bar in notebooks. overwrite: overwrite
    also files that no run has written. overrides: recipe keys with new values.
    Raises RecipeError, DataError, OperatorError, ConservationError or OutputError.
    """
    dataset, overrides = samples_and_keys(dataset, overrides)
    with shown(progress) as report:
        return _run(recipe, dataset, report, overwrite, overrides)


@using_processes(anew=True)
def _run(
    recipe: str | Path | Mapping[str, Any],
    dataset: Any,
    progress: Progress | None,
    overwrite: bool,
    overrides: Mapping[str, Any],
) -> Run:
    opened, library = open_recipe(recipe, overrides, need_inputs=dataset is None)
    if opened.corpus is not None:
        what = "the recipe adds to a corpus, which is no run"
        raise RecipeError([Problem(opened.place_of("corpus"), what, "Call refinery.add, or leave out corpus.")])
    outcome = execute(opened, library, dataset, progress, overwrite=overwrite)
    pour(outcome)
    return run_of(outcome, map(str, opened.ignored))


def open(work_dir: str | os.PathLike[str]) -> Run:
    """Open a finished run by its folder. Raises DataError where there is none."""
    return open_run(work_dir)


@using_processes(anew=True)
def compile(recipe: str | Path | Mapping[str, Any], dataset: Any = None, **overrides: Any) -> str:
    """Compile a recipe to a readable SQL script. Raises as `run` does; the input must exist, for its columns."""
    dataset, overrides = samples_and_keys(dataset, overrides)
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
    for step in prepared.recipe.steps:
        if is_star(step.params):
            raise DataError(
                f"{step.where}: {step.name}: there is no script of cluster: star and verify: kept, which compare sample by sample; "
                "use `refinery run`"
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
    """Lines on files that a script does not write. Raises RecipeError for other samples in its export."""
    for name, part in (("limit", recipe.limit), ("sample", recipe.sample)):
        if part is not None:
            what = f"{name} cannot be followed by a script, which takes all samples"
            raise RecipeError([Problem(recipe.place_of(name), what, f"Use `refinery run`, or leave out {name}.")])
    for name, value in (("export_fields", recipe.export_fields), ("repeat_by", recipe.repeat_by)):
        if value and recipe.exports:
            what, place = f"{name} cannot be followed by a script", recipe.place_of(name)
            raise RecipeError([Problem(place, what, f"Use `refinery run`, or leave it out: --{name} null.")])
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


def add(
    recipe: str | Path | Mapping[str, Any],
    corpus: str | os.PathLike[str] | None = None,
    copy: bool = False,
    renew: bool = False,
    dry_run: bool = False,
    dataset: Any = None,
    **overrides: Any,
) -> Report:
    """Add the inputs of a recipe to a corpus, and publish what changes as one snapshot.

    corpus: its folder; by default that of the recipe. copy: the corpus gets copies of the input files. renew: accept another recipe, versions or models, and compute everything anew.
    dry_run: publish nothing. dataset: samples in place of `dataset_path`, as of `run`; the corpus gets files of them. overrides: recipe
    keys with new values. Raises as `run` does.
    """
    dataset, overrides = samples_and_keys(dataset, overrides)
    settings = ChangeSettings(copy=copy, renew=renew, dry_run=dry_run)
    return corpora.add(corpus, recipe, settings, dataset, **overrides)


def withdraw(
    corpus: str | os.PathLike[str],
    where: str | None = None,
    source: str | None = None,
    add: int | None = None,
    rows: str | os.PathLike[str] | None = None,
    renew: bool = False,
    dry_run: bool = False,
    **overrides: Any,
) -> Report:
    """Take samples out of a corpus; those that were removed as their duplicates come back.

    One of: where, SQL over the fields of the input; source, an input file; add, the number of an add; rows, a file with columns `_part` and
    `_row`. overrides: recipe keys such as `np` with new values. Raises RecipeError, and as `run` does.
    """
    if sum(value is not None for value in (where, source, add, rows)) != 1:
        raise RecipeError([Problem("", "withdraw takes one of where, source, add and rows")])
    chosen = Withdrawal(where, source, add, None if rows is None else Path(rows))
    return corpora.withdraw(corpus, chosen, ChangeSettings(renew=renew, dry_run=dry_run), overrides)


def open_corpus(folder: str | os.PathLike[str], snapshot: int | None = None) -> Corpus:
    """Open a corpus as a snapshot shows it, by default the current one. Raises DataError where there is none."""
    return Corpus(folder, snapshot)


def register(
    con: duckdb.DuckDBPyConnection, operators: Sequence[str | Path] = (), steps: Mapping[str, Any] | None = None
) -> list[str]:
    """Register operators as SQL functions on a connection; returns the names of all functions.

    `words_num_filter(text, min_num := 20)` says whether a filter keeps a text, `words_num_filter_stats(text)` gives its
    statistics, `clean_links_mapper(text)` the new text (docs/sql-functions.md lists them). operators: folders of one's own.
    steps: steps of a recipe by the names of functions to make of them: `{"long_enough": {"words_num_filter": {"lang": "de"}}}`.

    The functions that compiled recipes call are there, too: `clean_links_delta` returns NULL where nothing changes, as
    compiled SQL expects, and `clean_links` always returns the text. Raises RecipeError for a step that is no function.
    """
    return register_operators(con, operators, steps)
