"""A file that is written anew is loaded anew, whatever its times say."""

from __future__ import annotations

import json
import os
from pathlib import Path

from refinery.kernels.core.file_state import state_of
from refinery.kernels.words import subwords, wordlists


def rewritten(path: Path, text: str) -> None:
    """Write other bytes of the same length, and set the old time, as `cp -p` does."""
    before = path.stat()
    assert len(text.encode()) == before.st_size
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_other_bytes_with_the_old_time_are_another_state(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("one")
    before = state_of(path)
    assert state_of(path) == before
    rewritten(path, "two")
    assert state_of(path) != before


def test_word_lists_and_tokenizers_are_loaded_anew(tmp_path: Path) -> None:
    words, model = tmp_path / "stopwords.json", tmp_path / "tokenizer.json"
    words.write_text('{"en": ["one"]}')
    tokens = {"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}}
    model.write_text(json.dumps(tokens))
    assert wordlists.load(str(tmp_path), "stopwords")["en"] == {"one"}
    assert subwords.pieces(str(model))("a") == ["a"]
    rewritten(words, '{"en": ["two"]}')
    rewritten(model, json.dumps(tokens).replace('"a"', '"b"'))
    assert wordlists.load(str(tmp_path), "stopwords")["en"] == {"two"}
    assert subwords.pieces(str(model))("a") == ["?"]
