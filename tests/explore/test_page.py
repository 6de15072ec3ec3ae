"""The page in a real browser: bounds dragged with mouse and keys give tune's figures; hostile documents stay texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refinery.explore.views import all_views
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune import KeptAmount, tune
from tests.explore.pages import Watched, chromium, served
from tests.explore.test_bounds import STEPS, WORDS
from tests.runs import refine

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`${alert(3)}</textarea><svg onload=alert(4)>"
NAME = "<b onmouseover=alert(5)>bold\" name's"
# Filters of the hostile run: its texts have from 1 to 30 words.
HOSTILE_STEPS: list[Any] = [
    {"words_num_filter": {"min_num": 8, "max_num": 25}, "name": NAME},
    {"sql_filter": {"where": "\"<i>field</i>\" <> 'x'"}},
]


# Values by a column, one of whose texts has a dash, values that `=` and `<>` compare, and a list.
KINDS = ["a", "zh-cn", "x"]
TYPED: list[Any] = [
    {"words_num_filter": {"min_num": {"kind": {"a": 2, "zh-cn": 4, "default": 1}}}},
    {"max_extractor": {"main_attribute": "json_object(kind, 1)", "output_attribute": "mark"}},
    {"sql_filter": {"where": "NOT mark = 'x' OR num_words_5 <> 7"}},
    {"sql_filter": {"where": "mark IN ('zh-cn', 'x')"}},
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    refine(
        root,
        [{"text": " ".join((WORDS * 3)[: n % 31]), "kind": KINDS[n % 3]} for n in range(310)],
        [*STEPS[:3], {"text_length_filter": {"max_len": 120}}, *TYPED],
    )
    return root / "run"


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


@pytest.fixture
def watched(browser: Any, address: str) -> Iterator[Watched]:
    watched = Watched(browser, address)
    yield watched
    assert watched.errors == [] and watched.dialogs == []
    watched.page.close()


def counted(page: Any) -> dict[str, Any]:
    """The values whose figures the page shows, once it shows those of its inputs."""
    page.wait_for_function(
        "() => { const box = document.querySelector('.figures'); return box && box.dataset.counted === box.dataset.asked; }"
    )
    return dict(json.loads(page.locator(".figures").get_attribute("data-counted")))


def rows_of(page: Any, figure: str) -> int:
    return int(page.locator(f'tr[data-figure="{figure}"] .rows').inner_text().replace(",", ""))


def by_tune(folder: Path, step: int, name: str, value: float) -> tuple[KeptAmount, KeptAmount]:
    with FinishedRun.open(folder) as stored:
        trials = tune(stored, str(step), [f"{name}={value}"]).trials
    [trial] = [trial for trial in trials if trial.params[name] == value]
    return trial.alone, trial.together


def test_a_bound_dragged_with_the_mouse_gives_the_rows_of_tune(watched: Watched, folder: Path) -> None:
    page = watched.show("bounds?step=3", ".histogram .handle[data-bound=min_num] .grip")
    counted(page)
    grip = page.locator(".handle[data-bound=min_num] .grip").bounding_box()
    page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + 60)
    page.mouse.down()
    for moved in (10, 25, 40):
        page.mouse.move(grip["x"] + grip["width"] / 2 + moved, grip["y"] + 60)
    page.mouse.up()
    value = int(page.locator("[data-number=min_num]").input_value())
    assert value > 3 and counted(page) == {"min_num": value}
    alone, together = by_tune(folder, 3, "min_num", value)
    assert (rows_of(page, "kept by this filter"), rows_of(page, "kept by all steps")) == (alone.rows, together.rows)
    page.wait_for_selector(".samples:not([aria-busy]) article")  # not those of a value on the way
    inside = page.locator(".samples section").first.locator(".text").all_inner_texts()
    assert {len(text.split()) for text in inside} == {value}


def test_a_bound_moved_with_keys_gives_the_rows_of_tune(watched: Watched, folder: Path) -> None:
    page = watched.show("bounds?step=3", "[data-slider=min_num]")
    before = counted(page)
    page.locator("[data-slider=min_num]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert before == {} and counted(page) == {"min_num": 6}
    assert rows_of(page, "kept by this filter") == by_tune(folder, 3, "min_num", 6)[0].rows
    assert page.locator("[data-slider=min_num]").get_attribute("aria-valuetext") == "6"


def test_a_number_is_typed_and_a_bound_is_switched_off(watched: Watched, folder: Path) -> None:
    page = watched.show("bounds?step=3", "[data-number=max_num]")
    page.fill("[data-number=max_num]", "5")
    page.keyboard.press("Tab")
    assert (
        counted(page) == {"max_num": 5}
        and rows_of(page, "kept by this filter") == by_tune(folder, 3, "max_num", 5)[0].rows
    )
    page.check("[data-off=max_num]")
    assert counted(page) == {"max_num": None} and page.locator("[data-number=max_num]").is_disabled()
    assert rows_of(page, "kept by this filter") == by_tune(folder, 3, "max_num", 2**63 - 1)[0].rows
    page.fill("[data-number=min_num]", "7")
    page.keyboard.press("Tab")
    counted(page)
    page.wait_for_function("() => document.querySelector('.recipe pre.step')?.textContent.includes('min_num: 7')")


def test_changes_of_several_filters_make_one_recipe(watched: Watched) -> None:
    page = watched.show("bounds?step=3", "[data-number=min_num]")
    page.fill("[data-number=min_num]", "5")
    page.keyboard.press("Tab")
    page.locator("h1").click()
    page.keyboard.press("n")
    page.wait_for_selector("[data-number=max_len]")
    page.fill("[data-number=max_len]", "90")
    page.keyboard.press("Tab")
    page.wait_for_function("() => document.querySelector('.command')?.textContent.includes('max_len=90')")
    assert (
        page.locator(".recipe .command").inner_text().endswith("--set process.3.min_num=5 --set process.4.max_len=90")
    )
    assert "step 3 words_num_filter" in page.locator(".changed").inner_text()
    assert counted(page) == {"max_len": 90} and "c.3.min_num=5" in page.url


def typed(watched: Watched, step: int, inputs: dict[str, str]) -> tuple[dict[str, Any], int, str]:
    """Type texts in fields of a filter; the values counted, the rows removed, and the recipe to copy, once it has the last text."""
    page = watched.show(f"bounds?step={step}", f'[data-number="{next(iter(inputs))}"]')
    for name, text in inputs.items():
        page.fill(f'[data-number="{name}"]', text)
        page.keyboard.press("Tab")
    page.wait_for_function("text => document.querySelector('.command')?.textContent.includes(text)", arg=text)
    return counted(page), rows_of(page, "removed"), page.locator(".recipe .step").inner_text()


def stored_rows(folder: Path, condition: str) -> int:
    """Samples whose stored statistics meet a condition."""
    with FinishedRun.open(folder) as stored:
        return stored.count(f"SELECT count(*) FROM stats WHERE {condition}")


def test_texts_and_values_by_a_column_are_typed(watched: Watched, folder: Path) -> None:
    moved, removed, steps = typed(watched, 5, {"min_num of zh-cn": "6"})
    assert moved == {"min_num of zh-cn": 6} and "zh-cn: 6" in steps
    assert removed == stored_rows(folder, "num_words_5 < CASE min_num WHEN 4 THEN 6 ELSE min_num END") > 3
    moved, removed, steps = typed(watched, 7, {"mark =": "zh-cn", "num_words_5 <>": "9"})
    assert moved == {"mark =": "zh-cn", "num_words_5 <>": 9}
    assert "NOT mark = 'zh-cn' OR num_words_5 <> 9" in steps
    assert removed == stored_rows(folder, "mark = 'zh-cn' AND num_words_5 = 9") > 0


def test_values_of_a_list_are_ticked(watched: Watched) -> None:
    page = watched.show("bounds?step=8", '[data-member="a"]')
    row = page.locator("tr", has=page.locator('[data-member="a"]'))
    assert counted(page) == {} and rows_of(page, "removed") > 0
    assert row.locator("td.number").nth(2).inner_text() == str(rows_of(page, "removed"))
    page.check('[data-member="a"]')
    assert counted(page) == {"mark IN": ["zh-cn", "x", "a"]} and rows_of(page, "removed") == 0
    page.uncheck('[data-member="x"]')
    assert counted(page) == {"mark IN": ["zh-cn", "a"]} and rows_of(page, "removed") > 0
    page.wait_for_function("() => document.querySelector('.command')?.textContent.includes('zh-cn')")
    page.wait_for_function("() => document.querySelector('.recipe .step').textContent.includes(\"IN ('zh-cn', 'a')\")")
    page.reload()
    page.wait_for_selector(".figures table")
    assert counted(page) == {"mark IN": ["zh-cn", "a"]} and not page.is_checked('[data-member="x"]')
    page.check('[data-member="x"]')
    page.uncheck('[data-member="a"]')
    assert counted(page) == {}


def test_an_impossible_value_is_explained(watched: Watched) -> None:
    page = watched.show("bounds?step=3&c.3.min_num=20&c.3.max_num=5", ".figures .error")
    assert "min_num: is above max_num" in page.locator(".figures .error").inner_text()
    watched.errors = [error for error in watched.errors if "422" not in error]


def test_the_address_carries_the_state_and_not_the_token(watched: Watched, browser: Any) -> None:
    page = watched.show("bounds?step=3&c.3.min_num=6", ".figures table")
    assert counted(page) == {"min_num": 6} and "token" not in page.url
    page.reload()
    page.wait_for_selector(".figures table")
    assert counted(page) == {"min_num": 6} and page.locator("[data-number=min_num]").input_value() == "6"


def test_a_stranger_sees_nothing(browser: Any, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address.partition("?")[0])
    assert "open the address" in page.inner_text("body")
    context.close()


def test_keys_are_listed_and_work(watched: Watched) -> None:
    page = watched.show("waterfall", ".waterfall .steps")
    assert "false" not in page.inner_text("main")
    page.keyboard.press("?")
    listed = page.locator("dialog[open]").inner_text()
    assert "light or dark" in listed and "rows or bytes" in listed
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.wait_for_selector(".bounds .figures table")
    page.keyboard.press("n")
    page.wait_for_function("() => location.hash.includes('step=3')")
    page.keyboard.press("1")
    page.wait_for_selector(".waterfall .steps")
    page.keyboard.press("b")
    page.wait_for_function("() => location.hash.includes('by=bytes')")
    page.locator(".waterfall details a").first.click()
    page.wait_for_selector(".samples .rows li")
    assert "step=1" in page.url


def test_every_control_is_reached_with_the_tab_key(watched: Watched) -> None:
    page = watched.show("bounds?step=3", ".figures table")
    page.locator("body").click(position={"x": 2, "y": 2})
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.dataset.slider || document.activeElement.dataset.number || document.activeElement.id"
            )
        )
    assert {"min_num", "max_num", "theme", "help", "filter"} <= reached


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (2000, "dark"), (700, "dark")])
def test_no_view_is_wider_than_the_window(browser: Any, address: str, width: int, scheme: str) -> None:
    watched = Watched(browser, address, width, scheme)
    for view in ["bounds?step=3", *(view.name for view in all_views())]:
        watched.show(view, f"main .view.{view.partition('?')[0]}")
        assert not watched.is_wider_than_window(), view
    assert watched.errors == []
    watched.page.close()


def test_light_and_dark_follow_the_system_and_the_switch(browser: Any, address: str) -> None:
    light = "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).every((part) => part > 128)"
    for scheme in ("light", "dark"):
        watched = Watched(browser, address, scheme=scheme)
        watched.page.wait_for_selector(".view")
        assert watched.page.evaluate(light) == (scheme == "light")
        watched.page.keyboard.press("t")
        assert watched.page.evaluate(light) == (scheme == "dark")
        watched.page.select_option("#theme", scheme)
        assert watched.page.evaluate(light) == (scheme == "light")
        watched.page.close()


def test_a_refilter_is_started_from_the_page(watched: Watched, folder: Path) -> None:
    page = watched.show("bounds?step=3&c.3.min_num=8", ".recipe .start:enabled")
    counted(page)
    kept = rows_of(page, "kept by all steps")
    page.click(".recipe .start")
    page.wait_for_selector(".refilter-state .done", timeout=120_000)
    assert f"{kept} of 310 rows kept" in page.locator(".refilter-state").inner_text()
    assert (folder.parent / "run-refiltered" / "refinery.duckdb").is_file()


def test_hostile_documents_stay_texts(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=alert(6)>"
    samples = [{"text": f"{HOSTILE} {'word ' * n}", "<i>field</i>": HOSTILE} for n in range(30)]
    refine(folder, samples, HOSTILE_STEPS)
    with served(folder / "run") as address:
        watched = Watched(browser, address)
        watched.show("waterfall", ".waterfall .steps")
        assert NAME in watched.page.inner_text("main") and "onerror=alert(6)" in watched.page.inner_text("header")
        page = watched.show("bounds?step=1&c.1.min_num=12", ".samples article")
        assert HOSTILE in page.inner_text(".samples") and "onerror=alert(6)" in page.inner_text(".samples")
        for view in all_views():
            watched.show(view.name, f"main .view.{view.name}")
        page = watched.show(f"bounds/{HOSTILE}?step=999&c.999.min_num={HOSTILE}", "main .error")
        assert page.locator("img, main script, main svg[onload]").count() == 0
        assert watched.dialogs == [] and [error for error in watched.errors if not re.search("422", error)] == []
        page.close()
