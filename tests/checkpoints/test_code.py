"""Code and data beside an operator: every run is of them as they are now, and says so of what it uses again."""

from __future__ import annotations

import importlib
import os
import py_compile
import shutil
import sys
import textwrap
import zipimport
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import pytest

import refinery
from refinery.errors import DataError, OperatorError
from refinery.inspect.why.query import RowHistories
from refinery.operators import read_operator
from refinery.operators.local_code import local_modules
from refinery.operators.versions import is_left_out, libraries, own_sources
from tests.checkpoints.forks import Forks
from tests.runs import exported, operator_folder, settings, texts, write_lines
from tests.sampling import named, sampled

HELPER = "def ending():\n    return '{}'\n"


def folder_of(tmp_path: Path, body: str, header: str = "") -> Path:
    return operator_folder(tmp_path / "ops", header, own=body)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def ends(tmp_path: Path, **keys: Any) -> tuple[set[str], set[int]]:
    """The last words of the texts that a run has left, and how many stages of its shards were there already."""
    if not (tmp_path / "in.jsonl").exists():
        write_lines(tmp_path / "in.jsonl", texts(f"text {k}" for k in range(60)))
    given = {"operators": [str(tmp_path / "ops")], "shard_size": 800, "workers": "threads"}
    run = refinery.run(settings(tmp_path, [{"own_mapper": None}], **given | keys))
    found = {count for (count,) in run.sql("SELECT DISTINCT reused FROM shards").fetchall()}
    return {sample["text"].split()[-1] for sample in exported(run)}, found


BESIDE = """
import sys
sys.path.insert(0, str(Path(__file__).parent{up}))
{imports}
return f"{{text}} {{{call}}}"
"""
# Where the code stands that is changed, how the operator comes to it, and what it calls.
PLACES = {
    "beside": ("ops/mappers/_helper.py", "", "import _helper", "_helper.ending()"),
    "lazily": ("ops/mappers/_late.py", "", "from _late import ending", "ending()"),
    "elsewhere": (
        "apart/apart_of_test.py",
        ".parent.parent / 'apart'",
        "import apart_of_test",
        "apart_of_test.ending()",
    ),
    "package": ("ops/lib_of_test/deep/inner.py", ".parent", "import lib_of_test.outer", "lib_of_test.outer.ending()"),
}

OF_PLACES = ("_helper", "_late", "apart_of_test", "lib_of_test")


