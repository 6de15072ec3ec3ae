"""Kernels that Python files call are found in their sources, so that they are compiled together."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from refinery.kernels.core import jit, machine_code
from refinery.kernels.core.kernel_calls import Caller, _stored, called_kernels, stored_calls
from refinery.kernels.json import jsontext
from refinery.kernels.text.lines import line_ends
from refinery.operators import shipped

_RUN = """
import json, sys
from pathlib import Path
from refinery.cli.main import main
from refinery.execution.open import open_recipe
from refinery.kernels.core import jit
from refinery.kernels.core.kernel_calls import called_kernels
from refinery.planning.kernel_callers import kernel_callers

sys.argv = ["refinery", "run", sys.argv[1], "--quiet", "--fresh"]
try:
    main()
except SystemExit as end:
    assert not end.code
loaded = [name for name, kernel in jit._declared.items() if kernel._code]
recipe, library = open_recipe(Path(sys.argv[2]))
print(json.dumps([loaded, sorted(called_kernels(kernel_callers(recipe, library)))]))
"""


@pytest.mark.parametrize(
    ("code", "kernels"),
    [
        ("from refinery.kernels.text.lines import line_ends\nline_ends(1)", {"text.lines.line_ends"}),
        ("from refinery.kernels.text import lines as l\ndef f(): return l.line_ends", {"text.lines.line_ends"}),
        ("from refinery import kernels\nx = kernels.text.lines.line_ends", {"text.lines.line_ends"}),
        ("def f():\n from refinery.kernels import text\n text.lines.line_ends()", {"text.lines.line_ends"}),
        (
            "try:\n if 1:\n  pass\n else:\n  from refinery.kernels.text import lines\nfinally:\n lines.gather",
            {"text.lines.gather"},
        ),
        ("match 1:\n case 1:\n  from refinery.kernels.text import lines\n  lines.gather", {"text.lines.gather"}),
        ("from refinery.kernels.json import jsoncheck\njsoncheck.objects()", {"json.jsoncheck._objects"}),
        ("from refinery.kernels.text import lines", set()),
        ("lines.line_ends()", set()),
        ("from refinery.kernels.text.lines import (", set()),
    ],
)
def test_calls_of_a_file(tmp_path: Path, code: str, kernels: set[str]) -> None:
    file = tmp_path / "code.py"
    file.write_text(code)
    assert called_kernels([Caller(file)]) == kernels
    assert called_kernels([Caller(tmp_path / "none.py")]) == set()


@pytest.mark.parametrize(
    ("function", "kernels"),
    [
        ("ends", {"text.lines.line_ends"}),
        ("counts", {"text.lines.count_lines"}),
        ("imported", {"text.lines.gather"}),
        ("both", {"text.lines.line_ends", "text.lines.count_lines"}),
        ("", {"text.lines.line_ends", "text.lines.count_lines"}),
        ("made elsewhere", {"text.lines.line_ends", "text.lines.count_lines"}),
    ],
)
def test_calls_of_a_function(tmp_path: Path, function: str, kernels: set[str]) -> None:
    file = tmp_path / "code.py"
    file.write_text(
        "from refinery.kernels.text.lines import count_lines, line_ends\n"
        "from refinery.kernels.text.lines import gather as imported\n"
        "def ends(): line_ends()\ncounts = count_lines\ndef both(): ends(), _more()\ndef _more(): both(), counts()"
    )
    assert called_kernels([Caller(file, function)]) == kernels


def test_rare_kernels_are_compiled_when_they_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "code.py"
    file.write_text("from refinery.kernels.json.jsontext import lacking, skip_space\nlacking(), skip_space()")
    assert called_kernels([Caller(file)]) == {"json.jsontext.skip_space"}
    monkeypatch.setattr(jit, "_expected", [lambda: []])
    monkeypatch.setattr(machine_code, "_folders", lambda: [tmp_path])
    assert jit._missing(["json.jsontext.skip_space"]) == ["json.jsontext.skip_space"]
    along = [f"json.jsontext.{name}" for name in ("elements", "lacking", "one_line")]
    assert jit._missing([jsontext.lacking.name]) == along


def test_stored_calls_are_found_again_for_a_changed_file(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("from refinery.kernels.text.lines import line_ends\nline_ends()")
    assert stored_calls([Caller(file)], tmp_path) == stored_calls([Caller(file)], tmp_path) == {"text.lines.line_ends"}
    (note,) = (tmp_path / "calls").iterdir()
    note.write_text("[")
    _stored.cache_clear()  # as in another process
    assert stored_calls([Caller(file)], tmp_path) == {"text.lines.line_ends"}
    assert json.loads(note.read_text()) == ["text.lines.line_ends"]
    file.write_text("from refinery.kernels.text.lines import count_lines\n\ncount_lines()")
    assert stored_calls([Caller(file)], tmp_path) == {"text.lines.count_lines"}


@pytest.mark.parametrize("recipe", [pytest.param("web_sample", marks=pytest.mark.long), "web_dedup"])
def test_a_run_calls_no_other_kernels(tmp_path: Path, recipe: str) -> None:
    path = shipped() / "recipes" / f"{recipe}.yaml"
    place = tmp_path / f"{recipe}.yaml"
    place.write_text(path.read_text().replace("outputs/", f"{tmp_path}/").replace("recipes/", f"{path.parent}/"))
    done = subprocess.run([sys.executable, "-c", _RUN, place], env={**os.environ}, check=True, capture_output=True)
    loaded, expected = json.loads(done.stdout.splitlines()[-1])
    assert len(loaded) > 10 and set(loaded) <= set(expected)


def test_expected_kernels_are_compiled_with_the_first_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    file = tmp_path / "code.py"
    file.write_text("from refinery.kernels.text.lines import count_lines\ncount_lines()")
    monkeypatch.setattr(jit, "_expected", [])
    monkeypatch.setattr(jit, "_failed", set())
    monkeypatch.setattr(jit, "compile_apart", lambda names, folder: compiled.extend(names))
    monkeypatch.setattr(machine_code, "_folders", lambda: [tmp_path])
    monkeypatch.setattr(machine_code, "user_folder", lambda: tmp_path)
    jit.expect(lambda: [Caller(file)], lambda: [])
    jit.compile_missing(line_ends.name)
    assert compiled == ["text.lines.count_lines", "text.lines.line_ends"]
    assert jit._failed == set(compiled)  # nothing was compiled, which is not tried again
    jit.compile_missing(line_ends.name)
    assert len(compiled) == 2
