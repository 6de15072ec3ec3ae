"""`bloom_deduplicator`: against one filter in plain Python, in any parts, groups and bounds; its false positives and limits."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refinery
from refinery.dedup import ngram_filter, ngrams
from refinery.dedup.exchange import Exchange
from refinery.dedup.ngram_filter import Decision, FilterSize, false_positives, in_order
from refinery.errors import OperatorError, RecipeError
from refinery.kernels.core.arrow import texts as view_of
from refinery.kernels.dedup import bloom
from refinery.kernels.unicode.word_segments import segment_ends
from refinery.storage.open import open_store
from refinery.workers.executor import ThreadExecutor
from tests.examples import ALL, share_of
from tests.execution.ray.in_process import tasks_in_process
from tests.runs import content, exported, refine
from tests.runs import settings as recipe_of
from tests.sampling import sampled

LEVELS, REMEMBERS = ("paragraph", "document", "both"), ("kept", "all")


def removed_by(texts: Sequence[Sequence[Sequence[int]]], rule: Decision) -> dict[tuple[int, int], tuple[int, int]]:
    """Units that one exact filter removes, with their known and all n-grams: the meaning in plain Python."""
    known: set[int] = set()
    removed = {}
    for row, units in enumerate(texts):
        counts = []
        for number, unit in enumerate(units):
            seen = sum(ngram in known for ngram in unit)
            counts.append((seen, len(unit)))
            goes = bool(unit) and seen / len(unit) > rule.threshold
            if goes:
                removed[row, number] = (seen, len(unit))
            if rule.remember_all or not goes:
                known.update(unit)
        seen, of = map(sum, zip(*counts, strict=True)) if counts else (0, 0)
        if rule.level == "both" and of and seen / of > rule.threshold:
            removed |= {(row, number): (seen, of) for number in range(len(units))}
    return removed


def chains(seed: int, count: int) -> list[list[list[int]]]:
    """Texts of units, many of which are copies of earlier ones with some n-grams changed, so that decisions form chains."""
    dice = np.random.default_rng(seed)

    def new(size: int) -> list[int]:
        return [int(one) for one in dice.integers(0, 1 << 64, size, np.uint64)]

    pool = [new(int(dice.integers(5, 40))) for _ in range(max(2, count // 10))]
    texts = []
    for _ in range(count):
        units = []
        for _ in range(int(dice.integers(1, 5))):
            unit = list(pool[dice.integers(len(pool))])
            for at in dice.integers(0, len(unit), dice.integers(0, len(unit) // 3 + 1)):
                unit[at] = new(1)[0]
            if dice.random() < 0.7:
                pool[dice.integers(len(pool))] = unit
            units.append(unit[: int(dice.integers(0, len(unit) + 1))] if dice.random() < 0.2 else unit)
        texts.append(units)
    return texts


def flat(texts: Sequence[Sequence[Sequence[int]]]) -> tuple[np.ndarray, np.ndarray]:
    keys = [ngram for units in texts for unit in units for ngram in unit]
    return np.array(keys, np.uint64), np.array([len(unit) for units in texts for unit in units], np.int32)


@settings(max_examples=share_of(40))
@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([0.0, 0.5, 0.8, 1.0]), st.sampled_from(REMEMBERS))
def test_units_in_order_are_decided_as_by_an_exact_filter(seed: int, count: int, threshold: float, how: str) -> None:
    texts = chains(seed, count)
    rule = Decision(threshold, how == "all", "both")
    keys, sizes = flat(texts)
    rows_of = np.repeat(np.arange(count), [len(units) for units in texts])
    contained, measure = in_order(keys, sizes, FilterSize.of(len(keys), 1e-9), rule)
    places, known, of = rule.removed(contained, sizes, rows_of)
    units = np.concatenate([np.arange(len(units)) for units in texts])
    found = {(int(rows_of[at]), int(units[at])): (int(a), int(b)) for at, a, b in zip(places, known, of, strict=True)}
    assert found == removed_by(texts, rule) and measure.wrong == 0


def stored(folder: Path, texts: Sequence[Sequence[Sequence[int]]], cuts: Sequence[int]) -> list[str]:
    """Files of match keys of shards that end at `cuts`."""
    (folder / "stage_1").mkdir(parents=True)
    (folder / "work").mkdir()
    names = []
    for shard, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(texts)], strict=True)):
        chosen = [(row - start, *flat([texts[row]])) for row in range(start, end) if any(texts[row])]
        table = pa.table(
            {
                "_row": pa.array([shard << 32 | row for row, _, _ in chosen], pa.int64()),
                "ngrams": pa.array([keys.tolist() for _, keys, _ in chosen], pa.list_(pa.uint64())),
                "sizes": pa.array([sizes.tolist() for _, _, sizes in chosen], pa.list_(pa.int32())),
            }
        )
        names.append(f"stage_1/{shard:05d}.marks.parquet")
        pq.write_table(table, folder / names[-1])
    return names


class Inputs:
    """Input of a deduplicator, as the tasks of a filter read it."""

    def __init__(self, folder: Path, files: list[str], **params: Any) -> None:
        defaults = {"expected_ngrams": None, "on_excess": "warn", "max_removed_share": None}
        self.files, self.folder, self.sources = files, folder / "work", ["in"] * len(files)
        self.step = type("Step", (), {"params": defaults | params, "name": "bloom_deduplicator", "where": "r:1"})


def found_in(
    folder: Path, texts: Any, cuts: Sequence[int], worth: int, **params: Any
) -> tuple[dict[Any, str], list[str], int]:
    """Units to remove, by row and number, and why; the notes, and the number of fillings. worth: -1 for a filter in parts."""
    inputs, executor = (
        Inputs(folder, stored(folder, texts, cuts), **params),
        ThreadExecutor(str(folder), 2, None, str(folder)),
    )
    executor.worth = worth
    tasks = ngrams.NgramTasks(executor, Exchange(executor, "joined"), open_store(str(folder)), inputs)
    notes: list[str] = []
    names = tasks.removed(sum((folder / name).stat().st_size for name in inputs.files), notes)
    starts, result = [0, *cuts], {}
    for name in names:
        for row in pq.read_table(folder / name).to_pylist():
            result[starts[row["_row"] >> 32] + (row["_row"] & 0xFFFFFFFF), row["unit"]] = row["matched"]
    return result, notes, tasks.fillings


@pytest.mark.parametrize("rate", [1e-9, 0.2])
@pytest.mark.parametrize("how", REMEMBERS)
@pytest.mark.parametrize("most", [0, 10, 10**6])
def test_a_filter_in_parts_decides_as_one_in_order(
    rate: float, how: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with false positives, with files in any groups, and however many units are open between the bounds."""
    monkeypatch.setattr(ngrams, "MOST_OPEN", most)
    monkeypatch.setattr(ngrams, "_GROUP", 3000)
    monkeypatch.setattr(ngram_filter, "_LEAST_BITS", 2048)
    params = {"duplicate_threshold": 0.7, "remember": how, "level": "both", "false_positive_rate": rate}
    for seed in range(3 if ALL else 1):
        texts = chains(seed, 120)
        cuts = sorted(random.Random(seed).sample(range(121), 5))
        one, notes, _ = found_in(tmp_path / f"one{seed}", texts, [], 1 << 40, **params)
        parts, notes_of_parts, fillings = found_in(tmp_path / f"parts{seed}", texts, cuts, -1, **params)
        assert parts == one and notes_of_parts == notes and len(notes) == 1
        assert fillings == 1 if how == "all" else 3 <= fillings
        if rate < 0.1:
            expected = removed_by(texts, Decision(0.7, how == "all", "both"))
            assert one == {unit: f"{a} of {b} n-grams in the filter" for unit, (a, b) in expected.items()}


