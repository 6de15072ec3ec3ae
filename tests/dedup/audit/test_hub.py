"""Likely reasons why one sample connects many others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from refinery.dedup.audit.hub import Hub, cures, hub_of, hub_told, shared_lines
from refinery.dedup.audit.measure import Measure
from refinery.errors import DataError

MINHASH: dict[str, Any] = {
    "tokenization": "space",
    "window_size": 5,
    "lowercase": True,
    "ignore_pattern": None,
    "jaccard_threshold": 0.7,
    "hash": "data_juicer",
    "verify": False,
}
NOTICE = "We use cookies to make this site better for all of its visitors.\nAccept all of them\n"


def hub(texts: list[str], **params: Any) -> Hub:
    measure = Measure.of(SimpleNamespace(params=params), ("text",))
    first, *others = measure.compared([{"text": text} for text in texts])
    return hub_of(first, others, measure, params)


def page(number: int, words: int = 40) -> str:
    return " ".join(f"word{number}x{at}" for at in range(words))


CASES = [
    (["", " ", "\n"], MINHASH, "empty texts", True),
    (["one", "two", "three words here"], MINHASH, "texts shorter than window_size, which is 5 tokens", False),
    ([f"{page(1)} {at}" for at in range(5)], MINHASH, "texts that are alike", True),
    ([page(at) for at in range(5)], {"key": "1"}, "one value of the key for texts that are unlike", False),
    ([page(at) for at in range(5)], MINHASH, "texts that are unlike, connected by chains of matches", False),
    (["...", "!!", "?"], {"lowercase": True}, "texts without words", False),
]


@pytest.mark.parametrize(("texts", "params", "reason", "alike"), CASES)
def test_reasons(texts: list[str], params: dict[str, Any], reason: str, alike: bool) -> None:
    found = hub(texts, **params)
    assert (found.reason, found.alike, found.compared) == (reason, alike, len(texts))


def test_lines_that_all_have() -> None:
    texts = [NOTICE + page(at, 3) for at in range(6)]
    assert 0.5 < shared_lines(texts) < 0.9 and shared_lines([page(1), page(2)]) == 0
    found = hub(texts, **MINHASH | {"window_size": 12, "tokenization": "character", "lowercase": False})
    assert found.alike  # most of their characters are the same
    unlike = hub([f"{NOTICE}{page(at, 13)}" for at in range(6)], **MINHASH | {"window_size": 12})
    assert not unlike.alike and not unlike.reason.startswith("the same lines")  # the notice is the lesser part
    few = hub([f"{NOTICE}{page(at, 7)}" for at in range(6)], **MINHASH | {"window_size": 12})
    assert few.reason.startswith("the same lines in all: ") and few.excerpt.startswith("We use cookies")


def test_cures_fit_the_step() -> None:
    assert [text for text in cures(MINHASH) if "hash: fast" in text] and "set verify: true" in cures(MINHASH)
    assert cures(MINHASH | {"hash": "fast", "verify": True, "tokenization": "word"})[1:] == []
    assert "set short: keep" in cures({"short": "data_juicer"}) and "make the key more precise" in cures({"key": "1"})


def test_texts_that_cannot_be_read_give_no_reason() -> None:
    def unread(codes: Any) -> Any:
        raise DataError("gone")

    assert hub_told(SimpleNamespace(params=MINHASH), unread, 3, 0, [1]) == ""
