"""Run filters and modifiers of NeMo Curator over documents; started with its Python as `serve_nemo.py DOCS JOBS RESULTS`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import serve

TEXT = "nemo_curator.stages.text"
MODULES = [
    import_module(f"{TEXT}.{name}")
    for name in ("filters.heuristic", "filters.heuristic.repetition", "filters.heuristic.code", "modifiers.string")
]


def block(op: str, params: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that applies a filter or modifier of this class to one document."""
    made = next(getattr(module, op) for module in MODULES if hasattr(module, op))(**params)
    if hasattr(made, "modify_document"):
        return lambda doc: {"text": made.modify_document(doc["text"])}
    return lambda doc: scored(made, doc["text"])


def scored(made: Any, text: str) -> dict[str, Any]:
    score = made.score_document(text)
    return {"score": float(score), "keep": bool(made.keep_document(score))}


serve.serve(block, *sys.argv[1:])
