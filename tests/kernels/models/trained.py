"""SentencePiece models of every kind that the kernels know, trained in the process on the documentation."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[3] / "docs"

_NORMALIZER = b"\x1a"
_FALSE = {"dummy_prefix": b"\x18\x00", "remove_extra": b"\x20\x00", "escape": b"\x28\x00"}

UNIGRAM: dict[str, dict[str, Any]] = {
    "plain": {},
    "bytes": {"byte_fallback": True, "user_defined_symbols": ["<sep>", "ab", "<sep><sep>", "é"]},
    "across": {"split_by_whitespace": False, "user_defined_symbols": ["x y"]},
    "identity": {"normalization_rule_name": "identity", "user_defined_symbols": ["\n", "\n\n"]},
    "suffix": {"treat_whitespace_as_suffix": True},
    "spaces": {"remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True},
    "bare": {"add_dummy_prefix": False, "normalization_rule_name": "nfkc_cf"},
}
BPE: dict[str, dict[str, Any]] = {
    "bpe": {"model_type": "bpe"},
    "bpe-bytes": {"model_type": "bpe", "byte_fallback": True, "user_defined_symbols": ["<sep>", "ab", "é", "\n"]},
    "bpe-across": {"model_type": "bpe", "split_by_whitespace": False},
}


@cache
def corpus() -> list[str]:
    """Lines of the documentation, with some of other scripts."""
    lines = [
        line for path in sorted(DOCS.glob("*.md"))[:6] for line in path.read_text().splitlines() if 0 < len(line) < 500
    ]
    others = [
        "数据清洗是训练语言模型的第一步。",
        "Съешь же ещё этих мягких французских булок",
        "ﬁve ｆｕｌｌ ｗｉｄｔｈ é è ê",
    ]
    return lines[:600] + others * 5


@cache
def trained(kind: str) -> bytes:
    """A model of one of the kinds above."""
    import sentencepiece

    options = {
        "vocab_size": 420,
        "hard_vocab_limit": False,
        "num_threads": 1,
        "minloglevel": 2,
        "character_coverage": 0.99,
    }
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=out, **options, **(UNIGRAM | BPE)[kind]
    )
    return out.getvalue()


def without(model: bytes, *options: str) -> bytes:
    """The model with options of its normalizer turned off: of a field that is there twice, the last counts."""
    body = b"".join(_FALSE[name] for name in options)
    return model + _NORMALIZER + bytes([len(body)]) + body
