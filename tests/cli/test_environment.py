"""The process's environment stays as it is once threads are at work: C code reads it without a lock.

A variable that is set while DuckDB reads another one has ended a run in several hundred with a segmentation fault.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_models import model_folder

# Python threads that run no C code beside others.
CODE = """
import sys, threading

def look(event, args):
    if event in ("os.putenv", "os.unsetenv"):
        others = {thread.name for thread in threading.enumerate()} - {"MainThread", "interrupts"}
        if others:
            print("CHANGED", event, args, others, file=sys.stderr)

sys.addaudithook(look)
from refinery.__main__ import start
start()
"""


def changes(*words: str) -> list[str]:
    """Changes of the environment beside other threads while a command runs."""
    done = subprocess.run([sys.executable, "-c", CODE, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("CHANGED")]


@pytest.mark.usefixtures("folder")
def test_commands_change_no_variable_beside_threads() -> None:
    assert not changes("run", "recipe.yaml")
    assert not changes("why", "1", "--run", "out")
    with Path("recipe.yaml").open("a", encoding="utf-8") as recipe:
        recipe.write("  - document_minhash_deduplicator:\n")
    assert not changes("run", "recipe.yaml", "--np", "2", "--workers", "processes")


@pytest.mark.usefixtures("folder")
def test_a_model_of_embeddings_changes_no_variable() -> None:
    pytest.importorskip("model2vec")
    model_folder(Path("tiny"), {"short": (1, 0)})
    with Path("recipe.yaml").open("a", encoding="utf-8") as recipe:
        recipe.write("  - embedding_mapper:\n      model: tiny\n")
    assert not changes("run", "recipe.yaml", "--np", "2")
