"""Resources of steps: where stages are cut, how many workers run, how many samples a call gets; results are the same."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.checkpoints.keys import program_key
from refinery.errors import OperatorError, RecipeError
from refinery.execution.local_backend import require
from refinery.inspect.explain import planned
from refinery.inspect.refilter.refilter import refilter
from refinery.inspect.why.query import RowHistories
from refinery.operators import Library
from refinery.operators.resources import StageResources, StepResources, of_steps, resources_of
from refinery.planning.pipeline import prepare
from refinery.recipe import load, loads
from refinery.recipe.dump import dump
from refinery.workers.machine import gpus
from tests.execution.same import left_by
from tests.runs import operator_folder, settings, texts, write_lines
from tests.sampling import sampled

SHOUTS = """
    if len(text) > 60:
        raise ValueError("too long")
    return text.upper() if "a" in text else None
"""
STEPS: list[Any] = [
    "clean_email_mapper",
    {"words_num_filter": {"min_num": 2}},
    {"gpu_mapper": {}},
    {"text_length_filter": {"min_len": 12}},
    {"document_deduplicator": {"lowercase": True}},
    {"sql_filter": {"where": "num_words > 2"}},
]


def samples() -> list[dict[str, Any]]:
    """Texts with copies, short ones, addresses, and some on which the mapper raises."""
    found = [f"row {n % 40} has a@b.org and some words" for n in range(60)] + ["b", "one two"]
    return texts([*found, "a word " * 12, *(f"no vowels here: xyz {n}" for n in range(9))])


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says to have a GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")


def with_gpu(steps: list[Any], **resources: Any) -> list[Any]:
    return [{"gpu_mapper": resources} if "gpu_mapper" in step else step for step in steps]


def run(folder: Path, name: str, steps: list[Any], **keys: Any) -> Any:
    own = operator_folder(folder / "own", gpu=SHOUTS)
    place = folder / name
    keys = {"operators": [str(own)], "open_tracer": True, "trace_num": 4, "shard_size": 700, "np": 2, **keys}
    return refinery.run(settings(folder, steps, export_path=place / "out.jsonl", work_dir=place, **keys))


def rows_of(database: Path) -> list[Any]:
    with duckdb.connect(str(database), read_only=True) as con:
        names = ("ledger", "duplicates", "clusters", "stats", "row_outcomes")
        counted = con.execute("SELECT step, rows_in, removed, changed FROM steps").fetchall()
        return [counted, *(con.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in names)]


def outcomes(run: Any) -> list[tuple[Any, ...]]:
    """Rows of the table that reached the mapper, its columns in the order of their names."""
    query = "SELECT column_name FROM duckdb_columns() WHERE table_name = 'row_outcomes' ORDER BY ALL"
    return run.sql(
        f"SELECT {', '.join(name for (name,) in run.sql(query).fetchall())} FROM row_outcomes WHERE coalesce(_dropped, 9) > 2"
    ).fetchall()


def stages_of(folder: Path, steps: list[Any], **keys: Any) -> list[tuple[int | None, list[int], int | None]]:
    """Numbers of the deduplicator before, the steps, and the deduplicator after of each stage."""
    own = operator_folder(folder / "own", gpu=SHOUTS)
    write_lines(folder / "in.jsonl", samples())
    prepared = prepare(*opened(folder, steps, operators=[str(own)], **keys))
    stages = [planned.stage for planned in prepared.stages]
    number = lambda step: step.index if step is not None else None  # noqa: E731
    return [(number(stage.before), [step.index for step in stage.steps], number(stage.after)) for stage in stages]


def opened(folder: Path, steps: list[Any], **keys: Any) -> tuple[Any, Library]:
    library = Library(tuple(map(Path, keys.get("operators", ()))))
    return load(settings(folder, steps, **keys), library=library), library


def test_a_gpu_step_is_a_stage_of_its_own(tmp_path: Path) -> None:
    assert stages_of(tmp_path, STEPS) == [(None, [1, 2, 3, 4], 5), (5, [6], None)]
    found = stages_of(tmp_path, with_gpu(STEPS, num_gpus=0.5))
    assert found == [(None, [1, 2], None), (None, [3], None), (None, [4], 5), (5, [6], None)]
    assert stages_of(tmp_path, with_gpu(STEPS, gpu_required=1)) == found
    assert stages_of(tmp_path, [{"gpu_mapper": {"num_gpus": 1}}]) == [(None, [1], None)]
    twice = [{"gpu_mapper": {"num_gpus": 1}}, {"gpu_mapper": {"num_gpus": 1}}, "document_deduplicator"]
    assert stages_of(tmp_path, twice) == [(None, [1], None), (None, [2], None), (None, [], 3), (3, [], None)]
    lines = [{"document_line_deduplicator": {}}, {"gpu_mapper": {"num_gpus": 1}}]
    assert stages_of(tmp_path, lines) == [(None, [], 1), (1, [], None), (None, [2], None)]


@pytest.mark.usefixtures("one_gpu")
def test_cuts_change_no_result(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples())
    one = run(tmp_path, "one", STEPS)
    other = run(tmp_path, "other", with_gpu(STEPS, num_gpus=1, batch_size=3, num_proc=1))
    assert one.sql("SELECT count(*) FROM duplicates").fetchall()[0][0] > 5 and one.sql(
        "SELECT count(*) FROM quarantine"
    ).fetchall() == [(1,)]
    ours, theirs = left_by(one, "steps", "row_outcomes"), left_by(other, "steps", "row_outcomes")
    for table in ours[0]:
        assert ours[0][table] == theirs[0][table], table
    assert ours[1:] == theirs[1:]
    query = "SELECT * EXCLUDE (seconds, batch_size) FROM steps"
    assert one.sql(query).fetchall() == other.sql(query).fetchall()
    assert outcomes(one) == outcomes(other)
    with RowHistories(one.work_dir) as ours, RowHistories(other.work_dir) as theirs:
        for row in (0, 13, 39, 45, 60, 62, 66):
            assert ours.of(row).events == theirs.of(row).events


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run with a step that needs a GPU."""
    folder = tmp_path_factory.mktemp("cut")
    write_lines(folder / "in.jsonl", samples())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "0")
        return run(folder, "other", with_gpu(STEPS, num_gpus=1))