def test_a_large_filter_of_few_n_grams_is_filled_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task then holds one part, however many n-grams are expected."""
    params = {"duplicate_threshold": 0.7, "remember": "kept", "level": "both", "false_positive_rate": 0.01}
    texts = chains(3, 60)
    one, notes, none = found_in(tmp_path / "one", texts, [20], 1 << 40, expected_ngrams=10**6, **params)
    monkeypatch.setattr(ngrams, "_IN_ONE", 10**6)
    parts, notes_of_parts, fillings = found_in(
        tmp_path / "parts", texts, [20], 1 << 40, expected_ngrams=10**6, **params
    )
    assert parts == one and notes_of_parts == notes and none == 0 < fillings


def test_all_kernels_of_a_filter_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_filter, "_LEAST_BITS", 1024)
    params = {"duplicate_threshold": 0.6, "remember": "kept", "level": "paragraph", "false_positive_rate": 0.1}
    texts = chains(5, 24)
    one, _, _ = found_in(tmp_path / "one", texts, [], 1 << 40, **params)
    parts, _, fillings = found_in(tmp_path / "parts", texts, [9], -1, **params)
    assert parts == one and fillings == 3


def test_a_long_chain_of_decisions_takes_few_fillings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each version of a text keeps most of the one before it: one task settles the chain, which needs no filling for each link."""
    monkeypatch.setattr(ngram_filter, "_LEAST_BITS", 2048)
    versions = [[list(range(n * 1000003, (n + 50) * 1000003, 1000003))] for n in range(0, 1200, 8)]
    texts = [[[key * 0x9E3779B97F4A7C15 % (1 << 64) for key in unit] for unit in units] for units in versions]
    params = {"duplicate_threshold": 0.8, "remember": "kept", "level": "paragraph", "false_positive_rate": 1e-6}
    found, _, fillings = found_in(tmp_path / "parts", texts, [40], -1, **params)
    assert sorted(found) == sorted(removed_by(texts, Decision(0.8, False, "paragraph"))) and len(found) == 75
    assert fillings == 3


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_the_rate_of_false_positives_is_that_of_theory(rate: float) -> None:
    """A full filter: the measured share of wrong answers rises to the rate, so its mean is below; asking afresh gives the rate."""
    dice, count = np.random.default_rng(1), 200_000
    keys = dice.integers(0, 1 << 64, 2 * count, np.uint64)
    size = FilterSize.of(count, rate)
    assert size.bytes <= -count * np.log(rate) / np.log(2) ** 2 / 8 * 1.001 + 16 * size.parts
    sizes = np.ones(2 * count, np.int32)
    contained, measure = in_order(keys[:count], sizes[:count], size, Decision(1.0, True, "paragraph"))
    assert measure.new == count and measure.wrong == contained.sum() and 0 < measure.wrong < count * rate
    assert size.rate(measure.bits) == pytest.approx(rate, rel=0.1)
    full, words = size.content(measure.bits), size.empty(size.parts)
    assert full == pytest.approx(count, rel=0.01)
    answers, kept = np.zeros(2 * count, np.bool_), np.zeros(2 * count, np.bool_)
    parts = bloom.part_of(keys, size.parts)
    bloom.decide(keys[:count], parts[:count], sizes[:count], words, size.bits, size.hashes, 1.0, True, answers, kept)
    bits = words.copy()
    for at in range(count, 2 * count, 20):  # not entered together, as that would fill the filter further
        bloom.decide(
            keys[at:][:1], parts[at:][:1], sizes[:1], words, size.bits, size.hashes, 0.0, False, answers[at:], kept
        )
        words[parts[at]] = bits[parts[at]]
    asked = answers[count::20]
    assert abs(asked.mean() - rate) < 5 * (rate / len(asked)) ** 0.5


