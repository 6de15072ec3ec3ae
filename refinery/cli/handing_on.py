"""`refinery verify` and `refinery card`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from refinery.cli.commands import answer
from refinery.cli.render import verify as rendered
from refinery.errors import MismatchError
from refinery.storage.urls import is_stdout


def verify(run: Path, folders: Mapping[str, str], only: Sequence[str], root: str, as_json: bool) -> None:
    """Compare files with their digests, and print what differs. Raises MismatchError if anything does."""
    from refinery.inspect.verify.verify import Moved
    from refinery.inspect.verify.verify import verify as compare

    checked = compare(run, Moved(folders, only), root)
    answer(as_json, lambda: {"ok": checked.ok, **asdict(checked)}, rendered.show(checked))
    if not checked.ok:
        raise MismatchError(f"{run}: {len(checked.problems):,} files are not as their digests were recorded")


def record(run: Path, as_json: bool) -> None:
    """Record the digests of a finished run."""
    from refinery.inspect.verify.verify import record_now

    digests = record_now(run)
    answer(as_json, lambda: asdict(digests), rendered.recorded(digests))


def card(
    work_dir: Path,
    formats: Sequence[str],
    out: str | None,
    whole: tuple[str, str],
    fields: dict[str, str],
    overwrite: bool,
) -> None:
    """Write the cards of a run and print their files, or print one card. whole: licence and address of the dataset as a whole."""
    from refinery.inspect.card.options import CardOptions
    from refinery.inspect.card.write import FORMATS, printed_card, write_cards

    options = CardOptions(fields, *whole)
    if out is not None and is_stdout(out):
        click.echo(printed_card(work_dir, formats[0], options), nl=False)
        return
    for file in write_cards(work_dir, formats or tuple(FORMATS), out, options, overwrite):
        click.echo(file)