CHANGES = ("process.2.min_num=9", "process.4.min_len=30", "process.6.where=num_words > 7")


@pytest.mark.usefixtures("one_gpu")
@pytest.mark.parametrize("change", sampled(CHANGES, every=2))
def test_refilter_over_a_cut(tmp_path: Path, cut: Any, change: str) -> None:
    write_lines(tmp_path / "in.jsonl", samples())
    found = refilter(cut.work_dir, [change], work_dir=str(tmp_path / "again"))
    number, (name, value) = int(change.split(".")[1]), change.split(".")[2].split("=")
    steps = with_gpu(STEPS, num_gpus=1)
    [operator] = steps[number - 1]
    steps[number - 1] = {operator: {name: int(value) if value.isdigit() else value}}
    fresh = run(tmp_path, "fresh", steps)
    assert rows_of(found.outcome.run_dir.database) == rows_of(fresh.database)


@pytest.mark.usefixtures("one_gpu")
def test_resources_are_in_no_key(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples())
    own = operator_folder(tmp_path / "own", gpu=SHOUTS)

    def keys(**resources: Any) -> list[str]:
        recipe, library = opened(tmp_path, with_gpu(STEPS, **resources), operators=[str(own)])
        return [program_key(stage, library, {}) for stage in prepare(recipe, library).stages]

    assert keys(memory="1GB", num_proc=1, batch_size=7) == keys()
    assert keys(num_gpus=1, memory="2GB", batch_size=1) == keys(num_gpus=0.25)
    run(tmp_path, "again", with_gpu(STEPS, num_gpus=1))
    again = run(tmp_path, "again", with_gpu(STEPS, num_gpus=0.5, num_proc=1, batch_size=2, memory="1GB"))
    assert again.sql("SELECT bool_and(reused > 0) FROM shards").fetchall() == [(True,)]


def test_a_call_gets_batch_size_samples(tmp_path: Path) -> None:
    body = """
        return str(len(text))
    """
    own = operator_folder(tmp_path / "own", counting=body)
    path = own / "mappers" / "counting_mapper.py"
    path.write_text(
        path.read_text().replace("return each(column, change)", "return pa.array([str(len(column))] * len(column))")
    )
    write_lines(tmp_path / "in.jsonl", texts([f"text {n}" for n in range(10)]))
    run = refinery.run(settings(tmp_path, [{"counting_mapper": {"batch_size": 4}}], operators=[str(own)]))
    found = [json.loads(line)["text"] for line in Path(run.outputs[0]).read_text().splitlines()]
    assert found == ["4"] * 8 + ["2"] * 2


