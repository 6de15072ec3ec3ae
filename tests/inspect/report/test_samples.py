"""Samples of the report: nearest to the bound, from all sources, with what names them; and what to look at first."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

import refinery
from refinery.api import Run
from refinery.inspect.report.page import page
from tests.runs import refine, settings, texts, write_lines

STEPS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"text_length_filter": {"min_len": 100}},
    {"words_num_filter": {"min_num": 1}},
]


def samples(name: str, lengths: range) -> list[Any]:
    return [
        {"id": f"{name}-{at}", "meta": {"url": f"http://{name}.example/<b>{at}"}, "text": "x\u00a0" + "y" * (at - 2)}
        for at in lengths
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files: of `a`, texts of 10 to 69 characters and long ones; of `b`, texts of 30 to 89 alone."""
    folder = tmp_path_factory.mktemp("samples")
    write_lines(folder / "in" / "a.jsonl", [*samples("a", range(10, 70)), *samples("a", range(100, 200))])
    write_lines(folder / "in" / "b.jsonl", samples("b", range(30, 90)))
    return folder


@pytest.fixture(scope="module", params=[True, False], ids=["traced", "recomputed"])
def run(folder: Path, request: pytest.FixtureRequest) -> Run:
    place = folder / str(request.param)
    keys = {"dataset_path": folder / "in", "export_path": place / "out.jsonl", "open_tracer": request.param}
    return refinery.run(settings(folder, STEPS, **keys, trace_num=4))


def examples(html: str, section: str) -> list[str]:
    return [" ".join(item.text().split()) for item in LexborHTMLParser(html).css(f"#{section} .examples li")]


def test_the_nearest_of_every_source_come_first(run: Run, folder: Path) -> None:
    removed = examples(page(run.work_dir), "removed")
    assert [re.findall(r"id (\w-\d+)", text)[0] for text in removed[:2]] == ["b-89", "a-69"]
    assert "meta.url http://b.example/<b>89" in removed[0] and "(89, bound 100)" in removed[0]
    assert f"{folder / 'in' / 'b.jsonl'}:60" in removed[0] and f"{folder / 'in' / 'a.jsonl'}:60" in removed[1]


def test_changed_samples_are_of_all_sources(run: Run) -> None:
    changed = examples(page(run.work_dir), "changed")
    if "True" not in str(run.work_dir):  # the trace has the first rows alone
        assert {re.findall(r"id (\w)-", text)[0] for text in changed} == {"a", "b"}
    assert all(".jsonl:" in text for text in changed)


def test_only_some_of_the_input_is_read_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.inspect.report.examples._READ", 0)
    removed = examples(page(run.work_dir), "removed")
    assert removed and "id b-89" not in removed[0]


def test_what_stands_out_comes_first(run: Run) -> None:
    tree = LexborHTMLParser(page(run.work_dir))
    sections = [section.attributes["id"] for section in tree.css("main > section")]
    assert sections[0] == "alerts"
    alerts = [" ".join(item.text().split()) for item in tree.css("#alerts li")]
    assert [text.partition(".")[0] for text in alerts] == [
        "A step removes most",
        "Steps without effect",
        "A source loses most",
    ]
    assert "54.5 % of the rows" in alerts[0] and "3 words_num_filter" in alerts[1]
    assert "b.jsonl: 0.0 % of 60 rows are kept, 45.5 % of all" in alerts[2]
    assert not tree.css("#alerts .alarm")


def test_without_the_input_traced_samples_keep_their_names(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "in", tmp_path / "in")
    keys = {"dataset_path": tmp_path / "in", "open_tracer": True, "trace_num": 4, "trace_keys": ["id"]}
    run = refinery.run(settings(tmp_path, STEPS, **keys))
    shutil.rmtree(tmp_path / "in")
    html = page(run.work_dir)
    removed, changed = examples(html, "removed"), examples(html, "changed")
    assert "id a-13" in removed[0] and "a.jsonl:4" in removed[0] and "id a-10" in changed[0]


def test_alarms(tmp_path: Path) -> None:
    run = refine(tmp_path, [*texts(["short"]), "{", "["], [{"text_length_filter": {"min_len": 10}}])
    alarms = [" ".join(item.text().split()) for item in LexborHTMLParser(page(run.work_dir)).css("#alerts .alarm")]
    assert [text.partition(". ")[0] for text in alarms] == [
        "Alarm: Nothing is kept",
        "Alarm: Most rows are in quarantine",
    ]


def test_a_changed_export_and_a_file_cut_short_are_alarms(tmp_path: Path) -> None:
    import gzip

    lines = write_lines(tmp_path / "all.jsonl", texts([f"text {at} {at * at}" for at in range(2000)])).read_bytes()
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(lines)[:-900])
    steps = [{"text_length_filter": {"min_len": 7}}]
    run = refinery.run(settings(tmp_path, steps, dataset_path=tmp_path / "in.jsonl.gz"))
    (tmp_path / "run" / "out.jsonl").write_text("")
    alarms = [" ".join(item.text().split()) for item in LexborHTMLParser(page(run.work_dir)).css("#alerts .alarm")]
    assert [text.partition(". ")[0] for text in alarms] == [
        "Alarm: A file is cut short",
        "Alarm: The export has changed",
    ]


def test_nothing_stands_out(tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["some text", "a", "another text"]), [{"text_length_filter": {"min_len": 4}}])
    assert "<p>Nothing stands out.</p>" in page(run.work_dir)
