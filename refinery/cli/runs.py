"""The commands that run a recipe, called after parsing of the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from refinery.cli.commands import Opened, answer
from refinery.cli.render import console
from refinery.common.free_memory import keep_little, share_arenas
from refinery.common.paths import shorter
from refinery.execution.run import Outcome, begin_anew, execute
from refinery.planning.shard_cut import worker_count
from refinery.recipe import Recipe
from refinery.results.open_tables import open_tables
from refinery.results.stdout import pour

# Files of an export that are printed by their names.
_NAMED = 3


def run(opened: Opened, quiet: bool, as_json: bool, show: bool, fresh: bool = False, overwrite: bool = False) -> None:
    """`refinery run`."""
    recipe, library = opened
    if not quiet:
        _print_notes(recipe)
    if fresh:
        begin_anew(recipe.work_dir)
    bound_memory(recipe)
    with console.progress(quiet or as_json) as progress:
        early = _EarlyNotes(progress, not quiet and not as_json)
        outcome = execute(recipe, library, progress=progress, overwrite=overwrite, noted=early)
    streamed = pour(outcome)
    _warn(outcome)
    if as_json:
        click.echo(json.dumps(as_data(outcome), ensure_ascii=False), err=streamed)
    elif not quiet:
        report(console.console(streamed), outcome, show, early.printed)


def bound_memory(recipe: Recipe) -> None:
    """Have this process keep less of the memory that it has freed: an arena for each worker and one for the rest."""
    share_arenas(worker_count(recipe.np) + 1)
    if recipe.memory_limit:
        keep_little()


def analyze(request: Any, as_json: bool) -> None:
    """`refinery analyze`."""
    from refinery.cli.render.analyze import as_data, show
    from refinery.inspect.analyze.analyze import analyze

    _print_notes(request.recipe)
    with console.progress(as_json) as progress:
        analysis = analyze(request, progress)
    _warn(analysis.outcome)
    answer(as_json, partial(as_data, analysis), show(analysis))


def refilter(work_dir: Path, options: dict[str, Any], quiet: bool, as_json: bool) -> None:
    """`refinery refilter`."""
    from refinery.inspect.refilter.refilter import refilter as refiltered

    with console.progress(quiet or as_json) as progress:
        run = refiltered(work_dir, **options, progress=progress)
    streamed = pour(run.outcome)
    _warn(run.outcome)
    if as_json:
        data = as_data(run.outcome) | {
            "rows_again": run.again,
            "deciding": round(run.deciding, 3),
            "notes": list(run.notes),
        }
        click.echo(json.dumps(data, ensure_ascii=False), err=streamed)
    elif not quiet:
        out = console.console(streamed)
        report(out, run.outcome, False)
        for note in run.notes:
            console.print_lines(out, shorter(note))


def _warn(outcome: Outcome) -> None:
    """Print alarms, even with --quiet: most rows could not be read, or no row is left."""
    for alarm in outcome.alarms:
        click.secho(f"warning: {shorter(console.shown(str(alarm)))}", err=True, bold=True, fg="red")


class _EarlyNotes:
    """Prints the notes of a run that are known before it reads samples: what is killed later prints none."""

    def __init__(self, progress: Any, shown: bool) -> None:
        self._progress, self._shown = progress, shown
        self.printed: list[str] = []

    def __call__(self, notes: Sequence[str]) -> None:
        """Print the notes on standard error, beside the progress bar where there is one."""
        if not self._shown:
            return
        for note in notes:
            text = f"note: {shorter(note)}"
            if isinstance(self._progress, console.Bar):
                self._progress.print(text)
            else:
                print(text, file=sys.stderr, flush=True)
        self.printed += notes


def _print_notes(recipe: Recipe) -> None:
    for note in recipe.ignored:
        print(f"note: {note}", file=sys.stderr)


def as_data(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data."""
    return {
        "work_dir": shorter(str(outcome.run_dir.root)),
        "database": shorter(str(outcome.run_dir.database)),
        "outputs": [shorter(str(path)) for path in outcome.outputs],
        "rows": asdict(outcome.counts),
        "seconds": round(outcome.seconds, 3),
        "bytes": outcome.bytes,
        "disk": outcome.disk,
        "reused": {"shards": outcome.reused[0], "of": outcome.reused[1]},
        "warnings": list(map(shorter, outcome.warnings)),
    }


def report(out: Any, outcome: Outcome, show: bool, printed: Sequence[str] = ()) -> None:
    """Print the waterfall, the places of the results, and the notes that are not printed yet."""
    with open_tables(outcome.run_dir.database) as con:
        out.print(console.waterfall(console.waterfall_rows(con)))
        if show:
            _show(out, con)
        broken = con.execute("SELECT count(*) FROM quarantine WHERE step = 0").fetchall()[0][0]
    counts, root = outcome.counts, outcome.run_dir.root
    lines = [
        f"{counts.read:,} rows read = {counts.kept:,} kept + {counts.removed:,} removed + {counts.quarantined:,} quarantined"
        + (f" ({broken:,} could not be read)" if broken else ""),
        f"{console.size(outcome.bytes)} in {outcome.seconds:.1f} s, {console.rate(outcome.bytes, outcome.seconds)}, "
        f"{console.size(outcome.disk)} of disk"
        + (f", reused {outcome.reused[0]:,} of {outcome.reused[1]:,} shards" if outcome.reused[0] else ""),
        *(f"note: {note}" for note in outcome.notes if note not in printed),
        *([f"kept samples   {files_of(outcome.outputs)}"] if outcome.outputs else []),
        f"tables         {outcome.run_dir.database}",
    ]
    if outcome.trace_files:
        lines.append(f"traces         {outcome.run_dir.trace}{os.sep}")
    lines.append(f"ask for a row  refinery why ROW --run {root}")
    for line in lines:
        console.print_lines(out, shorter(line))


def files_of(paths: Sequence[Any]) -> str:
    """The files of an export on one line: their names, or number and folder of many."""
    names = list(map(str, paths))
    if len(names) <= _NAMED:
        return ", ".join(names)
    folders = {os.path.dirname(name) for name in names}
    if len(folders) > 1:
        return f"{names[0]} and {len(names) - 1:,} files more"
    return f"{len(names):,} files in {folders.pop()}/"


def _show(out: Any, con: Any) -> None:
    rows = con.execute(console.EXAMPLES.format(most=2)).fetchall()
    if rows:
        out.print("Two examples of each step's work, from the table trace:")
        out.print(console.examples(rows))
    broken = con.execute("SELECT file, line, error, raw FROM quarantine ORDER BY _row LIMIT 5").fetchall()
    for file, line, error, raw in broken:
        broken_row = f"quarantined {shorter(file)}:{line}: {error}: {console.beginning(raw or '', 80)}"
        console.print_lines(out, broken_row)
