"""`refinery check`, `sql`, `ops`, `schema`, `why`, `version`, `completion`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from click.shell_completion import BashComplete

import refinery
from refinery.cli.main import cli
from refinery.operators import Library
from refinery.recipe.keys import KEYS, NOT_YET
from tests.cli.conftest import Call


def test_check(call: Call, folder: Path) -> None:
    done = call("check", "recipe.yaml", "--image_key", "x")
    assert done.code == 0
    assert done.lines[-1].startswith("recipe.yaml: 3 steps over docs.jsonl, ") and done.lines[-1].endswith(
        ", no problems"
    )
    assert "note: --image_key: image_key has no effect" in done.out
    assert not (folder / "out").exists()


def test_help_lists_the_keys_of_a_recipe(call: Call) -> None:
    done = call("run", "--help")
    rows = dict(line.split(None, 1) for line in done.out.splitlines() if line.startswith("  --"))
    assert {f"--{key.name}" for key in KEYS.values() if not key.note and not key.refuses} - {*rows} == {
        f"--{name}" for name in NOT_YET
    }
    assert rows["--export_path"] == "Path or URL of the kept samples"
    assert rows["--cache_compress"] == "Compression of texts between stages" and "](" not in done.out


def test_check_finds_wrong_sql_without_the_data(call: Call) -> None:
    done = call("check", "recipe.yaml", "--dataset_path", "nothing.jsonl", "--set", "process.3.where=score > random()")
    assert done.code == 2 and "recipe.yaml:10" in done.err
    assert call("check", "recipe.yaml", "--dataset_path", "nothing.jsonl", "--set", "process.3.where=a > ").code == 2


def test_check_of_every_stage_without_the_data(call: Call, folder: Path) -> None:
    steps = [{"document_simhash_deduplicator": {"keep": "score desc"}}, "paragraph_deduplicator", "words_num_filter"]
    recipe = {"dataset_path": "nothing.jsonl", "process": steps}
    (folder / "stages.json").write_text(json.dumps(recipe))
    assert call("check", "stages.json").code == 3
    done = call("check", "stages.json", "--set", "process.1.keep=score nowhere")
    assert done.code == 2 and "document_simhash_deduplicator" in done.err


def test_sql_prints_the_script_alone(call: Call) -> None:
    done = call("sql", "recipe.yaml")
    assert done.code == 0 and done.err == ""
    assert done.out == refinery.compile("recipe.yaml")
    assert done.out.startswith("-- tiny: recipe.yaml as SQL")


def test_explain(call: Call) -> None:
    done = call("sql", "recipe.yaml", "--explain")
    assert done.lines[0].startswith("input: 443 bytes in 1 shard: none is smaller than 4.2 MB, ")
    assert done.lines[1] == "stage 1: 3 steps fused into one pass over 1 shard with 1 worker"
    assert "├── 2 text_length_filter: SQL, line 8" in done.lines and "Projection" not in done.out
    assert "Projection" in call("sql", "recipe.yaml", "--explain", "plan").out


def test_explain_analyze(call: Call, folder: Path) -> None:
    done = call("sql", "recipe.yaml", "--explain", "analyze")
    assert done.lines[0].startswith("measured on 5 rows, ")
    rows = [line.split() for line in done.lines if line[:1] in "123"]
    assert [(row[1], row[3]) for row in rows] == [("sql_mapper", "5"), ("text_length_filter", "5"), ("sql_filter", "4")]
    assert not (folder / "out").exists()


def test_lineage(call: Call) -> None:
    done = call("sql", "recipe.yaml", "--lineage", "text_len")
    assert done.lines[:3] == [
        "text_len comes from text of the input",
        "through step 1 sql_mapper (recipe.yaml:6)",
        "through step 2 text_length_filter (recipe.yaml:8)",
    ]
    assert "_dropped comes from text, score of the input" in call("sql", "recipe.yaml", "--lineage", "_dropped").lines


def test_ops_lists_every_operator(call: Call) -> None:
    done = call("ops")
    assert done.code == 0
    for operator in Library().operators.values():
        assert sum(line.split()[:1] == [operator.name] for line in done.lines) == 1


def test_ops_tells_of_each(call: Call) -> None:
    for operator in Library().operators.values():
        text = call("ops", operator.name).out
        assert text.startswith(f"{operator.name} ({operator.kind}, version {operator.version})")
        for name in (*operator.params, *operator.stats):
            assert name in text
        assert text.count("->") >= len(operator.examples)
        assert str(Path(refinery.__file__).parent.parent) not in text


def test_schema_with_operators_of_a_folder(call: Call, folder: Path) -> None:
    found = json.loads(call("schema").out)
    assert {"process", "np"} <= found["properties"].keys() and "operator_sql_filter" in found["$defs"]
    (folder / "mine" / "mappers").mkdir(parents=True)
    body = "/*---\ndoc: Nothing.\nversion: 1\n---*/\nSELECT {{ text }} AS text\n"
    (folder / "mine" / "mappers" / "nothing_mapper.sql").write_text(body)
    assert "operator_nothing_mapper" in json.loads(call("schema", "--operators", "mine").out)["$defs"]
    assert call("schema", "--operators", "nowhere").code == 2


def test_ops_as_markdown(call: Call) -> None:
    whole = call("ops", "--markdown").out
    one = call("ops", "sql_filter", "--markdown").out.strip()
    assert whole.startswith("# Operators") and one in whole and one.startswith("## sql_filter")


def test_why(call: Call) -> None:
    call("run", "recipe.yaml", "--quiet")
    kept = call("why", "0", "--run", "out").lines
    assert kept[0] == "row 0, docs.jsonl:1: kept"
    assert kept[2].split() == ["1", "sql_mapper", "changed"]
    assert kept[3].startswith("- …") and "programme" in kept[3] and kept[4].startswith("+ …") and "program," in kept[4]
    assert kept[5].split() == ["2", "text_length_filter", "kept", "text_len", "=", "52"]
    removed = call("why", "1", "--run", "out").lines
    assert removed[0] == "row 1, docs.jsonl:2: removed by step 2 text_length_filter"
    assert removed[3].endswith("removed (recipe.yaml:8): text_len below min_len (5, bound 6)")
    assert removed[4].endswith("not reached")
    assert "could not be read: malformed JSON" in call("why", "5", "--run", "out").out


def test_why_of_several_rows(call: Call) -> None:
    call("run", "recipe.yaml", "--quiet")
    done = call("why", "--where", "meta.lang = 'en' AND score IS NOT NULL", "--run", "out")
    assert [line for line in done.lines if line.startswith("row ")] == [
        "row 0, docs.jsonl:1: kept",
        "row 1, docs.jsonl:2: removed by step 2 text_length_filter",
    ]


def test_why_as_json(call: Call) -> None:
    call("run", "recipe.yaml", "--quiet")
    done = call("why", "--where", "id < 3", "--run", "out", "--json")
    first, second = map(json.loads, done.lines)
    assert (first["row"], first["fate"], first["sample"]["id"]) == (0, "kept", 1)
    assert [event["fate"] for event in second["events"]] == ["unchanged", "removed", "not reached"]
    assert (second["events"][1]["value"], second["events"][1]["bound"]) == (5.0, 6.0)


def test_version(call: Call) -> None:
    said = f"refinery {refinery.__version__}\n"
    assert call("version").out == call("--version").out == said


def test_help_names_exit_codes(call: Call) -> None:
    done = call("--help")
    assert done.code == 0 and "5 rows do not add up" in " ".join(done.out.split())
    for command in cli.commands:
        assert call(command, "--help").code == 0


# Completion


def completions(*words: str) -> list[str]:
    """The shell's completions of the last word."""
    *before, incomplete = words
    return [
        item.value
        for item in BashComplete(cli, {}, "refinery", "_REFINERY_COMPLETE").get_completions(before, incomplete)
    ]


