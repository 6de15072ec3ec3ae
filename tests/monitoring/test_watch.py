"""Monitoring of a run's resources and progress: tables, status, logs."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refinery.api import Run
from refinery.cli.main import cli
from refinery.cli.render.status import lines
from refinery.errors import RefineryError
from refinery.monitoring import log, sampling, state
from refinery.monitoring.status import status
from refinery.storage.run_folder import RunDir
from tests.runs import operator_folder, refine, settings, texts, write_lines
from tests.waiting import until

SLOW = """
    import logging, os, time
    logging.getLogger("theirs").info("working on %s", text)
    while text.startswith(os.environ.get("WAIT_AT", "none")):
        time.sleep(0.05)
    return text + "!"
"""


def outcome_of(folder: Path) -> dict[str, Any]:
    """`refinery status --json`."""
    done = CliRunner().invoke(cli, ["status", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def events(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (folder / ".refinery" / "log" / "run.jsonl").read_text(encoding="utf-8").splitlines()
    ]


# Tables


def test_every_part_of_a_run_is_measured(tmp_path: Path) -> None:
    run = refine(
        tmp_path,
        texts(f"some words {k % 50}" for k in range(500)),
        [{"document_deduplicator": None}, {"text_length_filter": None}],
    )
    parts = run.sql("SELECT DISTINCT stage, phase FROM monitor WHERE phase <> 'preparing' ORDER BY ALL").fetchall()
    assert parts == [(1, "deduplicator"), (1, "shards"), (2, "shards"), (None, "tables")]
    assert run.sql(
        "SELECT count(*) FROM monitor WHERE worker <> 'all' OR cpu < 0 OR memory < 1e7 OR elapsed < 0"
    ).fetchall() == [(0,)]
    assert run.sql(
        "SELECT count(*) > 2, bool_and(disk_free > 0), max(rows_per_second) > 0 FROM monitor"
    ).fetchall() == [(True, True, True)]
    ordered = run.sql("SELECT elapsed FROM monitor").fetchall()
    assert ordered == sorted(ordered)
    steps = run.sql(
        "SELECT step, operator, stage, samples > 0, cpu_min <= cpu_avg AND cpu_avg <= cpu_max, memory_max > 1e7 FROM step_resources"
    ).fetchall()
    assert steps == [(1, "document_deduplicator", 1, True, True, True), (2, "text_length_filter", 2, True, True, True)]


def test_open_monitor_measures_every_worker(tmp_path: Path) -> None:
    operators = operator_folder(tmp_path / "ops", slow="return text")
    run = refine(
        tmp_path,
        texts(f"text {k}" for k in range(300)),
        [{"slow_mapper": None}],
        operators=[str(operators)],
        np=2,
        shard_size=2_000,
        open_monitor=True,
    )
    workers = {worker for (worker,) in run.sql("SELECT DISTINCT worker FROM monitor").fetchall()}
    assert "all" in workers and any(worker.startswith(("thread ", "process ")) for worker in workers)


def working(uses: list[sampling.ResourceUse], pid: int) -> tuple[sampling.ResourceUse, sampling.ResourceUse] | None:
    """The use of all, and of a child that has used a processor since the measurement before."""
    whole, *others = uses
    return next(((whole, use) for use in others if use.pid == pid and use.cpu > 0 and use.memory), None)


def test_a_sampler_counts_time_and_children() -> None:
    sampler = sampling.Sampler()
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        whole, busy = until(lambda: working(sampler.measure(True), child.pid))
        assert busy.worker == f"process {child.pid}" and busy.memory and busy.memory > 1e6
        assert whole.worker == "all" and whole.cpu >= busy.cpu and (whole.memory or 0) > busy.memory
    finally:
        child.kill()
        child.wait()
    assert all(use.pid != child.pid for use in sampler.measure(True))


def test_gpus_are_those_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nvml:
        nvmlInit = staticmethod(lambda: None)
        nvmlDeviceGetCount = staticmethod(lambda: 2)
        nvmlDeviceGetHandleByIndex = staticmethod(lambda i: i)
        nvmlDeviceGetUtilizationRates = staticmethod(lambda i: type("Rates", (), {"gpu": 50 + 25 * i}))
        nvmlDeviceGetMemoryInfo = staticmethod(lambda i: type("Memory", (), {"used": 1000 + i}))

    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert sampling.gpus() is None
    monkeypatch.setitem(sys.modules, "pynvml", Nvml)
    assert sampling.gpus() == (1.25, 2001)


# Status


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    assert outcome_of(tmp_path) == {"state": "none"}
    assert CliRunner().invoke(cli, ["status", str(tmp_path / "nowhere")]).exit_code == 2


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that tests only look at."""
    samples = [*texts(["long enough", "also long"]), "no json"]
    return refine(tmp_path_factory.mktemp("finished"), samples, [{"text_length_filter": {"min_len": 10}}])


def test_a_run_that_has_ended_well_is_told_from_its_tables(finished: Run) -> None:
    run, found = finished, outcome_of(finished.work_dir)
    assert (found["state"], found["rows"], found["kept"], found["removed"], found["quarantined"]) == (
        "finished",
        3,
        1,
        1,
        1,
    )
    assert found["last_quarantined"]["line"] == 3 and found["peak_memory"] > 1e7 and found["seconds"] > 0
    assert not (run.work_dir / ".refinery" / "status.json").exists()
    shown = "\n".join(lines(found, "run"))
    assert "3 rows read = 1 kept + 1 removed + 1 quarantined" in shown and "in.jsonl:3" in shown


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(RefineryError):
        refine(tmp_path, ["no json"] * 9, [{"text_length_filter": None}], max_quarantined=3)
    found = outcome_of(tmp_path / "run")
    assert found["state"] == "failed" and "quarantined" in found["error"] and not found["before"]
    assert "ended with an error" in lines(found, "run")[0]
    assert events(tmp_path / "run")[-1]["event"] == "failed"


