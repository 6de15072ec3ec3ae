"""Libraries whose versions are in the keys of results."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.common.packages import installed_version
from refinery.operators import distributed
from refinery.operators.versions import COMPUTING, FOR_SHOW, OF_OPERATORS, libraries_of_shipped, versions
from tests.conftest import ROOT
from tests.runs import exported, settings, texts, write_lines
from tests.tiny_models import model_folder


def test_every_requirement_counts_unless_there_is_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *(one for name, all_of in extras.items() if name != "dev" for one in all_of)]
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in listed}  # type: ignore[index]
    alone = {name for all_of in OF_OPERATORS.values() for name in all_of}
    assert names == {*COMPUTING} | FOR_SHOW | alone


def test_versions_do_not_depend_on_the_name_that_refinery_is_installed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.operators.versions._requirements", lambda name: ())
    versions.cache_clear()
    assert {"duckdb", "regex", "numpy", "ftfy"} <= versions().keys()
    versions.cache_clear()


def library(folder: Path, version: str, number: int) -> None:
    """A package that stands in for model2vec, in a folder of `sys.path`."""
    (folder / "model2vec").mkdir(parents=True, exist_ok=True)
    info = folder / "model2vec-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: model2vec\nVersion: {version}\n")
    module = folder / "model2vec" / "__init__.py"
    module.write_text(f"""
import numpy as np
class StaticModel:
    from_pretrained = classmethod(lambda kind, *arguments, **named: kind())
    def encode(self, texts, **named): return np.full((len(texts), 2), {number}, np.float32)
""")
    os.utime(module, (number, number))  # Python knows its bytecode by size and second


def test_another_version_of_a_library_makes_embeddings_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `pip install --upgrade` between two commands does, on a folder of PYTHONPATH."""
    write_lines(tmp_path / "in.jsonl", texts(["cat"]))
    model_folder(tmp_path / "tiny", {"cat": (1, 0)})
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    recipe: dict[str, Any] = settings(tmp_path, [{"embedding_mapper": {"model": str(tmp_path / "tiny")}}])
    for number in (1, 2):
        library(tmp_path / "lib", f"{number}.0", number)
        _as_a_new_process(monkeypatch)
        assert libraries_of_shipped("embedding_mapper")["model2vec"] == f"{number}.0"
        assert exported(refinery.run(recipe))[0]["embedding"] == [number, number]


def _as_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process knows of installed packages, and what the operator has loaded."""
    import sys

    installed_version.cache_clear()
    distributed._installed_in.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "model2vec" or "embedding_mapper" in name]:
        monkeypatch.delitem(sys.modules, name)


def test_other_operators_do_not_depend_on_it() -> None:
    assert libraries_of_shipped("text_length_filter") == {} and "model2vec" not in versions()
