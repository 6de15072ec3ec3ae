"""The documentation is true: its links, its lists of keys and operators, its recipes, commands and code."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from refinery import errors
from refinery.cli.render import key_tables, reference
from refinery.kernels.dedup.unionfind import components
from refinery.monitoring import state
from refinery.operators import Library
from refinery.recipe.keys import KEYS
from tests.commands import command
from tests.conftest import ROOT

README = ROOT / "README.md"
DEDUPLICATION = ROOT / "docs" / "deduplication.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
STATES = (state.RUNNING, state.FINISHED, state.FAILED, state.INTERRUPTED, state.NONE)
TEXTS = {".md", ".py", ".sql", ".yaml", ".yml", ".jsonl", ".txt", ".json", ".toml"}


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path, heading: str) -> list[list[str]]:
    """The `refinery ...` lines of a section, split as a shell does, without the program's name."""
    _, _, after = page.read_text("utf-8").partition(f"\n## {heading}\n")
    section = after.partition("\n## ")[0]
    found = re.findall(r"^    refinery (.+)$", section, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in found]


def refinery(folder: Path, *arguments: str) -> str:
    """Run a command in this process; what it prints."""
    code, printed = command(*arguments, folder=folder)
    assert code == 0, f"{arguments}\n{printed}"
    return printed


def test_operators_page_is_current() -> None:
    page = (ROOT / "docs" / "operators.md").read_text("utf-8")
    assert page.rstrip("\n") == reference.page(None, True).rstrip("\n"), "run make docs"


def test_tables_of_keys_are_current() -> None:
    page = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    assert page == key_tables.rewritten(page), "run make docs"
    assert not [key for key in KEYS if f"`{key}`" not in page]
    with pytest.raises(ValueError, match="marks of the part 'keys' once"):
        key_tables.rewritten(page.replace("<!-- end of keys -->", ""))


def prose(page: Path, code: bool = False) -> str:
    """A page without its fenced blocks; without its inline code, too, unless `code`."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return text if code else re.sub(r"`[^`\n]*`", "", text)


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them, and the ids that it sets itself."""
    text = prose(page, code=True)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain} | set(re.findall(r'<a id="(\w+)">', text))


def test_the_index_names_every_page() -> None:
    folder = ROOT / "docs"
    named = re.findall(r"^\| \[([\w-]+\.md)\]\(\1\) \|", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted([*named, "README.md"]) == sorted(page.name for page in folder.glob("*.md"))


def test_the_picture_of_the_architecture_names_its_packages() -> None:
    text = (ROOT / "docs" / "architecture.svg").read_text("utf-8")
    ElementTree.fromstring(text)
    packages = re.findall(r"refinery/(\w+)", text)
    assert len(packages) > 8
    assert not [name for name in packages if not (ROOT / "refinery" / name / "__init__.py").is_file()]


def test_each_decision_has_one_anchor() -> None:
    ids = re.findall(r'<a id="d(\d+)">', (ROOT / "docs" / "decisions.md").read_text("utf-8"))
    assert len(ids) == len(set(ids)) > 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in target]
    wrong = []
    for target in targets:
        name, _, heading = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (heading and file.suffix == ".md" and heading not in anchors(file)):
            wrong.append(target)
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    """Paths of the checkout in backticks; patterns are left out."""
    named = re.compile(r"(?<![\w./:<>~{}-])(?:refinery|sql|udfs|docs|tests)/[\w./*-]*")
    found = [path for code in re.findall(r"`([^`\n]+)`", prose(page, code=True)) for path in named.findall(code)]
    assert not [path for path in found if "*" not in path and not (ROOT / path.rstrip(".,")).exists()]


def functions(source: str) -> dict[str, str]:
    """The functions of a Python text without their docstrings and comments, by name."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            found[node.name] = ast.unparse(node)
    return found


def test_functions_of_the_kernels_page_are_those_of_the_code() -> None:
    quoted = blocks(ROOT / "docs" / "writing-kernels.md", "python")
    assert quoted
    for block in quoted:
        code = functions((ROOT / block.partition("\n")[0].removeprefix("# ")).read_text("utf-8"))
        assert functions(block) and functions(block).items() <= code.items()


def test_no_machine_paths() -> None:
    files = [README]
    for folder in ("docs", "recipes", "sql", "udfs", "refinery"):
        files += [file for file in (ROOT / folder).rglob("*") if file.suffix in TEXTS]
    machine = re.compile(r"(?<![\w.])/(?:root|work|tmp)/")
    assert not [str(file) for file in files if machine.search(file.read_text("utf-8", "replace"))]


@pytest.fixture(scope="module")
def extending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that docs/extending.md shows, under the names in their first lines, and documents for its recipe."""
    folder = tmp_path_factory.mktemp("extending")
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    named = re.findall(r"^```\w+\n((?:--|#) (\S+\.(?:sql|py|yaml))\n.*?)^```$", text, re.DOTALL | re.MULTILINE)
    for content, name in named:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")
    assert {file.suffix for file in folder.rglob("*.*")} >= {".sql", ".py", ".yaml"}
    texts = ["several different words\n\n\n\n\nand an end", "aaaaaaaa", "nothing to change in this one"]
    documents = "".join(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts))
    (folder / "docs.jsonl").write_text(documents, "utf-8")
    return folder


