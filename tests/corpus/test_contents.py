"""A file of a corpus that has changed and kept its size is noticed by every command that uses it."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from refinery.corpus import corpus as corpora
from refinery.corpus.corpus import Corpus, Withdrawal
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.verification import verify
from refinery.errors import DataError
from tests.commands import command
from tests.corpus.living import Living, near_copies
from tests.sampling import named

VERIFIED = {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "window_size": 2, "verify": True}}
STATE = ("stage_1/keys", "stage_2/samples/values", "state.json")  # its files, of each kind
STEPS = [{"document_line_deduplicator": {"frequency_threshold": 2}}, VERIFIED]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Living:
    """A corpus with all kinds of files: an add, a second one that retracts, a withdrawal."""
    living = Living(tmp_path_factory.mktemp("original"), STEPS)
    rows = near_copies(random.Random(1), 14, 0)
    living.add(rows[:8])
    living.add(rows[8:])
    living.withdraw_ids({3})
    return living


@pytest.fixture
def copy(original: Living, tmp_path: Path) -> Living:
    """The corpus in another place, with copies of its inputs' list."""
    living = Living(tmp_path, STEPS)
    shutil.copytree(original.place, living.place)
    living.parts = [list(part) for part in original.parts]
    return living


def flip(file: Path, at: int | None = None) -> None:
    """Change a byte in its place, by default the middle one, and hide it in the time of change."""
    times, data = os.stat(file), bytearray(file.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    with file.open("r+b") as opened:
        opened.write(data)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@contextmanager
def flipped(file: Path) -> Iterator[None]:
    """A file with another byte, within this context."""
    flip(file)
    try:
        yield
    finally:
        flip(file)


def files_of(living: Living, folder: str) -> list[Path]:
    """All files in a folder of a corpus."""
    return sorted(file for file in (living.place / folder).rglob("*") if file.is_file() and file.stat().st_size)


def test_verification_notices_every_file(original: Living) -> None:
    place = CorpusFolder(original.place)
    sound = verify(place)
    assert (sound.differences, sound.without) == ((), 0)
    inputs = sorted((original.folder / "in").iterdir())
    files = [*files_of(original, "snapshots"), *files_of(original, "state"), *inputs]
    kinds = {file.name for file in files}
    assert {"additions.parquet", "retractions.parquet", "outcomes.parquet", "withdrawn-00001.parquet"} <= kinds
    assert {"manifest.json", "kept.sql", "recipe.yaml", "state.json", "values-000000.parquet"} <= kinds
    for file in files:
        with flipped(file):
            [line] = verify(place).differences
            assert (file.parent.name if file.name == "state.json" else file.name) in line, file
    assert verify(place).differences == ()
    ended, printed = command("corpus", "corpus", "--verify", folder=original.folder)
    assert (ended, "are as their digests were recorded" in printed) == (0, True)
    with flipped(original.place / "snapshots" / "00001" / "additions.parquet"):
        ended, printed = command("corpus", "corpus", "--verify", folder=original.folder)
    assert (ended, "additions.parquet: has other contents" in printed) == (8, True)


@pytest.mark.parametrize(
    "name", ["additions.parquet", "retractions.parquet", "outcomes.parquet", "withdrawn-00001.parquet", "manifest.json"]
)
def test_a_file_of_a_snapshot(original: Living, name: str) -> None:
    before = original.kept()
    file = files_of(original, "snapshots")[-1].parent / name
    if not file.is_file():
        file = next(one for one in files_of(original, "snapshots") if one.name == name)
    (original.folder / "rows.csv").write_text("_part,_row\n2,1\n")
    uses = {
        "kept": original.kept,
        "sample": lambda: Corpus(original.place).texts(1, 1),
        "add": lambda: original.add(near_copies(random.Random(2), 2, 100)),
        "withdraw": lambda: corpora.withdraw(original.place, Withdrawal(add=2)),
        "rows": lambda: corpora.withdraw(original.place, Withdrawal(rows=original.folder / "rows.csv")),
        "publish": lambda: original.add(
            near_copies(random.Random(2), 2, 100), replace(original.settings, publish=f"duckdb:{original.folder}/t")
        ),
    }
    with flipped(file):
        for use in uses.values():
            with pytest.raises(
                DataError,
                match="Bring the file back",
            ):
                use()
    del original.parts[2:]
    assert original.kept() == before and not (original.folder / "t").exists()


def test_a_number_of_an_earlier_snapshot_removes_no_later_one(original: Living) -> None:
    current = original.place / "current"
    for number in ("1", "2"):
        current.write_text(number)
        with pytest.raises(DataError, match=f"names snapshot {number}, but there are later ones. Write the number"):
            original.add(near_copies(random.Random(2), 2, 100))
        del original.parts[2:]
        with pytest.raises(DataError, match="there are later ones"):
            original.kept()
    current.write_text("3")
    original.require_promise()


def test_an_input_file_and_its_copy(original: Living, tmp_path: Path) -> None:
    with flipped(original.folder / "in" / "001.jsonl"):
        for use in (
            lambda: original.add(near_copies(random.Random(2), 2, 100)),
            lambda: corpora.withdraw(original.place, Withdrawal(where="id = 5")),
        ):
            with pytest.raises(DataError, match="001.jsonl of add 1 has changed since"):
                use()
        with Corpus(original.place) as corpus:
            assert "has changed since" in corpus.texts(1, 1).problem
    del original.parts[2:]
    copied = Living(tmp_path, ["document_deduplicator"])
    copied.settings = replace(copied.settings, copy=True)
    copied.add(near_copies(random.Random(1), 3, 0))
    [copy] = (copied.place / "inputs").rglob("*.jsonl")
    with flipped(copy), pytest.raises(DataError, match="has changed since"):
        copied.add(near_copies(random.Random(2), 3, 100))
    assert verify(CorpusFolder(copied.place)).differences == ()


def test_the_recipe_of_a_snapshot(original: Living) -> None:
    recipe = original.place / "snapshots" / "00003" / "recipe.yaml"
    text = recipe.read_text()
    recipe.write_text(text.replace("0.6", "0.7"))
    try:
        with pytest.raises(DataError, match="is not the recipe that snapshot 3 was made with"):
            corpora.withdraw(original.place, Withdrawal(add=2))
        with pytest.raises(DataError, match="is not the recipe"), Corpus(original.place) as corpus:
            corpus.outcome(1, 0), corpus.texts(1, 0)
    finally:
        recipe.write_text(text)


@pytest.mark.parametrize("name", named({name: name for name in STATE}, "stage_2/samples/values"))
def test_a_file_of_the_state(copy: Living, name: str) -> None:
    state = CorpusFolder(copy.place).state(3)
    flip([file for file in sorted(state.rglob("*")) if file.is_file() and name in file.as_posix()][-1], 40)
    if name == "stage_1/keys":
        report = copy.withdraw_ids({row["id"] for row in copy.left()[::2]})
    else:
        report = copy.add([row | {"id": row["id"] + 100} for row in copy.left()])
    assert any("files of the engine's state were missing or had changed" in note for note in report.notes)
    copy.require_promise()
    assert verify(CorpusFolder(copy.place)).differences == ()


def test_the_state_of_the_reference_engine(tmp_path: Path) -> None:
    living = Living(tmp_path, ["document_deduplicator"], engine="reference")
    living.add(near_copies(random.Random(1), 6, 0))
    flip(CorpusFolder(living.place).state(1) / "digests.parquet", 40)
    assert len(verify(CorpusFolder(living.place)).differences) == 1
    report = living.add(near_copies(random.Random(2), 3, 100))
    assert any("had changed" in note for note in report.notes)
    living.require_promise()


def test_a_corpus_in_another_place(copy: Living) -> None:
    """Its files have other stamps than were recorded, so their contents are read; then the new stamps are recorded."""
    copy.add(near_copies(random.Random(3), 3, 200))
    copy.require_promise()
    [last] = [made for made in Corpus(copy.place).snapshots if made.snapshot == 4]
    stamps = {name: contents.stamp for name, contents in last.contents.items()}
    earlier = [made for made in Corpus(copy.place).snapshots if made.snapshot == 3][0]
    assert all(stamps[name] != earlier.contents[name].stamp for name in earlier.names)


def test_snapshots_without_digests_open(copy: Living) -> None:
    for file in (copy.place / "snapshots").glob("*/manifest.json"):
        data = json.loads(file.read_text())
        del data["digest"], data["contents"]
        file.write_text(json.dumps(data))
    assert verify(CorpusFolder(copy.place)).without > 3
    copy.add(near_copies(random.Random(4), 3, 300))
    copy.require_promise()
