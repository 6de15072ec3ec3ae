"""Faults of a run: a place that cannot be written, exhausted memory or disk, a user who stops the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import DataError, OperatorError, OutputError
from refinery.storage.run_folder import RunDir
from tests.conftest import ROOT
from tests.runs import content, exported, operator_folder, refine, settings, texts, write_lines
from tests.sampling import named
from tests.waiting import HANG, until

STEPS: list[Any] = [{"text_length_filter": {"min_len": 3}}, {"sql_mapper": {"text": "text || '!'"}}]
SAMPLES = texts(["one", "no", "three"])

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from refinery.cli.main import main
main()
"""


def left(folder: Path) -> list[str]:
    """Names of everything in a folder and the run's own in it, but for what watching a run leaves."""
    found = [*folder.iterdir(), *(folder / ".refinery").glob("*")]
    return sorted({path.name for path in found} - {"log", "status.json", ".refinery"})


# Places that cannot be written


def test_a_file_in_the_way_of_the_export(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    keys = {"export_path": tmp_path / "file" / "out.jsonl", "work_dir": tmp_path / "run"}
    with pytest.raises(
        OutputError, match="file/out.jsonl: cannot be written: .*A part of the path is a file"
    ) as caught:
        refine(tmp_path, SAMPLES, STEPS, **keys)
    assert caught.value.exit_code == 6 and not (tmp_path / "run").exists()
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_file_in_the_way_of_the_run_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for work_dir in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(OutputError, match="file.*: cannot be written: "):
            refine(tmp_path, SAMPLES, STEPS, work_dir=work_dir)
    assert not (tmp_path / "run").exists()


def test_a_folder_in_the_way_of_the_export(tmp_path: Path) -> None:
    (tmp_path / "run" / "out.jsonl").mkdir(parents=True)
    with pytest.raises(OutputError, match="out.jsonl: cannot be written: .*It is a folder; name a file in it"):
        refine(tmp_path, SAMPLES, STEPS)
    assert left(tmp_path / "run") == ["out.jsonl"]


@pytest.mark.parametrize("name", ["in.jsonl", "link.jsonl"])
def test_an_input_is_never_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "in.jsonl")
    for keys in ({"dataset_path": tmp_path / name}, {"dataset_path": tmp_path}):
        with pytest.raises(
            OutputError, match="n.*.jsonl: cannot be written: it is also read. Choose another export_path"
        ):
            refine(tmp_path, SAMPLES, STEPS, export_path=tmp_path / "in.jsonl", **keys)
    assert len((tmp_path / "in.jsonl").read_text().splitlines()) == 3 and not (tmp_path / "refinery.duckdb").exists()


def test_two_runs_cannot_share_a_folder(tmp_path: Path) -> None:
    with RunDir(tmp_path / "run").held():
        with pytest.raises(OutputError, match="another run is writing here. Wait for it, or set another work_dir"):
            refine(tmp_path, SAMPLES, STEPS)
    assert len(exported(refine(tmp_path, SAMPLES, STEPS))) == 2


# No more room


