"""Matcher `cosine`: samples whose embeddings point in nearly the same direction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from refinery import kernels
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.matchers.hyperplanes import recall
from refinery.dedup.matchers.model import (
    KeyRelations,
    MatchColumn,
    MatchScript,
    MatchSql,
    Pairs,
    SetQuery,
    ShingleComparison,
)
from refinery.errors import OperatorError

if TYPE_CHECKING:
    import numpy as np

_BANDS = MatchColumn("bands", form="columns", each="band", number=True)
# Cosines as whole numbers, in the column `how` of pairs: the least one explains a match.
STEPS = 1_000_000
# Cosines that one product of matrices computes; its error is far below the margin.
_AT_ONCE, _MARGIN = 1 << 22, 1e-3
# Members of a bucket from which products of matrices are worth their calls.
_FEW = 64
_BUCKETS = "SELECT {band} AS key, _row FROM compared QUALIFY count(*) OVER (PARTITION BY {band}) > 1 ORDER BY key, _row"
_VECTORS = "SELECT _row, embedding FROM marks ORDER BY _row"
_OF_MEMBERS = "SELECT _row, embedding FROM marks SEMI JOIN members USING (_row) ORDER BY _row"
_SCRIPT = f"""
CREATE OR REPLACE TEMP TABLE pairs AS
WITH banded AS (SELECT _row, unnest(bands) AS key, generate_subscripts(bands, 1) AS band FROM marks),
candidates AS (
  SELECT DISTINCT one._row, other._row AS via FROM banded AS one JOIN banded AS other USING (band, key)
  WHERE one._row > other._row
),
compared AS (
  SELECT
    candidates._row, via,
    list_cosine_similarity(CAST(one.embedding AS DOUBLE[]), CAST(other.embedding AS DOUBLE[])) AS cosine
  FROM candidates JOIN marks AS one ON one._row = candidates._row JOIN marks AS other ON other._row = via
)
SELECT _row, via, CAST(round((1 - cosine) * {STEPS}) AS INTEGER) AS how, CAST(NULL AS DOUBLE) AS jaccard
FROM compared WHERE cosine >= {{threshold}}
"""


class CosineMatcher(SampleDefaults):
    """Samples match when the cosine of their embeddings is at least `cosine_threshold`.

    Samples with an equal band are candidates, and every candidate is verified. Pairs that connect what other pairs of the band
    connect are left out. So the pairs of a group of equal values depend on no other group.
    """

    columns: tuple[MatchColumn, ...] = (_BANDS, MatchColumn("embedding", compared=False))
    only_compares: frozenset[str] = frozenset({"cosine_threshold"})
    direct: str = "angle"
    by_value: bool = True
    match: MatchSql = MatchSql(f"printf('cosine %.6f', 1 - found.how / {STEPS})", joined=False)

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        bands, bits, threshold = (params[name] for name in ("num_bands", "band_bits", "cosine_threshold"))
        at = sorted({float(threshold), 0.8, 0.9, 0.95, 0.99})
        curve = ", ".join(f"{cosine:g}: {recall(cosine, bands, bits):.3g}" for cosine in at)
        return [
            f"{bands} bands x {bits} random hyperplanes; samples with an equal band are candidates, by their cosine with "
            f"probability {curve}",
            f"candidates whose cosine is at least {threshold:g}, computed exactly, are duplicates",
        ]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The query with which a run finds the members of buckets."""
        return [
            SetQuery("buckets", "for each band; products of matrices compare them", text=_BUCKETS.format(band="band_0"))
        ]

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Verified pairs, as many as it takes to connect all that are alike."""
        import numpy as np

        rows, vectors = _vectors(keys, _VECTORS)
        if not len(rows):
            notes.append("no sample has an embedding")
            return
        keys.keep()
        search = _Search(rows, vectors, float(params["cosine_threshold"]))
        yield from search.copies()
        for name, _ in self.candidate_columns(keys.columns, params):
            values, members = _members(keys, name)
            yield from search.band(values, np.searchsorted(rows, members))

    def candidate_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]]:
        """The columns of bands."""
        return [(f"band_{band}", band) for band in range(sum(map(_BANDS.holds, names)))]

    def pairs_among(self, keys: KeyRelations, column: str, params: Mapping[str, Any]) -> Iterator[Pairs]:
        """Verified pairs of samples that are equal in a band; only the vectors of such samples are read."""
        import numpy as np
        import pyarrow as pa

        values, members = _members(keys, column)
        with keys.relation("members", pa.table({"_row": members})):
            rows, vectors = _vectors(keys, _OF_MEMBERS)
        if len(rows):
            search = _Search(rows, vectors, float(params["cosine_threshold"]))
            yield from search.copies()
            yield from search.band(values, np.searchsorted(rows, members))

    def kinds(self, keys: KeyRelations) -> list[Any]:
        """Lengths of the embeddings."""
        return [size for (size,) in keys.rows("SELECT DISTINCT len(embedding) FROM marks")]

    def require(self, kinds: Collection[Any]) -> None:
        """Check that all embeddings have one length."""
        _require_one(kinds)

    def script(self, params: Mapping[str, Any]) -> MatchScript:
        """Statements of the script that find pairs."""
        return MatchScript(
            SetQuery("pairs", text=_SCRIPT.format(threshold=float(params["cosine_threshold"]))), nearest="number"
        )


def _require_one(sizes: Collection[int]) -> None:
    """Raise OperatorError unless all embeddings have one length."""
    if len(sizes) > 1:
        numbers = " and ".join(map(str, sorted(sizes)[:3]))
        raise OperatorError(f"embeddings have {numbers} numbers; they must come from one model")


def _members(keys: KeyRelations, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of a band that several samples have, ascending, and these samples."""
    pairs = keys.con.sql(_BUCKETS.format(band=column)).to_arrow_table()
    values, members = (kernels.core.arrow.numbers(pairs[name]) for name in ("key", "_row"))
    return values, members


