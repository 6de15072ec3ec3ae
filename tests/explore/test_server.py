"""`refinery explore`: starts on this machine alone, ends with Ctrl-C, and says what it cannot do."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import httpx
import pytest

from refinery.storage.run_folder import RunDir
from tests import commands
from tests.runs import refine, texts
from tests.waiting import HANG


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    refine(root, texts(["a", "bb", "a longer text"]), [{"text_length_filter": {"min_len": 2}}])
    return root / "run"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "refinery", "explore", *map(str, arguments)]


def ended(*arguments: object) -> tuple[int, str]:
    """Exit code and message of a command that does not start."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=HANG)
    return done.returncode, done.stderr


@pytest.fixture
def page(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A started command, and the address that it prints."""
    process = subprocess.Popen(command(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_the_printed_address_shows_the_page_until_ctrl_c(page: tuple[subprocess.Popen[str], str]) -> None:
    process, address = page
    assert address.startswith("http://127.0.0.1:") and "?token=" in address
    with httpx.Client(timeout=HANG) as client:
        assert "refinery explore" in client.get(address).text
        origin = address.partition("/?")[0]
        assert client.get(f"{origin}/api/waterfall").json()["run"]["rows_kept"] == 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0 and err == ""


def test_a_port_that_is_taken_is_an_error(folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        code, message = commands.command("explore", str(folder), "--port", str(taken.getsockname()[1]))
    assert code == 6 and "Name another --port" in message


def test_a_folder_without_a_run_is_an_error(tmp_path: Path, folder: Path) -> None:
    code, message = commands.command("explore", str(tmp_path))
    assert code == 3 and "no finished run here" in message
    code, message = commands.command("explore", str(folder), "--with", str(tmp_path / "none"))
    assert code == 2 and "does not exist" in message


def test_a_run_at_work_is_named(tmp_path: Path) -> None:
    with RunDir(tmp_path / "run").held():
        code, message = ended(tmp_path / "run")
    assert code == 3 and "a run is at work here" in message and "--watch" in message


def test_tables_that_another_program_writes_to_are_an_error(folder: Path) -> None:
    with duckdb.connect(str(folder / "refinery.duckdb")):
        code, message = ended(folder)
    assert code == 3 and "cannot be opened" in message and "lock" in message and "Traceback" not in message


def test_a_missing_package_is_named_with_the_command_that_brings_it(folder: Path) -> None:
    start = "import sys; sys.modules['uvicorn'] = None; from refinery.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "explore", str(folder)], capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 4 and "pip install 'starlette" in done.stderr and "(extra explore of" in done.stderr
