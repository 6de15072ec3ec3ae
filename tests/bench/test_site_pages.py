"""Pages that measure extraction: a text in the frame of a site, of a given size."""

from __future__ import annotations

import random

import pytest

from tests.conftest import ROOT

FRAME = 60_000


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import site_pages

    return site_pages


@pytest.mark.parametrize("page", ["<p>A & B", "<html><body class='x'>\n<p>A text</p></body></html>\n"])
def test_a_frame_leaves_the_page_and_makes_it_large(bench, page: str) -> None:
    framed = bench.framed(page, random.Random(1), FRAME)
    assert FRAME < len(framed) < 1.05 * FRAME
    begin, middle = page.split("<p>")[0], "<p>" + page.split("<p>")[1].partition("</body>")[0]
    assert framed.startswith(begin.strip()) and middle in framed
    assert framed == bench.framed(page, random.Random(1), FRAME)


def test_a_text_is_written_as_paragraphs(bench) -> None:
    page = bench.article("A < B\nsecond\n\nthe rest\n")
    assert "<title>A &lt; B</title>" in page
    assert page.count("<p>") == 1 and "<p>the rest</p>" in page
