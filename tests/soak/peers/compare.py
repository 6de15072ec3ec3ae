"""Results of a peer beside ours, for random documents and parameters."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from refinery.errors import RefineryError
from tests.compiled import run_samples
from tests.soak.peers.draws import Drawn
from tests.soak.peers.serve import lines

HERE = Path(__file__).parent


def peer_results(python: str, script: str, docs: Sequence[Any], jobs: Sequence[Any], folder: Path) -> list[Any]:
    """Results of each job by the peer's script, in its own Python."""
    paths = [folder / name for name in ("docs.jsonl", "jobs.jsonl", "results.jsonl")]
    for path, values in zip(paths, (docs, jobs), strict=False):
        path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="ascii")
    subprocess.run(
        [python, str(HERE / script), *map(str, paths)], check=True, env={**os.environ, "PYTHONHASHSEED": "0"}
    )
    return lines(str(paths[2]))


def jobs_of(drawn: Mapping[str, Drawn], draws: int, seed: int) -> list[dict[str, Any]]:
    """Jobs with random parameters, those of each operator together; the first one has the defaults."""
    found = []
    for op, own in drawn.items():
        random = Random(f"{seed} {op}")
        tried = [{}] if not own.every else []
        while len(tried) < (draws if own.values else 1):
            tried.append(own.draw(random))
        found += [{"op": op, "params": params} for params in tried]
    return found


def differences(job: Mapping[str, Any], peer: Mapping[str, Any], own: Drawn, docs: Sequence[Any]) -> list[str]:
    """Results of a job that differ, as sentences."""
    params = {**job["params"], **own.besides}
    if "refused" in peer:
        return []
    try:
        rows = run_samples(docs, [{own.operator: params}], columns=COLUMNS)
    except RefineryError as error:
        return [f"refused here: {str(error)[:300]}"]
    stat = own.stat.format(**{"n": 2, **params})
    pairs = zip(docs, peer["results"], rows, strict=True)
    return [f"{doc['text']!r:.300}: {found}" for doc, result, row in pairs if (found := difference(result, row, stat))]


COLUMNS = {"url": "VARCHAR", "__dj__suffix__": "VARCHAR"}


def difference(peer: Mapping[str, Any], row: Mapping[str, Any], stat: str) -> str:
    """What differs for a document, or nothing; where the peer fails, ours is not judged."""
    if "failed" in peer:
        return ""
    if row["error"] is not None:
        return f"fails here: {row['error']}, peer {peer}"
    found = {}
    if "keep" in peer:
        found["keep"] = row["kept"], peer["keep"]
        if not peer["keep"] and peer.get("reason"):
            found["reason"] = row["reason"], peer["reason"]
    if peer.get("text") is not None:
        found["text"] = row["text"], peer["text"]
    if stat and "score" in peer:
        found[stat] = row["stats"][stat], peer["score"]
    for name, value in peer.get("stats", {}).items():
        found[name] = row["stats"].get(name, "missing"), value
    for name, spans in peer.get("spans", {}).items():
        ours = row["stats"].get(name, len(spans))  # a type of spans is not always a statistic
        if ours not in (len(spans), sum(score for *_, score in spans)):
            found[name] = ours, spans[:5]
    wrong = {name: pair for name, pair in found.items() if not same(*pair)}
    return str(wrong) if wrong else ""


def same(ours: Any, peers: Any) -> bool:
    """Equal, to the last bit."""
    if isinstance(ours, float) and isinstance(peers, float) and math.isnan(ours) and math.isnan(peers):
        return True
    return bool(ours == peers)
