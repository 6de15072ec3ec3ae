"""`refinery import`: another tool's configuration as the text of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from refinery.errors import OutputError, Problem, RecipeError
from refinery.operators import Library
from refinery.recipe.peers.detect import translate
from refinery.recipe.peers.model import Translation
from refinery.recipe.peers.write import recipe_text

_KNOWN = "Configurations of DCLM, datamap-rs, FineWeb-2, dolma and NeMo Curator are known."


def translate_file(file: str, to: str | None, keys: Mapping[str, Any]) -> None:
    """Write the recipe of a configuration to a new file, or print it, and say what is missing.

    Raises RecipeError for a file of no known tool, OutputError if the recipe's file exists or cannot be written.
    """
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError([Problem(file, getattr(error, "strerror", None) or "is not UTF-8")]) from None
    translation = translate(text, file, Library().operators)
    if translation is None:
        raise RecipeError([Problem(file, "is no configuration of another tool", _KNOWN)])
    recipe = recipe_text(translation, file, dict(keys))
    if to is None:
        click.echo(recipe, nl=False)
    else:
        _write(Path(to), recipe)
    _report(translation, file, to)


def _write(path: Path, text: str) -> None:
    if path.exists():
        raise OutputError(f"{path}: is there already. Name another file with --to")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


def _report(translation: Translation, file: str, to: str | None) -> None:
    """Say on standard error what has no translation, and how to go on."""
    done = len(translation.items) - len(translation.missing)
    click.echo(f"{file}: {translation.peer}, {done} of {len(translation.items)} steps translated", err=True)
    for item in translation.missing:
        click.echo(f"{file}:{item.line}: {item.name} has no translation: {item.missing}", err=True)
    if to is not None:
        click.echo(f"{to} is written. Check it, then: refinery run {to} --show", err=True)
