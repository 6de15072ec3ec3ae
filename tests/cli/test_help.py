"""Help pages, suggestions for misspelt words, the search of `refinery ops`, and `refinery status --watch`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from refinery.cli.help import EXAMPLES, TASKS
from refinery.cli.main import cli
from refinery.cli.render.status import watch
from tests.cli.conftest import Call
from tests.waiting import HANG


def test_every_command_has_a_task_and_examples(call: Call) -> None:
    assert sorted(name for names in TASKS.values() for name in names) == sorted(cli.commands)
    assert {*cli.commands, "merge", "read", "write", ""} == EXAMPLES.keys()
    for name in cli.commands:
        text = call(name, "--help").out
        assert "\nExamples:\n" in text and all(f"  {line}\n" in text for line in EXAMPLES[name])


def test_help_cuts_no_description(call: Call) -> None:
    text = " ".join(call("--help").out.split())
    assert "..." not in text.replace("[ARGS]...", "")
    for command in cli.commands.values():
        assert " ".join((command.help or "").partition("\n\n")[0].split()) in text


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["run", "recipe.yaml", "--quiett"], "--quiet"),
        (["sql", "recipe.yaml", "--explian", "plan"], "--explain"),
        (["check", "--jsn", "recipe.yaml"], "--json"),
        (["diff", "--limt", "3", "a", "b"], "--limit"),
        (["run", "recipe.yaml", "--trace_nun", "1"], "trace_num"),
        (["statsu", "run"], "status"),
        (["ops", "text_lenght_filter"], "text_length_filter"),
    ],
)
def test_misspelt_words(call: Call, words: list[str], near: str) -> None:
    done = call(*words)
    assert done.code == 2 and "Did you mean" in done.err and f"'{near}'" in done.err


def test_ops_searches_names_kinds_and_descriptions(call: Call) -> None:
    found = [line.split()[0] for line in call("ops", "Dedup").lines[1:]]
    assert "document_deduplicator" in found and "text_length_filter" not in found
    described = [line.split()[0] for line in call("ops", "latex").lines[1:]]
    assert {"remove_comments_mapper", "expand_macro_mapper"} <= {*described}
    assert call("ops", "zzz").code == 2


def test_watching_waits_for_a_run() -> None:
    states = iter([{"state": "none"}, {"state": "running"}, {"state": "finished"}])
    shown: list[str] = []
    assert watch(lambda: next(states), lambda found: shown.append(found["state"]), 0)["state"] == "finished"
    assert shown == ["none", "running"]


def test_watching_says_what_it_waits_for(tmp_path: Path) -> None:
    """Also for a folder that does not exist yet. Ctrl-C ends it."""
    command = [sys.executable, "-m", "refinery", "status", str(tmp_path / "soon"), "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"waiting: for a run in {tmp_path / 'soon'}; Ctrl-C ends\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANG)
    assert process.returncode == 130
