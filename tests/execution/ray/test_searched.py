"""Matches that a matcher's own code finds: tasks search shares of values, and leave what one machine leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from refinery.dedup import barrier
from refinery.errors import OperatorError
from tests import recrawls
from tests.dedup.test_semantic import samples
from tests.execution.ray.in_process import tasks_in_process
from tests.execution.ray.runs import assert_same, local
from tests.runs import rows, write_lines

SEMANTIC: dict[str, Any] = {
    "semantic_deduplicator": {"cosine_threshold": 0.9, "num_bands": 4, "band_bits": 3, "keep": "id desc"}
}


def by_tasks(folder: Path, patch: pytest.MonkeyPatch, steps: list[Any], size: int = 20, **keys: Any) -> Any:
    """A run by tasks, of which every one runs twice, and the number of their calls."""
    with patch.context() as patched:
        calls = tasks_in_process(patched, True, size)
        return local(folder, steps, "tasks", **keys), calls


@pytest.mark.parametrize(
    ("size", "most"), [(20, 2_000), *(pytest.param(size, 1 << 30, marks=pytest.mark.long) for size in (20, 10_000))]
)
def test_embeddings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, most: int) -> None:
    monkeypatch.setattr(barrier, "_BYTES", most)
    write_lines(tmp_path / "in.jsonl", samples(150))
    steps, keys = [SEMANTIC, "clean_email_mapper"], {"shard_size": 8_000, "np": 1}
    one = local(tmp_path, steps, **keys)
    other, calls = by_tasks(tmp_path, monkeypatch, steps, size, **keys)
    assert rows(one, "duplicates", "count(*) > 50, count(DISTINCT matched) > 20") == [(True, True)]
    assert_same(one, other)
    assert one.warnings == other.warnings
    assert calls["search"] == (1 if size > 20 else 4 if most > 2_000 else calls["divide"] and calls["search"])


def test_embeddings_of_other_lengths_are_found_in_any_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [{"id": n, "text": str(n), "embedding": [float(n % 7 - 3), 1.0, *([2.0] * (n == 40))]} for n in range(60)]
    write_lines(tmp_path / "in.jsonl", given)
    with pytest.raises(OperatorError, match="embeddings have 2 and 3 numbers; they must come from one model"):
        by_tasks(tmp_path, monkeypatch, [SEMANTIC], shard_size=1_000, np=1)
    write_lines(tmp_path / "in.jsonl", [{"id": 1, "text": "a"}, {"id": 2, "text": "b", "embedding": []}])
    found, _ = by_tasks(tmp_path, monkeypatch, [SEMANTIC])
    assert any("no sample has an embedding" in note for note in found.warnings)


@pytest.mark.parametrize("by", ["key", pytest.param("", marks=pytest.mark.long)])
def test_a_matcher_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    folder = recrawls.operators_with_matcher(tmp_path / "own")
    path = folder / "matchers" / "window.py"
    path.write_text(path.read_text("utf-8").replace('by="key"', f'by="{by}"'), "utf-8")
    assert f'by="{by}"' in path.read_text("utf-8")
    header = folder / "deduplicators" / "recrawl_deduplicator.sql"
    own = "  verify: {type: bool, default: true, doc: A parameter of its own.}\n  window:"
    header.write_text(header.read_text("utf-8").replace("  window:", own), "utf-8")
    write_lines(tmp_path / "in.jsonl", recrawls.SAMPLES)
    steps: list[Any] = [{"recrawl_deduplicator": {**recrawls.STEP["recrawl_deduplicator"], "index": None}}]
    keys = {"shard_size": 120, "np": 1, "operators": [str(folder)]}
    one = local(tmp_path, steps, **keys)
    other, calls = by_tasks(tmp_path, monkeypatch, steps, 2, **keys)
    assert rows(one, "duplicates", "_row") == [(1,), (3,), (5,)]
    assert_same(one, other)
    assert calls["search"] == (3 if by else 1)


def test_a_matcher_without_columns_of_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matcher of one's own need not have methods that refinery has added since."""
    folder = recrawls.operators_with_matcher(tmp_path / "own")
    path = folder / "matchers" / "window.py"
    old = "class Old:\n    def __getattr__(self, name):\n        if name in ('candidate_columns', 'pairs_among', 'kinds', 'require'):\n            raise AttributeError(name)\n        return getattr(NEW, name)\n"
    path.write_text(path.read_text("utf-8").replace("MATCHER =", "NEW =") + f"\n\n{old}\n\nMATCHER = Old()\n", "utf-8")
    write_lines(tmp_path / "in.jsonl", recrawls.SAMPLES)
    keys = {"shard_size": 120, "np": 1, "operators": [str(folder)]}
    one = local(tmp_path, [recrawls.STEP], **keys)
    other, calls = by_tasks(tmp_path, monkeypatch, [recrawls.STEP], 2, **keys)
    assert_same(one, other)
    assert calls["search"] == 1


JACCARD = {
    "columns": ["UBIGINT[]", "UBIGINT[]"],
    "constants": [],
    "returns": "DOUBLE",
    "runs": "python",
    "call": "jaccard",
}


def test_a_matcher_that_compares_texts_stays_with_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recrawls.operators_with_matcher(tmp_path / "own")
    path = folder / "deduplicators" / "recrawl_deduplicator.sql"
    header, _, body = path.read_text("utf-8").partition("/*---\n")[2].partition("---*/")
    operator = yaml.safe_load(header) | {
        "sql": body,
        "compare": "SELECT [hash({{ text }})] AS shingles",
        "functions": {"jaccard": JACCARD},
    }
    path.with_suffix(".py").write_text(
        f"OPERATOR = {operator!r}\n\ndef jaccard(one, other):\n    raise AssertionError\n"
    )
    path.unlink()
    write_lines(tmp_path / "in.jsonl", recrawls.SAMPLES)
    keys = {"shard_size": 120, "np": 1, "operators": [str(folder)]}
    one = local(tmp_path, [recrawls.STEP], **keys)
    other, calls = by_tasks(tmp_path, monkeypatch, [recrawls.STEP], 2, **keys)
    assert_same(one, other)
    assert calls["search"] == 0 and calls["settle"] > 0
