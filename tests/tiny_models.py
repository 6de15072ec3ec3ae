"""Models of model2vec, made by hand: a vector for each of a few words."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np


def model_folder(folder: Path, vectors: Mapping[str, Sequence[float]]) -> Path:
    """Write a model; other words than these count for nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    size = len(next(iter(vectors.values())))
    data = np.array([[0.0] * size, *vectors.values()], np.float32)
    tensor = {"dtype": "F32", "shape": list(data.shape), "data_offsets": [0, data.nbytes]}
    header = json.dumps({"embeddings": tensor}).encode()
    header += b" " * (-len(header) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data.tobytes())
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(list(vectors))))
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True, "hidden_dim": size}))
    return folder


def tokenizer(words: Sequence[str]) -> dict[str, object]:
    """A tokenizer of whole words in lower case."""
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *words])}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    return {
        "version": "1.0",
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": model,
    }
