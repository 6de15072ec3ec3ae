"""A change that is stopped at any moment leaves the old snapshot, and can be repeated."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from refinery.corpus import change, publish, reference
from refinery.corpus.corpus import Corpus
from refinery.corpus.engine import Change, Delta
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import Manifest
from refinery.errors import ConservationError, DataError, OutputError
from tests.corpus.living import Living, near_copies
from tests.runs import write_lines


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it but `finally`."""


# Functions after or before which the command is stopped.
MOMENTS = {
    "before the run": (reference, "execute"),
    "before samples are written": (publish.Publication, "samples"),
    "before the manifest": (publish, "view_of"),
    "before the state has its name": (publish.Publication, "publish"),
    "before the snapshot has its name": (publish, "sync_folder"),
    "before the pointer": (CorpusFolder, "point"),
}


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Living:
    made = Living(
        tmp_path_factory.mktemp("living"), ["paragraph_deduplicator", "document_deduplicator"], engine="reference"
    )
    made.add(near_copies(random.Random(5), 12, 0))
    made.require_promise()
    return made


def stopped(living: Living, moment: str, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """An add that is stopped at a moment, which leaves the samples as they were."""
    before = living.kept()
    owner, name = MOMENTS[moment]

    def stop(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(Killed):
            living.add(rows)
    living.parts.pop()
    assert living.kept() == before, moment


def test_an_add_that_was_stopped_at_each_moment(living: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = near_copies(random.Random(6), 6, 7000)
    for moment in MOMENTS:
        stopped(living, moment, rows, monkeypatch)
    living.add(rows)
    living.require_promise()


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stopped_add(living: Living, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = near_copies(random.Random(moment), 6, 1000 * (1 + list(MOMENTS).index(moment)))
    stopped(living, moment, rows, monkeypatch)
    living.add(rows)
    living.require_promise()


def test_files_of_a_stopped_change_are_removed(living: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    place = CorpusFolder(living.place)

    def stop(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(CorpusFolder, "point", stop)
        patch.setattr(CorpusFolder, "tidy", lambda self: None)
        with pytest.raises(Killed):
            living.withdraw_part(1)
    orphan = place.current_number() + 1
    assert place.snapshot(orphan).is_dir()
    assert orphan not in place.numbers()
    living.parts[0] = [None] * len(living.parts[0])
    living.withdraw_part(1)
    living.require_promise()
    assert [name for name in os.listdir(place.snapshots) if name.startswith(".")] == []
    assert os.listdir(place.states) == [f"{place.current_number():05d}"]


def test_a_lost_pointer_is_no_new_corpus(tmp_path: Path) -> None:
    living = Living(tmp_path, ["document_deduplicator"])
    living.place.mkdir()
    (living.place / ".unfinished-current").write_text("")  # of a command that was stopped at once
    living.add(near_copies(random.Random(1), 3, 0))
    (living.place / "current").unlink()
    with pytest.raises(DataError, match="current: is gone"):
        living.add(near_copies(random.Random(2), 3, 100))
    (living.place / "current").write_text("1")
    living.parts.pop()
    living.require_promise()


@pytest.mark.parametrize("lost", ["stage_1/keys/*.parquet", "state.json"])
def test_a_damaged_state_is_computed_anew(tmp_path: Path, lost: str) -> None:
    living = Living(tmp_path, ["document_deduplicator"])
    living.add(near_copies(random.Random(1), 6, 0))
    [file] = CorpusFolder(living.place).state(1).glob(lost)
    file.unlink()
    report = living.add([row | {"id": row["id"] + 100} for row in living.left()])
    assert any("state were missing" in note for note in report.notes)
    living.require_promise()


@pytest.mark.parametrize("how", ["gone", "cut", "manifest"])
def test_a_damaged_snapshot_is_refused(tmp_path: Path, how: str) -> None:
    living = Living(tmp_path, ["document_deduplicator"])
    living.add(near_copies(random.Random(1), 3, 0))
    folder = CorpusFolder(living.place).snapshot(1)
    if how == "gone":
        (folder / "additions.parquet").unlink()
    elif how == "cut":
        (folder / "outcomes.parquet").write_bytes(b"PAR1")
    else:
        (folder / "manifest.json").write_text("{}")
    with pytest.raises(DataError, match="or make the corpus anew"):
        living.add(near_copies(random.Random(2), 3, 100))
    with pytest.raises(DataError, match="or make the corpus anew"):
        Corpus(living.place)


def test_a_second_change_at_the_same_time(living: Living) -> None:
    with CorpusFolder(living.place).held(), pytest.raises(OutputError, match="another command changes the corpus"):
        living.withdraw_part(1)


def test_counts_that_do_not_add_up_publish_nothing(living: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    before, snapshot = living.kept(), Corpus(living.place).snapshot
    honest = publish.counts_of
    monkeypatch.setattr(change, "counts_of", lambda delta, rows, gone: honest(delta, rows, gone + 1))
    with pytest.raises(ConservationError, match="samples were added, but"):
        living.add(near_copies(random.Random(9), 3, 9000))
    living.parts.pop()
    assert (living.kept(), Corpus(living.place).snapshot) == (before, snapshot)


def test_a_file_that_changes_meanwhile_publishes_nothing(living: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    before, honest = living.kept(), reference.ReferenceEngine.apply

    def apply(self: reference.ReferenceEngine, changed: Change) -> Delta:
        delta = honest(self, changed)
        write_lines(Path(changed.parts[-1].inputs[0].files[0]), near_copies(random.Random(13), 2, 12_000))
        return delta

    monkeypatch.setattr(reference.ReferenceEngine, "apply", apply)
    with pytest.raises(DataError, match="has changed since"):
        living.add(near_copies(random.Random(10), 3, 10_000))
    living.parts.pop()
    assert living.kept() == before


def test_readers_of_an_old_snapshot_are_not_disturbed(living: Living) -> None:
    with Corpus(living.place) as old:
        rows = old.kept.fetchall()
        living.add(near_copies(random.Random(11), 4, 20_000))
        assert old.kept.fetchall() == rows
    manifests: list[Manifest] = Corpus(living.place).snapshots
    assert [one.parent for one in manifests] == [one.snapshot - 1 for one in manifests]
