"""Synthetic documents for bench/cluster.py, written by tasks of the cluster: files of JSON Lines, with near copies among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

COPIES, FILE = 0.3, 1_000_000_000  # share of documents that are near copies; bytes of a file at most


def generate(ray: Any, folder: str, size: int) -> int:
    """Write about `size` bytes of documents below a folder or URL that all machines see; returns the bytes."""
    files = max(1, -(-size // FILE))
    write = ray.remote(num_cpus=1)(writer())
    return sum(ray.get([write.remote(folder, number, size // files, COPIES) for number in range(files)]))


def writer() -> Callable[[str, int, int, float], int]:
    """The function of a task, which needs no module of the benchmark on other machines."""

    def write(folder: str, number: int, size: int, copies: float) -> int:
        import json
        import random

        from refinery.storage.open import open_store

        dice, store = random.Random(number), open_store(folder)
        words = [f"{a}{b}" for a in ("ba", "di", "ko", "lu", "me", "no", "ra", "si") for b in range(500)]
        path = store.scratch() / f"part-{number:05d}.jsonl"
        known: list[list[str]] = []
        done = 0
        with path.open("w", encoding="utf-8") as file:
            while done < size:
                if known and dice.random() < copies:
                    text = list(dice.choice(known))
                    text[dice.randrange(len(text))] = "changed"
                else:
                    text = dice.choices(words, k=int(dice.lognormvariate(6, 0.8)) + 20)
                    known = [*known[-200:], text]
                done += file.write(json.dumps({"id": f"{number}-{done}", "text": " ".join(text)}) + "\n")
        store.publish(path, path.name)
        return done

    return write
