"""A machine without any models or word lists."""

from __future__ import annotations

from pathlib import Path

import pytest

VARIABLES = (
    "REFINERY_ASSETS", "DATA_JUICER_EXTERNAL_MODELS_HOME", "DATA_JUICER_MODELS_CACHE", "DATA_JUICER_ASSETS_CACHE",
    "DATA_JUICER_CACHE_HOME", "CACHE_HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder; no variable names another place. The cache of refinery is below it."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("HOME", str(found))
    monkeypatch.setenv("REFINERY_CACHE_DIR", str(found / "refinery"))
    monkeypatch.chdir(found)
    return found
