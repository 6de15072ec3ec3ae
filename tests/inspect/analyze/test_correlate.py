"""Correlations over the rows that have both statistics, whatever is missing and however large the numbers are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.inspect.analyze import correlate as correlations
from refinery.inspect.analyze.correlate import correlate
from refinery.results.database import Database
from tests.examples import share_of

Found = dict[tuple[str, str], tuple[int, float | None, float | None]]


def found(folder: Path, frame: pd.DataFrame) -> Found:
    """(n, Pearson, Spearman) by pair."""
    columns = {name: pa.array(frame[name].to_numpy(), pa.float64(), from_pandas=True) for name in frame}
    with Database(folder / "tables.duckdb") as db:
        db.table("facts", pa.table(columns))
        correlate(db, list(frame), [f'"{name}"' for name in frame])
        return {(a, b): (n, p, s) for a, b, n, p, s in db.rows("FROM correlations")}


@settings(max_examples=share_of(15, least=6))
@given(seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.3]), offset=st.sampled_from([0.0, 1e6, -1e12]))
def test_as_pandas_says(tmp_path_factory: pytest.TempPathFactory, seed: int, missing: float, offset: float) -> None:
    some = np.random.default_rng(seed)
    base = some.normal(size=120)
    frame = pd.DataFrame({"x": base, "y": base + some.normal(size=120), "z": some.integers(0, 4, 120).astype(float)})
    frame = frame.mask(some.random(frame.shape) < missing)
    said = found(tmp_path_factory.mktemp("tables"), frame + offset)
    for (a, b), (n, pearson, spearman) in said.items():
        both = frame[a].notna() & frame[b].notna()
        moved = frame + offset - offset  # as far as doubles of that size distinguish values
        assert n == both.sum()
        assert pearson == pytest.approx(moved[a].corr(moved[b]), abs=1e-6)
        assert spearman == pytest.approx(moved[a].rank().corr(moved[b].rank()), abs=1e-12)


def test_what_never_varies_has_none(tmp_path: Path) -> None:
    frame = pd.DataFrame({"same": [0.1] * 5, "x": [1.0, 2, 3, 4, 5], "rest": [np.nan, np.nan, np.nan, 7.3, 7.3]})
    said = found(tmp_path, frame)
    assert said == {("same", "x"): (5, None, None), ("same", "rest"): (2, None, None), ("x", "rest"): (2, None, None)}


def test_blocks_change_nothing_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = np.random.default_rng(5)
    frame = pd.DataFrame(some.normal(size=(100, 4)), columns=list("abcd"))
    whole = found(tmp_path, frame)
    monkeypatch.setattr(correlations, "_BLOCK", 7)
    for pair, (n, pearson, spearman) in found(tmp_path, frame).items():
        assert (n, pearson, spearman) == pytest.approx(whole[pair], rel=1e-12)


def test_no_rows_and_no_statistics(tmp_path: Path) -> None:
    assert found(tmp_path, pd.DataFrame({"a": [], "b": []}, dtype=float)) == {("a", "b"): (0, None, None)}
    with Database(tmp_path / "none.duckdb") as db:
        correlate(db, [], [])
        assert db.count("SELECT count(*) FROM correlations") == 0
