"""Settings of pipelines, stop words by language, languages of pages, and texts that do not depend on other pages."""

from __future__ import annotations

from typing import Any

import pytest

from refinery.extractors.page_metadata import declared_language, metadata_of_page
from refinery.extractors.pages import text_of_page
from refinery.extractors.settings import LIBRARIES, PEERS, chosen, problems
from refinery.extractors.stop_words import dense_lines, has_blanks, list_name, stop_words
from refinery.operators import Library

NOTHING = {name: None for names in LIBRARIES.values() for name in names}
SENTENCE = "The repeated segment of this page is long enough to be remembered, for it has more than a hundred characters in all."
PAGE = f"<html><body><article><p>{SENTENCE}</p></article></body></html>"


def params(**given: Any) -> dict[str, Any]:
    return {**NOTHING, "by": "trafilatura", "as": None, **given}


def test_settings_are_those_of_the_pipeline_and_of_the_recipe() -> None:
    fineweb = {"favor_precision": True, "include_comments": False, "deduplicate": True}
    assert chosen(params()) == fineweb
    assert chosen(params(deduplicate=False, fast=True)) == {**fineweb, "deduplicate": False, "fast": True}
    assert chosen(params(by="resiliparse")) == {"main_content": True}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"main_content": True}, "trafilatura has no parameter main_content, which is one of resiliparse"),
        (
            {"by": "justext", "favor_recall": False},
            "justext has no parameter favor_recall, which is one of trafilatura",
        ),
        ({"by": "resiliparse", "as": "datatrove"}, "as: datatrove does not use resiliparse: give by: trafilatura"),
    ],
)
def test_what_a_library_lacks_is_refused(given: dict[str, Any], message: str) -> None:
    [problem] = problems(params(**given))
    assert problem.startswith(message)


def test_every_setting_is_a_parameter_of_the_operator() -> None:
    operator = Library().operators["extract_html_mapper"]
    for (by, peer), settings in PEERS.items():
        assert {*settings} <= {*LIBRARIES[by]} <= {*operator.params}
        assert peer in (operator.params["as"].choices or ()) and by in (operator.params["by"].choices or ())


def test_a_text_does_not_depend_on_other_pages() -> None:
    """trafilatura drops a segment that it has seen more than twice."""
    assert [text_of_page(PAGE, "trafilatura", {"deduplicate": True}, "") for _ in range(5)] == [SENTENCE] * 5


@pytest.mark.parametrize("by", ["trafilatura", "resiliparse", "justext"])
@pytest.mark.parametrize(
    "page", ["", " \n ", "<html></html>", "<!-- nothing -->", "\x00", "<<<<>>>>", "<p", "&#0;&#xFFFFFF;"]
)
def test_pages_without_a_text_have_an_empty_one_or_are_refused(by: str, page: str) -> None:
    try:
        assert len(text_of_page(page, by, {}, "English")) <= len(page)
    except Exception as error:  # lxml: a document is empty, a text has a NUL
        assert type(error).__name__ in ("ParserError", "ValueError")


@pytest.mark.parametrize(
    ("language", "name"),
    [("de", "German"), ("deu", "German"), ("deu_Latn", "German"), ("de-AT", "German"), ("german", "German"), ("tlh", None),
     ("Low Saxon", "Low_Saxon"), ("zh", None), ("", None)],
)  # fmt: skip
def test_stop_words_are_found_by_name_and_code(language: str, name: str | None) -> None:
    assert list_name(language) == name
    assert bool(stop_words(language)) is (name is not None)


def test_every_list_of_justext_has_a_name_here() -> None:
    import justext

    missing = {name for name in justext.get_stoplists() if list_name(name) != name}
    assert missing == {"Belarusian_Taraskievica"}


def test_lines_with_few_stop_words_go() -> None:
    text = "The cat is on the mat\n\nKettle 2 litres green\n \nit is"
    assert dense_lines(text, "English", 0.32) == ["The cat is on the mat", "it is"]
    assert dense_lines("風車小屋\n\n川", "jpn_Jpan", 0.32) == ["風車小屋", "川"]
    assert not has_blanks("zh-Hans") and has_blanks("de")


@pytest.mark.parametrize(
    ("page", "language"),
    [
        ('<!doctype html><html class="x" lang="de-AT">', "de-at"),
        ("<HTML LANG=fr>", "fr"),
        ("<html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang='pt_BR'>", "pt-br"),
        ('<html data-lang="xx"><meta http-equiv="Content-Language" content="nl">', "nl"),
        ('<html><meta content="en_US" property="og:locale">', "en-us"),
        ("<html lang=''><p lang=de>", None),
        ("", None),
    ],
)
def test_the_language_is_what_the_page_declares(page: str, language: str | None) -> None:
    assert declared_language(page) == language


def test_a_date_is_no_later_than_the_last_one() -> None:
    page = '<html><head><title>Weir</title><meta property="article:published_time" content="2031-05-04"></head><p>x</p></html>'
    wanted = ("title", "date")
    assert metadata_of_page(page, "", wanted, None) == {"title": "Weir", "date": "2031-05-04"}
    assert metadata_of_page(page, "", wanted, "2026-01-01") == {"title": "Weir", "date": None}
