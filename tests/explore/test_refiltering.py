"""The page starts `refinery refilter`: into a new folder, with the figures that the page has shown; nothing is overwritten."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.explore.pages import TOKEN, client_of
from tests.explore.test_bounds import SAMPLES, STEPS
from tests.runs import refine
from tests.waiting import HANG


def ended(client: TestClient) -> dict[str, Any]:
    """The refilter once it has ended."""
    end = time.monotonic() + HANG
    while (job := client.get("/api/bounds/refilter").json())["state"] == "running":
        assert time.monotonic() < end
        time.sleep(0.1)
    return dict(job)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("refilter")
    refine(root, SAMPLES, STEPS)
    return root / "run"


def test_a_refilter_makes_the_run_that_the_figures_promise(folder: Path) -> None:
    (folder.parent / "run-refiltered").mkdir()
    (folder.parent / "run-refiltered" / "mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with client_of(folder) as client:
        values = {"min_num": 5}
        figures = client.get("/api/bounds/trial", params={"step": 3, "values": json.dumps(values)}).json()
        assert client.get("/api/bounds/refilter").json() == {"state": "none"}
        started = client.post("/api/bounds/refilter", json={"changes": {"3": values}})
        assert started.status_code == 200 and started.json()["sets"] == ["process.3.min_num=5"]
        job = ended(client)
    assert job["state"] == "finished" and job["error"] == ""
    assert job["result"]["rows"]["kept"] == figures["together"]["rows"]
    assert (
        Path(job["folder"]).name == "run-refiltered-2"
        and (folder.parent / "run-refiltered-2/refinery.duckdb").is_file()
    )
    assert [path.name for path in (folder.parent / "run-refiltered").iterdir()] == ["mine.txt"]
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_refilter_that_fails_shows_the_message_and_leaves_no_folder(tmp_path: Path) -> None:
    refine(tmp_path, SAMPLES, STEPS)
    with client_of(tmp_path / "run") as client:
        (tmp_path / "in.jsonl").unlink()
        client.post("/api/bounds/refilter", json={"changes": {"3": {"min_num": 5}}})
        job = ended(client)
    assert job["state"] == "failed" and "in.jsonl" in job["error"] and "Traceback" not in job["error"]
    assert not (tmp_path / "run-refiltered").exists()


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"changes": {"3": {"min_num": 5}}}, {"x-refinery-token": "wrong"}, 403),
        ({"changes": {"3": {"min_num": 5}}}, {"origin": "http://127.0.0.1:1"}, 403),
        ({"changes": {"3": {"min_num": 3}}}, {}, 422),
        ({"changes": {"3": {"where": "1; DROP TABLE stats"}}}, {}, 422),
        ({"changes": {"../..": {}}}, {}, 422),
        ({"changes": {"3": 5}}, {}, 422),
        ({}, {}, 422),
        ([], {}, 422),
    ],
)
def test_a_refilter_that_is_refused_starts_nothing(
    folder: Path, body: Any, headers: dict[str, str], status: int
) -> None:
    with client_of(folder) as client:
        answer = client.post("/api/bounds/refilter", json=body, headers={"x-refinery-token": TOKEN, **headers})
        assert answer.status_code == status
        assert client.get("/api/bounds/refilter").json() == {"state": "none"}
