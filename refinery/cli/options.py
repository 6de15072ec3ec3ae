"""Parts of the command line: commands that take a recipe, its keys as options, completion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from refinery.cli.help import HelpedCommand

RECIPE_SUFFIXES = (".yaml", ".yml", ".json")


class RecipeCommand(HelpedCommand):
    """A command that takes a recipe, and every key of a recipe as an option: `--trace_num 50`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        context = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(*args, **kwargs, context_settings=context)  # type: ignore[misc]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the recipe first, at any place among the options that click does not know."""
        known = {name: option for option in self.params for name in option.opts if isinstance(option, click.Option)}
        at = _place_of_recipe(args, known)
        if at is not None:
            args = [args[at], *args[:at], *args[at + 1 :]]
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _refuse_misspelt(ctx, known)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and the keys of a recipe, which are options too."""
        from refinery.cli.render.key_tables import option_rows

        super().format_options(ctx, formatter)
        with formatter.section("Keys of a recipe, each an option"):
            formatter.write_dl(option_rows())

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete options and the keys of a recipe."""
        from click.shell_completion import CompletionItem

        items = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("--"):
            from refinery.recipe.keys import KEYS

            keys = (key for key in KEYS.values() if not key.note and f"--{key.name}".startswith(incomplete))
            items += [CompletionItem(f"--{key.name}", help=key.help) for key in keys]
        return items


def _refuse_misspelt(ctx: click.Context, known: Mapping[str, click.Option]) -> None:
    """Raise RecipeError for an unknown option that resembles one of the command, and none of the recipe's keys."""
    from refinery.errors import Problem, RecipeError, suggestion
    from refinery.recipe.keys import KEYS

    for argument in (ctx.params.get("recipe") or "", *ctx.params.get("overrides", ())):
        name = argument.partition("=")[0]
        if not name.startswith("--") or name == "--" or "." in name or name[2:].replace("-", "_") in KEYS:
            continue
        if suggestion(name[2:], KEYS) is None and (near := suggestion(name, [*known, *ctx.help_option_names])):
            raise RecipeError([Problem(name, "there is no such option or key of a recipe", near)])


def _place_of_recipe(args: list[str], known: Mapping[str, click.Option]) -> int | None:
    """Index of the recipe: the first argument that is neither an option nor its value."""
    from refinery.recipe.keys import KEYS

    waiting = ""  # the option that may take the next argument as its value
    likely = None  # a value of an unknown option that looks like a recipe
    for at, argument in enumerate(args):
        if argument == "--":
            return at + 1 if at + 1 < len(args) else likely
        if argument.startswith("--") or argument in known:
            waiting = "" if "=" in argument and argument.startswith("--") else argument
        elif not waiting or not _takes(waiting, argument, known):
            return at
        else:
            if (
                waiting not in known
                and waiting[2:].replace("-", "_") not in KEYS
                and argument.endswith(RECIPE_SUFFIXES)
            ):
                likely = at if likely is None else likely
            waiting = ""
    return likely


def _takes(option: str, argument: str, known: Mapping[str, click.Option]) -> bool:
    """Return whether an argument is the value of the option before it."""
    from refinery.recipe.keys import KEYS

    if option in known:
        known_option = known[option]
        if isinstance(known_option.type, click.Choice) and known_option.flag_value:  # its value can be left out
            return argument in known_option.type.choices
        return not known_option.is_flag
    key = KEYS.get(option[2:].replace("-", "_"))
    if key is None or key.type != "bool":
        return True
    return not (argument.endswith(RECIPE_SUFFIXES) or "://" in argument or "*" in argument or os.path.exists(argument))


class RecipePath(click.Path):
    """Path of a recipe; completes to folders and files with a recipe's suffix."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Complete to folders and recipes that begin with the incomplete text."""
        from click.shell_completion import CompletionItem

        folder, start = os.path.split(incomplete)
        try:
            entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
        except OSError:
            return []
        items = []
        for entry in entries:
            if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                path = os.path.join(folder, entry.name)
                if entry.is_dir():
                    items.append(CompletionItem(path + "/"))
                elif entry.name.endswith(RECIPE_SUFFIXES):
                    items.append(CompletionItem(path))
        return items


def complete_operator(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of operators that begin with the incomplete text, or contain it."""
    from refinery.errors import RefineryError
    from refinery.operators import Library

    try:
        names = list(Library(tuple(ctx.params.get("operators") or ())).operators)
    except RefineryError:
        return []
    return [name for name in names if name.startswith(incomplete)] or [name for name in names if incomplete in name]


def recipe_options(function: Any) -> Any:
    """Add the options of every command that reads a recipe."""
    decorators = (
        click.argument("recipe", required=False, type=RecipePath()),
        click.argument("overrides", nargs=-1, type=click.UNPROCESSED, metavar="[--KEY VALUE]..."),
        click.option("--config", type=RecipePath(), help="The recipe, by Data-Juicer's option."),
        click.option(
            "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change one value: process.3.max_num=100."
        ),
        click.option(
            "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a {{ NAME }} in the recipe."
        ),
        click.option(
            "--limit", metavar="N", help="Take the first N samples only; results go to a folder of their own."
        ),
        click.option(
            "--sample",
            metavar="SHARE",
            help="Take a share of the samples by their content, such as 1%, in its own folder.",
        ),
        click.option(
            "--skip", multiple=True, metavar="STEP", help="Leave out a step, by number, name or operator; repeatable."
        ),
        operators_option,
    )
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def safe_options(function: Any) -> Any:
    """Add the options of commands that can treat a recipe as untrusted."""
    decorators = (
        click.option("--safe", is_flag=True, help="Refuse recipes with code or SQL, or with paths outside of --root."),
        click.option(
            "--root",
            "roots",
            multiple=True,
            metavar="PATH",
            help="With --safe: a folder that the recipe may name; by default its own and the current one.",
        ),
    )
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


operators_option = click.option(
    "--operators",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="A folder with your own operators; repeatable.",
)


def named(options: dict[str, Any]) -> tuple[Any, list[str]]:
    """The recipe of a command, and the options that the command does not define."""
    recipe, overrides = options["config"] or options["recipe"], list(options["overrides"])
    if options["recipe"] and (options["config"] or options["recipe"].startswith("--")):
        recipe = options["config"]
        overrides.insert(0, options["recipe"])
    overrides += [f"--{name}={options[name]}" for name in ("limit", "sample") if options.get(name) is not None]
    return recipe, [*overrides, *(f"--skip={step}" for step in options.get("skip", ()))]


def opened(options: dict[str, Any]) -> Any:
    """The checked recipe and its library, from the options of a command."""
    from refinery.execution.open import open_from_command_line

    recipe, overrides = named(options)
    safe, roots = options.get("safe", False), options.get("roots", ())
    if roots and not safe:
        raise click.UsageError("--root is for --safe")
    changes = (options["sets"], options["variables"], options["operators"])
    return open_from_command_line(recipe, overrides, *changes, roots if safe else None)
