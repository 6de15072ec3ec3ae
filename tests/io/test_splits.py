"""Contents of folders beside samples: several splits, markers, exports of earlier runs, files of other formats."""

from pathlib import Path

import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.io.readers.read import read
from refinery.io.sources import cut, find

CARD = "---\nconfigs:\n- config_name: default\n  data_files:\n  - {split: train, path: train/*}\n  - {split: test, path: test/*}\n---\n# A\n"


def folder_of(tmp_path: Path) -> Path:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "a.jsonl").write_text('{"text": "a b"}\n')
    return tmp_path


def test_splits_that_are_read_together_are_named(tmp_path: Path) -> None:
    sources, notes = find([folder_of(tmp_path)])
    assert len(sources) == 2
    assert [note for note in notes if "files of several splits are read together: test (1), train (1)" in note]


def test_a_dataset_card_chooses_the_split_train(tmp_path: Path) -> None:
    (folder_of(tmp_path) / "README.md").write_text(CARD)
    sources, notes = find([tmp_path])
    assert [Path(source.path).parent.name for source in sources] == ["train"]
    assert [note for note in notes if "README.md names the split train, which is read" in note]


def test_a_folder_without_several_splits_has_no_note(tmp_path: Path) -> None:
    for name in ("train-0.jsonl", "train-1.jsonl", "latest.jsonl"):
        (tmp_path / name).write_text('{"text": "a b"}\n')
    sources, notes = find([tmp_path])
    assert len(sources) == 3 and not notes


def test_markers_of_saved_datasets_are_no_samples_of_a_hub_dataset(tmp_path: Path) -> None:
    train = tmp_path / "ds" / "train"
    train.mkdir(parents=True)
    table = pa.table({"text": ["a b", "c d"]})
    with pa.ipc.new_stream(str(train / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    (train / "dataset_info.json").write_text('{"builder_name":"json"}')
    (train / "state.json").write_text('{"_split":"train"}')
    (tmp_path / "ds" / "dataset_dict.json").write_text('{"splits":["train"]}')
    for keys in ({}, {"data_files": "train/*"}):
        config = {"type": "huggingface", "path": str(tmp_path / "ds"), "split": "train", **keys}
        recipe = {"dataset": {"configs": [config]}, "process": ["whitespace_normalization_mapper"]}
        run = refinery.run(recipe | {"export_path": str(tmp_path / "out" / "k.jsonl")})
        assert (run.counts.read, run.counts.kept) == (2, 2)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_another_delimiter_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text;n\na, b;1\nc d;2\n")
    recipe = {"dataset_path": str(tmp_path / name), "process": ["whitespace_normalization_mapper"]}
    with pytest.raises(
        RecipeError, match=r"The delimiter seems to be the semicolon \(';'\).*\.csv are separated by commas"
    ):
        refinery.run(recipe | {"export_path": str(tmp_path / "k.jsonl")})


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("a.duckdb", "Read the rows of a query: dataset: "),
        ("a.sqlite", "Read the rows of a query: dataset: "),
        ("a.warc.wat.gz", "WAT files hold metadata of pages alone"),
        ("a.arc.gz", "Convert the archive to WARC first"),
        ("a.txt.gz", "A text file is one sample: unpack it"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_the_cure(tmp_path: Path, name: str, cure: str) -> None:
    (tmp_path / name).write_bytes(b"some bytes")
    with pytest.raises(DataError, match=cure):
        find([tmp_path / name])


def test_a_database_at_a_url_is_refused_with_the_cure() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(DataError, match="Name a database as a source: dataset: "):
        find(["postgres://user@host/db"])


def test_exports_of_earlier_runs_among_the_input_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a b"}\n')
    recipe = {"dataset_path": str(tmp_path), "process": ["whitespace_normalization_mapper"]}
    first = refinery.run(recipe | {"export_path": str(tmp_path / "out.jsonl")})
    assert not [line for line in first.warnings if "an earlier run" in line]
    second = refinery.run(recipe | {"export_path": str(tmp_path / "other" / "k.jsonl")})
    assert [line for line in second.warnings if f"{first.outputs[0]} is an export of an earlier run" in line]
    alone = refinery.run(
        recipe | {"dataset_path": str(first.outputs[0]), "export_path": str(tmp_path / "c" / "k.jsonl")}
    )
    assert not [line for line in alone.warnings if "an earlier run" in line]


@pytest.mark.parametrize(
    ("encoding", "named"), [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")]
)
def test_a_text_file_in_another_encoding_is_named_with_the_cure(tmp_path: Path, encoding: str, named: str) -> None:
    (tmp_path / "a.txt").write_bytes("hello\nzweite Zeile".encode(encoding))
    [shard] = cut(find([tmp_path / "a.txt"])[0])
    [bad] = [bad for batch in read(shard) for bad in batch.bad]
    assert bad.error == f"{named}, not UTF-8; convert it: iconv -f {named} -t UTF-8"
