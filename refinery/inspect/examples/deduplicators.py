"""Examples of deduplicators, each a run of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refinery.execution.open import open_recipe
from refinery.execution.run import execute
from refinery.inspect.examples.expectations import Difference, Example, parameters
from refinery.operators import Operator


def deduplicated(
    operator: Operator, example: Example, folder: Path, operators: Sequence[str] = (), shard_size: int = 0
) -> list[Difference]:
    """Differences of the samples that stay. shard_size: 1 for a shard of each sample; 0 for one of all.

    `kept`: numbers of the texts that stay, as they were. `out`: each text without its units, None when it goes. Raises
    RecipeError if the operator refuses the parameters.
    """
    texts, fields = example["texts"], example.get("fields") or [{}] * len(example["texts"])
    samples = [{"n": n, "text": text, **fields[n]} for n, text in enumerate(texts)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
    recipe = {
        "dataset_path": str(folder / "in.jsonl"),
        "export_path": str(folder / "out" / "kept.jsonl"),
        "work_dir": str(folder / "work"),
        "operators": [str(path) for path in operators],
        "process": [{operator.name: parameters(operator, example, folder)}],
        "np": 1,
        **({"shard_size": shard_size} if shard_size else {}),
    }
    done = execute(*open_recipe(recipe))
    broken = done.counts.quarantined
    lines = Path(done.outputs[0]).read_text(encoding="utf-8").split("\n")[:-1]
    left = {sample["n"]: sample["text"] for sample in map(json.loads, lines)}
    return _differences(example, texts, left) + ([Difference("rows in quarantine", 0, broken)] if broken else [])


def _differences(example: Example, texts: Sequence[Any], left: dict[int, Any]) -> list[Difference]:
    if "kept" in example and [*left] != [*example["kept"]]:
        return [Difference("kept", [*example["kept"]], [*left])]
    expected = {n: texts[n] for n in example["kept"]} if "kept" in example else dict(enumerate(example["out"]))
    return [Difference(f"text {n}", text, left.get(n)) for n, text in expected.items() if left.get(n) != text]