def test_completion_of_operators(folder: Path) -> None:
    assert completions("ops", "text_") == ["text_len_filter", "text_length_filter"]
    assert completions("ops", "words_n") == ["words_num_filter"]
    assert completions("ops", "email") == ["clean_email_mapper"]
    (folder / "mine/mappers").mkdir(parents=True)
    (folder / "mine/mappers/my_mapper.sql").write_text("")
    assert completions("ops", "--operators", "mine", "my") == ["my_mapper"]


def test_completion_of_recipes(folder: Path) -> None:
    (folder / "recipes").mkdir()
    (folder / "recipes/other.yml").write_text("")
    (folder / "recipes/notes.txt").write_text("")
    assert completions("run", "") == ["recipe.yaml", "recipes/"]
    assert completions("check", "recipes/") == ["recipes/other.yml"]
    assert completions("run", "--config", "rec") == ["recipe.yaml", "recipes/"]
    assert completions("run", "nowhere/") == []


def test_completion_of_keys(folder: Path) -> None:
    assert completions("run", "recipe.yaml", "--trace") == ["--trace_num", "--trace_keys"]
    assert "--explain" in completions("sql", "--") and "--export_path" in completions("sql", "--")
    assert completions("ru") == ["run"]


def test_completion_scripts(call: Call) -> None:
    for shell, sign in {
        "bash": "complete -o nosort -F",
        "zsh": "#compdef refinery",
        "fish": "complete --no-files",
    }.items():
        done = call("completion", shell)
        assert done.code == 0 and sign in done.out and "_REFINERY_COMPLETE" in done.out


def test_completion_in_bash(folder: Path, call: Call) -> None:
    """Bash reads the script and completes with it."""
    tool = folder / "bin/refinery"
    tool.parent.mkdir()
    tool.write_text(f"#!{sys.executable}\nfrom refinery.cli.main import main\nmain()\n")
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(Path(refinery.__file__).parent.parent)
    script = call("completion", "bash").out
    asked = (
        f"{script}\nCOMP_WORDS=(refinery ops text_) COMP_CWORD=2\n_refinery_completion refinery\necho ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["text_len_filter", "text_length_filter"], done.stderr