@pytest.mark.parametrize("workers", sampled(["threads", "processes"]))
@pytest.mark.parametrize(("place", "up", "imports", "call"), named(PLACES, "elsewhere"))
def test_code_that_an_operator_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, up: str, imports: str, call: str, workers: str
) -> None:
    """Changed in the same process, in the same second, to as many bytes; workers: those that run it then."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.partition(".")[0] in OF_PLACES]:
        monkeypatch.delitem(sys.modules, name)  # another case has imported a module of this name from its own folder
    folder_of(tmp_path, BESIDE.format(up=up, imports=imports, call=call))
    put(tmp_path / "ops" / "lib_of_test" / "outer.py", "from .deep.inner import ending\n")
    put(tmp_path / place, HELPER.format("one"))
    assert ends(tmp_path) == ({"one"}, {0})
    # Where to find a module elsewhere is only known when the function has run, in a process that has ended.
    assert ends(tmp_path) == ({"one"}, {int(place.startswith("ops/"))})
    put(tmp_path / place, HELPER.format("two"))
    assert ends(tmp_path, workers=workers) == ({"two"}, {0})


def test_a_module_elsewhere_that_the_import_of_the_file_finds(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "return f'{text} {apart_of_test.ending()}'") / "mappers" / "own_mapper.py"
    head = f"import sys\nsys.path.insert(0, {str(tmp_path / 'apart')!r})\nimport apart_of_test\n"
    path.write_text(path.read_text() + head)
    put(tmp_path / "apart" / "apart_of_test.py", HELPER.format("one"))
    assert ends(tmp_path) == ({"one"}, {0}) and ends(tmp_path) == ({"one"}, {1})
    put(tmp_path / "apart" / "apart_of_test.py", HELPER.format("two"))
    assert ends(tmp_path) == ({"two"}, {0}) and "apart_of_test" not in sys.modules


def test_an_operator_that_is_edited_while_the_process_lives(tmp_path: Path) -> None:
    folder_of(tmp_path, "return text + ' one'")
    assert ends(tmp_path) == ({"one"}, {0})
    folder_of(tmp_path, "return text + ' two'")
    assert ends(tmp_path) == ({"two"}, {0})


def test_data_in_the_folder_and_data_that_is_declared(tmp_path: Path) -> None:
    body = """
    here = Path(__file__).parent
    return f"{text} {(here / 'word.txt').read_text()}{(here / '../../apart/end.txt').read_text()}"
    """
    folder_of(tmp_path, body, header='"resources": {"files": ["../../apart/end.txt"]},')
    put(tmp_path / "ops" / "mappers" / "word.txt", "one")
    put(tmp_path / "apart" / "end.txt", "!")
    assert ends(tmp_path) == ({"one!"}, {0}) and ends(tmp_path) == ({"one!"}, {1})
    put(tmp_path / "ops" / "mappers" / "word.txt", "two")
    assert ends(tmp_path) == ({"two!"}, {0})
    put(tmp_path / "apart" / "end.txt", "?")
    assert ends(tmp_path) == ({"two?"}, {0})
    with pytest.raises(DataError, match="end.txt changed since the run"):
        put(tmp_path / "apart" / "end.txt", ";")
        RowHistories(tmp_path / "run")


@pytest.mark.parametrize(
    ("body", "workers"),
    [
        ("late()", "processes"),
        *(
            pytest.param(body, "threads", marks=pytest.mark.long)
            for body in ("open(PATH).read()", "WORD[0]", "Path(PATH).read_text()", "late()")
        ),
        *(
            pytest.param(body, "processes", marks=pytest.mark.long)
            for body in ("open(PATH).read()", "WORD[0]", "Path(PATH).read_text()")
        ),
    ],
)
def test_a_file_that_nothing_declares(tmp_path: Path, body: str, workers: str) -> None:
    """Its results are not used again, also of shards that were made with what others had read; a note says so."""
    put(tmp_path / "apart" / "word.txt", "one")
    folder_of(tmp_path, f"return f'{{text}} {{{body}}}'")
    path = tmp_path / "ops" / "mappers" / "own_mapper.py"
    head = f"""
    PATH = {str(tmp_path / "apart" / "word.txt")!r}
    WORD = [open(PATH).read()] if {body.startswith("WORD")} else []
    def late():
        if not WORD:
            WORD.append(open(PATH).read())
        return WORD[0]
    """
    path.write_text(path.read_text() + textwrap.dedent(head))
    steps: list[Any] = [{"own_mapper": None}, {"document_deduplicator": None}, {"text_length_filter": {}}]
    write_lines(tmp_path / "in.jsonl", texts(f"text {k}" for k in range(60)))
    recipe = settings(tmp_path, steps, operators=[str(tmp_path / "ops")], shard_size=800, workers=workers)
    for word in ("one", "two"):
        put(tmp_path / "apart" / "word.txt", word)
        if not body.startswith("open") and word == "two" and workers == "threads":
            path.write_text(path.read_text() + "\n")  # a new process, or an edit, reads it again
        run = refinery.run(recipe)
        assert {sample["text"].split()[-1] for sample in exported(run)} == {word}
        assert run.sql("SELECT DISTINCT reused FROM shards").fetchall() == [(0,)]
        assert [
            note
            for note in run.warnings
            if note.startswith(f"own_mapper opens {tmp_path}/apart/word.txt, which is not")
        ]
    if body.startswith("open"):
        path.write_text(
            path.read_text().replace('"version": 1,', '"version": 1, "resources": {"files": ["../../apart/word.txt"]},')
        )
        for reused in (0, 2):
            run = refinery.run(recipe)
            assert run.sql("SELECT DISTINCT reused FROM shards").fetchall() == [(reused,)]
            assert not [note for note in run.warnings if "nothing declares" in note or " opens " in note]


def test_what_is_no_code_of_the_operator_changes_nothing(tmp_path: Path) -> None:
    """Another operator in the folder, what runs leave there, compiled files."""
    folder_of(tmp_path, "return text + ' one'")
    keys = {"work_dir": tmp_path / "ops" / "run", "export_path": tmp_path / "ops" / "run" / "out.jsonl"}
    assert ends(tmp_path, **keys) == ({"one"}, {0})
    operator_folder(tmp_path / "ops", other="return None")
    put(tmp_path / "ops" / "mappers" / "__pycache__" / "x.pyc", "x")
    shutil.copytree(tmp_path / "ops" / "run", tmp_path / "ops" / "copy of a run")
    assert ends(tmp_path, **keys) == ({"one"}, {1})


def test_a_declared_file_must_be_there(tmp_path: Path) -> None:
    path = (
        folder_of(tmp_path, "return text", header='"resources": {"files": ["no.txt"]},') / "mappers" / "own_mapper.py"
    )
    with pytest.raises(OperatorError, match=r"resources name the file 'no.txt', but there is no .*no.txt"):
        read_operator(path)


def test_modules_are_found_wherever_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within functions, relatively, in namespaces, in circles; not those that are installed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    put(tmp_path / "space_of_test" / "one.py", "from . import two\nimport numpy, json, refinery.errors\n")
    put(tmp_path / "space_of_test" / "two.py", "def f():\n    from .sub.three import x\n")
    put(tmp_path / "space_of_test" / "sub" / "__init__.py", "from ..one import *\n")
    put(tmp_path / "space_of_test" / "sub" / "three.py", "x = 1\n")
    put(tmp_path / "own_mapper.py", "def f():\n    import space_of_test.one as one\n")
    found = local_modules(tmp_path / "own_mapper.py")
    names = {"space_of_test.one", "space_of_test.two", "space_of_test.sub", "space_of_test.sub.three"}
    assert found.keys() == names and found["space_of_test.sub"] == tmp_path / "space_of_test" / "sub" / "__init__.py"


def test_libraries_of_an_operator_and_what_they_require(tmp_path: Path) -> None:
    path = tmp_path / "own_mapper.py"
    path.write_text("def f():\n    import numba, yaml, json, no_such_module\n")
    assert {"numba", "llvmlite", "numpy", "pyyaml"} <= libraries(path).keys()


def test_no_package_is_looked_for_that_has_a_module_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading what each installed package holds takes half a second."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("refinery.operators.versions._by_module", None)
    put(tmp_path / "beside_of_test.py", "import numba, json\n")
    put(tmp_path / "own_mapper.py", "import beside_of_test\n")
    assert {"numba", "llvmlite"} <= libraries(tmp_path / "own_mapper.py").keys()


def test_every_part_of_refinery_counts_unless_there_is_a_reason(tmp_path: Path) -> None:
    home = Path(refinery.__file__).parent
    copy = tmp_path / "refinery"
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    before = own_sources(copy)
    parts = sorted({path.parent for path in copy.rglob("*.py")})
    assert len(parts) > 15
    for folder in parts:
        path = next(folder.glob("*.py"))
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        counts = not is_left_out(str(path.relative_to(copy)))
        assert (own_sources(copy) != before) == counts, path
        path.write_bytes(text)
    put(copy / "kernels" / "words" / "table.txt", "data counts too, at any depth")
    assert own_sources(copy) != before


KERNEL = """
import sys
sys.path.insert(0, {folder!r})
from pathlib import Path
import numba
import numpy as np
import pyarrow as pa
from apart_kernel import ending
LIMIT = float((Path(__file__).parent / "../../apart/limit.txt").read_text())

