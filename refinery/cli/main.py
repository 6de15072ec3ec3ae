"""The command line. Each command imports what it needs, so that help and completion answer at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refinery.cli import corpus_commands as corpus_commands  # its commands are in the group
from refinery.cli import result_commands as result_commands  # its commands are in the group
from refinery.cli import signature_commands as signature_commands  # its commands are in the group
from refinery.cli.exits import end_well
from refinery.cli.group import EPILOG, cli
from refinery.cli.help import HelpedGroup
from refinery.cli.options import (
    RecipeCommand,
    complete_operator,
    named,
    opened,
    operators_option,
    recipe_options,
    safe_options,
)
from refinery.common.version import __version__

TEST_EPILOG = (
    "Exit codes: 0 all examples hold, 1 an example is wrong, 2 the command line is wrong, 4 there are no operators."
)


@cli.command(cls=RecipeCommand, epilog=EPILOG)
@recipe_options
@safe_options
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--fresh", is_flag=True, help="Remove the stored results of earlier runs and start from the beginning.")
@click.option("--overwrite", is_flag=True, help="Also overwrite files that were not written by runs in work_dir.")
@click.option("--show", is_flag=True, help="Also trace samples (open_tracer), and print examples of each step's work.")
def run(quiet: bool, as_json: bool, show: bool, fresh: bool, overwrite: bool, **recipe: Any) -> None:
    """Run RECIPE. Every key of a recipe is also an option: --np 4 --export_path out/docs.jsonl"""
    from refinery.cli import runs

    if show:  # examples are those of the trace
        recipe["overrides"] = (*recipe["overrides"], "--open_tracer=true")
    loaded = opened(recipe)
    if loaded[0].corpus is None:
        runs.run(loaded, quiet, as_json, show, fresh, overwrite)
        return
    from refinery.cli import corpus

    if show or fresh or overwrite:
        raise click.UsageError("--show, --fresh and --overwrite are for runs; the recipe adds to a corpus")
    corpus.add(Path(loaded[0].corpus), loaded, False, False, False, quiet, as_json)


@cli.command()
def demo() -> None:
    """Copy a recipe and 524 documents into this folder, run the recipe, and show what happened to them."""
    from refinery.cli import demo as bundled
    from refinery.cli import runs
    from refinery.execution.open import open_recipe

    recipe = bundled.put(Path())
    click.echo(f"running {recipe}, a copy of the bundled recipe: change it, and repeat with", err=True)
    click.echo(f"  refinery run {recipe}", err=True)
    runs.run(open_recipe(recipe), quiet=False, as_json=False, show=True)


@cli.command()
@click.argument("data")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The recipe's file; by default DATA's name.yaml.")
def init(data: str, output: str | None) -> None:
    """Write a commented recipe for DATA: a file, folder, pattern or URL, whose fields are looked at."""
    from refinery.cli import starter

    file = starter.write(data, output)
    click.echo(f"{file} is written. Check its fields and bounds, then: refinery run {file} --show")


@cli.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--to", type=click.Path(dir_okay=False), help="File of the recipe; by default it is printed.")
@click.option("--dataset_path", "--dataset-path", help="Input of the recipe, in place of the configuration's.")
@click.option("--export_path", "--export-path", help="Output of the recipe, in place of the configuration's.")
def import_(file: str, to: str | None, dataset_path: str | None, export_path: str | None) -> None:
    """Translate FILE to a recipe: a configuration of DCLM, datamap-rs, FineWeb-2, dolma or NeMo Curator.

    Every step has its origin and differences as comments; what has no translation is named, with the reason.
    """
    from refinery.cli import imports

    imports.translate_file(file, to, {"dataset_path": dataset_path, "export_path": export_path})


@cli.command(cls=RecipeCommand)
@recipe_options
@safe_options
@click.option(
    "--explain",
    is_flag=False,
    flag_value="steps",
    type=click.Choice(["steps", "plan", "analyze"]),
    help="Print the steps and how each runs; `plan` adds DuckDB's plan, `analyze` rows and seconds on a sample.",
)
@click.option(
    "--lineage", metavar="COLUMN", help="Print the inputs and steps behind a statistic, a text field or `_dropped`."
)
def sql(explain: str | None, lineage: str | None, **recipe: Any) -> None:
    """Print RECIPE as a SQL script, or explain it."""
    from refinery.cli import commands

    loaded = opened(recipe)
    if lineage:
        commands.lineage(loaded, lineage)
    elif explain:
        commands.explain(loaded, explain)
    else:
        commands.script(loaded)


@cli.command(cls=RecipeCommand)
@recipe_options
@safe_options
@click.option("--json", "as_json", is_flag=True, help="Print the problems and notes as one JSON object.")
def check(as_json: bool, **recipe: Any) -> None:
    """Check RECIPE, its data and its outputs: every problem at once, nothing is run."""
    from refinery.cli import commands

    commands.check(lambda: opened(recipe), as_json)


@cli.command(cls=RecipeCommand, epilog=EPILOG)
@recipe_options
@safe_options
@click.option("--cluster", type=click.IntRange(1), metavar="CORES", help="Seconds on a Ray cluster of so many cores.")
@click.option(
    "--rows", type=click.IntRange(100), help="Rows of the sample; by default chosen by the size of the input."
)
@click.option("--bytes-per-token", type=click.FloatRange(0.01), help="Bytes of text in a token.  [default: 4]")
@click.option("--json", "as_json", is_flag=True, help="Print the forecast as one JSON object.")
def forecast(
    cluster: int | None, rows: int | None, bytes_per_token: float | None, as_json: bool, **recipe: Any
) -> None:
    """Forecast a run of RECIPE from a sample: rows, bytes and tokens after every step, seconds, memory, disk.

    Every figure has bounds of 95 %. Nothing is written to the outputs of the recipe.
    """
    from refinery.cli import forecast as command

    command.show(opened(recipe), rows, cluster, bytes_per_token, as_json)


@cli.command()
@click.argument("name", required=False, shell_complete=complete_operator)
@click.option(
    "--markdown", is_flag=True, help="Print Markdown; without NAME all operators, the page docs/operators.md."
)
@operators_option
def ops(name: str | None, markdown: bool, operators: tuple[str, ...]) -> None:
    """List the operators, describe the operator NAME, or list operators in which the word NAME occurs."""
    from refinery.cli.render import reference

    click.echo(reference.page(name, markdown, operators).rstrip("\n"))


@cli.command(cls=RecipeCommand)
@recipe_options
@click.option("--fetch", is_flag=True, help="Download what is missing, after printing from where.")
@click.option(
    "--to", "folder", metavar="FOLDER", help="With --fetch: where to; by default a folder that is always searched."
)
@click.option("--from", "mirror", metavar="URL", help="With --fetch: an address below which files have their names.")
@click.option("--lock", is_flag=True, help="Write assets.lock beside the recipe: runs then refuse other bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON object.")
def assets(fetch: bool, folder: str | None, mirror: str | None, lock: bool, as_json: bool, **options: Any) -> None:
    """List the models and word lists that RECIPE needs: where they are, or where to get them."""
    from refinery.cli import assets as command

    if (folder or mirror) and not fetch:
        raise click.UsageError("--to and --from are for --fetch")
    recipe, overrides = named(options)
    changes = (overrides, options["sets"], options["variables"], options["operators"])
    command.show(recipe, changes, command.Wanted(fetch, folder, mirror or "", lock, as_json))


@cli.command()
@click.argument("kind", type=click.Choice(["mapper", "filter", "statistics", "deduplicator"]))
@click.argument("name")
@click.option("--python", is_flag=True, help="In Python; by default in SQL.")
@click.option(
    "--to",
    "folder",
    default="my_operators",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder of operators.",
)
def new(kind: str, name: str, python: bool, folder: Path) -> None:
    """Write the file of an operator NAME that works, to be changed. No file is overwritten."""
    from refinery.cli import new_operator

    path = new_operator.write(kind, name, folder, python)
    click.echo(f"{path} is written. Change it, and test its examples: refinery test {folder}")
    click.echo(f"In a recipe: refinery run recipe.yaml --operators {folder}")


@cli.command(epilog=TEST_EPILOG)
@click.argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=click.Path())
@click.option("--safe", is_flag=True, help="Refuse Python files, and let SQL read no files.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    help="Seconds for the examples of a Python operator with the same parameters, 300 by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def test(folders: tuple[str, ...], safe: bool, timeout: float | None, as_json: bool) -> None:
    """Run the examples in the headers of the operators in FOLDER.

    Each sample is run alone, in batches of several sizes and as columns of a table; the results must be the same.
    """
    from refinery.cli import operator_tests

    operator_tests.test(folders, safe, as_json, timeout)


@cli.command()
@operators_option
def schema(operators: tuple[str, ...]) -> None:
    """Print the JSON Schema of recipes, by which editors complete and check them."""
    from refinery.cli.render import schema as rendered

    click.echo(rendered.page(operators))


@cli.command(cls=RecipeCommand)
@recipe_options
@click.option("--stats", metavar="NAME,...", help="Operators or statistics; by default all that need no further file.")
@click.option("--group-by", metavar="EXPR", help="A column of the input, or SQL over its columns, to group by.")
@click.option("-o", "--output", type=click.Path(file_okay=False), help="The run folder of the analysis.")
@click.option("--json", "as_json", is_flag=True, help="Print the analysis as one JSON object.")
def analyze(stats: str | None, group_by: str | None, output: str | None, as_json: bool, **options: Any) -> None:
    """Measure DATA, or the texts after the mappers of RECIPE; nothing is removed.

    DATA is a file, folder or glob, RECIPE a .yaml file. Every key of a recipe is also an option: --text_keys body
    """
    from refinery.cli import runs
    from refinery.inspect.analyze.request import from_command_line

    path, changes = named(options)
    names = [name.strip() for name in (stats or "").split(",") if name.strip()]
    others = (options["sets"], options["variables"], options["operators"])
    recipe = True if options["config"] else None
    runs.analyze(from_command_line(path, changes, *others, names, group_by, output, recipe), as_json)


@cli.command("gc")
@click.argument(
    "folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--budget", metavar="SIZE", help="Free stored results until at most this size is left: 10GB.")
@click.option("--age", metavar="AGE", help="Free results that have been unused for longer than this: 7d, 12h.")
@click.option("--dry-run", is_flag=True, help="List what would be freed, without freeing it.")
def free_kept(folders: tuple[Path, ...], budget: str | None, age: str | None, dry_run: bool) -> None:
    """Free the stored results of runs in FOLDER and below, the longest unused first.

    Without --budget and --age, free those of all finished runs. Exports, tables and traces stay as they are.
    """
    from refinery.checkpoints.gc import seconds
    from refinery.cli import commands
    from refinery.common.numbers import bytes_of

    try:
        commands.gc(
            folders,
            bytes_of(budget) if budget is not None else None,
            seconds(age) if age is not None else None,
            dry_run,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@cli.group(cls=HelpedGroup)
def stats() -> None:
    """Merge statistics files of workers."""


@stats.command("merge", epilog=EPILOG)
@click.argument("source", metavar="INPUT")
@click.argument("target", metavar="OUTPUT")
@click.option("--remove-input", is_flag=True, help="Remove the merged files once metric.json is safely written.")
@click.option(
    "--top-k", type=click.IntRange(min=0), help="Maximum keys of each group in --top-k-groups.  [default: 100000]"
)
@click.option(
    "--top-k-groups", metavar="A,B", help="Groups that keep only their most frequent keys.  [default: fqdn,suffix]"
)
@click.option(
    "--rank",
    type=click.IntRange(min=0),
    default=0,
    help="Number of the share of folders to merge: 0 to world size - 1.",
)
@click.option("--world-size", type=click.IntRange(min=1), default=1, help="Number of shares of all folders.")
def merge_stats(source: str, target: str, **options: Any) -> None:
    """Merge the files of all workers.

    {group}/{stat}/{rank}.json below INPUT become {group}/{stat}/metric.json below OUTPUT: paths, s3://, gs://, hf://.
    """
    from refinery.stats import command

    command.merge(source, target, **options)


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"refinery {__version__}")


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: eval "$(refinery completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "refinery", "_REFINERY_COMPLETE").source())


def main() -> None:
    """Run the command line."""
    end_well(cli)


if __name__ == "__main__":
    main()