def test_false_positives_are_answers_about_ngrams_that_no_earlier_unit_entered() -> None:
    keys, units = np.array([7, 7, 9, 7, 9, 7], np.uint64), np.array([0, 0, 1, 1, 2, 3])
    kept = np.array([True, True, False, False, True, True])
    contained = np.array([False, True, True, True, False, True])
    assert false_positives(keys, units, kept, contained) == (4, 2)


LINES = [
    "the first line of all has seven words",
    "another line with quite some words in it",
    "the first line of all has seven new words",
    "short",
    "a third line that nobody else has written",
]


def documents(seed: int = 3, count: int = 80) -> list[dict[str, Any]]:
    dice = random.Random(seed)

    def line() -> str:
        words = dice.choice(LINES).split()
        for _ in range(dice.choice([0, 0, 1, 2])):
            words[dice.randrange(len(words))] = dice.choice(["red", "Blue", "7", "-"])
        return " ".join(words)

    return [{"n": n, "text": "\n".join(line() for _ in range(dice.choice([1, 2, 3, 5])))} for n in range(count)]


def segments(part: str) -> list[str]:
    """Segments of UAX 29, by the kernel that tests/kernels/unicode/test_word_segments.py compares with others."""
    ends, _ = segment_ends(view_of(pa.array([part])))
    data = part.encode()
    return [data[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]


def words_of(text: str) -> list[str]:
    return text.split()  # of `documents`, whose words have no punctuation inside


@pytest.mark.parametrize(("level", "how"), sampled([(level, how) for how in REMEMBERS for level in LEVELS], 2))
def test_runs_leave_what_the_meaning_says_in_any_cut(
    level: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = documents()
    params = {
        "level": level,
        "remember": how,
        "n_grams": 3,
        "min_ngram_size": 1,
        "duplicate_threshold": 0.6,
        "false_positive_rate": 1e-9,
    }
    known: set[tuple[str, ...]] = set()
    expected = []
    for sample in samples:
        parts = [sample["text"]] if level == "document" else sample["text"].split("\n")
        left, seen, total = [], 0, 0
        for part in parts:
            words = words_of(part)
            grams = [tuple(words[i : i + 3]) for i in range(len(words) - 2)] or [tuple(words)]
            again = sum(gram in known for gram in grams)
            seen, total, goes = seen + again, total + len(grams), again / len(grams) > 0.6
            left += [] if goes else [part]
            known |= set() if goes and how == "kept" else set(grams)
        if left and not (level == "both" and seen / total > 0.6):
            expected.append({"n": sample["n"], "text": "\n".join(left)})
    run = refine(tmp_path / "a", samples, [{"bloom_deduplicator": params}])
    assert exported(run) == expected and len(expected) < len(samples)
    calls = tasks_in_process(monkeypatch, twice=True)
    cut = refine(tmp_path / "b", samples, [{"bloom_deduplicator": params}], shard_size=400)
    assert exported(cut) == expected
    assert content(cut, "shards") == content(run, "shards")
    assert calls["fill"] and calls["finish"] and not calls["in_one"]


def real_texts() -> list[str]:
    texts = []
    for line in (Path(__file__).parents[2] / "recipes" / "data" / "web_sample.jsonl").read_bytes().split(b"\n"):
        with suppress(ValueError, TypeError, KeyError):  # some lines are broken, to show quarantine
            text = str(json.loads(line)["text"])
            texts += [text] if text.isascii() or text.encode() else []
    return texts


def test_real_texts_are_decided_as_by_one_filter_in_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With DCLM's parameters, over the bundled documents, whose words are segments of UAX 29."""
    texts = real_texts()[:300]
    known: set[tuple[str, ...]] = set()
    expected = []
    for n, text in enumerate(texts):
        left, seen, total = [], 0, 0
        for part in text.split("\n"):
            words = [word for word in segments(part) if word.strip()]
            grams = [tuple(words[i : i + 13]) for i in range(len(words) - 12)]
            again = sum(gram in known for gram in grams)
            seen, total = seen + again, total + len(grams)
            if not grams or again / len(grams) <= 0.8:
                left.append(part)
                known.update(grams)
        whole = "\n".join(left)
        if (whole.strip() and not (total and seen / total > 0.8)) or whole == text:
            expected.append({"n": n, "text": whole})
    samples = [{"n": n, "text": text} for n, text in enumerate(texts)]
    params = {"as": "dclm", "false_positive_rate": 1e-9}
    tasks_in_process(monkeypatch)
    run = refine(tmp_path, samples, [{"bloom_deduplicator": params}], shard_size=100_000)
    assert exported(run) == expected and len(expected) < len(texts)


def test_limits_end_a_run_or_make_a_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    samples = documents()
    small = {"n_grams": 3, "min_ngram_size": 1, "expected_ngrams": 10, "false_positive_rate": 0.01}
    with pytest.raises(
        OperatorError, match=r"filled its filter for 10 n-grams with about \d+: a new n-gram counts as known"
    ) as error:
        refine(tmp_path / "a", samples, [{"bloom_deduplicator": small}])
    assert "false_positive_rate, which is 0.01" in str(error.value) and "on_excess: warn" in str(error.value)
    refine(tmp_path / "b", samples, [{"bloom_deduplicator": small | {"on_excess": "warn"}}])
    assert "filled its filter" in caplog.text
    share = {"n_grams": 3, "min_ngram_size": 1, "max_removed_share": 0.1}
    with pytest.raises(
        OperatorError, match=r"removes \d+ of \d+ \(\d\d\.\d%\) of all n-grams, more than max_removed_share"
    ):
        refine(tmp_path / "c", samples, [{"bloom_deduplicator": share}])


def test_tables_explain_what_was_removed(tmp_path: Path) -> None:
    run = refine(
        tmp_path, documents(), [{"bloom_deduplicator": {"n_grams": 3, "min_ngram_size": 1, "duplicate_threshold": 0.6}}]
    )
    removed = run.sql("SELECT _row, kept, matched FROM duplicates ORDER BY ALL").fetchall()
    assert removed and all(kept is None and matched.endswith("n-grams in the filter") for _, kept, matched in removed)
    row, _, matched = removed[0]
    assert matched in str(run.why(row))


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"normalize": "datatrove"}, "set level: document"),
        ({"min_ngram_size": 14}, "min_ngram_size is 14, more than n_grams, which is 13"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], problem: str, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(RecipeError, match=problem):
        refinery.run(recipe_of(tmp_path, [{"bloom_deduplicator": params}]))
