"""A model of a gigabyte is a map: loading and scoring take no memory but the pages that they read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.models import kenlm_writer as writer

pytestmark = [pytest.mark.long, pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")]

GB = 1_000_000_000
ENTRY = 14  # bits of an entry of the last order: a word of up to 63, a probability of 8 bits

PROGRAM = """
import json, sys, time
import pyarrow as pa
from refinery.kernels.models import kenlm

def memory():
    lines = open("/proc/self/smaps_rollup").read().splitlines()[1:]
    fields = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    return {name: fields[name] for name in ("Rss", "Anonymous")}

texts = pa.array([" ".join(["w1", "w2", "w3", "w1", "new"] * 200)] * 50)
kenlm.score(texts.slice(0, 1), sys.argv[1])  # kernels are compiled, if they are not
before, began = memory(), time.process_time()
kenlm.load(sys.argv[2])
loaded, seconds = memory(), time.process_time() - began
scores, lengths = kenlm.score(texts, sys.argv[2])
scored = memory()
print(json.dumps({"seconds": seconds, "score": scores[0], "before": before, "loaded": loaded, "scored": scored}))
"""


@pytest.mark.parametrize("kind", [writer.TRIE, writer.QUANTIZED_ARRAY])
def test_a_model_of_a_gigabyte(kind: int, tmp_path: Path) -> None:
    grams = writer.grams_of([["w1", "w2", "w3"], ["w3", "w1"], [f"w{i}" for i in range(40)]], 4)
    small, large = tmp_path / "small.arpa.bin", tmp_path / "en.arpa.bin"
    small.write_bytes(writer.model(grams, kind))
    writer.write_large(large, grams, kind, GB * 8 // ENTRY)
    assert large.stat().st_size > GB * 0.9
    found = measured(small, large)
    assert found["score"] == measured(small, small)["score"]
    assert found["seconds"] < 0.5
    for name, most in (("Anonymous", 4_000_000), ("Rss", 40_000_000)):
        assert found["scored"][name] - found["before"][name] < most, (name, found)


def measured(small: Path, model: Path) -> dict[str, Any]:
    """Report of one process on a model."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(small), str(model)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    return json.loads(run.stdout)  # type: ignore[no-any-return]
