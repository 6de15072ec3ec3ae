"""What the commands do, once the command line has been read."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from refinery import console
from refinery.pipeline import Outcome, execute, prepare
from refinery.recipe import Recipe

Opened = tuple[Recipe, Any]

EXAMPLES = """
SELECT t._row, t.operator, t.kind, t.original_text, t.processed_text, l.reason
FROM trace t LEFT JOIN ledger l USING (_row)
QUALIFY row_number() OVER (PARTITION BY t.step ORDER BY t._row) <= 2
ORDER BY t.step, t._row
"""


def run(opened: Opened, quiet: bool, as_json: bool, show: bool) -> None:
    """`refinery run`."""
    recipe, library = opened
    out = console.console(stderr=as_json)
    if not quiet:
        for note in recipe.ignored:
            print(f"note: {note}", file=sys.stderr)
    with console.progress(quiet or as_json) as progress:
        outcome = execute(recipe, library, progress=progress)
    if as_json:
        click.echo(json.dumps(as_data(outcome), ensure_ascii=False))
    elif not quiet:
        report(out, outcome, show)


def as_data(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data."""
    return {
        "work_dir": str(outcome.run_dir.root),
        "database": str(outcome.run_dir.database),
        "outputs": [str(path) for path in outcome.outputs],
        "rows": asdict(outcome.counts),
        "seconds": round(outcome.seconds, 3),
        "bytes": outcome.bytes,
        "warnings": list(outcome.notes),
    }


def report(out: Any, outcome: Outcome, show: bool) -> None:
    """The waterfall, and where everything is."""
    with _database(outcome.run_dir.database) as con:
        rows = con.execute(console.WATERFALL).fetchall()
        out.print(console.waterfall(rows))
        if show:
            _show(out, con)
        broken = con.execute("SELECT count(*) FROM quarantine WHERE step = 0").fetchall()[0][0]
    counts = outcome.counts
    out.print(
        f"{counts.read:,} rows read = {counts.kept:,} kept + {counts.removed:,} removed + {counts.quarantined:,} quarantined"
        + (f" ({broken:,} could not be read)" if broken else "")
    )
    out.print(f"{outcome.bytes / 1e6:.1f} MB in {outcome.seconds:.1f} s, {console.rate(outcome.bytes, outcome.seconds)}")
    for note in outcome.notes:
        out.print(f"note: {note}", markup=False)
    out.print(f"kept samples  {', '.join(str(path) for path in outcome.outputs)}", markup=False)
    out.print(f"tables        {outcome.run_dir.database} (runs, steps, ledger, stats, stat_summary, trace, quarantine)", markup=False)
    if outcome.trace_files:
        out.print(f"traces        {outcome.run_dir.trace}{'/'}", markup=False)
    out.print(f"ask for a row refinery why ROW --run {outcome.run_dir.root}", markup=False)


def _show(out: Any, con: Any) -> None:
    rows = con.execute(EXAMPLES).fetchall()
    if rows:
        out.print("Two examples of each step's work, from the table trace:")
        out.print(console.examples(rows))
    broken = con.execute("SELECT file, line, error, raw FROM quarantine ORDER BY _row LIMIT 5").fetchall()
    for file, line, error, raw in broken:
        out.print(f"quarantined {file}:{line}: {error}: {console.shown((raw or '')[:80])}", markup=False)


def _database(path: Path) -> Any:
    import duckdb

    return duckdb.connect(str(path), read_only=True)


def script(opened: Opened) -> None:
    """`refinery sql`."""
    from refinery.api import script_of

    click.echo(script_of(*opened), nl=False)


def check(opened: Opened) -> None:
    """`refinery check`."""
    recipe, library = opened
    for note in recipe.ignored:
        click.echo(f"note: {note}")
    where = recipe.path or "the recipe"
    files = [Path(source.path) for source in recipe.inputs]
    if all(path.exists() or "*" in str(path) for path in files):
        prepare(recipe, library)
        click.echo(f"{where}: {len(recipe.steps)} steps, no problems")
    else:
        missing = ", ".join(str(path) for path in files if not path.exists())
        click.echo(f"{where}: {len(recipe.steps)} steps, no problems; the input is not there, so its columns were not checked ({missing})")


def explain(opened: Opened, analyze: bool) -> None:
    """`refinery sql --explain`."""
    from refinery.explaining import analyzed, planned

    prepared = prepare(*opened)
    out = console.console()
    out.print(analyzed(prepared) if analyze else planned(prepared), markup=False)


def lineage(opened: Opened, column: str) -> None:
    """`refinery sql --lineage`."""
    from refinery.compiler.lineage import lineage as origins

    prepared = prepare(*opened)
    places = {step.index: f"step {step.index} {step.name} ({step.where})" for step in prepared.program.steps}
    for origin in origins(prepared.program, column):
        place = places.get(origin.step, "reading")
        click.echo(f"{'  ' * origin.depth}{origin.column}  <- {place}: {origin.expression}")


def why(work_dir: Path, row: int | None, where: str | None, as_json: bool) -> None:
    """`refinery why`."""
    from refinery.history import Histories

    with Histories(work_dir) as histories:
        rows = [row] if row is not None else histories.find(where or "")
        for number in rows:
            history = histories.tell(number)
            if as_json:
                click.echo(history.json())
            else:
                console.console().print(tell(history))


def tell(history: Any) -> Any:
    """A history as lines of text."""
    from rich.text import Text

    lines = [Text(f"row {history.row} of {history.file}: {history.fate}", style="bold")]
    if history.error and not history.events:
        lines.append(Text(f"  it could not be read: {history.error}"))
    for event in history.events:
        line = f"  step {event.step} {event.operator} ({event.where}): {event.fate}"
        if event.stats:
            line += "  " + ", ".join(f"{name} = {console.number(value)}" for name, value in event.stats.items())
        if event.reason:
            line += f"  {event.reason}" + (f" {console.number(event.bound)}" if event.bound is not None else "")
        lines.append(Text(line, style="red" if event.fate in ("removed", "quarantined") else ""))
        if event.after is not None:
            before, after = console.around_difference(event.before or "", event.after, 300)
            lines += [Text(f"    - {before}", style="red"), Text(f"    + {after}", style="green")]
    return Text("\n").join(lines)
