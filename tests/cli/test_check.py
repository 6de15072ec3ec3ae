"""Every problem of every phase at once, in `check`, `run` and `sql`; options before and after the recipe."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from refinery.cli.main import cli
from refinery.cli.options import RecipeCommand
from refinery.execution import needs
from tests.cli.conftest import Call

ALL_WRONG = """\
dataset_path: [docs.jsonl, nothing.jsonl]
export_path: docs.jsonl
text_keys: txet
trace_nmu: 4
process:
  - words_num_fliter:
  - text_length_filter: {min_len: many}
  - sql_filter: {where: "text_len > nosuch(3)"}
  - sql_filter: {where: "text_len >"}
  - document_deduplicator: {keep: "nosuch(score) desc"}
  - sql_filter: {where: "text_len > 3"}
"""
EXPECTED = {
    1: "nothing.jsonl: no such file or folder",
    2: "docs.jsonl: cannot be written: it is also read",
    3: "text_keys names the field 'txet'",
    4: "there is no key 'trace_nmu'. Did you mean 'trace_num'?",
    6: "there is no operator 'words_num_fliter'",
    7: "text_length_filter.min_len must be a whole number",
    8: "Scalar Function with name nosuch does not exist",
    9: "sql_filter: the SQL cannot be read",
    10: "document_deduplicator: Scalar Function with name nosuch does not exist",
}
COMMANDS = [name for name, command in cli.commands.items() if isinstance(command, RecipeCommand)]


@pytest.mark.parametrize("command", ["check", "run", "sql"])
def test_all_problems_of_all_phases(call: Call, folder: Path, command: str) -> None:
    Path("wrong.yaml").write_text(ALL_WRONG)
    done = call(command, "wrong.yaml")
    assert done.code == 2 and done.out == ""
    lines = done.err.strip().splitlines()
    assert [int(line.split(":")[1]) for line in lines] == list(EXPECTED)  # as they stand in the recipe
    for line, part in zip(lines, EXPECTED.values(), strict=True):
        assert part in line
    assert sorted(path.name for path in folder.iterdir()) == ["docs.jsonl", "recipe.yaml", "wrong.yaml"]


def test_problems_as_json(call: Call, folder: Path) -> None:
    Path("wrong.yaml").write_text(ALL_WRONG)
    done = call("check", "--json", "wrong.yaml")
    found = json.loads(done.out)
    assert done.code == found["exit_code"] == 2 and done.err == "" and not found["ok"]
    assert [problem["line"] for problem in found["problems"]] == list(EXPECTED)
    assert [problem["kind"] for problem in found["problems"][:3]] == ["data", "output", "recipe"]
    assert found["problems"][3] == {
        "where": "wrong.yaml:4",
        "file": "wrong.yaml",
        "line": 4,
        "kind": "recipe",
        "what": "there is no key 'trace_nmu'",
        "hint": "Did you mean 'trace_num'?",
    }


def test_no_problem_as_json(call: Call) -> None:
    found = json.loads(call("check", "recipe.yaml", "--json", "--image_key", "x").out)
    assert found["ok"] and found["problems"] == [] and found["recipe"] == "recipe.yaml"
    assert found["steps"][1] == {
        "step": 2,
        "operator": "text_length_filter",
        "name": None,
        "where": "recipe.yaml:8",
    }
    assert found["inputs"] == {"files": 1, "bytes": os.path.getsize("docs.jsonl")}
    assert found["notes"][0]["where"] == "--image_key" and "no effect" in found["notes"][0]["what"]


@pytest.mark.parametrize(
    ("options", "code", "parts"),
    [
        (["--dataset_path", "nothing.jsonl"], 3, ["--dataset_path: nothing.jsonl: no such file"]),
        (["--dataset_path", "docs.jsonl,nothing.jsonl"], 3, ["nothing.jsonl: no such file"]),
        (["--dataset_path", "no/*.jsonl"], 3, ["no file matches the pattern"]),
        (["--export_path", "docs.jsonl/x.jsonl"], 6, ["--export_path: docs.jsonl/x.jsonl: cannot be written"]),
        (["--export_path", "docs.jsonl"], 6, ["it is also read"]),
        (["--export_path", "linked.jsonl"], 6, ["it is also read"]),
        (["--dataset_path", "*.jsonl", "--export_path", "docs.jsonl"], 6, ["it is also read"]),
        (["--dataset_path", "data", "--export_path", "data/kept.jsonl"], 6, ["data/kept_stats.jsonl", "also read"]),
        (["--dataset_path", "data", "--export_path", "data/x.jsonl", "--export_shard_size", "9"], 6, ["x-0-of-2"]),
        (["--work_dir", "docs.jsonl/run"], 6, ["--work_dir: docs.jsonl/run: cannot be written"]),
        (
            ["--dataset_path", "nothing.jsonl", "--export_path", "docs.jsonl/x.jsonl"],
            3,
            ["--dataset_path: nothing.jsonl", "--export_path: docs.jsonl/x.jsonl"],
        ),
        (["--dataset_path", "nothing.jsonl", "--set", "process.3.where=a >"], 2, ["nothing.jsonl", "cannot be read"]),
    ],
)
@pytest.mark.parametrize("command", ["check", "run", pytest.param("sql", marks=pytest.mark.long)])
def test_what_is_not_the_recipe_itself(
    call: Call, folder: Path, command: str, options: list[str], code: int, parts: list[str]
) -> None:
    os.symlink("docs.jsonl", "linked.jsonl")
    (folder / "data").mkdir()
    for name in ("a.jsonl", "kept_stats.jsonl", "x-0-of-2.jsonl"):
        (folder / "data" / name).write_text('{"text": "x", "score": 1}\n')
    done = call(command, "recipe.yaml", *options)
    assert done.code == code, done.err
    for part in parts:
        assert part in done.err
    assert not (folder / "out").exists()


def test_ray_without_its_package(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    for command in ("check", "run"):
        done = call(command, "recipe.yaml", "--executor_type", "ray", "--dataset_path", "nothing.jsonl")
        assert done.code == 2 and "pip install 'ray[" in done.err and "nothing.jsonl" in done.err


def test_a_statistic_of_a_wrong_step_is_no_problem_of_its_own(call: Call, folder: Path) -> None:
    steps = [{"words_num_filter": {"min_num": "x"}}, {"sql_filter": {"where": "num_words > 3"}}]
    (folder / "r.json").write_text(json.dumps({"dataset_path": "docs.jsonl", "process": steps}))
    done = call("check", "r.json")
    assert done.code == 2 and len(done.err.strip().splitlines()) == 1 and "min_num" in done.err


# The command line


@pytest.mark.parametrize("name", COMMANDS)
def test_switches_eat_no_argument(name: str) -> None:
    """Every switch of a command, and every key that is true or false, before and after the recipe."""
    command: Any = cli.commands[name]
    switches = [option.opts[0] for option in command.params if getattr(option, "is_flag", False)]
    assert name == "sql" or "--json" in switches
    for switch in [*switches, "--open_tracer", "--use-cache", "--op_fusion", "--explain"]:
        for args in ([switch, "recipe.yaml"], ["recipe.yaml", switch]):
            if switch == "--explain" and name != "sql":
                continue
            context = command.make_context(name, [*args, "--trace_num", "5", "--np=2"], resilient_parsing=True)
            assert context.params["recipe"] == "recipe.yaml", args
            assert context.params["overrides"][-3:] == ("--trace_num", "5", "--np=2")


@pytest.mark.parametrize(
    "args",
    [
        ["--open_tracer", "true", "recipe.yaml"],
        ["--trace_num", "5", "recipe.yaml"],
        ["--trace_num=5", "recipe.yaml"],
        ["--set", "process.3.where=a", "recipe.yaml"],
        ["--operators", ".", "recipe.yaml"],
        ["--words_num_filter.min_num", "5", "recipe.yaml"],
        ["--nothing", "recipe.yaml"],
        ["--words_num_filter.tokenization", "recipe.yaml"],
        ["--export_path", "out.json", "recipe.yaml"],
    ],
)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_recipe_is_found(name: str, args: list[str]) -> None:
    context = cli.commands[name].make_context(name, list(args), resilient_parsing=True)
    assert context.params["recipe"] == "recipe.yaml"


def test_a_key_that_takes_a_path_keeps_it(call: Call) -> None:
    """A value that looks like a recipe is the value of an option that takes one."""
    done = call("check", "--export_path", "out/kept.json", "recipe.yaml", "--json")
    assert json.loads(done.out)["ok"]


def test_an_option_that_nobody_knows(call: Call) -> None:
    done = call("check", "--jsno", "recipe.yaml")
    assert done.code == 2 and "--jsno: there is no such option" in done.err
    done = call("run", "--halp", "recipe.yaml")
    assert done.code == 2 and "Did you mean '--help'?" in done.err


def test_a_recipe_that_removes_every_sample_has_problems(tmp_path: Path, call: Call) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "r.yaml").write_text(
        f"dataset_path: {tmp_path}/in.jsonl\nexport_path: {tmp_path}/out.jsonl\n"
        "process: [text_length_filter: {min_len: 9, max_len: 3}]\n"
    )
    done = call("check", str(tmp_path / "r.yaml"))
    assert done.lines[-1].endswith(", but every sample is removed, see the notes")
