"""`refinery run`: what it prints, where, and how a recipe is changed on the command line."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refinery.cli.render import console
from refinery.cli.runs import files_of
from tests.cli.conftest import Call
from tests.commands import command
from tests.runs import operator_folder, write_lines
from tests.sampling import first_of_each, named
from tests.waiting import HANG, until

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
REFINERY = [sys.executable, "-m", "refinery"]


def test_waterfall(call: Call) -> None:
    done = call("run", "recipe.yaml")
    assert done.code == 0 and done.err == ""
    rows = [line.split() for line in done.lines if line[:1].isdigit() and "_" in line]
    assert [row[:3] for row in rows] == [
        ["1", "sql_mapper", "5"],
        ["2", "text_length_filter", "5"],
        ["3", "sql_filter", "4"],
    ]
    assert "6 rows read = 2 kept + 3 removed + 1 quarantined (1 could not be read)" in done.lines
    assert "kept samples   out/docs.jsonl" in done.lines
    assert "ask for a row  refinery why ROW --run out" in done.lines
    assert any(line.startswith("tables         out/refinery.duckdb") for line in done.lines)
    assert "\x1b" not in done.out


def test_a_folder_with_a_colon_in_its_name(call: Call) -> None:
    """DuckDB takes letters before a colon for the name of an extension that opens the file."""
    for folder, at_least in (("ab:1", 6), ("ab:2", 1)):
        path = f"{folder}/docs.jsonl"
        done = call(
            "run", "recipe.yaml", "--export_path", path, "--set", f"process.text_length_filter.min_len={at_least}"
        )
        assert (done.code, done.err) == (0, "")
    asked = [
        ("why", "1", "--run", "ab:1"),
        ("status", "ab:1"),
        ("diff", "ab:1", "ab:2"),
        ("tables", "ab:1", "--materialise"),
    ]
    changed = ("refilter", "ab:1", "--set", "process.text_length_filter.min_len=30")
    for arguments in (*asked, changed, ("report", "ab:1-refiltered")):
        done = call(*arguments)
        assert done.code == 0, done.err


def test_a_run_behind_a_link_and_its_parent(call: Call, folder: Path) -> None:
    """`link/..` is the parent of the link's target, not the folder that has the link."""
    (folder / "real" / "deep").mkdir(parents=True)
    (folder / "link").symlink_to("real/deep")
    for path, at_least in (("out/docs.jsonl", "6"), ("real/out/docs.jsonl", "30")):
        setting = f"process.text_length_filter.min_len={at_least}"
        assert call("run", "recipe.yaml", "--export_path", path, "--set", setting).code == 0
    assert "bound 30" in call("why", "4", "--run", "link/../out").out
    assert "bound 30" not in call("why", "4", "--run", "out").out
    setting = "process.text_length_filter.min_len=40"
    done = call("run", "recipe.yaml", "--export_path", "link/../new/docs.jsonl", "--set", setting)
    assert done.code == 0, done.err
    assert (folder / "real" / "new" / "refinery.duckdb").is_file() and not (folder / "new").exists()


def test_step_without_effect_is_noted(call: Call) -> None:
    done = call("run", "recipe.yaml", "--set", "process.text_length_filter.min_len=1")
    assert "note: no sample was changed or removed by step 2 text_length_filter" in done.lines


def test_quiet_is_silent(call: Call, folder: Path) -> None:
    done = call("run", "recipe.yaml", "--quiet", "--image_key", "images")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (folder / "out/docs.jsonl").is_file()


def test_json_is_all_that_stdout_gets(call: Call) -> None:
    done = call("run", "recipe.yaml", "--json", "--image_key", "images")
    assert done.out.count("\n") == 1
    said = json.loads(done.out)
    assert said["rows"] == {"read": 6, "kept": 2, "removed": 3, "quarantined": 1}
    assert said["outputs"] == ["out/docs.jsonl"] and said["database"] == "out/refinery.duckdb"
    assert "image_key has no effect" in done.err


def test_notes_go_to_stderr(call: Call) -> None:
    done = call("run", "recipe.yaml", "--image_key", "images")
    assert done.err.startswith("note: --image_key: image_key has no effect")
    assert "image_key" not in done.out


def test_show_prints_examples(call: Call) -> None:
    done = call("run", "recipe.yaml", "--show")
    text = done.out
    assert re.search(r"- ….*about the programme, please\.", text) and re.search(
        r"\+ ….*about the program, please\.", text
    )
    assert "removed: text_len below min_len" in text
    assert "quarantined docs.jsonl:6: malformed JSON" in text
    assert "traces         out/trace/" in text


