"""Runs of `substring_deduplicator` that are killed: the same command continues, to the bytes of a run that nobody disturbs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checkpoints.test_killed import left
from tests.conftest import ROOT
from tests.dedup.killed_substrings import PHASES
from tests.dedup.test_substrings import NAME, documents
from tests.runs import texts, write_lines

STEPS: list[Any] = [
    {"sql_mapper": {"text": "replace(text, 'a', 'ab')"}},
    {NAME: {"min_length": 12}},
    "whitespace_normalization_mapper",
]


def refined(phase: str, samples: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the recipe in a folder, and kill it in a phase."""
    folder.mkdir(exist_ok=True)
    recipe = {
        "dataset_path": str(samples),
        "export_path": str(folder / "out.jsonl"),
        "work_dir": str(folder / "run"),
        "np": 2,
        "shard_size": 1_000,
        "process": STEPS,
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    command = [sys.executable, "-m", "tests.dedup.killed_substrings", phase, "run", "recipe.yaml", "--quiet"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}  # messages name the recipe as it is given, wherever the folder is
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("killed") / "in.jsonl", texts(documents()))


@pytest.fixture(scope="module")
def undisturbed(samples: Path) -> Callable[[], Any]:
    @cache
    def run() -> Any:
        folder = samples.with_name("undisturbed")
        ended = refined("none", samples, folder)
        assert ended.returncode == 0, ended.stderr
        return left(folder)

    return run


@pytest.mark.long  # tests/checkpoints/test_killed.py kills runs in make test
@pytest.mark.parametrize("phase", PHASES)
def test_the_same_command_continues(samples: Path, tmp_path: Path, undisturbed: Callable[[], Any], phase: str) -> None:
    folder = tmp_path / "killed"
    killed = refined(phase, samples, folder)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (folder / "run" / "refinery.duckdb").exists()
    ended = refined("none", samples, folder)
    assert ended.returncode == 0, ended.stderr
    found, whole = left(folder), undisturbed()
    for table, rows in whole[0].items():
        assert found[0][table] == rows, table
    assert found[1:] == whole[1:] and len(whole[0]["duplicates"]) > 50
