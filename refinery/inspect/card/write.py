"""Cards as files, which replace no file that neither a run nor a card has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from refinery.errors import OutputError
from refinery.inspect.card.card import Card, card_of
from refinery.inspect.card.croissant import croissant
from refinery.inspect.card.eu import eu_summary
from refinery.inspect.card.markdown import markdown
from refinery.inspect.card.options import CardOptions
from refinery.inspect.finished_run import FinishedRun
from refinery.results.manifest import publish
from refinery.results.owned_files import OwnedFiles, pattern

# Formats, with the file of each and the function that makes its text.
FORMATS: dict[str, tuple[str, Callable[[Card, str], str]]] = {
    "markdown": ("card.md", lambda card, _: markdown("card", card)),
    "croissant": ("croissant.json", croissant),
    "eu": ("eu-summary.md", lambda card, _: eu_summary(card)),
}


def printed_card(work_dir: Path, name: str, options: CardOptions) -> str:
    """The text of a run's card in a format. Raises DataError when there is no finished run."""
    with FinishedRun.open(work_dir) as run:
        return FORMATS[name][1](card_of(run, options), "")


def write_cards(
    work_dir: Path, formats: Sequence[str], folder: str | None, options: CardOptions, overwrite: bool = False
) -> list[Path]:
    """Write the cards of a run, and return their files. folder: by default `card` in the run folder.

    Raises DataError when there is no finished run, OutputError when a card cannot be written.
    """
    with FinishedRun.open(work_dir) as run:
        run_dir, card = run.run_dir, card_of(run, options)
        place = run_dir.cards if folder is None else Path(folder)
        texts = {FORMATS[name][0]: FORMATS[name][1](card, str(place)) for name in formats}
    files = [place / name for name in texts]
    try:
        place.mkdir(parents=True, exist_ok=True)
        with OwnedFiles(run_dir, overwrite).claim([pattern(file) for file in files]):
            for file, text in zip(files, texts.values(), strict=True):
                publish(file, text)
    except OSError as error:
        raise OutputError(f"{place}: cannot be written: {error.strerror}. Name another folder with --out") from error
    return files
