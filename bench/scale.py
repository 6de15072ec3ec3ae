"""Scaling study: time by data and by workers, and simulated for larger clusters.

    python -m bench.scale corpus.jsonl            measure, print the tables
    python -m bench.scale corpus.jsonl --write    put them into docs/scaling-study.md, and the plot beside it (needs matplotlib)
    python -m bench.scale --again --write         measure only what tasks and driver of a cluster do; commands as before
    python -m bench.scale corpus.jsonl --again --repeats 4 --write       measure shards and start, too

The corpus is cut at line ends to 1, 2, 4, 8 and 16 times `--megabytes`; it must be large enough for the last. Each size
is deduplicated by MinHash (bench/minhash.yaml) as a whole command, with one worker and with two. The time of a larger
cluster is computed (bench/cluster_model.py) from the costs of each shard of the run with one worker over the most data, and
from those of the tasks that only a cluster has, which are measured with synthetic samples (bench/clusters.py,
bench/tables.py), and from those of handing them out (bench/handing.py). What commands have shown is kept in bench/scale.json, with the
equalities of roots of a corpus (python -m bench.clusters --keys).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench import clusters, handing
from bench.cluster_io import Storage, of_cores, with_storage
from bench.cluster_model import BLOCK, MB, Cluster, Costs, simulate
from bench.markdown import table, written
from bench.measure import Run, machine, measured
from bench.tables import UNIT
from bench.tables import measure as made_tables

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "scaling-study.md"
PLOT = PAGE.with_name("scale.svg")
KEPT = HERE / "scale.json"
FACTORS, WORKERS = (1, 2, 4, 8, 16), (1, 2)
# Minutes that Data-Juicer publishes for MinHash on Ray: (cores, bytes) -> minutes.
PUBLISHED = {
    (640, 200e9): 11.13,
    (640, 1e12): 50.83,
    (640, 5e12): 285.43,
    (1280, 200e9): 7.47,
    (1280, 1e12): 30.08,
    (1280, 5e12): 168.10,
}
CORES = (1, 2, 4, 8, 16, 32, 64, 160, 320, 640, 1280)
SHARDS = 16 * 2**20, 128 * 2**20  # least and most bytes of a shard on a cluster
LINKS = Storage(None, None)  # links of the nodes, and no limit of requests
SERIAL = ("deduplicator", "tables")  # phases other than shards


@dataclass(frozen=True)
class Phases:
    """Phases of a run's log: seconds by phase until the tables' end; bytes, seconds and rows of each shard by stage."""

    seconds: Mapping[str, float]
    shards: Mapping[int, Sequence[tuple[int, float, int]]]


def phases(log: Path) -> Phases:
    """Read `run.jsonl` of a run with one worker, whose shards end one after another."""
    seconds: dict[str, float] = {}
    shards: dict[int, list[tuple[int, float, int]]] = {}
    name, stage, since = "start", 0, 0.0
    for line in log.read_text("utf-8").splitlines():
        event = json.loads(line)
        now = datetime.fromisoformat(event["at"]).timestamp()
        if event["event"] == "began":
            since = last = now
        elif event["event"] in ("stage", "ended"):
            seconds[name] = seconds.get(name, 0.0) + now - since
            name, stage, since, last = event.get("phase", ""), event.get("stage", 0), now, now
        elif event["event"] == "shard":
            shards.setdefault(stage, []).append((event["bytes"], now - last, event["rows"]))
            last = now
    return Phases(seconds, shards)


@dataclass(frozen=True)
class Measured:
    """One command: its time and memory, its log, and the input of its barrier."""

    run: Run
    phases: Phases
    size: int
    rows: int
    removed: int
    marks: int
    bands: int


@dataclass(frozen=True)
class OfRun:
    """Costs that runs with one worker show, see `Costs`. begin: imports of a process, and what its first shard takes more."""

    start: float
    begin: float
    shards: tuple[tuple[int, float, float], ...]
    rows_per_byte: float
    bands: int


def of_run(most: Measured, least: Measured) -> OfRun:
    """Costs from runs with one worker over the most and the least data.

    Time per sample of the barrier and the tables is the slope of the line through both runs; its start is fixed time.
    """
    spent, before = most.phases.seconds, least.phases.seconds
    slope = {name: max(0.0, spent[name] - before[name]) / (most.rows - least.rows) for name in SERIAL}
    fixed = sum(max(0.0, spent[name] - slope[name] * most.rows) for name in SERIAL)
    first, second = most.phases.shards[1], most.phases.shards[2]
    usual = median(seconds for _, seconds, _ in first[1:])
    begin = handing.imports() + max(0.0, first[0][1] - usual)
    first = [(first[0][0], usual, first[0][2]), *first[1:]]
    return OfRun(
        begin=begin,
        start=most.run.seconds - sum(spent.values()) + spent["start"] + fixed,
        shards=tuple(
            (round(most.size / len(first)), one, other)
            for (_, one, _), (_, other, _) in zip(first, second, strict=True)
        ),
        rows_per_byte=most.rows / most.size,
        bands=most.bands,
    )


def of_tasks(roots: Mapping[str, Any]) -> dict[str, Any]:
    """Costs of the tasks of a cluster and of its driver, from synthetic samples.

    roots: of a corpus, where equalities of roots are more than among these samples: `star` and `reply`, seconds a sample, `apart`
    and `rounds`, see `Costs`.
    """
    fewer, found = clusters.measure(250_000), clusters.measure(1_000_000)
    more = (found.driver * found.samples - fewer.driver * fewer.samples) / (found.samples - fewer.samples)
    tables, piece = of_tables()
    return {
        "tasks": found.tasks | {name: roots[name] for name in ("star", "reply")},
        "apart": roots["apart"],
        "rounds": roots["rounds"],
        "part": found.part,
        "moved": found.moved,
        "tables": tables,
        "driver": max(0.0, more),
        "piece": piece,
        **handing.measure(),
    }


def of_tables() -> tuple[dict[str, float], float]:
    """Seconds a sample of the tasks for tables, and of each task (`piece`); seconds of the driver for each task."""
    shard, sizes = 1 << 15, (1 << 16, 1 << 18)
    small, large = ([made_tables(BLOCK, shard, "parts", 2, alike=True, piece=size) for _ in range(3)] for size in sizes)
    kinds = [name for name in small[0] if name.endswith(UNIT) and not name.startswith("driver")]
    each = [{name: min(one[name] for one in tried) * 1e-6 for name in kinds} for tried in (small, large)]
    parts = [found[f"make_parts{UNIT}"] * size for found, size in zip(each, sizes, strict=True)]
    slope = (parts[1] - parts[0]) / (sizes[1] - sizes[0])
    known = {name.removesuffix(UNIT): seconds for name, seconds in each[1].items()}
    known |= {"make_parts": slope, "piece": parts[0] - slope * sizes[0]}
    many = made_tables(64 * BLOCK, shard, "parts", 2, alike=True, piece=sizes[0])
    return known, (many["driver, s"] - min(one["driver, s"] for one in small)) / (63 * BLOCK // sizes[0])


def _bands(marks: Path) -> int:
    import pyarrow.parquet as pq

    return sum(name.startswith("band_") for name in pq.read_schema(marks).names)


def cut(corpus: Path, size: int, out: Path) -> int:
    """Copy the first lines of a corpus, about `size` bytes; returns the bytes. Raises ValueError if it is too small."""
    if corpus.stat().st_size < size:
        raise ValueError(f"{corpus}: holds {corpus.stat().st_size / MB:,.0f} MB, but {size / MB:,.0f} are needed")
    with corpus.open("rb") as lines, out.open("wb") as file:
        left = size
        while left > 0 and (block := lines.read(min(left, 16 << 20))):
            file.write(block)
            left -= len(block)
        file.write(lines.readline())
    return out.stat().st_size


def shards_again(corpus: Path, megabytes: float, factors: Sequence[int], folder: Path, repeats: int) -> dict[str, Any]:
    """Costs that runs with one worker show, see `OfRun`. Of every phase and shard the least of all repeats counts."""
    found = []
    for factor in (min(factors), max(factors)):
        data = folder / "data.jsonl"
        size = cut(corpus, int(megabytes * factor * MB), data)
        tried = [_run(data, size, folder / "run", 1) for _ in range(repeats)]
        found.append(fastest(tried))
        data.unlink()
    least, most = found
    return dict(vars(of_run(most, least)))


def crowd_of(runs: Sequence[Mapping[str, Any]]) -> float:
    """Ratio of the time of a core for a byte beside a busy core to that of a core alone: from the slopes of both lines."""
    ends = [min(run["factor"] for run in runs), max(run["factor"] for run in runs)]
    slope = {}
    for workers in WORKERS:
        few, many = (
            [run["seconds"] for run in runs if (run["factor"], run["workers"]) == (end, workers)][0] for end in ends
        )
        slope[workers] = many - few
    return max(1.0, 2 * slope[2] / slope[1])


def fastest(tried: Sequence[Measured]) -> Measured:
    """One run of the least times of several, phase by phase and shard by shard."""
    seconds = {name: min(one.phases.seconds[name] for one in tried) for name in tried[0].phases.seconds}
    beside = min(one.run.seconds - sum(one.phases.seconds.values()) for one in tried)
    shards = {
        stage: [
            (size, min(one.phases.shards[stage][at][1] for one in tried), rows)
            for at, (size, _, rows) in enumerate(own)
        ]
        for stage, own in tried[0].phases.shards.items()
    }
    run = replace(tried[0].run, seconds=beside + sum(seconds.values()))
    return replace(tried[0], run=run, phases=Phases(seconds, shards))


def measure(
    corpus: Path, megabytes: float, factors: Sequence[int], folder: Path, repeats: int, roots: Mapping[str, Any]
) -> dict[str, Any]:
    """Measure every size with every number of workers, best of `repeats`."""
    found: dict[tuple[int, int], Measured] = {}
    for factor in factors:
        data = folder / "data.jsonl"
        size = cut(corpus, int(megabytes * factor * MB), data)
        for workers in WORKERS:
            tried = [_run(data, size, folder / "run", workers) for _ in range(repeats)]
            best = found[factor, workers] = min(tried, key=lambda one: one.run.seconds)
            print(f"{factor:3} x, {size / MB:7,.0f} MB, {workers} workers: {best.run.seconds:.2f} s", file=sys.stderr)
        data.unlink()
    runs = [
        {"factor": factor, "bytes": one.size, "rows": one.rows, "workers": workers, **one.run.as_dict()}
        for (factor, workers), one in found.items()
    ]
    return {
        "machine": machine(),
        "runs": runs,
        "costs": Costs(
            **vars(of_run(found[max(factors), 1], found[min(factors), 1])),
            **of_tasks(roots),
            process=handing.process(),
            crowd=crowd_of(runs),
        ),
    }


def _run(data: Path, size: int, work: Path, workers: int) -> Measured:
    log = work.with_suffix(".log")
    settings = {
        "dataset_path": data,
        "export_path": work / "out.jsonl",
        "work_dir": work,
        "np": workers,
        "use_cache": "true",  # keeps the match keys, so that their size can be measured
    }
    sets = [f"--set={name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "refinery", "run", str(HERE / "minhash.yaml"), "--json", *sets]
    run = measured(command, log, cwd=data.parent)
    text = log.read_text("utf-8")
    if run.exit_code:
        raise RuntimeError(text)
    rows = json.loads(next(line for line in reversed(text.splitlines()) if line.startswith("{")))["rows"]
    marks = list(work.rglob("*.marks.parquet"))
    weight, bands = sum(path.stat().st_size for path in marks), _bands(marks[0])
    said = phases(work / ".refinery" / "log" / "run.jsonl")
    shutil.rmtree(work)
    return Measured(run, said, size, rows["read"], rows["removed"], weight, bands)


# Tables


def tables(results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Lines of the tables, by name in the page."""
    runs, model = results["runs"], results["costs"]
    return {
        "data": _by_data(runs),
        "costs": _costs(model),
        "clusters": _clusters(model),
        "parts": _phases_of(model),
        "gains": _gains(model),
    }


