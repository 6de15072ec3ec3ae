"""What comes back from code of users in a worker process is data: reading it runs nothing and imports nothing of theirs."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refinery.errors import OperatorError
from refinery.io.batch import Batch
from refinery.operators.modules import load_module
from refinery.operators.user_process import packed, unpacked


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "x", b"y"], 2: {3, 4}, "b": (1,)},
        np.float64(2),
        pa.array(["a", None]),
        pa.array([{"a": [1]}]),
        pa.chunked_array([[1]]),
        pa.table({"a": [1]}),
        datetime.date(2020, 1, 1),
        decimal.Decimal("1.2"),
        Path("/x"),
    ],
)
def test_values_come_back_as_they_are(value: Any) -> None:
    found = unpacked("f", packed(value))
    assert type(found) is type(value) and found == value


def test_arrays_and_batches_come_back() -> None:
    assert unpacked("f", packed(np.arange(3))).tolist() == [0, 1, 2]
    assert len(unpacked("f", packed(Batch.empty(True, [])))) == 0


class Evaluates:
    def __reduce__(self) -> Any:
        return eval, ("1 / 0",)


class OfUser:
    pass


@pytest.mark.parametrize(("value", "name"), [(Evaluates(), "builtins.eval"), ([OfUser()], "OfUser")])
def test_other_objects_are_refused(value: Any, name: str) -> None:
    with pytest.raises(OperatorError, match=f"^f returned an object of the class .*{name}; plain values are needed"):
        unpacked("f", packed(value))


def test_no_file_of_a_user_is_imported_here(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemExit\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="imported by worker processes alone"):
        load_module(tmp_path / "own.py")
