"""Kernels that Python calls: types of their arguments, the library that has their machine code, and their Python form."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import refinery
from refinery.errors import OperatorError
from refinery.kernels.core import library
from refinery.kernels.core.jit import Entry
from refinery.kernels.core.signatures import parse
from refinery.kernels.text.comments import remove_rows
from refinery.kernels.text.lines import line_ends
from refinery.kernels.words import lexicon
from tests.conftest import ROOT
from tests.runs import settings, texts, write_lines

_RUN = """
import sys
import numpy as np
from refinery import kernels
data, ends = np.frombuffer(bytearray(b"a\\nbc\\n"), np.uint8), np.zeros(4, np.int64)
try:
    assert kernels.text.lines.line_ends(data, 0, 5, ends) == 2 and ends[:2].tolist() == [2, 5]
    print(sorted({"numba", "llvmlite"} & set(sys.modules)))
except Exception as error:
    print(type(error).__name__, error)
"""


def run(folder: Path | None = None, **env: str) -> str:
    """Call a kernel in another process; what it prints."""
    command = [sys.executable, "-c", _RUN]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **env}, check=True, capture_output=True, text=True)
    return done.stdout


def copied(folder: Path) -> Path:
    """The package in another folder."""
    target = folder / "refinery"
    shutil.copytree(Path(refinery.__file__).parent, target, ignore=shutil.ignore_patterns("__pycache__", "objects"))
    return target


def test_a_kernel_runs_without_a_compiler() -> None:
    assert run() == "[]\n"
    assert run(REFINERY_KERNELS="python") == "[]\n"


def test_a_library_of_other_sources_is_refused(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    assert run(tmp_path) == "[]\n"
    changed = copy / "kernels" / "core" / "utf8.py"  # the kernel calls it
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert "was built from other sources of kernels. Build it anew: python -m refinery.kernels.build" in run(tmp_path)


def test_a_missing_library_is_said_with_the_cure(tmp_path: Path) -> None:
    shutil.rmtree(copied(tmp_path) / "kernels" / "built")
    printed = run(tmp_path)
    assert printed.startswith("OperatorError") and "Build them: python -m refinery.kernels.build" in printed


def test_a_run_without_kernels_ends_before_it_reads(tmp_path: Path) -> None:
    for folder in ("sql", "udfs", "recipes"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.rmtree(copied(tmp_path) / "kernels" / "built")
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    (tmp_path / "r.yaml").write_text(
        "dataset_path: in.jsonl\nexport_path: out.jsonl\nprocess: [{text_length_filter: {}}]\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "refinery", "run", "r.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 4 and "Build them: python -m refinery.kernels.build" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_kernel_that_the_library_lacks() -> None:
    def unbuilt(n):  # type: ignore[no-untyped-def]
        return n

    unbuilt.__module__ = "refinery.kernels.text.lines"
    with pytest.raises(OperatorError, match="has no kernel text.lines.unbuilt. Build all of them"):
        Entry(unbuilt, "int64 -> int64")(1)


def test_a_missing_kernel_ends_the_run_and_costs_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `make demo`, which builds some modules alone."""

    def lacks(name: str, signature: object) -> None:
        raise library.MissingKernel(f"no kernel {name}")

    write_lines(tmp_path / "in.jsonl", texts(["a % b", "c"]))
    monkeypatch.setattr(library, "function", lacks)
    monkeypatch.setattr(remove_rows, "_call", None)
    with pytest.raises(OperatorError, match="no kernel"):
        refinery.run(settings(tmp_path, ["remove_comments_mapper"]))
    assert not list(tmp_path.rglob("kept*.jsonl"))


def test_an_unknown_kind_of_processor_is_refused() -> None:
    assert "REFINERY_KERNELS=x86-64-v9 is neither python nor a kind of this processor" in run(
        REFINERY_KERNELS="x86-64-v9"
    )


@pytest.mark.parametrize(("left_out", "best"), [("", "x86-64-v4"), ("avx512bw", "x86-64-v3"), ("bmi2", "x86-64-v2")])
def test_the_best_kind_that_the_processor_runs(left_out: str, best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(library, "_flags", lambda: set(library.FLAGS["x86-64-v4"]) - {left_out})
    assert library.kinds()[0] == best


def test_other_processors_are_kinds_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert library.kinds() == ["aarch64"]


def test_arguments_of_the_c_function() -> None:
    data, table = np.zeros(3, np.uint8), np.zeros((2, 5), np.int64)
    received: list[object] = []

    class Function:
        def __call__(self, *values: object) -> float:
            received.extend(values)
            return 2.5

    signature = parse("uint8[] int64[,] int64 uint64 bool float64 -> float64")
    assert signature.caller(Function())(data, table, -1, (1 << 64) - 2, True, 1) == 2.5
    address = [array.__array_interface__["data"][0] for array in (data, table)]
    assert received == [address[0], 3, address[1], 2, 5, -1, (1 << 64) - 2, 1, 1.0]


def test_a_record_is_its_fields() -> None:
    fields = parse("Lexicon", (lexicon.Lexicon,)).arguments[0]
    tables = lexicon.lexicon({"a": 1})
    assert len(fields.ctypes) == sum(1 + field.ndim for field in tables)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("uint8[]", np.zeros(3, np.int8)),
        ("uint8[]", np.zeros((3, 1), np.uint8)),
        ("uint8[]", np.zeros(6, np.uint8)[::2]),
        ("uint8[]", b"abc"),
        ("int64", 1.5),
        ("int64", "1"),
    ],
)
def test_other_types_than_declared(declared: str, value: object) -> None:
    with pytest.raises(TypeError):
        parse(declared).arguments[0].pack(value, [])


def test_too_few_arguments() -> None:
    with pytest.raises(TypeError, match="1 arguments in place of 4"):
        line_ends(np.zeros(1, np.uint8))


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'unit8' is no type"):
        parse("unit8")