def _by_data(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    at = {(run["factor"], run["workers"]): run for run in runs}
    factors = sorted({run["factor"] for run in runs})
    rows = []
    for factor in factors:
        one, two = at[factor, 1], at[factor, 2]
        before = at.get((factor // 2, 2))
        rows.append(
            [
                f"{factor} ×, {one['bytes'] / MB:,.0f} MB",
                f"{one['rows']:,}",
                f"{one['seconds']:.2f}",
                f"{two['seconds']:.2f}",
                f"{two['bytes'] / MB / two['seconds']:.0f}",
                f"{two['seconds'] / before['seconds']:.2f}" if before else "",
                f"{two['seconds'] / one['seconds']:.0%}".replace("%", " %"),
                f"{two['largest_rss'] / MB:,.0f}",
            ]
        )
    head = (
        "data",
        "samples",
        "1 worker, s",
        "2 workers, s",
        "MB/s",
        "times the half's time",
        "2 of 1 worker's time",
        "memory, MB",
    )
    return table(head, rows)


def _costs(model: Costs) -> list[str]:
    size = sum(shard for shard, _, _ in model.shards)
    first = sum(seconds for _, seconds, _ in model.shards)
    second = sum(seconds for _, _, seconds in model.shards)
    longest = max(one + other for _, one, other in model.shards)
    of = model.tables
    rows = [
        ["a command's fixed time: start, compiling, closing", f"{model.start:.2f} s"],
        ["a process of the cluster: Python and Ray", f"{model.process:.2f} s"],
        ["a process of the cluster: imports, and what its first shard takes more", f"{model.begin:.2f} s"],
        ["a core while the other one works, too", f"{model.crowd:.2f} times the time"],
        ["a shard before the barrier, after it", f"{size / MB / first:.0f} MB/s, {size / MB / second:.0f} MB/s"],
        ["the longest shard, against the mean", f"{longest / ((first + second) / len(model.shards)):.2f} times"],
        ["match keys and what becomes of them, read by tasks", f"{model.moved:.0f} bytes a sample"],
        *([f"tasks of the deduplicator: {name}", f"{model.tasks[name] * 1e6:.2f} µs a sample"] for name in model.tasks),
        ["roots on which bands differ", f"{model.apart:.2f} a sample, in {model.rounds} rounds"],
        ["a part of a file, written or read", f"{model.part * 1e6:.0f} µs"],
        ["tables, by pieces", f"{of['make_parts'] * 1e6:.2f} µs a sample, and {of['piece'] * 1e3:.0f} ms a task"],
        ["tables: clusters", f"{(of['count_clusters'] + of['make_clusters']) * 1e6:.2f} µs a sample"],
        ["tables: sums, by blocks", f"{of['sum_up'] * 1e6:.2f} µs a sample"],
        [
            "the driver",
            f"{model.driver * 1e6:.4f} µs a sample" if model.driver else "a sample more: too little to be measured",
        ],
        ["the driver: a shard, a task for tables", f"{model.shard * 1e3:.2f} ms, {model.piece * 1e3:.2f} ms"],
        ["handing out a task: of whoever submits it", f"{model.task * 1e3:.2f} ms"],
        ["handing out 32 calls to a dispatcher: of the driver", f"{model.group * 1e3:.2f} ms"],
        ["each further call", f"{model.call * 1e3:.3f} ms"],
    ]
    return table(("cost", "of one core"), rows)


def _clusters(model: Costs) -> list[str]:
    rows = []
    for (cores, size), minutes in PUBLISHED.items():
        cluster = Cluster(cores, SHARDS)
        links, objects = (with_storage(model, size, cluster, storage) for storage in (LINKS, Storage()))
        rows.append(
            [
                f"{size / 1e12:g} TB, {cores:,} cores",
                f"{objects.cores / 60:.1f}",
                f"{links.total / 60:.1f}",
                f"{objects.gets / 1e6:.1f}",
                f"{objects.puts / 1e6:.2f}",
                f"{objects.total / 60:.0f}",
                f"{minutes:.1f}",
            ]
        )
    head = (
        "simulated",
        "cores alone, min",
        "with links, min",
        "GETs, millions",
        "PUTs, millions",
        "with links and S3, min",
        "published, min",
    )
    return table(head, rows)


def _phases_of(model: Costs) -> list[str]:
    """Minutes of the phases of a terabyte: of cores, and what links and storage add."""
    rows = []
    for cores in (640, 1280):
        cluster = Cluster(cores, SHARDS)
        times = simulate(model, 1e12, cluster)
        own = {"shards": times.shards, "barrier": times.barrier, "tables": times.tables, "export": 0.0}
        links, objects = (with_storage(model, 1e12, cluster, one).added for one in (LINKS, Storage()))
        for name, seconds in own.items():
            minutes = (seconds, links[name], objects[name])
            rows.append([f"{cores:,} cores: {name}", *(f"{one / 60:.2f}" for one in minutes)])
    return table(("a terabyte", "cores, min", "links add, min", "links and S3 add, min"), rows)


def _gains(model: Costs) -> list[str]:
    """Times of twice the cores as a share of the times of half of them."""
    rows = []
    for size in sorted({size for _, size in PUBLISHED}):
        few, many = (Cluster(cores, SHARDS) for cores in (640, 1280))
        shares = [
            with_storage(model, size, many, storage).total / with_storage(model, size, few, storage).total
            for storage in (LINKS, Storage())
        ]
        alone = of_cores(simulate(model, size, many)) / of_cores(simulate(model, size, few))
        found = (alone, *shares, PUBLISHED[1280, size] / PUBLISHED[640, size])
        rows.append([f"{size / 1e12:g} TB", *(f"{share:.0%}".replace("%", " %") for share in found)])
    return table(("1,280 cores in place of 640", "cores alone", "with links", "with links and S3", "published"), rows)


def plot(results: Mapping[str, Any], path: Path) -> None:
    """Draw time by data and workers as measured, and by cores as simulated."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scale", "font.size": 9})
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for number, workers in enumerate(WORKERS):
        runs = [run for run in results["runs"] if run["workers"] == workers]
        sizes = [run["bytes"] / MB for run in runs]
        label = f"{workers} worker{'s' if workers > 1 else ''}"
        left.loglog(sizes, [run["seconds"] for run in runs], "o-", color=f"C{number}", label=label, markersize=4)
    left.set(title="Measured: time against data", xlabel="MB", ylabel="seconds")
    left.legend(frameon=False)
    for number, size in enumerate((200e9, 1e12, 5e12)):
        name = f"{size / 1e12:g} TB"
        times = [with_storage(results["costs"], size, Cluster(cores, SHARDS), LINKS).total for cores in CORES]
        slow = [with_storage(results["costs"], size, Cluster(cores, SHARDS), Storage()).total for cores in CORES]
        middle.loglog(CORES, [one / 60 for one in slow], ":", color=f"C{number}")
        middle.loglog(CORES, [one / 60 for one in times], color=f"C{number}", label=name)
        rates = [size / MB / one / cores for one, cores in zip(times, CORES, strict=True)]
        right.semilogx(CORES, rates, color=f"C{number}", label=name)
        said = {cores: minutes for (cores, bytes_), minutes in PUBLISHED.items() if bytes_ == size}
        middle.plot(list(said), list(said.values()), "x", color=f"C{number}")
        right.plot(list(said), [size / MB / (m * 60) / c for c, m in said.items()], "x", color=f"C{number}")
    middle.set(title="Simulated: minutes against cores", xlabel="cores", ylabel="minutes")
    right.set(title="Simulated: MB/s of each core", xlabel="cores", ylim=(0, None))
    right.legend(
        frameon=False, title="lines: ours, simulated, with links\ndots: and S3's requests\nx: Data-Juicer, published"
    )
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how time grows with data and shrinks with workers.")
    parser.add_argument("corpus", type=Path, nargs="?", help="JSON Lines, of 16 times --megabytes at least")
    parser.add_argument(
        "--again", action="store_true", help="keep the table of commands; with a corpus, only its shards are measured"
    )
    parser.add_argument("--shards", action="store_true", help="with --again, measure shards and start alone")
    parser.add_argument("--megabytes", type=float, default=64, help="the smallest size; 64 by default")
    parser.add_argument("--factors", default=",".join(map(str, FACTORS)), help="times the smallest size")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each, the best counts")
    parser.add_argument("--write", action="store_true", help="rewrite the tables and the plot in docs/")
    arguments = parser.parse_args()
    factors = [int(factor) for factor in arguments.factors.split(",")]
    if not arguments.again and not arguments.corpus:
        parser.error("give a corpus or --again")
    kept = json.loads(KEPT.read_text("utf-8"))
    if arguments.again:
        known = kept["costs"]
        if arguments.corpus:
            with tempfile.TemporaryDirectory(dir=arguments.corpus.parent, prefix="scale-") as folder:
                known |= shards_again(arguments.corpus, arguments.megabytes, factors, Path(folder), arguments.repeats)
        if not arguments.shards:
            known |= of_tasks(kept["roots"])
        known |= {"process": handing.process(), "crowd": crowd_of(kept["runs"])}
        known = {name: known[name] for name in Costs.__dataclass_fields__}
        results = {"runs": kept["runs"], "costs": Costs(**known | {"shards": tuple(map(tuple, known["shards"]))})}
    else:
        with tempfile.TemporaryDirectory(dir=arguments.corpus.parent, prefix="scale-") as folder:
            results = measure(
                arguments.corpus, arguments.megabytes, factors, Path(folder), arguments.repeats, kept["roots"]
            )
    found_costs = asdict(results["costs"])
    KEPT.write_text(json.dumps(kept | {"runs": results["runs"], "costs": found_costs}, indent=1) + "\n", "utf-8")
    found = tables(results)
    for name, lines in found.items():
        print(f"\n{name}\n", *lines, sep="\n")
    if arguments.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), found), "utf-8")
        plot(results, PLOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
