"""Undeclared files that an operator reads: its results are not used again, and a note has the reason."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import refinery
from tests.conftest import ROOT
from tests.runs import exported, operator_folder, settings, texts, write_lines
from tests.sampling import named, sampled

# Bodies by what they do; LIST is a folder with one file, `word.txt`. What a note says of them.
DOINGS = {
    "thread": (
        """
        import threading
        found = []
        thread = threading.Thread(target=lambda: found.append(open("LIST/word.txt").read()))
        thread.start(), thread.join()
        return text + found[0]
        """,
        "own_mapper opens LIST/word.txt",
    ),
    "pool": (
        """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(1) as pool:
            return text + pool.submit(Path("LIST/word.txt").read_text).result()
        """,
        "own_mapper opens LIST/word.txt",
    ),
    "bare thread": (
        """
        import _thread
        lock = _thread.allocate_lock()
        lock.acquire()
        _thread.start_new_thread(lock.release, ())
        lock.acquire()
        return text
        """,
        "own_mapper starts threads without",
    ),
    "missing": (
        """
        try:
            return text + open("LIST/late.txt").read()
        except FileNotFoundError:
            return text
        """,
        "own_mapper looks for LIST/late.txt, which is not there",
    ),
    "folder": ("return f\"{text} {len(os.listdir('LIST'))}\"", "own_mapper lists LIST"),
    "glob": ("import glob\nreturn text + str(len(glob.glob('LIST/*.txt')))", "own_mapper lists LIST"),
    "program": (
        "import subprocess\nreturn text + subprocess.check_output(['cat', 'LIST/word.txt'], text=True)",
        "own_mapper runs a program (cat)",
    ),
    "shell": ("os.system('true LIST')\nreturn text", "own_mapper runs a program (true)"),
    "copy": (
        'if text == "text 4":\n    copy = os.fork()\n    if not copy: os._exit(0)\n    os.waitpid(copy, 0)\nreturn text',
        "own_mapper forks its process",
    ),
    "database": (
        "import sqlite3\ncon = sqlite3.connect('LIST/words.db')\ncon.close()\nreturn text",
        "own_mapper opens LIST/words.db",
    ),
}


def test_a_database_in_memory_is_no_file(tmp_path: Path) -> None:
    body = "import sqlite3\nfor name in (':memory:', ''): sqlite3.connect(name).close()\nreturn text + '!'"
    recipe = recipe_of(tmp_path, body)
    run = refinery.run(recipe)
    assert not run.warnings and reused(refinery.run(recipe)) == 1


def recipe_of(tmp_path: Path, body: str, header: str = "", **keys: Any) -> dict[str, Any]:
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "word.txt").write_text("one")
    sqlite3.connect(lists / "words.db").execute("CREATE TABLE words (word TEXT)").connection.close()
    operator_folder(tmp_path / "ops", header, own=textwrap.dedent(body).replace("LIST", str(lists)))
    write_lines(tmp_path / "in.jsonl", texts(f"text {k}" for k in range(10)))
    return settings(tmp_path, [{"own_mapper": None}], operators=[str(tmp_path / "ops")], workers="threads", **keys)


def reused(run: Any) -> int:
    [(count,)] = run.sql("SELECT DISTINCT reused FROM shards").fetchall()
    return int(count)


@pytest.mark.parametrize(
    "name",
    named({name: name for name in DOINGS}, "missing", "folder", "program"),
)
def test_doings_that_results_may_depend_on(tmp_path: Path, name: str) -> None:
    body, note = DOINGS[name]
    recipe = recipe_of(tmp_path, body)
    for _ in range(2):
        run = refinery.run(recipe)
        note = note.replace("LIST", str(tmp_path / "lists"))
        assert reused(run) == 0 and [one for one in run.warnings if one.startswith(note)], run.warnings


def test_a_list_that_only_a_thread_reads_is_read_again(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, DOINGS["thread"][0])
    assert exported(refinery.run(recipe))[0]["text"] == "text 0one"
    (tmp_path / "lists" / "word.txt").write_text("two")
    assert exported(refinery.run(recipe))[0]["text"] == "text 0two"


@pytest.mark.parametrize("body", sampled(["open('LIST/word.txt').read()", "str(len(os.listdir('LIST')))"]))
def test_a_declared_glob_is_declared(tmp_path: Path, body: str) -> None:
    recipe = recipe_of(tmp_path, f"return text + {body}", '"resources": {"files": ["../../lists/*.txt"]},')
    run = refinery.run(recipe)
    assert not run.warnings and reused(run) == 0 and reused(refinery.run(recipe)) == 1
    (tmp_path / "lists" / "words.txt").write_text("more")
    assert reused(refinery.run(recipe)) == 0


def test_what_every_operator_does_is_no_doing(tmp_path: Path) -> None:
    """Imports, temporary files, files that are only written, threads that read nothing."""
    body = """
    import tempfile, threading, uuid, ctypes.util, regex, ftfy, numba
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.txt"
        path.write_text("a")
        text = path.read_text() and text + str(len(os.listdir(folder)))
    thread = threading.Thread(target=len, args=(text,))
    thread.start(), thread.join()
    return text
    """
    recipe = recipe_of(tmp_path, body)
    run = refinery.run(recipe)
    assert not run.warnings and reused(refinery.run(recipe)) == 1


def test_what_a_library_reads_when_it_is_imported_is_no_doing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pandas does, which pyarrow imports in the middle of a call: it looks for time zones of the system."""
    lib = tmp_path / "lib"
    (lib / "reading_of_test-1.0.dist-info").mkdir(parents=True)
    (lib / "reading_of_test-1.0.dist-info" / "METADATA").write_text("Name: reading-of-test\nVersion: 1.0\n")
    (lib / "reading_of_test.py").write_text(
        f"import os\nopen({str(tmp_path / 'lists' / 'word.txt')!r}).close()\n"
        f"try: open({str(tmp_path / 'late.txt')!r})\nexcept OSError: pass\nos.listdir({str(tmp_path)!r})\n"
    )
    monkeypatch.syspath_prepend(str(lib))
    recipe = recipe_of(tmp_path, "import reading_of_test\nreturn text + '!'")
    assert not refinery.run(recipe).warnings and reused(refinery.run(recipe)) == 1