def test_extending_examples_run(extending: Path) -> None:
    refinery(extending, "run", "recipe.yaml", "--operators", "my_operators", "--quiet")
    lines = (extending / "out" / "docs.jsonl").read_text("utf-8").splitlines()
    found = {document["id"]: document["text"] for document in map(json.loads, lines)}
    assert found == {0: "several different words\n\n\nand an end", 2: "nothing to change in this one"}


@pytest.fixture(scope="module")
def deduplicated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled recipes, where the one with deduplicators has run."""
    folder = tmp_path_factory.mktemp("deduplicated")
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    first, *_ = commands(DEDUPLICATION, "Try it")
    assert first == ["run", "recipes/web_dedup.yaml"]
    assert "524 rows read" in refinery(folder, *first)
    return folder


def test_figures_of_the_page_on_deduplication(deduplicated: Path) -> None:
    with duckdb.connect(str(deduplicated / "outputs" / "web_dedup" / "refinery.duckdb"), read_only=True) as con:
        removed = con.execute("SELECT removed FROM steps WHERE operator LIKE 'document_%' ORDER BY step").fetchall()
        shortened = con.execute("SELECT changed FROM steps WHERE operator = 'paragraph_deduplicator'").fetchall()
    said = re.findall(r"(\d+) (?:exact copies|near duplicates|texts that lose)", DEDUPLICATION.read_text("utf-8"))
    assert [int(number) for number in said] == [number for (number,) in removed + shortened]


def test_clusters_by_tables_are_those_of_the_kernel() -> None:
    """The statements of docs/scale.md, round by round: few rounds, and connected components."""
    start, one_round = blocks(ROOT / "docs" / "scale.md", "sql")
    dice = np.random.default_rng(3)
    chain = 10_000 + dice.permutation(1000)
    one = np.concatenate((dice.integers(0, 3000, 2000), chain[1:]))
    other = np.concatenate((dice.integers(0, 3000, 2000), chain[:-1]))
    with duckdb.connect() as con:
        con.register("pairs", pa.table({"_row": one, "via": other}))
        con.execute(start)
        rounds, changed = 0, 1
        while changed:
            con.execute(one_round)
            [(changed,)] = con.execute("SELECT samples FROM changed").fetchall()
            rounds += 1
        labels = con.execute("SELECT _row, root FROM labels ORDER BY _row").fetchall()
    roots = components(one, other, 11_000)
    assert labels == [(row, roots[row]) for row in np.union1d(one, other)] and rounds <= 12


def test_what_the_page_on_python_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks leave what their comments say."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    first, looked, steps = blocks(ROOT / "docs" / "python.md", "python")
    exec(looked, names)
    assert names["run"].counts.kept - names["stricter"].counts.kept == 100  # those of 3 and 4 words
    exec(first, names)
    assert str(names["run"].counts) == "Counts(read=1000, kept=1000, removed=0, quarantined=0)"
    assert names["run"].to_arrow().schema.names == ["id", "text"]
    exec(steps, names)
    assert [measured["operator"] for measured in names["probe_res"]] == [next(iter(op)) for op in names["process"]]
    assert names["run"].counts.read == 2000


def test_every_event_and_error_has_its_name_in_the_docs() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    code = "".join(file.read_text("utf-8") for file in (ROOT / "refinery").rglob("*.py"))
    events = {*re.findall(r"\bevent\(\s*\"(\w+)\"", code), *re.findall(r"\bAlarm\(\"(\w+)\"", code), *STATES}
    assert len(events) > 12 and not [name for name in sorted(events) if f"`{name}`" not in page]
    classes = [name for name, value in vars(errors).items() if isinstance(value, type) and hasattr(value, "exit_code")]
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    assert not [name for name in classes if name != "StatementTimeout" and f"`{name}`" not in page]


def test_number_of_operators_that_both_have() -> None:
    operators = [operator for operator in Library(()).operators.values() if not operator.alias_of]
    both = [operator.kind for operator in operators if operator.peer and "Data-Juicer" in operator.peer]
    filters, deduplicators = len([kind for kind in both if kind != "deduplicator"]), both.count("deduplicator")
    page = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
    assert f"of the {filters} mappers and filters and {deduplicators} deduplicators" in page


def test_make_keeps_compiled_kernels_in_the_checkout() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "REFINERY_CACHE_DIR"}
    command = [
        "make",
        "-s",
        "-C",
        str(ROOT),
        "--no-print-directory",
        "--eval",
        "show: ; @printenv REFINERY_CACHE_DIR",
        "show",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
    assert Path(done.stdout.strip()) == ROOT.resolve() / ".venv" / "cache"
