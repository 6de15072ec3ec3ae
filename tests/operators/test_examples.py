"""The examples in every operator's header, run through the compiler and DuckDB."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from refinery.operators import Library, Operator
from tests.compiled import run_samples
from tests.sampling import first_of_each

LIBRARY = Library()


def examples(deduplicators: bool) -> list[Any]:
    """Operators with each of their examples."""
    return [
        pytest.param(operator, example, id=f"{operator.name}-{number}")
        for operator in LIBRARY.operators.values()
        for number, example in enumerate(operator.examples, 1)
        if (operator.kind == "deduplicator") is deduplicators
    ]


def parameters(operator: Operator, example: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The example's parameters; files that it brings along are written, and paths point to them."""
    for name, content in example.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file_content(content))
    given = dict(example.get("params", {}))
    for name, value in given.items():
        if operator.params[name].type in ("folder", "file") and value is not None:
            given[name] = str(folder / value)
    return given


def file_content(content: Any) -> bytes:
    """Bytes of a file of an example: a text, `{"zlib": base64 of compressed bytes}`, or a value to be written as JSON."""
    if isinstance(content, dict) and list(content) == ["zlib"]:
        return zlib.decompress(base64.b64decode(content["zlib"]))
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def kind(operator: Operator, example: dict[str, Any]) -> tuple[str, ...]:
    """The operator and the expectation: an error, a text, kept samples."""
    return (operator.name, *(key for key in ("error", "out", "kept") if key in example))


def unfused() -> list[Any]:
    """One example of each operator alone is run without shared features: most programs are the same with them."""
    cases = first_of_each(examples(deduplicators=False), lambda operator, example: operator.name)
    return [pytest.param(*case.values, False, id=f"{case.id}-unfused", marks=case.marks) for case in cases]


def fused() -> list[Any]:
    return [pytest.param(*case.values, True, id=f"{case.id}-fused") for case in examples(deduplicators=False)]


@pytest.mark.parametrize(("operator", "example", "share"), [*fused(), *unfused()])
def test_example(operator: Operator, example: dict[str, Any], share: bool, tmp_path: Path) -> None:
    sample = {"text": example["text"], **example.get("fields", {})}
    steps = [{operator.name: parameters(operator, example, tmp_path)}]
    if example.get("error"):
        with pytest.raises(RecipeError):
            run_samples([sample], steps, share)
        return
    (row,) = run_samples([sample], steps, share)
    if "quarantined" in example:
        assert example["quarantined"] in (row["error"] or "")
        return
    assert row["error"] is None
    if "out" in example:
        assert row["text"] == example["out"]
    if "written" in example:
        assert {name: json.loads(value) for name, value in row["written"].items()} == example["written"]
    if "keep" in example:
        assert row["kept"] is example["keep"]
    if "reason" in example:
        assert row["reason"] == example["reason"]
    for name, value in example.get("stats", {}).items():
        is_number = isinstance(value, (int, float))
        assert row["stats"][name] == (pytest.approx(value, rel=1e-9, abs=0) if is_number else value)


@pytest.mark.parametrize(("operator", "example"), first_of_each(examples(deduplicators=True), kind))
def test_example_of_deduplicator(operator: Operator, example: dict[str, Any], tmp_path: Path) -> None:
    """`kept`: numbers of the texts that stay, as they were. `out`: each text without its units, None when it goes."""
    fields = example.get("fields") or [{}] * len(example["texts"])
    samples = [{"n": n, "text": text, **fields[n]} for n, text in enumerate(example["texts"])]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
    process = [{operator.name: parameters(operator, example, tmp_path)}]
    paths = {"dataset_path": str(tmp_path / "in.jsonl"), "export_path": str(tmp_path / "out" / "kept.jsonl")}
    recipe = {**paths, "work_dir": str(tmp_path / "work"), "process": process, "np": 1}
    if example.get("error"):
        with pytest.raises(RecipeError):
            refinery.run(recipe)
        return
    lines = refinery.run(recipe).outputs[0].read_text(encoding="utf-8").split("\n")[:-1]
    found = {sample["n"]: sample["text"] for sample in map(json.loads, lines)}
    if "kept" in example:
        assert found == {n: example["texts"][n] for n in example["kept"]}
    else:
        assert found == {n: text for n, text in enumerate(example["out"]) if text is not None}


def test_every_operator_has_examples() -> None:
    few = [operator.name for operator in LIBRARY.operators.values() if len(operator.examples) < 2]
    # What it does is not done to samples: tests/stats/test_step.py.
    assert [name for name in few if not LIBRARY.operators[name].alias_of] == ["stats_merger"]


def test_examples_of_deduplicators_say_what_stays() -> None:
    """Every text is accounted for."""
    for operator in LIBRARY.operators.values():
        for example in operator.examples if operator.kind == "deduplicator" else ():
            assert ("kept" in example) != ("out" in example) or example.get("error")
            assert len(example.get("out", example["texts"])) == len(example["texts"])
