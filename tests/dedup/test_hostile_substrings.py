"""`substring_deduplicator` over random, periodic and hostile texts: to the byte what the definition says, on any number of workers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import refinery
from tests.dedup.test_substrings import NAME, in_small_parts
from tests.kernels.dedup.test_substring_cuts import expected as without
from tests.kernels.dedup.test_substrings import expected
from tests.runs import exported, rows, settings, write_lines
from tests.sampling import sampled

# Lines as they stand in a file: texts that a JSON library would not write.
RAW = [
    r'{"text": ""}',
    r'{"text": "\u0000"}',
    r'{"text": "nul\u0000nul\u0000nul\u0000nul\u0000nul\u0000nul\u0000"}',
    r'{"text": "half \ud83d of a pair, half \ud83d of a pair, half \ude00 of a pair"}',
    r'{"text": "a pair \ud83d\ude00\ud83d\ude00\ud83d\ude00\ud83d\ude01 in escapes"}',
    r'{"text": "\t\r\n \u2028\u0085\u00a0\u3000 white space of all kinds \t\r\n \u2028\u0085\u00a0\u3000"}',
    r'{"text": "\ufeff\ufffd\ufffe\uffff\ufeff\ufffd\ufffe\uffff"}',
]
PARAMS: list[dict[str, Any]] = [
    {"min_length": 12},
    {"min_length": 12, "keep": "none", "boundaries": "word", "merge_gap": 4},
    {"min_length": 1, "min_left": 0},
    {"min_length": 5, "boundaries": "line", "min_left": 8},
    {"min_length": 64, "merge_gap": 30},
    {"min_length": 65, "keep": "none"},
    {"min_length": 3, "unit": "token"},
    {"min_length": 1, "unit": "token", "keep": "none", "merge_gap": 1},
    {"min_length": 9, "unit": "token", "boundaries": "line", "min_left": 3},
    {"min_length": 500},
]


def lines(seed: int) -> list[str]:
    """Lines of random texts with shared passages, periods, characters of four bytes, and copies that end within one; and RAW."""
    dice = random.Random(seed)
    letters = ["ab", "ab \n", "abcdef é漢😀\n", "😀😁🙂", "\U0001f600\U0001f640", "x"]
    parts = ["".join(dice.choices(dice.choice(letters), k=dice.randrange(1, 90))) for _ in range(25)]
    found = ["".join(dice.choices(parts, k=dice.randrange(6))) for _ in range(40)]
    found += [dice.choice(parts) * dice.randrange(2, 30) for _ in range(6)]
    found += ["y" * size for size in (0, 1, 11, 12, 13, 499, 500, 501, 3_000)]
    found += ["word " * 40, "😀" * 200, found[3], found[5] + "!", "!" + found[5][1:]]
    given = [json.dumps({"text": text}, ensure_ascii=dice.random() < 0.5) for text in found] + RAW
    dice.shuffle(given)
    return given


def wanted(texts: list[str], params: dict[str, Any]) -> list[str]:
    """The texts that stay."""
    tokens, every = params.get("unit") == "token", params.get("keep") == "none"
    places = expected([text.split() if tokens else text.encode() for text in texts], params["min_length"], every)
    how = params.get("merge_gap", 0), params.get("boundaries", "character"), params.get("min_left", 1)
    left = [without(text, bounds(gone), tokens, *how) for text, gone in zip(texts, places, strict=True)]
    kept = [text if new is None else new for text, new in zip(texts, left, strict=True)]
    removes = params.get("min_left", 1) > 0
    return [text for text, new in zip(kept, left, strict=True) if not (removes and new == "")]


def bounds(places: set[int]) -> list[int]:
    """Start and end of each run of consecutive places, one after another."""
    return sorted(
        [place for place in places if place - 1 not in places]
        + [place + 1 for place in places if place + 1 not in places]
    )


@pytest.mark.parametrize(
    ("seed", "params"), sampled(list(enumerate(PARAMS)) + [(k + 20, PARAMS[k % 10]) for k in range(40)], 26)
)
def test_texts_are_those_of_the_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, params: dict[str, Any]
) -> None:
    """Over two files, in one shard and one batch, and in many of both."""
    given = lines(seed)
    write_lines(tmp_path / "in" / "a.jsonl", given[:30])
    write_lines(tmp_path / "in" / "b.jsonl", given[30:])
    keys = {"dataset_path": tmp_path / "in", "export_path": tmp_path / "texts" / "out.jsonl"}
    plain = refinery.run(settings(tmp_path, [], **keys))
    texts = [sample["text"] for sample in exported(plain)]
    assert len(texts) > 55 and rows(plain, "quarantine", "count(*)") == [(len(given) - len(texts),)]
    assert "\0" in "".join(texts)
    for workers, size in ((1, None), (2, 900), (4, 300)):
        own = {**keys, "export_path": tmp_path / str(workers) / "out.jsonl", "np": workers}
        with monkeypatch.context() as patch:
            if size is not None:
                in_small_parts(patch)
                own["shard_size"] = size
            run = refinery.run(settings(tmp_path, [{NAME: params}], **own))
        assert [sample["text"] for sample in exported(run)] == wanted(texts, params), (workers, size)
        assert run.counts.read == run.counts.kept + run.counts.removed + run.counts.quarantined
