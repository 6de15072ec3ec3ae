"""Machine code of kernels: it runs without numba, is stored by sources, and is not loaded where it is damaged."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import refinery
from refinery.kernels.core import compiling, decimals, jit, machine_code
from refinery.kernels.core.signatures import NotDeclared, packed, parse
from refinery.kernels.text.lines import classify, line_ends
from refinery.kernels.words import lexicon

_RUN = """
import sys
import numpy as np
from refinery import kernels
from refinery.kernels.core.jit import expect
from refinery.kernels.core.machine_code import user_folder

expect(lambda: [], lambda: [])  # compile no other kernel
data, ends = np.frombuffer(bytearray(b"a\\nbc\\n"), np.uint8), np.zeros(4, np.int64)
assert kernels.text.lines.line_ends(data, 0, 5, ends) == 2 and ends[:2].tolist() == [2, 5]
print("numba" in sys.modules, user_folder() / "text.lines.line_ends.o")
"""


def run(folder: Path | None = None, **env: str) -> tuple[bool, Path]:
    """Call a kernel; return if numba was loaded, and the place of the machine code."""
    env = {**os.environ, **env}
    done = subprocess.run([sys.executable, "-c", _RUN], cwd=folder, env=env, check=True, capture_output=True, text=True)
    loaded, place = done.stdout.split()
    return loaded == "True", Path(place)


def test_a_compiled_kernel_runs_without_numba() -> None:
    run()  # may have to compile it, in other processes
    assert run()[0] is False


def copied(folder: Path) -> Path:
    """The package in another folder, with few kernels, so that little is compiled."""
    target = folder / "refinery"
    shutil.copytree(Path(refinery.__file__).parent, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def test_other_installations_of_the_same_sources_use_the_same_machine_code(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    _, place = run()
    assert run(tmp_path) == (False, place)
    changed = copy / "kernels" / "core" / "utf8.py"  # the kernel calls it
    changed.write_bytes(changed.read_bytes() + b"\n")
    cache = str(tmp_path / "cache")
    _, after = run(tmp_path, REFINERY_CACHE_DIR=cache)
    assert after.relative_to(cache).parts[0] != place.parts[-4] and after.is_file()


def test_damaged_machine_code_is_not_loaded() -> None:
    line_ends(np.zeros(1, np.uint8), 0, 1, np.zeros(1, np.int64))
    place = machine_code.user_folder() / "text.lines.line_ends.o"
    head, code = place.read_bytes().split(b"\n", 1)
    assert machine_code._checked(head + b"\n" + code) is not None
    assert machine_code._checked(head + b"\n" + code[:-1]) is None
    assert machine_code._checked(head + b"\n" + code[:100] + bytes([code[100] ^ 1]) + code[101:]) is None
    assert machine_code._checked(b"") is None and machine_code._checked(b"{}\nx") is None


def test_another_computer_with_the_same_processor_need_not_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line_ends(np.zeros(1, np.uint8), 0, 1, np.zeros(1, np.int64))
    sent, kind = machine_code.copies(), machine_code.user_folder().name
    code = (machine_code.user_folder() / "text.lines.line_ends.o").read_bytes()
    name = f"{machine_code.SOURCES}/{kind}/text.lines.line_ends.o"
    assert sent[name] == code
    there = tmp_path / kind
    monkeypatch.setattr(machine_code, "user_folder", lambda: there)
    assert machine_code.copies() == {}
    for other in (f"other/{kind}/a.o", f"{machine_code.SOURCES}/other/a.o", f"{machine_code.SOURCES}/{kind}/../a.o"):
        machine_code.adopt({other: code})
    machine_code.adopt({f"{machine_code.SOURCES}/{kind}/damaged.o": code[:-1]})
    assert not list(tmp_path.rglob("*.o"))
    machine_code.adopt(sent)
    assert (there / "text.lines.line_ends.o").read_bytes() == code
    assert machine_code.copies() == sent


def test_one_process_compiles_at_a_time(tmp_path: Path) -> None:
    with compiling.alone(tmp_path), (tmp_path / "lock").open("w") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_packed_arguments() -> None:
    data, table = np.zeros(3, np.uint8), np.zeros((2, 5), np.int64)
    values = packed(parse("uint8[] int64[,] int64 uint64 bool float64"), (data, table, -1, (1 << 64) - 2, True, 1.0))
    address = [array.__array_interface__["data"][0] for array in (data, table)]
    assert values == [address[0], 3, address[1], 2, 5, -1, -2, 1, 0x3FF0000000000000]
    tables = lexicon.lexicon({"a": 1})
    fields = parse("Lexicon", (lexicon.Lexicon,))
    assert len(packed(fields, (tables,))) == sum(1 + field.ndim for field in tables)


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
    with pytest.raises(NotDeclared):
        packed(parse(declared), (value,))


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'unit8' is no type"):
        parse("unit8")


def test_other_types_than_declared_give_the_same_results() -> None:
    data = np.frombuffer(b"a\n\nb\n", np.uint8)
    ends, small, states = np.zeros(4, np.int64), np.zeros(4, np.int32), np.zeros(4, np.uint8)
    assert line_ends(data, 0, 5, ends) == line_ends(data, 0, 5, small) == 3
    assert small.tolist() == ends.tolist()
    assert classify(data, 0, ends, 3, states, False) == classify(data, 0, small, 3, np.zeros(4, np.int64), 0) == 1


def test_every_number_of_a_result_has_its_type() -> None:
    code = decimals.number._load()
    assert code is not None and len(code.results) > 1 and set(code.results) <= set(jit._UNPACK)
