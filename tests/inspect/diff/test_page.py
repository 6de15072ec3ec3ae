"""`refinery diff --html`: the page says what the command says, loads nothing, and replaces no other file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

import refinery
from refinery.api import Run
from refinery.inspect.diff.diff import compare
from refinery.inspect.diff.page import page
from tests.commands import Call, caller
from tests.runs import refine, settings

HOSTILE = "</td><script>alert(1)</script><img src=http://evil.example/x> \u202e"


def samples() -> list[Any]:
    return [{"id": at, "text": f"{HOSTILE} {'word ' * at}"} for at in range(30)]


def steps(least: int, repl: str) -> list[Any]:
    return [
        {"sql_mapper": {"text": f"replace(text, 'word', '{repl}')"}},
        {"text_length_filter": {"min_len": least}, "name": "<b>length"},
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    folder = tmp_path_factory.mktemp("compared")
    one = refine(folder, samples(), steps(100, "word"), export_path=folder / "<i>a" / "out.jsonl")
    return one, refinery.run(settings(folder, steps(120, "wort"), export_path=folder / "<i>b" / "out.jsonl"))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def test_the_page_says_what_the_runs_say(runs: tuple[Run, Run]) -> None:
    found = compare(runs[0].work_dir, runs[1].work_dir)
    html = page(found, 10)
    tree = LexborHTMLParser(html)
    assert not tree.css("script, img, iframe, link, b > b") and "default-src 'none'" in html
    assert [section.attributes["id"] for section in tree.css("main > section")] == [
        "recipes",
        "rows",
        "statistics",
        "texts",
    ]
    only_a = next(fate.rows for fate in found.fates if fate.a == "kept" != fate.b)
    [rows] = [" ".join(item.text().split()) for item in tree.css("#rows > p") if "kept by both" in item.text()]
    assert f"{only_a} only by A, 0 only by B" in rows and f"{only_a} of 30 have another outcome" in rows
    assert "min_len: 100 → 120" in tree.css_first("#recipes").text()
    assert found.texts is not None and len(tree.css("#texts .examples li")) == len(found.texts.examples) > 0
    assert "U+202E" in tree.css_first("#texts").text() and tree.css("#texts del") and tree.css("#texts ins")
    assert tree.css("#statistics tbody tr")
    ids = {node.attributes["id"] for node in tree.css("[id]")}
    assert all(link.attributes["href"][1:] in ids for link in tree.css("a"))


def test_runs_over_other_inputs(runs: tuple[Run, Run], tmp_path: Path) -> None:
    other = refine(tmp_path, samples()[:5], steps(100, "word"))
    tree = LexborHTMLParser(page(compare(runs[0].work_dir, other.work_dir), 10))
    assert "have not read the same input" in tree.css_first(".alarm").text()
    assert [section.attributes["id"] for section in tree.css("main > section")] == ["recipes", "statistics"]


def test_other_files_stay(call: Call, runs: tuple[Run, Run], tmp_path: Path) -> None:
    a, b = runs[0].work_dir, runs[1].work_dir
    target = tmp_path / "diff.html"
    assert call("diff", a, b, "--html", target)[:2] == (0, f"{target}\n")
    assert re.match("<!doctype html>", target.read_text("utf-8"))
    assert call("diff", a, b, "--html", target)[0] == 0
    target.write_text("mine")
    code, _, err = call("diff", a, b, "--html", target)
    assert code == 6 and "diff.html" in err and target.read_text() == "mine"
    assert call("diff", a, b, "--html", target, "--overwrite")[0] == 0 and target.read_text() != "mine"
    assert call("diff", a, b, "--html", target, "--json")[0] == 2
    assert call("diff", a, b, "--overwrite")[0] == 2
    assert call("diff", a, b, "--html", tmp_path / "no" / "x.html")[0] == 6
