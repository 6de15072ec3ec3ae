"""The command line. Each command imports what it needs, so that help and completion answer at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import refinery

LOOSE = {"ignore_unknown_options": True, "allow_extra_args": True}

EPILOG = (
    "Exit codes: 0 done, 2 the recipe or the command line is wrong, 3 the data cannot be read, 4 an operator or the run "
    "failed, 5 rows do not add up, 6 results cannot be written, 130 interrupted."
)


def recipe_options(function: Any) -> Any:
    """Options of every command that reads a recipe."""
    function = click.argument("overrides", nargs=-1, type=click.UNPROCESSED, metavar="[--KEY VALUE]...")(function)
    function = click.argument("recipe", required=False, type=click.Path())(function)
    function = click.option("--config", "config", type=click.Path(), help="The recipe, as Data-Juicer spells it.")(function)
    function = click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change one value: process.3.max_num=100.")(
        function
    )
    return click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a {{ NAME }} in the recipe.")(
        function
    )


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """Refine text for language-model training: a recipe becomes DuckDB SQL, and every row is accounted for."""


@cli.command(context_settings=LOOSE, epilog=EPILOG)
@recipe_options
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--show", is_flag=True, help="Also print examples of changed, removed and quarantined samples.")
@click.option("--operators", multiple=True, type=click.Path(), help="A folder with operators of your own.")
def run(quiet: bool, as_json: bool, show: bool, operators: tuple[str, ...], **recipe: Any) -> None:
    """Run RECIPE. Any key of it can be given as an option: --trace_num 50 --export_path out.jsonl"""
    from refinery import commands

    commands.run(_opened(recipe, operators), quiet, as_json, show)


@cli.command(context_settings=LOOSE)
@recipe_options
@click.option("--explain", is_flag=False, flag_value="plan", type=click.Choice(["plan", "analyze"]), help="How it runs; `analyze` measures a sample.")
@click.option("--lineage", metavar="COLUMN", help="Which inputs and steps a statistic, `_dropped` or the text comes from.")
@click.option("--operators", multiple=True, type=click.Path(), help="A folder with operators of your own.")
def sql(explain: str | None, lineage: str | None, operators: tuple[str, ...], **recipe: Any) -> None:
    """Print RECIPE as a SQL script, or explain it."""
    from refinery import commands

    opened = _opened(recipe, operators)
    if lineage:
        commands.lineage(opened, lineage)
    elif explain:
        commands.explain(opened, explain == "analyze")
    else:
        commands.script(opened)


@cli.command(context_settings=LOOSE)
@recipe_options
@click.option("--operators", multiple=True, type=click.Path(), help="A folder with operators of your own.")
def check(operators: tuple[str, ...], **recipe: Any) -> None:
    """Check RECIPE: every problem at once, nothing is run."""
    from refinery import commands

    commands.check(_opened(recipe, operators))


@cli.command()
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="The whole reference, as docs/operators.md.")
@click.option("--operators", multiple=True, type=click.Path(), help="A folder with operators of your own.")
def ops(name: str | None, markdown: bool, operators: tuple[str, ...]) -> None:
    """List the operators, or show what NAME does."""
    from refinery import reference

    click.echo(reference.page(name, markdown, operators))


@cli.command()
@click.argument("row", required=False, type=int)
@click.option("--run", "work_dir", type=click.Path(exists=True, file_okay=False), default=".", help="The run's folder.")
@click.option("--where", help="SQL that finds the row by the input's columns, such as `id = 42`.")
@click.option("--json", "as_json", is_flag=True, help="Print the history as JSON.")
def why(row: int | None, work_dir: str, where: str | None, as_json: bool) -> None:
    """Tell the way of one sample through every step of a run: by its _row, or by --where."""
    from refinery import commands

    if (row is None) == (where is None):
        raise click.UsageError("give a row number or --where, one of them")
    commands.why(Path(work_dir), row, where, as_json)


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"refinery {refinery.__version__}")


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: eval "$(refinery completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "refinery", "_REFINERY_COMPLETE").source())


def _opened(options: dict[str, Any], operators: tuple[str, ...]) -> Any:
    """The checked recipe and its library, from the options of a command."""
    from refinery.opening import open_from_command_line

    recipe, overrides = options["config"] or options["recipe"], list(options["overrides"])
    if options["config"] and options["recipe"]:
        overrides.insert(0, options["recipe"])
    return open_from_command_line(recipe, overrides, options["sets"], options["variables"], operators)


def main() -> None:
    """Run the command line; errors on purpose end in their exit code, without a traceback."""
    from refinery.errors import RefineryError

    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except RefineryError as error:
        print(f"refinery: {error}" if "\n" not in str(error) else str(error), file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
