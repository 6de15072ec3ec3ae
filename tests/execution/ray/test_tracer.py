"""Traces that tasks of a cluster collect together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refinery.tracer import check_tracer_collect_complete, collect_for_filter, collect_for_mapper, should_trace_op
from tests.conftest import ROOT
from tests.doc_blocks import blocks_of
from tests.runs import lines_of


def work(tracer: Any, number: int) -> int:
    """A task of a user's own code."""
    found = 0
    for at in range(20):
        sample = {"id": number * 100 + at, "text": f"mail {at}"}
        if should_trace_op(tracer, "some_mapper") and not check_tracer_collect_complete(tracer, "some_mapper"):
            found += collect_for_mapper(tracer, "some_mapper", sample, sample | {"text": "mail"}, "text")
        collect_for_filter(tracer, "some_filter", sample, should_keep=at % 2 == 0)
    return found


def test_the_block_of_the_page(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = [block for block in blocks_of(ROOT / "docs" / "tracing.md") if "RayTracer.remote" in block.text]
    monkeypatch.chdir(tmp_path)
    exec(block.text, {})
    [record] = lines_of(tmp_path / "outputs" / "own" / "trace" / "sample_trace-clean_email_mapper.jsonl")
    assert record == {"id": 1, "original_text": "Email: a@b.com", "processed_text": "Email: "}


def test_the_limit_holds_over_all_tasks(driver: Any, tmp_path: Path) -> None:
    from refinery.tracer import RayTracer

    tracer = RayTracer.remote(work_dir=str(tmp_path), op_list_to_trace=None, show_num=10, trace_keys=["id"])
    task = driver.remote(work)
    assert sum(driver.get([task.remote(tracer, number) for number in range(4)])) == 10
    kept = {"id": 1, "text": "same"}
    assert not driver.get(tracer.collect_mapper_sample.remote("some_mapper", kept, kept, text_key="text"))
    written = driver.get(tracer.finalize_traces.remote())
    assert sorted(Path(path).name for path in written) == [
        "sample_trace-some_filter.jsonl",
        "sample_trace-some_mapper.jsonl",
    ]
    for path in written:
        records = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
        assert len(records) == 10 == len({record["id"] for record in records})
    assert list(records[0]) in (["id", "original_text", "processed_text"], ["id", "text"])


def test_operators_that_are_not_listed_are_not_traced(driver: Any, tmp_path: Path) -> None:
    from refinery.tracer import RayTracer

    tracer = RayTracer.remote(str(tmp_path), op_list_to_trace=["some_filter"])
    assert driver.get(tracer.should_trace_op.remote("some_filter"))
    assert not collect_for_mapper(tracer, "some_mapper", {"text": "a"}, {"text": "b"}, "text")
    assert driver.get(tracer.finalize_traces.remote()) == []


def test_a_relative_folder_is_that_of_who_asks(
    driver: Any, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refinery.tracer import RayTracer

    monkeypatch.chdir(tmp_path)
    for made in (RayTracer.remote("own"), RayTracer.options(num_cpus=0).remote(work_dir="own")):
        driver.get(made.collect_filter_sample.remote("some_filter", {"text": "a"}, False))
        assert driver.get(made.finalize_traces.remote()) == [
            str(tmp_path / "own" / "trace" / "sample_trace-some_filter.jsonl")
        ]
    assert (tmp_path / "own" / "trace").is_dir() and not (elsewhere / "own").exists()
