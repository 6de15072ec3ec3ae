"""Names of other tools are answered with ours, in recipes and by `refinery ops`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refinery.cli.render import peer_page, reference
from refinery.errors import OperatorError, RecipeError
from refinery.operators import Library
from refinery.operators.headers import read_operator
from refinery.operators.peers import names_in
from refinery.recipe import load
from refinery.recipe.peer_answers import ANSWERS
from refinery.recipe.peer_names import answer_to, peer_names
from tests.conftest import ROOT

LIBRARY = Library()


@pytest.mark.parametrize(
    ("peer", "names"),
    [
        ("GopherQualityFilter of datatrove 0.10.1", [("datatrove", "GopherQualityFilter")]),
        (
            "stop_word_filter of DCLM and of datamap-rs",
            [("DCLM", "stop_word_filter"), ("datamap-rs", "stop_word_filter")],
        ),
        ("a_b of DCLM, AbC of NeMo Curator, whose sentences are lines", [("DCLM", "a_b"), ("NeMo Curator", "AbC")]),
        ("the sentence deduplication of datatrove 0.10.1", []),
        ("", []),
    ],
)
def test_names_in_a_header(peer: str, names: list[tuple[str, str]]) -> None:
    assert list(names_in(peer)) == names


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("GopherQualityFilter", "GopherQualityFilter of datatrove is here: - gopher_quality_filter"),
        ("gopherqualityfilter", "- gopher_quality_filter"),
        ("WordCountFilter", "WordCountFilter of NeMo Curator is here: - word_count_filter"),
        ("LambdaFilter", 'sql_filter: {where: "CONDITION"}'),
        ("specified_numeric_field_filter", '{where: "FIELD BETWEEN 1 AND 10"}'),
    ],
)
def test_an_unknown_name_is_answered_with_ours(name: str, answer: str) -> None:
    assert answer in (answer_to(name, LIBRARY) or "")
    with pytest.raises(RecipeError, match=f"there is no operator '{name}'") as raised:
        load({"dataset_path": "x", "process": [name]}, library=LIBRARY)
    assert answer in str(raised.value)
    assert answer in reference.page(name, False)


def test_a_word_is_searched_in_names_of_other_tools() -> None:
    found = reference.page("WhiteSpace", False)
    assert "white_space_filter" in found and "WhiteSpaceFilter of NeMo Curator is here" in found
    assert answer_to("nothing_of_the_kind", LIBRARY) is None


def test_answers_name_operators_that_exist() -> None:
    for _, _, answer in ANSWERS:
        for name, params in re.findall(r"- (\w+)(?:: \{([^}]*)\})?", answer):
            operator = LIBRARY.operators[name]
            outer = re.sub(r'"[^"]*"', "", params)
            for param in re.findall(r"(\w+):", outer):
                assert param in operator.params, (name, param)


def test_a_tool_that_is_not_the_default_is_chosen() -> None:
    answers = {(one.tool, one.name): one.answer for one in peer_names(LIBRARY)}
    assert answers["datamap-rs", "symbol_ratio_filter"] == "- symbol_ratio_filter: {as: datamap}"
    assert answers["DCLM", "symbol_ratio_filter"] == "- symbol_ratio_filter"


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "peer-names.md").read_text("utf-8") == peer_page.page(LIBRARY), "run make docs"


def test_further_names_are_fields_of_the_header(tmp_path: Path) -> None:
    folder = tmp_path / "filters"
    folder.mkdir()
    path = folder / "my_filter.sql"
    text = "/*---\ndoc: D.\nversion: 1\npeers: {PEER: [One, Two]}\nexamples: [{text: a, keep: true}]\n---*/\nSELECT true AS keep"
    path.write_text(text.replace("PEER", "datatrove"))
    assert read_operator(path).peers == {"datatrove": ["One", "Two"]}
    assert answer_to("Two", Library((tmp_path,))) == "Two of datatrove is here: - my_filter"
    path.write_text(text.replace("PEER", "datatrov"))
    with pytest.raises(OperatorError, match="peers must be a mapping"):
        read_operator(path)
