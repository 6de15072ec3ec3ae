"""Ctrl-C that Python hears where no exception can be raised."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from tests.waiting import HANG

_SCRIPT = """
import os, signal, time
from refinery.cli.interrupts import watch_interrupts

class Noisy:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

watch_interrupts()
try:
    del_me = Noisy()
    del del_me
    time.sleep(20)
    print("went on")
except KeyboardInterrupt:
    print("heard")
"""


def test_an_interrupt_within_a_destructor_is_raised_after_it() -> None:
    """Python prints such an exception and drops it; the command went on until its time was up."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_SCRIPT)], capture_output=True, text=True, timeout=HANG
    )
    assert (done.stdout, done.stderr, done.returncode) == ("heard\n", "", 0)
