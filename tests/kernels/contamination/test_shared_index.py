"""Indexes that processes share: made once for the contents of the files, and never kept under the name of other contents."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.common import shared_arrays
from refinery.kernels.contamination import contaminations, task_grams
from refinery.kernels.contamination.set_files import SetError
from refinery.kernels.dedup.sentence_units import USUAL

GRAMS = task_grams.Grams(3, False, True, USUAL, "eng")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared_arrays, "cache_root", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def task(place: Path, label: str) -> tuple[task_grams.File, ...]:
    """A file of one item, as `task_index` takes it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f'{{"query": "x", "label": "{label}"}}\n')
    return tuple(task_grams.named_files({"quiz": str(place)}))


def test_the_index_of_tasks_is_made_once_for_the_contents_wherever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = task_grams.task_index(task(tmp_path / "a.jsonl", "one two three four"), GRAMS)
    monkeypatch.setattr(task_grams, "_task_index", lambda *_: pytest.fail("made again"))
    again = task_grams.task_index(task(tmp_path / "copy" / "b.jsonl", "one two three four"), GRAMS)
    assert again.tasks == first.tasks == ["quiz"]
    assert [own.tolist() for own in again.table] == [own.tolist() for own in first.table]
    assert first.table.keys.any() and not again.table.keys.flags.writeable
    for files, grams in [
        (task(tmp_path / "c.jsonl", "one two three five"), GRAMS),
        (task(tmp_path / "a.jsonl", "one two three four"), GRAMS._replace(n=2)),
        (task(tmp_path / "a.jsonl", "one two three four"), GRAMS._replace(language="deu")),
    ]:
        with pytest.raises(pytest.fail.Exception, match="made again"):
            task_grams.task_index(files, grams)


def test_a_set_that_changes_while_it_is_read_gives_no_index(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an index of the new contents would be kept under the name of the old ones."""
    quiz = tmp_path / "quiz.jsonl"
    quiz.write_text('{"question": "Which keeper of the northern light first mapped the reefs?"}\n')
    make = contaminations.item_index

    def with_change(*args: object) -> object:
        quiz.write_text(quiz.read_text().replace("northern", "southern"))
        return make(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(contaminations, "item_index", with_change)
    with pytest.raises(SetError, match="has changed while it was read"):
        contaminations.index_of(str(quiz), None, 6)
    assert not [*folder.rglob("*.arrow")]


def test_the_check_makes_the_index_that_the_run_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the sets are parsed once."""
    quiz = tmp_path / "quiz.jsonl"
    quiz.write_text('{"question": "Which warden of the western pier first counted the barrels?"}\n')
    assert contaminations.problems(str(quiz), None, 6) == []
    monkeypatch.setattr(contaminations, "item_index", lambda *_: pytest.fail("made again"))
    other = tmp_path / "copy" / "quiz.jsonl"
    other.parent.mkdir()
    other.write_bytes(quiz.read_bytes())
    assert [one.items for one in contaminations.index_of(str(other), None, 6).sets] == [1]
