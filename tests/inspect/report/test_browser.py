"""The page in a real browser: no complaint on the console, no request but for the page itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from refinery.inspect.report.page import style
from tests.waiting import HANG

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

QUIET = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-extensions", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def visit(folder: Path, html: str, *arguments: str) -> tuple[list[str], list[str], str]:
    """Console messages of a page, requests of the page, and the page as the browser parsed it."""
    (folder / "page.html").write_text(html, "utf-8")
    log = folder / "net.json"
    options = [*QUIET, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", "--dump-dom", *arguments]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [str(BROWSER), *options, (folder / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True)
    console = re.findall(r"CONSOLE[:(].*", done.stderr)
    events = json.loads(log.read_text("utf-8"))["events"]
    asked = [event["params"] for event in events if "url" in (event.get("params") or {})]
    # The browser's own requests come from nowhere; those of a page come from its origin, which a file has not.
    requests = [params["url"] for params in asked if params.get("initiator") not in (None, "not an origin")]
    return console, requests, done.stdout


def test_the_browser_tells_of_requests_and_complaints(tmp_path: Path) -> None:
    html = "<!doctype html><img src='http://evil.example/x.png'><script>console.error('boom')</script>"
    console, requests, _ = visit(tmp_path, html)
    assert requests == ["http://evil.example/x.png"] and "boom" in console[0]


def test_nothing_is_said_and_nothing_asked_for(hostile_page: str, tmp_path: Path) -> None:
    console, requests, dom = visit(tmp_path, hostile_page)
    assert (console, requests) == ([], [])
    assert dom.count("<h1>") == 1 and "<script" not in dom and "<img" not in dom


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_without_the_policy_nothing_acts_and_nothing_is_wider_than_the_window(
    hostile_page: str, width: int, tmp_path: Path
) -> None:
    """The policy is the second wall: texts do nothing without it. A script that is not part of the page measures it."""
    measure = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script></body>"
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", hostile_page)
    assert html != hostile_page
    console, requests, dom = visit(tmp_path, html.replace("</body>", measure), f"--window-size={width},800")
    assert (console, requests) == ([], [])
    found = re.search(r"<title>(\d+) of (\d+)</title>", dom)
    assert found and int(found[1]) <= int(found[2])


def test_a_table_that_goes_on_has_a_shadow_at_its_edge(tmp_path: Path) -> None:
    """Of a phone's width, seen as pixels: the shadow is there at the right, not at the left, and not beside a narrow table."""
    image = pytest.importorskip("PIL.Image")
    tables = "".join(
        f"<div class='scroll' style='height:100px;margin:0'><table><tr><td style='min-width:{width}px;border:0'></td></tr></table></div>"
        for width in (900, 100)
    )
    html = f"<!doctype html><style>{style()} body {{ padding: 0 !important; }}</style>{tables}"
    picture = tmp_path / "seen.png"
    visit(tmp_path, html, "--window-size=400,300", "--hide-scrollbars", f"--screenshot={picture}")
    with image.open(picture) as seen:
        wide, narrow = ([seen.convert("L").getpixel((x, y)) for x in (1, 200, 398)] for y in (50, 150))
    assert wide[0] == wide[1] == 255 and wide[2] < 235
    assert narrow == [255, 255, 255]
