"""Every block of the README and of docs/ is run as it stands, alone, from the state that its page names.

What cannot run here is in NOT_RUN, what another test runs in ELSEWHERE, each with the reason; both lists are checked.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import yaml

from bench.waterfall import picture, rows_of
from refinery.operators.model import KINDS
from refinery.operators.reader_files import FOLDER
from refinery.storage import locality
from tests.commands import command
from tests.conftest import ROOT
from tests.doc_blocks import Block, all_blocks
from tests.runs import lines_of
from tests.s3 import make_bucket
from tests.tiny_models import model_folder

BLOCKS = [block for block in all_blocks() if block.page != "operators"]  # whose examples tests/operators runs

_INSTALLS = "installs packages"
_BENCH = "measures for minutes, with a corpus and peers of the user"
_OUTPUT = "output, not a command"
# Page and a part of the block or of its line ($: the end of the command), with the reason.
NOT_RUN = {
    ("README", "make demo$"): "sets up .venv; tests/cli/test_demo.py runs the recipe",
    ("README", "make test$"): "is the run of these tests",
    ("README", "Two examples of each step's work"): _OUTPUT,
    ("README", "pip install .$"): _INSTALLS,
    ("assets", "refinery assets recipe.yaml --fetch"): "downloads models of some GB",
    ("cards", "inputs: 1 of 1 files as recorded"): _OUTPUT,
    ("contamination", "row 2, docs.jsonl:3: removed"): _OUTPUT,
    ("contamination", '{"id": "q1"'): "a file of the user, as FILES has it",
    ("deduplication", "found a cluster of 743779 samples"): _OUTPUT,
    ("performance", "make bench-recipe CORPUS=docs.parquet DATA_JUICER"): _BENCH,
    ("performance", "make bench-recipe RECIPE="): _BENCH,
    ("performance-of-parts", "make bench-models CORPUS="): _BENCH,
    ("performance", "make bench-dedup CORPUS="): _BENCH,
    ("performance", "python bench/table.py "): _BENCH,
    ("performance-of-parts", "make bench-stats CORPUS="): _BENCH,
    ("performance-of-parts", "make bench-stats-merge "): _BENCH,
    ("python", "from datatrove.executor import"): "needs datatrove",
    ("ray", "pip install '.[ray]'"): _INSTALLS,
    ("ray", "ray start --head"): "starts a cluster that outlives the test",
    ("ray", "embedding_mapper: {model: models/potion-base-8M, device: cuda"): "needs a GPU",
    ("scaling-study", "python -m bench.cluster --address auto"): "needs a cluster and a bucket of the user",
    ("scale", "input: 369.0 MB in 12 shards"): _OUTPUT,
    ("security", "refinery run recipe.yaml --safe --root /data"): "allows folders of the user",
    ("statistics", "{group}/{stat}/{rank:05d}.json"): "names of files",
    ("tracing", '{"id": 1, "original_text"'): _OUTPUT,
    ("web", "pip install '.[web,urls]'$"): _INSTALLS,
    ("web", "make bench-web ARCHIVE="): _BENCH,
    ("writing-kernels", "make kernels"): "compiles for a minute; tests/kernels/core/test_build.py builds",
    ("writing-kernels", "REFINERY_KERNELS=python refinery run"): "takes a recipe of the user",
    ("writing-kernels", "REFINERY_CACHE_DIR=.venv/cache .venv/bin/python -m pytest"): "is a part of these tests",
}
# The same, with the test.
ELSEWHERE = {
    ("assets", '"model": {"type": "file"'): "tests.test_doc_blocks:test_parts_of_headers_are_literals",
    ("cookbook", ""): "tests.test_cookbook",
    ("tutorial", ""): "tests.test_tutorial",
    (
        "near-duplicates",
        "refinery signatures write",
    ): "tests.cli.test_signatures:test_signatures_of_a_run_become_the_index_of_another",
    (
        "near-duplicates",
        "refinery signatures read",
    ): "tests.cli.test_signatures:test_signatures_of_a_run_become_the_index_of_another",
    ("extending", '"resources": {"files"'): "tests.test_doc_blocks:test_parts_of_headers_are_literals",
    ("writing-kernels", '"functions": {'): "tests.test_doc_blocks:test_parts_of_headers_are_literals",
    (
        "explore",
        "refinery explore outputs/web_sample",
    ): "tests.explore.test_server:test_the_printed_address_shows_the_page_until_ctrl_c",
    ("extending", "my_operators/"): "tests.test_doc_blocks:test_folders_of_operators_are_those_of_the_page",
    ("input", "dataset: {path: reviews.csv"): "tests.io.readers.test_csv_options:test_columns_without_a_header",
    ("input", "dataset: {path: chats.jsonl"): "tests.io.readers.test_chats:test_a_template_and_an_old_text",
    ("input", "type: sql"): "tests.io.test_database_query:test_rows_are_samples",
    ("extending", "[project.entry-points."): "tests.operators.test_packages:test_its_operators_run_and_are_recorded",
    ("extending", "my_operators/filters/my_filter.sql:17: wrong"): "tests.inspect.test_operator_examples",
    ("extending", "# my_operators/matchers/window.py"): "tests.dedup.test_user_matcher",
    ("extending", "-- my_operators/deduplicators/recrawl_deduplicator.sql"): "tests.dedup.test_user_matcher",
    (
        "questions",
        "refinery run by_host.yaml",
    ): "tests.results.views.test_questions:test_each_answer_is_that_of_the_page",
    ("questions", "SELECT"): "tests.results.views.test_questions:test_each_answer_is_that_of_the_page",
    ("ray", "refinery run recipes/ray_demo/configs/demo.yaml$"): "tests.execution.ray.test_demo:test_on_a_cluster",
    (
        "ray",
        "python -m refinery run recipes/ray_demo/configs/demo.yaml$",
    ): "tests.execution.ray.test_demo:test_on_a_cluster",
    ("scale", "CREATE TABLE edges"): "tests.test_docs:test_clusters_by_tables_are_those_of_the_kernel",
    ("scale", "CREATE OR REPLACE TABLE heard"): "tests.test_docs:test_clusters_by_tables_are_those_of_the_kernel",
    ("statistics", '{"summary": {"total"'): "tests.stats.test_page:test_entry",
    ("statistics", "refinery stats merge INPUT OUTPUT"): "tests.stats.test_page:test_options",
    ("tracing", "from refinery.tracer import RayTracer"): "tests.execution.ray.test_tracer:test_the_block_of_the_page",
    (
        "writing-kernels",
        "# tests/kernels/core/test_charmap.py",
    ): "tests.test_docs:test_functions_of_the_kernels_page_are_those_of_the_code",
    (
        "writing-kernels",
        "# refinery/kernels/core/charmap.py",
    ): "tests.test_docs:test_functions_of_the_kernels_page_are_those_of_the_code",
    (
        "writing-kernels",
        "# udfs/mappers/whitespace_normalization_mapper.py",
    ): "tests.test_docs:test_functions_of_the_kernels_page_are_those_of_the_code",
}
# Commands of a page before its blocks, besides `refinery run recipes/web_sample.yaml`; blocks of the page by a line.
BEFORE = {
    ("contamination", "SELECT"): "quiz: quiz.jsonl",
    ("statistics", "import warnings"): "export: outputs/by_group/stats",
    ("statistics", "SELECT key, stat, n, mean"): "export: outputs/by_group/stats",
    ("README", "SELECT operator, reason, count(*)"): "export_path: outputs/readme/web_sample.jsonl",
}
# Blocks that need a bucket; a server on this machine has it.
IN_BUCKETS = [("input", "dataset_path: s3://bucket/data/")]
# Files of the user that pages name.
FILES = {
    "quiz.jsonl": '{"id": "q2", "question": "Read the minutes at the observatory car park, if somebody remembers the key."}\n',
    "evaluation/reading/test.jsonl": '{"question": "Who bought the tar of the northern valley?", "answer": "the yard"}\n',
    "exams.csv": "Frage,Lösung\nWoher kam der Teer der Werft von Ostervik?,aus dem Tal\n",
    "alpha.jsonl": '{"query": "Who bought the tar?", "label": "the shipyard at Ostervik, for the four barges that it had to mend before the winter"}\n',
    "beta.jsonl": '{"query": "Who sold the tar?", "label": "the valley", "task": "b"}\n',
    "owner/name/question/train.jsonl": '{"text": "A sample of a data set of the Hub."}\n',
    "pages/1.jsonl": json.dumps({"url": "https://example.org/", "text": "The lantern by the weir is lit at six. " * 20})
    + "\n",
    "dclm_baseline_refinedweb.yaml": """
