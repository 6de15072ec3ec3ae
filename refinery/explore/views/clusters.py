"""View `clusters`: clusters of deduplicators by size, their members, and two members side by side."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refinery.explore.browsing import input_of, optional
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun
from refinery.inspect.browse.clusters import MEMBERS, clusters, members, side_by_side


def listed(run: ExploredRun, query: Query) -> dict[str, Any]:
    """A page of clusters, and the deduplicators that have some."""
    with run.con() as con:
        step = optional(query.integer, query, "step")
        found = clusters(con, step, optional(query.text, query, "after"))
        return asdict(found) | {"deduplicators": dicts(con, _DEDUPLICATORS)}


_DEDUPLICATORS = """
SELECT step, operator, parameters, removed, (SELECT count(DISTINCT cluster) FROM clusters WHERE clusters.step = steps.step) AS clusters
FROM steps WHERE kind = 'deduplicator' ORDER BY step
"""


def cluster(run: ExploredRun, query: Query) -> dict[str, Any]:
    """A page of the members of a cluster."""
    step, number = query.integer("step"), query.integer("cluster")
    with run.con() as con:
        found = members(con, step, number, query.integer("after", -1))
        operator = dicts(con, "SELECT operator, parameters FROM steps WHERE step = ?", [step])
    return {
        "members": found[:MEMBERS],
        "next": found[MEMBERS - 1]["row"] if len(found) > MEMBERS else None,
        "operator": operator[0] if operator else None,
    }


def compared(run: ExploredRun, query: Query) -> dict[str, Any]:
    """Two members as the deduplicator compared them, with their shared parts."""
    with input_of(run).histories() as histories:
        step, left, right = query.integer("step"), query.integer("left", least=0), query.integer("right", least=0)
        return asdict(side_by_side(histories, step, left, right))


VIEW = View(
    "clusters",
    "Clusters",
    40,
    (Endpoint("", listed), Endpoint("pair", compared), Endpoint("{step}/{cluster}", cluster)),
)
