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


RUN = """
import sys
from refinery.cli.main import cli
try:
    cli.main(sys.argv[1:] or ["run", "recipe.yaml", "--quiet"], standalone_mode=False)
finally:
    print("LOADED", *sorted(set(sys.modules) & {"pandas", "ray", "matplotlib", "fsspec", "spacy", "polars"}))
"""


SEVERAL = """
import json, sys
from refinery.cli.main import cli
for words in json.loads(sys.argv[1]):
    cli.main(words, standalone_mode=False)
    found = {"numba", "pandas", "ray", "matplotlib", "fsspec", "spacy", "polars"} & set(sys.modules)
    assert not found, f"{words} loads {found}"
print("ended")
"""


def test_a_run_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Arrow imports pandas for itself where Python's lists are given to it, which doubles the time of a small run."""
    (tmp_path / "docs.jsonl").write_text('{"text": "some text"}\n{"text": "x"}\n')
    steps = "  - text_length_filter: {min_len: 2}\n  - document_deduplicator:\n"
    recipe = f"dataset_path: docs.jsonl\nexport_path: out/docs.jsonl\nprocess:\n{steps}"
    (tmp_path / "recipe.yaml").write_text(recipe)
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().splitlines()[-1] == "LOADED"


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
    given = [sys.executable, "-c", SEVERAL, json.dumps(commands)]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.rstrip().splitlines()[-1]) == (0, "ended"), done.stderr


@pytest.mark.parametrize(
    ("name", "content", "keys"),
    [
        pytest.param(
            "docs.jsonl", '{"text": "some text", "k": 1}\n{"text": "x", "k": 2}\n', "", marks=pytest.mark.long
        ),
        ("docs.csv", "text,k\nsome text,1\nx,2\nNA,3\n", ""),
        ("docs.jsonl", '{"text": "some text", "k": 1}\n{"text": "x", "k": 2}\n', "add_suffix: true\n"),
    ],
    ids=["lines", "csv", "suffixes"],
)
def test_sql_over_fields_does_without_pandas(tmp_path: Path, name: str, content: str, keys: str) -> None:
    (tmp_path / name).write_text(content)
    steps = "process:\n  - sql_filter: {where: k < 2}\n"
    (tmp_path / "recipe.yaml").write_text(f"dataset_path: {name}\nexport_path: out/docs.jsonl\n{keys}{steps}")
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().splitlines()[-1] == "LOADED"


@pytest.mark.parametrize(
    "step",
    [
        "document_minhash_deduplicator",
        pytest.param("document_simhash_deduplicator", marks=pytest.mark.long),
        "document_line_deduplicator",
        "substring_deduplicator: {min_length: 20}",
        pytest.param("bloom_deduplicator", marks=pytest.mark.long),
    ],
    ids=lambda step: step.partition("_deduplicator")[0],
)
def test_deduplication_does_without_pandas(tmp_path: Path, step: str) -> None:
    """Also where a text holds a letter that only Python lowers, and where there are duplicates."""
    lines = [f'{{"text": "some text {n % 3} with ΑΣ a letter\\nand one more line"}}\n' for n in range(12)]
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    recipe = f"dataset_path: docs.jsonl\nexport_path: out/docs.jsonl\nprocess:\n  - {step}\n"
    (tmp_path / "recipe.yaml").write_text(recipe)
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().splitlines()[-1] == "LOADED"


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


PLAIN = """
import sys
from refinery.cli.main import cli
cli.main(["run", "recipe.yaml", "--quiet"], standalone_mode=False)
cli.main(["why", "0", "--run", "out"], standalone_mode=False)
assert "ftfy" not in sys.modules
"""


def test_ftfy_is_imported_for_texts_that_need_it(tmp_path: Path) -> None:
    recipe = "dataset_path: docs.jsonl\nexport_path: out/docs.jsonl\nprocess:\n  - fix_unicode_mapper:\n"
    (tmp_path / "recipe.yaml").write_text(recipe)
    (tmp_path / "docs.jsonl").write_text('{"text": "plain"}\n{"text": "\\u201ccurly quotes\\u201d"}\n')
    command = [sys.executable, "-c", PLAIN]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # the first run of all makes ftfy's tables
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "docs.jsonl").write_text('{"text": "plain"}\n{"text": "s\\u00c3\\u00b3lo"}\n', encoding="utf-8")
    assert "AssertionError" in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr
