"""The views of samples in a real browser: keys, addresses, differences; hostile documents do nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from refinery.io.batch import Batch
from refinery.io.readers.read import read
from tests.explore.browsed import MARKUP, ROWS, browsed_run, stricter_run
from tests.explore.pages import Watched, chromium, served

VIEWS = {
    "samples?q=alert": ".rows .item mark",
    "samples?fate=removed&sort=stat:num_words&order=down&stat=num_words&low=0": ".rows .item",
    "samples/0": ".steps .event",
    "samples/39": "h2",
    "samples/61": ".steps .event",
    "clusters": "a.open",
    "clusters?step=6&cluster=0": ".pair mark",
    "quarantine": ".rows .text",
    "profile": ".grid .box",
    "compare": "table",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browsed")
    run = browsed_run(folder)
    with served(run, [stricter_run(run)]) as address:
        yield address


@pytest.fixture
def watched(browser: Any, address: str) -> Iterator[Watched]:
    watched = Watched(browser, address)
    watched.page.wait_for_selector("nav a")
    yield watched
    watched.page.close()
    assert (watched.dialogs, watched.errors) == ([], [])


def status(page: Any, text: str) -> str:
    """The status of the list when it says a text."""
    page.wait_for_function("text => document.querySelector('.status')?.textContent.includes(text)", arg=text)
    return str(page.text_content(".status"))


def texts_shown(page: Any) -> None:
    """Wait for the texts of the first row."""
    page.wait_for_function("() => document.querySelector('.excerpt')?.textContent.length > 3")


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (2000, "dark")])
def test_no_view_acts_or_is_wider_than_the_window(browser: Any, address: str, width: int, scheme: str) -> None:
    watched = Watched(browser, address, width, scheme)
    watched.page.wait_for_selector("nav a")
    for view, selector in VIEWS.items():
        page = watched.show(view, selector)
        if view.startswith("samples?"):
            texts_shown(page)
        assert not watched.is_wider_than_window(), view
        assert page.locator("main img, main svg, main script, main h1 h1").count() == 0, view
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
        assert dark == (scheme == "dark")
    assert (watched.dialogs, watched.errors) == ([], [])
    watched.page.close()


def test_search_by_keys_alone(watched: Watched) -> None:
    page = watched.show("samples", ".rows .item")
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    status(page, f"searched {ROWS} of {ROWS} rows")  # not of a part of them, on a busy machine
    assert "q=needle" in page.url
    texts_shown(page)
    assert {text.lower() for text in page.locator(".excerpt mark").all_text_contents()} == {"needle"}
    page.locator("h1").click()  # leaves the field
    for key in ("j", "j", "k", "j"):
        page.keyboard.press(key)
    second = page.locator("a.open").nth(1)
    assert page.evaluate("document.activeElement.textContent") == second.text_content()
    page.keyboard.press("Enter")
    page.wait_for_selector(".steps .event")
    assert page.text_content("h1").startswith(second_row := page.text_content("h1").split(":")[0]) and "5" in second_row
    page.wait_for_selector("a:has-text('Next in the list')")
    page.keyboard.press("n")
    page.wait_for_function("() => document.querySelector('h1')?.textContent.startsWith('Row 10')")  # of the list
    page.keyboard.press("p")
    page.wait_for_function("() => document.querySelector('h1')?.textContent.startsWith('Row 5')")
    page.keyboard.press("u")
    assert "searched" in status(page, "searched") and page.input_value("#q") == "needle"


def test_an_address_can_be_shared(watched: Watched, browser: Any, address: str) -> None:
    page = watched.show("samples", ".rows .item")
    page.select_option("select[name=fate]", "removed")
    page.wait_for_function("() => location.hash.includes('fate=removed')")
    page.select_option("select[name=sort]", "stat:text_len")
    page.wait_for_function("() => location.hash.includes('sort=stat')")
    page.wait_for_function(
        "() => document.querySelectorAll('.item.removed').length > 0 && !document.querySelector('.item.kept')"
    )
    rows = page.locator("a.open").all_text_contents()
    other = Watched(browser, f"{address}{page.evaluate('location.hash')}")
    other.page.wait_for_selector(".item.removed")
    assert other.page.locator("a.open").all_text_contents() == rows
    assert other.page.input_value("select[name=fate]") == "removed"
    other.page.close()


def test_every_row_is_on_one_page_of_the_list(watched: Watched) -> None:
    page = watched.show("samples", ".rows .item")
    seen: list[str] = []
    while True:
        seen += page.locator("a.open").all_text_contents()
        if not page.locator("a.next").count():
            break
        first = page.locator("a.open").first.text_content()
        page.locator("h1").click()
        page.keyboard.press("l")
        page.wait_for_function(
            "first => { const link = document.querySelector('a.open'); return link && link.textContent !== first; }",
            arg=first,
        )
    assert seen == [f"row {row}" for row in range(ROWS)]


def test_a_difference_marks_words_and_shows_what_cannot_be_seen(watched: Watched) -> None:
    page = watched.show("samples/1", ".steps .event")
    assert "alert" in page.locator(".diff del").all_text_contents()
    assert "<b>warn" in "".join(page.locator(".diff ins").all_text_contents())
    page = watched.show("samples/2", ".steps .event")
    hidden = set(page.locator("i.hidden").all_text_contents())
    assert {"U+202E", "U+2066", "U+200B", "U+0000", "U+001B", "U+E0041", "U+2028"} <= hidden
    assert "\u202e" not in page.inner_text("main")


def test_changes_alone_are_unfolded_on_request(watched: Watched) -> None:
    page = watched.show("samples/70", ".steps .event")
    whole = page.text_content("section .text")
    page.locator("h1").click()
    page.keyboard.press("w")
    page.wait_for_selector("section button.more")
    assert "text=changes" in page.url and len(page.text_content("section .text")) < len(whole)
    while page.locator("section button.more").count():
        page.locator("section button.more").first.click()
    assert page.text_content("section .text") == whole


def test_members_of_a_cluster_are_compared_by_keys(watched: Watched) -> None:
    page = watched.show("clusters", "a.open")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pair mark")
    marks = page.locator(".pair mark").all_text_contents()
    assert len(marks) == 2 and marks[0] == marks[1] and "stands in several rows" in marks[0]
    before = page.locator(".pair h3").nth(1).text_content()
    page.keyboard.press("n")
    page.wait_for_function(
        "before => { const head = document.querySelectorAll('.pair h3')[1]; return head && head.textContent !== before; }",
        arg=before,
    )


def test_rows_with_another_outcome_are_listed(watched: Watched) -> None:
    page = watched.show("compare", "table a.open")
    row = page.locator("tr", has_text="removed by words_num_filter").filter(has_text="kept")
    rows = row.locator("a.open").text_content()
    row.locator("a.open").click()
    assert status(page, f"{rows} row").startswith(f"{rows} row")
    assert page.locator("p", has_text="Only rows that were kept in this run").count() == 1


def test_a_remark_leads_to_its_rows(watched: Watched) -> None:
    page = watched.show("profile", ".grid .box")
    assert page.locator("h3", has_text=MARKUP).count() == 1
    page.locator("details", has_text="by host").locator("a", has_text="b.example.org").click()
    status(page, f"{ROWS // 2 - 3} match")
    texts_shown(page)


def test_a_search_can_be_stopped_and_goes_on(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.inspect.browse.search._BATCH", 300)
    monkeypatch.setattr("refinery.explore.browsing.SECONDS", 0)
    stopped = threading.Event()

    def waiting(*arguments: Any) -> Iterator[Batch]:
        """Batches, of which the second one waits until the search has been stopped."""
        for number, batch in enumerate(read(*arguments)):
            assert number == 0 or stopped.wait(60)
            yield batch

    monkeypatch.setattr("refinery.inspect.browse.search.read", waiting)
    page = watched.show("samples?q=word&in=*", ".rows")
    page.click("text=Stop")
    stopped.set()
    page.wait_for_selector("text=Go on")
    status(page, "so far")
    page.click("text=Go on")
    status(page, f"searched {ROWS} of {ROWS} rows")


def test_a_mistake_is_said_on_the_page(watched: Watched) -> None:
    page = watched.show("samples?stat=numwords&low=1", ".status .error")
    assert "Did you mean 'num_words'" in page.text_content(".status")
    page = watched.show("samples/9999", "main .error")
    assert "no row 9999" in page.text_content("main")
    watched.errors.clear()  # the browser notes each refusal of the server
