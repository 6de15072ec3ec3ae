"""Options that deduplicators share: which sample stays, verified pairs, safety rails, traces."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.api import Run
from refinery.cli import main
from refinery.errors import OperatorError, RecipeError
from refinery.operators import Library
from tests.runs import exported, lines_of, refine, rows, settings, texts, write_lines

# keep

GROUP: list[dict[str, Any]] = [
    {"text": "bb", "n": 2, "score": None, "meta": {"lang": "en"}},
    {"text": "a", "n": None, "score": 0.5, "meta": {"lang": "de"}},
    {"text": "ccc", "n": 2, "score": -1.5, "meta": {"lang": "de"}},
    {"text": "ddd", "n": 1, "score": 0.5, "meta": {"lang": "en"}},
]
KEEP = {
    "first": 0,
    "n": 3,
    "n desc": 0,  # the first of two
    "n desc nulls first": 1,
    "n desc, _row desc": 2,
    "score": 2,
    "-score nulls last": 1,
    "score desc nulls first": 0,
    "length(text) desc, score DESC": 3,
    "text_len, n": 1,
    "n IS NULL desc": 1,
    "meta ->> 'lang', text desc": 2,
    "CASE WHEN text = 'ddd' THEN 0 ELSE 1 END": 3,
    "7": 0,
}


MOST = ("n desc nulls first", "n desc, _row desc", "length(text) desc, score DESC", "text_len, n")
orders = [
    pytest.param(tuple(order for order in KEEP if (order in MOST) is most), id=name, marks=marks)
    for name, most, marks in (("some", True, ()), ("others", False, pytest.mark.long))
]


@pytest.mark.parametrize("orders", orders)
def test_the_order_says_which_sample_stays(tmp_path: Path, orders: tuple[str, ...]) -> None:
    """One run in which each step looks at a group of its own."""
    samples = [dict(sample, g=g) for g in range(len(orders)) for sample in GROUP]
    steps: list[Any] = [{"text_length_filter": {"min_len": 1}}]
    for g, keep in enumerate(orders):
        steps.append({"key_deduplicator": {"key": f"CASE WHEN g = {g} THEN 'one' END", "keep": keep}})
    run = refine(tmp_path, samples, steps, np=2, shard_size=1500)
    for g, keep in enumerate(orders):
        check_order(run, g, keep)


def check_order(kept: Run, g: int, keep: str) -> None:
    assert [row["text"] for row in exported(kept) if row["g"] == g] == [GROUP[KEEP[keep]]["text"]]
    survivor = g * len(GROUP) + KEEP[keep]
    others = [row for row in range(g * len(GROUP), (g + 1) * len(GROUP)) if row != survivor]
    found = rows(kept, "duplicates", "_row, kept, matched", f"step = {g + 2}")
    assert found == [(row, survivor, "one") for row in others]
    # Each removed sample names one of its cluster that it was matched with: the first, or the first's next.
    via = [row for (row,) in rows(kept, "duplicates", "via", f"step = {g + 2}")]
    first = g * len(GROUP)
    assert via == [first if row != first else first + 1 for row in others]
    assert rows(kept, "clusters", "_row", f"step = {g + 2} AND survivor") == [(survivor,)]


def test_wrong_orders_are_mistakes_of_the_recipe(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", GROUP)
    orders = ["no_such_column desc", "nofunction(text)", "n desc desc", "n; DROP TABLE x", "rank() OVER ()", "random()"]
    orders += ["text COLLATE NOCASE desc"]
    lines = [f"dataset_path: {tmp_path / 'in.jsonl'}", f"export_path: {tmp_path / 'run' / 'out.jsonl'}", "process:"]
    lines += [f"  - key_deduplicator: {{key: text, keep: {json.dumps(order)}}}" for order in orders]
    path = tmp_path / "recipe.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        refinery.run(path)
    places = {problem.where.rpartition(":")[2] for problem in caught.value.problems}
    assert places == {str(line) for line in range(4, 4 + len(orders))}
    assert all(problem.where.startswith(f"{path}:") for problem in caught.value.problems)
    assert not (tmp_path / "run").exists()


def test_values_that_cannot_be_stored_are_mistakes_of_the_recipe(tmp_path: Path) -> None:
    days, either = "INTERVAL (n) DAY", "[union_value(a := n)]"
    for params, kind in (({"key": days}, "INTERVAL"), ({"key": "text", "keep": either}, "UNION")):
        with pytest.raises(
            RecipeError, match=f"step 1: key_deduplicator: values of type {kind} cannot be compared; CAST"
        ):
            refine(tmp_path, GROUP, [{"key_deduplicator": params}])
    run = refine(tmp_path, GROUP, [{"key_deduplicator": {"key": f"CAST({days} AS VARCHAR)"}}])
    assert [row["text"] for row in exported(run)] == ["bb", "a", "ddd"]


# verify


def shingles(text: str, window: int) -> set[tuple[str, ...]]:
    words = text.lower().split(" ")
    return {tuple(words[at : at + window]) for at in range(max(1, len(words) - window + 1))}


def jaccard(a: str, b: str, window: int) -> float:
    one, other = shingles(a, window), shingles(b, window)
    return len(one & other) / len(one | other)


def edited(dice: random.Random, words: list[str], share: float) -> list[str]:
    """A copy with that share of its words replaced."""
    copy = list(words)
    for at in dice.sample(range(len(words)), int(len(words) * share)):
        copy[at] = f"e{dice.randrange(10**6)}"
    return copy


def families() -> list[str]:
    """Groups of a text with copies that are far from it, and copies of those copies that are near."""
    dice = random.Random(3)
    found = []
    for _ in range(7):
        first = [f"w{dice.randrange(10**6)}" for _ in range(60)]
        far = edited(dice, first, 0.35)
        found += [first, far, *(edited(dice, far, 0.04) for _ in range(3)), edited(dice, first, 0.04)]
    return [" ".join(words) for words in found]


FAMILIES = families()
# Bands of one minimum: whatever shares a fifth of its shingles is a candidate.
MINHASH = {"window_size": 2, "num_permutations": 48, "num_bands": 48, "num_rows_per_band": 1, "jaccard_threshold": 0.7}


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Without and with verify."""
    plain = refine(tmp_path_factory.mktemp("v"), texts(FAMILIES), [{"document_minhash_deduplicator": MINHASH}])
    steps: list[Any] = [
        {"text_length_filter": {"min_len": 1}},
        {"sql_mapper": {"text": "upper(text)"}},
        {"document_minhash_deduplicator": {**MINHASH, "verify": True}},
    ]
    return plain, refine(tmp_path_factory.mktemp("v"), texts(FAMILIES), steps, np=2, shard_size=9000)


