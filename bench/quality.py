"""Measure the quality of near-duplicate detection by the operators, on pairs of known similarity.

    python -m bench.quality            print the tables
    python -m bench.quality --write    put them into docs/near-duplicates.md, and the plot beside it (needs matplotlib)

Every pair of texts is drawn independently (see `duplicates`). One run of refinery deduplicates all pairs at once; its
tables `duplicates` and `clusters` have the pairs that it found, which are compared with theory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import refinery
from bench.duplicates import Pair, Shingles, all_pairs, family, pairs, simhash
from bench.markdown import table, written
from bench.prose import Dice

PAGE = Path(__file__).resolve().parent.parent / "docs" / "near-duplicates.md"
PLOT = PAGE.with_name("deduplication.svg")

SIMILARITIES = tuple(round(0.05 * step, 2) for step in range(6, 21))
LENGTHS = (30, 100, 1000)
PAIRS = 80  # of every similarity and length
SPACED = ("en", "de", "ru", "ar", "hi")
WRITTEN_TOGETHER = ("zh", "ja")
PERMUTATIONS = 256
LAYOUTS = ((25, 10), (14, 8), (42, 6), (9, 13))
EVERYTHING = (128, 2)  # a layout that finds nearly all pairs of a similarity of 0.3 or more

MINHASH, SIMHASH = "document_minhash_deduplicator", "document_simhash_deduplicator"
SIMHASH_BITS, SIMHASH_DISTANCE, SIMHASH_SHINGLES = 64, 4, Shingles("space", 6)
KINDS = (
    *(Shingles(tokenization, window) for tokenization in ("space", "word") for window in (1, 3, 5, 8)),
    *(Shingles("character", window) for window in (3, 5, 8)),
)
FAMILIES, COPIES = 60, (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)


# Theory


def banding(similarity: np.ndarray, bands: int, rows: int) -> np.ndarray:
    """Probability that pairs of these similarities share all minima of a band."""
    return 1 - (1 - np.asarray(similarity) ** rows) ** bands


def near(similarity: np.ndarray, distance: int = SIMHASH_DISTANCE) -> np.ndarray:
    """Probability that SimHashes of a pair differ in at most `distance` bits, for many, equally many shingles.

    A bit differs with probability angle / pi (Charikar 2002); the cosine of two sets of equal size is 2 s / (1 + s).
    """
    p = np.arccos(np.clip(2 * np.asarray(similarity) / (1 + np.asarray(similarity)), 0, 1)) / np.pi
    return sum(comb(SIMHASH_BITS, k) * p**k * (1 - p) ** (SIMHASH_BITS - k) for k in range(distance + 1))


def surprise(found: int, chances: np.ndarray) -> float:
    """Probability that independent trials with these chances have successes as far from their mean as `found`.

    Exact and two-sided (twice the smaller tail), so also valid for chances near 0 and 1.
    """
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, (1 - chance, chance))
    return min(1.0, 2 * min(distribution[: found + 1].sum(), distribution[found:].sum()))


def sigmas(found: int, chances: np.ndarray) -> float:
    """Deviation of `found` from its mean in standard deviations; 0 where chances are all 0 or 1."""
    deviation = float(np.sqrt((chances * (1 - chances)).sum()))
    return (found - float(chances.sum())) / deviation if deviation > 1e-6 else 0.0


# Measuring


@dataclass(frozen=True)
class Found:
    """Result of a run over pairs: found pairs, their estimated similarity (NaN for none), clusters of several pairs."""

    pairs: np.ndarray
    estimates: np.ndarray
    strangers: int


def run(texts: Sequence[str], operator: str, params: Mapping[str, Any], queries: Sequence[str]) -> list[list[Any]]:
    """Deduplicate texts, and query the run's tables."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = {"export_path": f"{folder}/kept.jsonl", "np": 2, "process": [{operator: dict(params)}]}
        done = refinery.run(recipe, dataset=pa.table({"text": list(texts)}))
        return [done.sql(query).fetchall() for query in queries]


