"""datatrove's MinHash in our terms: its normalisation, and our clusters against its exact Jaccard similarities."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from refinery.kernels.dedup import jaccard, minhash, minhash_normalize, minhash_texts
from tests.kernels.dedup.test_minhash import clusters, marks, recorded_lines

CONFIGURATIONS = ["minhash_default", "minhash_3grams_9x5_sha1_32"]
SIGNATURES = 60


@pytest.fixture(scope="module")
def home(recorded):
    return recorded / "datatrove" / "dedup"


@pytest.fixture(scope="module")
def documents(home):
    return {document["id"]: document["text"] for document in recorded_lines(home / "dedup_docs.jsonl")}


def found_clusters(documents, config):
    names = ("n_grams", "num_buckets", "hashes_per_bucket")
    params = {name: config[name] for name in names}
    return marks(list(documents.values()), normalize="datatrove", tokenization="word", **params)


def test_the_normalisation_is_datatroves(home):
    cases = [case for case in recorded_lines(home / "simplify_text.jsonl") if not case["norm_config"]]
    found = minhash_normalize.simplified(pa.array([case["text"] for case in cases])).to_pylist()
    assert found == [case["simplified"] for case in cases] and cases


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_exact_similarity_is_nearly_datatroves(home, documents, name):
    """Its tokenizer, spaCy's English one, cuts a few words (`cannot`, units after numbers) that ours does not."""
    pairs = recorded_lines(home / f"jaccard_{name}.jsonl")
    window = recorded_lines(home / f"{name}.json")[0]["config"]["n_grams"]
    split = minhash_texts.split(pa.array(list(documents.values())), "datatrove", "word", True, None, None)
    sets = minhash_texts.shingle_set(split, window)
    at = {name: row for row, name in enumerate(documents)}
    sides = [sets.take(pa.array([at[pair[side]] for pair in pairs])) for side in "ab"]
    errors = np.abs(jaccard.jaccard(*sides).to_numpy() - [pair["jaccard"] for pair in pairs])
    assert errors.max() < 0.02 and errors.mean() < 0.0005


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_documents_with_equal_shingles_share_a_cluster(home, documents, name):
    recording = recorded_lines(home / f"{name}.json")[0]
    first = dict(zip(documents, clusters(found_clusters(documents, recording["config"])), strict=True))
    equal = [pair for pair in recorded_lines(home / f"jaccard_{name}.jsonl") if pair["jaccard"] == 1.0]
    assert equal and all(first[pair["a"]] == first[pair["b"]] for pair in equal)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_recall_is_that_of_theory(home, documents, name):
    """Missed pairs by similarity, in many signatures by different permutations; the first of them is the operator's.

    The pairs are not independent: a document that is missed in one is likely missed in its other pairs. So how far
    chance can go is taken from how much the signatures differ.
    """
    config = recorded_lines(home / f"{name}.json")[0]["config"]
    bands, rows = config["num_buckets"], config["hashes_per_bucket"]
    split = minhash_texts.split(pa.array(list(documents.values())), "datatrove", "word", True, None, None)
    minima, _ = minhash.fast_minima(split, config["n_grams"], SIGNATURES * bands * rows)
    at = {name: row for row, name in enumerate(documents)}
    pairs = [pair for pair in recorded_lines(home / f"jaccard_{name}.jsonl") if pair["jaccard"] < 1.0]
    left, right = ([at[pair[side]] for pair in pairs] for side in "ab")
    agree = (minima[left] == minima[right]).reshape(len(pairs), SIGNATURES, bands, rows)
    missed = ~agree.all(axis=3).any(axis=2)
    similarity = np.array([pair["jaccard"] for pair in pairs])
    chance = (1 - similarity**rows) ** bands
    for low in (0.5, 0.6, 0.7, 0.8, 0.9):
        some = (low <= similarity) & (similarity < low + 0.1)
        counts = missed[some].sum(axis=0)
        assert abs(counts.mean() - chance[some].sum()) < 4.5 * counts.std() / np.sqrt(SIGNATURES) + 0.1, low
    totals = missed.sum(axis=0)
    assert abs(totals[0] - chance.sum()) < 4.5 * totals.std()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_clusters_agree_with_datatroves_about_as_well_as_two_of_its_seeds_would(home, documents, name):
    recording = recorded_lines(home / f"{name}.json")[0]
    theirs = pairs_of([cluster["ids"] for cluster in recording["clusters"]])
    groups = defaultdict(list)
    for document, of in zip(documents, clusters(found_clusters(documents, recording["config"])), strict=True):
        groups[of].append(document)
    short = set(recording["without_shingles"])
    ours = {pair for pair in pairs_of(groups.values()) if not set(pair) & short}
    both = len(ours & theirs)
    assert both / len(ours) > 0.85 and both / len(theirs) > 0.85


def pairs_of(groups):
    return {pair for group in groups for pair in itertools.combinations(sorted(group), 2)}
