"""The figures of a run's card, section by section."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refinery.common.fields import keys_of
from refinery.compiler.templates import lit
from refinery.inspect.card.exported import Exported, of_manifest
from refinery.inspect.card.figures import Entry, Figure, NotMeasured, Section
from refinery.inspect.card.options import CardOptions
from refinery.inspect.card.processing import HARMFUL, PERSONAL, Processing
from refinery.inspect.card.samples import KeptSamples
from refinery.inspect.finished_run import FinishedRun
from refinery.results.digests.record import RunDigests


@dataclass(frozen=True)
class Card:
    """All figures of a run. manifest: of the run. digests: recorded ones, if they are of this run."""

    run: FinishedRun
    sections: Mapping[str, Section]
    exported: Exported
    options: CardOptions
    digests: RunDigests | None

    @property
    def name(self) -> str:
        """The project's name in the recipe."""
        return self.run.recipe.project_name

    @property
    def limits(self) -> str:
        """Settings by which the run read only a part of its input, or only measured; empty if there are none."""
        recipe = self.run.recipe
        names = ("limit", "sample", "max_sample_num")
        values = [f"{name} {value}" for name in names if (value := getattr(recipe, name)) is not None]
        return ", ".join([*values, *(["measure_only"] if recipe.measure_only else [])])

    def one(self, section: str, title: str) -> Figure | None:
        """A figure by its title; None if it was not measured."""
        return next((entry for entry in self.sections[section].figures if entry.title == title), None)


def card_of(run: FinishedRun, options: CardOptions) -> Card:
    """Compute the figures. Raises DataError for a field that the samples do not have."""
    kind = run.recipe.export_format
    exported = of_manifest(run.con, run.manifest, kind, str(run.run_dir.root.absolute()))
    text_key = keys_of(run.recipe.text_key)
    kept = KeptSamples(exported, _statistics(run), options, text_key)
    done = Processing(run.con, run.columns)
    digests = _digests(run)
    path = str(run.run_dir.digests.absolute()) if digests is not None else None
    command = f"refinery verify {run.run_dir.root} --write"
    parts: list[tuple[str, str, list[Any]]] = [
        ("size", "Size", [*done.rows(), *kept.size()]),
        ("sources", "Sources", [*done.files(), kept.by_field("source", "Kept samples by source"), kept.dates()]),
        (
            "licenses",
            "Licences",
            [kept.different("license", "Different licences"), kept.by_field("license", "Kept samples by licence")],
        ),
        ("languages", "Languages", kept.languages()),
        ("hosts", "Hosts", kept.hosts()),
        ("steps", "What was removed and changed", done.removed()),
        ("duplicates", "Duplicates", done.duplicates()),
        ("contamination", "Contamination", done.contamination()),
        ("personal", "Personal data", done.subject("Personal data", PERSONAL, "pii_mapper or clean_email_mapper")),
        ("harmful", "Harmful content", done.subject("Harmful content", HARMFUL, "flagged_words_filter or url_filter")),
        ("versions", "Versions", done.versions()),
        ("digests", "Digests", done.digests(path, command)),
    ]
    sections = {
        name: Section(name, title, [_printed(entry, exported, path) for entry in of]) for name, title, of in parts
    }
    return Card(run, sections, exported, options, digests)


def _printed(entry: Entry, exported: Exported, digests: str | None) -> Entry:
    """A figure with its query as a card has it."""
    if isinstance(entry, NotMeasured):
        return entry
    sql = exported.printed(entry.sql)
    if digests is not None:
        sql = sql.replace(lit(digests), lit(os.path.relpath(digests, exported.root)))
    return replace(entry, sql=sql)


def _statistics(run: FinishedRun) -> dict[str, str]:
    return {name: kind for name, kind in run.columns["stats"].items() if name not in ("_row", "kept")}


def _digests(run: FinishedRun) -> RunDigests | None:
    """The recorded digests, if they are of this run. Raises DataError for a file that is none."""
    if not Path(run.run_dir.digests).is_file():
        return None
    digests = RunDigests.read(run.run_dir.digests)
    return digests if digests.run_id == run.manifest["run_id"] else None
