"""Measured models of KenLM: 5-grams of a part of the documents, as hash tables and as tries."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.models import Case, Section
from refinery.kernels.models import kenlm, kenlm_file
from tests.kernels.models import kenlm_writer as writer

LEARNED = 4_000_000  # characters of the documents whose n-grams are in the models
WORDS = 8_000
KINDS = {
    "hash tables": (writer.PROBING, writer.Options()),
    "trie": (writer.TRIE, writer.Options()),
    "trie `-q 8 -b 8 -a 22`": (writer.QUANTIZED_ARRAY, writer.Options()),
}


def cases(texts: Sequence[str], folder: Path) -> Iterator[Case]:
    """A case for each kind of file. The texts are pieces of a SentencePiece model of the documents."""
    split = _pieces(texts, folder)
    cut = [split(text) for text in texts]
    joined = [" ".join(pieces) for pieces in cut]
    learned, size = [], 0
    for pieces, text in zip(cut, joined, strict=True):
        if size < LEARNED:
            learned.append(pieces)
        size += len(text)
    grams = writer.grams_of(learned, 5)
    for name, (kind, options) in KINDS.items():
        path = folder / f"{kind}.arpa.bin"
        path.write_bytes(writer.model(grams, kind, options))
        assert kenlm_file.load(str(path)).order == 5
        title = f"{name}, {path.stat().st_size / 1e6:.0f} MB"
        yield Case(title, joined, partial(kenlm.score, model=str(path)), _library(path))


def _pieces(texts: Sequence[str], folder: Path) -> Any:
    import sentencepiece

    model = folder / "bench"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in texts for line in text.split("\n")[:200]),
        model_prefix=str(model),
        vocab_size=WORDS,
        input_sentence_size=50_000,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_file=f"{model}.model").encode_as_pieces


def _library(path: Path) -> Any:
    if importlib.util.find_spec("kenlm") is None:
        return None
    import kenlm as library  # not a dependency: it has no wheels

    return library.Model(str(path)).score


SECTION = Section("KenLM, pieces joined by spaces", cases)
