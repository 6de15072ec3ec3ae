"""Runs that reports are made of: one over texts that would like to take part in the page, one with duplicates."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from refinery.api import Run
from refinery.inspect.report.page import page
from tests.runs import refine

EVIL = "http://evil.example/"
HOSTILE = [
    f"</script><script>alert(1)</script><img src={EVIL}x.png onerror=alert(1)>",
    f'<svg onload=alert(1)><style>@import url("{EVIL}x.css");</style><use href="{EVIL}x.svg#a"/></svg>',
    "turned \u202eround\u2066 \u200bhere, NUL \x00, escape \x1b[31m, a tag \U000e0041, a line\u2028end",
    "</div></section></main></body></html><h1>mine</h1><base href='" + EVIL + "'>",
    "{{ 7 * 7 }} {% raw %} $\\frac{1}{2}$ &lt;b&gt; &#x202e; \" onmouseover=alert(1) x='",
    "A" + "\u0301" * 50 + " <!-- not closed <![CDATA[ <plaintext> <textarea> <title>",
]
STEPS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"sql_mapper": {"text": "replace(text, 'alert', '<b>warn')"}},
    {"text_length_filter": {"min_len": 20, "max_len": 900}},
    {"words_num_filter": {"min_num": 2}},
    {"sql_filter": {"where": "id <> 8 -- </script><script>alert(2)</script>\n"}},
    {"document_deduplicator": None},
]


def samples() -> list[Any]:
    """Hostile texts of many lengths, a column `source`, duplicates, and lines that are no samples."""
    found: list[Any] = [
        {"id": i, "text": HOSTILE[i % 6] + "\u00a0word" * (i % 23), "source": ["web", "<b>books", None][i % 3]}
        for i in range(200)
    ]
    found += [
        {"id": 200 + i, "text": "short" + "!" * (i % 5) * (300 if i > 14 else 1), "source": "web"} for i in range(20)
    ]
    return [*found, f"<script>{EVIL}</script> \u202e", b"\xff\xfe<b>"]


@pytest.fixture(scope="package")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A traced run over hostile texts, in a folder whose name is one, too."""
    folder = tmp_path_factory.mktemp("hostile") / "in <b>bold&"
    return refine(folder, samples(), STEPS, project_name="<img src=x> \u202e $x$ </title>", open_tracer=True)


@pytest.fixture(scope="package")
def untraced(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same without a trace."""
    return refine(tmp_path_factory.mktemp("untraced"), samples(), STEPS)


@pytest.fixture(scope="package")
def hostile_page(hostile: Run) -> str:
    return page(hostile.work_dir)


@pytest.fixture
def moved(untraced: Run, tmp_path: Path) -> Path:
    """The untraced run's folder, of which the input is gone."""
    shutil.copytree(untraced.work_dir, tmp_path / "run")
    for name in ("recipe.yaml", "manifest.json"):
        path = tmp_path / "run" / ".refinery" / name
        path.write_text(path.read_text("utf-8").replace("in.jsonl", "gone.jsonl"), "utf-8")
    return tmp_path / "run"
