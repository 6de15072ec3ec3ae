"""The build of kernels: what it refuses, what it compiles again, and what the library holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refinery.kernels.build import compile, link, modules
from refinery.kernels.build.__main__ import main
from refinery.kernels.core.jit import Entry
from refinery.kernels.core.library import FLAGS, HOME, kinds, path_of, symbol_of

KIND = kinds()[0]


def entry(declaration: str, function: Any) -> Entry:
    """A kernel that is not one of refinery's."""
    function.__module__ = "refinery.kernels.text.lines"
    return Entry(function, declaration)


def allocates(values):  # type: ignore[no-untyped-def]
    return np.zeros(len(values)).sum()


def raises(values):  # type: ignore[no-untyped-def]
    if len(values) == 3:
        raise ValueError("three")
    return 1


def does_not_type(values):  # type: ignore[no-untyped-def]
    return values.no_such_thing


def doubles(values, factor):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        values[i] *= factor
    return len(values), factor


@pytest.mark.parametrize(
    ("declaration", "function", "reason"),
    [
        ("uint8[] -> float64", allocates, "allocates memory"),
        ("uint8[] -> int64", raises, "can raise an exception"),
        ("uint8[] -> int64", does_not_type, "no_such_thing"),
        ("uint8[] -> int64 int64", raises, ""),  # other results than declared
    ],
)
def test_a_kernel_that_cannot_be_built_is_refused(declaration: str, function: Any, reason: str) -> None:
    with pytest.raises(compile.Refused, match=rf"(?s)text\.lines\.{function.__name__}.*{reason}"):
        compile.object_files(entry(declaration, function), [KIND])


def test_a_library_holds_its_kernels_and_no_other_names(tmp_path: Path) -> None:
    kernel = entry("int64[] int64 -> int64 int64", doubles)
    (code,) = compile.object_files(kernel, [KIND])
    (tmp_path / "doubles.o").write_bytes(code)
    place = path_of(KIND, tmp_path)
    link.link([tmp_path / "doubles.o"], place, KIND, "digest")
    import ctypes

    values = np.arange(3)
    assert kernel.signature.caller(ctypes.CDLL(str(place))[symbol_of(kernel.name)])(values, 5) == (3, 5)
    assert values.tolist() == [0, 5, 10]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.skipif(not KIND.startswith("x86-64"), reason="one kind of processor")
def test_machine_code_for_each_kind_of_processor() -> None:
    codes = compile.object_files(entry("int64[] int64 -> int64 int64", doubles), list(FLAGS))
    assert len(set(codes)) == len(codes)


def test_nothing_is_compiled_twice(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    built = HOME / "built"
    shutil.copytree(built / "objects", tmp_path / "objects")
    assert main(["--into", str(tmp_path)]) == 0
    assert "compiled" not in capfd.readouterr().out
    assert path_of(KIND, tmp_path).read_bytes() == path_of(KIND, built).read_bytes()


def test_a_module_is_compiled_again_when_what_it_imports_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def digests() -> dict[str, str]:
        return {module: modules.digest_of(module, KIND) for module in ("text.lines", "json.jsontext")}

    before, changed = digests(), HOME / "core" / "decimals.py"
    content = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: content(path) + b"#" * (path == changed))
    after = digests()
    assert after["text.lines"] == before["text.lines"]
    assert modules.digest_of("core.decimals", KIND) != modules.digest_of("text.lines", KIND)


def test_an_unknown_package_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["texts"])
    assert "no kernels in: texts" in capsys.readouterr().err


def test_without_a_linker_the_cure_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main([]) == 1
    assert "pip install ziglang" in capsys.readouterr().err


def test_a_linker_that_fails_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(subprocess.CalledProcessError):
        link.link([], path_of(KIND, tmp_path), KIND, "digest")
    assert list(tmp_path.iterdir()) == []


def test_modules_of_a_package_are_compiled_together() -> None:
    names = modules.modules()
    for processes in (1, 2, 64):
        made = modules.groups(names, processes)
        assert sorted(name for group in made for name in group) == sorted(names)
        assert all(len({name.partition(".")[0] for name in group}) == 1 for group in made)
    assert len(modules.groups(names, 1)) == len(modules.PACKAGES) < len(modules.groups(names, 64))


def test_kernels_of_the_demo_are_named_in_the_makefile(tmp_path: Path) -> None:
    """A kernel that is missed would end `make demo` in a fresh clone."""
    lines = (HOME.parent.parent / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    (named,) = [line.partition(":=")[2].split() for line in lines if line.startswith("DEMO_KERNELS")]
    assert modules.modules(named) == named
    done = subprocess.run(
        [sys.executable, "-c", DEMO, str(tmp_path / "run")],
        cwd=HOME.parent.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) <= set(named)


# Runs the recipe of the demo, and prints the modules of the kernels that it calls.
DEMO = """
import sys
from refinery.cli.main import cli
from refinery.kernels.core.jit import Entry
called, call = set(), Entry.__call__
Entry.__call__ = lambda self, *args: called.add(self.name.rpartition(".")[0]) or call(self, *args)
run = ["run", "recipes/web_sample.yaml", "--quiet", "--work_dir", sys.argv[1], "--export_path", f"{sys.argv[1]}/out.jsonl"]
cli.main(run, standalone_mode=False)
print(*sorted(called))
"""
