"""Run taggers of dolma over documents; started with its Python as `serve_dolma.py DOCS JOBS RESULTS`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import dolma.taggers  # noqa: F401, registers the taggers
import serve
from dolma.core.data_types import Document
from dolma.core.registry import TaggerRegistry


def tagger(op: str, params: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that gives the spans of one document by their types, as [start, end, score]."""
    made = TaggerRegistry.get(op)()
    return lambda doc: spans(made.predict(Document(source="", id=doc["id"], text=doc["text"])))


def spans(result: Any) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for span in result.spans:
        found.setdefault(span.type, []).append([span.start, span.end, float(span.score)])
    return {"spans": found}


serve.serve(tagger, *sys.argv[1:])