def _vectors(keys: KeyRelations, sql: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of samples, ascending, and their embeddings (float32). Raises OperatorError for unequal lengths."""
    import numpy as np

    rows, parts, sizes = [], [], set()
    for batch in keys.batches(sql):
        lists = batch.column("embedding")
        rows.append(kernels.core.arrow.numbers(batch.column("_row")).astype(np.int64))
        sizes |= set(lists.value_lengths().unique().to_pylist())
        parts.append(kernels.core.arrow.numbers(lists.flatten()).astype(np.float32))
    _require_one(sizes)
    if not rows:
        return np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
    return np.concatenate(rows), np.concatenate(parts).reshape(-1, *sizes)


class _Search:
    """Finds pairs among vectors. rows: numbers of the samples, ascending."""

    def __init__(self, rows: np.ndarray, vectors: np.ndarray, threshold: float) -> None:
        import numpy as np

        self._rows, self._vectors, self._threshold = rows, vectors, threshold
        self._squares = kernels.dedup.cosines.squares(vectors)
        self._units = (vectors / np.sqrt(self._squares)[:, None]).astype(np.float32)
        self._parents = np.arange(len(rows), dtype=np.int64)  # a forest of the samples that pairs of a band connect

    def copies(self) -> Iterator[Pairs]:
        """Samples with the same numbers as an earlier one; later on, the first of them stands for all."""
        import numpy as np

        whole = np.ascontiguousarray(self._vectors).view(
            np.dtype((np.void, self._vectors.itemsize * self._vectors.shape[1]))
        )
        _, firsts, inverse = np.unique(whole.reshape(-1), return_index=True, return_inverse=True)
        first = firsts[inverse]
        later = np.flatnonzero(first != np.arange(len(first)))
        self._first = first
        yield from self._joined(later, first[later], np.ones(len(later)))

    def band(self, values: np.ndarray, places: np.ndarray) -> Iterator[Pairs]:
        """Pairs among samples with equal values of a band. places: of samples, ascending within a value, which ascend too."""
        import numpy as np

        self._parents = np.arange(len(self._rows), dtype=np.int64)
        alone = self._first[places] == places
        values, places = values[alone], places[alone]
        if not len(values):
            return
        starts = np.flatnonzero(np.diff(values, prepend=values[:1] ^ values.dtype.type(1)))
        sizes = np.diff(starts, append=len(values))
        few = np.repeat(sizes <= _FEW, sizes)
        yield from self._neighbours(values[few], places[few])
        for start, size in zip(starts[sizes > _FEW].tolist(), sizes[sizes > _FEW].tolist(), strict=True):
            yield from self.bucket(places[start : start + size])

    def _neighbours(self, values: np.ndarray, places: np.ndarray) -> Iterator[Pairs]:
        """Pairs in small buckets, all buckets together: samples at most _FEW apart that have the same value."""

        for apart in range(1, _FEW):
            same = values[apart:] == values[:-apart]
            if not same.any():
                return
            later, earlier = places[apart:][same], places[:-apart][same]
            left = self._roots(later) != self._roots(earlier)
            yield from self._verified(later[left], earlier[left])

    def _verified(self, later: np.ndarray, earlier: np.ndarray) -> Iterator[Pairs]:
        cosines = kernels.dedup.cosines.cosines(self._vectors, self._squares, later, earlier)
        alike = cosines >= self._threshold
        yield from self._joined(later[alike], earlier[alike], cosines[alike])

    def bucket(self, members: np.ndarray) -> Iterator[Pairs]:
        """Pairs among the members of a bucket, which are places of different samples, ascending."""
        import numpy as np

        first, step = 0, 1
        while first < len(members) - 1:
            rest = members[first:]
            near = self._units[rest[:step]] @ self._units[rest].T >= self._threshold - _MARGIN
            i, j = np.nonzero(np.triu(near, 1))
            roots = self._roots(rest)
            apart = roots[i] != roots[j]
            yield from self._verified(rest[j[apart]], rest[i[apart]])
            first += step
            step = max(1, min(2 * step, _AT_ONCE // max(1, len(members) - first)))

    def _roots(self, places: np.ndarray) -> np.ndarray:
        roots = self._parents[places]
        while True:
            above = self._parents[roots]
            if (above == roots).all():
                return roots
            roots = above

    def _joined(self, later: np.ndarray, earlier: np.ndarray, cosines: np.ndarray) -> Iterator[Pairs]:
        """The pairs that connect samples which were not connected before."""
        import numpy as np

        new = np.empty(len(later), np.bool_)
        kernels.dedup.unionfind.join(self._parents, later, earlier, new)
        how = np.rint((1 - cosines[new]) * STEPS).astype(np.int32)
        yield Pairs(self._rows[later[new]], self._rows[earlier[new]], how, np.full(int(new.sum()), np.nan))
