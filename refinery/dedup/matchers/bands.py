"""Matcher `bands`: samples that share a band of a MinHash signature, and on request are truly similar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refinery.dedup.matchers.candidates import CONTENT, ROUNDS
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.matchers.equal import equal_pairs, pairs_in_memory
from refinery.dedup.matchers.model import (
    KeyRelations,
    MatchColumn,
    MatchScript,
    MatchSql,
    Pairs,
    SetQuery,
    SharedShingles,
    ShingleComparison,
)
from refinery.dedup.matchers.params import SURVIVOR_PARAMS, VERIFY_PARAMS
from refinery.dedup.matchers.shingles import shared_by

_BANDS = MatchColumn("bands", form="columns", each="band", number=True)


class BandMatcher(SampleDefaults):
    """Samples match when they have an equal band at the same place."""

    columns: tuple[MatchColumn, ...] = (_BANDS, MatchColumn("signature", compared=False))
    only_compares: frozenset[str] = frozenset(VERIFY_PARAMS)
    measured: tuple[str, str] | None = ("jaccard_threshold", "estimated_jaccard")
    params: Mapping[str, dict[str, Any]] = VERIFY_PARAMS | SURVIVOR_PARAMS
    direct: str = "shared band"
    by_value: bool = True
    match: MatchSql = MatchSql("'band ' || found.how", estimate="estimate_jaccard(one.signature, other.signature)")

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        lines = _curve(params)
        if params.get("verify"):
            threshold = params["jaccard_threshold"]
            lines.append(f"pairs whose true Jaccard similarity is below {threshold:g} are dropped: verify")
        return lines

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The queries with which a run finds pairs."""
        if not params.get("verify"):
            return [SetQuery("same_key", "for each band")]
        return [
            SetQuery("buckets", "once, here for the first band; the others are alike", {"bands": [0]}),
            SetQuery("representatives", "in rounds, until all pairs are answered; a kernel compares them"),
            SetQuery("still_open", "after each round"),
        ]

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Samples that share a band, band by band; with `verify` these are candidates, see `dedup.verification`."""
        return _equal(keys, [name for name, _ in _columns(keys.columns)])

    def equal_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """The columns of bands, which machines of a cluster can join; None if candidates are verified."""
        return None if params.get("verify") else _columns(names)

    def candidate_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """The columns of bands."""
        return _columns(names)

    def key_of_short(self, params: Mapping[str, Any]) -> tuple[str, int] | None:
        """The first band of Data-Juicer's signature of no shingle: all its minima are the largest number."""
        if treatment_of_short(params) != "data_juicer" or params.get("verify"):
            return None
        import numpy as np

        from refinery.kernels.dedup.minhash_bands import band_keys

        bands, rows = bands_and_rows(params)
        return "band_0", int(band_keys(np.full((1, bands * rows), 2**32 - 1, np.uint32), bands, rows)[0, 0])

    def mark_of_short(self, params: Mapping[str, Any]) -> tuple[str, Any] | None:
        """The column `short` of MinHash."""
        return ("short", True) if {"short", "window_size"} <= params.keys() else None

    def script(self, params: Mapping[str, Any]) -> MatchScript:
        """Statements of the script that find pairs."""
        values = {"threshold": float(params.get("jaccard_threshold") or 0), "rounds": ROUNDS, "content": CONTENT}
        compared = SetQuery("pairs_verified", values=values)
        return MatchScript(SetQuery("pairs_of_bands"), (SetQuery("buckets"),), compared, "band")

    def shared(self, here: str, there: str, key: str | None, params: Mapping[str, Any]) -> SharedShingles | None:
        """Shingles that two texts share."""
        return shared_by(here, there, params)


def _columns(names: Sequence[str]) -> list[tuple[str, int]]:
    """Columns of bands among those of stored match keys, with the number of each band."""
    return [(f"band_{band}", band) for band in range(sum(map(_BANDS.holds, names)))]


def _equal(keys: KeyRelations, bands: Sequence[str]) -> Iterator[Pairs]:
    """Samples that share a band: one column is read at a time, or all at once if they are in memory."""
    if not keys.small:
        for band, name in enumerate(bands):
            yield from equal_pairs(keys, name, band)
        return
    yield from pairs_in_memory(keys, bands)


def treatment_of_short(params: Mapping[str, Any]) -> str:
    """Treatment of texts with fewer tokens than the window, for the parameters of MinHash."""
    usual = {"data_juicer": "data_juicer", "datatrove": "keep"}
    return str(params.get("short") or usual.get(str(params.get("hash")), "compare"))


def bands_and_rows(params: Mapping[str, Any]) -> tuple[int, int]:
    """Number of bands of a signature and of minima in each band, for the parameters of a deduplicator."""
    if params.get("num_buckets") or params.get("hashes_per_bucket"):
        return params.get("num_buckets") or 14, params.get("hashes_per_bucket") or 8
    if params.get("bands") and params.get("rows"):
        return params["bands"], params["rows"]
    if params.get("num_bands") and params.get("num_rows_per_band"):
        return params["num_bands"], params["num_rows_per_band"]
    from refinery.kernels.dedup.minhash_bands import optimum

    return optimum(float(params["jaccard_threshold"]), int(params["num_permutations"]))


def _curve(params: Mapping[str, Any]) -> list[str]:
    """Probability that a pair becomes a candidate, by its similarity."""
    if "num_permutations" not in params:
        return ["bands of a signature; samples with an equal band are candidates"]
    bands, rows = bands_and_rows(params)
    threshold = float(params["jaccard_threshold"])
    at = sorted({round(threshold, 4), *(x / 10 for x in range(3, 10, 2))})
    curve = ", ".join(f"{s:g}: {1 - (1 - s**rows) ** bands:.3g}" for s in at)
    chance = 1 - (1 - threshold**rows) ** bands
    return [
        f"{bands} bands x {rows} rows of a MinHash signature; samples with an equal band are candidates",
        f"at jaccard_threshold {threshold:g} a pair is one with probability 1 - (1 - s^{rows})^{bands} = {chance:.3g} ({curve})",
    ]
