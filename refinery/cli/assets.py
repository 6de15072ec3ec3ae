"""`refinery assets`: the models and word lists of a recipe, their downloads and their lock."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from refinery.assets import lock
from refinery.assets.download import Download
from refinery.assets.fetch import Progress, fetch
from refinery.assets.places import store
from refinery.assets.soundness import problem_of
from refinery.cli.render import assets as render
from refinery.common.paths import shorter
from refinery.errors import OutputError, Problem, RecipeError
from refinery.execution.assets import NeededAsset, assets_of
from refinery.execution.open import changes_of
from refinery.recipe import parse_variables
from refinery.storage.file_digests import sha256_of


@dataclass(frozen=True)
class Wanted:
    """Options of the command."""

    fetch: bool
    folder: str | None
    mirror: str
    lock: bool
    as_json: bool


def show(recipe: str | None, changes: Sequence[Any], wanted: Wanted) -> None:
    """Print what a recipe needs; exits as for a wrong recipe if something is missing in the end, or is not as locked."""
    if recipe is None:
        raise RecipeError([Problem("", "no recipe is given", "Write refinery assets recipe.yaml.")])
    needed, others = _read(recipe, changes)
    place = Path(recipe).absolute().parent / lock.NAME
    locked = lock.read(place)
    if wanted.fetch and _fetch(needed, wanted, locked):
        needed, others = _read(recipe, changes)
    if wanted.lock:
        _lock(needed, place)
        locked = lock.read(place)
    if wanted.as_json:
        click.echo(json.dumps(render.as_data(needed, place, locked), ensure_ascii=False, indent=2))
    else:
        for line in render.lines(needed, recipe, place, locked, fetched=wanted.fetch):
            click.echo(shorter(line))
    if others:
        click.echo(f"the recipe has other problems: refinery check {recipe} lists them", err=True)
    if any(asset.path is None or render.difference(asset, place, locked) for asset in needed):
        sys.exit(RecipeError.exit_code)


def _read(recipe: str, changes: Sequence[Any]) -> tuple[list[NeededAsset], int]:
    options, sets, variables, operators = changes
    return assets_of(recipe, changes_of(options, sets, variables), parse_variables(variables), operators)


def _fetch(needed: Sequence[NeededAsset], wanted: Wanted, locked: lock.Locked) -> bool:
    """Download what is missing; returns whether anything was. Raises DataError, OutputError."""
    folder = Path(wanted.folder or store()).absolute()
    missing = [asset for asset in needed if asset.path is None]
    planned = [(asset, asset.download(folder, wanted.mirror, locked)) for asset in missing]
    for asset, download in planned:
        if download is not None:
            click.echo(shorter(f"{download.url}\n  -> {download.target} ({render.source_of(asset)})"), err=True)
    for _, download in planned:
        if download is not None:
            name = download.target.name
            known = _is_there(download)
            digest = known or fetch(download, _progress(name))
            click.echo(f"{name}: sha256 {digest}{', loaded before' if known else ''}", err=True)
    return any(download is not None for _, download in planned)


def _is_there(download: Download) -> str:
    """The digest of a file that was loaded before, into a folder that is not searched; empty if it is to be loaded."""
    if not download.target.is_file():
        return ""
    actual = sha256_of(str(download.target))
    if not download.sha256:
        return "" if problem_of(download.target, download.target.name) else actual
    return actual if download.sha256 == actual else ""


def _progress(name: str) -> Progress:
    """Prints how much is there: on a terminal in place, else a line every ten seconds."""
    live, last = sys.stderr.isatty(), time.monotonic()

    def said(done: int, whole: int | None) -> None:
        nonlocal last
        if time.monotonic() - last < (0.2 if live else 10) and done != whole:
            return
        last = time.monotonic()
        text = f"{name}: {render.amount(done, whole)}"
        if live:
            click.echo(f"\r\033[K{text}", nl=done == whole, err=True)
        elif done != whole:
            click.echo(text, err=True)

    return said


def _lock(needed: Sequence[NeededAsset], place: Path) -> None:
    """Write the lock. Raises RecipeError for what is missing."""
    missing = [asset.name for asset in needed if asset.path is None]
    if missing:
        what = f"{', '.join(missing)} cannot be locked: missing"
        raise RecipeError(
            [Problem(str(place), what, "refinery assets RECIPE --fetch downloads what has a known source.")]
        )
    try:
        lock.write(place, {asset.locked_name(place): asset.files for asset in needed})
    except OSError as error:
        raise OutputError(f"{place}: {error.strerror or error}") from None
