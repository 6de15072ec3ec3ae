"""Commands over finished runs: they show, compare and change what a run has left. See `main` for the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refinery.cli.group import EPILOG, cli


@cli.command()
@click.argument("run_a", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("run_b", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Lines and examples of each kind.")
@click.option("--html", metavar="FILE", help="Write the difference as a page without scripts.")
@click.option(
    "--overwrite", is_flag=True, help="With --html: also overwrite a file that no run or comparison has written."
)
@click.option("--json", "as_json", is_flag=True, help="Print the difference as one JSON object.")
def diff(run_a: Path, run_b: Path, limit: int, html: str | None, overwrite: bool, as_json: bool) -> None:
    """Compare two runs: recipes, rows, statistics, texts."""
    from refinery.cli import commands

    if overwrite and html is None:
        raise click.UsageError("--overwrite is for --html")
    if html is not None and as_json:
        raise click.UsageError("--html and --json exclude each other")
    commands.diff(run_a, run_b, limit, as_json, html, overwrite)


@cli.command()
@click.argument("row", required=False, type=int)
@click.option("--run", "work_dir", type=click.Path(exists=True, file_okay=False), default=".", help="The run's folder.")
@click.option("--where", help="SQL over the input's columns that selects rows, such as `id = 42`.")
@click.option("--json", "as_json", is_flag=True, help="Print the history as JSON, one line per row.")
def why(row: int | None, work_dir: str, where: str | None, as_json: bool) -> None:
    """Show the way of one sample through every step of a run: by its _row, or by --where."""
    from refinery.cli import commands

    if (row is None) == (where is None):
        raise click.UsageError("give a row number or --where, one of them")
    commands.why(Path(work_dir), row, where, as_json)


@cli.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False))
@click.argument("operator", metavar="OPERATOR|STEP")
@click.option(
    "--param",
    "params",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="10..200, 10..200:10 or 10,20,50; several make a grid.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def tune(run: str, operator: str, params: tuple[str, ...], as_json: bool) -> None:
    """Try other bounds of a filter on the stored statistics of RUN: rows and bytes kept, no text is read."""
    from refinery.cli import commands

    commands.tune(Path(run), operator, params, as_json)


@cli.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one JSON object.")
def overlap(run: str, as_json: bool) -> None:
    """Show how many samples of RUN each pair of filters removes, and how many only one of them.

    Complete for a run of `refinery analyze`. In other runs an earlier filter has removed samples that a later one has not seen;
    what is not known is shown as ?, with the reason.
    """
    from refinery.cli import commands

    commands.overlap(Path(run), as_json)


@cli.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False))
@click.option("--pairs", type=click.IntRange(1), help="Compare so many pairs of each step anew; by default 1000.")
@click.option("--json", "as_json", is_flag=True, help="Print the audit as one JSON object.")
def audit(run: str, pairs: int | None, as_json: bool) -> None:
    """Compare samples that the deduplicators of RUN removed with those that stay, by source, and name what connects unlike ones.

    Shows the audit that the run has stored. Without one, texts are recomputed from the input, and nothing is written.
    """
    from refinery.cli import commands

    commands.audit(Path(run), pairs, as_json)


@cli.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--buckets", type=click.IntRange(2, 10000), help="Number of buckets, in place of the recipe's.")
@click.option("-o", "--output", metavar="FILE", help="File of the cut points; by default RUN/NAME.cuts.json.")
@click.option("--json", "as_json", is_flag=True, help="Print the cut points as one JSON array.")
def buckets(run: str, names: tuple[str, ...], buckets: int | None, output: str | None, as_json: bool) -> None:
    """Find cut points between buckets of equal weight from the scores that score_buckets stored in RUN, and write them.

    NAME is the name of a step's statistic; by default all of them.
    """
    from refinery.cli import commands

    commands.buckets(Path(run), names, buckets, output, as_json)


@cli.command(epilog=EPILOG)
@click.argument("run", type=click.Path(exists=True, file_okay=False))
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change one value: process.11.min_num=30.")
@click.option("--export", metavar="PATH", help="Path of the kept samples; by default in the new run's folder.")
@click.option("--work-dir", metavar="FOLDER", help="The new run's folder; by default RUN-refiltered, beside RUN.")
@click.option("--no-export", is_flag=True, help="Write the tables only.")
@click.option("--overwrite", is_flag=True, help="Also overwrite files that were not written by runs in the new folder.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def refilter(run: str, no_export: bool, quiet: bool, as_json: bool, **options: Any) -> None:
    """Make a new run with other bounds from the stored results of RUN; only rows with missing results run again."""
    from refinery.cli import runs

    runs.refilter(Path(run), {**options, "writes": not no_export}, quiet, as_json)


@cli.command(epilog=EPILOG)
@click.argument("work_dir", metavar="RUN", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--materialise", is_flag=True, help="Write all rows into the database, so that it can be moved alone.")
@click.option(
    "-o", "--output", metavar="FILE", help="With --materialise: write a copy of the database; RUN stays as it is."
)
@click.option("--overwrite", is_flag=True, help="With --output: replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def tables(work_dir: Path, materialise: bool, output: str | None, overwrite: bool, as_json: bool) -> None:
    """Show where the tables of the run in folder RUN are: in its database, or in Parquet parts that it has views over."""
    from refinery.cli import commands

    if output is not None and not materialise:
        raise click.UsageError("--output is for --materialise")
    commands.tables(work_dir, materialise, output, overwrite, as_json)


@cli.command()
@click.argument("work_dir", metavar="RUN", type=click.Path(exists=True, file_okay=False))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Path of the page; - is standard output.  [default: RUN/report.html]",
)
@click.option("--overwrite", is_flag=True, help="Also overwrite a file that was written by neither a run nor a report.")
def report(work_dir: str, output: str | None, overwrite: bool) -> None:
    """Write one page about the run in folder RUN: recipe, removed, changed and duplicate samples, statistics."""
    from refinery.inspect.report.page import report as write

    path = write(Path(work_dir), output, overwrite)
    if path is not None:
        click.echo(path)


@cli.command(epilog=EPILOG)
@click.argument("work_dir", metavar="RUN", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["markdown", "croissant", "eu"]),
    help="A card to write; several times for several.  [default: all]",
)
@click.option("--out", metavar="FOLDER", help="Folder of the cards; - prints a card.  [default: RUN/card]")
@click.option("--license", "licence", metavar="NAME", default="", help="Licence of the dataset as a whole, or its URL.")
@click.option("--base-url", metavar="URL", default="", help="Address below which the exported files are published.")
@click.option("--license-field", metavar="FIELD", help="Field of the samples with their licence.")
@click.option("--language-field", metavar="FIELD", help="Field of the samples with their language.")
@click.option("--source-field", metavar="FIELD", help="Field of the samples with their source.")
@click.option("--url-field", metavar="FIELD", help="Field of the samples with their address.")
@click.option("--date-field", metavar="FIELD", help="Field of the samples with the date of their collection.")
@click.option("--overwrite", is_flag=True, help="Also overwrite files that were written by neither a run nor a card.")
def card(
    work_dir: Path,
    formats: tuple[str, ...],
    out: str | None,
    licence: str,
    base_url: str,
    overwrite: bool,
    **fields: Any,
) -> None:
    """Write cards about the data of RUN: Markdown with a query for every figure, Croissant, a draft of the EU's summary."""
    from refinery.cli import handing_on

    if out == "-" and len(formats) != 1:
        raise click.UsageError("--out - prints one card: name it with --format")
    named_fields = {name.removesuffix("_field"): field for name, field in fields.items() if field is not None}
    handing_on.card(work_dir, formats, out, (licence, base_url), named_fields, overwrite)


