"""Measured models of SentencePiece: unigram and BPE models of a part of the documents."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.models import Case, Section
from refinery.kernels.models import sentencepiece

LEARNED = 60_000  # lines of the documents that the models are trained on
PIECES = 32_000
KINDS: dict[str, dict[str, Any]] = {"unigram": {}, "BPE with bytes": {"model_type": "bpe", "byte_fallback": True}}


def cases(texts: Sequence[str], folder: Path) -> Iterator[Case]:
    """A case for each kind of model; none without the library, which trains them."""
    if importlib.util.find_spec("sentencepiece") is None:
        return
    import sentencepiece as library

    lines = [line for text in texts for line in text.split("\n") if 20 < len(line) < 2000][:LEARNED]
    for number, (name, options) in enumerate(KINDS.items()):
        prefix = folder / str(number)
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=str(prefix),
            vocab_size=PIECES,
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
        path = f"{prefix}.model"
        processor = library.SentencePieceProcessor(model_file=path)
        yield Case(
            f"{name}, {PIECES:,} pieces", texts, partial(sentencepiece.pieces, path=path), processor.encode_as_pieces
        )


SECTION = Section("SentencePiece, texts to pieces", cases)