SPELLINGS = {
    "options": "recipe.yaml --open_tracer true --trace_num 50 --op_list_to_trace sql_mapper,sql_filter",
    "switches": "--trace_num 50 --op_list_to_trace sql_mapper,sql_filter --open_tracer recipe.yaml",
    "config": """--config recipe.yaml --open_tracer --trace_num=50 --op_list_to_trace '["sql_mapper", "sql_filter"]'""",
    "hyphens": "--open-tracer true recipe.yaml --trace-num 50 --set 'op_list_to_trace=[sql_mapper, sql_filter]'",
    "other names": "--use_tracer true recipe.yaml --op_list_to_trace sql_mapper,sql_filter --trace_num all",
}


@pytest.mark.parametrize("arguments", named(SPELLINGS, "config", "hyphens"))
def test_overrides_in_the_way_of_data_juicer(call: Call, folder: Path, arguments: str) -> None:
    done = call("run", "--quiet", *shlex.split(arguments))
    assert (done.code, done.err) == (0, "")
    traces = {path.name: len(path.read_text().splitlines()) for path in (folder / "out/trace").iterdir()}
    assert traces == {"sample_trace-sql_mapper.jsonl": 2, "sample_trace-sql_filter.jsonl": 2}


def test_trace_num_and_keys(call: Call, folder: Path) -> None:
    call("run", "recipe.yaml", "--quiet", "--open_tracer", "true", "--trace_num", "1", "--trace_keys", "id,meta.lang")
    lines = (folder / "out/trace/sample_trace-sql_mapper.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    record = json.loads(lines[0])
    assert list(record) == ["id", "meta.lang", "original_text", "processed_text"]
    assert (record["id"], record["meta.lang"]) == (1, "en")


def test_set_var_and_environment(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        (folder / "recipe.yaml")
        .read_text()
        .replace("min_len: 6", "min_len: {{ least }}")
        .replace("out/", "${REFINERY_OUT}/")
    )
    (folder / "recipe.yaml").write_text(text)
    monkeypatch.setenv("REFINERY_OUT", "elsewhere")
    done = call("run", "recipe.yaml", "--var", "least=12", "--set", "process.3.where=true", "--json")
    assert json.loads(done.out)["rows"]["kept"] == 3
    assert (folder / "elsewhere/docs.jsonl").is_file()


def test_every_step_of_one_operator(call: Call) -> None:
    done = call("run", "recipe.yaml", "--json", "--text_length_filter.min_len", "1000")
    assert json.loads(done.out)["rows"]["kept"] == 0


def test_own_operators(call: Call, folder: Path) -> None:
    (folder / "mine/filters").mkdir(parents=True)
    header = "/*---\ndoc: Keep questions.\nversion: 1\n---*/\n"
    (folder / "mine/filters/question_filter.sql").write_text(header + "SELECT contains({{ text }}, '?') AS keep")
    done = call("run", "recipe.yaml", "--operators", "mine", "--set", "process=[question_filter]", "--json")
    assert json.loads(done.out)["rows"]["removed"] == 5
    assert "question_filter" in call("ops", "--operators", "mine").out
    assert call("run", "recipe.yaml", "--set", "process=[question_filter]").code == 2


def test_runs_again_over_an_old_run(call: Call) -> None:
    first, second = (
        call("run", "recipe.yaml", "--json"),
        call("run", "recipe.yaml", "--json", "--set", "process.3.where=true"),
    )
    assert (json.loads(first.out)["rows"]["kept"], json.loads(second.out)["rows"]["kept"]) == (2, 4)


def test_from_another_folder(folder: Path) -> None:
    """Paths in a recipe are relative to the current folder, as for Data-Juicer, wherever the recipe is."""
    (folder / "below").mkdir()
    arguments = ("run", "../recipe.yaml", "--dataset_path", "../docs.jsonl", "--json")
    code, printed = command(*arguments, folder=folder / "below")
    assert code == 0, printed
    assert (folder / "below/out/docs.jsonl").is_file()
    _, printed = command("why", "1", "--run", "out", folder=folder / "below")
    assert "removed (../recipe.yaml:8)" in printed


@pytest.mark.parametrize(
    "words",
    first_of_each(
        [["ops", "--markdown"], ["run", "recipe.yaml"], ["run", "recipe.yaml", "--json"], ["sql", "recipe.yaml"]],
        lambda words: words[0] == "run",
    ),
    ids=" ".join,
)
def test_nobody_reads_on(folder: Path, words: list[str]) -> None:
    """A pipe that is closed early, as `| head` does, is no failure."""
    process = subprocess.Popen(
        [*REFINERY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, cwd=folder
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One plain line every ten seconds, the first one after that time."""
    with console.progress(quiet=False) as report:
        report(1, 10)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(console, "_EVERY", 0)
        time.sleep(0.01)
        report(2_500_000, 10_000_000)
        report(10_000_000, 10_000_000)
    line = capsys.readouterr().err
    assert (
        line.startswith("refining: 25 %, 2.5 MB of 10.0 MB, ") and line.endswith(" s left\n") and line.count("\n") == 1
    )


def _all_of(terminal: int) -> bytes:
    """Everything that is written to a terminal until its other end is closed."""
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    return shown


def test_progress_on_a_terminal(folder: Path) -> None:
    """A bar on stderr, which is wiped out at the end; stdout gets the report alone."""
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*REFINERY, "run", "recipe.yaml"], stdout=subprocess.PIPE, stderr=theirs, env=environment, cwd=folder
    )
    os.close(theirs)
    with ThreadPoolExecutor(1) as reader:  # a terminal that nobody reads takes a few lines, and no more
        reading = reader.submit(_all_of, ours)
        out, _ = process.communicate()
        shown = reading.result()
    assert process.returncode == 0
    assert "preparing" in shown.decode() and "writing tables" in shown.decode()
    assert shown.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h"))
    assert b"\x1b" not in out and b"6 rows read" in out


def test_interrupt_ends_the_run(folder: Path) -> None:
    """Control-C: a line (and one about shards that are done, if any), exit code 130, and no half-written results."""
    with (folder / "docs.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": "many words " * 200, "score": 1.0}) + "\n" for _ in range(20_000))
    slow = "length(regexp_replace(repeat(text, 10), '[aeiou]+(.)', 'x', 'g')) > 3"
    words = [*REFINERY, "run", "recipe.yaml", "--set", f"process.3.where={slow}"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, cwd=folder, text=True
    )
    until((folder / "out/.refinery/parts").exists, lambda: process.poll() is None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    first, *kept = err.strip().splitlines()
    assert (process.returncode, out, first) == (130, "", "interrupted")
    assert all("run the same command again to continue" in line for line in kept) and len(kept) <= 1
    assert not (folder / "out/docs.jsonl").exists() and not (folder / "out/refinery.duckdb").exists()


def test_what_operators_print_is_not_the_commands_output(folder: Path) -> None:
    operators = operator_folder(folder / "own", prints='print("printed", text)\nreturn None')
    recipe = {"dataset_path": "docs.jsonl", "process": ["prints_mapper"], "operators": str(operators)}
    Path("prints.json").write_text(json.dumps(recipe))
    command = [sys.executable, "-m", "refinery", "run", "prints.json", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0 and json.loads(done.stdout)["rows"]["kept"] == 5
    assert "printed short" in done.stderr


def test_many_files_of_an_export_are_a_number_and_their_folder() -> None:
    few = [Path("out/a.json"), Path("out/b.json")]
    assert files_of(few) == "out/a.json, out/b.json"
    assert files_of([f"s3://bucket/kept/{number}.json" for number in range(1500)]) == "1,500 files in s3://bucket/kept/"
    assert files_of([f"out/{number}/x.json" for number in range(5)]) == "out/0/x.json and 4 files more"


def test_notes_that_are_known_before_a_run_are_printed_also_if_it_fails(call: Call, tmp_path: Path) -> None:
    for split in ("train", "test"):
        write_lines(tmp_path / "data" / f"{split}.jsonl", [{"text": f"a text of {split}"}])
    recipe = tmp_path / "recipe.yaml"
    places = f"dataset_path: {tmp_path}/data\nexport_path: {tmp_path}/out/kept.jsonl\n"
    recipe.write_text(f"{places}process: [whitespace_normalization_mapper]\n")
    done = call("run", recipe)
    assert done.code == 0 and "files of several splits" in done.err
    after = " ".join(done.out.split())
    assert "no sample was changed or removed" in after and "several splits" not in after
    (tmp_path / "data" / "train.jsonl").write_text("damaged\n")
    failed = call("run", recipe, "--max_quarantined", "0")
    assert failed.code == 7 and "files of several splits" in failed.err
