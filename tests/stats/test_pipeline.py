"""StatsMerger is a step of datatrove's pipelines by its class; here with a base class in place of datatrove's."""

from __future__ import annotations

import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from refinery.stats import pipeline


class PipelineStep(ABC):
    """Demands of datatrove's executors on a step."""

    def __init__(self) -> None:
        self.stats, self.timed = str(self), 0

    @contextmanager
    def track_time(self) -> Iterator[None]:
        self.timed += 1
        yield

    @abstractmethod
    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Any: ...


@pytest.fixture
def datatrove(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("datatrove", "datatrove.pipeline", "datatrove.pipeline.base"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["datatrove.pipeline.base"].PipelineStep = PipelineStep  # type: ignore[attr-defined]
    pipeline.merger_class.cache_clear()
    yield
    pipeline.merger_class.cache_clear()


def test_it_is_a_step_that_merges_and_passes_rows_on(datatrove: None, tmp_path: Path) -> None:
    from refinery.stats import StatsMerger

    (tmp_path / "in/g/s").mkdir(parents=True)
    (tmp_path / "in/g/s/00000.json").write_text('{"a": 3}')
    merger: Any = StatsMerger(str(tmp_path / "in"), str(tmp_path / "out"), remove_input=True)
    assert isinstance(merger, PipelineStep) and merger.remove_input and "in" in merger.stats and merger.name
    assert list(merger.run([1, 2])) == [1, 2] and merger.timed == 1
    assert (tmp_path / "out/g/s/metric.json").exists()
    again = pickle.loads(pickle.dumps(merger))
    assert type(again) is type(merger) and list(again([3], 0, 1)) == [3]


def test_without_datatrove_it_is_a_class_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from refinery import stats
    from refinery.stats import merge

    monkeypatch.setitem(sys.modules, "datatrove", None)
    pipeline.merger_class.cache_clear()
    assert stats.StatsMerger is merge.StatsMerger
    pipeline.merger_class.cache_clear()
