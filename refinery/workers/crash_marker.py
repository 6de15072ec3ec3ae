"""A note in the run folder while operators run in threads, which a crash would end with everything else.

A clean end takes it away. One that is found tells of an end that was none: the crash itself writes into it, and the
kernel counts what it kills for want of memory.
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
    """Why the last run by threads came to no end, as half a sentence; empty when it did, or was ended on purpose."""
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
    """Leave the note while what is inside runs."""
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
    """What tells one start of the machine from another."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
