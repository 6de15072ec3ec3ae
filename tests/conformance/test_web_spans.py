"""Spans of dolma's taggers within a text are the recorded ones."""

from __future__ import annotations

from typing import Any

import pytest

from refinery.kernels.text.tagged_spans import TAGGERS
from tests.conformance.web_cases import cases, documents

pytestmark = pytest.mark.recorded


@pytest.mark.parametrize("tagger", TAGGERS)
def test_spans(tagger: str) -> None:
    find, types = TAGGERS[tagger]
    (case,) = cases("dolma", tagger)
    for result in case["results"]:
        text = documents()[result["id"]]["text"]
        if "error" not in result:
            found = [tuple(span) for span in find(text)]
            assert sorted(found) == sorted(recorded(result, text, types)), result["id"]


def recorded(result: dict[str, Any], text: str, types: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The spans of a result, with those that cover the whole text, except the note that no paragraph was found."""
    whole = [(0, len(text), name, score) for name, score in result.get("document", {}).items() if name in types]
    return [tuple(span) for span in result.get("spans", ())] + [
        span for span in whole if span[2:] != ("all_punct", 0.0)
    ]
