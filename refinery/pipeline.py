"""A recipe from its text to its tables: prepare, execute."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from refinery.compiler.chain import Chain
from refinery.compiler.program import Program, build
from refinery.engine import schema as schemas
from refinery.engine.local import Pool, cores, run_shards
from refinery.engine.worker import ShardResult, Task, Worker
from refinery.errors import DataError, OperatorError, OutputError, Problem, RecipeError
from refinery.library import Library
from refinery.outputs import database, manifest, trace
from refinery.outputs.database import Counts, Database
from refinery.plan.stages import Stage, cut_at_barriers
from refinery.recipe import Recipe, dump
from refinery.rundir import RunDir
from refinery.samples.export import Written, export, stats_path, write_stats
from refinery.samples.mixture import sample
from refinery.samples.read import count_rows
from refinery.samples.sources import Shard, Source, carrier, cut, find
from refinery.samples.write import writing

# Input bytes of one shard: small enough for several a worker, so that the last ones end together.
_SMALLEST_SHARD = 4 << 20
# Input bytes of one query: its texts, in every version, are in memory at once.
BATCH = 16 << 20

Progress = Callable[[int, int], None]


@dataclass
class Prepared:
    """A recipe made ready: its inputs found and cut, its stage compiled."""

    recipe: Recipe
    library: Library
    stage: Stage
    sources: list[Source]
    shards: list[Shard]
    program: Program
    chain: Chain
    workers: int
    shard_size: int
    notes: list[str] = field(default_factory=list)

    def inputs(self) -> list[dict[str, Any]]:
        """The input files as they are now: path, size, time of change."""
        found = []
        for source in self.sources:
            modified = os.stat(source.path).st_mtime_ns if source.format != "arrow" else 0
            found.append({"path": source.path, "format": source.format, "size": source.size, "modified": modified})
        return found


@dataclass(frozen=True)
class Outcome:
    """What an execution left behind."""

    run_dir: RunDir
    outputs: tuple[Path, ...]
    counts: Counts
    seconds: float
    bytes: int
    notes: tuple[str, ...]
    trace_files: tuple[Path, ...]


def prepare(recipe: Recipe, library: Library, dataset: Any = None, shard_size: int | None = None) -> Prepared:
    """Find the inputs, compile the recipe and let DuckDB bind it, before any data is processed.

    dataset: an Arrow table, DuckDB relation or frame in place of files. Raises RecipeError for SQL that does not bind,
    DataError for inputs that cannot be read.
    """
    sources, notes = find(recipe.inputs, recipe.suffixes) if dataset is None else ([_in_memory(dataset)], [])
    lines = carrier(sources) == "lines"
    workers = max(1, min(recipe.np, cores()))
    size = shard_size or _shard_size(recipe, sources, workers)
    shards, few = _drawn(recipe, cut(sources, size), workers) if dataset is None else (cut(sources, size), [])
    stages = cut_at_barriers(recipe.steps, library)
    if any(stage.barrier for stage in stages):
        raise OperatorError("this version runs mappers and filters only")
    text_key = tuple(recipe.text_key.split("."))
    schema = schemas.infer(lines, shards, recipe.steps, library)
    schemas.require_text(schema, text_key, sources[0].path if sources else "the input")
    share, stats = recipe.op_fusion, recipe.keep_stats_in_res_ds
    program, chain = build(stages[0].steps, library, schema, text_key, share=share, stats_json=stats)
    _bind(program, lambda steps: build(steps, library, schema, text_key, share=share)[0], stages[0].steps, shards)
    return Prepared(recipe, library, stages[0], sources, shards, program, chain, workers, size, [*notes, *few])


def _drawn(recipe: Recipe, shards: list[Shard], workers: int) -> tuple[list[Shard], list[str]]:
    """The shards of the samples that `max_sample_num` and the weights choose; all of them without it."""
    return sample(shards, [source.weight for source in recipe.inputs], recipe.max_sample_num, workers)


def _in_memory(dataset: Any) -> Source:
    if isinstance(dataset, duckdb.DuckDBPyRelation):
        dataset = dataset.to_arrow_table()
    elif hasattr(dataset, "iloc"):  # pandas, whose index is no field of the samples
        dataset = pa.Table.from_pandas(dataset, preserve_index=False)
    elif not isinstance(dataset, pa.Table):
        if not hasattr(dataset, "__arrow_c_stream__"):
            raise DataError(
                f"a dataset must be an Arrow table, a DuckDB relation or a frame, not {type(dataset).__name__}"
            )
        dataset = pa.table(dataset)
    return Source.of_table(dataset)


def _shard_size(recipe: Recipe, sources: list[Source], workers: int) -> int:
    total = sum(source.size for source in sources)
    return min(recipe.shard_size, max(_SMALLEST_SHARD, total // (workers * 20)))


def _bind(
    program: Program, compiled: Callable[[Sequence[Any]], Program], steps: Sequence[Any], shards: list[Shard]
) -> None:
    """Run the statement over no rows: what DuckDB refuses to bind is a step's mistake. Raises RecipeError with all."""
    try:
        _run_over_nothing(program, shards)
        return
    except duckdb.Error as error:
        whole = _first_line(error)
    good: list[Any] = []
    problems: list[Problem] = []
    for step in steps:
        try:
            _run_over_nothing(compiled([*good, step]), shards)
            good.append(step)
        except duckdb.Error as error:
            problems.append(Problem(step.where, f"{step.name}: {_first_line(error)}"))
        except RecipeError:
            continue  # it names a statistic of a step that is wrong itself
    raise RecipeError(problems) if problems else OperatorError(whole)


