"""Compilation of every declared kernel: `python -m refinery.kernels.build` fills the user's cache."""

import argparse
import gc
import importlib
import json
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from refinery.kernels.core.compiling import alone, compile_apart, observe
from refinery.kernels.core.jit import HELPER_OPTIONS, Kernel
from refinery.kernels.core.kernel_calls import Caller, called_kernels
from refinery.kernels.core.machine_code import KINDS, is_known, shipped_folder, user_folder

_HOME = Path(__file__).parent
_GARBAGE = 500_000  # objects after which they are searched for garbage, in place of all the time
_NUMBA = tuple(f"core.numba_{name}" for name in ("arrays", "calls", "compiler", "loops", "passes", "shortcuts"))


def declared() -> Iterator[Kernel]:
    """The kernels that Python calls."""
    for path in sorted(_HOME.glob("*/*.py")):
        module = f"{path.parent.name}.{path.stem}"
        if path.stem != "__init__" and module not in _NUMBA:
            items = vars(importlib.import_module(f"refinery.kernels.{module}")).values()
            yield from (
                item
                for item in items
                if isinstance(item, Kernel) and item.declared and item.name.startswith(f"{module}.")
            )


def serve() -> None:
    """Fork a process that compiles for each socket that comes in over standard input, and wait for them all."""
    from refinery.kernels.core import numba_compiler, numba_shortcuts

    numba_shortcuts.take()
    HELPER_OPTIONS.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    numba_compiler.prepare()
    gc.freeze()
    control = socket.socket(fileno=0)
    while sockets := socket.recv_fds(control, 1, 1)[1]:
        with socket.socket(fileno=sockets[0]) as channel:
            if os.fork() == 0:
                try:
                    control.close()
                    _answer(channel)
                finally:
                    os._exit(0)
    with suppress(ChildProcessError):
        while True:
            os.wait()


# Python takes memory for the frames of calls in pieces of 16 kB, and gives a piece back when the first call in it ends: numba
# crossed such borders 40,000 times for the demo's kernels, with a page fault each. A piece with this large a frame has a
# megabyte, and room for all calls below it.
serve.__code__ = serve.__code__.replace(co_stacksize=70_000)


def _answer(channel: socket.socket) -> None:
    """Compile the kernels named in each line, after their folder; answers with a line for each."""
    with channel.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            folder, *names = json.loads(line)
            for name in names:
                module, _, function = name.rpartition(".")
                kernel = vars(importlib.import_module(f"refinery.kernels.{module}"))[function]
                lines.write(_attempt(kernel, Path(folder)) + "\n")
                lines.flush()
                if gc.get_count()[0] > _GARBAGE:
                    gc.collect()
                    gc.freeze()


def _attempt(kernel: Kernel, folder: Path) -> str:
    try:
        kernel.compile_to(folder)
    except Exception as error:  # numba raises many kinds; the kernel is compiled when it is called, or fails then
        return f"failed {kernel.name}: {error}".replace("\n", " ")
    return kernel.name


def _files(places: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        yield from place.rglob("*.py") if place.is_dir() else [place]


def _print(done: int, total: int) -> None:
    if sys.stdout.isatty() or done == total:
        print(f"\rcompiled {done} of {total} kernels", end="" if done < total else "\n", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Compile the kernels that are not yet compiled; returns 1 if one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m refinery.kernels.build", description=main.__doc__)
    parser.add_argument("--into", type=Path, help="folder for machine code that a wheel brings along")
    parser.add_argument("--kind", choices=KINDS, default="generic", help="the processors that it is for")
    parser.add_argument("--of", type=Path, nargs="+", help="only kernels that these Python files or folders call")
    given = parser.parse_args(arguments)
    folder = shipped_folder(given.kind, given.into) if given.into else user_folder()
    if given.into:
        os.environ["NUMBA_CPU_NAME"] = given.kind
        os.environ["NUMBA_CPU_FEATURES"] = ",".join(f"+{feature}" for feature in KINDS[given.kind])
    wanted = called_kernels(map(Caller, _files(given.of))) if given.of else {kernel.name for kernel in declared()}
    names = sorted(name for name in wanted if given.into or not is_known(name))
    observe(_print)
    with alone(folder):
        compile_apart(names, folder)
    failed = [name for name in names if not (folder / f"{name}.o").is_file()]
    if failed:
        print(f"not compiled: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
