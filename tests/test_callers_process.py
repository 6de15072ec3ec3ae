"""`refinery.run` leaves the process that calls it as it was, whatever the Python of users' operators does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.runs import operator_folder, settings, texts, write_lines
from tests.user_formats import example, folder_with, genes
from tests.waiting import HANG

# What operators do to their process, most of it to a text that names them.
BODIES = {
    "good": 'return text + "."',
    "raises": 'if "raises" in text: raise ValueError("no")\nreturn text',
    "crashes": 'if "crashes" in text: import ctypes; ctypes.string_at(0)\nreturn text',
    "leaves": 'if "leaves" in text: os._exit(0)\nreturn text',
    "hangs": 'if "hangs" in text: import time; time.sleep(1000)\nreturn text',
    "changes": """
        import atexit, gc, os, signal, sys, threading, warnings
        os.chdir("/"); os.environ["OF_USER"] = "1"; sys.path.insert(0, "/of_user")
        gc.disable(); gc.set_threshold(7); sys.setrecursionlimit(5000)
        try:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        except ValueError:
            pass
        sys.excepthook = sys.unraisablehook = threading.excepthook = print
        sys.addaudithook(lambda *_: None)
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        return text
    """,
}

SCRIPT = """
import _thread, gc, json, os, signal, sys, threading
import refinery

events = []
WATCHED = ("sys.addaudithook", "os.putenv", "os.unsetenv", "os.chdir", "signal.pthread_kill")
sys.addaudithook(lambda event, arguments: events.append((event, str(arguments))) if event in WATCHED else None)

def snapshot():
    return {
        "functions": [os._exit, threading.Thread.start, threading.Thread.run, _thread.start_new_thread, os.fork, open],
        "hooks": [sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook, *(one for one in sys.meta_path if type(one).__module__.startswith("refinery"))],
        "environment": dict(os.environ),
        "path": list(sys.path),
        "garbage": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()],
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "wakeup": signal.set_wakeup_fd(-1),
        "folder": os.getcwd(),
        "recursion": sys.getrecursionlimit(),
        "threads": [thread.name for thread in threading.enumerate()],
        "modules of users": [name for name, module in sys.modules.items() if (getattr(module, "__file__", "") or "").startswith(OF_USER)],
        "descriptors": sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")),
        "children": children(),
    }

def children():
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None

def changes(before, after):
    return [f"{name}: {one} became {other}" for name in before for one, other in differences(before[name], after[name])]

def differences(one, other):
    if isinstance(one, list) and isinstance(other, list):
        pairs = [([x for x in one if x not in other], [x for x in other if x not in one])]
        return pairs if one != other else []
    return [(one, other)] if one != other else []

recipes = json.loads(sys.argv[1])
OF_USER = sys.argv[2]
refinery.run(recipes[0])  # libraries are imported, kernels are loaded
before = snapshot()
events.clear()
kept = [refinery.run(recipe).counts.kept for recipe in recipes[1:]]
try:
    refinery.compile(recipes[1] | {"process": ["good_mapper", {"sql_filter": {"where": "nothing_here > 1"}}]})
except refinery.errors.RecipeError:
    kept.append("refused")
seen, after = list(events), snapshot()
print(json.dumps({"kept": kept, "events": seen, "changed": changes(before, after)}))
"""


def outcome(folder: Path, recipes: list[dict[str, Any]]) -> dict[str, Any]:
    """The outcome of the runs in a process of their own, whose script has no guard against being imported."""
    script = folder / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(script), json.dumps(recipes), str(folder / "own")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_process_is_as_it_was(tmp_path: Path) -> None:
    own = operator_folder(tmp_path / "own", **BODIES)
    samples = ["text", *BODIES, "more"]
    write_lines(tmp_path / "in.jsonl", texts(samples))
    plain = settings(tmp_path, [{"text_length_filter": {"min_len": 1}}], work_dir=str(tmp_path / "plain"))
    recipes = [plain | {"export_path": str(tmp_path / "plain" / "out.jsonl")}]
    for name in BODIES:
        place = {"work_dir": str(tmp_path / name), "export_path": str(tmp_path / name / "out.jsonl")}
        timeout = {"row_timeout": 1} if name == "hangs" else {}
        recipes.append(settings(tmp_path, [f"{name}_mapper"], operators=str(own), **place, **timeout))
    reader = folder_with(tmp_path / "own" / "reader", example())
    read = settings(tmp_path, [], operators=str(reader), dataset_path=str(genes(tmp_path / "genes")))
    recipes.append(read | {"work_dir": str(tmp_path / "read"), "export_path": str(tmp_path / "read" / "out.jsonl")})
    found = outcome(tmp_path, recipes)
    lost = [int(name in ("raises", "crashes", "leaves", "hangs")) for name in BODIES]
    assert found["kept"][:-2] == [len(samples) - count for count in lost]
    assert found["kept"][-2] > 0 and found["kept"][-1] == "refused"
    assert found["changed"] == [] and found["events"] == []
