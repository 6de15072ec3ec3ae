"""Embedding of a text by a local model of model2vec or sentence-transformers, as a field of the sample."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.extras import install_command
from refinery.kernels.core.file_state import state_of

OPERATOR = {
    "doc": (
        "Write the embedding of each text, a list of numbers, to the field embedding_key. The model is a folder of "
        "model2vec or sentence-transformers; nothing is downloaded. With model2vec, an embedding depends on its text "
        "alone. With sentence-transformers, its last digits may depend on the texts in the same call. A text without "
        "a known token has zeros. With `device: cuda` the step asks for a GPU; if there is none, as for traces on a "
        "cluster's driver, it uses the processor."
    ),
    "version": 1,
    "resources": {"loads": True, "num_gpus": {"device": {"cuda": 1}}},
    "writes": {"embedding_key": "FLOAT[]"},
    "params": {
        "model": {
            "type": "folder",
            "default": None,
            "nullable": True,
            "asset": "model.safetensors",
            "doc": "Folder of the model, or its name in a folder of assets.",
        },
        "embedding_key": {
            "type": "str",
            "default": "embedding",
            "doc": "Field for the embedding; an existing field is replaced.",
        },
        "device": {
            "type": "str",
            "default": "cpu",
            "choices": ["cpu", "cuda"],
            "doc": "Kind of processor for sentence-transformers; model2vec needs no GPU.",
        },
        "max_tokens": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "Maximum number of tokens of a text to use; null: the model's own.",
        },
        "normalize": {"type": "bool", "default": True, "doc": "Scale embeddings to length 1."},
    },
    "checks": "check",
    "functions": {
        "text_embedding": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "BIGINT", "BOOLEAN"],
            "returns": "FLOAT[]",
            "runs": "python",
        }
    },
    "sql": """
        SELECT text_embedding(
          {{ text }}, {{ model | lit }}, {{ device | lit }}, CAST({{ max_tokens | lit }} AS BIGINT), {{ normalize | lit }}
        ) AS value
    """,
    "examples": [
        {
            "text": "A cat and a DOG",
            "params": {"model": "tiny"},
            "files": {
                "tiny/model.safetensors": {
                    "zlib": "eNoLYICAaqXU3KTUlJTMvPRiJSuFaqWUksqCVCBLyc3YSElHQak4IxHMjzbWUTCKBQqkJJYkxuenpRWnloB0RBsAxU1ia2sVwIABDhwcGBgagNjhAIgGADgPGj8="
                },
                "tiny/tokenizer.json": {
                    "version": "1.0",
                    "normalizer": {"type": "Lowercase"},
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"?": 0, "cat": 1, "dog": 2}, "unk_token": "?"},
                },
                "tiny/config.json": {"model_type": "model2vec", "normalize": True},
            },
            "written": {"embedding": [0.0, 1.0]},
        },
        {"text": "no model", "error": True},
        {"text": "no such folder", "params": {"model": "missing"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    model = params["model"]
    if not model:
        return ["there is no model: give the folder of one of model2vec or sentence-transformers"]
    try:
        package = package_of(model)
    except (OSError, ValueError) as error:
        return [f"model {model} cannot be used ({error}): give a folder of model2vec or sentence-transformers"]
    if importlib.util.find_spec(package) is None:
        extra = "embeddings" if package == "model2vec" else "transformers"
        return [f"model {model} needs the Python package {package}: {install_command(extra)}"]
    if package == "model2vec" and params["device"] == "cuda":
        return [f"model {model} of model2vec runs on processors: leave device out"]
    return []


def package_of(model: str) -> str:
    """The package that runs the model of a folder. Raises OSError or ValueError if it is none."""
    folder = Path(os.path.expanduser(model))
    if not folder.is_dir():
        raise OSError("there is no such folder")
    modules = folder / "modules.json"
    kinds = [str(module["type"]) for module in json.loads(modules.read_text("utf-8"))] if modules.is_file() else []
    if (folder / "model.safetensors").is_file() and (folder / "tokenizer.json").is_file():
        if not kinds or kinds[0].rpartition(".")[2] == "StaticEmbedding":
            return "model2vec"
    if not kinds:
        raise ValueError("it has neither model.safetensors with tokenizer.json nor modules.json")
    return "sentence_transformers"


def text_embedding(column: pa.Array, model: str, device: str, max_tokens: int | None, normalize: bool) -> pa.Array:
    """The embedding of each text; NULL for NULL."""
    embed = _model(model, _state(model), device, max_tokens, normalize)
    there = np.flatnonzero(np.asarray(column.is_valid()))
    found = embed([column[int(at)].as_py() for at in there]) if len(there) else np.zeros((0, 0), np.float32)
    size = found.shape[1]
    counts = np.zeros(len(column) + 1, np.int32)
    counts[there + 1] = size
    offsets = pa.array(np.cumsum(counts, dtype=np.int32), mask=np.append(np.asarray(column.is_null()), False))
    return pa.ListArray.from_arrays(offsets, pa.array(found.reshape(-1).astype(np.float32)))


def _state(model: str) -> tuple[Any, ...]:
    """States of the model's files: one that is written anew is loaded anew."""
    return tuple(
        (str(path), state_of(path)) for path in sorted(Path(os.path.expanduser(model)).rglob("*")) if path.is_file()
    )


@lru_cache(maxsize=2)
def _model(
    model: str, state: tuple[Any, ...], device: str, max_tokens: int | None, normalize: bool
) -> Callable[[Sequence[str]], np.ndarray]:
    """A function from texts to embeddings, float32 of shape (texts, numbers)."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # as the command line does
    folder = str(Path(os.path.expanduser(model)))
    load = _of_model2vec if package_of(model) == "model2vec" else _of_transformers
    encode, lock = load(folder, device, max_tokens, normalize), threading.Lock()

    def embed(texts: Sequence[str]) -> np.ndarray:
        with lock:  # tokenizers change their settings during a call
            return np.asarray(encode(texts), np.float32)

    return embed


def _of_model2vec(folder: str, device: str, max_tokens: int | None, normalize: bool) -> Callable[..., Any]:
    from model2vec import StaticModel

    limit = {} if max_tokens is None else {"max_length": max_tokens}
    found = StaticModel.from_pretrained(folder, normalize=normalize, **limit)
    return lambda texts: found.encode(texts, use_multiprocessing=False)


def _of_transformers(folder: str, device: str, max_tokens: int | None, normalize: bool) -> Callable[..., Any]:
    import torch
    from sentence_transformers import SentenceTransformer

    there = device if device == "cpu" or torch.cuda.is_available() else "cpu"
    found = SentenceTransformer(folder, device=there, local_files_only=True)
    if max_tokens is not None:
        found.max_seq_length = max_tokens
    return lambda texts: found.encode(texts, normalize_embeddings=normalize, show_progress_bar=False)