@pytest.mark.parametrize("limit", named({"for tables": 700_000, "for samples": 100_000}, "for tables"))
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, limit: int) -> None:
    before = refine(tmp_path, SAMPLES, STEPS)
    tables, export, names = content(before), before.outputs[0].read_bytes(), left(before.work_dir)
    stats = (before.work_dir / "out_stats.jsonl").read_bytes()
    write_lines(tmp_path / "in.jsonl", texts(f"{k} " * 20 for k in range(4000)))
    (tmp_path / "recipe.json").write_text(json.dumps(settings(tmp_path, STEPS)))
    command = [sys.executable, "-c", LIMITED, str(limit), "run", str(tmp_path / "recipe.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 6 and "cannot be written: " in done.stderr and "Traceback" not in done.stderr
    assert "too large" in done.stderr
    assert content(before) == tables
    # The second limit is met when the new export is there already; without tables it has its name no more, and the file of
    # its statistics is gone, or not yet written.
    unfinished = [name for name in left(before.work_dir) if name.startswith(".out.jsonl.")]
    assert len(unfinished) == (limit > 500_000)
    said = "1 shard is done and kept: run the same command again to continue" in done.stderr
    assert said == (limit > 500_000)
    here = [name for name in left(before.work_dir) if name not in unfinished]
    if "out_stats.jsonl" in here:
        assert (before.work_dir / "out_stats.jsonl").read_bytes() == stats
    gone = set() if limit < 500_000 else {"out.jsonl", "out_stats.jsonl"} - set(here)
    assert here == [name for name in names if name not in gone] and ("out.jsonl" in gone) == (limit > 500_000)
    assert limit > 500_000 or before.outputs[0].read_bytes() == export
    assert len(exported(refinery.run(settings(tmp_path, STEPS)))) == 4000


def test_too_little_memory_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="memory ran out: .*raise memory_limit") as caught:
        refine(tmp_path, texts(["word " * 500_000] * 3), STEPS, memory_limit="1MB")
    assert caught.value.exit_code == 4 and left(tmp_path / "run") == []


# Broken inputs and operators


def test_a_table_that_breaks_off_ends_the_run(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": [f"text {k} " * 50 for k in range(5000)]}), path, compression="none")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4000] = b"\xff" * 4000
    path.write_bytes(data)
    with pytest.raises(DataError, match="in.parquet: reading failed") as caught:
        refinery.run(settings(tmp_path, STEPS, dataset_path=path))
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import no_such_module\n",
            "bad_mapper.py: cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("raise OSError('odd')\n", "bad_mapper.py: cannot be imported: OSError: odd"),
        ("del call\n", "bad_mapper.py: has no function 'call'"),
    ],
)
def test_an_operator_that_cannot_be_loaded(tmp_path: Path, text: str, message: str) -> None:
    operators = operator_folder(tmp_path / "ops", bad="return text")
    path = operators / "mappers" / "bad_mapper.py"
    path.write_text(path.read_text() + text)
    with pytest.raises(OperatorError) as caught:
        refine(tmp_path, SAMPLES, [{"bad_mapper": None}], operators=[str(operators)])
    assert message in str(caught.value)


def test_an_operator_that_gives_too_few_values(tmp_path: Path) -> None:
    operators = operator_folder(tmp_path / "ops", short="return text")
    path = operators / "mappers" / "short_mapper.py"
    path.write_text(path.read_text().replace("return each(column, change)", "return each(column, change)[1:]"))
    with pytest.raises(OperatorError, match="short_mapper: the function call .* returned 2 values for 3 rows"):
        refine(tmp_path, SAMPLES, [{"short_mapper": None}], operators=[str(operators)])


# Somebody stops it


class Slow:
    """A run in a process of its own, of a mapper that takes its time."""

    def __init__(self, folder: Path) -> None:
        operators = operator_folder(
            folder / "ops",
            slow="""
                import os, time
                while text.startswith(os.environ.get("WAIT_AT", "none")):
                    time.sleep(0.02)
                return text + "!"
            """,
        )
        self.folder = folder
        self.recipe = settings(folder, [{"slow_mapper": None}], operators=[str(operators)], np=2, shard_size=700)
        write_lines(folder / "in.jsonl", texts(f"text {k}" for k in range(300)))
        (folder / "recipe.json").write_text(json.dumps(self.recipe))

    def stopped(self, number: int) -> tuple[int, str]:
        """Exit code and messages; the signal comes when a shard is done, and another one waits for ever."""
        command = [sys.executable, "-m", "refinery", "run", str(self.folder / "recipe.json")]
        env = {**os.environ, "WAIT_AT": "text 29"}
        with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True) as process:
            try:
                done = "run/.refinery/parts/*/00000.done.json"
                until(lambda: list(self.folder.glob(done)), lambda: process.poll() is None)
                process.send_signal(number)
                _, messages = process.communicate(timeout=HANG)
                return process.returncode, messages
            finally:
                process.kill()


def test_ctrl_c_ends_a_run_at_once(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    code, messages = slow.stopped(signal.SIGINT)
    assert code == 130 and "interrupted" in messages and "Traceback" not in messages
    assert "run the same command again to continue" in messages
    run = refinery.run(slow.recipe)
    assert run.sql("SELECT reused FROM shards WHERE shard = 0").fetchall() == [(1,)]
    assert [row["text"] for row in exported(run)] == [f"text {k}!" for k in range(300)]


@pytest.mark.long
def test_a_killed_run_can_be_run_again(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    code, _ = slow.stopped(signal.SIGKILL)
    assert code == -signal.SIGKILL and left(tmp_path / "run") == ["parts"]
    (tmp_path / "run" / ".refinery" / ".refinery.duckdb.4711").write_bytes(b"half of it")
    again = refinery.run(slow.recipe)
    names = left(again.work_dir)
    other = refinery.run(
        slow.recipe, work_dir=str(tmp_path / "other"), export_path=str(tmp_path / "other" / "out.jsonl")
    )
    assert content(again) == content(other) and names == left(other.work_dir)
    assert again.outputs[0].read_bytes() == other.outputs[0].read_bytes()
