"""Operators where they are not looked for: an error with the place and the cure, in place of silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.errors import OperatorError
from refinery.operators import Library

PYTHON = 'OPERATOR = {"doc": "d", "version": 1}\n'
SQL = "/*---\ndoc: d\nversion: 1\n*/\nSELECT 1\n"
# Files of a folder `ops`, and what the message says.
CASES = {
    "flat": ({"add_mapper.py": PYTHON}, "ops: add_mapper.py is in no folder of a kind. Move it to ops/mappers/add_mapper.py"),
    "flat SQL": ({"own_filter.sql": SQL}, "Move it to ops/filters/own_filter.sql"),
    "flat beside others": ({"add_stats.py": PYTHON, "mappers/b_mapper.py": PYTHON}, "Move it to ops/statistics/add_stats.py"),
    "singular": ({"mapper/add_mapper.py": PYTHON}, "mapper/add_mapper.py is not looked for. Move it to mappers/add_mapper.py"),
    "capitals": ({"Filters/a_filter.sql": SQL}, "Filters/a_filter.sql is not looked for. Move it to filters/a_filter.sql"),
    "singular beside others": ({"filters/a_filter.sql": SQL, "mapper/b_mapper.py": PYTHON}, "Move it to mappers/b_mapper.py"),
    "nothing": ({"notes.txt": "x"}, "ops: has no operators: they are looked for below mappers/, filters/, "),
    "a folder too deep": ({"more/mappers/add_mapper.py": PYTHON}, "has no operators: they are looked for below mappers/"),
}  # fmt: skip


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("files", "message"), CASES.values(), ids=CASES)
def test_operators_that_would_not_be_found(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(OperatorError) as error:
        Library((put(tmp_path / "ops", files),))
    assert message in str(error.value)


def test_the_folder_of_a_kind_is_not_the_folder_of_operators(tmp_path: Path) -> None:
    put(tmp_path / "ops", {"mappers/add_mapper.py": PYTHON})
    with pytest.raises(OperatorError, match=f"Name the folder above: {tmp_path}/ops$"):
        Library((tmp_path / "ops" / "mappers",))


@pytest.mark.parametrize("name", ["file", "nothing"])
def test_what_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OperatorError, match="Name a folder that has operators below mappers/"):
        Library((tmp_path / name,))


def test_helpers_and_other_folders_may_stand_beside_them(tmp_path: Path) -> None:
    files = {"helpers.py": "OPERATORS = 1\n", "_old_mapper.py": PYTHON, "mapping/data.py": "x = 1\n", "maps/a.txt": ""}
    assert "b_filter" in Library((put(tmp_path / "ops", {**files, "filters/b_filter.sql": SQL}),)).operators
