"""The match that explains each sample, among all matches of the sample."""

from __future__ import annotations

from refinery.kernels.core.jit import entry

NONE = -1  # in `hows`: no match yet


@entry("int64[] int64[] int64[] int32[] float64[] int64[] int32[] float64[]")
def explain(places, row, via, how, jaccard, vias, hows, jaccards):
    """Enter the matches of samples where they are preferred to the known ones.

    A match with an earlier sample is preferred to one with a later sample, then the lowest `how`, then the first `via`.
    places: of `row` among the known matches, `vias`, `hows` and `jaccards`.
    """
    for i in range(len(places)):
        at = places[i]
        if hows[at] != NONE:
            later, known_later = via[i] > row[i], vias[at] > row[i]
            if later != known_later:
                better = known_later
            elif how[i] != hows[at]:
                better = how[i] < hows[at]
            else:
                better = via[i] < vias[at]
            if not better:
                continue
        vias[at], hows[at], jaccards[at] = via[i], how[i], jaccard[i]
