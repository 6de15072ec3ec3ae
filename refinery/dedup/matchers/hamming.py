"""Matcher `hamming`: samples whose SimHash differs in few bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from refinery import kernels
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.matchers.equal import equal_pairs
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
from refinery.dedup.matchers.shingles import shared_by

if TYPE_CHECKING:
    import numpy as np

_FIRSTS = "SELECT simhash, min(_row) AS _row FROM marks WHERE simhash IS NOT NULL GROUP BY simhash ORDER BY simhash"


class HammingMatcher(SampleDefaults):
    """Samples match when their SimHash values differ in at most `hamming_distance` bits."""

    columns: tuple[MatchColumn, ...] = (MatchColumn("simhash", number=True),)
    only_compares: frozenset[str] = frozenset({"hamming_distance", "num_blocks"})
    measured: tuple[str, str] | None = ("hamming_distance", "hamming_distance")
    direct: str = "distance"
    match: MatchSql = MatchSql("'distance ' || found.how", distance="found.how", joined=False)

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        distance = params["hamming_distance"]
        return [f"SimHash values of 64 bits; samples whose values differ in at most {distance} bits are duplicates"]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The query with which a run finds equal values."""
        return [SetQuery("same_key", "for equal values; a kernel finds the near ones")]

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Samples with equal values first, then those of distinct values that are near."""
        yield from equal_pairs(keys, "simhash", 0)
        table = keys.con.sql(_FIRSTS).to_arrow_table()
        values, rows = (kernels.core.arrow.numbers(table[name]) for name in ("simhash", "_row"))
        yield _near(values, rows, int(params["num_blocks"]), int(params["hamming_distance"]))

    def key_of_short(self, params: Mapping[str, Any]) -> tuple[str, int] | None:
        """The value 0, unless such texts are no duplicates."""
        return None if params.get("short") == "keep" else ("simhash", 0)

    def mark_of_short(self, params: Mapping[str, Any]) -> tuple[str, Any] | None:
        """The value 0 of SimHash; with `short: keep` such texts have none."""
        return ("simhash", 0) if {"short", "window_size"} <= params.keys() else None

    def script(self, params: Mapping[str, Any]) -> MatchScript:
        """Statements of the script that find pairs."""
        values = {
            "same_key": SetQuery("same_key"),
            "blocks": int(params["num_blocks"]),
            "distance": int(params["hamming_distance"]),
        }
        return MatchScript(SetQuery("pairs_of_distance", values=values), nearest="distance")

    def shown(self, values: Mapping[str, Any]) -> str | None:
        """The SimHash in 16 hexadecimal digits; None for a sample without one."""
        value = values.get("simhash")
        return None if value is None else f"{value:016x}"

    def shared(self, here: str, there: str, key: str | None, params: Mapping[str, Any]) -> SharedShingles | None:
        """Shingles that two texts share; None if the second one has fewer tokens than a shingle: its SimHash is 0."""
        return None if key is not None and not int(key, 16) else shared_by(here, there, params)


def _near(values: np.ndarray, rows: np.ndarray, blocks: int, distance: int) -> Pairs:
    """Pairs of near values. values: distinct and ascending. rows: the first sample of each."""
    import numpy as np

    from refinery.kernels.dedup.hamming import pairs

    a, b = pairs(values, blocks, distance)
    differing = (values[a] ^ values[b]).view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(differing, axis=1).sum(axis=1, dtype=np.int32)
    one, other = rows[a], rows[b]
    return Pairs(np.maximum(one, other), np.minimum(one, other), bits, np.full(len(a), np.nan))
