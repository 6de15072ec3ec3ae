"""Traces of Python code of one's own: what is collected, and how many at most, whoever collects."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.errors import OutputError
from refinery.tracer import (
    Tracer,
    check_tracer_collect_complete,
    collect_for_filter,
    collect_for_mapper,
    should_trace_op,
)
from tests.conftest import ROOT
from tests.examples import share_of
from tests.runs import refine
from tests.tracer.collecting import collect

MAPPER, FILTER = "clean_email_mapper", "words_num_filter"


def traced(folder: Path, operator: str) -> list[Any]:
    text = (folder / "trace" / f"sample_trace-{operator}.jsonl").read_text("utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_changed_texts_and_removed_samples_are_collected(tmp_path: Path) -> None:
    tracer = Tracer(str(tmp_path), [MAPPER, FILTER], show_num=10, trace_keys=["id", "meta.source"])
    original = {"id": 7, "text": "Email: a@b.com", "meta": {"source": "web"}}
    assert tracer.collect_mapper_sample(MAPPER, original, original | {"text": "Email: "}, text_key="text")
    assert not tracer.collect_mapper_sample(MAPPER, original, original, "text")
    removed = {"text": "too short", "__dj__stats__": {"words_num": 2}}
    assert tracer.collect_filter_sample(FILTER, removed, should_keep=False)
    assert not tracer.collect_filter_sample(FILTER, removed, should_keep=True)
    record = {"id": 7, "meta.source": "web", "original_text": "Email: a@b.com", "processed_text": "Email: "}
    assert traced(tmp_path, MAPPER) == [record]
    assert list(traced(tmp_path, MAPPER)[0]) == list(record)
    assert traced(tmp_path, FILTER) == [removed]


def test_only_listed_operators_are_traced(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, [MAPPER])
    assert tracer.should_trace_op(MAPPER) and not tracer.should_trace_op(FILTER)
    assert not tracer.collect_filter_sample(FILTER, {"text": "x"}, False)
    assert not (tmp_path / "trace").exists()
    for everything in (None, []):
        assert Tracer(tmp_path, everything).should_trace_op(FILTER)


@pytest.mark.parametrize("most", [0, 1, 3, None])
def test_limit(tmp_path: Path, most: int | None) -> None:
    tracer = Tracer(tmp_path, show_num=most)
    taken = [tracer.collect_filter_sample(FILTER, {"text": str(i)}, False) for i in range(5)]
    expected = 5 if most is None else most
    assert taken == [i < expected for i in range(5)]
    assert tracer.is_collection_complete(FILTER) == (most is not None)
    assert not (tmp_path / "trace").exists() if most == 0 else len(traced(tmp_path, FILTER)) == expected


def test_tracers_of_one_folder_share_the_limit(tmp_path: Path) -> None:
    first, second = Tracer(tmp_path, show_num=3), Tracer(tmp_path, show_num=3)
    for tracer in (first, second, first, second):
        tracer.collect_filter_sample(FILTER, {"text": "x"}, False)
    assert len(traced(tmp_path, FILTER)) == 3
    assert first.is_collection_complete(FILTER) and second.is_collection_complete(FILTER)
    first.clear()
    assert not first.is_collection_complete(FILTER)
    assert first.collect_filter_sample(FILTER, {"text": "again"}, False)
    assert traced(tmp_path, FILTER) == [{"text": "again"}]


def test_threads_keep_the_limit(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, show_num=37)
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(tracer.collect_filter_sample, FILTER, {"text": str(i)}, False) for i in range(200)]
        assert sum(job.result() for job in jobs) == 37
    assert len({record["text"] for record in traced(tmp_path, FILTER)}) == 37


def test_processes_keep_the_limit(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, show_num=25)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.starmap(collect, [(tracer, FILTER, worker) for worker in range(3)])
    assert sum(counts) == 25
    assert len({record["text"] for record in traced(tmp_path, FILTER)}) == 25


def test_half_a_line_of_a_killed_process_is_dropped(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, show_num=3)
    tracer.collect_filter_sample(FILTER, {"text": "whole"}, False)
    with (tmp_path / "trace" / f"sample_trace-{FILTER}.jsonl").open("ab") as file:
        file.write(b'{"text": "hal')
    assert tracer.collect_filter_sample(FILTER, {"text": "next"}, False)
    assert [record["text"] for record in traced(tmp_path, FILTER)] == ["whole", "next"]


def test_files_of_others_are_neither_appended_to_nor_removed(tmp_path: Path) -> None:
    mine = tmp_path / "trace" / f"sample_trace-{FILTER}.jsonl"
    mine.parent.mkdir()
    mine.write_text('{"text": "mine"}\n')
    os.setxattr(mine, "user.other", b"1")  # as the file system has attributes, it can say that the file is no tracer's
    tracer = Tracer(tmp_path)
    tracer.collect_mapper_sample(MAPPER, {"text": "a"}, {"text": "b"})
    for act in (tracer.clear, lambda: tracer.collect_filter_sample(FILTER, {"text": "x"}, False)):
        with pytest.raises(OutputError, match=f"{FILTER}.jsonl: was not written by a run or a tracer"):
            act()
    assert mine.read_text() == '{"text": "mine"}\n' and len(traced(tmp_path, MAPPER)) == 1
    Tracer(tmp_path, [MAPPER]).clear()
    assert [path.name for path in mine.parent.iterdir()] == [mine.name]


def test_traces_of_a_run_are_removed(tmp_path: Path) -> None:
    samples = [{"text": "Email: a@b.com"}]
    run = refine(tmp_path, samples, [MAPPER], open_tracer=True)
    path = run.work_dir / "trace" / f"sample_trace-{MAPPER}.jsonl"
    os.removexattr(path, "user.refinery")  # as in a copy of the folder: the run's list knows it
    tracer = Tracer(run.work_dir)
    assert tracer.collect_mapper_sample(MAPPER, {"text": "a"}, {"text": "b"})
    assert len(traced(run.work_dir, MAPPER)) == 2
    tracer.clear()
    assert not path.exists()


def test_long_records_are_counted(tmp_path: Path) -> None:
    for text in ("a" * 3_000_000, "b", "c" * 1_500_000):
        Tracer(tmp_path, show_num=3).collect_filter_sample(FILTER, {"text": text}, False)
    assert Tracer(tmp_path, show_num=3).is_collection_complete(FILTER)
    assert len(traced(tmp_path, FILTER)) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=share_of(125, least=25))
@given(st.lists(st.dictionaries(st.text(), json_values, max_size=4), max_size=6), st.integers(0, 6))
def test_any_sample_comes_back(tmp_path_factory: pytest.TempPathFactory, samples: list[Any], most: int) -> None:
    folder = tmp_path_factory.mktemp("trace")
    for sample in samples:
        Tracer(folder, show_num=most).collect_filter_sample(FILTER, sample, False)
    path = folder / "trace" / f"sample_trace-{FILTER}.jsonl"
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")[:-1] if path.exists() else []
    assert [json.loads(line) for line in lines] == [replaced(sample) for sample in samples[:most]]


def replaced(sample: Any) -> Any:
    """The sample without what UTF-8 cannot say."""
    return json.loads(json.dumps(sample, ensure_ascii=False).encode("utf-8", "replace"))


def test_values_that_are_no_json_stand_as_texts(tmp_path: Path) -> None:
    import numpy as np

    tracer = Tracer(tmp_path)
    sample = {"text": "x", "path": Path("a/b"), "bytes": b"raw", "n": np.int64(3), "vector": np.array([1, 2])}
    assert tracer.collect_filter_sample(FILTER, sample, False)
    expected = {"text": "x", "path": "a/b", "bytes": "raw", "n": 3, "vector": [1, 2]}
    assert traced(tmp_path, FILTER) == [expected]


def test_helpers_take_a_tracer_or_none(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, [MAPPER, FILTER], show_num=1)
    assert should_trace_op(tracer, MAPPER) and not should_trace_op(tracer, "other_mapper")
    assert not check_tracer_collect_complete(tracer, MAPPER)
    assert collect_for_mapper(tracer, MAPPER, {"body": "a"}, {"body": "b"}, "body")
    assert check_tracer_collect_complete(tracer, MAPPER)
    assert collect_for_filter(tracer, FILTER, {"body": "a"}, should_keep=False)
    assert traced(tmp_path, MAPPER) == [{"original_text": "a", "processed_text": "b"}]
    assert not should_trace_op(None, MAPPER) and check_tracer_collect_complete(None, MAPPER)
    assert not collect_for_mapper(None, MAPPER, {"text": "a"}, {"text": "b"}, "text")
    assert not collect_for_filter(None, FILTER, {"text": "a"}, False)


def test_records_are_those_of_a_run(tmp_path: Path) -> None:
    """A script that does what an operator does leaves the file that a run with that operator leaves."""
    texts = ["write to a@b.org", "nothing here", "c@d.org"]
    refine(
        tmp_path,
        [{"id": i, "text": text} for i, text in enumerate(texts)],
        [MAPPER, {"text_length_filter": {"min_len": 10}}],
        open_tracer=True,
        trace_keys=["id"],
    )
    tracer = Tracer(tmp_path / "own", trace_keys=["id"])
    cleaned = ["write to ", "nothing here", ""]
    for i, (before, after) in enumerate(zip(texts, cleaned, strict=True)):
        tracer.collect_mapper_sample(MAPPER, {"id": i, "text": before}, {"id": i, "text": after})
        sample = {"id": i, "text": after, "__dj__stats__": {"text_len": len(after)}}
        tracer.collect_filter_sample("text_length_filter", sample, len(after) >= 10)
    for name in (MAPPER, "text_length_filter"):
        file = f"trace/sample_trace-{name}.jsonl"
        assert (tmp_path / "run" / file).read_bytes() == (tmp_path / "own" / file).read_bytes()


def test_mistakes_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="show_num must be 0 or more"):
        Tracer(tmp_path, show_num=-1)
    with pytest.raises(ValueError, match="is no name of an operator"):
        Tracer(tmp_path).collect_filter_sample("../outside", {"text": ""}, False)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        Tracer(tmp_path / "file").collect_filter_sample(FILTER, {"text": ""}, False)


def test_ray_is_imported_by_its_tracer_alone_and_named_where_it_is_missing() -> None:
    code = "import sys, refinery.tracer; print('ray' in sys.modules, 'duckdb' in sys.modules)\n"
    code += "sys.modules['ray'] = None\nfrom refinery.tracer import RayTracer"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]
    assert "pip install 'ray[" in done.stderr


def test_the_page_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "tracing.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    exec(page.partition("```python\n")[2].partition("```")[0], {})
    said = page.partition("writes `outputs/own")[2].partition("\n\n")[2].partition("\n\n")[0]
    left = [traced(tmp_path / "outputs" / "own", operator) for operator in (MAPPER, FILTER)]
    assert [json.loads(line) for line in said.splitlines()] == [record for records in left for record in records]
