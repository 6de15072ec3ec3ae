"""Drivers that are killed in each phase of a run: the same command continues, to the results of one machine."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import refinery
from refinery.api import Run
from refinery.results.database import Counts
from tests.conftest import ROOT
from tests.execution.ray.gates import PHASES
from tests.execution.ray.runs import assert_same, samples
from tests.execution.ray.test_lost_machines import KEYS, STEPS, nothing_is_left
from tests.runs import rows, settings, write_lines
from tests.sampling import named


def command(phase: str, recipe: Path) -> subprocess.CompletedProcess[str]:
    """Run a recipe with a driver that is killed in a phase."""
    arguments = [sys.executable, "-m", "tests.execution.ray.killed_driver", phase, "run", str(recipe), "--quiet"]
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=300)


def of(folder: Path) -> Run:
    """The finished run in a folder."""
    parts = tuple(sorted((folder / "kept").iterdir()))
    return Run(folder, folder / "refinery.duckdb", parts, Counts(0, 0, 0, 0), (), 0.0, 0)


@pytest.mark.parametrize("phase", named({phase: phase for phase in PHASES}, "tables"))
def test_the_same_command_continues(cluster: Any, tmp_path: Path, phase: str) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    place, recipe = tmp_path / "ray", tmp_path / "recipe.yaml"
    keys = KEYS | {"executor_type": "ray", "ray_address": cluster.address, "export_path": place / "kept"}
    recipe.write_text(yaml.safe_dump(settings(tmp_path, STEPS, work_dir=place, **keys)))
    killed = command(phase, recipe)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (place / "refinery.duckdb").exists()
    ended = command("none", recipe)
    assert ended.returncode == 0, ended.stderr
    found = of(place)
    reused = rows(found, "shards", "count(*) FILTER (reused > 0), count(*)")
    assert reused[0][0] >= (1 if phase == "shards" else reused[0][1])
    here = {"executor_type": "default", "work_dir": str(tmp_path / "local")}
    assert_same(refinery.run(str(recipe), export_path=str(tmp_path / "local" / "out.jsonl"), **here), found)
    nothing_is_left(place)
