"""Packages outside of Python's own folders: installed by their `dist-info`, or code of the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refinery.operators import distributed
from refinery.operators.local_code import is_installed, local_modules
from refinery.operators.versions import libraries


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on `sys.path`, as PYTHONPATH and `.pth` files put them there."""
    distributed._installed_in.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    return tmp_path / "lib"


def package(folder: Path, name: str, **files: str) -> None:
    """A package of one module, with the files of its `dist-info` by their names."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(f"import {name}.inner\n")
    (folder / name / "inner.py").write_text("x = 1\n")
    for file, text in files.items():
        (folder / f"{name}-2.5.dist-info").mkdir(exist_ok=True)
        (folder / f"{name}-2.5.dist-info" / file).write_text(text)


def metadata(name: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 2.5\n"


def test_what_has_a_dist_info_is_installed(folder: Path, tmp_path: Path) -> None:
    package(folder, "dist_of_test", METADATA=metadata("dist_of_test"))
    operator = tmp_path / "own_mapper.py"
    operator.write_text("import dist_of_test.inner\n")
    assert is_installed(str(folder / "dist_of_test" / "inner.py"))
    assert local_modules(operator) == {} and libraries(operator) == {"dist-of-test": "2.5"}


def test_modules_are_those_that_the_package_lists(folder: Path) -> None:
    package(folder, "listed_of_test", METADATA=metadata("other"), RECORD="listed_of_test/inner.py,,\n../bin/x,,\n")
    package(folder, "beside_of_test")
    assert is_installed(str(folder / "listed_of_test" / "inner.py"))
    assert not is_installed(str(folder / "beside_of_test" / "inner.py")) and not is_installed(str(folder / "x.py"))


def test_an_editable_installation_changes_without_a_version(folder: Path, tmp_path: Path) -> None:
    direct = json.dumps({"url": "file:///x", "dir_info": {"editable": True}})
    package(folder, "edited_of_test", METADATA=metadata("edited_of_test"), **{"direct_url.json": direct})
    operator = tmp_path / "own_mapper.py"
    operator.write_text("import edited_of_test.inner\n")
    assert local_modules(operator).keys() == {"edited_of_test", "edited_of_test.inner"}
