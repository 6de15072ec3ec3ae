"""Clusters of pairs without partitions, to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.compiler.deduplicators import statement
from refinery.dedup.clusters import Clusters, explained
from refinery.dedup.matchers.model import Pairs


def cluster(found: Iterable[Pairs], keys: Any = None, order: Sequence[Any] = ()) -> Clusters:
    """Clusters of pairs. order: of survivors, terms over the match keys; empty: the first sample stays."""
    row, root, via, how, jaccard = explained(found)
    kept = root
    if order:
        with keys.relation("members", pa.table({"_row": row, "root": root})):
            table = keys.con.sql(statement("survivors", order=list(order))).to_arrow_table().sort_by("root")
        kept = table["kept"].to_numpy()[np.searchsorted(table["root"].to_numpy(), root)]
    return Clusters(row, root, kept, via, how, jaccard)
