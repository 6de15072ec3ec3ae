"""Messages of the language filter about its model."""

from __future__ import annotations

import pytest

from refinery.kernels.models import fasttext
from refinery.operators import Library


def test_the_message_names_a_label_without_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fasttext, "problems", lambda path, name="model": [])
    monkeypatch.setattr(fasttext, "load", lambda path: None)
    monkeypatch.setattr(fasttext, "names", lambda model: ["eng_Latn", "deu", "rus_Cyrl"])
    params = {"backend": "glotlid", "glotlid_model": "lid.bin", "model": None, "languages": "eng_Latn"}
    (problem,) = Library().operators["language_filter"].check(params)
    assert "such as 'deu'" in problem