def found_pairs(given: Sequence[Pair], operator: str, params: Mapping[str, Any]) -> Found:
    """Find the pairs that one run puts into one cluster. `strangers`: clusters with texts of several pairs."""
    texts = [text for pair in given for text in pair[:2]]
    queries = ("SELECT cluster, _row FROM clusters", "SELECT _row, kept, estimated_jaccard FROM duplicates")
    members, matches = run(texts, operator, params, queries)
    clusters: dict[int, list[int]] = defaultdict(list)
    for cluster, row in members:
        clusters[cluster].append(row)
    found, estimates = np.zeros(len(given), np.bool_), np.full(len(given), np.nan)
    strangers = 0
    for rows in clusters.values():
        numbers = [row // 2 for row in rows]
        found[[number for number in numbers if numbers.count(number) == 2]] = True
        strangers += len(set(numbers)) > 1
    for row, kept, estimate in matches:
        if estimate is not None and row // 2 == kept // 2:
            estimates[row // 2] = estimate
    return Found(found, estimates, strangers)


def minhash(shingles: Shingles, layout: tuple[int, int], **more: Any) -> dict[str, Any]:
    """Parameters of the operator."""
    bands, rows = layout
    return {
        "tokenization": shingles.tokenization,
        "window_size": shingles.window,
        "num_permutations": PERMUTATIONS,
        "num_bands": bands,
        "num_rows_per_band": rows,
        **more,
    }


def sample(
    shingles: Shingles, similarities: Iterable[float], lengths: Iterable[int], count: int, seed: str
) -> list[Pair]:
    """`count` pairs of every similarity and length, in the languages that suit the shingles."""
    languages = WRITTEN_TOGETHER if shingles.tokenization == "character" else SPACED
    return [
        pair
        for length in lengths
        for similarity in similarities
        for pair in pairs(shingles, similarity, count, length, languages, seed)
    ]


def buckets(given: Sequence[Pair]) -> dict[float, np.ndarray]:
    """Indices of the pairs around each similarity."""
    of = np.round(np.array([pair.jaccard for pair in given]) * 20) / 20
    return {float(similarity): np.flatnonzero(of == similarity) for similarity in np.unique(of)}


# Tables


def recall(given: Sequence[Pair], shingles: Shingles) -> tuple[dict[str, dict[float, float]], list[str]]:
    """Share of pairs found by similarity, for each layout; and the table with theory beside it."""
    settings = {f"{bands} × {rows}": minhash(shingles, (bands, rows)) for bands, rows in LAYOUTS}
    first = next(iter(settings))
    settings[f"{first}, `hash: fast`"] = settings[first] | {"hash": "fast"}
    true = np.array([pair.jaccard for pair in given])
    cells: dict[str, dict[float, str]] = defaultdict(dict)
    shares: dict[str, dict[float, float]] = defaultdict(dict)
    least, strangers = 1.0, 0
    for name, params in settings.items():
        found = found_pairs(given, MINHASH, params)
        strangers += found.strangers
        chances = banding(true, params["num_bands"], params["num_rows_per_band"])
        for similarity, of in buckets(given).items():
            count = int(found.pairs[of].sum())
            shares[name][similarity] = count / len(of)
            cells[name][similarity] = f"{percent(count / len(of))} ({percent(chances[of].mean())})"
            least = min(least, surprise(count, chances[of]))
    rows = [
        [f"{similarity:.2f}", f"{len(of)}", *(cells[name][similarity] for name in settings)]
        for similarity, of in buckets(given).items()
    ]
    number = len(rows) * len(settings)
    note = (
        f"The least likely of these {number} cells has a probability of {least:.2g} (exact, two-sided); {number} cells "
        f"have at most {number * least:.1f} such on average. Clusters of texts of different pairs: {strangers}."
    )
    return shares, [*table(["similarity", "pairs", *settings], rows), "", note]


def kinds(count: int) -> list[str]:
    """Pairs found (expected; deviation in sigmas) by kind of shingles and length, in the default layout."""
    layout, rows = LAYOUTS[0], []
    similarities = [similarity for similarity in SIMILARITIES if 0.5 <= similarity <= 0.95]
    for shingles in KINDS:
        row = [str(shingles)]
        for length in LENGTHS:
            given = sample(shingles, similarities, [length], count, "kinds")
            found = found_pairs(given, MINHASH, minhash(shingles, layout))
            chances = banding(np.array([pair.jaccard for pair in given]), *layout)
            hits = int(found.pairs.sum())
            row.append(f"{hits} ({chances.sum():.1f}; {sigmas(hits, chances):+.1f} σ)")
        rows.append(row)
    return table(["tokenization, window", *(f"{length} tokens" for length in LENGTHS)], rows)


def estimator(given: Sequence[Pair], shingles: Shingles) -> tuple[list[tuple[float, float, float]], list[str]]:
    """Errors of the estimated similarity beside the sampling error; and their table."""
    found = found_pairs(given, MINHASH, minhash(shingles, EVERYTHING))
    true = np.array([pair.jaccard for pair in given])
    points: list[tuple[float, float, float]] = []
    rows = []
    for similarity, of in buckets(given).items():
        known = of[~np.isnan(found.estimates[of])]
        errors = found.estimates[known] - true[known]
        spread, theory = (
            float(np.sqrt((errors**2).mean())),
            float(np.sqrt((true[known] * (1 - true[known])).mean() / PERMUTATIONS)),
        )
        points.append((similarity, spread, theory))
        if round(similarity * 20) % 2:
            continue  # the plot has them all
        off = errors.mean() / (theory / np.sqrt(len(known))) if theory else 0.0
        rows.append(
            [
                f"{similarity:.2f}",
                str(len(known)),
                f"{errors.mean():+.4f} ({off:+.1f} σ)",
                f"{spread:.4f}",
                f"{theory:.4f}",
            ]
        )
    return points, table(["similarity", "pairs", "mean error", "spread (RMS)", "√(s(1−s)/256)"], rows)


def precision(shingles: Shingles) -> list[str]:
    """Share of links and of pairs within clusters that reach the threshold, by the exact similarity of all pairs."""
    dice = Dice("precision")
    texts = [
        text
        for number in range(FAMILIES)
        for text in family(dice, shingles, COPIES, dice.between(60, 300), SPACED[number % len(SPACED)])
    ]
    exact = all_pairs(texts, shingles)
    rows = []
    for layout, threshold in zip(LAYOUTS, (0.7, 0.7, 0.5, 0.8), strict=True):
        alike = {pair for pair, similarity in exact.items() if similarity >= threshold}
        for verify in (False, True):
            linked, together = links(texts, minhash(shingles, layout, verify=verify, jaccard_threshold=threshold))
            rows.append(
                [
                    f"{layout[0]} × {layout[1]}", f"{threshold}", "yes" if verify else "no",
                    *_ratio(linked & alike, linked), *_ratio(together & alike, together), _ratio(together & alike, alike)[0],
                ]
            )  # fmt: skip
    head = [
        "bands × rows",
        "threshold",
        "`verify`",
        "links above it",
        "",
        "pairs in clusters above it",
        "",
        "found of all pairs above it",
    ]
    note = f"{len(texts)} texts, {len(exact):,} pairs."
    return [*table(head, rows), "", note]


def links(texts: Sequence[str], params: Mapping[str, Any]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Matched pairs of samples, and all pairs of samples in one cluster."""
    queries = ("SELECT via, _row FROM duplicates", "SELECT list(_row ORDER BY _row) FROM clusters GROUP BY cluster")
    matches, clusters = run(texts, MINHASH, params, queries)
    together = {pair for (rows,) in clusters for pair in combinations(rows, 2)}
    return {(min(pair), max(pair)) for pair in matches}, together


def _ratio(part: set[Any], whole: set[Any]) -> tuple[str, str]:
    return f"{percent(len(part) / max(len(whole), 1))}", f"{len(part)} of {len(whole)}"


def by_distance(given: Sequence[Pair]) -> tuple[dict[str, dict[float, float]], list[str]]:
    """SimHash: share of pairs found by Hamming distance, and by similarity and length."""
    found = found_pairs(given, SIMHASH, {"window_size": SIMHASH_SHINGLES.window, "hamming_distance": SIMHASH_DISTANCE})
    distances = np.array(
        [(simhash(a, SIMHASH_SHINGLES) ^ simhash(b, SIMHASH_SHINGLES)).bit_count() for a, b, _ in given]
    )
    shown = [*range(9), None]
    head = ["Hamming distance", *("more" if d is None else str(d) for d in shown)]
    of = [np.flatnonzero(distances > 8 if d is None else distances == d) for d in shown]
    first = table(
        head,
        [
            ["pairs", *(str(len(pairs)) for pairs in of)],
            ["found", *(percent(found.pairs[p].mean()) if len(p) else "" for p in of)],
        ],
    )
    lengths = np.repeat(LENGTHS, len(given) // len(LENGTHS))
    shares: dict[str, dict[float, float]] = defaultdict(dict)
    rows = []
    for similarity, at in buckets(given).items():
        row = [f"{similarity:.2f}"]
        for length in LENGTHS:
            some = at[lengths[at] == length]
            shares[f"{length} tokens"][similarity] = float(found.pairs[some].mean())
            row.append(percent(found.pairs[some].mean()))
        expected = near(np.array([given[i].jaccard for i in at]))
        rows.append([*row, percent(expected.mean())])
    second = table(["similarity", *(f"{length} tokens" for length in LENGTHS), "theory, many shingles"], rows)
    return shares, [*first, "", *second]


# Writing


def percent(share: float) -> str:
    """A share in per cent, with two digits near 0 and 100."""
    value = 100 * float(share)
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    return f"{value:.2f} %" if value < 0.995 or value > 99.0 else f"{value:.1f} %"


def measured() -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Points of the plot, and the lines of every table."""
    shingles = Shingles("space", 5)
    given = sample(shingles, SIMILARITIES, LENGTHS, PAIRS, "recall")
    shares, recall_table = recall(given, shingles)
    errors, error_table = estimator(given, shingles)
    alike = [similarity for similarity in SIMILARITIES if similarity >= 0.5]
    simhashes, simhash_table = by_distance(sample(SIMHASH_SHINGLES, alike, LENGTHS, PAIRS, "simhash"))
    tables = {
        "recall": recall_table,
        "kinds": kinds(20),
        "estimator": error_table,
        "precision": precision(shingles),
        "simhash": simhash_table,
    }
    return {"recall": shares, "errors": errors, "simhash": simhashes}, tables


def plot(points: Mapping[str, Any], path: Path) -> None:
    """Draw recall, the estimator's error and SimHash: theory as lines, measurements as dots."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "quality", "font.size": 9, "font.family": "sans-serif"}
    )
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    s = np.linspace(0, 1, 101)
    for number, (bands, rows) in enumerate(LAYOUTS):
        name = f"{bands} × {rows}"
        left.plot(s, banding(s, bands, rows), color=f"C{number}", linewidth=1)
        _dots(left, points["recall"][name], f"C{number}", name)
    left.set(title="MinHash: share of pairs found", xlabel="Jaccard similarity", xlim=(0.25, 1.02))
    left.legend(title="bands × rows", frameon=False)
    middle.plot(s, np.sqrt(s * (1 - s) / PERMUTATIONS), color="C0", linewidth=1, label="√(s(1−s)/256)")
    _dots(middle, {similarity: error for similarity, error, _ in points["errors"]}, "C0", "measured")
    middle.set(
        title="MinHash: error of the estimate (RMS)", xlabel="Jaccard similarity", xlim=(0.25, 1.02), ylim=(0, None)
    )
    middle.legend(frameon=False)
    right.plot(s, near(s), color="0.3", linewidth=1, label="many shingles")
    for number, (name, shares) in enumerate(points["simhash"].items()):
        _dots(right, shares, f"C{number}", name)
    right.set(title="SimHash, at most 4 bits: share of pairs found", xlabel="Jaccard similarity", xlim=(0.45, 1.02))
    right.legend(frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _dots(axes: Any, values: Mapping[float, float], color: str, label: str) -> None:
    axes.plot(list(values), list(values.values()), linestyle="", marker="o", markersize=3.5, color=color, label=label)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how well near-duplicates are found.")
    parser.add_argument("--write", action="store_true", help="rewrite the tables and the plot in docs/")
    arguments = parser.parse_args()
    points, tables = measured()
    for lines in _printed(tables):
        print(lines)
    if arguments.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), tables), "utf-8")
        plot(points, PLOT)
        print(f"{PLOT.name}: {PLOT.stat().st_size:,} bytes")
    return 0


def _printed(tables: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, lines in tables.items():
        yield f"\n{name}\n"
        yield from lines


if __name__ == "__main__":
    sys.exit(main())
