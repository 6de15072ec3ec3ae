"""`embedding_mapper`: a field of numbers, the same in any batch, carried through stages, files and tables."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from refinery.inspect.why.query import RowHistories
from refinery.operators import load_module, shipped
from tests.runs import exported, refine, rows, settings, texts
from tests.tiny_models import model_folder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("model2vec") is None, reason="model2vec is not installed; the extra embeddings brings it"
)

WORDS = {"cat": (3, 4, 0), "dog": (-3, 4, 0), "car": (0.1, 0.2, 5), "bus": (0.3, 0.1, 6)}
TEXTS = ["a cat and a dog", "the car", "nothing", "cat", "bus", "dog car"]


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(model_folder(tmp_path / "model", WORDS))


def operator() -> Any:
    return load_module(shipped() / "udfs" / "mappers" / "embedding_mapper.py")


def test_a_text_has_the_same_numbers_in_any_batch(model: str) -> None:
    generator = np.random.default_rng(3)
    many = [" ".join(generator.choice([*WORDS, "other"], n % 40)) for n in range(200)]
    embed = operator().text_embedding
    whole = embed(pa.array([*many, None]), model, "cpu", None, True)
    assert whole[-1].as_py() is None and whole.type == pa.list_(pa.float32())
    alone = [embed(pa.array([text]), model, "cpu", None, True)[0] for text in many]
    assert whole[:-1].equals(pa.array([one.as_py() for one in alone], whole.type))
    assert embed(pa.array([], pa.string()), model, "cpu", None, True).to_pylist() == []


def test_the_field_is_written_and_read(tmp_path: Path, model: str) -> None:
    steps: list[Any] = [
        {"embedding_mapper": {"model": model, "embedding_key": "e"}},
        {"sql_filter": {"where": "e[2] > 0.5 or e[3] > 0.99"}},
        {"document_deduplicator": {}},
        {"sql_filter": {"where": "len(e) = 3 and e[1] > 0"}},
    ]
    run = refine(tmp_path, [{**sample, "e": "old"} for sample in texts(TEXTS)], steps, open_tracer=True)
    assert [sample["id"] for sample in exported(run)] == [1, 3, 4]
    assert exported(run)[1]["e"] == [0.6, 0.8, 0.0]
    trace = rows(run, "trace", "_row, original_text, processed_text", "step = 1")
    assert trace[3] == (3, "cat", "[0.6,0.8,0.0]")
    with RowHistories(run.work_dir) as histories:
        events = histories.of(3).events
    assert [event.fate for event in events] == ["changed", "kept", "kept", "kept"] and events[
        0
    ].after == "[0.6,0.8,0.0]"


def test_a_deduplicator_reads_what_the_mapper_writes(tmp_path: Path, model: str) -> None:
    """No sample of the input has the field, and none needs it; another field that no sample has is still a problem."""
    steps: list[Any] = [{"embedding_mapper": {"model": model}}, {"semantic_deduplicator": {"cosine_threshold": 0.95}}]
    run = refine(tmp_path, texts(["cat", "dog", "the cat", "car"]), steps)
    assert [sample["id"] for sample in exported(run)] == [0, 1, 3]
    steps[1]["semantic_deduplicator"]["embedding_key"] = "vector"
    with pytest.raises(RecipeError, match="embedding_key names the field 'vector', which none of the 4"):
        refine(tmp_path, texts(["cat", "dog", "the cat", "car"]), steps)


def test_a_table_gets_a_column_of_lists(tmp_path: Path, model: str) -> None:
    pq.write_table(pa.table({"text": TEXTS, "n": range(6)}), tmp_path / "in.parquet")
    steps: list[Any] = [
        {"embedding_mapper": {"model": model}},
        "document_deduplicator",
        {"sql_filter": {"where": "embedding[3] > 0"}},
    ]
    keys = {
        "dataset_path": tmp_path / "in.parquet",
        "export_path": tmp_path / "run" / "out.parquet",
        "export_type": "parquet",
    }
    [path] = refinery.run(settings(tmp_path, steps, **keys)).outputs
    found = pq.read_table(path)
    assert found["embedding"].type == pa.list_(pa.float32()) and found["n"].to_pylist() == [1, 4, 5]


def test_a_filter_is_not_moved_before_what_it_reads(tmp_path: Path, model: str) -> None:
    steps: list[Any] = [{"embedding_mapper": {"model": model}}, {"sql_filter": {"where": "embedding[1] > 0"}}]
    run = refine(tmp_path, texts(TEXTS), steps, fusion_strategy="greedy")
    assert [sample["id"] for sample in exported(run)] == [1, 3, 4]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"embedding_key": "text"}, "is 'text', which is a text that the recipe works on"),
        ({"device": "cuda"}, "of model2vec runs on processors"),
        ({"model": "nowhere/model"}, "there is no such folder"),
    ],
)
def test_what_is_refused(tmp_path: Path, model: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        refine(tmp_path, texts(TEXTS), [{"embedding_mapper": {"model": model, **given}}])


def test_a_model_is_found_by_name(tmp_path: Path, model: str) -> None:
    run = refine(tmp_path, texts(TEXTS), [{"embedding_mapper": {"model": "model"}}], assets=str(tmp_path))
    assert exported(run)[3]["embedding"][0] == 0.6
    [(assets,)] = rows(run, "runs", "assets")
    assert "model.safetensors" in assets or "model" in assets
    (Path(model) / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": False}))
    again = refinery.run(settings(tmp_path, [{"embedding_mapper": {"model": "model"}}], assets=str(tmp_path)))
    assert rows(again, "shards", "reused") == [(0,)]


def test_sentence_transformers_get_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the library, which brings gigabytes along: the device is cuda where torch has one."""
    made: list[tuple[str, str]] = []

    class Model:
        max_seq_length = 512

        def __init__(self, folder: str, device: str, local_files_only: bool) -> None:
            made.append((Path(folder).name, device))

        def encode(self, texts: list[str], normalize_embeddings: bool, show_progress_bar: bool) -> np.ndarray:
            return np.array([[len(text), self.max_seq_length] for text in texts], np.float32)

    cuda = types.SimpleNamespace(is_available=lambda: cuda.there, there=True)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=Model))
    for name, there in (("one", True), ("two", False)):
        cuda.there = there
        (tmp_path / name).mkdir()
        (tmp_path / name / "modules.json").write_text(
            json.dumps([{"type": "sentence_transformers.models.Transformer"}])
        )
        found = operator().text_embedding(pa.array(["abc", None]), str(tmp_path / name), "cuda", 7, True)
        assert found.to_pylist() == [[3.0, 7.0], None]
    assert made == [("one", "cuda"), ("two", "cpu")]
