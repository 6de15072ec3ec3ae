"""Credentials are in nothing that is written or printed."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.cli.main import main
from refinery.common.redaction import has_credentials, hide
from refinery.errors import RecipeError
from refinery.monitoring import log
from tests.commands import command
from tests.runs import operator_folder, settings, texts, write_lines
from tests.sampling import first_of_each
from tests.waiting import HANG

CANARY = "c4nary-VERY/secret+key"
LOUD = """
    import logging, os
    logging.getLogger("theirs").warning("the key is %s", os.environ["AWS_SECRET_ACCESS_KEY"])
    if "fail" in text:
        raise ValueError("s3://me:" + os.environ["AWS_SECRET_ACCESS_KEY"] + "@host/x")
    return text
"""


def everywhere(folder: Path) -> dict[str, str]:
    """Every file below a folder as text, and every table of its databases."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[str(path)] = path.read_bytes().decode("utf-8", "replace")
            if path.suffix == ".duckdb":
                with duckdb.connect(str(path), read_only=True) as con:
                    for (table,) in con.execute("SELECT table_name FROM information_schema.tables").fetchall():
                        found[f"{path}/{table}"] = str(con.execute(f'FROM "{table}"').fetchall())
    return found


def process(*arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code, and everything that a command's process prints."""
    env = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-m", "refinery", *arguments], env=env, capture_output=True, text=True, timeout=HANG
    )
    return done.returncode, done.stdout + done.stderr


def recipe(folder: Path, **keys: Any) -> str:
    write_lines(folder / "in.jsonl", [*texts(["long enough", "fail here"]), "no json"])
    operators = operator_folder(folder / "ops", loud=LOUD)
    given = {"operators": [str(operators)], "open_tracer": True, "open_monitor": True} | keys
    path = folder / "recipe.json"
    path.write_text(
        json.dumps(settings(folder, [{"loud_mapper": None}, {"words_num_filter": {"min_num": 1}}], **given))
    )
    return str(path)


def test_credentials_of_the_recipe_and_the_environment_stay_where_they_are(tmp_path: Path) -> None:
    path = recipe(tmp_path, export_aws_credentials={"aws_secret_access_key": CANARY, "aws_access_key_id": "${THE_ID}"})
    variables = {"AWS_SECRET_ACCESS_KEY": CANARY, "THE_ID": CANARY[::-1]}
    printed = [
        process("run", path, "--show", **variables),
        command("run", path, "--json", "--fresh", **variables),
        command("check", path, **variables),
        command("sql", path, **variables),
        command("sql", path, "--explain", **variables),
        command("status", str(tmp_path / "run"), "--json", **variables),
        command("why", "1", "--run", str(tmp_path / "run"), **variables),
    ]
    assert [code for code, _ in printed] == [0] * len(printed)
    of_run = everywhere(tmp_path / "run")
    assert any(name.endswith("run.jsonl") for name in of_run) and any(name.endswith("/monitor") for name in of_run)
    for name, text in {**of_run, **dict(enumerate(text for _, text in printed))}.items():
        assert CANARY not in text and CANARY[::-1] not in text, name
    assert "the key is ***" in of_run[str(tmp_path / "run" / ".refinery" / "log" / "run.log")]


@pytest.mark.parametrize(
    ("key", "value"),
    first_of_each(
        [
            ("dataset_path", f"https://me:{CANARY}@example.com/data.jsonl"),
            ("dataset_path", f"https://example.com/data.jsonl?X-Amz-Signature={CANARY}"),
            ("dataset_path", f"s3://me:{CANARY}@bucket/data.jsonl"),
            ("dataset", {"configs": [{"type": "local", "path": f"https://me:{CANARY}@example.com/data.jsonl"}]}),
            ("export_path", f"s3://me:{CANARY}@bucket/out.jsonl"),
            ("work_dir", f"s3://me:{CANARY}@bucket/run"),
            ("temp_dir", f"s3://me:{CANARY}@bucket/run"),
            ("ray_address", f"ray://me:{CANARY}@host:10001"),
            ("stat_summary", {"export": f"s3://me:{CANARY}@bucket/run"}),
        ],
        lambda _, value: (*re.findall(r"\w+(?=://)", str(value)), "Signature" in str(value)),
    ),
)
def test_credentials_in_a_path_are_refused_and_not_repeated(
    tmp_path: Path, key: str, value: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = settings(tmp_path, [{"words_num_filter": None}]) | {key: value}
    if key == "dataset":
        del given["dataset_path"]
    write_lines(tmp_path / "in.jsonl", texts(["long enough"]))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        RecipeError, match="holds credentials. Credentials belong into environment variables|a path without credentials"
    ) as caught:
        refinery.run(given)
    assert CANARY not in str(caught.value)
    (tmp_path / "recipe.json").write_text(json.dumps(given))
    monkeypatch.setattr(sys, "argv", ["refinery", "run", "recipe.json"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = "".join(capsys.readouterr())
    assert ended.value.code == 2 and "holds credentials" in printed and CANARY not in printed
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_command_repeats_no_credentials(tmp_path: Path) -> None:
    """The process of a command, its end included."""
    write_lines(tmp_path / "in.jsonl", texts(["long enough"]))
    given = settings(tmp_path, [{"words_num_filter": None}]) | {"work_dir": f"s3://me:{CANARY}@bucket/run"}
    (tmp_path / "recipe.json").write_text(json.dumps(given))
    code, printed = process("run", str(tmp_path / "recipe.json"))
    assert code == 2 and "holds credentials" in printed and CANARY not in printed


def test_what_hides_credentials() -> None:
    cases = {
        "see https://me:pw@host/x and s3://key:s3cret@b/c": "see https://***@host/x and s3://***@b/c",
        "GET https://h/x?a=1&X-Amz-Signature=abc123&b=2": "GET https://h/x?a=1&X-Amz-Signature=***&b=2",
        "{'aws_secret_access_key': 'abc'}": "{'aws_secret_access_key': '***'}",
        "password=hunter2 is wrong": "password=*** is wrong",
        "an address like me@example.org stays": "an address like me@example.org stays",
        "https://example.org/a?page=2": "https://example.org/a?page=2",
    }
    for text, hidden in cases.items():
        assert hide(text) == hidden
    assert [
        has_credentials(path) for path in ("s3://bucket/a@b.txt", "https://me@host/x", "/a/b:c@d", "hf://org/name")
    ] == [False] * 4


def test_tracebacks_in_the_log_hide_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", CANARY)
    with log.logged(tmp_path):
        try:
            raise ValueError(f"refused: {CANARY}")
        except ValueError:
            logging.getLogger("theirs").exception("failed with %s", CANARY)
    for name, text in everywhere(tmp_path).items():
        assert CANARY not in text and "refused: ***" in text, name
