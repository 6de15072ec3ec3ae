"""The page of a run for tests: its JSON without a network, and the whole page in a real browser."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from refinery.explore.app import make_app
from refinery.explore.run import ExploredRun
from tests.waiting import HANG

TOKEN = "a-token-of-tests"
PLACE = "http://127.0.0.1:8765"


@contextmanager
def client_of(folder: Path, others: Sequence[Path] = ()) -> Iterator[TestClient]:
    """A client that has the token, as the page has it once it was opened."""
    run = ExploredRun(folder, others)
    with TestClient(make_app(run, TOKEN), base_url=PLACE) as client:
        client.get("/", params={"token": TOKEN})
        client.headers["x-refinery-token"] = TOKEN
        yield client
    run.close()


@contextmanager
def served(folder: Path, others: Sequence[Path] = ()) -> Iterator[str]:
    """The address of the page, served to this machine by a thread."""
    run = ExploredRun(folder, others)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(run, TOKEN), log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/?token={TOKEN}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
        run.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium; the test is skipped where there is none."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=1000 * HANG)
        yield browser
        browser.close()


class Watched:
    """A page in the browser that notes dialogs and errors, which the test then wants none of."""

    def __init__(self, browser: Any, address: str, width: int = 1200, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(1000 * HANG)
        self.page.set_default_navigation_timeout(1000 * HANG)
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.goto(address)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def show(self, view: str, selector: str) -> Any:
        """Go to a view by its address, and wait for an element of it."""
        self.page.evaluate("hash => { location.hash = hash; }", f"/{view}")
        self.page.wait_for_selector(selector)
        return self.page

    def is_wider_than_window(self) -> bool:
        """True if the whole page scrolls sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))