OPERATOR = {{
    "doc": "A number for one test.",
    "version": 1,
    "params": {{}},
    "stats": {{"own": {{"type": "DOUBLE", "doc": "A number."}}}},
    "resources": {{"files": ["../../apart/limit.txt"]}},
    "functions": {{"own_number": {{"columns": ["VARCHAR"], "returns": "DOUBLE", "call": "call"}}}},
    "sql": "SELECT own_number({{{{ text }}}}) AS own",
    "examples": [],
}}

{kernel}

def call(column):
    return pa.array([float({call})] * len(column), pa.float64())
"""
# Ways in which numba compiles and stores a function, and a call of it.
KERNELS = {
    "njit": ("@numba.njit(nogil=True, cache=True)\ndef number():\n    return ending() + LIMIT", "number()"),
    "vectorize": (
        "@numba.vectorize(['float64(float64)'], cache=True)\ndef number(x):\n    return x + ending() + LIMIT",
        "number(np.zeros(1))[0]",
    ),
    "guvectorize": (
        "@numba.guvectorize(['(float64[:], float64[:])'], '(n)->(n)', cache=True)\n"
        "def number(x, y):\n    y[0] = ending() + LIMIT",
        "number(np.zeros(1))[0]",
    ),
    "cfunc": (
        "@numba.cfunc('float64(float64)', cache=True)\ndef number(x):\n    return x + ending() + LIMIT",
        "number.ctypes(0.0)",
    ),
    "when it is called": (
        "def number():\n    @numba.njit(cache=True)\n    def inner():\n        return ending() + LIMIT\n    return inner()",
        "number()",
    ),
}


@pytest.mark.parametrize(("kernel", "call"), named(KERNELS, "vectorize"))
def test_machine_code_of_a_kernel_is_of_what_it_is_made_of_now(tmp_path: Path, kernel: str, call: str) -> None:
    """numba looks at the kernel's own file only; each run is a process of its own, as a fork of one that has run none."""
    code = KERNEL.format(folder=str(tmp_path / "apart"), kernel=kernel, call=call)
    put(tmp_path / "ops" / "statistics" / "own_stats.py", code)
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    recipe = settings(tmp_path, [{"own_stats": None}], operators=[str(tmp_path / "ops")])
    forks = Forks()
    for ending, limit in ((1, 10), (2, 10), (2, 20)):
        helper = f"import numba\n\n\n@numba.njit(cache=True)\ndef ending():\n    return {ending}\n"
        put(tmp_path / "apart" / "apart_kernel.py", helper)
        put(tmp_path / "apart" / "limit.txt", f"{limit}")
        answer = forks.run(recipe)
        assert answer["code"] == 0, answer["error"]
        with duckdb.connect(str(tmp_path / "run" / "refinery.duckdb"), read_only=True) as con:
            assert con.execute("SELECT DISTINCT own FROM stats").fetchall() == [(ending + limit,)]
    forks.close()