- source: cc
  steps:
    - {func: page_length_filter, length_type: word, min_length: 50}
    - {func: stop_word_filter, count_unique: false}
    - {func: newline_removal_modifier, max_consecutive: 2}
""",
}
# Documents of the demo that blocks run over, but for those that name later ones.
DATA = Path("recipes", "data", "web_sample.jsonl")
DOCUMENTS = 160
OVER_ALL = [("deduplication", "refinery why 464 "), ("forecast", "refinery forecast ")]
# Database of the queries of a page.
DATABASES = {
    "README": "outputs/readme",
    "cards": "outputs/web_sample",
    "contamination": "outputs/part",
    "deciding": "outputs/measured",
    "deduplication": "outputs/web_dedup",
    "monitoring": "outputs/web_sample",
    "statistics": "outputs/by_group",
    "tables": "outputs/web_sample",
    "views": "outputs/web_sample",
}


def listed(block: Block, line: str) -> bool:
    """Return whether a line of a block, or the block by its first lines, is in one of the lists."""
    return any(page == block.page and text in line for page, text in [*NOT_RUN, *ELSEWHERE])


def is_shell(block: Block) -> bool:
    return block.language == "indented" and bool(re.match(r"(refinery|make|pip|python|ray|jq|\w+=\S+) ", block.title))


def is_listed(block: Block) -> bool:
    """Return whether nothing of a block runs here."""
    parts = [f"{line}$" for line in block.lines] if is_shell(block) else [block.text]
    return all(listed(block, part) for part in parts)


RUN = [block for block in BLOCKS if not is_listed(block)]


def refinery(folder: Path, line: str) -> str:
    """Run a command line of `refinery` in this process; what it prints."""
    code, printed = command(*shlex.split(line)[1:], folder=folder)
    assert code == 0, f"{line}\n{printed}"
    return printed


def samples_of(folder: Path) -> list[Any]:
    """The samples that the first run has kept."""
    return lines_of(folder / "outputs" / "web_sample" / "web_sample.jsonl")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run."""
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    refinery(folder, "refinery run recipes/web_sample.yaml --quiet")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the pages begin with: the checkout's recipes, of which two have run, and files of the user.

    Most blocks run over the documents of the demo; a part of them is enough.
    """
    folder = tmp_path_factory.mktemp("base")
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    refinery(folder, "refinery run recipes/web_dedup.yaml --quiet")
    data = folder / DATA
    data.write_bytes(b"".join(data.read_bytes().splitlines(keepends=True)[:DOCUMENTS]))
    refinery(folder, "refinery run recipes/web_sample.yaml --quiet")
    refinery(folder, "refinery analyze recipes/web_sample.yaml --stats text_len,num_words -o outputs/measured")
    shutil.copy(data, folder / "docs.jsonl")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "genes").mkdir()
    (folder / "genes" / "1.fa").write_text(">a first\n" + "ACGT" * 20 + "\n>b too short\nACGT\n", "utf-8")
    words = sorted({word for sample in samples_of(folder) for word in re.findall(r"\w+", sample["text"].lower())})
    vectors = np.random.default_rng(1).normal(size=(len(words), 64)).tolist()
    model_folder(folder / "models" / "potion-base-8M", dict(zip(words, vectors, strict=True)))
    return folder


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """A copy of it for one block; a run knows its files by their times."""
    shutil.copytree(base, tmp_path / "at", copy_function=shutil.copy2, symlinks=True)
    return tmp_path / "at"


def with_files(block: Block, folder: Path) -> None:
    """Add the files that the page shows, under the names in their first lines, and its `recipe.yaml`."""
    for other in BLOCKS:
        named = re.match(r"(?:--|#) (\S+\.(?:sql|py|yaml))$", other.title)
        if other.page == block.page == "extending" and named:
            (folder / named[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / named[1]).write_text(other.text, "utf-8")
    if not (folder / "recipe.yaml").exists():
        recipe = next((o for o in BLOCKS if o.page == block.page and o.text.startswith("dataset_path:")), None)
        readme = next(o for o in BLOCKS if o.page == "README" and o.language == "yaml")
        (folder / "recipe.yaml").write_text((recipe if block.page == "recipes" and recipe else readme).text, "utf-8")
    if block.page == "security":  # of a stranger, without SQL
        shutil.copy(folder / "recipes" / "web_sample.yaml", folder / "recipe.yaml")


def blocks_with(page: str, text: str) -> list[Block]:
    return [block for block in BLOCKS if block.page == page and text in block.text]


def begin(block: Block, folder: Path) -> None:
    """Bring the folder into the state that the page states."""
    with_files(block, folder)
    if any(page == block.page and text in block.text for page, text in OVER_ALL):
        shutil.copy(ROOT / DATA, folder / DATA)
    for (page, text), before in BEFORE.items():
        if page == block.page and text in block.text:
            [recipe] = blocks_with(page, before)
            run_recipe(recipe, folder)


def run_recipe(block: Block, folder: Path) -> None:
    """Check and run a recipe; a list of steps, or `process` alone, gets an input and an export."""
    content = yaml.safe_load(block.text)
    content = {"process": content} if isinstance(content, list) else content
    text = block.text
    if not {"dataset_path", "dataset"} & content.keys():
        keys = {"dataset_path": "recipes/data/web_sample.jsonl", "export_path": "outputs/part/kept.jsonl"}
        text = yaml.safe_dump(keys | content)
    elif "process" not in content:
        text = yaml.safe_dump(content | {"process": []})
    (folder / "block.yaml").write_text(text, "utf-8")
    options = " --operators my_operators" if (folder / "my_operators").exists() else ""
    assert "no problems" in refinery(folder, f"refinery check block.yaml{options}")
    assert " kept " in refinery(folder, f"refinery run block.yaml{options}")


def fill_bucket(folder: Path) -> None:
    """Put documents into the bucket that the pages name."""
    import s3fs

    bucket = s3fs.S3FileSystem(skip_instance_cache=True)
    if not bucket.exists("bucket"):
        make_bucket("bucket")
    bucket.put_file(str(folder / "docs.jsonl"), "bucket/data/docs.jsonl")


def run_shell(block: Block, folder: Path) -> None:
    for line in block.lines:
        if listed(block, f"{line}$"):
            continue
        if line.startswith("refinery "):
            assert refinery(folder, line).strip(), line
        else:
            assert shutil.which(shlex.split(line)[0]), f"{line}: to be listed in NOT_RUN, or run"
            done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0 and done.stdout.strip(), f"{line}\n{done.stderr}"


# Tables of what went wrong, or of deduplicators, which not every run of the pages has.
_MAY_BE_EMPTY = ("FROM hubs", "FROM chains", "FROM audit GROUP")


def run_sql(block: Block, folder: Path) -> None:
    """Run the queries of a block; each has rows, but those over tables that may be empty."""
    database = folder / DATABASES[block.page] / "refinery.duckdb"
    with closing(duckdb.connect(str(database), read_only=True)) as con:
        for query in filter(str.strip, block.text.split(";")):
            rows = con.execute(query).fetchall()
            assert rows or any(table in query for table in _MAY_BE_EMPTY), query


def run_python(block: Block, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(folder / "recipe.yaml")}
    exec(compile(block.text, str(block), "exec"), names)


@pytest.mark.parametrize("block", RUN, ids=str)
def test_a_block_runs_alone(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(folder)
    if any(page == block.page and text in block.text for page, text in IN_BUCKETS):
        request.getfixturevalue("server")
        fill_bucket(folder)
    monkeypatch.setattr(locality, "LOCATORS", dict(locality.LOCATORS))
    begin(block, folder)
    if is_shell(block):
        run_shell(block, folder)
    elif block.language == "yaml" or block.title.startswith(("dataset:", "dataset_path:")):
        run_recipe(block, folder)
    elif block.language == "sql" and not block.title.startswith("-- my_operators"):
        run_sql(block, folder)
    elif re.match(r"(--|#) my_operators", block.title):
        run_operator(block, folder)
    else:
        assert block.language in ("python", "indented"), "to be listed in NOT_RUN, or run"
        run_python(block, folder)


def run_operator(block: Block, folder: Path) -> None:
    """A file of operators: known under its stem; a reader by the recipe after it."""
    stem = Path(block.title.split()[1]).stem
    if "/readers/" not in block.title:
        assert stem in refinery(folder, f"refinery ops {stem} --operators my_operators")
        return
    [recipe] = blocks_with(block.page, "# genes.yaml")
    run_recipe(recipe, folder)
    assert [sample["id"] for sample in lines_of(folder / "out" / "genes.jsonl")] == ["a"]


def test_the_picture_of_the_readme_is_that_of_the_demo(demo: Path) -> None:
    drawn = picture(*rows_of(demo / "outputs" / "web_sample"))
    assert (ROOT / "docs" / "waterfall.svg").read_text("utf-8") == drawn, "run python -m bench.waterfall"


# The lists


@pytest.mark.parametrize(("page", "text"), [*NOT_RUN, *ELSEWHERE])
def test_a_listed_block_is_there(page: str, text: str) -> None:
    found = blocks_with(page, text.rstrip("$"))
    assert found
    if text.startswith("make "):
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert text.rstrip("$").split()[1] in targets
    for module in re.findall(r"python -m (bench\.\w+)", text):
        assert importlib.util.find_spec(module)
    for file in re.findall(r"python (bench/\S+)", text):
        assert (ROOT / file).exists()


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_a_test_elsewhere_is_there(test: str) -> None:
    module, _, name = test.partition(":")
    path = ROOT / (module.replace(".", "/") + ".py")
    names = {node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}
    assert name in names if name else any(found.startswith("test_") for found in names)


def test_examples_of_operators_are_the_blocks_of_their_page() -> None:
    """tests/test_docs.py holds the page against the headers, tests/operators/test_examples.py runs them."""
    assert {block.language for block in all_blocks() if block.page == "operators"} == {"text"}


# Parts of files


def test_parts_of_headers_are_literals() -> None:
    for (page, text), test in ELSEWHERE.items():
        if test.endswith(":test_parts_of_headers_are_literals"):
            [block] = blocks_with(page, text)
            part = ast.literal_eval("{" + block.text.partition('"sql":')[0] + "}")
            assert part and all(isinstance(value, dict) for value in part.values())


def test_folders_of_operators_are_those_of_the_page() -> None:
    [block] = blocks_with("extending", "my_operators/\n")
    assert set(re.findall(r"^ +(\w+)/", block.text, re.MULTILINE)) == {*KINDS, "features", "matchers", FOLDER}


# What the README shows of a run


def test_the_readme_shows_the_tables_of_the_demo(demo: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    shown = [line.strip("| ").split(" | ") for line in re.findall(r"^\| \d+ \| \d+ \|.*$", text, re.MULTILINE)]
    steps = re.findall(r"^     +(\d+)  (\w+) +(\d+)  +([\d ]*\d) +\d\.\d\d$", text, re.MULTILINE)
    assert len(shown) == 3 and len(steps) == 6
    with closing(duckdb.connect(str(demo / "outputs" / "web_sample" / "refinery.duckdb"), read_only=True)) as con:
        for row, step, operator, reason, value, bound in shown:
            found = con.execute("SELECT step, operator, reason, value, bound FROM ledger WHERE _row = ?", [int(row)])
            *names, measured, limit = found.fetchall()[0]
            assert names == [int(step), operator, reason]
            assert (round(measured, 3), round(limit, 3)) == (float(value), float(bound))
        for step, operator, rows_in, others in steps:
            [(name, *numbers)] = con.execute(
                "SELECT operator, rows_in, nullif(removed, 0), nullif(changed, 0), rows_out FROM steps WHERE step = ?",
                [int(step)],
            ).fetchall()
            assert (name, numbers[0]) == (operator, int(rows_in))
            assert [number for number in numbers[1:] if number] == list(map(int, others.split()))
        counts = con.execute("SELECT rows_read, rows_kept, rows_removed, rows_quarantined FROM runs").fetchall()[0]
    assert "{} rows read = {} kept + {} removed + {} quarantined".format(*counts) in text
