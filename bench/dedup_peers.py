"""Measure deduplicators beside the peers that the package index has, on the same documents and in the same session.

    python bench/dedup_peers.py --corpus documents.jsonl --datatrove DATATROVE/bin/python --text-dedup TEXT_DEDUP/bin/python \\
        --semhash SEMHASH/bin/python --pydivsufsort PYDIVSUFSORT/bin/python

Each comparison is a recipe of one step and a peer's script in bench/peers that does the same: n-grams in a Bloom filter (datatrove's
SingleBloomFilter), MinHash with datatrove's 14 x 8 and with text-dedup's parameters, embeddings above a cosine of 0.95 (SemHash, whose vectors
are read from the same Parquet file, so its environment needs pyarrow), substrings that occur twice (the suffix array and its common prefixes by pydivsufsort, without
removing anything). Every figure is a whole command, from start to exit, the best of --repeats; the commands of a comparison take turns, so
that both have the same machine. A peer that is not named is left out. Writes results.json and results.md into --out.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from dedup import kept_rows, last_line
from measure import Run, machine, measured, quiet_environment
from run import MB, ROOT, Failed, checked, say, show
from table import head, row

from refinery.operators import Library

PEERS = ROOT / "bench" / "peers"


@dataclass(frozen=True)
class Comparison:
    """A step, and a script of bench/peers with its arguments, which come after the data and the folder of its results."""

    name: str
    step: dict[str, Any]
    peer: str
    script: str
    words: tuple[str, ...] = ()
    data: str = "documents"


COMPARISONS = (
    Comparison("n-grams in a Bloom filter", {"bloom_deduplicator": {"as": "datatrove"}}, "datatrove", "datatrove_bloom.py"),
    Comparison(
        "MinHash, 14 bands of 8",
        {
            "document_minhash_deduplicator": {
                "normalize": "datatrove",
                "tokenization": "english",
                "hash": "datatrove",
                "num_buckets": 14,
                "hashes_per_bucket": 8,
            }
        },
        "datatrove",
        "datatrove_minhash.py",
    ),
    Comparison("MinHash, 256 permutations", {"document_minhash_deduplicator": {}}, "text_dedup", "text_dedup_minhash.py"),
    Comparison(
        "cosine of 256 numbers", {"semantic_deduplicator": {"cosine_threshold": 0.95}}, "semhash", "semhash_vectors.py", data="vectors"
    ),
    Comparison("substrings", {"substring_deduplicator": {}}, "pydivsufsort", "pydivsufsort_array.py"),
)  # fmt: skip


class Session:
    """Measurements of one session. work: scratch folder."""

    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments, self.work = arguments, work
        self.rows: list[dict[str, Any]] = []

    def data(self) -> dict[str, Path]:
        """The documents, and the same documents with vectors, in folders of their own."""
        folders = {name: self.work / "input" / name for name in ("documents", "vectors")}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        documents = folders["documents"] / "documents.jsonl"
        shutil.copyfile(self.arguments.corpus, documents)
        vectors = folders["vectors"] / "documents.parquet"
        check = [sys.executable, str(PEERS / "make_vectors.py"), str(documents), str(vectors)]
        checked(measured(check, self.work / "vectors.log", cwd=ROOT), self.work / "vectors.log", "make vectors")
        return {"documents": documents, "vectors": vectors}

    def compare(self, one: Comparison, data: Path) -> None:
        """Measure a step and its peer in turns."""
        python = getattr(self.arguments, one.peer)
        if not python:
            say(f"left out: {one.name}: {one.peer} is not named (--{one.peer.replace('_', '-')})")
            return
        (operator,) = one.step
        if operator not in Library().operators:
            say(f"left out: {one.name}: there is no {operator}")
            return
        ours, theirs = [], []
        for attempt in range(self.arguments.repeats):
            ours.append(self._ours(one, data, attempt))
            theirs.append(self._theirs(one, shlex.split(python), data, attempt))
        self.rows += [_best(one.name, "refinery", ours), _best(one.name, one.peer, theirs)]

    def _ours(self, one: Comparison, data: Path, attempt: int) -> tuple[Run, dict[str, Any]]:
        folder = self._fresh("ours")
        export = folder / "export" / f"kept.{data.suffix[1:]}"
        keys = {
            "dataset_path": str(data),
            "export_path": str(export),
            "work_dir": str(folder / "run"),
            "np": self.arguments.np,
        }
        (folder / "recipe.yaml").write_text(
            yaml.safe_dump({**keys, "process": [one.step]}, sort_keys=False), encoding="utf-8"
        )
        command = [sys.executable, "-m", "refinery", "run", str(folder / "recipe.yaml")]
        run = self._timed(command, folder, f"refinery: {one.name}, {attempt + 1}")
        return run, {"kept": kept_rows(export)}

    def _theirs(self, one: Comparison, python: Sequence[str], data: Path, attempt: int) -> tuple[Run, dict[str, Any]]:
        folder = self._fresh("theirs")
        source = data.parent if one.peer == "datatrove" else data
        words = [*one.words, "--workers", str(self.arguments.np)]
        command = [*python, str(PEERS / one.script), str(source), str(folder), *words]
        run = self._timed(command, folder, f"{one.peer}: {one.name}, {attempt + 1}", quiet_environment(folder))
        said = last_line(folder / "log")
        kept = said.get("kept") or (kept_rows(folder / "kept") if (folder / "kept").exists() else None)
        return run, {"kept": kept, "version": said.get("version")}

    def _fresh(self, name: str) -> Path:
        shutil.rmtree(self.work / name, ignore_errors=True)
        (self.work / name).mkdir()
        return self.work / name

    def _timed(self, command: list[str], folder: Path, what: str, env: dict[str, str] | None = None) -> Run:
        say(what)
        run = measured(command, folder / "log", cwd=ROOT, env=env, timeout=self.arguments.timeout)
        return checked(run, folder / "log", what)


def _best(name: str, tool: str, runs: Sequence[tuple[Run, dict[str, Any]]]) -> dict[str, Any]:
    run, more = min(runs, key=lambda one: one[0].seconds)
    return {"comparison": name, "tool": tool, **run.as_dict(), **more}


def report(results: dict[str, Any]) -> str:
    """The tables as Markdown."""
    host = results["machine"]
    lines = [
        f"{results['date'][:10]}: {host['cores']} cores ({host['cpu']}), load before the session {host['load_before']}; "
        f"{results['workers']} workers each. {results['rows']:,} documents, {results['text_bytes'] / MB:,.1f} MB of text.",
        "",
        *head("", "tool", "best s:", "processor s:", "memory MB:", "documents kept:"),
    ]
    for one in results["measurements"]:
        tool = one["tool"] + (f" {one['version']}" if one.get("version") else "")
        memory = f"{(one['tree_rss'] or one['largest_rss']) / MB:,.0f}"
        kept = f"{one['kept']:,}" if one["kept"] is not None else ""
        lines.append(row(one["comparison"], tool, f"{one['seconds']:.1f}", f"{one['cpu_seconds']:.1f}", memory, kept))
    return "\n".join(lines) + "\n"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    made.add_argument("--corpus", type=Path, required=True, help="JSON lines with a text")
    made.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "results" / "dedup_peers", help="folder of the results"
    )
    for peer in dict.fromkeys(one.peer for one in COMPARISONS):
        made.add_argument(
            f"--{peer.replace('_', '-')}", metavar="PYTHON", help=f"a python that has {peer.replace('_', '-')}"
        )
    made.add_argument("--only", help="part of the names of comparisons")
    made.add_argument("--np", type=int, default=2, help="workers of everybody (default: 2)")
    made.add_argument("--repeats", type=int, default=3, help="runs of each command (default: 3)")
    made.add_argument("--timeout", type=float, default=3600, help="seconds after which a command is ended")
    return made


def main() -> int:
    arguments = parser().parse_args()
    texts = [json.loads(line)["text"] for line in arguments.corpus.read_bytes().splitlines()]
    results: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "workers": arguments.np,
        "rows": len(texts),
        "text_bytes": sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
        "failures": [],
    }
    del texts
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        session = Session(arguments, Path(folder))
        data = session.data()
        for one in COMPARISONS:
            if not arguments.only or arguments.only in one.name:
                try:
                    session.compare(one, data[one.data])
                except Failed as error:
                    say(str(error))
                    results["failures"].append(str(error))
    results["measurements"] = session.rows
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (arguments.out / "results.md").write_text(report(results), encoding="utf-8")
    show(report(results))
    return 1 if results["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
