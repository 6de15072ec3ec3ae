"""`--safe`: recipes of strangers hold no code and no SQL, and name nothing outside of given folders."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refinery.cli.main import cli
from refinery.errors import RecipeError
from refinery.execution.open import open_from_command_line, open_recipe
from refinery.operators import Library
from refinery.security.safe_mode import SafeRecipe

RECIPE = """\
dataset_path: {data}
export_path: out/kept.jsonl
process:
  - clean_email_mapper:
  - words_num_filter: {{min_num: 2}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, the current one, and one beside it."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for path in (inside, outside):
        path.mkdir()
        (path / "data.jsonl").write_text('{"text": "three plain words"}\n')
    monkeypatch.chdir(inside)
    return inside


def safely(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def problems(text: str, *roots: str) -> list[str]:
    """Problems that `--safe` finds in a recipe in the current folder."""
    Path("recipe.yaml").write_text(text)
    with pytest.raises(RecipeError) as caught:
        open_recipe("recipe.yaml", guard=SafeRecipe(roots or (".",)))
    return [str(problem) for problem in caught.value.problems]


def test_a_plain_recipe_runs_as_ever(folder: Path) -> None:
    Path("recipe.yaml").write_text(RECIPE.format(data="data.jsonl"))
    assert safely("check", "recipe.yaml", "--safe").exit_code == 0
    assert safely("sql", "--safe", "recipe.yaml").exit_code == 0
    done = safely("run", "recipe.yaml", "--safe", "--json")
    assert done.exit_code == 0 and json.loads(done.output)["rows"]["kept"] == 1


def test_everything_that_is_refused_is_told_at_once_with_its_line(folder: Path) -> None:
    found = problems(
        """\
dataset_path: [data.jsonl, ../outside/data.jsonl]
export_path: /etc/out.jsonl
work_dir: ../outside/run
temp_dir: ~/spill
operators: ops
executor_type: ray
ray_address: evil.example:6379
stat_summary:
  group_by: {host: "(SELECT 1)"}
  export: ../outside
process:
  - sql_filter: {where: "1 = 1"}
  - sql_mapper: {text: "upper(text)"}
  - key_deduplicator: {key: "md5(text)", index: /var/index}
  - document_deduplicator: {keep: "length(text) DESC"}
  - stopwords_filter: {stopwords_dir: /usr/share}
  - words_num_filter: {min_num: 3, model: /etc/model.json}
"""
    )
    said = {
        "recipe.yaml:1": "'../outside/data.jsonl' is read, which is outside",
        "recipe.yaml:2": "export_path is '/etc/out.jsonl', which is outside",
        "recipe.yaml:3": "work_dir is '../outside/run', which is outside",
        "recipe.yaml:4": "temp_dir is '~/spill', which is outside",
        "recipe.yaml:5": "operators names folders of code",
        "recipe.yaml:7": "ray_address 'evil.example:6379' is another machine",
        "recipe.yaml:9": "stat_summary.group_by is SQL",
        "recipe.yaml:10": "stat_summary.export is '../outside', which is outside",
        "recipe.yaml:12": "sql_filter.where is SQL",
        "recipe.yaml:13": "sql_mapper.text is SQL",
        "recipe.yaml:14": "key_deduplicator.key is SQL",
        "recipe.yaml:15": "document_deduplicator.keep is SQL",
        "recipe.yaml:16": "stopwords_filter.stopwords_dir is '/usr/share', which is outside",
        "recipe.yaml:17": "words_num_filter.model is '/etc/model.json', which is outside",
    }
    for place, what in said.items():
        assert [line for line in found if line.startswith(f"{place}: --safe: {what}")], (place, found)
    assert [line for line in found if "key_deduplicator.index is '/var/index', which is outside" in line]
    assert len(found) == len(said) + 1


def test_columns_are_no_sql(folder: Path) -> None:
    Path("recipe.yaml").write_text(RECIPE.format(data="data.jsonl") + "  - key_deduplicator: {key: text}\n")
    assert len(open_recipe("recipe.yaml", guard=SafeRecipe(["."]))[0].steps) == 3


def test_links_do_not_lead_outside(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "innocent.jsonl").symlink_to(folder.parent / "outside" / "data.jsonl")
    for data in ("docs", "docs/*.jsonl", "docs/innocent.jsonl"):
        [found] = problems(RECIPE.format(data=data))
        assert "is read, which is outside" in found
    steps = "  - contamination_filter: {sets: {quiz: {path: docs}}}\n  - stopwords_filter: {stopwords_dir: docs}\n"
    found = problems(f"assets: .\n{RECIPE.format(data='data.jsonl')}{steps}")
    assert [(line.split(":")[1], "leads outside" in line) for line in found] == [("1", True), ("7", True), ("8", True)]
    (folder / "out").symlink_to(folder.parent / "outside")
    [found] = problems(RECIPE.format(data="data.jsonl"))
    assert "export_path is 'out/kept.jsonl', which is outside" in found


def test_other_roots_are_given_on_the_command_line(folder: Path) -> None:
    Path("recipe.yaml").write_text(RECIPE.format(data="../outside/data.jsonl"))
    assert safely("check", "recipe.yaml", "--safe").exit_code != 0
    assert safely("check", "recipe.yaml", "--safe", "--root", "..").exit_code == 0
    assert safely("check", "recipe.yaml", "--root", "..").exit_code == 2  # --root alone would mean nothing
    guard = SafeRecipe(["s3://bucket/mine"])
    assert guard._allows("s3://bucket/mine/a.jsonl") and guard._allows("s3://bucket/mine")
    assert not any(
        map(
            guard._allows,
            (
                "s3://bucket/mine2/a",
                "s3://bucket/mine/../b",
                "s3://bucket/mine/%2E%2e/b",
                "s3://other/mine",
                "data.jsonl",
                "s3://bucket/mine/a::file:///etc/passwd",
                "filecache::s3://bucket/mine/a",
                "file:///etc/passwd",
                "s3://bucket/min*",
            ),
        )
    )


@pytest.mark.parametrize(
    "value",
    [
        'process=[{"sql_filter": {"where": "1=1"}}]',
        'process=[{"document_minhash_deduplicator": {"index": "../outside/index"}}]',
        'stat_summary={"group_by": {"a": "id || 1"}}',
        'stat_summary={"export": "../outside"}',
    ],
)
def test_lists_and_mappings_of_the_command_line_are_looked_through(folder: Path, value: str) -> None:
    Path("recipe.yaml").write_text(RECIPE.format(data="data.jsonl"))
    done = safely("check", "recipe.yaml", "--safe", "--set", value)
    assert isinstance(done.exception, RecipeError) and "--safe: " in str(done.exception)


def test_the_environment_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_OURS", "secret-of-ours")
    text = RECIPE.format(data="data.jsonl") + "  - clean_links_mapper: {repl: '${TOKEN_OF_OURS}'}\n"
    [found] = problems(text)
    assert "recipe.yaml:6: --safe: the environment variable TOKEN_OF_OURS is not read" in found
    assert open_recipe("recipe.yaml")[0].steps[2].params["repl"] == "secret-of-ours"


def test_code_of_operators_is_not_even_loaded(folder: Path) -> None:
    (folder / "ops" / "mappers").mkdir(parents=True)
    trap = folder / "sprung"
    header = {"doc": "A trap.", "version": 1, "sql": "SELECT {{ text }} AS text", "checks": "check", "examples": []}
    code = f"OPERATOR = {header!r}\nopen({str(trap)!r}, 'w')\ndef check(params): return []\n"
    (folder / "ops" / "mappers" / "trap_mapper.py").write_text(code)
    text = RECIPE.format(data="data.jsonl").replace("process:", "operators: ops\nprocess:") + "  - trap_mapper:\n"
    assert ["--safe: operators names folders of code" in line for line in problems(text)] == [True]
    done = safely("check", "recipe.yaml", "--safe", "--operators", "ops")
    assert done.exit_code != 0 and not trap.exists()
    open_recipe("recipe.yaml")
    assert trap.exists()  # the trap works, where the recipe is trusted


def test_a_reader_of_the_user_is_code(folder: Path) -> None:
    (folder / "ops" / "readers").mkdir(parents=True)
    (folder / "data.own").write_text("text")
    trap = folder / "sprung"
    code = (
        f"FORMAT = 'own'\nSUFFIXES = ('.own',)\nopen({str(trap)!r}, 'w')\ndef read(stream): yield {{'text': 'a b'}}\n"
    )
    (folder / "ops" / "readers" / "own.py").write_text(code)
    text = RECIPE.format(data="data.own").replace("process:", "operators: ops\nprocess:")
    assert any("--safe: operators names folders of code" in line for line in problems(text))
    done = safely("run", "recipe.yaml", "--safe")
    assert done.exit_code != 0 and not trap.exists()
    assert safely("run", "recipe.yaml").exit_code == 0 and trap.exists()


def test_every_parameter_with_sql_or_a_path_is_known(folder: Path) -> None:
    """An operator of refinery's that takes code or a path says so by the parameter's type."""
    operators = Library().operators
    for name in operators:
        for param in operators[name].params.values():
            words = param.doc.lower()
            if param.type in ("str", "any", "str_or_list", "list[str]") and any(
                w in words for w in ("folder", "path of", "an expression")
            ):
                assert param.name in ("index", "input_folder", "output_folder"), (name, param.name)


@pytest.mark.parametrize(
    ("below", "options", "environment", "refused"),
    [
        ("executor_type: ray\nray_address: auto", [], {}, "recipe.yaml:4: --safe: ray_address 'auto' is any cluster"),
        (
            "executor_type: ray\nray_address: auto",
            [],
            {"RAY_ADDRESS": "10.0.0.1:6379"},
            "ray_address 'auto' is any cluster",
        ),
        ("executor_type: ray_partitioned", [], {}, "recipe.yaml:3: --safe: executor_type without a ray_address is any"),
        ("executor_type: ray\nray_address: 10.0.0.1:6379", [], {}, "ray_address '10.0.0.1:6379' is another machine"),
        ("executor_type: ray\nray_address: local", [], {}, None),
        ("executor_type: ray", [], {"RAY_ADDRESS": "10.0.0.1:6379"}, None),
        ("executor_type: ray", ["--ray_address", "10.0.0.1:6379"], {}, None),
        ("executor_type: ray\nray_address: 10.0.0.2:1", ["--ray_address=auto"], {}, None),
        ("executor_type: ray", ["--set", "ray_address=ray://10.0.0.1:1"], {}, None),
        (
            "np: 1",
            ["--executor_type", "ray"],
            {},
            "--executor_type: --safe: executor_type without a ray_address is any",
        ),
        ("np: 1", [], {}, None),
    ],
)
def test_a_cluster_is_named_by_the_caller(
    below: str,
    options: list[str],
    environment: dict[str, str],
    refused: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Path("in.jsonl").write_text('{"text": "a"}\n')
    steps = "process: [clean_email_mapper]\n"
    Path("recipe.yaml").write_text(f"dataset_path: in.jsonl\nexport_path: out/kept\n{below}\n{steps}")
    opened = partial(open_from_command_line, "recipe.yaml", options, [], [], [], [])
    if refused is None:
        opened()
        return
    with pytest.raises(RecipeError) as caught:
        opened()
    assert refused in str(caught.value) and "Name it yourself: --ray_address host:port" in str(caught.value)
