"""View `clusters`: clusters of deduplicators by size, their members, two members side by side, and audits of removals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refinery.explore.audits import audit_for, of_step, pairs_of, with_clusters
from refinery.explore.browsing import input_of, optional
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun
from refinery.inspect.browse.clusters import MEMBERS, clusters, members, part_side_by_side, side_by_side


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
    """Two members as the deduplicator compared them, with what they share; with `unit`, a removed part and the one most like it."""
    step, right, unit = query.integer("step"), query.integer("right", least=0), optional(query.integer, query, "unit")
    with input_of(run).histories() as histories:
        if unit is not None:
            return asdict(part_side_by_side(histories, step, right, unit))
        return asdict(side_by_side(histories, step, query.integer("left", least=0), right))


def audit(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The audit of one deduplicator, or of all: shares by source, hubs, chains, and a page of the compared pairs."""
    step, made = optional(query.integer, query, "step"), query.choice("made", ("stored", "now")) == "now"
    after = query.integer("after", 0, least=0)
    with run.con() as con:
        about: dict[str, Any] = {"deduplicators": dicts(con, _DEDUPLICATORS)}
    if (found := audit_for(run, made)) is None:
        return about | {"audit": None}
    shown = {
        "stored": found.stored,
        "summary": of_step(found.summary, step),
        "hubs": with_clusters(run, of_step(found.hubs, step), "via"),
        "chains": with_clusters(run, of_step(found.chains, step), "_row"),
        "notes": found.notes,
    }
    return about | {"audit": shown | asdict(pairs_of(found, step, after))}


VIEW = View(
    "clusters",
    "Clusters",
    40,
    (
        Endpoint("", listed),
        Endpoint("audit", audit),
        Endpoint("pair", compared),
        Endpoint("{step}/{cluster}", cluster),
    ),
)
