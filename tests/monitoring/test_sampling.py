"""Measurements of a process, of the processes that it starts, and of theirs."""

from __future__ import annotations

import os
import subprocess
import sys

from refinery.monitoring.sampling import Sampler

CHILD = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); sys.stdin.read(); p.kill()"


def test_processes_are_those_that_run_now() -> None:
    sampler = Sampler()
    before = {use.pid for use in sampler.measure(workers=False)}
    assert os.getpid() in before  # and processes that earlier tests have left to the next
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdin is not None
        below = int(child.stdout.readline())
        uses = sampler.measure(workers=False)
        assert {use.pid for use in uses} - before == {child.pid, below}
        assert uses[0].worker == "all" and (uses[0].memory or 0) > sum(use.memory or 0 for use in uses[1:])
        child.stdin.close()
    assert {use.pid for use in sampler.measure(workers=False)} <= before
