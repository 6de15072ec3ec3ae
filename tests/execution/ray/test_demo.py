"""The demo: both of its files, on this machine and on a cluster, leave the same samples."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refinery.cli.main import cli
from tests.conftest import ROOT
from tests.runs import lines_of
from tests.sampling import sampled

RECIPE = "recipes/ray_demo/configs/demo.yaml"


def started(folder: Path) -> Path:
    """The folder with the recipe at its place in the checkout."""
    shutil.copytree(ROOT / "recipes" / "ray_demo", folder / "recipes" / "ray_demo")
    return folder


def on_cluster(folder: Path, address: str) -> list[Any]:
    """Samples that a run of the demo on a cluster keeps, by a process in the folder."""
    command = [sys.executable, "-m", "refinery", "run", RECIPE, "--ray_address", address]
    done = subprocess.run(command, cwd=started(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return kept_in(folder)


def here(folder: Path, *options: str) -> list[Any]:
    """Samples that a run of the demo on this machine keeps, in this process."""
    with chdir(started(folder)):
        done = CliRunner().invoke(cli, ["run", RECIPE, "--executor_type", "default", *options])
    assert done.exit_code == 0, done.output
    return kept_in(folder)


def kept_in(folder: Path) -> list[Any]:
    target = folder / "outputs" / "ray_demo" / "demo-processed"
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    return [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]


def test_both_files_hold_the_same_documents() -> None:
    data = ROOT / "recipes" / "ray_demo" / "data"
    assert json.loads((data / "demo-dataset.json").read_text("utf-8")) == lines_of(data / "demo-dataset.jsonl")


@pytest.mark.parametrize("suffix", sampled([".jsonl", ".json"]))
def test_documents_that_are_kept(tmp_path: Path, suffix: str) -> None:
    kept = here(tmp_path, "--dataset_path", f"recipes/ray_demo/data/demo-dataset{suffix}")
    assert len(kept) == 42 and all("@" not in sample["text"] for sample in kept)


@pytest.mark.long
def test_on_a_cluster(cluster: Any, elsewhere: Path, tmp_path: Path) -> None:
    decoy = elsewhere / "recipes" / "ray_demo" / "data" / "demo-dataset.jsonl"
    decoy.parent.mkdir(parents=True)
    decoy.write_text('{"id": "decoy", "text": "another data set of the same name where the cluster was started"}\n')
    kept = on_cluster(tmp_path / "cluster", cluster.address)
    shutil.rmtree(elsewhere / "recipes")
    assert kept == here(tmp_path / "here")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("start", ["refinery", "python -m refinery"])
def test_the_page_names_both_commands(start: str) -> None:
    page = (ROOT / "docs" / "ray.md").read_text("utf-8")
    assert shlex.split(f"{start} run {RECIPE}") in [
        shlex.split(line.partition("#")[0]) for line in page.splitlines() if line.startswith("    ")
    ]
