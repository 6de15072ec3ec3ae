"""The commands over a corpus, called after parsing of the command line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from refinery.cli.commands import Opened, answer
from refinery.cli.render import console
from refinery.common.paths import shorter
from refinery.corpus import change, verification
from refinery.corpus import corpus as corpora
from refinery.corpus.change import PLAIN, Report
from refinery.corpus.cleaning import keep_last
from refinery.corpus.corpus import Corpus, SampleOutcome, Withdrawal
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import Manifest
from refinery.corpus.texts import SampleTexts, text_of
from refinery.errors import MismatchError, Problem, RecipeError
from refinery.execution.open import changes_of

# Files of an add that are listed. Characters of a text that are shown.
_NAMED, _WIDTH = 3, 300


def add(folder: Path, opened: Opened, copy: bool, renew: bool, dry_run: bool, quiet: bool, as_json: bool) -> None:
    """`refinery add`."""
    recipe, library = opened
    if not quiet:
        for note in recipe.ignored:
            print(f"note: {note}", file=sys.stderr)
    with console.progress(quiet or as_json) as progress:
        settings = replace(PLAIN, copy=copy, renew=renew, dry_run=dry_run, progress=progress)
        report = change.add(_folder(folder), recipe, library, settings)
    _answer(folder, report, dry_run, quiet, as_json)


def withdraw(
    folder: Path,
    chosen: tuple[str | None, str | None, int | None, Path | None],
    sets: Sequence[str],
    renew: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """`refinery withdraw`. chosen: the condition, file, add, and list of samples; one of them."""
    with console.progress(quiet or as_json) as progress:
        settings = replace(PLAIN, renew=renew, dry_run=dry_run, progress=progress)
        report = corpora.withdraw(folder, Withdrawal(*chosen), settings, changes_of((), sets, ()))
    _answer(folder, report, dry_run, quiet, as_json)


def _folder(folder: Path) -> CorpusFolder:
    return CorpusFolder(Path(os.path.abspath(folder)))


def _answer(folder: Path, report: Report, dry_run: bool, quiet: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(as_data(report, dry_run), ensure_ascii=False))
    elif not quiet:
        for line in lines_of(folder, report, dry_run):
            click.echo(line)


def as_data(report: Report, dry_run: bool) -> dict[str, Any]:
    """The report of a change as plain data."""
    snapshot = report.snapshot
    return {
        "snapshot": snapshot.snapshot if snapshot is not None and not dry_run else None,
        "published": report.published,
        "known_files": [{"file": shorter(path), "add": number} for path, number in report.known],
        "withdrawn": report.withdrawn,
        "entered": report.back,
        "left": report.gone,
        "changed": report.changed,
        "rows": asdict(snapshot.counts) if snapshot is not None else None,
        "notes": list(report.notes),
    }


def lines_of(folder: Path, report: Report, dry_run: bool) -> list[str]:
    """The report of a change for a terminal."""
    lines = [f"{shorter(path)} is in the corpus already, as add {number}: passed over" for path, number in report.known]
    if report.snapshot is None or not (report.published or dry_run) or not _changes(report):
        return [*lines, "nothing to change: the corpus stays as it is"]
    made = report.snapshot
    if report.withdrawn:
        lines.append(f"{_samples(report.withdrawn)} withdrawn")
    lines.append(
        f"kept now and not before: {report.back:,}, kept before and not now: {report.gone:,}, changed: {report.changed:,}"
    )
    lines.append(_counts(made))
    lines += [f"note: {shorter(note)}" for note in report.notes]
    state = "dry run: nothing is published" if dry_run else f"snapshot {made.snapshot} of {shorter(str(folder))}"
    return [*lines, state]


def _changes(report: Report) -> bool:
    """True if the corpus changes: by a snapshot, or in a dry run by one that is not published."""
    return report.published or report.withdrawn > 0 or report.back + report.gone + report.changed > 0


def _counts(made: Manifest) -> str:
    counts = made.counts
    out = [f"{counts.removed:,} removed", f"{counts.quarantined:,} in quarantine", f"{counts.withdrawn:,} withdrawn"]
    return f"{counts.kept:,} of {_samples(counts.rows)} are kept ({', '.join(out)})"


def _samples(count: int) -> str:
    return f"{count:,} sample{'' if count == 1 else 's'}"


def show(folder: Path, as_json: bool) -> None:
    """`refinery corpus FOLDER`."""
    with Corpus(folder) as corpus:
        snapshots, parts = corpus.snapshots, corpus.manifest.parts
    if as_json:
        data = {
            "snapshots": [_snapshot(made) for made in snapshots],
            "adds": [
                {
                    "add": p.number,
                    "rows": p.rows,
                    "withdrawn": p.withdrawn,
                    "copied": p.copied,
                    "files": [f.name for f in p.files],
                }
                for p in parts
            ],
        }
        click.echo(json.dumps(data, ensure_ascii=False))
        return
    rows = [
        (
            str(made.snapshot),
            made.made[:16].replace("T", " "),
            *(f"{n:,}" for n in (made.added, made.retracted, made.counts.kept)),
            _done(made),
        )
        for made in snapshots
    ]
    _table(("snapshot", "made (UTC)", "additions", "retractions", "kept", "change"), rows)
    click.echo()
    listed = [(str(p.number), f"{p.rows:,}", f"{p.withdrawn:,}", _files([f.name for f in p.files])) for p in parts]
    _table(("add", "samples", "withdrawn", "files"), listed)


def _snapshot(made: Manifest) -> dict[str, Any]:
    return {
        "snapshot": made.snapshot,
        "made": made.made,
        "change": made.change,
        "engine": made.engine,
        "additions": made.added,
        "retractions": made.retracted,
        "rows": asdict(made.counts),
        "notes": list(made.notes),
    }


def _done(made: Manifest) -> str:
    """The change of a snapshot in some words."""
    if "withdraw" in made.change:
        [(name, value)] = made.change["withdraw"].items()
        return f"withdraw --{name} {shorter(value)}"
    renewed = "renewed, " if made.change.get("renewed") else ""
    return f"{renewed}add {made.change['add']}: {_files(made.change['files'])}" if made.change["files"] else "renewed"


def _files(paths: Sequence[str]) -> str:
    names = ", ".join(shorter(path) for path in paths[:_NAMED])
    return f"{names} and {len(paths) - _NAMED} more" if len(paths) > _NAMED else names


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns; those of numbers are aligned at the right, the last one is not padded."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    right = [all(re.fullmatch(r"[\d,]*", row[at]) for row in rows) for at in range(len(head))]
    for row in (head, *rows):
        cells = [
            f"{cell:>{w}}" if is_number else f"{cell:<{w}}"
            for cell, w, is_number in zip(row, widths, right, strict=True)
        ]
        click.echo(console.shown("  ".join(cells).rstrip()))


def row(folder: Path, name: str, as_json: bool) -> None:
    """`refinery corpus FOLDER --row ADD:ROW`."""
    matched = re.fullmatch(r"(\d+):(\d+)", name)
    if matched is None:
        what = f"{name!r} names no sample; write the number of the add and that of the sample in it"
        raise RecipeError([Problem("--row", what, "For example: --row 2:17.")])
    with Corpus(folder) as corpus:
        place = int(matched[1]), int(matched[2])
        outcome, texts, field = corpus.outcome(*place), corpus.texts(*place), corpus.text_key
    if as_json:
        click.echo(json.dumps(asdict(outcome) | asdict(texts), ensure_ascii=False, default=str))
        return
    click.echo(str(outcome))
    for line in _versions(outcome, texts, field):
        click.echo(f"  {line}")


def _versions(outcome: SampleOutcome, texts: SampleTexts, field: str) -> Iterator[str]:
    """The versions of a sample for a terminal. field: of the text."""
    before = None if texts.before is None else _text(texts.before, field)
    yield f"as it came: {console.beginning(before, _WIDTH)}" if before is not None else f"as it came: {texts.problem}"
    if texts.after is not None:
        after = _text(texts.after, field)
        if before is None or after == before:
            yield f"as it is kept: {'unchanged' if after == before else console.beginning(after, _WIDTH)}"
        else:
            was, now = console.around_difference(before, after, _WIDTH)
            yield f"- {was}"
            yield f"+ {now}"
    if texts.instead is not None:
        assert outcome.instead is not None
        yield f"{outcome.instead[0]}:{outcome.instead[1]} as it is kept: {console.beginning(_text(texts.instead, field), _WIDTH)}"


def _text(sample: dict[str, Any], field: str) -> str:
    """The text of a sample; all of its fields as JSON where it has none."""
    text = text_of(sample, field)
    return json.dumps(sample, ensure_ascii=False, default=str) if text is None else text


def keep(folder: Path, count: int, as_json: bool) -> None:
    """`refinery corpus FOLDER --keep N`."""
    removed, size = keep_last(_folder(folder), count)
    if as_json:
        click.echo(json.dumps({"removed": removed, "bytes": size}))
    elif removed:
        click.echo(f"removed snapshots: {', '.join(map(str, removed))} ({size:,} bytes)")
    else:
        click.echo("nothing to remove")


def verify(folder: Path, as_json: bool) -> None:
    """`refinery corpus FOLDER --verify`. Raises MismatchError if a file is not as it was."""
    checked = verification.verify(_folder(folder))
    answer(as_json, lambda: {"ok": not checked.differences, **asdict(checked)}, _verified(checked))
    if checked.differences:
        raise MismatchError(f"{folder}: {len(checked.differences):,} files are not as their digests were recorded")


def _verified(checked: verification.Verification) -> Iterator[str]:
    """The outcome of a comparison for a terminal."""
    yield from (shorter(line) for line in checked.differences)
    if checked.without:
        yield f"note: {checked.without:,} files of an earlier version of refinery have no digest"
    if not checked.differences:
        yield f"{checked.files:,} files, {console.size(checked.bytes)}, and the state of the engine are as their digests were recorded"
