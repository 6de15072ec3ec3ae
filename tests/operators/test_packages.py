"""Operators of installed packages: found by entry points, without importing them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import refinery
from refinery.cli.render.reference import page
from refinery.errors import OperatorError, RecipeError
from refinery.execution.open import open_from_command_line
from refinery.operators import Library
from tests.runs import exported, rows, settings, texts, write_lines

SHOUT = '''"""Shout."""
import pyarrow as pa

from colleagues.helpers import louder

OPERATOR = {
    "doc": "Write texts in capitals.",
    "version": 1,
    "functions": {"shout_delta": {"columns": ["VARCHAR"], "returns": "VARCHAR", "runs": "python"}},
    "sql": "SELECT shout_delta({{ text }}) AS delta",
    "examples": [{"text": "a", "out": "A!"}],
}


def shout_delta(column):
    return pa.array([None if text is None else louder(text) for text in column.to_pylist()], pa.string())
'''
LISTED = "/*---\ndoc: Keep listed texts.\nversion: 1\n---*/\nSELECT {{ text }} IN (SELECT text FROM 'PLACE/words.csv') AS keep\n"


def install(
    site: Path, name: str = "colleagues", point: str = "own = colleagues.operators", version: str = "1.2"
) -> Path:
    """A package with operators, as pip would leave it in a folder of `sys.path`."""
    operators = site / name / "operators"
    (operators / "mappers").mkdir(parents=True)
    (operators / "filters").mkdir()
    (site / name / "__init__.py").write_text(
        "raise ImportError('the package was imported to list its operators')\n" * 0
    )
    (site / name / "helpers.py").write_text("def louder(text):\n    return text.upper() + '!'\n")
    (operators / "mappers" / "shout_mapper.py").write_text(SHOUT)
    (operators / "words.csv").write_text("text\nKEPT!\n")
    (operators / "filters" / "listed_filter.sql").write_text(LISTED.replace("PLACE", str(operators)))
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[refinery.operators]\n{point}\n")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n{name}/helpers.py,,\n")
    return operators


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of `sys.path` for packages."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(place)
    yield place  # type: ignore[misc]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("colleagues", "others")]:
        del sys.modules[name]


def test_a_package_is_listed_without_being_imported(site: Path) -> None:
    operators = install(site)
    (site / "colleagues" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    library = Library()
    assert library.operators["shout_mapper"].path == operators / "mappers" / "shout_mapper.py"
    assert str(library.package_of(library.operators["shout_mapper"].path)) == "package colleagues 1.2"
    assert "from package colleagues 1.2: shout_mapper, listed_filter" in page(None, False)
    assert page("shout_mapper", False).endswith("shout_mapper.py of package colleagues 1.2")
    assert "colleagues" not in sys.modules


def test_its_operators_run_and_are_recorded(site: Path, tmp_path: Path) -> None:
    operators = install(site)
    write_lines(tmp_path / "in.jsonl", texts(["kept", "gone"]))
    recipe = settings(tmp_path, ["shout_mapper", "listed_filter"])
    run = refinery.run(recipe)
    assert exported(run) == [{"id": 0, "text": "KEPT!"}]
    manifest = json.loads((run.work_dir / ".refinery" / "manifest.json").read_text())
    assert manifest["packages"]["colleagues"]["version"] == "1.2"
    assert all(reused for (reused,) in rows(refinery.run(recipe), "shards", "reused"))
    # A helper of the folder is part of the key of results, though no file imports it.
    (operators / "mappers" / "_more.py").write_text("x = 1\n")
    again = refinery.run(recipe)
    assert not any(reused for (reused,) in rows(again, "shards", "reused"))


def test_two_packages_with_one_name_are_an_error(site: Path) -> None:
    install(site)
    install(site, "others", "theirs = others.operators")
    with pytest.raises(
        OperatorError, match=r"package others 1.2 has an operator 'shout_mapper' .* and so has package coll"
    ):
        list(Library().operators)


def test_a_name_of_refinery_is_an_error(site: Path) -> None:
    operators = install(site)
    (operators / "mappers" / "clean_email_mapper.sql").write_text("/*---\n---*/")
    with pytest.raises(OperatorError, match=r"clean_email_mapper.* and so has refinery"):
        list(Library().operators)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("own = colleagues.operator", "names no Python package that is installed"),
        ("own = nothing_of_the_kind", "names no Python package that is installed"),
        ("own = colleagues.operators:FOLDER", "must be the name of a Python package"),
        ("own = colleagues", "has no operators: they are looked for below"),
    ],
)
def test_an_entry_point_without_operators_is_an_error(site: Path, point: str, message: str) -> None:
    install(site, point=point)
    with pytest.raises(
        OperatorError, match=f"package colleagues: its entry point {point} of refinery.operators.*{message}"
    ):
        list(Library().operators)


def test_safe_refuses_operators_of_packages(site: Path, tmp_path: Path) -> None:
    install(site)
    write_lines(tmp_path / "in.jsonl", texts(["kept"]))
    (tmp_path / "r.yaml").write_text(
        f"dataset_path: {tmp_path}/in.jsonl\nexport_path: {tmp_path}/out/k.jsonl\nprocess:\n  - shout_mapper:\n"
    )
    with pytest.raises(RecipeError, match=r"r.yaml:4: --safe: shout_mapper is code of the package colleagues 1.2"):
        open_from_command_line(str(tmp_path / "r.yaml"), [], [], [], [], roots=[str(tmp_path)])
