"""The notebooks of docs/notebooks run from the first cell to the last, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
_MACHINE = re.compile(r"/(root|home|Users|tmp|work|mnt)/|[A-Z]:\\\\")


def notebook(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def executed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("notebook")
    book = notebook(request.param)
    nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return book


def outputs(book: Any, begins: str) -> list[Any]:
    """Outputs of the cell that begins with a text."""
    [found] = [cell.outputs for cell in book.cells if cell.cell_type == "code" and cell.source.startswith(begins)]
    return list(found)


def shown(book: Any, begins: str, kind: str = "text/plain") -> str:
    """Output of the last line of a cell."""
    [data] = [output.data for output in outputs(book, begins) if output.output_type == "execute_result"]
    return str(data[kind])


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS == ["from-a-file-to-a-tuned-recipe", "look-at-a-run"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_stored_without_outputs_and_places(name: str) -> None:
    book = notebook(name)
    nbformat.validate(book)
    assert not [cell for cell in book.cells if cell.get("outputs") or cell.get("execution_count")]
    assert not _MACHINE.search((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)\)", "\n".join(cell.source for cell in book.cells)):
        assert (FOLDER / target).resolve().is_file(), target


@pytest.mark.parametrize("executed", ["look-at-a-run"], indirect=True)
def test_look_at_a_run(executed: Any) -> None:
    page = shown(executed, "import refinery", "text/html")
    assert "524 rows read" in page and "word_repetition_filter" in page and "<script" not in page
    assert "num_words below min_num" in shown(executed, "run.removed.aggregate")
    assert "word_repetition_filter" in shown(executed, "[(event.operator")
    assert "removed by step 12 word_repetition_filter" in shown(executed, "history = ")
    [error] = outputs(executed, 'run.tune("word_num_filter"')
    assert (
        error.ename == "RecipeError" and len(error.traceback) == 1 and "Did you mean 'words_num_filter'" in error.evalue
    )
    assert shown(executed, "run.report", "text/html").startswith("<iframe sandbox")


@pytest.mark.parametrize("executed", ["from-a-file-to-a-tuned-recipe"], indirect=True)
def test_from_a_file_to_a_tuned_recipe(executed: Any) -> None:
    first = outputs(executed, "import refinery")
    assert [output.data["text/html"] for output in first if output.output_type == "display_data"] == [
        ""
    ]  # the bar has gone
    assert "524 rows read" in shown(executed, "import refinery", "text/html")
    assert shown(executed, "trials = ").count("%") == 21 and "→" in shown(executed, "trials = ")
    assert "min_len: 10 → 300" in shown(executed, "run.diff")
    [recipe] = outputs(executed, "tuned = ")
    assert "min_len: 300" in recipe.text
    assert re.search(r"true +│ +\d+", shown(executed, "import duckdb"))
