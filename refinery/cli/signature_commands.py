"""Commands over signature files of datatrove. See `main` for the others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from refinery.cli.group import EPILOG, cli
from refinery.cli.help import HelpedGroup

_FOLDER = click.Path(file_okay=False, path_type=Path)
_step = click.option("--step", metavar="STEP", help="The step, by number or name, if several have hash: datatrove.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")


@cli.group(cls=HelpedGroup)
def signatures() -> None:
    """Read and write datatrove's MinHash signature files."""


@signatures.command("write", epilog=EPILOG)
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("folder", type=_FOLDER)
@_step
@_as_json
def write(run: Path, folder: Path, step: str | None, as_json: bool) -> None:
    """Write the signatures of the samples that RUN has exported to FOLDER, one rank for each exported file.

    The step of the run has hash: datatrove. FOLDER is what MinhashDedupBuckets of datatrove reads as input_folder.
    """
    from refinery.inspect.signatures import write_signatures

    done = write_signatures(run, folder, step)
    if as_json:
        click.echo(json.dumps(asdict(done), ensure_ascii=False))
        return
    count = f"{done.signatures:,} signatures of {done.documents:,} documents"
    click.echo(
        f"{done.folder} has {count} in {len(done.ranks):,} ranks, the exported files in the order of their names"
    )
    click.echo(f"datatrove's configuration: {done.config}")
    if done.tokenization != "english":
        click.echo("note: words are runs of letters and digits; datatrove's words need tokenization: english", err=True)


@signatures.command("read", epilog=EPILOG)
@click.argument("recipe", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("folder", type=_FOLDER)
@_step
@_as_json
def read(recipe: Path, folder: Path, step: str | None, as_json: bool) -> None:
    """Add the signatures in FOLDER, written by datatrove, to the index of the MinHash step of RECIPE.

    Runs of the recipe then remove samples that are like these documents. The files have no parameters but sizes: the step
    must have the n-grams, hash function, seed and normalisation with which they were written.
    """
    from refinery.dedup.signature_files import config_of, step_with_signatures
    from refinery.dedup.signature_index import remember
    from refinery.execution.open import open_recipe

    opened, library = open_recipe(recipe, need_inputs=False)
    chosen = step_with_signatures(str(recipe), opened.steps, step)
    done = remember(folder, chosen, library.operators[chosen.name])
    config = config_of(chosen.params)
    if as_json:
        click.echo(json.dumps({**asdict(done), "config": config}, ensure_ascii=False))
        return
    again = ", which it had before" if done.replaced else ""
    click.echo(f"{done.index} has {done.documents:,} signatures of {done.ranks:,} ranks in {folder}{again}")
    click.echo(f"They count as written with {config}")
