"""A folder with inputs, files beside a recipe, operators of a user's own, and the recipe: all that a run depends on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.runs import write_lines
from tests.soak.pool import Item, placed

SNIPPETS = (
    "the quick brown fox jumps over the lazy dog and does so again",
    "write to jane.doe@example.org or see https://example.org/a?b=c today",
    "<p>Fish &amp; <b>chips</b></p> from 10.0.0.1",
    "/* Copyright 2020 X */ int main() { return 0; } // done",
    "\\section{One} text \\begin{table} % comment\n\\bibliography{refs}",
    "你好，世界。（真的？）sÃ³lo mojibake",
    "darn that darned cat, she said. It sat. Then it slept! Did it?",
    "one\n\ntwo lines here\n\nthree paragraphs, and a verylongword" + "x" * 60,
    "",
)
# Keys that name a cluster.
ENGINE = ("ray_address",)
BROKEN = '{"k": 1, "text": '

MARKING = '''"""Appends what a helper module and a declared file say."""

import sys
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
import _marking_helper

OPERATOR = {
    "doc": "Appends a mark.",
    "version": 1,
    "params": {},
    "resources": {"files": ["marks.txt"]},
    "functions": {"marking_text": {"columns": ["VARCHAR"], "returns": "VARCHAR", "runs": "python", "call": "call"}},
    "sql": "SELECT marking_text({{ text }}) AS text",
    "examples": [],
}


def call(column: pa.Array) -> pa.Array:
    mark = Path(__file__).with_name("marks.txt").read_text()
    return pa.array([None if t is None else t + _marking_helper.ending(t) + mark for t in column.to_pylist()], pa.string())
'''


class World:
    """The folder; every method that begins with `edit` changes one thing in it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.dice = folder, random.Random(seed)
        self.inputs: dict[str, list[Any]] = {}
        self.steps: list[tuple[Item, dict[str, Any]]] = []
        self.keys: dict[str, Any] = {"np": 2, "shard_size": 4000, "use_cache": True}
        self._next = 0
        for name in ("a", "b"):
            self.edit_add_file(name)
        self.edit_allowed(3)
        self.edit_list("darn")
        self.edit_words("soon")
        self.edit_helper(0)
        self.edit_data("+")
        self._write("ops/mappers/marking_mapper.py", MARKING)

    @property
    def on_ray(self) -> bool:
        """Return whether the recipe runs on a cluster."""
        return "ray_address" in self.keys

    @property
    def suffix(self) -> str:
        """The format of the export; parts of a cluster are compared as lines."""
        return "jsonl" if self.on_ray else str(self.keys.get("suffix", "jsonl"))

    def recipe(self, work: Path, here: bool = False) -> dict[str, Any]:
        """The recipe with everything that it leaves below `work`; here: on this machine, whatever its engine is."""
        plain = {key: value for key, value in self.keys.items() if key != "suffix" and not (here and key in ENGINE)}
        process = [
            {item.operator: {name: placed(value, self.folder) for name, value in params.items()}}
            for item, params in self.steps
        ]
        on_ray = self.on_ray and not here
        places = {"export_path": str(work / ("out" if on_ray else f"out.{self.suffix}")), "work_dir": str(work / "run")}
        plain |= {"executor_type": "ray", "export_type": "jsonl"} if on_ray else {}
        operators = [str(self.folder / "ops")]
        return {"dataset_path": str(self.folder / "in"), "operators": operators, **places, **plain, "process": process}

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    # Inputs

    def _sample(self) -> Any:
        dice, number = self.dice, self._next
        self._next += 1
        if dice.random() < 0.02:
            return BROKEN
        parts = dice.choices(SNIPPETS, k=dice.randint(1, 4))
        return {"k": number % 97, "text": " ".join(parts) + dice.choice(["", " ", f" no. {number % 13}"])}

    def _save(self, name: str) -> None:
        write_lines(self.folder / "in" / f"{name}.jsonl", self.inputs[name])

    def edit_add_file(self, name: str) -> None:
        """Add a file, or write it anew."""
        self.inputs[name] = [self._sample() for _ in range(self.dice.randint(20, 60))]
        self._save(name)

    def edit_remove_file(self, name: str) -> None:
        """Remove a file, unless it is the last one."""
        if name in self.inputs and len(self.inputs) > 1:
            del self.inputs[name]
            (self.folder / "in" / f"{name}.jsonl").unlink()

    def edit_rename(self, place: int) -> None:
        """Give a file a name that no other has; it may be read in another place of the order."""
        name = sorted(self.inputs)[place % len(self.inputs)]
        other = next(one for one in ("b", "d", "a", "e", "c", "f", "g") if one not in self.inputs)
        self.inputs[other] = self.inputs.pop(name)
        (self.folder / "in" / f"{name}.jsonl").rename(self.folder / "in" / f"{other}.jsonl")

    def edit_reorder(self, place: int) -> None:
        """Let two files change their names, and so their places in the order."""
        names = sorted(self.inputs)
        one, other = names[place % len(names)], names[(place + 1) % len(names)]
        self.inputs[one], self.inputs[other] = self.inputs[other], self.inputs[one]
        self._save(one)
        self._save(other)

    def edit_touch(self, place: int) -> None:
        """Write a file anew, with the same lines and another time."""
        name, _ = self._picked(place)
        self._save(name)

    def edit_empty(self, place: int) -> None:
        """Leave no line in a file, unless it is the last one with any."""
        name, _ = self._picked(place)
        if any(lines for other, lines in self.inputs.items() if other != name):
            self.inputs[name] = []
            self._save(name)

    def edit_line(self, place: int) -> None:
        """Change one sample; its line keeps its length where that is easy."""
        name, lines = self._picked(place)
        if not lines:
            return
        at = place % len(lines)
        old = lines[at]
        same = isinstance(old, dict) and "fox" in old["text"]
        lines[at] = {**old, "text": old["text"].replace("fox", "cow")} if same else self._sample()
        self._save(name)

    def edit_append(self, place: int) -> None:
        """Append samples to a file."""
        name, lines = self._picked(place)
        lines += [self._sample() for _ in range(1 + place % 5)]
        self._save(name)

    def edit_remove_line(self, place: int) -> None:
        """Remove one sample, unless it is the last one of its file."""
        name, lines = self._picked(place)
        if len(lines) > 1:
            del lines[place % len(lines)]
        self._save(name)

    def _picked(self, place: int) -> tuple[str, list[Any]]:
        name = sorted(self.inputs)[place % len(self.inputs)]
        return name, self.inputs[name]

    # Files beside the recipe

    def edit_allowed(self, step: int) -> None:
        """Change the list that SQL reads."""
        self._write("side/allowed.csv", "k\n" + "".join(f"{k}\n" for k in range(0, 97, step)))

    def edit_words(self, word: str) -> None:
        """Change a file that SQL reads by a pattern, or add one."""
        self._write(f"side/{word}.words", f"word\n{word}\n")

    def edit_list(self, word: str) -> None:
        """Change a word list."""
        self._write("side/lists/flagged_words.json", json.dumps({"en": [word, "cat"]}))

    def edit_helper(self, number: int) -> None:
        """Change a module that an operator imports; the file keeps its size."""
        self._write(
            "ops/mappers/_marking_helper.py", f"def ending(text):\n    return str(len(text) % {number % 9 + 1})\n"
        )

    def edit_data(self, mark: str) -> None:
        """Change a file that an operator declares."""
        self._write("ops/mappers/marks.txt", mark)

    # The recipe

    def edit_insert(self, item: Item, place: int) -> None:
        """Insert a step."""
        for name, text in item.files.items():
            self._write(name, text)
        self.steps.insert(place % (len(self.steps) + 1), (item, dict(item.params)))

    def edit_remove_step(self, place: int) -> None:
        """Remove a step."""
        if self.steps:
            del self.steps[place % len(self.steps)]

    def edit_swap(self, place: int) -> None:
        """Let two neighbours change places."""
        if len(self.steps) > 1:
            at = place % (len(self.steps) - 1)
            self.steps[at], self.steps[at + 1] = self.steps[at + 1], self.steps[at]

    def edit_number(self, place: int, values: dict[str, Any]) -> None:
        """Change a bound of a step. values: by type."""
        places = [(at, name) for at, (item, _) in enumerate(self.steps) for name in item.numbers]
        if places:
            at, name = places[place % len(places)]
            item, params = self.steps[at]
            params[name] = values[item.numbers[name]]

    def edit_key(self, name: str, value: Any) -> None:
        """Change a key of the recipe, such as np or the engine; None: as by default."""
        self.keys = {key: kept for key, kept in self.keys.items() if key != name} | (
            {} if value is None else {name: value}
        )
