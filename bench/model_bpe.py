"""Measured tokenizers: byte-level BPE trained on a part of the documents, as pythia's and Llama 3's cut words."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.models import Case, Section
from refinery.kernels.models import bpe, tokenizer_file

LEARNED = 4_000_000  # characters of the documents that the tokenizers are trained on
TOKENS = 32_000


def cases(texts: Sequence[str], folder: Path) -> Iterator[Case]:
    """A case for each way to cut words; none without the library, which trains the tokenizers."""
    if importlib.util.find_spec("tokenizers") is None:
        return
    import tokenizers

    learned, size = [], 0
    for text in texts:
        learned.append(text)
        size += len(text)
        if size > LEARNED:
            break
    for number, (name, tokenizer) in enumerate(_kinds(tokenizers).items()):
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=TOKENS, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(iter(learned), trainer)
        if number == 0:
            tokenizer.add_tokens([tokenizers.AddedToken(" " * spaces, normalized=True) for spaces in range(24, 1, -1)])
        path = str(folder / f"{number}.json")
        tokenizer.save(path)
        encode = partial(tokenizers.Tokenizer.from_file(path).encode, add_special_tokens=False)
        yield Case(f"{name}, {TOKENS:,} tokens", texts, partial(bpe.counts, path=path, special=False), encode)


def _kinds(tokenizers: Any) -> dict[str, Any]:
    words = tokenizers.pre_tokenizers
    pythia, llama = (tokenizers.Tokenizer(tokenizers.models.BPE()) for _ in range(2))
    pythia.normalizer = tokenizers.normalizers.NFC()
    pythia.pre_tokenizer = words.ByteLevel(add_prefix_space=False)
    pattern = tokenizers.Regex(next(iter(tokenizer_file.PATTERNS)))
    split = words.Split(pattern, "isolated")
    llama.pre_tokenizer = words.Sequence([split, words.ByteLevel(add_prefix_space=False, use_regex=False)])
    return {"as pythia": pythia, "as Llama 3": llama}


SECTION = Section("Byte-level BPE, texts to numbers of tokens", cases)
