"""Tasks that search for matches with a matcher's own code: among all samples, or among those with some values of a column."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from refinery.compiler.templates import ident
from refinery.dedup.exchange import Share, write_groups
from refinery.dedup.linked import links
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.model import SampleMatcher
from refinery.dedup.slices import Slices
from refinery.dedup.tasks.files import limits, local, work
from refinery.operators.model import matcher_of
from refinery.operators.user_process import apart, is_worker
from refinery.workers.executor import TaskPlace
from refinery.workers.functions import register
from refinery.workers.serialization import from_json


@dataclass(frozen=True)
class Search:
    """A matcher and the parameters of its step. path: of a user's file, else "". functions: of the operator, as JSON."""

    match: str
    path: str
    params: dict[str, Any]
    functions: str

    def matcher(self) -> SampleMatcher:
        """The matcher, on this machine."""
        return cast(SampleMatcher, matcher_of(self.match, Path(self.path) if self.path else None))


def search(
    place: TaskPlace,
    names: Sequence[str],
    shares: Sequence[Share],
    matching: str,
    columns: Sequence[str],
    among: tuple[str, int, int] | None,
    bounds: str,
    to: str,
    compare: Any = None,
) -> str:
    """Write the links of matched samples, by partitions of samples.

    names: of match keys; none where `shares` of `joins.divide` have them. matching: a `Search`, as JSON. columns: to read. among: search among samples that are equal in a column, of a share of its values:
    the column, the share, the number of shares; None searches all samples. bounds: of partitions, as JSON. compare: compares texts, on the
    machine of the driver alone. Returns the places of links, notes,
    and kinds of match keys, as JSON.
    """
    wanted = Search(**json.loads(matching))
    if wanted.path and not is_worker():
        arguments = place, names, shares, matching, columns, among, bounds, to, compare
        return apart(f"{wanted.path}: MATCHER", search, *arguments)
    matcher, notes = wanted.matcher(), list[str]()
    column, share, count = among or ("", 0, 1)
    where = f"hash({ident(column)}) % {count} = {share}" if count > 1 and names else "true"
    with work(place) as (store, folder):
        files = [local(store, name, folder, columns) for name in names]
        if not names:
            if not shares:
                return json.dumps({"parts": [], "notes": [], "kinds": []})
            files = [str(folder / "share.parquet")]
            Slices(store, shares).write(Path(files[0]), {"key": column})
        with (
            MatchKeys(files, matcher.columns, limits(place), folders=[folder], where=where) as keys,
            register(keys.con, from_json(wanted.functions)).kept(),
        ):
            if among is None:
                pairs = matcher.pairs(keys, wanted.params, compare, notes)
            else:
                pairs = matcher.pairs_among(keys, column, wanted.params)
            linked = links(pairs)
            kinds = matcher.kinds(keys) if among is not None else []
        parts = write_groups(linked, "_row", json.loads(bounds), folder / "linked.parts")
        store.publish(folder / "linked.parts", to)
    return json.dumps({"parts": parts, "notes": notes, "kinds": kinds})
