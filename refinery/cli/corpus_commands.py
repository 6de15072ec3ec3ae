"""Commands over a corpus: add, withdraw, list snapshots. See `main` for the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refinery.cli.group import EPILOG, cli
from refinery.cli.options import RecipeCommand, opened, recipe_options, safe_options

_FOLDER = click.Path(file_okay=False, path_type=Path)


@cli.command(cls=RecipeCommand, epilog=EPILOG)
@recipe_options
@safe_options
@click.option(
    "--corpus",
    "folder",
    metavar="FOLDER",
    type=_FOLDER,
    help="The corpus, made if there is none; by default the recipe's.",
)
@click.option(
    "--copy", is_flag=True, help="Copy the input files into the corpus; by default it reads them where they are."
)
@click.option("--renew", is_flag=True, help="Accept another recipe, versions or models: compute the whole corpus anew.")
@click.option("--dry-run", is_flag=True, help="Compute and print the change, and publish nothing.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def add(folder: Path | None, copy: bool, renew: bool, dry_run: bool, quiet: bool, as_json: bool, **recipe: Any) -> None:
    """Add the input of RECIPE to a corpus, and publish what changes as one snapshot.

    The corpus then has what one run over all of its data would keep. Files that it has already are passed over.
    """
    from refinery.cli import corpus

    loaded = opened(recipe)
    if folder is None and loaded[0].corpus is None:
        raise click.UsageError("name the corpus: --corpus FOLDER, or the key corpus of the recipe")
    corpus.add(folder or Path(loaded[0].corpus), loaded, copy, renew, dry_run, quiet, as_json)


@cli.command(epilog=EPILOG)
@click.option("--corpus", "folder", metavar="FOLDER", type=_FOLDER, required=True, help="The corpus.")
@click.option("--where", help="SQL over the input's fields that selects samples, such as `host = 'x.org'`.")
@click.option("--source", metavar="FILE", help="Samples of an input file: its path, name or a pattern.")
@click.option(
    "--add", "part", type=click.IntRange(1), metavar="N", help="All samples of add N, as `refinery corpus` lists it."
)
@click.option(
    "--rows",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Samples in a Parquet, CSV or JSON Lines file with `_part` and `_row`.",
)
@click.option("--renew", is_flag=True, help="Accept other versions or models: compute the whole corpus anew.")
@click.option("--dry-run", is_flag=True, help="Compute and print the change, and publish nothing.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Change a key of the recipe, such as np=8.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def withdraw(
    folder: Path,
    where: str | None,
    source: str | None,
    part: int | None,
    rows: Path | None,
    renew: bool,
    dry_run: bool,
    sets: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> None:
    """Take samples out of a corpus; samples that were removed as their duplicates come back.

    Give one of --where, --source, --add and --rows. The samples stay in the input files, and are left out by all later changes.
    """
    from refinery.cli import corpus

    if sum(value is not None for value in (where, source, part, rows)) != 1:
        raise click.UsageError("give one of --where, --source, --add and --rows")
    corpus.withdraw(folder, (where, source, part, rows), sets, renew, dry_run, quiet, as_json)


@cli.command(epilog=EPILOG)
@click.argument("folder", type=_FOLDER)
@click.option("--row", metavar="ADD:ROW", help="Show the outcome of one sample, such as 2:17.")
@click.option(
    "--keep", type=click.IntRange(1), metavar="N", help="Remove all snapshots but the last N, and their files."
)
@click.option("--verify", is_flag=True, help="Read all files, and compare them with their digests.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
def corpus(folder: Path, row: str | None, keep: int | None, verify: bool, as_json: bool) -> None:
    """List the snapshots of the corpus in FOLDER, and its adds."""
    from refinery.cli import corpus

    if (row is not None) + (keep is not None) + verify > 1:
        raise click.UsageError("--row, --keep and --verify exclude each other")
    if verify:
        corpus.verify(folder, as_json)
        return
    if row is not None:
        corpus.row(folder, row, as_json)
    elif keep is not None:
        corpus.keep(folder, keep, as_json)
    else:
        corpus.show(folder, as_json)
