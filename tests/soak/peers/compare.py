"""Results of a peer beside ours, for random documents and parameters."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import refinery
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
        found += [{"op": op, "params": params, "whole": own.whole} for params in tried]
    return found


def differences(job: Mapping[str, Any], peer: Mapping[str, Any], own: Drawn, docs: Sequence[Any]) -> list[str]:
    """Results of a job that differ, as sentences."""
    params = {**own.besides, **job["params"]}
    if "refused" in peer:
        return []
    try:
        if own.whole:
            return left_differently(peer, {own.operator: params}, docs)
        rows = run_samples(docs, [{own.operator: params}], columns=COLUMNS)
    except RefineryError as error:
        return [f"refused here: {str(error)[:300]}"]
    stat = own.stat.format(**{"n": 2, **params})
    pairs = zip(docs, peer["results"], rows, strict=True)
    return [f"{doc['text']!r:.300}: {found}" for doc, result, row in pairs if (found := difference(result, row, stat))]


def left_differently(peer: Mapping[str, Any], step: Mapping[str, Any], docs: Sequence[Any]) -> list[str]:
    """Documents that a deduplicator keeps or changes in another way."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "docs.jsonl"
        path.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="ascii")
        recipe = {"dataset_path": str(path), "export_path": f"{folder}/out/kept.jsonl", "process": [step], "np": 1}
        left = {row["id"]: row["text"] for row in lines(str(refinery.run(recipe).outputs[0]))}
    if "failed" in peer:
        return []
    if "number" in peer:  # another sample of a cluster stays
        return [] if len(left) == peer["number"] else [f"{len(left)} stay, peer {peer['number']}"]
    ids = [doc["id"] for doc in docs if left.get(doc["id"]) != peer["left"].get(doc["id"])]
    return [f"{id}: {left.get(id)!r:.300}, peer {peer['left'].get(id)!r:.300}" for id in ids]


COLUMNS = {"url": "VARCHAR", "__dj__suffix__": "VARCHAR"}


def difference(peer: Mapping[str, Any], row: Mapping[str, Any], stat: str) -> str:
    """Values that differ for a document, or nothing; where the peer fails, ours is not judged."""
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
