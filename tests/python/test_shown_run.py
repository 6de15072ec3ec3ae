"""A run in notebooks and terminals: rows by step, examples, hostile texts as texts."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import refinery
from refinery.errors import RecipeError
from tests.python.test_run import HOSTILE, SAMPLES, STEPS
from tests.runs import refine, settings


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> refinery.Run:
    steps = [{"name": '<b onclick="x">', **step} if number == 1 else step for number, step in enumerate(STEPS)]
    return refine(tmp_path_factory.mktemp("a<i>folder"), SAMPLES, steps, trace_num=5, open_tracer=True)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.names, self.attributes = set[str](), set[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_a_notebook_shows_rows_examples_and_quarantine(run: refinery.Run) -> None:
    page = run._repr_html_()
    assert page is not None
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page))
    assert "6 rows read = 3 kept + 2 removed + 1 quarantined" in text
    assert re.search(r"text_length_filter 4 1 3 \d+\.\d\d 50\.0 %", text)
    assert "text_length_filter" in text and "num_words below min_num" in text and "<del>" in page
    assert "text&#39; is null" in page


def test_no_document_acts_on_the_page(run: refinery.Run) -> None:
    page = run._repr_html_()
    assert page is not None and HOSTILE[:8] not in page and "\u202e" not in page and "U+202E" in page
    tags = Tags(page)
    known = {"div", "style", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "del", "ins", "i", "br", "code", "span"}  # fmt: skip
    assert tags.names <= known and tags.attributes <= {"class", "open", "style"}


def test_a_terminal_shows_the_waterfall(run: refinery.Run) -> None:
    lines = str(run).splitlines()
    assert any(re.search(r"3 +text_length_filter +4 +1 ", line) for line in lines)
    assert lines[-1] == repr(run) and repr(run).endswith("6 rows read = 3 kept + 2 removed + 1 quarantined>")


def test_public_names_are_completed() -> None:
    assert dir(refinery) == [
        *("Run", "__version__", "add", "compile", "open", "open_corpus", "register", "run", "withdraw")
    ]
    assert all(getattr(refinery, name) for name in dir(refinery))


def test_an_error_in_ipython_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    with pytest.raises(RecipeError) as caught:
        refinery.run(settings(tmp_path, [{"words_num_filtre": None}]))
    shown: list[list[str]] = []
    shell._showtraceback = lambda kind, value, lines: shown.append(lines)
    shell.showtraceback((caught.type, caught.value, caught.tb))
    [lines] = shown
    assert "\n".join(lines) == f"RecipeError: {caught.value}" and "Did you mean 'words_num_filter'?" in lines[0]
    monkeypatch.setenv("REFINERY_TRACEBACK", "1")
    shell.showtraceback((caught.type, caught.value, caught.tb))
    assert shown[1][0].startswith("Traceback")
