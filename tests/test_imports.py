"""Help answers at once: the command line loads nothing that takes time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT

HEAVY = ("duckdb", "numba", "numpy", "pandas", "pyarrow", "ray", "sqlglot", "rich", "jinja2")

CODE = """
import sys
from refinery.cli.main import cli
try:
    cli.main(sys.argv[1:], standalone_mode=False)
finally:
    print("\\nLOADED", *sorted(set(sys.modules) & set({heavy!r})))
"""


@pytest.mark.parametrize(("command", "shown"), [("--help", "Choose bounds"), ("ops", "clean_email_mapper")])
def test_help_loads_nothing_heavy(command: str, shown: str) -> None:
    code = CODE.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=True)
    assert shown in done.stdout
    assert done.stdout.rstrip().splitlines()[-1] == "LOADED"


def test_package_import_is_light() -> None:
    code = f"import sys, refinery; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


SEVERAL = """
import json, sys
from refinery.cli.main import cli
for words in json.loads(sys.argv[1]):
    cli.main(words, standalone_mode=False)
    found = {"numba", "pandas", "ray", "matplotlib", "fsspec", "spacy", "polars"} & set(sys.modules)
    assert not found, f"{words} loads {found}"
print("ended")
"""


LINES = '{"text": "some text", "k": 1}\n{"text": "x", "k": 2}\n'
# Also where a text holds a letter that only Python lowers, and where there are duplicates.
COPIES = "".join(f'{{"text": "some text {n % 3} with ΑΣ a letter\\nand one more line"}}\n' for n in range(12))
PAGE = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>some text"
PAGES = (
    "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\n"
    f"Content-Length: {len(PAGE)}\r\n\r\n{PAGE}\r\n\r\n"
)
# Input, other keys and step of a recipe.
RECIPES = {
    "exact": (("docs.jsonl", LINES), "", "document_deduplicator"),
    "sql": (("docs.jsonl", LINES), "", "sql_filter: {where: k < 2}"),
    "sql over a table": (("docs.csv", "text,k\nsome text,1\nx,2\nNA,3\n"), "", "sql_filter: {where: k < 2}"),
    "sql with suffixes": (("docs.jsonl", LINES), "add_suffix: true\n", "sql_filter: {where: k < 2}"),
    "web archive": (("pages.warc", PAGES), "", "sql_filter: {where: status = 200}"),
    "minhash": (("docs.jsonl", COPIES), "", "document_minhash_deduplicator"),
    "simhash": (("docs.jsonl", COPIES), "", "document_simhash_deduplicator"),
    "lines": (("docs.jsonl", COPIES), "", "document_line_deduplicator"),
    "substrings": (("docs.jsonl", COPIES), "", "substring_deduplicator: {min_length: 20}"),
    "n-grams": (("docs.jsonl", COPIES), "", "bloom_deduplicator"),
}


def test_runs_load_nothing_that_they_do_not_need(tmp_path: Path) -> None:
    """Arrow imports pandas for itself where Python's lists are given to it, which doubles the time of a small run."""
    commands = []
    for name, ((file, content), keys, step) in RECIPES.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / file).write_text(content, "utf-8")
        steps = f"process:\n  - text_length_filter: {{min_len: 2}}\n  - {step}\n"
        places = f"dataset_path: {name}/{file}\nexport_path: {name}/out/docs.jsonl\n"
        (folder / "recipe.yaml").write_text(places + keys + steps, "utf-8")
        commands.append(["run", f"{name}/recipe.yaml", "--quiet"])
    ended(tmp_path, commands)


def ended(folder: Path, commands: list[list[str]]) -> None:
    """One process runs commands in a folder, and loads nothing heavy for any of them."""
    given = [sys.executable, "-c", SEVERAL, json.dumps(commands)]
    done = subprocess.run(given, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout.rstrip().splitlines()[-1:]) == (0, ["ended"]), done.stderr


def test_deciding_from_stored_numbers_does_without_kernels(tmp_path: Path) -> None:
    """numba only compiles; a run that finds its kernels compiled does without it, and these commands without kernels."""
    (tmp_path / "docs.jsonl").write_text("".join(f'{{"text": "some text {n}"}}\n' for n in range(20)))
    recipe = "dataset_path: docs.jsonl\nwork_dir: out\nprocess:\n  - text_length_filter: {min_len: 2}\n"
    (tmp_path / "recipe.yaml").write_text(recipe)
    bounds = ["--set", "process.text_length_filter.min_len=12", "--no-export", "--quiet"]
    commands = [
        ["run", "recipe.yaml", "--quiet"],
        ["tune", "out", "text_length_filter", "--param", "min_len=1..20"],
        ["refilter", "out", *bounds],
        ["why", "3", "--run", "out"],
        ["check", "recipe.yaml"],
        ["report", "out"],
        ["sql", "recipe.yaml", "--explain"],
    ]
    ended(tmp_path, commands)


def test_submodules_of_arrow_are_imported_by_name() -> None:
    """`pa.compute` exists only once something else has imported it."""
    folders = (ROOT / "refinery", ROOT / "udfs")
    found = [
        path
        for folder in folders
        for path in folder.rglob("*.py")
        if re.search(r"\bpa\.(compute|parquet|csv)\.", path.read_text())
    ]
    assert found == []


LAST = """
import sys
from pathlib import Path
from refinery.monitoring.watch import last_of
assert last_of(Path(sys.argv[1])) == {"file": "in.jsonl", "line": 3, "operator": "", "error": "no JSON"}
assert last_of(Path("nowhere.parquet")) is None
print(*{"pandas", "pyarrow.dataset"} & set(sys.modules))
"""


def test_the_status_of_a_run_with_quarantined_rows_is_written_without_pandas(tmp_path: Path) -> None:
    rows = {
        "file": ["in.jsonl"] * 2,
        "line": [1, 3],
        "operator": ["", ""],
        "error": ["no JSON"] * 2,
        "sample": ["", ""],
    }
    pq.write_table(pa.table(rows), tmp_path / "quarantine.parquet")
    command = [sys.executable, "-c", LAST, tmp_path / "quarantine.parquet"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


FTFY = """
import sys
from refinery.cli.main import cli
for words in (["run", "plain.yaml", "--quiet"], ["why", "0", "--run", "plain"]):
    cli.main(words, standalone_mode=False)
    assert "ftfy" not in sys.modules, words
cli.main(["run", "broken.yaml", "--quiet"], standalone_mode=False)
assert "ftfy" in sys.modules
"""


def test_ftfy_is_imported_for_texts_that_need_it(tmp_path: Path) -> None:
    for name, text in (("plain", "\u201ccurly quotes\u201d"), ("broken", "s\u00c3\u00b3lo")):
        recipe = f"dataset_path: {name}.jsonl\nexport_path: {name}/docs.jsonl\nprocess:\n  - fix_unicode_mapper:\n"
        (tmp_path / f"{name}.yaml").write_text(recipe)
        (tmp_path / f"{name}.jsonl").write_text(
            json.dumps({"text": "plain"}) + "\n" + json.dumps({"text": text}) + "\n"
        )
    for _ in range(2):  # the first run of all imports ftfy, to make its tables
        done = subprocess.run([sys.executable, "-c", FTFY], cwd=tmp_path, capture_output=True, text=True)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