def _run_over_nothing(program: Program, shards: list[Shard]) -> None:
    worker = Worker(program)
    try:
        worker.bind(shards)
    finally:
        worker.close()


def _first_line(error: duckdb.Error) -> str:
    """What DuckDB says is wrong; the guards around a step's expression are ours, so a person is not told of them."""
    text = (
        str(error).splitlines()[0].strip().removeprefix("Binder Error: ").removeprefix("Catalog Error: ").rstrip(".!")
    )
    mixed = re.search(r"Cannot mix values of type (.+) and (VARCHAR|BOOLEAN) in COALESCE", text)
    if mixed:
        return f"the expression gives {mixed[1]} where {mixed[2]} is needed; compare or CAST it"
    return text


def execute(recipe: Recipe, library: Library, dataset: Any = None, progress: Progress | None = None) -> Outcome:
    """Run a checked recipe to its end and publish its outputs, tables and trace.

    Raises OutputError when they cannot be written or another run holds the folder, OperatorError when memory runs out,
    ConservationError when rows do not add up. What a failed run has left is removed, but for what was published before.
    """
    started, began = time.perf_counter(), datetime.now(UTC)
    prepared = prepare(recipe, library, dataset)
    _keep_inputs(prepared)
    run_dir = RunDir(Path(recipe.work_dir))
    with _explained(run_dir.root), run_dir.held():
        try:
            return _execute(prepared, run_dir, started, began, progress)
        finally:
            shutil.rmtree(run_dir.parts, ignore_errors=True)


def _keep_inputs(prepared: Prepared) -> None:
    """See that the run does not write over what it reads. Raises OutputError."""
    path = prepared.recipe.export_path
    written = {os.path.realpath(os.path.expanduser(name)) for name in (path, stats_path(path))}
    for source in prepared.sources:
        if source.table is None and os.path.realpath(source.path) in written:
            raise OutputError(f"{source.path}: cannot be written: it is also read. Choose another export_path")


@contextmanager
def _explained(place: Path) -> Iterator[None]:
    """What the machine runs out of, as errors that name the cure."""
    try:
        with writing(place):
            yield
    except OutputError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # nobody reads the progress any more
            raise error.__cause__ from None
        raise
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # so DuckDB answers Ctrl-C
            raise KeyboardInterrupt from None
        raise
    except (MemoryError, duckdb.OutOfMemoryException) as error:
        reason = (str(error).splitlines() or ["no more can be had"])[0]
        raise OperatorError(f"memory ran out: {reason}. Lower np, or raise memory_limit where one is set") from error
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, duckdb.IOException) or "Could not write file" in reason:
            raise OutputError(f"{place}: cannot be written: {reason.rpartition('because of error: ')[2]}") from error
        raise OperatorError(reason) from error


@contextmanager
def _vouched_for(exporting: Future[list[Written]]) -> Iterator[None]:
    """Take the exported files away again when what follows fails: there are no tables that account for them."""
    try:
        yield
    except BaseException:
        if not exporting.cancel() and exporting.exception() is None:
            for item in exporting.result():
                Path(item.path).unlink(missing_ok=True)
        raise