@cli.command(epilog=EPILOG)
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--inputs", metavar="FOLDER", type=click.Path(exists=True, file_okay=False), help="Where the inputs are now."
)
@click.option(
    "--outputs", metavar="FOLDER", type=click.Path(exists=True, file_okay=False), help="Where the outputs are now."
)
@click.option(
    "--models", metavar="FOLDER", type=click.Path(exists=True, file_okay=False), help="Where the models are now."
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(["inputs", "models", "side_files", "recipe", "outputs"]),
    help="Compare these files only; several times for several kinds.",
)
@click.option("--root", metavar="SHA256", default="", help="The root that the digests must have, as it was published.")
@click.option("--write", is_flag=True, help="Record the digests of a run whose recipe had no `digests: true`.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
def verify(run: Path, only: tuple[str, ...], root: str, write: bool, as_json: bool, **folders: str | None) -> None:
    """Compare inputs, models, recipe and outputs of RUN with their digests: a run folder, or its digests.json alone."""
    from refinery.cli import handing_on

    moved = {part: folder for part, folder in folders.items() if folder is not None}
    if write and (moved or only or root):
        raise click.UsageError(
            "--write records the files where the run has read and left them; it takes no other option"
        )
    if write:
        handing_on.record(run, as_json)
    else:
        handing_on.verify(run, moved, only, root, as_json)


@cli.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="RUN",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another run, to compare with; can be repeated.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; by default a free one.")
@click.option("--open", "opens", is_flag=True, help="Also open the page in the browser.")
def explore(run: Path, others: tuple[Path, ...], port: int, opens: bool) -> None:
    """Show RUN as a local page until Ctrl-C: bounds to drag, samples to browse. Nothing of RUN is changed."""
    from refinery.cli import commands

    commands.explore(run, others, port, opens)


@cli.command()
@click.argument("work_dir", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))
@click.option("--watch", is_flag=True, help="Wait for a run, and repeat every second until it has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --watch one line every second.")
def status(work_dir: Path, watch: bool, as_json: bool) -> None:
    """Show the state and progress of the run in folder RUN: running, finished, failed, interrupted or none."""
    from refinery.cli import commands

    if not watch and not work_dir.is_dir():
        raise click.UsageError(f"Invalid value for 'RUN': Directory '{work_dir}' does not exist.")
    commands.status(work_dir, watch, as_json)
