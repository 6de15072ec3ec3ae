"""Machines that do not share the folders of a run are named before the run, and nothing is left in the folders."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refinery.errors import OperatorError, OutputError
from refinery.execution.ray import environment, machines
from refinery.execution.ray.environment import SharedPlace, require_shared, shared_folder, shared_place
from refinery.execution.ray.machines import check_here, check_machines


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "PATIENCE", 0.0)


class _Lost(Exception):
    """An error of Ray: the machine is gone."""


class _Raised(_Lost):
    """An error of Ray: the task has raised."""

    traceback_str = "traceback"


class _Exceptions:
    RayError = _Lost


class _Cluster:
    """In place of Ray: machines that answer as functions do, one after another in this process."""

    exceptions = _Exceptions

    def __init__(self, **answers: Callable[..., Any]) -> None:
        self._answers, self.silent = answers, set[str]()

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name * 56, "Alive": True, "Resources": {"CPU": 2.0}, "NodeManagerHostname": f"host-{name}"}
            for name in self._answers
        ]

    def remote(self, **options: Any) -> Callable[..., Any]:
        return lambda function: self

    def options(self, **options: Any) -> Any:
        cluster = self

        class Call:
            def remote(self, folder: str, name: str, requirements: str, board: Any, places: Any, node: str) -> str:
                cluster._places = places
                return node

        return Call()

    def wait(self, references: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        return [one for one in references if one not in self.silent], [one for one in references if one in self.silent]

    def cancel(self, reference: str, force: bool) -> None: ...

    def get(self, node: str) -> str:
        return json.dumps({"ok": self._answers[node[0]](self._places, node)})


def alone(places: Any, node: str) -> str:
    """A machine that writes to a folder of its own."""
    return f"host-{node[0]}"


def without_package(places: Any, node: str) -> str:
    raise _Raised("The remote function failed to import on the worker.\nModuleNotFoundError: No module named 'duckdb'")


def gone(places: Any, node: str) -> str:
    raise _Lost("the machine has died")


def checked(folder: Path, **answers: Callable[..., Any]) -> None:
    with shared_place("work_dir", str(folder), "n1") as place:
        check_machines(_Cluster(**answers), "", [place], os.getcwd())


def test_machines_that_share_a_folder(tmp_path: Path) -> None:
    checked(tmp_path, a=check_here, b=check_here, c=gone)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_machine_that_writes_elsewhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        checked(tmp_path, a=check_here, b=alone, c=alone)
    said = str(caught.value)
    assert f"work_dir: {tmp_path}: a file that the machine host-b writes there is not visible here" in said
    assert "host-c" in said and "host-a" not in said and "all machines have mounted" in said


def test_a_machine_without_the_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match="work_dir: .*missing: the machine .* has no such folder. Put it on a file system"
    ):
        require_shared(SharedPlace("work_dir", str(tmp_path / "missing"), "n1"))
    assert not (tmp_path / "missing").exists()
    with pytest.raises(OutputError, match="has another folder there than the machine of the driver"):
        require_shared(SharedPlace("work_dir", str(tmp_path), "n1"))


def test_a_nonce_of_another_run_does_not_count(tmp_path: Path) -> None:
    with shared_place("work_dir", str(tmp_path), "n1"), pytest.raises(OutputError, match="another folder"):
        require_shared(SharedPlace("work_dir", str(tmp_path), "n2"))


def test_a_folder_that_cannot_be_written_names_machine_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Any, name: str, text: str) -> None:
        raise OSError(28, "No space left on device")

    with shared_place("work_dir", str(tmp_path), "n1") as place:
        monkeypatch.setattr("refinery.storage.local.LocalStore.write_text", full)
        with pytest.raises(OutputError, match="the machine .* cannot write there: No space left on device"):
            check_here([list(place)], "a")


def test_nothing_is_left_in_the_folder_of_the_export(tmp_path: Path) -> None:
    for made in (False, True):
        folder = tmp_path / "kept"
        if made:
            folder.mkdir()
        with shared_folder("export_path", str(folder), "n1") as place:
            check_machines(_Cluster(a=check_here), "", [place], os.getcwd())
        assert folder.exists() == made and not any(tmp_path.rglob("*/*"))
        shutil.rmtree(folder, ignore_errors=True)


def test_a_machine_without_a_package_is_named_with_the_package(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="the machine host-b has no Python package 'duckdb'.* Install the same"):
        checked(tmp_path, a=check_here, b=without_package)


def test_a_fault_of_refinery_keeps_its_traceback(tmp_path: Path) -> None:
    def breaks(places: Any, node: str) -> str:
        raise _Raised("ZeroDivisionError")

    with pytest.raises(_Raised, match="ZeroDivisionError"):
        checked(tmp_path, a=breaks)


def test_a_machine_that_is_silent_is_left_to_its_first_task(tmp_path: Path) -> None:
    cluster = _Cluster(a=check_here, b=alone)
    cluster.silent = {"b" * 56}
    with shared_place("work_dir", str(tmp_path), "n1") as place:
        machines.check_machines(cluster, "", [place], os.getcwd())