def test_the_operator_of_the_documents_is_used_again(tmp_path: Path) -> None:
    """Beside pandas, and in processes of their own: what is imported is not imported there before."""
    pytest.importorskip("pandas")
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    [code] = [
        block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "character_entropy_filter.py" in block
    ]
    path = tmp_path / "ops" / "filters" / "character_entropy_filter.py"
    path.parent.mkdir(parents=True)
    path.write_text(code)
    write_lines(tmp_path / "in.jsonl", texts(f"some text of many letters {k}" for k in range(60)))
    steps = [{"character_entropy_filter": {}}]
    recipe = settings(tmp_path, steps, operators=[str(tmp_path / "ops")], shard_size=800)
    call = "import json, sys, refinery\nprint(refinery.run(json.loads(sys.argv[1])).sql('SELECT sum(reused), count(*) FROM shards').fetchall())"
    for again in (False, True):
        command = [sys.executable, "-c", call, json.dumps(recipe)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        [(count, shards)] = ast.literal_eval(printed)
        assert shards > 3 and count == (shards if again else 0)


def test_the_search_for_what_is_installed_is_no_doing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an operator has added its folder to sys.path, that folder is searched for installed packages."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    body = """
    import sys
    if (own := str(Path(__file__).parent)) not in sys.path:
        sys.path.insert(0, own)
    return text + (Path(own) / "_own.txt").read_text()
    """
    recipe = recipe_of(tmp_path, body)
    (tmp_path / "ops" / "mappers" / "_own.txt").write_text("!")
    assert not refinery.run(recipe).warnings and reused(refinery.run(recipe)) == 1