def test_without_a_gpu_the_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    write_lines(tmp_path / "in.jsonl", samples())
    with pytest.raises(OperatorError, match="recipe, step 3: gpu_mapper asks for 1 GPU, and this machine has none"):
        run(tmp_path, "no", with_gpu(STEPS, num_gpus=1))
    with pytest.raises(OperatorError, match="words_num_filter asks for 900,000.0 GB of memory in a worker"):
        run(tmp_path, "no", [{"words_num_filter": {"memory": "900TB"}}])


def test_what_one_worker_asks_for() -> None:
    require(StageResources(gpus=2, memory=10), 2, 10)
    with pytest.raises(OperatorError, match="asks for 3 GPUs, and this machine has 2"):
        require(StageResources(gpus=3, gpu_step="a.yaml:3: x"), 2, 10)


def test_gpus_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for named, count in (("0,3", 2), ("", 0), ("-1", 0), ("GPU-8932f937", 1)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
        assert gpus(tmp_path) == count
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert gpus(tmp_path) == 0
    (tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    assert gpus(tmp_path) == 1


def test_the_recipe_goes_before_the_header(tmp_path: Path) -> None:
    header = '"resources": {"num_gpus": 1, "memory": 1000, "batch_size": 16},'
    own = operator_folder(tmp_path / "own", header, gpu=SHOUTS)
    recipe, library = opened(tmp_path, [{"gpu_mapper": {"memory": "2MB", "num_proc": -1}}], operators=[str(own)])
    [step] = recipe.steps
    assert resources_of(step, library.operators["gpu_mapper"]) == StepResources(None, 1, 2_000_000, None, 16)
    assert of_steps([step], library.operators) == StageResources(
        gpus=1, memory=2_000_000, gpu_step="recipe, step 1: gpu_mapper", memory_step="recipe, step 1: gpu_mapper"
    )
    again = loads(dump(recipe), library=library)
    assert again.steps[0].resources == {"memory": 2_000_000, "num_proc": -1}
    assert "memory: 2000000" in dump(recipe)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_gpus": 1.5}, "must be a part of one GPU or a whole number of GPUs"),
        ({"num_gpus": -1}, "num_gpus must be at least 0"),
        ({"memory": "much"}, "memory must be a number of bytes"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"num_cpus": 1, "cpu_required": 2}, "are one key, with different values"),
    ],
)
def test_impossible_resources(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    own = operator_folder(tmp_path / "own", gpu=SHOUTS)
    with pytest.raises(RecipeError, match=said):
        opened(tmp_path, [{"gpu_mapper": given}], operators=[str(own)])


def test_the_plan_shows_resources(tmp_path: Path) -> None:
    from rich.console import Console

    write_lines(tmp_path / "in.jsonl", samples())
    own = operator_folder(tmp_path / "own", gpu=SHOUTS)
    steps = with_gpu(STEPS, num_gpus=0.5, memory="3GB", batch_size=32, num_proc=1)
    console = Console(width=200, record=True, file=io.StringIO())
    for part in planned(prepare(*opened(tmp_path, steps, operators=[str(own)])), False):
        console.print(part)
    text = console.export_text()
    assert "stage 2: 1 step fused into one pass over 1 shard with 1 worker" in text
    assert "resources: 0.5 GPU and 3,000 MB a worker, at most 1 worker; a stage of its own, for the GPU" in text
    assert "step 3 num_gpus 0.5, memory 3,000,000,000, num_proc 1, batch_size 32" in text


def test_a_script_over_a_cut(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples())
    steps = ["clean_email_mapper", {"text_length_filter": {"min_len": 12}}, {"document_deduplicator": {}}]
    steps[1:1] = [{"sentence_stats": {"num_gpus": 1}}]
    recipe = settings(tmp_path, steps)
    found = []
    for name, steps in (
        ("cut", recipe["process"]),
        ("whole", [s for s in recipe["process"] if "sentence_stats" not in s]),
    ):
        export = tmp_path / f"{name}.jsonl"
        script = refinery.compile(recipe | {"process": steps, "export_path": str(export)})
        with duckdb.connect() as con:
            refinery.register(con)
            con.execute(script).fetchall()
            found.append((export.read_text(), con.execute("SELECT _row, reason FROM ledger ORDER BY 1").fetchall()))
    assert found[0] == found[1] and found[0][1]