def test_false_candidates_stay(verified: tuple[Run, Run]) -> None:
    plain, checked = verified
    assert [row["id"] for row in exported(plain)] == list(
        range(0, len(FAMILIES), 6)
    )  # the whole family was one cluster
    # Now the far copy, which is the first of its kind, stays as well; it is not the first of its buckets.
    assert [row["id"] for row in exported(checked)] == [row for k in range(0, len(FAMILIES), 6) for row in (k, k + 1)]
    assert {size for (size,) in rows(checked, "clusters", "size")} == {2, 4}


def test_verified_pairs_are_the_same_however_it_is_cut(verified: tuple[Run, Run], tmp_path: Path) -> None:
    step = {"document_minhash_deduplicator": {**MINHASH, "verify": True}}
    run = refine(tmp_path, texts([text.upper() for text in FAMILIES]), [step], shard_size=2500, np=2)
    for table, columns in (
        ("duplicates", "_row, kept, via, matched, jaccard"),
        ("clusters", "_row, survivor, cluster"),
    ):
        assert rows(run, table, columns) == rows(verified[1], table, columns)


def test_verified_clusters_do_not_depend_on_the_order_of_samples(tmp_path: Path) -> None:
    """Each text is like its neighbours and unlike the others; some buckets hold many of them."""
    dice, found = random.Random(5), []
    words = [" ".join(f"w{k}" for k in range(start, start + 20)) for start in range(0, 100, 2)]
    few = {"window_size": 1, "num_permutations": 4, "num_bands": 4, "num_rows_per_band": 1, "jaccard_threshold": 0.8}
    step = {"document_minhash_deduplicator": {**few, "verify": True, "keep": "id"}}
    for attempt in range(2):
        run = refine(tmp_path, dice.sample(texts(words), len(words)), [step], np=1 + attempt % 2, shard_size=4000)
        found.append(sorted(row["id"] for row in exported(run)))
    assert found[0] == found[1] and 2 < len(found[0]) < 40


