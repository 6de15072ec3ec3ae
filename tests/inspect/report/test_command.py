"""`refinery report`: where it writes, and what it says when it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from refinery.api import Run
from refinery.inspect.report.page import page
from tests.commands import exit_code
from tests.runs import refine, texts

pytestmark = pytest.mark.usefixtures("capsys")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    steps = [{"text_length_filter": {"min_len": 4}}]
    return refine(tmp_path_factory.mktemp("small"), texts(["some text", "too"]), steps, open_tracer=True)


@pytest.fixture(scope="module")
def run_page(run: Run) -> str:
    return page(run.work_dir)


@pytest.fixture
def run_folder(run: Run, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run.work_dir, tmp_path / "run"))


def test_it_writes_into_the_run_folder(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], run_page: str
) -> None:
    assert exit_code(monkeypatch, "report", str(run_folder)) == 0
    assert capsys.readouterr().out == f"{run_folder / 'report.html'}\n"
    assert (run_folder / "report.html").read_text("utf-8") == run_page
    assert not list(run_folder.glob(".*html*"))


def test_it_writes_where_it_is_reported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], run_page: str
) -> None:
    target = tmp_path / "page.html"
    assert exit_code(monkeypatch, "report", str(run.work_dir), "-o", str(target)) == 0
    assert target.read_text("utf-8") == run_page and capsys.readouterr().out == f"{target}\n"
    assert exit_code(monkeypatch, "report", str(run.work_dir), "-o", "-") == 0
    assert capsys.readouterr().out == run_page


def test_a_place_that_cannot_be_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "report", str(run.work_dir), "-o", str(tmp_path / "none" / "page.html")) == 6
    assert "cannot be written: No such file or directory. Name another file with -o" in capsys.readouterr().err


def test_a_folder_without_a_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "report", str(tmp_path)) == 3
    assert "no finished run here (no refinery.duckdb)" in capsys.readouterr().err
    (tmp_path / "refinery.duckdb").write_bytes(b"no database" * 1000)
    assert exit_code(monkeypatch, "report", str(tmp_path)) == 3
    assert "cannot be opened" in capsys.readouterr().err


def test_another_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb.connect(str(tmp_path / "refinery.duckdb")).close()
    assert exit_code(monkeypatch, "report", str(tmp_path)) == 3
    assert "is not a run's database, it has no table clusters" in capsys.readouterr().err


def test_a_database_of_another_version(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(run_folder / "refinery.duckdb")) as con:
        con.execute("ALTER TABLE steps DROP COLUMN bytes_in").fetchall()
    assert exit_code(monkeypatch, "report", str(run_folder)) == 3
    assert "is of another version of refinery" in capsys.readouterr().err
