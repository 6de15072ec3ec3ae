"""Datasets of the Hugging Face Hub as inputs: local folders, the cache, URLs, and what is said when they are nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from refinery.recipe import hub_datasets, loads
from refinery.storage.drivers import of_input
from tests.assets.conftest import home
from tests.recipe.fake_library import COMPLETE

__all__ = ["home"]


def put(path: Path, text: str = '{"text": "x"}\n') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def sources(**config: Any) -> list[tuple[str, float]]:
    recipe = {"dataset": {"configs": [config]}, "process": []}
    return [(source.path, source.weight) for source in loads(json.dumps(recipe), library=COMPLETE).inputs]


def problem(**config: Any) -> str:
    with pytest.raises(RecipeError) as raised:
        sources(**config)
    return str(raised.value)


@pytest.fixture
def offline(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without the Hub's driver."""
    monkeypatch.setattr(hub_datasets, "find_spec", lambda name: None)
    return home


def in_cache(home: Path, files: dict[str, str]) -> Path:
    there = home / ".cache/huggingface/hub/datasets--owner--data"
    put(there / "refs/main", "c0ffee")
    for name, text in files.items():
        put(there / "snapshots/c0ffee" / name, text)
    return there / "snapshots/c0ffee"


@pytest.mark.parametrize(
    "config", [{"type": "huggingface"}, {"type": "remote", "source": "huggingface"}], ids=["huggingface", "remote"]
)
def test_a_local_folder_goes_before_the_hub(home: Path, config: dict[str, str]) -> None:
    there = put(home / "owner/data/train.jsonl")
    put(home / "owner/data/README.md", "# Data\n")
    put(home / "owner/data/.cache/other.jsonl")
    assert sources(**config, path="owner/data") == [(str(there), 1.0)]
    assert sources(**config, path="owner/data/train.jsonl") == [(str(there), 1.0)]


def test_the_cache_of_the_hub_is_read(offline: Path) -> None:
    there = in_cache(offline, {"data/train-00000-of-00002.jsonl": "", "data/train-00001-of-00002.jsonl": ""})
    put(there / "data/test-00000-of-00001.jsonl")
    found = sources(type="huggingface", path="owner/data", split="train", weight=3)
    assert found == [(str(there / f"data/train-0000{n}-of-00002.jsonl"), 1.5) for n in (0, 1)]
    assert sources(type="huggingface", path="owner/data", split="test")[0][0].endswith("test-00000-of-00001.jsonl")
    assert "has the splits test, train. Name one of them: split: test" in problem(type="huggingface", path="owner/data")
    assert "has no files of split 'validation'" in problem(type="huggingface", path="owner/data", split="validation")


@pytest.mark.parametrize(
    ("file", "split"),
    [
        ("train.jsonl", "train"),
        ("training/a.jsonl", "train"),
        ("my-dev.parquet", "validation"),
        ("x/validation_1.csv", "validation"),
        ("eval.jsonl.gz", "test"),
        ("latest.jsonl", ""),
        ("trainer.jsonl", ""),
    ],
)
def test_paths_name_splits(file: str, split: str) -> None:
    assert hub_datasets.split_of(Path(file), None) == split


def test_asplit_of_another_name(offline: Path) -> None:
    there = in_cache(offline, {"gold.jsonl": "", "silver_2.jsonl": ""})
    assert sources(type="huggingface", path="owner/data", split="silver") == [(str(there / "silver_2.jsonl"), 1.0)]


def test_files_without_names_of_splits_are_those_of_training(offline: Path) -> None:
    there = in_cache(offline, {"a.jsonl": "", "b.jsonl": ""})
    both = [(str(there / "a.jsonl"), 0.5), (str(there / "b.jsonl"), 0.5)]
    assert sources(type="huggingface", path="owner/data") == both
    assert sources(type="huggingface", path="owner/data", split="train") == both
    assert "no files of split 'test'" in problem(type="huggingface", path="owner/data", split="test")


README = """---
license: mit
configs:
- config_name: question
  data_files:
  - split: train
    path: q/*.jsonl
  - split: test
    path: [q2/a.jsonl, q2/b.jsonl]
- config_name: answer
  data_files: a/*.jsonl
---
# Data
"""