def test_the_true_similarity_stands_beside_the_estimate(verified: tuple[Run, Run]) -> None:
    plain, checked = verified
    assert rows(plain, "duplicates", "DISTINCT jaccard, estimated_jaccard IS NULL") == [(None, False)]
    found = rows(checked, "duplicates", "_row, via, jaccard, estimated_jaccard, matched")
    for row, via, true, estimated, matched in found:
        assert true == pytest.approx(jaccard(FAMILIES[row], FAMILIES[via], 2)) and true >= 0.7
        assert abs(true - estimated) < 0.35 and matched.startswith("band ")
    ledger = rows(checked, "ledger", "_row, statistic, value, bound")
    assert ledger == [(row, "estimated_jaccard", estimated, 0.7) for row, _, _, estimated, _ in found]


def test_what_was_not_compared_is_said(tmp_path: Path) -> None:
    """Samples that are all unlike, in one bucket: the word that decides is the one with the smallest hash."""
    functions = {f.name: f for f in Library().operators["document_minhash_deduplicator"].functions}
    words = [f"w{k}" for k in range(3000)]
    shingle = ("none", "space", True, None, None, 1)
    column, bands = pa.array([*words, " ".join(words)]), (1, 0.7, 1, 1)
    marks = functions["minhash_marks"].resolve()(column, *shingle, "fast", *bands, "compare")
    bands = [mark["bands"] for mark in marks.to_pylist()]
    least = words[bands.index(bands[-1])]
    samples = [
        f"{least} " + " ".join(words[9 * k : 9 * k + 9]) for k in range(12) if least not in words[9 * k : 9 * k + 9]
    ]
    bands_of_one = {"num_permutations": 1, "num_bands": 1, "num_rows_per_band": 1}
    one = {"window_size": 1, **bands_of_one, "hash": "fast", "verify": True}
    run = refine(tmp_path, texts([*samples, samples[5]]), [{"document_minhash_deduplicator": one}])
    assert [row["id"] for row in exported(run)] == list(range(len(samples)))
    assert [warning for warning in run.warnings if "verify has compared" in warning and "step 1" in warning]
    run = refine(tmp_path, texts([*samples[:7], samples[5]]), [{"document_minhash_deduplicator": one}])
    assert [row["id"] for row in exported(run)] == list(range(7)) and not any("verify" in w for w in run.warnings)


# Safety rails

ONE = {"a.jsonl": ["x", "y", "z", "u", "v", "w"], "b.jsonl": ["x", "y", "y"]}


def two_files(folder: Path, **params: Any) -> dict[str, Any]:
    """A recipe over two inputs, one of which is nothing but duplicates."""
    for name, values in ONE.items():
        write_lines(folder / name, texts(values))
    steps = [{"document_deduplicator": params}]
    return settings(folder, steps, dataset_path=[str(folder / name) for name in ONE], open_tracer=True, shard_size=60)


EXCESS: list[tuple[dict[str, Any], list[str]]] = [
    ({"max_cluster_size": 2}, ["found a cluster of 3 samples, more than max_cluster_size, which is 2"]),
    ({"max_removed_share": 0.3}, ["removes 3 of 9 (33.3%) of all samples", "removes 3 of 3 (100.0%) of {b}"]),
    ({"max_removed_share": 0.5}, ["removes 3 of 3 (100.0%) of {b}, more than max_removed_share, which is 0.5"]),
    ({"max_cluster_size": 1, "max_removed_share": 0.0}, ["a cluster of 3", "3 of 9", "3 of 3"]),
]


# The last one has the excesses of all.
excess = [
    pytest.param(*EXCESS[0], id="cluster", marks=pytest.mark.long),
    pytest.param(*EXCESS[1], id="share", marks=pytest.mark.long),
    pytest.param(*EXCESS[2], id="share of one input"),
    pytest.param(*EXCESS[3], id="all"),
]


@pytest.mark.parametrize(("params", "said"), excess)
def test_excess_fails_or_warns(tmp_path: Path, params: dict[str, Any], said: list[str]) -> None:
    said = [words.replace("{b}", str(tmp_path / "b.jsonl")) for words in said]
    with pytest.raises(OperatorError) as caught:
        refinery.run(two_files(tmp_path, **params))
    assert all(words in str(caught.value) for words in said) and "a.jsonl" not in str(caught.value)
    assert str(caught.value).startswith("recipe, step 1: document_deduplicator ") and "on_excess: warn" in str(
        caught.value
    )
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {".refinery"}, "no results, but what the same command goes on from"
    run = refinery.run(two_files(tmp_path, on_excess="warn", **params))
    [warning] = [" ".join(w for w in run.warnings if "step 1" in w)]
    assert all(words in warning for words in said) and run.counts.kept == 6