def keep_time(path: Path, write: Any) -> None:
    """Change a file as `cp -p` and `rsync -t` do: the time is that of the source."""
    before = path.stat()
    write()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def test_an_operator_that_is_replaced_with_its_size_and_time(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "return text + ' one'") / "mappers" / "own_mapper.py"
    py_compile.compile(str(path))  # as a tool of the user may do
    assert ends(tmp_path) == ({"one"}, {0})
    keep_time(path, lambda: folder_of(tmp_path, "return text + ' two'"))
    assert ends(tmp_path) == ({"two"}, {0})


@pytest.mark.parametrize("workers", sampled(["threads", "processes"]))
def test_compiled_code_of_a_helper_is_not_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """A helper has compiled code of a user's program; it is replaced with its size and time."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    helper = tmp_path / "ops" / "mappers" / "_compiled_of_test.py"
    folder_of(tmp_path, BESIDE.format(up="", imports="import _compiled_of_test as beside", call="beside.ending()"))
    put(helper, HELPER.format("one"))
    py_compile.compile(str(helper))
    keep_time(helper, lambda: put(helper, HELPER.format("two")))
    assert ends(tmp_path, workers=workers) == ({"two"}, {0})
    keep_time(helper, lambda: put(helper, HELPER.format("six")))
    assert ends(tmp_path, workers=workers) == ({"six"}, {0})


def test_a_module_that_the_program_has_imported_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook imports a helper of an operator, and then edits it."""
    monkeypatch.syspath_prepend(str(tmp_path / "ops" / "mappers"))
    folder_of(tmp_path, "import _own_of_test as own\nreturn f'{text} {own.ending()}'")
    helper = tmp_path / "ops" / "mappers" / "_own_of_test.py"
    put(helper, HELPER.format("one"))
    importlib.import_module("_own_of_test")
    keep_time(helper, lambda: put(helper, HELPER.format("two")))
    assert ends(tmp_path) == ({"two"}, {0})


def test_a_member_of_a_package_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program has imported the package, whose own file does not change."""
    monkeypatch.syspath_prepend(str(tmp_path / "ops" / "mappers"))
    folder_of(tmp_path, "from package_of_test import inner\nreturn f'{text} {inner.ending()}'")
    folder = tmp_path / "ops" / "mappers" / "package_of_test"
    put(folder / "inner.py", HELPER.format("one"))
    put(folder / "__init__.py", "")
    importlib.import_module("package_of_test.inner")
    put(folder / "inner.py", HELPER.format("two"))
    assert ends(tmp_path) == ({"two"}, {0})


@pytest.mark.parametrize("declared", sampled([False, True]))
def test_data_that_an_import_reads(tmp_path: Path, declared: bool) -> None:
    """Beside the operator, or declared: it changes between two runs of one process."""
    name = "../../apart/word.txt" if declared else "word.txt"
    head = f'"resources": {{"files": ["{name}"]}},' if declared else ""
    path = folder_of(tmp_path, "return f'{text} {WORD}'", head) / "mappers" / "own_mapper.py"
    path.write_text(path.read_text() + f"\nWORD = (Path(__file__).parent / {name!r}).read_text()\n")
    data = path.parent / name
    put(data, "one")
    assert ends(tmp_path) == ({"one"}, {0}) and ends(tmp_path) == ({"one"}, {1})
    keep_time(data, lambda: put(data, "two"))
    assert ends(tmp_path) == ({"two"}, {0})


@pytest.mark.long
def test_an_archive_that_an_operator_imports_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "apart" / "code.zip"), *sys.path])
    folder_of(tmp_path, "import packed_of_test.inner as inner\nreturn f'{text} {inner.ending()}'")
    for word in ("one", "two"):
        (tmp_path / "apart").mkdir(exist_ok=True)
        with ZipFile(tmp_path / "apart" / "code.zip", "w") as archive:
            archive.writestr("packed_of_test/__init__.py", "")
            archive.writestr("packed_of_test/inner.py", "import yaml\n" + HELPER.format(word))
        for name in [name for name in sys.modules if name.startswith("packed_of_test")]:
            del sys.modules[name]  # each word in a new process, as it were: Python keeps what an archive holds
        zipimport._zip_directory_cache.clear()  # type: ignore[attr-defined]
        assert ends(tmp_path) == ({word}, {0}) and ends(tmp_path) == ({word}, {1})
    assert "pyyaml" in libraries(tmp_path / "ops" / "mappers" / "own_mapper.py")