def waits(found: dict[str, Any]) -> bool:
    """Return whether shards are done, and workers seen, of a run that then waits for ever."""
    return found.get("shards", 0) >= 2 and bool(found["workers"]) and found["rows"] > 0


def test_a_run_is_seen_from_outside_while_it_works_and_after_it_was_killed(tmp_path: Path) -> None:
    operators = operator_folder(tmp_path / "ops", slow=SLOW)
    write_lines(tmp_path / "in.jsonl", ["no json", *texts(f"text {k}" for k in range(400))])
    recipe = settings(
        tmp_path, [{"slow_mapper": None}], operators=[str(operators)], np=2, shard_size=500, open_monitor=True
    )
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    command = [sys.executable, "-m", "refinery", "run", str(tmp_path / "recipe.json")]
    folder = tmp_path / "run"
    with subprocess.Popen(command, env={**os.environ, "WAIT_AT": "text 39"}, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: waits(state.look(RunDir(folder))), lambda: process.poll() is None)
            found = outcome_of(folder)
            assert (found["state"], found["pid"], found["stage"], found["stages"]) == ("running", process.pid, 1, 1)
            assert 2 <= found["shards"] < found["of"] and 0 < found["bytes"] < found["total"] and found["rows"] > 0
            assert found["memory"] > 1e7 and found["seconds_left"] > 0 and found["quarantined"] == 1
            assert found["last_quarantined"]["file"].endswith("in.jsonl") and found["last_quarantined"]["line"] == 1
            shown = "\n".join(lines(found, "run"))
            assert f"process {process.pid}" in shown and "left" in shown and "in.jsonl:1" in shown
        finally:
            process.send_signal(signal.SIGKILL)
    found = outcome_of(folder)
    assert found["state"] == "interrupted" and found["shards_kept"] >= 2
    assert "the same command continues" in "\n".join(lines(found, "run"))
    written = (folder / ".refinery" / "log" / "run.log").read_text()
    assert "INFO theirs: working on text" in written  # whichever process it was


def test_watching_ends_with_the_run(finished: Run) -> None:
    done = CliRunner().invoke(cli, ["status", str(finished.work_dir), "--watch"])
    assert done.exit_code == 0 and "finished" in done.output


def test_a_state_that_is_no_state_is_none(tmp_path: Path) -> None:
    (tmp_path / ".refinery").mkdir()
    (tmp_path / ".refinery" / "status.json").write_text("[1, 2]")
    assert status(RunDir(tmp_path)) == {"state": "none"}
    (tmp_path / ".refinery" / "status.json").write_text('{"state": "running", "pid": 1')
    assert status(RunDir(tmp_path)) == {"state": "none"}


# Logs


def test_the_log_tells_what_happened_in_both_forms(tmp_path: Path) -> None:
    operators, level = operator_folder(tmp_path / "ops", slow=SLOW), logging.getLogger().level
    run = refine(tmp_path, [*texts(["one", "two"]), "no json"], [{"slow_mapper": None}], operators=[str(operators)])
    found = events(run.work_dir)
    names = [event["event"] for event in found]
    assert names[0] == "began" and names[-1] == "ended" and {"stage", "shard", "quarantine"} <= set(names)
    shard = next(event for event in found if event["event"] == "shard")
    assert (shard["rows"], shard["quarantined"], shard["level"], shard["logger"]) == (3, 1, "INFO", "refinery.run")
    assert {"working on one", "working on two"} <= {e["message"] for e in found if e["logger"] == "theirs"}
    text = (run.work_dir / ".refinery" / "log" / "run.log").read_text()
    assert len(text.splitlines()) == len(found) and "WARNING refinery.run: shard 0: 1 rows quarantined" in text
    assert logging.getLogger().level == level and "REFINERY_LOG" not in os.environ


def test_what_is_logged_cannot_pretend_to_be_another_line(tmp_path: Path) -> None:
    with log.logged(tmp_path):
        logging.getLogger("theirs").warning("first\n2026-01-01T00:00:00Z INFO refinery.run: \x1b[2Jrun ended well")
    text = (tmp_path / "run.log").read_text()
    assert "\x1b" not in text and len([line for line in text.splitlines() if line.startswith("20")]) == 1
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 1


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "run" / ".refinery").mkdir(parents=True)
    (tmp_path / "run" / ".refinery" / "log").write_text("in the way")
    run = refine(tmp_path, texts(["long enough"]), [{"text_length_filter": None}])
    assert run.counts.kept == 1 and (run.work_dir / ".refinery" / "log").read_text() == "in the way"


def test_a_long_log_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_LARGEST", 10)
    for _ in range(2):
        with log.logged(tmp_path):
            log.event("one", "this is a line")
    assert (
        "this is a line" in (tmp_path / "run.log.1").read_text()
        and len((tmp_path / "run.log").read_text().splitlines()) == 1
    )


def test_the_report_tells_what_the_run_used(finished: Run, tmp_path: Path) -> None:
    import duckdb

    folder = shutil.copytree(finished.work_dir, tmp_path / "run")
    assert CliRunner().invoke(cli, ["report", str(folder)]).exit_code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What the run used of the machine" in page and "Stage 1: shards" in page
    with duckdb.connect(str(folder / finished.database.name)) as con:  # as runs were before
        con.execute("DROP TABLE monitor").fetchall()
    assert CliRunner().invoke(cli, ["report", str(folder)]).exit_code == 0
    assert "What the run used" not in (folder / "report.html").read_text(encoding="utf-8")