def test_the_readme_of_a_dataset_declares_its_files(offline: Path) -> None:
    there = in_cache(
        offline, {"README.md": README, "q/1.jsonl": "", "q2/a.jsonl": "", "q2/b.jsonl": "", "a/1.jsonl": ""}
    )
    assert sources(type="huggingface", path="owner/data", name="question", split="train") == [
        (str(there / "q/1.jsonl"), 1)
    ]
    both = sources(type="huggingface", path="owner/data", name="question", split="test")
    assert [path for path, _ in both] == [str(there / "q2/a.jsonl"), str(there / "q2/b.jsonl")]
    assert sources(type="huggingface", path="owner/data", name="answer") == [(str(there / "a/1.jsonl"), 1)]
    assert "has the splits train, test" in problem(type="huggingface", path="owner/data", name="question")
    assert "of configuration 'riddle'" in problem(type="huggingface", path="owner/data", name="riddle", split="train")


def test_files_and_folders_of_a_dataset(offline: Path) -> None:
    there = in_cache(offline, {"x/a.jsonl": "", "x/b.jsonl": "", "y/a.jsonl": ""})
    of = {"type": "huggingface", "path": "owner/data"}
    assert [path for path, _ in sources(**of, data_dir="x")] == [str(there / "x/a.jsonl"), str(there / "x/b.jsonl")]
    assert sources(**of, data_files="*/b.jsonl") == [(str(there / "x/b.jsonl"), 1.0)]
    assert sources(**of, data_dir="y", data_files=["a.jsonl"]) == [(str(there / "y/a.jsonl"), 1.0)]
    assert sources(**of, name="y") == [(str(there / "y/a.jsonl"), 1.0)]
    assert "leads out of the dataset" in problem(**of, data_files="../*")


def test_a_dataset_that_is_nowhere(offline: Path) -> None:
    said = problem(type="remote", source="huggingface", path="owner/data", name="question", split="train")
    assert "the dataset 'owner/data' is not on this machine: there is no such folder, and no " in said
    assert ".cache/huggingface/hub/datasets--owner--data in the cache of Hugging Face" in said
    assert "huggingface_hub, which reads it from the Hub, is not installed. pip install huggingface_hub, or" in said


def test_the_driver_of_the_hub_reads_its_conversion_to_parquet(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_datasets, "find_spec", lambda name: object())
    of = {"type": "huggingface", "path": "owner/data"}
    parquet = "hf://datasets/owner/data@~parquet"
    assert sources(**of, name="question", split="train") == [(f"{parquet}/question/train/*.parquet", 1.0)]
    assert sources(**of, split="test") == [(f"{parquet}/default/test/*.parquet", 1.0)]
    assert sources(**of, data_files="a.jsonl") == [("hf://datasets/owner/data/a.jsonl", 1.0)]
    assert sources(**of, data_dir="x") == [("hf://datasets/owner/data/x/", 1.0)]
    assert "may have several splits. Write split: train." in problem(**of)


def test_a_hub_that_cannot_be_reached() -> None:
    said = str(of_input("hf://datasets/owner/data@~parquet/default/train/*.parquet", OSError("no address")))
    assert "train/*.parquet: cannot be read: no address. A source {type: huggingface, path: owner/data} is read" in said
    assert "`hf download owner/data --repo-type dataset`" in said
    assert str(of_input("s3://bucket/a.jsonl", OSError("no address"))).endswith("cannot be read: no address")


def test_what_cannot_be_followed(home: Path) -> None:
    put(home / "data/a.jsonl")
    assert "limit of a dataset cannot be followed. Write dataset.max_sample_num." in problem(
        type="huggingface", path="data", limit=3
    )
    assert "split 'train[:10%]' is an expression" in problem(type="huggingface", path="data", split="train[:10%]")
    assert "a huggingface source has no key 'splti'. Did you mean 'split'?" in problem(
        type="huggingface", path="data", splti="train"
    )
    assert "a local source has no key 'split'" in problem(path="data", split="train")
    assert "a source has no path" in problem(type="huggingface", split="train")


def test_a_run_reads_a_dataset_of_the_cache(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_cache(offline, {"data/train-1.jsonl": '{"text": "one"}\n', "data/train-2.jsonl": '{"text": "two"}\n'})
    monkeypatch.delenv("REFINERY_CACHE_DIR")
    recipe = {
        "dataset": {"configs": [{"type": "remote", "source": "huggingface", "path": "owner/data", "split": "train"}]},
        "export_path": "out/kept.jsonl",
        "process": [{"text_length_filter": {"min_len": 1}}],
    }
    run = refinery.run(recipe)
    assert run.counts.kept == 2
    assert [json.loads(line)["text"] for line in Path("out/kept.jsonl").read_text().splitlines()] == ["one", "two"]
