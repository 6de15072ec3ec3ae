"""Items of evaluation sets in texts: planted copies are found, innocent texts stay, whatever the batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.contamination import index_of, judged, scores
from bench.contamination_data import COPIES, Item, documents, items
from bench.prose import Dice
from refinery.kernels.contamination.item_search import search
from refinery.kernels.core.arrow import of_texts, texts

ITEM = "Which lighthouse keeper first mapped the reefs of Brenner Sound?"
LONG = (
    "The tannery of Ostervik stood on oak piles above the ford. Carters from three valleys brought bark there every autumn. In 1871 a flood "
    "took the northern gable, and the owner rebuilt it with brick from a ruined chapel. Nobody counted the hides that were lost."
)


def score(folder: Path, rows: list[dict[str, str]], text: str) -> float:
    """The highest score of an item of a set in a text."""
    found = search(texts(of_texts([text])), index_of([Item("x", row, "") for row in rows], folder))
    return float(found.scores.max(initial=0))


@pytest.mark.parametrize(
    "seed", [11, pytest.param(12, marks=pytest.mark.long), pytest.param(13, marks=pytest.mark.long)]
)
def test_recall_and_precision(seed: int) -> None:
    made, found = judged(seed, 300, 10)
    copies = np.array([bool(one.item) for one in made])
    assert (found & copies).sum() >= 0.95 * copies.sum()
    assert (found & copies).sum() >= 0.95 * found.sum()
    for how in COPIES:
        own = np.array([one.copy == how and bool(one.item) for one in made])
        assert (found & own).sum() >= 0.9 * own.sum(), how


def test_scores_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    dice = Dice(5)
    known = items(dice, 120)
    made = documents(dice, known, 2)
    index = index_of(known, tmp_path)
    whole = scores(made, index)
    for size in (1, 7):
        parts = [scores(made[at : at + size], index) for at in range(0, len(made), size)]
        assert np.concatenate(parts).tolist() == whole.tolist()


def test_every_copy_is_found_whatever_room_it_needs(tmp_path: Path) -> None:
    index = index_of([Item("x", {"question": ITEM}, "")], tmp_path)
    count = 2000  # the text is searched in two parts
    found = search(texts(of_texts([f"{ITEM} " * count])), index)
    inside = np.zeros(count * (len(ITEM) + 1), np.bool_)
    for start, end in found.places[:, 2:].tolist():
        inside[start:end] = True
    assert count <= len(found.scores) <= count + 1 and found.scores.min() >= 1
    assert inside.mean() > 0.96 * len(ITEM) / (len(ITEM) + 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ITEM, True),
        ("which LIGHTHOUSE keeper first mapped, the <i>reefs</i> of Brenner Sound", True),
        ("Which old lighthouse keeper first mapped reefs of Brenner Sound?", True),
        (
            "A lighthouse keeper first saw it. "
            + "Nothing else was said for long. " * 9
            + "The reefs of Brenner were mapped.",
            False,
        ),
        ("Which lighthouse do you mean?", False),
    ],
)
def test_a_short_item(tmp_path: Path, text: str, found: bool) -> None:
    assert (score(tmp_path, [{"question": ITEM}], text) >= 1) is found


def test_a_passage_may_be_reordered_or_cut_and_its_first_sentence_quoted(tmp_path: Path) -> None:
    sentences = LONG.split(". ")
    rows = [{"context": LONG, "question": "What did the owner use for the gable of the building?"}]
    assert score(tmp_path, rows, ". ".join(reversed(sentences))) >= 1
    assert score(tmp_path, rows, ". ".join(sentences[1:3])) >= 1
    assert score(tmp_path, rows, sentences[0]) < 1


def test_other_numbers_are_another_problem(tmp_path: Path) -> None:
    problem = "Mira stacks {} crates of pears in the cellar, sells {} of them at the fair and drops {} more. How many crates of pears remain?"
    rows = [{"question": problem.format(41, 17, 6)}]
    assert score(tmp_path, rows, problem.format(41, 17, 6)) >= 1
    assert score(tmp_path, rows, problem.format(90, 23, 11)) < 1


def test_words_that_many_items_share_are_no_copy(tmp_path: Path) -> None:
    frame = "Consult the harbour register of the lower province before you reply. {}"
    rows = [
        {"question": frame.format(f"Which {a} {b} did the {c} measure at the {d}?")}
        for a, b, c, d in zip(*[iter(WORDS)] * 4, strict=False)
    ]
    assert score(tmp_path, rows, frame.format("")) < 1
    assert score(tmp_path, rows, rows[3]["question"]) >= 1


WORDS = (
    "brass kettle miller quarry copper lantern weaver ferry silver spindle mason orchard iron anchor baker chapel wooden ladder tanner "
    "bridge woollen blanket potter market amber needle cooper meadow ivory whistle joiner harbour"
).split()