def _execute(
    prepared: Prepared, run_dir: RunDir, started: float, began: datetime, progress: Progress | None
) -> Outcome:
    recipe = prepared.recipe
    folder = _fresh(run_dir)
    spill = recipe.temp_dir or str(folder / "spill")
    memory = f"{max(1, recipe.memory_limit // prepared.workers // 1000)}KB" if recipe.memory_limit else None
    with Pool(prepared.program, prepared.workers, memory, spill) as pool:
        task = partial(_task, prepared, str(folder), _first_rows(prepared))
        results = run_shards(pool, prepared.shards, task, _reporter(prepared, progress))
        with Database(run_dir.database) as db, ThreadPoolExecutor(1) as beside:
            exporting = beside.submit(_export, prepared, results)  # copies files while the tables are built
            with _vouched_for(exporting):
                parameters = database.parameters_json(recipe.steps)
                database.fill(db, prepared.program, prepared.chain, prepared.shards, results, parameters)
                outputs = exporting.result()
                counts = database.check(db, prepared.program, results)
                database.check_written(counts, sum(item.rows for item in outputs))
                if prepared.program.stats:
                    write_stats(db.con, recipe.export_path, [stat.column for stat in prepared.program.stats])
                files = _trace(db, pool, prepared, results, task, run_dir, folder)
                seconds, size = time.perf_counter() - started, sum(result.bytes for result in results)
                description = manifest.describe(prepared_facts(prepared), outputs, counts, began, seconds, size)
                manifest.write(db, run_dir, description, dump(recipe), {"stages": [_plan(prepared)]})
                db.publish()
    notes = (*prepared.notes, *_idle(prepared, run_dir))
    return Outcome(run_dir, tuple(Path(o.path) for o in outputs), counts, seconds, size, notes, tuple(files))


def prepared_facts(prepared: Prepared) -> dict[str, Any]:
    """What the manifest says of the run before it ran."""
    return {
        "project_name": prepared.recipe.project_name,
        "recipe": prepared.recipe.path,
        "fingerprint": prepared.stage.fingerprint,
        "shard_size": prepared.shard_size,
        "workers": prepared.workers,
        "inputs": prepared.inputs(),
    }


def _plan(prepared: Prepared) -> dict[str, Any]:
    stage = prepared.stage
    steps = [{"step": s.index, "operator": s.name, "recipe_line": s.where} for s in prepared.program.steps]
    return {"stage": stage.number, "fingerprint": stage.fingerprint, "steps": steps, "sql": prepared.program.pass_sql}


def _fresh(run_dir: RunDir) -> Path:
    """The parts folder of the stage, empty; traces of an earlier run and what a killed one has left are gone."""
    shutil.rmtree(run_dir.parts, ignore_errors=True)
    folder = run_dir.stage(1)
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*run_dir.trace.glob("sample_trace-*.jsonl"), *run_dir.unfinished()):
        old.unlink()
    if run_dir.trace.is_dir() and not any(run_dir.trace.iterdir()):
        run_dir.trace.rmdir()
    return folder


def _first_rows(prepared: Prepared) -> list[int]:
    """Each shard's first row number, counted beforehand only where a step's SQL names `_row`."""
    if not prepared.program.uses_row:
        return [0] * len(prepared.shards)
    first, found = 0, []
    for shard in prepared.shards:
        found.append(first)
        first += count_rows(shard)
    return found


def _task(prepared: Prepared, folder: str, first_rows: list[int], shard: Shard) -> Task:
    kind = prepared.recipe.export_format
    compression = kind.partition(".")[2] or None if prepared.program.lines and kind.startswith("jsonl.") else None
    return Task(folder, BATCH, compression, first_rows[shard.index], prepared.recipe.add_suffix)


def _reporter(prepared: Prepared, progress: Progress | None) -> Callable[[ShardResult], None] | None:
    if progress is None:
        return None
    total = sum(source.size for source in prepared.sources)
    sizes = [shard.size for shard in prepared.shards]
    done = 0

    def report(result: ShardResult) -> None:
        nonlocal done
        done += sizes[result.shard]
        progress(done, total)

    return report


def _trace(
    db: Database, pool: Pool, prepared: Prepared, results: list[ShardResult], task: Any, run_dir: RunDir, folder: Path
) -> list[Path]:
    recipe, program = prepared.recipe, prepared.program
    if not recipe.open_tracer:
        chosen: dict[int, list[int]] = {}
    else:
        chosen = trace.choose(db, program, recipe.op_list_to_trace, recipe.trace_limit)
    trace.record(db, pool, program, prepared.shards, results, chosen, task, recipe.trace_keys, folder)
    return trace.write_files(db, program, run_dir, chosen) if chosen else []


def _export(prepared: Prepared, results: list[ShardResult]) -> list[Written]:
    recipe = prepared.recipe
    parts = [result.part for result in results if result.part]
    kind, lines = recipe.export_format, prepared.program.lines
    return export(parts, recipe.export_path, kind, recipe.export_shard_size, lines, recipe.export_in_parallel)


def _idle(prepared: Prepared, run_dir: RunDir) -> list[str]:
    """One line per step that neither changed nor removed anything."""
    with duckdb.connect(str(run_dir.database), read_only=True) as con:
        rows = con.execute(
            "SELECT step, operator FROM steps WHERE removed + changed + quarantined = 0 ORDER BY step"
        ).fetchall()
    return [f"step {step}: datasets before and after op [{operator}] are all the same" for step, operator in rows]
