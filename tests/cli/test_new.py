"""`refinery new`: files of operators that work as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

import refinery
from refinery.cli.new_operator import FOLDERS
from refinery.inspect.examples.folder import run_examples
from tests.commands import command
from tests.runs import settings, texts, write_lines

NAMES = {f"own_{kind}_{form}": (kind, form) for kind in FOLDERS for form in ("sql", "py")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new operator of every kind, in SQL and Python."""
    place = tmp_path_factory.mktemp("new")
    for name, (kind, form) in NAMES.items():
        code, printed = command("new", kind, name, "--to", str(place / "ops"), *(["--python"] if form == "py" else []))
        assert code == 0, printed
        assert f"{FOLDERS[kind]}/{name}.{form} is written" in printed
    return place


def test_the_examples_of_new_operators_hold(folder: Path) -> None:
    reports = run_examples(folder / "ops")
    assert {report.path.stem for report in reports} == {*NAMES}
    assert [one for report in reports for one in report.wrong] == []
    assert all(report.count >= 2 for report in reports)


def test_new_operators_run_in_a_recipe(folder: Path) -> None:
    write_lines(folder / "in.jsonl", texts(["A  foo is a foo?", "a  foo IS a FOO", "other words here", ""]))
    run = refinery.run(settings(folder, [*NAMES], operators=str(folder / "ops")))
    assert run.counts.read == 4 and run.counts.quarantined == 0


def test_nothing_is_overwritten(folder: Path) -> None:
    path = folder / "ops" / "filters" / "own_filter_sql.sql"
    before = path.read_bytes()
    for name in ("own_filter_sql", "clean_email_mapper", "own_mapper_py"):
        code, printed = command("new", "filter", name, "--to", str(folder / "ops"))
        assert code == 2 and f"there is an operator '{name}' already" in printed
    (folder / "ops" / "filters" / "left.sql").mkdir()
    code, printed = command("new", "filter", "left", "--to", str(folder / "ops"))
    assert code in (2, 4, 6) and "Traceback" not in printed
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["My-Filter", "9th", "../up", "a b", ""])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    code, printed = command("new", "mapper", name, "--to", str(tmp_path / "ops"))
    assert code == 2 and "no name for an operator" in printed
    assert not (tmp_path / "ops").exists()
