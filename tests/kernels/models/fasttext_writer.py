"""Models of fastText with random numbers, written as files: every kind, without training."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4


@dataclass
class Recipe:
    """Parts and sizes of a model. kept: buckets that a pruned model has kept, None for all of them. parts, output_parts: columns of
    a part where input or output are quantized, 0 where they are not."""

    words: Sequence[str] = ("</s>", "the", "of")
    labels: Sequence[tuple[str, int]] = (("__label__en", 5), ("__label__de", 3), ("__label__zh", 2))
    dim: int = 16
    loss: int = HIERARCHICAL
    ngrams: int = 1
    bucket: int = 50
    minn: int = 2
    maxn: int = 4
    kept: Sequence[int] | None = None
    parts: int = 0
    output_parts: int = 0
    norms: bool = False
    scale: float = 1.0
    seed: int = 0
    version: int = 12
    rows: int = field(default=-1)


def model(recipe: Recipe) -> bytes:
    """The bytes of a model file."""
    numbers = np.random.default_rng(recipe.seed)
    kept = recipe.kept
    rows = recipe.rows
    if rows < 0:
        rows = len(recipe.words) + (recipe.bucket if kept is None else len(kept))
    args = (recipe.dim, 5, 5, 1, 5, recipe.ngrams, recipe.loss, 3, recipe.bucket, recipe.minn, recipe.maxn, 100)
    head = struct.pack("<ii12id", 793712314, recipe.version, *args, 1e-4)
    size = len(recipe.words) + len(recipe.labels)
    head += struct.pack("<iiiqq", size, len(recipe.words), len(recipe.labels), 100, -1 if kept is None else len(kept))
    for word in recipe.words:
        head += word.encode() + struct.pack("<BqB", 0, 1, 0)
    for label, count in recipe.labels:
        head += label.encode() + struct.pack("<BqB", 0, count, 1)
    for row, bucket in enumerate(kept or ()):
        head += struct.pack("<ii", bucket, row)
    head += _matrix(numbers, rows, recipe.dim, recipe.parts, recipe)
    return head + _matrix(numbers, len(recipe.labels), recipe.dim, recipe.output_parts if recipe.parts else 0, recipe)


def _matrix(numbers: np.random.Generator, rows: int, dim: int, parts: int, recipe: Recipe) -> bytes:
    if not parts:
        values = (numbers.standard_normal((rows, dim)) * recipe.scale).astype("<f4")
        return struct.pack("<Bqq", 0, rows, dim) + values.tobytes()
    count = -(-dim // parts)
    head = struct.pack("<BBqqi", 1, recipe.norms, rows, dim, rows * count)
    head += numbers.integers(0, 256, rows * count, np.uint8).tobytes() + _quantizer(numbers, dim, parts, recipe.scale)
    if recipe.norms:
        head += numbers.integers(0, 256, rows, np.uint8).tobytes() + _quantizer(numbers, 1, 1, 1.0)
    return head


def _quantizer(numbers: np.random.Generator, dim: int, width: int, scale: float) -> bytes:
    count = -(-dim // width)
    centroids = (numbers.standard_normal(dim * 256) * scale).astype("<f4")
    return struct.pack("<iiii", dim, count, width, dim - (count - 1) * width) + centroids.tobytes()


def random_recipe(seed: int, words: Sequence[str]) -> Recipe:
    """A model of any kind, whose dictionary has some of these words."""
    chance = random.Random(seed)
    n = chance.choice([1, 2, 3, 5, 17, 40])
    bucket = chance.choice([1, 7, 100, 5000])
    quantized = chance.random() < 0.5
    kept = None
    if quantized and chance.random() < 0.7:
        kept = chance.sample(range(bucket), chance.randrange(bucket + 1))
    known = chance.sample(list(words), chance.randrange(len(words) + 1))
    if chance.random() < 0.8 and "</s>" not in known:
        known.insert(0, "</s>")
    counts = [chance.choice([0, 1, 5, 1000]) for _ in range(n)]
    if chance.random() < 0.7:
        counts.sort(reverse=True)
    least = chance.randrange(4)
    return Recipe(
        words=known or ["</s>"],
        labels=[(f"__label__{number}", count) for number, count in enumerate(counts)],
        dim=chance.choice([1, 3, 4, 10, 16, 21, 33, 64, 100]),
        loss=chance.choice([HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL]),
        ngrams=chance.choice([1, 1, 2, 3, 5]),
        bucket=bucket,
        minn=least,
        maxn=chance.choice([0, least, least + 2, 6]),
        kept=kept,
        parts=chance.choice([1, 2, 3, 8]) if quantized else 0,
        output_parts=chance.choice([0, 2]) if quantized else 0,
        norms=chance.random() < 0.5,
        scale=chance.choice([0.0, 0.1, 1.0, 5.0]),
        seed=seed,
        version=chance.choice([11, 12, 12, 12]),
    )
