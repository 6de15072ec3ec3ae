"""The demo: both of its files, on this machine and on a cluster, leave the same samples."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

RECIPE = "recipes/ray_demo/configs/demo.yaml"


def demo(folder: Path, *options: str) -> list[Any]:
    """Samples that a run of the demo keeps, started in a folder with the recipe at its place in the checkout."""
    shutil.copytree(ROOT / "recipes" / "ray_demo", folder / "recipes" / "ray_demo")
    command = [sys.executable, "-m", "refinery", "run", RECIPE, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    target = folder / "outputs" / "ray_demo" / "demo-processed"
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    return [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]


def test_both_files_hold_the_same_documents(tmp_path: Path) -> None:
    kept = demo(tmp_path / "lines", "--executor_type", "default")
    dataset = "recipes/ray_demo/data/demo-dataset.json"
    assert demo(tmp_path / "array", "--executor_type", "default", "--dataset_path", dataset) == kept
    assert len(kept) == 42 and all("@" not in sample["text"] for sample in kept)


@pytest.mark.long
def test_on_a_cluster(cluster: Any, elsewhere: Path, tmp_path: Path) -> None:
    decoy = elsewhere / "recipes" / "ray_demo" / "data" / "demo-dataset.jsonl"
    decoy.parent.mkdir(parents=True)
    decoy.write_text('{"id": "decoy", "text": "another data set of the same name where the cluster was started"}\n')
    kept = demo(tmp_path / "cluster", "--ray_address", cluster.address)
    shutil.rmtree(elsewhere / "recipes")
    assert kept == demo(tmp_path / "here", "--executor_type", "default")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("start", ["refinery", "python -m refinery"])
def test_the_page_names_both_commands(start: str) -> None:
    page = (ROOT / "docs" / "ray.md").read_text("utf-8")
    assert shlex.split(f"{start} run {RECIPE}") in [
        shlex.split(line.partition("#")[0]) for line in page.splitlines() if line.startswith("    ")
    ]
