"""Tests stand where the code stands: each folder of tests is a package of refinery, or has a reason of its own."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.conftest import ROOT

# Tests of several packages together, of the benchmarks, and texts that tests compare with.
ACROSS = {"bench", "conformance", "golden", "soak"}
# Cases of one subject that are too many for one file.
PARTS = {"io/hostile"}


def test_folders_of_tests_are_those_of_the_code() -> None:
    folders = {path.parent.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    own = {name for name in folders if name.split("/")[0] not in ACROSS and name not in PARTS}
    assert not [name for name in sorted(own) if not (ROOT / "refinery" / name).is_dir()]


def test_every_package_has_tests() -> None:
    packages = {path.parent.name for path in (ROOT / "refinery").glob("*/__init__.py")} - {"shipped"}
    assert not [name for name in sorted(packages) if not any((ROOT / "tests" / name).rglob("test_*.py"))]


def test_no_file_of_the_repository_is_large() -> None:
    """A clone stays small: no file above 2 MB, so no download lands in a commit by accident."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    paths = [ROOT / os.fsdecode(name) for name in names if name]
    assert paths and not [str(path) for path in paths if path.is_file() and path.stat().st_size > 2_000_000]
