"""Recall, precision and the estimator against theory, on pairs of texts whose similarity is known.

Pairs are drawn independently of each other (with one fixed set of permutations, pairs that share content are not
independent draws), and theory says of each how likely it is found. A bucket of pairs fails when chance alone would make
its count so unlikely, on either side, once in BUCKETS / ALARM buckets: for each test here, changing seeds or hash
functions raises a false alarm with a probability of at most ALARM.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

from bench import quality
from bench.duplicates import Pair, Shingles, all_pairs, family, jaccard, pairs, simhash
from bench.prose import Dice
from refinery.kernels.dedup import jaccard as kernels
from refinery.kernels.dedup import minhash_texts
from tests.kernels.dedup.test_minhash import marks
from tests.sampling import first_of_each, sampled

ALARM = 1e-3
COUNT = 200
SHINGLES = Shingles("space", 5)
BUCKETS = quality.SIMILARITIES
SIGMAS = NormalDist().inv_cdf(1 - ALARM / 4 / len(BUCKETS))  # two sides, and two tests of each bucket


@pytest.fixture(scope="module")
def given() -> list[Pair]:
    """Pairs of each similarity, half of them short."""
    return quality.sample(SHINGLES, BUCKETS, (40, 150), COUNT // 2, "test")


def true(given: list[Pair]) -> np.ndarray:
    return np.array([pair.jaccard for pair in given])


def alarms(found: np.ndarray, chances: np.ndarray, buckets: list[np.ndarray]) -> list[int]:
    """Buckets whose count is not what chance makes of it."""
    unlikely = ALARM / len(buckets)
    return [n for n, of in enumerate(buckets) if quality.surprise(int(found[of].sum()), chances[of]) < unlikely]


def buckets(given: list[Pair]) -> list[np.ndarray]:
    found = list(quality.buckets(given).values())
    assert len(found) == len(BUCKETS) and min(map(len, found)) >= 0.95 * COUNT
    return found


# The generator


KINDS = [*quality.KINDS, SHINGLES]
kinds = [
    pytest.param(*case.values, marks=case.marks, id=str(case.values[0]))
    for case in first_of_each(KINDS, lambda shingles: shingles.tokenization)
]


@pytest.mark.parametrize("shingles", kinds)
def test_pairs_are_as_similar_as_they_are_said_to_be(shingles: Shingles) -> None:
    languages = quality.WRITTEN_TOGETHER if shingles.tokenization == "character" else quality.SPACED
    for similarity in (0.3, 0.55, 0.95):
        made = [pair for length in (30, 100) for pair in pairs(shingles, similarity, 5, length, languages)]
        assert made == [pair for length in (30, 100) for pair in pairs(shingles, similarity, 5, length, languages)]
        assert all(abs(pair.jaccard - similarity) <= 0.01 for pair in made)
        sides = [pa.array(side) for side in list(zip(*made, strict=True))[:2]]
        sets = [minhash_texts.split(side, "none", shingles.tokenization, True, None, None) for side in sides]
        measured = kernels.jaccard(*(minhash_texts.shingle_set(side, shingles.window) for side in sets))
        assert measured.to_pylist() == [pair.jaccard for pair in made]


def test_pairs_have_nothing_to_do_with_each_other(given: list[Pair]) -> None:
    some = [pair.left for pair in given[::20]]
    assert max(all_pairs(some, SHINGLES).values()) < 0.02


def test_shingles_of_short_texts_and_of_none() -> None:
    assert Shingles("word", 3).of("One, two.") == {"one two"} and Shingles("character", 2).of("数据数据") == {
        "数据",
        "据数",
    }
    assert Shingles("space", 3).of("  ") == frozenset() and jaccard(frozenset(), frozenset()) == 1.0
    with pytest.raises(ValueError, match="do not tell texts apart"):
        list(pairs(Shingles("character", 1), 0.5, 1, 30, ["zh"]))


# MinHash


@pytest.mark.parametrize("layout", [(25, 10), pytest.param((42, 6), marks=pytest.mark.long)], ids=str)
def test_the_operator_finds_as_many_as_theory_says(given: list[Pair], layout: tuple[int, int]) -> None:
    found = quality.found_pairs(given, quality.MINHASH, quality.minhash(SHINGLES, layout))
    assert found.strangers == 0
    of, (bands, rows) = buckets(given), layout
    assert not alarms(found.pairs, quality.banding(true(given), bands, rows), of)
    # The test would notice one row more or less in a band, and bands that depend on each other.
    for other in ((bands, rows + 1), (bands, rows - 1), (bands * 2 // 3, rows)):
        assert alarms(found.pairs, quality.banding(true(given), *other), of)


MIXED = [
    (hash, shingles)
    for hash in ("fast", "data_juicer")
    for shingles in (Shingles("word", 1), Shingles("character", 3), Shingles("word", 8))
]


@pytest.mark.parametrize(("hash", "shingles"), sampled(MIXED, every=4), ids=str)
def test_other_shingles_and_hashes_make_no_difference(shingles: Shingles, hash: str) -> None:
    given = quality.sample(shingles, (0.5, 0.6, 0.7, 0.8, 0.9), (50,), COUNT, "kinds")
    params = quality.minhash(shingles, (14, 8), hash=hash)
    sides = (
        np.array([m["bands"] for m in marks(list(side), **params) if m]) for side in list(zip(*given, strict=True))[:2]
    )
    found = np.equal(*sides).any(axis=1)
    of = [np.arange(start, start + COUNT) for start in range(0, len(given), COUNT)]
    assert not alarms(found, quality.banding(true(given), 14, 8), of)


def test_the_estimate_is_unbiased_and_as_sharp_as_theory(given: list[Pair]) -> None:
    """In units of sampling error: the mean over a bucket is normal, the mean of squares nearly so."""
    params = quality.minhash(SHINGLES, quality.EVERYTHING)
    estimates = quality.found_pairs(given, quality.MINHASH, params).estimates
    assert np.isnan(estimates).sum() <= 2
    similarity, of = true(given), buckets(given)
    errors = (estimates - similarity) * np.sqrt(quality.PERMUTATIONS)

    def drifted(errors: np.ndarray) -> list[int]:
        found = []
        for n, some in enumerate(of[:-1]):
            some = some[~np.isnan(errors[some])]
            in_sigmas = errors[some] / np.sqrt(similarity[some] * (1 - similarity[some]))
            mean, square = in_sigmas.mean() * np.sqrt(len(some)), ((in_sigmas**2).mean() - 1) * np.sqrt(len(some) / 2)
            found += [n] if max(abs(mean), abs(square)) > SIGMAS else []
        return found

    assert np.nanmax(np.abs(errors[of[-1]])) == 0
    assert not drifted(errors)
    # The test would notice a bias of 0.01, and permutations half of which say the same as others.
    assert drifted(errors + 0.01 * np.sqrt(quality.PERMUTATIONS)) and drifted(errors * np.sqrt(2))


def test_verify_lets_no_pair_through_that_is_less_alike() -> None:
    dice = Dice("verified")
    texts = [text for _ in range(12) for text in family(dice, SHINGLES, (0.9, 0.75, 0.65, 0.5), dice.between(30, 120))]
    exact, threshold = all_pairs(texts, SHINGLES), 0.6
    for verify in (False, True):
        params = quality.minhash(SHINGLES, (42, 6), verify=verify, jaccard_threshold=threshold)
        links, together = quality.links(texts, params)
        below = [pair for pair in links if exact[pair] < threshold]
        assert bool(below) is not verify
        alike = {pair for pair, similarity in exact.items() if similarity >= 0.75}
        assert alike <= together


# SimHash


def test_simhash_finds_all_within_the_distance_and_no_others() -> None:
    shingles = quality.SIMHASH_SHINGLES
    given = quality.sample(shingles, (0.75, 0.85, 0.9, 0.95, 1.0), (60, 120), 25, "simhash")
    distance = np.array([(simhash(a, shingles) ^ simhash(b, shingles)).bit_count() for a, b, _ in given])
    assert (np.bincount(distance)[:8] > 0).all()
    for most in (0, 3, 6):
        params = {"hamming_distance": most, "num_blocks": most + 2}
        found = quality.found_pairs(given, quality.SIMHASH, params)
        assert found.strangers == 0 and (found.pairs == (distance <= most)).all()
