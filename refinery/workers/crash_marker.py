"""Crash marker: a file in the run folder that exists while operators run in threads of the run's own process.

A clean end removes the marker. A leftover marker means that the last run crashed or was killed: a crash writes its
message into the marker, and the kernel counts the processes that it kills for want of memory.
"""

from __future__ import annotations

import faulthandler
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from refinery.workers import process_guard
from refinery.workers.machine import out_of_memory_kills

_FATAL = "Fatal Python error: "  # as Python itself writes it
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def died(note: Path) -> str:
    """Reason of a crash of the last run by threads, as half a sentence; empty after a clean or deliberate end."""
    try:
        lines = note.read_text(encoding="utf-8", errors="replace").splitlines()
        kills, boot = json.loads(lines[0])
    except (OSError, ValueError, IndexError, TypeError):
        return ""
    fatal = next((line for line in lines[1:] if line.startswith(_FATAL)), "")
    if fatal:
        return f"was ended by a crash ({fatal.removeprefix(_FATAL)})"
    if boot == _booted() and out_of_memory_kills() > kills:
        return "was killed for want of memory"
    return ""


@contextmanager
def noted(note: Path) -> Iterator[None]:
    """Keep the crash marker while the body of the `with` runs."""
    note.parent.mkdir(parents=True, exist_ok=True)
    with note.open("w", encoding="utf-8") as file:
        file.write(json.dumps([out_of_memory_kills(), _booted()]) + "\n")
        file.flush()
        ours = not faulthandler.is_enabled()
        if ours:
            faulthandler.enable(file, all_threads=False)

        def witness() -> None:
            file.write(f"{_FATAL}SQL that did not come back\n")
            file.flush()

        process_guard.witnesses.append(witness)
        try:
            yield
        finally:
            process_guard.witnesses.remove(witness)
            if ours:
                faulthandler.disable()
            note.unlink(missing_ok=True)


def _booted() -> str:
    """Identifier of this boot of the machine; empty where the system has none."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