def test_excess_leaves_earlier_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    within = {"max_cluster_size": 3, "max_removed_share": 1.0}
    run = refinery.run(two_files(tmp_path, **within))
    assert run.counts.kept == 6 and not any("more than" in warning for warning in run.warnings)
    before = {path: path.read_bytes() for path in run.work_dir.iterdir() if path.is_file()}
    recipe = {**two_files(tmp_path), "process": [{"document_deduplicator": {"max_cluster_size": 2}}]}
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["refinery", "run", str(tmp_path / "recipe.yaml")])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == OperatorError.exit_code == 4
    assert f"refinery: {tmp_path / 'recipe.yaml'}:1: document_deduplicator found a cluster" in capsys.readouterr().err
    after = {
        path: path.read_bytes() for path in run.work_dir.iterdir() if path.name != "status.json" and path.is_file()
    }
    assert after == before


def test_text_files_of_a_folder_are_one_input(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for number in range(10):
        (tmp_path / "texts" / f"{number}.txt").write_text("the same" if number > 6 else f"text {number}")
    step = {"document_deduplicator": {"max_removed_share": 0.5}}
    assert refinery.run(settings(tmp_path, [step], dataset_path=tmp_path / "texts", shard_size=8)).counts.kept == 8


# Traces

PAIRS: list[dict[str, Any]] = [{"id": k, "text": f"text {k % 9}", "n": k % 4} for k in range(30)]


def pairs_steps() -> list[Any]:
    return [
        {"sql_mapper": {"text": "upper(text)"}},
        {"document_deduplicator": {"keep": "id desc"}},  # removes 0 to 20
        {"sql_mapper": {"text": "text || '!'"}},
        {"key_deduplicator": {"key": "n", "trace_samples": True}},  # of 21 to 29 leaves the first four
        {"document_deduplicator": {"ignore_non_character": True}},  # and then one
    ]


@pytest.mark.parametrize("number", [4, *(pytest.param(number, marks=pytest.mark.long) for number in (20, "all", 0))])
def test_traces_hold_pairs(tmp_path: Path, number: Any) -> None:
    keys = {"open_tracer": True, "trace_num": number, "shard_size": 300, "np": 2}
    run = refine(tmp_path, PAIRS, pairs_steps(), **keys)
    limit = 1000 if number == "all" else number
    folder = run.work_dir / "trace"
    assert sorted(path.name for path in folder.glob("duplicate-*")) == [
        "duplicate-document_deduplicator.jsonl",
        "duplicate-document_deduplicator_5.jsonl",
        "duplicate-key_deduplicator.jsonl",
    ]
    found = {path.stem.partition("-")[2]: lines_of(path) for path in folder.glob("duplicate-*")}
    text = [f"TEXT {k % 9}" for k in range(30)]
    assert found["document_deduplicator"] == [{"dup1": text[k], "dup2": text[k]} for k in range(21)][:limit]
    whole = [{"id": k, "text": f"{text[k]}!", "n": k % 4} for k in range(30)]
    expected = [{"dup1": whole[21 + (k - 21) % 4], "dup2": whole[k]} for k in range(25, 30)]
    assert found["key_deduplicator"] == expected[:limit]
    expected = [{"dup1": f"{text[21]}!", "dup2": f"{text[k]}!"} for k in (22, 23, 24)]
    assert found["document_deduplicator_5"] == expected[:limit]
    traced = rows(run, "trace", "step, kind, original_text, processed_text", "step = 4")
    both = [(f"{text[k]}!", f"{text[21 + (k - 21) % 4]}!") for k in range(25, 30)][:limit]
    assert traced == [(4, "deduplicator", *one) for one in both]


def test_only_the_operators_asked_for_are_traced(tmp_path: Path) -> None:
    keys = {"open_tracer": True, "op_list_to_trace": ["key_deduplicator"], "trace_num": 2}
    run = refine(tmp_path, PAIRS, pairs_steps(), **keys)
    assert [path.name for path in (run.work_dir / "trace").iterdir()] == ["duplicate-key_deduplicator.jsonl"]
    assert rows(run, "trace", "count(*), min(step), max(step)") == [(2, 4, 4)]
    again = refine(tmp_path, PAIRS, [{"document_deduplicator": None}], open_tracer=True)  # an old trace goes
    assert [path.name for path in (again.work_dir / "trace").iterdir()] == ["duplicate-document_deduplicator.jsonl"]
