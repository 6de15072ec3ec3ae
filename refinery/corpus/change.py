"""Changes of a corpus: an add, a withdrawal. Each publishes one snapshot, or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from refinery.corpus.contents import require_contents
from refinery.corpus.engine import Change, Delta, Engine, EngineRefusal
from refinery.corpus.engines import engine_for
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.identity import identity_of, require_fit, require_same
from refinery.corpus.lake import Target
from refinery.corpus.manifest import Identity, Manifest, Part
from refinery.corpus.manifest import read as read_manifest
from refinery.corpus.merging import with_merged
from refinery.corpus.parts import NewData, copied, new_data, part_input, require_files
from refinery.corpus.publish import Columns, Publication, TypeChange, counts_of
from refinery.corpus.reference import ReferenceEngine
from refinery.corpus.room import room_for_change
from refinery.errors import OutputError
from refinery.io.left_out import numbers_in
from refinery.operators import Library
from refinery.operators.processes import using_processes
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.dump import dump
from refinery.results.disk_space import explained

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """Settings of a change. publish: table that gets the snapshot, see `lake.Target`; None: that of the recipe. engine: name of the one to take; None: the first that fits. copy: the corpus gets copies of the input files. renew: accept
    another recipe, versions or files, and compute everything anew. dry_run: publish nothing. handed_over: the input files are of a program's
    samples, and have names that mean nothing."""

    engine: str | None = None
    publish: str | None = None
    copy: bool = False
    renew: bool = False
    dry_run: bool = False
    handed_over: bool = False
    progress: Progress | None = None


PLAIN = Settings()


@dataclass(frozen=True)
class Report:
    """Result of a change. snapshot: the new one, or the current one if nothing changed; None if there is none. known: files that the corpus had
    already. withdrawn: samples that this change withdraws. back: samples that are kept now and were not before. gone: samples that were kept before, and
    are not now. changed: kept samples whose fields are others now."""

    snapshot: Manifest | None
    published: bool
    known: tuple[tuple[str, int], ...] = ()
    withdrawn: int = 0
    back: int = 0
    gone: int = 0
    changed: int = 0
    notes: tuple[str, ...] = ()
    dry: bool = False


def add(folder: CorpusFolder, recipe: Recipe, library: Library, settings: Settings = PLAIN) -> Report:
    """Add the data of a recipe's inputs. Files that the corpus has already are passed over. Raises as a run does."""
    require_fit(recipe)
    target = _target(recipe, settings)
    with using_processes(), explained(str(folder.root)):
        plan = prepare(recipe, library, runs=False)
        identity = identity_of(plan)
        with room_for_change(folder):
            folder.create()
        with folder.held():
            with room_for_change(folder):
                report = _add(folder, recipe, library, settings, plan, identity)
            return _delivered(folder, report, target)


def _target(recipe: Recipe, settings: Settings) -> Target | None:
    """The table that gets the snapshot, which can be reached. Raises RecipeError, OutputError."""
    named = settings.publish or recipe.publish
    if named is None:
        return None
    target = Target.of(named)
    target.require()
    return target


def _delivered(folder: CorpusFolder, report: Report, target: Target | None) -> Report:
    """Bring the table of a database to the current snapshot, also if this change made none: an earlier command may have failed here."""
    if target is None or report.snapshot is None or report.dry:
        return report
    try:
        line = target.publish(folder, report.snapshot)
    except OutputError as error:
        cure = f"The corpus has snapshot {report.snapshot.snapshot}; repeat the command to bring the table to it"
        raise OutputError(f"{error}. {cure}") from error
    return replace(report, notes=(*report.notes, line))


def _add(
    folder: CorpusFolder, recipe: Recipe, library: Library, settings: Settings, plan: Plan, identity: Identity
) -> Report:
    last = _begun(folder, settings, identity)
    data = new_data(recipe, plan.sources, last)
    renews = settings.renew and last is not None and last.identity != identity
    if not data.sources and not renews:
        return Report(last, False, data.known)
    number = len(last.parts) + 1 if last is not None else 1
    new = _new_part(folder, number, data, settings)
    parts = (*(last.parts if last is not None else ()), *new)
    require_files(folder, [part for part in (last.parts if last is not None else ()) if part.left])
    change: dict[str, Any] = {"add": number, "files": [file.name for part in new for file in part.files]}
    change |= {"renewed": True} if renews else {}
    job = _Job(folder, recipe, library, settings, identity, last, renews)
    return replace(job.run(parts, [part.number for part in new], {}, change), known=data.known)


def _new_part(folder: CorpusFolder, number: int, data: NewData, settings: Settings) -> list[Part]:
    if not data.sources:
        return []
    part = Part(number, 0, 0, "", False, data.sources)
    if not settings.copy or settings.dry_run:
        return [part]
    return [copied(folder, part, "dataset" if settings.handed_over else "")]


