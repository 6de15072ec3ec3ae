"""Audits of removals on the page: figures of the tables, links to samples, side by side; hostile texts do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import refinery
from tests.explore.browsed import MARKUP
from tests.explore.pages import Watched, chromium, client_of, served
from tests.inspect.report.conftest import HOSTILE
from tests.runs import settings, write_lines

FILE = "<svg onload=alert(2)> \u202e'&.jsonl"
MINHASH: dict[str, Any] = {"window_size": 1, "num_bands": 60, "num_rows_per_band": 4, "num_permutations": 240}
STEPS: list[Any] = [{"key_deduplicator": {"key": "key"}}, {"document_minhash_deduplicator": MINHASH}]


def samples() -> list[dict[str, Any]]:
    """Unlike hostile texts with one hostile key, then a chain of texts, each much like the next one."""
    unlike = [{"text": f"{HOSTILE[row % 6]} {MARKUP} own{row} words{row}", "key": MARKUP} for row in range(60)]
    words = [f"t{at}" for at in range(90)]
    chain = [{"text": " ".join(words[4 * at : 4 * at + 40]), "key": f"chain {at}"} for at in range(13)]
    return [*unlike, *chain]


def audited_run(place: Path, **keys: Any) -> Path:
    """Make the run; its folder."""
    folder = place / "run <i>of&"
    write_lines(folder / "in" / FILE, samples())
    write_lines(folder / "in" / "z.jsonl", samples()[:9])
    return refinery.run(settings(folder, STEPS, dataset_path=folder / "in", **keys)).work_dir


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited_run(tmp_path_factory.mktemp("audited"), audit=1000)


def asked(client: TestClient, path: str = "clusters/audit", **values: Any) -> Any:
    answer = client.get(f"/api/{path}", params=values)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_page_has_the_tables_of_the_run(folder: Path) -> None:
    with client_of(folder) as client:
        audit = asked(client)["audit"]
        [hub] = [hub for hub in audit["hubs"] if hub["step"] == 1]
        assert (hub["connected"], hub["matched"], hub["alike"]) == (68, MARKUP, False) and hub["cluster"] == 0
        [chain] = audit["chains"]
        assert chain["step"] == 2 and chain["path"][0] == chain["_row"] and chain["path"][-1] == chain["kept"]
        assert {(row["source"] or "").rpartition("/")[2] for row in audit["summary"]} >= {"", FILE, "z.jsonl"}
        whole = [row for row in audit["summary"] if row["step"] == 1 and row["source"] is None]
        assert [row["threshold"] for row in whole] == [0.5, 0.8] and all(row["low"] < row["high"] for row in whole)
        assert {row["step"] for row in asked(client, step=2)["audit"]["summary"]} == {2}


def test_every_pair_is_on_one_page_the_least_alike_first(folder: Path) -> None:
    with client_of(folder) as client:
        seen: list[Any] = []
        after: int | None = 0
        while after is not None:
            audit = asked(client, step=1, after=after)["audit"]
            seen, after = [*seen, *audit["pairs"]], audit["next"]
        assert len(seen) == audit["total"] == len({pair["_row"] for pair in seen}) == 68
        assert [pair["jaccard"] for pair in seen] == sorted(pair["jaccard"] for pair in seen)


def test_a_run_without_an_audit_is_compared_on_request(folder: Path, tmp_path: Path) -> None:
    with client_of(audited_run(tmp_path, audit=0)) as client, client_of(folder) as other:
        assert asked(client)["audit"] is None and asked(client)["deduplicators"][0]["removed"] == 68
        made, stored = asked(client, made="now")["audit"], asked(other)["audit"]
        assert not made["stored"] and stored["stored"] and made["notes"]
        for name in ("hubs", "chains"):
            assert made[name] == stored[name]
        without = [[pair | {"source": None} for pair in audit["pairs"]] for audit in (made, stored)]
        assert without[0] == without[1]


def test_an_input_that_has_changed_is_not_compared(tmp_path: Path) -> None:
    run = audited_run(tmp_path, audit=0)
    with client_of(run) as client:
        (run.parent / "in" / "z.jsonl").write_text("{}\n", "utf-8")
        answer = client.get("/api/clusters/audit", params={"made": "now"})
        assert answer.status_code == 422 and "changed since the run" in answer.json()["error"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (2000, "dark")])
def test_hostile_hubs_and_sources_do_nothing(browser: Any, folder: Path, width: int, scheme: str) -> None:
    with served(folder) as address:
        watched = Watched(browser, address, width, scheme)
        watched.page.wait_for_selector("nav a")
        for view in ("clusters", "clusters/audit", "clusters/audit?step=1"):
            page = watched.show(view, "a.audit" if view == "clusters" else ".pair mark, .pair .text")
            assert not watched.is_wider_than_window(), view
            assert page.locator("main img, main script, main svg svg, main h1 h1").count() == 0, view
        shown = page.inner_text("main")
        assert MARKUP in shown and "one value of the key for texts that are unlike" in shown and "\u202e" not in shown
        assert (watched.dialogs, watched.errors) == ([], [])
        watched.page.close()


def test_an_audit_is_read_by_keys(browser: Any, folder: Path) -> None:
    with served(folder) as address:
        watched = Watched(browser, address)
        watched.page.wait_for_selector("nav a")
        page = watched.show("clusters", "a.audit")
        line = page.locator("tr", has=page.locator("a.audit")).first.inner_text()
        assert "step 1 key_deduplicator" in line and "68 of 68 samples compared" in line
        page.locator("h1").click()
        page.keyboard.press("a")
        page.wait_for_selector(".pair .text")
        assert page.locator(".interval svg line.known").count() >= 4
        first = page.text_content(".pair section:nth-child(2) h3")
        page.keyboard.press("n")
        page.wait_for_function(
            "first => { const head = document.querySelector('.pair section:nth-child(2) h3'); return head && head.textContent !== first; }",
            arg=first,
        )
        page.click("td a:has-text('side by side')")
        page.wait_for_function("() => document.querySelector('h1')?.textContent.includes('in step 2')")
        page.wait_for_selector(".pair .text")
        page.go_back()
        page.wait_for_selector("a.open[aria-current]")
        page.keyboard.press("u")
        page.wait_for_selector("a.audit")
        assert (watched.dialogs, watched.errors) == ([], [])
        watched.page.close()
