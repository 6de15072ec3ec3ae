"""The tables audit, hubs and chains, and what a run says when a deduplicator removes samples unlike those that stay."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import OperatorError
from refinery.results.audit import draw, record
from refinery.results.audit.draw import share
from tests.runs import refine, settings, write_lines

NOTICE = "This page uses cookies. Accept or reject."


def page(number: int, words: int = 30) -> str:
    return " ".join(f"w{number}x{at}" for at in range(words))


def rows(run: Any, query: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = run.sql(query).fetchall()
    return found


def minhash(**params: Any) -> dict[str, Any]:
    return {"document_minhash_deduplicator": params}


def test_copies_are_alike(tmp_path: Path) -> None:
    samples = [{"text": page(at % 10)} for at in range(40)]
    run = refine(tmp_path, samples, ["document_deduplicator"])
    assert rows(run, "SELECT DISTINCT jaccard, weight FROM audit") == [(1.0, 1.0)]
    [(n, removed, whole, low, high)] = rows(
        run, "SELECT n, removed, share, low, high FROM audit_summary WHERE source IS NULL AND threshold = 0.8"
    )
    assert (n, removed, whole, high) == (30, 30, 1.0, 1.0) and low == pytest.approx(0.8865, abs=1e-4)
    assert not any("removed samples are like" in text for text in run.warnings)
    assert rows(run, "SELECT DISTINCT connected, alike, reason FROM hubs") == [(3, True, "texts that are alike")]


def test_a_constant_key_is_found_out(tmp_path: Path) -> None:
    samples = [{"text": page(at), "url": "about:blank"} for at in range(200)]
    run = refine(tmp_path, samples, [{"key_deduplicator": {"key": "url"}}], audit=50)
    assert rows(run, "SELECT count(*), max(jaccard), sum(weight) FROM audit") == [(50, 0.0, pytest.approx(199))]
    [(connected, via, reason, matched)] = rows(run, "SELECT connected, via, reason, matched FROM hubs")
    assert (connected, via, matched) == (199, 0, "about:blank") and reason.startswith("one value of the key")
    [note] = [text for text in run.warnings if "removed samples are like" in text]
    assert (
        "at most 7.1% of the removed samples" in note and "199 others" in note and "make the key more precise" in note
    )


def test_short_texts_under_the_hash_of_data_juicer(tmp_path: Path) -> None:
    samples = [{"text": f"note {at}"} for at in range(60)]
    run = refine(tmp_path, samples, [minhash()])
    assert run.counts.kept == 1
    [(reason, excerpt)] = rows(run, "SELECT reason, excerpt FROM hubs")
    assert reason == "texts shorter than window_size, which is 5 tokens" and excerpt == "note 0"
    [note] = [text for text in run.warnings if "removed samples are like" in text]
    assert "hash: fast" in note and "set verify: true" in note


def chain(links: int, words: int = 40, step: int = 4) -> list[str]:
    """Texts, each much like the next one; the first and the last have nothing in common."""
    everything = [f"t{at}" for at in range(words + links * step)]
    return [" ".join(everything[at * step : at * step + words]) for at in range(links + 1)]


def test_chains_name_the_path(tmp_path: Path) -> None:
    samples = [{"text": text} for text in chain(12)]
    run = refine(tmp_path, samples, [minhash(window_size=1, num_bands=60, num_rows_per_band=4, num_permutations=240)])
    assert run.counts.kept == 1
    [(row, kept, size, links, path, similarity)] = rows(
        run, "SELECT _row, kept, cluster_size, links, path, similarity FROM chains"
    )
    assert (row, kept, size, similarity) == (10, 0, 13, 0.0) and links == len(path) - 1
    assert path[0] == row and path[-1] == kept and sorted(path, reverse=True) == path
    direct = rows(
        run,
        f"SELECT bool_and(via = p.after) FROM duplicates JOIN (SELECT unnest({path[:-1]}) AS at, unnest({path[1:]}) AS after) AS p ON _row = p.at",
    )
    assert direct == [(True,)]


def test_sources_have_samples_in_equal_parts_and_in_proportion(tmp_path: Path) -> None:
    large, small = tmp_path / "large.jsonl", tmp_path / "small.jsonl"
    write_lines(large, [{"text": page(at % 30)} for at in range(3000)])
    write_lines(small, [{"text": page(30 + at % 10)} for at in range(40)])
    run = refinery.run(settings(tmp_path, ["document_deduplicator"], dataset_path=[str(large), str(small)], audit=100))
    drawn = dict(rows(run, "SELECT parse_filename(source), count(*) FROM audit GROUP BY ALL"))
    assert drawn == {"large.jsonl": 25 + 50, "small.jsonl": 25}
    weights = dict(rows(run, "SELECT parse_filename(source), sum(weight) FROM audit GROUP BY ALL"))
    assert weights == {"large.jsonl": pytest.approx(2970), "small.jsonl": pytest.approx(30)}
    [(n, removed, low, high)] = rows(
        run, "SELECT n, removed, low, high FROM audit_summary WHERE source IS NULL AND threshold = 0.5"
    )
    assert (n, removed, high) == (100, 3000, 1.0) and 0.94 < low < 0.97  # as of fewer pairs: their weights differ


def test_the_shares_of_sources() -> None:
    assert share(10, 10, 1, 100) == 10 and share(1, 1_000_000, 20, 1000) == 25
    assert sum(share(count, 10_000, 2, 1000) for count in (9_000, 1_000)) == 1000


def test_many_sources_are_put_together(tmp_path: Path) -> None:
    for at in range(30):
        write_lines(tmp_path / "in" / f"{at:02}.jsonl", [{"text": "the same words in all of the files"}] * (at + 2))
    run = refinery.run(settings(tmp_path, ["document_deduplicator"], dataset_path=tmp_path / "in"))
    sources = [source for (source,) in rows(run, "SELECT DISTINCT source FROM audit")]
    assert len(sources) == 21 and "10 other files" in sources


def test_a_sample_does_not_depend_on_shards(tmp_path: Path) -> None:
    samples = [{"text": page(at % 20), "url": at % 20} for at in range(400)]
    step = {"key_deduplicator": {"key": "url"}}
    one = refine(tmp_path / "one", samples, [step], audit=40)
    several = refine(tmp_path / "several", samples, [step], audit=40, shard_size=9000, np=2)
    for table in ("audit", "hubs", "chains"):
        left = "* EXCLUDE (source)" if table == "audit" else "*"
        assert rows(one, f"SELECT {left} FROM {table}") == rows(several, f"SELECT {left} FROM {table}")
    assert rows(one, "SELECT count(DISTINCT _row) FROM audit") == [(40,)]


def test_texts_are_those_that_reached_the_step(tmp_path: Path) -> None:
    samples = [{"text": f"{page(at % 3)} http://x.org/{at}/{page(100 + at).replace(' ', '-')}"} for at in range(9)]
    steps = ["clean_links_mapper", {"text_length_filter": {"min_len": 1}}, "document_deduplicator", minhash()]
    run = refine(tmp_path, samples, steps)
    assert rows(run, "SELECT step, count(*), min(jaccard) FROM audit GROUP BY step") == [(3, 6, 1.0)]


def test_semantic_duplicates_have_cosines(tmp_path: Path) -> None:
    samples = [{"text": page(at), "embedding": [1.0, at / 100]} for at in range(10)]
    run = refine(tmp_path, samples, [{"semantic_deduplicator": {"cosine_threshold": 0.9}}])
    found = rows(run, "SELECT measure, threshold, share FROM audit_summary WHERE source IS NULL ORDER BY ALL")
    assert found == [("cosine", 0.9, 1.0), ("jaccard", 0.5, 0.0), ("jaccard", 0.8, 0.0)]
    assert not any("removed samples are like" in text for text in run.warnings)


def test_switched_off(tmp_path: Path) -> None:
    run = refine(tmp_path, [{"text": "a b c"}] * 9, ["document_deduplicator"], audit=0)
    for table in ("audit", "hubs", "chains", "audit_summary"):
        assert rows(run, f"FROM {table}") == []


@pytest.mark.parametrize(("copies", "audited"), [(2, False), (20, False), (40, True)])
def test_by_default_large_steps_are_audited_if_they_look_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int, audited: bool
) -> None:
    monkeypatch.setattr(record, "to_audit", partial(draw.to_audit, few=10))
    monkeypatch.setattr(draw, "_CONNECTED", 0.1)
    each = [{"text": page(at)} for at in range(100 - copies) for _ in range(1 + (at < copies))]
    run = refine(tmp_path / "removed", each, ["document_deduplicator"])
    assert bool(rows(run, "FROM audit")) == audited
    one = [{"text": page(at % (101 - copies) * (at > copies))} for at in range(100)]
    run = refine(tmp_path / "hub", one, ["document_deduplicator"])
    assert bool(rows(run, "FROM audit")) == (copies > 10)


def test_samples_of_an_index_are_left_out(tmp_path: Path) -> None:
    step = {"document_deduplicator": {"index": str(tmp_path / "seen")}}
    refine(tmp_path / "a", [{"text": page(at)} for at in range(5)], [step])
    run = refine(tmp_path / "b", [{"text": page(at)} for at in (0, 1, 7, 7)], [step])
    assert run.counts.kept == 1 and rows(run, "SELECT _row, kept FROM audit") == [(3, 2)]


LIMITS = [
    ({"key_deduplicator": {"key": "1", "max_cluster_size": 9}}, "one value of the key", "make the key more precise"),
    (minhash(max_removed_share=0.5), "texts shorter than window_size", "set short: compare, or hash: fast"),
    ({"document_simhash_deduplicator": {"max_cluster_size": 9}}, "texts shorter than", "set short: keep"),
]


@pytest.mark.parametrize(("step", "reason", "cure"), LIMITS)
def test_a_broken_limit_names_the_reason(tmp_path: Path, step: dict[str, Any], reason: str, cure: str) -> None:
    samples = [{"text": f"{NOTICE[:12]} {at}"} for at in range(50)]
    with pytest.raises(OperatorError) as caught:
        refine(tmp_path, samples, [step])
    said = str(caught.value)
    assert "One sample connects 49 others" in said and reason in said and cure in said and "This page us 0" in said
    assert "The median jaccard of 21 of them is 0.00." in said
    assert not (tmp_path / "run" / "refinery.duckdb").exists()
    [(name, params)] = step.items()
    run = refine(tmp_path, samples, [{name: params | {"on_excess": "warn"}}])
    assert any("One sample connects 49 others" in text and reason in text for text in run.warnings)


def test_a_broken_limit_of_true_copies_says_so(tmp_path: Path) -> None:
    step = {"document_deduplicator": {"max_cluster_size": 9}}
    with pytest.raises(OperatorError, match=r"connects 29 others \(texts that are alike\).* is 1\.00\. Set on_excess"):
        refine(tmp_path, [{"text": page(1)}] * 30, ["fix_unicode_mapper", step])