def withdraw(
    folder: CorpusFolder,
    recipe: Recipe,
    library: Library,
    chosen: Callable[[Manifest], Mapping[int, np.ndarray]],
    about: dict[str, Any],
    settings: Settings = PLAIN,
) -> Report:
    """Take samples away. recipe: of the corpus. chosen: gives the numbers of samples by part; those that are withdrawn already do not count.

    about: of the withdrawal, for the manifest. Raises as a run does.
    """
    target = _target(recipe, settings)
    with using_processes(), explained(str(folder.root)), folder.held():
        with room_for_change(folder):
            report = _withdraw(folder, recipe, library, chosen, about, settings)
        return _delivered(folder, report, target)


def _withdraw(
    folder: CorpusFolder,
    recipe: Recipe,
    library: Library,
    chosen: Callable[[Manifest], Mapping[int, np.ndarray]],
    about: dict[str, Any],
    settings: Settings,
) -> Report:
    last = _begun(folder, settings, None)
    if last is None:
        return Report(None, False)
    rows = _not_yet(folder, last, chosen(last))
    if not any(len(numbers) for numbers in rows.values()):
        return Report(last, False)
    gone = {number for number, numbers in rows.items() if len(numbers) == last.part(number).left}
    require_files(folder, [part for part in last.parts if part.left and part.number not in gone])
    identity, renews = _identity_now(folder, recipe, library, settings, last, gone)
    job = _Job(folder, recipe, library, settings, identity, last, renews)
    return replace(job.run(last.parts, [], rows, about), withdrawn=sum(len(numbers) for numbers in rows.values()))


def _identity_now(
    folder: CorpusFolder, recipe: Recipe, library: Library, settings: Settings, last: Manifest, gone: set[int]
) -> tuple[Identity, bool]:
    """The present identity, planned over the first part that is left, and whether all is computed anew."""
    left = [part for part in last.parts if part.left and part.number not in gone]
    if not left:
        return last.identity, False
    inputs = part_input(folder, left[0]).inputs
    identity = identity_of(prepare(replace(recipe, inputs=inputs, suffixes=()), library, runs=False))
    if not settings.renew:
        require_same(str(folder.root), last.identity, identity)
    return identity, last.identity != identity


def _begun(folder: CorpusFolder, settings: Settings, identity: Identity | None) -> Manifest | None:
    """The current snapshot, whose files are as they were, after what stopped commands have left is removed."""
    folder.tidy()
    last = read_manifest(folder)
    if last is None:
        return None
    if identity is not None and not settings.renew:
        require_same(str(folder.root), last.identity, identity)
    return require_contents(folder, last)


