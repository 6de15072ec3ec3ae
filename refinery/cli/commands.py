"""The commands that run no recipe, called after parsing of the command line. Each imports what it needs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from refinery.cli.render import console
from refinery.common.paths import shorter
from refinery.errors import RefineryError

if TYPE_CHECKING:
    from refinery.recipe import Recipe

Opened: TypeAlias = "tuple[Recipe, Any]"


def tables(work_dir: Path, materialise: bool, output: str | None, overwrite: bool, as_json: bool) -> None:
    """`refinery tables`."""
    from refinery.results.materialise import layout_of
    from refinery.results.materialise import materialise as write

    if materialise:
        path = write(work_dir, output, overwrite)
        click.echo(
            json.dumps({"database": str(path)}) if as_json else f"{path} has all rows, and no other files are needed"
        )
        return
    layout = layout_of(work_dir)
    if as_json:
        click.echo(json.dumps(asdict(layout)))
    elif not layout.parts:
        click.echo(f"{layout.database} has all rows")
    else:
        click.echo(
            f"{layout.database} has views over {layout.parts:,} files, {console.size(layout.bytes)}, in {layout.folder}"
        )


def script(opened: Opened) -> None:
    """`refinery sql`."""
    from refinery.api import script_of

    click.echo(script_of(*opened), nl=False)


def check(open_it: Callable[[], Opened], as_json: bool) -> None:
    """`refinery check`. open_it: opens the recipe, or raises its problems."""
    from refinery.cli.render import check as checked
    from refinery.execution.needs import ready

    try:
        recipe, library = open_it()
        prepared = ready(recipe, library)
    except RefineryError as error:
        if not as_json:
            raise
        click.echo(json.dumps(checked.failed(error), ensure_ascii=False))
        sys.exit(error.exit_code)
    if as_json:
        click.echo(json.dumps(checked.passed(prepared), ensure_ascii=False))
        return
    out = console.console()
    for line in checked.lines(prepared):
        console.print_lines(out, line)


def explain(opened: Opened, kind: str) -> None:
    """`refinery sql --explain`. kind: steps, plan (with DuckDB's plan) or analyze (measured on a sample)."""
    from refinery.execution.assets import together
    from refinery.execution.capacity import capacity_of
    from refinery.execution.needs import ready
    from refinery.inspect.explain import analyzed, planned

    recipe = opened[0]
    with capacity_of(recipe.executor_type, recipe.ray_address, recipe.np) as capacity:
        prepared = ready(*opened, probes=False, capacity=capacity)
    out = console.console()
    for part in analyzed(prepared) if kind == "analyze" else planned(prepared, kind == "plan"):
        console.print_lines(out, part)
    for asset in together(prepared.recipe.assets_of_steps):
        console.print_lines(out, shorter(f"reads {asset.path} ({asset.found_by}) for {', '.join(asset.steps)}"))


def lineage(opened: Opened, column: str) -> None:
    """`refinery sql --lineage`."""
    from refinery.compiler import lineage as origins
    from refinery.execution.needs import ready

    prepared = ready(*opened, probes=False)
    operators = prepared.library.operators
    ends = [(planned, planned.stage.after) for planned in prepared.stages]
    stages = [origins.LineagePass(p.program, after, operators[after.name] if after else None) for p, after in ends]
    origins_of_column = origins.through_stages(stages, column)
    places = {
        step.index: f"step {step.index} {console.shown(step.label)} ({step.where})" for step in prepared.recipe.steps
    }
    click.echo(f"{column} comes from {', '.join(origins.inputs_of(origins_of_column)) or 'no field'} of the input")
    for step in origins.steps_of(origins_of_column):
        click.echo(f"  through {places[step]}")
    click.echo("")
    for origin in origins_of_column:
        place = "as read" if origin.step == 0 else f"step {origin.step}" if origin.step else ""
        about = [origin.meaning] if place and origin.meaning.endswith(place) else [origin.meaning, place]
        about = [text for text in about if text]
        label = f"{origin.column} ({', '.join(about)})" if about else origin.column
        click.echo(f"{'  ' * origin.depth}{label}: {origin.expression}")


def diff(run_a: Path, run_b: Path, limit: int, as_json: bool, html: str | None = None, overwrite: bool = False) -> None:
    """`refinery diff`. html: write a page there, in place of an output."""
    from refinery.cli.render.diff import show
    from refinery.inspect.diff.diff import compare

    difference = compare(run_a, run_b, limit)
    if html is not None:
        from refinery.inspect.diff.page import write_page

        click.echo(write_page(difference, limit, html, overwrite))
        return
    answer(as_json, partial(asdict, difference), show(difference, limit))


def tune(work_dir: Path, operator: str, params: Sequence[str], as_json: bool) -> None:
    """`refinery tune`."""
    from refinery.cli.render import tune as tuning
    from refinery.inspect.finished_run import FinishedRun
    from refinery.inspect.tune import tune as tried

    with FinishedRun.open(work_dir) as stored:
        trials = tried(stored, operator, params)
        recipe = str(stored.run_dir.recipe)  # with the changes by the command line of the run
    answer(as_json, partial(asdict, trials), tuning.show(trials, recipe))


def overlap(work_dir: Path, as_json: bool) -> None:
    """`refinery overlap`."""
    from refinery.cli.render.overlap import show
    from refinery.inspect.finished_run import FinishedRun
    from refinery.inspect.overlap import overlap as counted

    with FinishedRun.open(work_dir) as stored:
        result = counted(stored)
    answer(as_json, partial(asdict, result), show(result))


def audit(work_dir: Path, pairs: int | None, as_json: bool) -> None:
    """`refinery audit`."""
    from refinery.cli.render.audit import show
    from refinery.inspect.audit.audit import audit_of

    result = audit_of(work_dir, pairs)
    answer(as_json, partial(asdict, result), show(result))


def buckets(work_dir: Path, names: Sequence[str], count: int | None, output: str | None, as_json: bool) -> None:
    """`refinery buckets`."""
    from refinery.cli.render import buckets as rendered
    from refinery.inspect.buckets import find
    from refinery.inspect.finished_run import FinishedRun

    with FinishedRun.open(work_dir) as stored:
        cut_points = find(stored, names, count, output)
    answer(as_json, lambda: [asdict(one) for one in cut_points], rendered.show(cut_points))


def explore(work_dir: Path, others: Sequence[Path], port: int, opens: bool) -> None:
    """`refinery explore`."""
    from refinery.explore.server import serve

    def started(address: str) -> None:
        click.echo(f"{address}\nThe page of {shorter(str(work_dir))}, for this machine only. Ctrl-C ends it.")
        if opens:
            click.launch(address)

    serve(work_dir, others, port, started)


def answer(as_json: bool, data: Callable[[], Any], parts: Iterable[Any]) -> None:
    """Print a result: its data as one line, or its parts for a terminal."""
    if as_json:
        click.echo(json.dumps(data(), ensure_ascii=False))
        return
    out = console.console()
    for part in parts:
        console.print_lines(out, part)


def status(work_dir: Path, watched: bool, as_json: bool) -> None:
    """`refinery status`."""
    from refinery.cli.render.status import lines, watch, watch_in_place
    from refinery.monitoring.status import status as state_of
    from refinery.results.open_tables import open_tables
    from refinery.storage.run_folder import RunDir

    run_dir = RunDir.of_finished(work_dir)
    if run_dir.database.is_file() and not run_dir.is_held():
        open_tables(run_dir.database).close()  # its views are those of the folder from now on

    def look() -> dict[str, Any]:
        return state_of(RunDir.of_finished(work_dir))

    if watched and as_json:
        state = watch(look, lambda status: click.echo(json.dumps(status, ensure_ascii=False)))
    else:
        state = watch_in_place(look, str(work_dir), console.console()) if watched else look()
    if as_json:
        click.echo(json.dumps(state, ensure_ascii=False))
        return
    console.print_lines(console.console(), "\n".join(lines(state, str(work_dir))))


def gc(folders: tuple[Path, ...], budget: int | None, age: float | None, dry_run: bool) -> None:
    """`refinery gc`."""
    from refinery.checkpoints import gc as collector

    stored = collector.find(folders or (Path("."),))
    chosen = collector.choose(stored, budget, age, time.time())
    freed = 0
    for kept in chosen:
        done = dry_run or collector.free(kept)
        freed += kept.bytes if done else 0
        ended = "" if kept.ended else ", of a run that did not end"
        what = "would free" if dry_run else "freed" if done else "left: a run has just begun in it:"
        click.echo(f"{what} {console.size(kept.bytes)}  {kept.folder}{ended}")
    for kept in (kept for kept in stored if kept.live):
        click.echo(f"left: a run is in it: {console.size(kept.bytes)}  {kept.folder}")
    for parts, reason in collector.strange(folders or (Path("."),)):
        click.echo(f"left: looks like what refinery 0.1.0 keeps, but {reason}. Remove it if it is not needed: {parts}")
    left = sum(kept.bytes for kept in stored) - freed
    click.echo(f"{'would free' if dry_run else 'freed'} {console.size(freed)}, {console.size(left)} stay")


def why(work_dir: Path, row: int | None, where: str | None, as_json: bool) -> None:
    """`refinery why`."""
    from refinery.cli.render.why import history_text
    from refinery.inspect.why.query import RowHistories
    from refinery.results.delivery import not_as_left

    histories = RowHistories(work_dir)
    try:
        for note in not_as_left(histories.manifest):
            click.echo(f"note: {note}", err=True)
        chosen = [row] if row is not None else histories.find(where or "")
        out = None if as_json else console.console()
        for history in map(histories.of, chosen):
            if out is None:
                click.echo(history.json())
            else:
                console.print_lines(out, history_text(history))
    finally:
        histories.close()
