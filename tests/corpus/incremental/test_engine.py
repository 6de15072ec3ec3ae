"""After any order of adds and withdrawals the corpus is, row for row, what one run over the remaining samples keeps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.corpus.engine import EngineRefusal
from refinery.corpus.incremental.engine import IncrementalEngine
from refinery.errors import OperatorError
from refinery.execution.open import open_recipe
from tests.corpus.incremental.corpora import Corpus, lived, samples_of
from tests.runs import settings
from tests.sampling import named

EXACT = {"document_deduplicator": {}}
KEY = {"key_deduplicator": {"key": "id % 5", "keep": "length(text) desc"}}
MINHASH = {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "window_size": 2}}
VERIFIED = {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "window_size": 2, "verify": True}}
SEMANTIC = {
    "semantic_deduplicator": {"embedding_key": "place", "cosine_threshold": 0.98, "num_bands": 8, "band_bits": 2}
}
LONG = {"text_length_filter": {"min_len": 60}}
SHORT = {"text_length_filter": {"max_len": 160}}
ORDER = {"sql_filter": {"where": "text_len % 7 <> 0"}}
LOWER = {"sql_mapper": {"text": "replace(text, 'kan', 'kar')"}}
LINES = {"document_line_deduplicator": {"frequency_threshold": 2}}
PARAGRAPHS = {"paragraph_deduplicator": {}}
SENTENCES = {"sentence_deduplicator": {"n_sentences": 1}}
SUBSTRINGS = {"substring_deduplicator": {"min_length": 30}}
NO_SUBSTRINGS = {"substring_deduplicator": {"min_length": 24, "keep": "none", "boundaries": "word", "merge_gap": 4}}

RECIPES: dict[str, list[Any]] = {
    "exact with filters": [LOWER, LONG, EXACT, SHORT],
    "minhash": [MINHASH],
    "exact then minhash": [EXACT, LONG, MINHASH],
    "key": [KEY],
    "semantic": [SEMANTIC],
    "lines": [LINES],
    "paragraphs": [LONG, PARAGRAPHS],
    "sentences": [SENTENCES],
    "lines then minhash": [LINES, LOWER, MINHASH, SHORT],
    "verified": [VERIFIED],
    "substrings": [SUBSTRINGS],
    "substrings, no copy stays": [LONG, NO_SUBSTRINGS, SHORT],
    "lines, substrings, exact": [LINES, SUBSTRINGS, LOWER, EXACT],
    "key, paragraphs, verified": [KEY, PARAGRAPHS, VERIFIED],
}


# The first changes of this seed are an add, a withdrawal and an add.
SEED = 10


@pytest.mark.parametrize("steps", named(RECIPES, "lines then minhash", "semantic", "substrings"))
def test_a_corpus_is_what_one_run_keeps(tmp_path: Path, steps: list[Any]) -> None:
    lived(Corpus(tmp_path, steps), random.Random(SEED), 3)


@pytest.mark.long
@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in RECIPES.items()])
@pytest.mark.parametrize("seed", range(3))
def test_a_corpus_of_more_changes_is_what_one_run_keeps(tmp_path: Path, steps: list[Any], seed: int) -> None:
    lived(Corpus(tmp_path, steps), random.Random(seed), 5)


def test_worker_processes_run_what_a_change_touches(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [EXACT, LINES], workers="processes")
    samples = samples_of(random.Random(2), [], 6)
    corpus.add(samples)
    corpus.add(samples[:3])
    corpus.withdraw([(1, 0)])
    corpus.check()


def test_statistics_and_quarantined_lines_pass_a_deduplicator(tmp_path: Path) -> None:
    corpus = Corpus(
        tmp_path, [LONG, EXACT, ORDER, LINES], keep_stats_in_res_ds=True, export_fields=["text", "__dj__stats__"]
    )
    samples = samples_of(random.Random(1), [], 8)
    corpus.add(samples)
    corpus.add(["{broken", '{"id": 1}', *samples[:4]])
    corpus.check()
    corpus.withdraw([(1, 0), (2, 0)])
    corpus.check()


def test_actions_of_substrings_are_those_of_a_run(tmp_path: Path) -> None:
    """Shares change for samples that were there before, so samples go and come back, and statistics are written anew."""
    drop = {"substring_deduplicator": {"min_length": 20, "keep": "none", "action": "drop", "max_share": 0.4}}
    measure = {"substring_deduplicator": {"min_length": 12, "action": "measure", "boundaries": "line"}}
    corpus = Corpus(tmp_path, [drop, measure], keep_stats_in_res_ds=True, export_fields=["text", "__dj__stats__"])
    common, other = "a passage that several samples have", "words of one sample, and of no other one"
    corpus.add([{"id": 1, "text": common}, {"id": 2, "text": f"{other}: {common[:14]}"}])
    assert sorted(corpus.kept) == [(1, 0), (1, 1)]
    corpus.add([{"id": 3, "text": f"{common}."}, {"id": 4, "text": f"{common} and {other * 3}"}])
    assert (1, 0) not in corpus.kept and (2, 0) not in corpus.kept
    corpus.check()
    corpus.withdraw([(2, 0), (2, 1)])
    assert sorted(corpus.kept) == [(1, 0), (1, 1)]
    corpus.check()


def test_tables_keep_their_columns(tmp_path: Path) -> None:
    def write(path: Path, samples: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(samples, pa.schema([("id", pa.int32()), ("text", pa.string())]))
        pq.write_table(table, path.with_suffix(".parquet"))

    corpus = Corpus(tmp_path, [LONG, KEY, ORDER, LINES], write, suffix=".parquet")
    lived(corpus, random.Random(SEED), 3)


def direction(at: float) -> dict[str, Any]:
    return {"id": 1, "text": f"{at}", "place": [1.0, at]}


def test_a_new_sample_retracts_an_earlier_one_that_it_connects(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [SEMANTIC])
    corpus.add([direction(0.0)])
    corpus.add([direction(0.3)])
    assert sorted(corpus.kept) == [(1, 0), (2, 0)]
    corpus.add([direction(0.15)])
    assert sorted(corpus.kept) == [(1, 0)] and corpus.outcomes == {(1, 0): 0, (2, 0): 1, (3, 0): 1}
    corpus.withdraw([(3, 0)])
    assert sorted(corpus.kept) == [(1, 0), (2, 0)]
    corpus.withdraw([(1, 0)])
    corpus.check()


def test_embeddings_of_another_length_fail_as_in_a_run(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [SEMANTIC])
    corpus.add([direction(0.0)])
    with pytest.raises(OperatorError, match="embeddings have 2 and 3 numbers"):
        corpus.add([{"id": 1, "text": "a", "place": [0.0, 0.0, 1.0]}])


def test_other_types_of_fields_are_refused(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [{"sql_filter": {"where": "id > 1"}}, EXACT])
    corpus.add([{"id": 1, "text": "a"}, {"id": 2, "text": "b"}])
    with pytest.raises(EngineRefusal, match="other types"):
        corpus.add([{"id": 1.5, "text": "c"}])


def test_a_withdrawal_that_changes_types_is_refused(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [{"sql_filter": {"where": "id > 1"}}, EXACT])
    corpus.add([{"id": 1, "text": "a"}, {"id": 2.5, "text": "b"}, {"id": 3, "text": "c"}])
    corpus.withdraw([(1, 0)])
    corpus.check()
    with pytest.raises(EngineRefusal, match="other types"):
        corpus.withdraw([(1, 1)])


def test_a_limit_of_rounds_is_refused(tmp_path: Path) -> None:
    """Twelve texts with common words, so that they are candidates, and none is like another."""
    params = {"jaccard_threshold": 0.9, "num_bands": 32, "num_rows_per_band": 1, "window_size": 1, "verify": True}
    corpus = Corpus(tmp_path, [{"document_minhash_deduplicator": params}])
    texts = [
        {"id": 0, "text": "one two three four five six " + " ".join(f"w{at}{n}" for n in range(6))} for at in range(12)
    ]
    with pytest.raises(EngineRefusal, match="8 unlike members"):
        for at in range(0, 12, 6):
            corpus.add(texts[at : at + 6])


def test_without_a_state_all_is_added_anew(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [EXACT, LINES])
    samples = samples_of(random.Random(5), [], 8)
    corpus.add(samples)
    corpus.add(samples[:3])
    corpus.state = None
    corpus.withdraw(corpus.left[:2])
    corpus.check()
    corpus.withdraw(corpus.left[:2])
    corpus.check()


def test_nothing_is_left_of_withdrawn_texts(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [EXACT, LINES])
    corpus.add([{"id": at, "text": f"text {at}"} for at in range(5)])
    corpus.add([{"id": 7, "text": "text 7"}])
    corpus.withdraw([(1, 1), (1, 3)])
    corpus.check()
    assert corpus.state is not None
    texts = [
        row["_line"]
        for file in corpus.state.rglob("values-*.parquet")
        for row in pq.read_table(file, columns=["_line"]).to_pylist()
    ]
    assert len(texts) == 2 * 4 and not any(b"text 1" in text or b"text 3" in text for text in texts)
    before = corpus.folder / "state_2"
    assert sum(pq.read_metadata(file).num_rows for file in before.rglob("values-*.parquet")) == 2 * 6
    corpus.add([{"id": 3, "text": "text 3"}])
    corpus.check()


def test_rows_are_withdrawn_once(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [EXACT])
    corpus.add([{"id": 1, "text": "a"}])
    corpus.add([{"id": 1, "text": "b"}])
    corpus.withdraw([(1, 0)])
    for key in ((1, 0), (2, 5)):
        with pytest.raises(ValueError, match="not in the corpus"):
            corpus.withdraw([key])


@pytest.mark.parametrize(
    ("step", "keys", "reason"),
    [
        ({"document_simhash_deduplicator": {}}, {}, "compares all samples with each other"),
        ({"document_deduplicator": {"max_removed_share": 0.5}}, {}, "max_removed_share"),
        ({"document_deduplicator": {"max_cluster_size": 5}}, {}, "max_cluster_size"),
        ({"document_deduplicator": {"index": "known"}}, {}, "index"),
        (EXACT, {"limit": 5}, "limit"),
        (EXACT, {"max_quarantined": 5}, "max_quarantined"),
        (EXACT, {"executor_type": "ray"}, "executor_type: ray"),
    ],
)
def test_recipes_that_look_at_all_samples_are_refused(tmp_path: Path, step: Any, keys: Any, reason: str) -> None:
    recipe, library = open_recipe(settings(tmp_path, [step], **keys), need_inputs=False)
    [refusal] = IncrementalEngine().refusals(recipe, library)
    assert refusal.endswith(reason) or reason in refusal


def test_a_change_after_which_no_sample_has_a_date_fails(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [{"document_deduplicator": {"keep": "newest"}}])
    corpus.add([{"id": 0, "text": "a", "date": "2024-01-01"}, {"id": 1, "text": "b", "date": "2023-05-01"}])
    [note] = corpus.add([{"id": 2, "text": "b", "date": "unknown"}, {"id": 3, "text": "c", "date": ""}]).notes
    assert "keep: newest: 2 of 4 compared samples have no date in the field 'date'" in note
    assert sorted(corpus.kept) == [(1, 0), (1, 1), (2, 1)]
    with pytest.raises(OperatorError, match="keep: newest: no sample has a date in the field 'date'"):
        corpus.withdraw([(1, 0), (1, 1)])


def test_numbers_of_samples_in_sql_are_refused(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, [{"sql_filter": {"where": "_row < 5"}}])
    with pytest.raises(EngineRefusal, match="_row"):
        corpus.add([{"id": 1, "text": "a"}])
