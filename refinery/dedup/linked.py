"""Connected components by partitions: links of many tables of pairs become one cluster for each sample.

Each table of pairs is reduced to links: for each sample in a pair, the first sample of its component within the table (`root`),
and the match that explains it. Links of a sample from all tables are gathered where its partition is. The least root stands for
the sample; other roots of the sample are equal to the least one, and these equalities are resolved among the roots alone
(`dedup.stars`). A component is named after its first sample, as by `kernels.dedup.unionfind`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from refinery.dedup.clusters import explained, rank
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.stars import distinct
from refinery.kernels.core.arrow import ints, numbers


def links(pairs: Iterable[Pairs]) -> pa.Table:
    """Links of one table of pairs: `_row` (ascending), `root`, `via`, `how`; `jaccard` if a pair has it."""
    row, root, via, how, jaccard = explained(pairs)
    table = pa.table({"_row": ints(row), "root": ints(root), "via": ints(via), "how": ints(how)})
    return table if np.isnan(jaccard).all() else table.append_column("jaccard", ints(jaccard))


def star_links(pairs: Pairs) -> pa.Table:
    """Links of some pairs of samples with the first one of their group, which is then the root of all of them.

    A root is linked to its next sample. It has a link in each table with a pair of its group; `gathered` leaves the best one.
    """
    order = np.lexsort((pairs.row, pairs.via))
    row, root, how = pairs.row[order], pairs.via[order], pairs.how[order]
    first = np.flatnonzero(np.append(True, root[1:] != root[:-1])[: len(root)])
    columns = {
        "_row": np.append(row, root[first]),
        "root": np.append(root, root[first]),
        "via": np.append(root, row[first]),
        "how": np.append(how, how[first]),
    }
    return pa.table({name: ints(values) for name, values in columns.items()})


def gathered(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """One link for each sample of links from several tables, and the roots that are equal to it (`a` < `b`)."""
    row, root, via, how = (numbers(table[name]) for name in ("_row", "root", "via", "how"))
    order = np.lexsort((via, rank(row, via, how), row))
    row, root, via, how = (values[order] for values in (row, root, via, how))
    first = np.flatnonzero(np.append(True, row[1:] != row[:-1])) if len(row) else np.zeros(0, np.int64)
    least = np.minimum.reduceat(root, first) if len(row) else root
    every = np.repeat(least, np.diff(np.append(first, len(row))))
    apart = every != root
    equal = distinct(every[apart], root[apart])
    links = pa.table({"_row": ints(row[first]), "root": ints(least), "via": ints(via[first]), "how": ints(how[first])})
    if "jaccard" in table.column_names:
        links = links.append_column("jaccard", table["jaccard"].take(ints(order[first])).fill_null(np.nan))
    return links, pa.table({"a": ints(equal[0]), "b": ints(equal[1])})


def renamed(table: pa.Table, roots: pa.Table) -> pa.Table:
    """Links with their final roots. roots: of some roots (`_row`, ascending), the final ones (`root`)."""
    if not roots.num_rows:
        return table
    known, final, root = numbers(roots["_row"]), numbers(roots["root"]), numbers(table["root"])
    at = np.minimum(np.searchsorted(known, root), len(known) - 1)
    new = np.where(known[at] == root, final[at], root)
    return table.set_column(table.schema.get_field_index("root"), "root", ints(new))