def _not_yet(folder: CorpusFolder, last: Manifest, rows: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """The chosen samples that are not withdrawn yet. Raises OutputError for samples that are none."""
    fresh = {}
    for number, numbers in sorted(rows.items()):
        if not 1 <= number <= len(last.parts):
            raise OutputError(f"there is no add {number}; there are {len(last.parts)}")
        part, wanted = last.part(number), np.unique(np.asarray(numbers, np.int64))
        if len(wanted) and not (0 <= wanted[0] and wanted[-1] < part.rows):
            wrong = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise OutputError(f"add {number} has no sample {wrong}; it has {part.rows:,}, counted from 0")
        if not part.left:
            continue
        known = numbers_in(str(folder.path(part.left_out))) if part.left_out else np.zeros(0, np.int64)
        fresh[number] = np.setdiff1d(wanted, known, assume_unique=True)
    return {number: numbers for number, numbers in fresh.items() if len(numbers)}


@dataclass
class _Job:
    """A change that is computed and published."""

    folder: CorpusFolder
    recipe: Recipe
    library: Library
    settings: Settings
    identity: Identity
    last: Manifest | None
    renews: bool

    def run(
        self, parts: Sequence[Part], added: Sequence[int], rows: Mapping[int, np.ndarray], about: dict[str, Any]
    ) -> Report:
        """Compute and publish a change. rows: samples that are withdrawn, by part."""
        number = self.last.snapshot + 1 if self.last is not None else 1
        publication = Publication(self.folder, number, self.last)
        with self._scratch() as scratch:
            after = [self._after(publication, part, rows.get(part.number)) for part in parts]
            change = self._change(scratch, publication, after, added, rows)
            engine, delta, columns, notes = self._computed(change, publication)
            notes = [*notes, *delta.notes]
            after = [replace(part, rows=delta.rows.get(part.number, part.rows)) for part in after]
            manifest = self._manifest(publication, engine, delta, columns, after, about, notes)
            report = _report(manifest, delta, publication, notes)
            if self.settings.dry_run:
                shutil.rmtree(publication.unfinished)
                return replace(report, published=False, dry=True)
            require_files(self.folder, [part for part in after if part.left])  # none has changed meanwhile
            publication.publish(with_merged(self.folder, publication.unfinished, manifest), change.new_state)
        return report

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        scratch = self.folder.work / "change"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _after(self, publication: Publication, part: Part, withdrawn: np.ndarray | None) -> Part:
        """A part after the change."""
        if withdrawn is None or not len(withdrawn):
            return part
        known = part.left_out and numbers_in(str(self.folder.path(part.left_out)))
        every = np.union1d(known, withdrawn) if len(known) else withdrawn
        if len(every) == part.rows:
            return replace(part, withdrawn=part.rows, left_out="")
        return replace(part, withdrawn=len(every), left_out=publication.left_out(part.number, every))

    def _change(
        self,
        scratch: Path,
        publication: Publication,
        after: Sequence[Part],
        added: Sequence[int],
        rows: Mapping[int, np.ndarray],
    ) -> Change:
        inputs = []
        for part in after:
            if not part.left and part.number not in added:
                continue
            if part.left_out and part.number in rows:  # the file has its name when the snapshot is published
                place = str(publication.here(part.left_out))
                read = part_input(self.folder, replace(part, left_out=""))
                inputs.append(replace(read, left_out=place, withdrawn=numbers_in(place)))
            else:
                inputs.append(part_input(self.folder, part, new=part.number in added))
        last, work = self.last, self.folder.work
        state = None if last is None or self.renews else self.folder.state(last.snapshot)
        output = scratch / "output"
        output.mkdir()
        files = {
            name: tuple(self.folder.path(file.path) for file in getattr(last, name)) if last is not None else ()
            for name in ("additions", "retractions", "outcomes")
        }
        return Change(
            self.recipe,
            self.library,
            tuple(inputs),
            tuple(added),
            rows,
            state if state is not None and state.is_dir() else None,
            scratch / "state",
            work,
            output,
            progress=self.settings.progress,
            **files,
        )

    def _computed(self, change: Change, publication: Publication) -> tuple[Engine, Delta, Columns, list[str]]:
        """The delta of a change and its columns; by a run over everything where the engine, or the types of columns, need it."""
        engine, notes = engine_for(self.recipe, self.library, self.settings.engine)
        own = self.last is not None and self.last.engine == engine.name
        try:
            delta = engine.apply(change if own else replace(change, state=None))
            return engine, delta, publication.samples(delta, self._is_anew(delta)), notes
        except (EngineRefusal, TypeChange) as reason:
            notes.append(f"all samples are published anew: {reason}")
        for folder in (change.output, change.new_state):
            shutil.rmtree(folder, ignore_errors=True)
        change.output.mkdir()
        reference = ReferenceEngine()
        delta = reference.apply(replace(change, state=None))
        return reference, delta, publication.samples(delta, self._is_anew(delta)), notes

    def _is_anew(self, delta: Delta) -> bool:
        """True if a delta retracts all that was kept."""
        return self.last is not None and _rows(delta.retractions) == self.last.counts.kept

    def _manifest(
        self,
        publication: Publication,
        engine: Engine,
        delta: Delta,
        columns: Columns,
        parts: Sequence[Part],
        about: dict[str, Any],
        notes: Sequence[str],
    ) -> Manifest:
        publication.keys("retractions", delta.retractions)
        publication.keys("outcomes", delta.outcomes)
        rows, withdrawn = sum(part.rows for part in parts), sum(part.withdrawn for part in parts)
        anew = self._is_anew(delta)
        lines = delta.schema is None if delta.additions else self.last is None or self.last.lines
        return Manifest(
            snapshot=publication.number,
            parent=self.last.snapshot if self.last is not None else 0,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            change=about,
            engine=engine.name,
            identity=self.identity,
            recipe=dump(replace(self.recipe, inputs=())),
            parts=tuple(parts),
            counts=counts_of(delta, rows, withdrawn),
            added=publication.rows("additions"),
            retracted=publication.rows("retractions"),
            additions=publication.files("additions", anew),
            retractions=publication.files("retractions", anew),
            outcomes=publication.files("outcomes"),
            columns=columns.types,
            lines=lines,
            profile=columns.profile,
            notes=tuple(notes),
        )


def _rows(files: Sequence[Path]) -> int:
    return sum(pq.read_metadata(file).num_rows for file in files)


def _report(manifest: Manifest, delta: Delta, publication: Publication, notes: Sequence[str]) -> Report:
    """The report of a change, with the samples that are in both files counted once."""
    added, retracted = _keys(publication, "additions"), _keys(publication, "retractions")
    both = len(np.intersect1d(added, retracted, assume_unique=True))
    return Report(manifest, True, back=len(added) - both, gone=len(retracted) - both, changed=both, notes=tuple(notes))


def _keys(publication: Publication, name: str) -> np.ndarray:
    """Part and number of the samples of a file, as one number each."""
    path = publication.unfinished / f"{name}.parquet"
    if not path.is_file():
        return np.zeros(0, np.int64)
    table = pq.read_table(path, columns=["_part", "_row"])
    keys: np.ndarray = (table.column(0).to_numpy().astype(np.int64) << 40) + table.column(1).to_numpy()
    return keys
