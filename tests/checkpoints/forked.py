"""Runs recipes in forks of a process that has everything loaded, and kills them when told: a run begins in no time.

Reads JSON lines {"recipe": {...}, "kill": seconds or null}; answers each with {"code": exit code or -9, "seconds": ...,
"reused": [of, all] or null}. The process itself starts no thread, so that its forks are sound.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

import refinery.api
import refinery.cluster
import refinery.outputs.trace
import refinery.pipeline
from refinery.opening import open_recipe


def run(recipe: dict[str, Any], answer: int) -> None:
    """Run a recipe; say how many shards were there already."""
    try:
        opened, library = open_recipe(recipe, {})
        outcome = refinery.pipeline.execute(opened, library)
        os.write(answer, json.dumps(outcome.reused).encode())
        os._exit(0)
    except BaseException as error:
        print(type(error).__name__, error, *getattr(error, "__notes__", ()), file=sys.stderr, flush=True)
        os._exit(1)


def forked(recipe: dict[str, Any], kill: float | None) -> dict[str, Any]:
    """Run it in a fork, for at most so many seconds."""
    reads, writes = os.pipe()
    began = time.perf_counter()
    child = os.fork()
    if not child:
        os.close(reads)
        run(recipe, writes)
    os.close(writes)
    if kill is not None:
        time.sleep(kill)
        os.kill(child, signal.SIGKILL)
    with open(reads, "rb") as told:
        reused = told.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "seconds": time.perf_counter() - began, "reused": json.loads(reused) if reused else None}


for line in sys.stdin:
    print(json.dumps(forked(**json.loads(line))), flush=True)
