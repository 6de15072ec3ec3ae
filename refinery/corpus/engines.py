"""Chooses the engine of a change."""

from __future__ import annotations

from refinery.corpus.engine import Engine
from refinery.corpus.incremental.engine import IncrementalEngine
from refinery.corpus.reference import ReferenceEngine
from refinery.operators import Library
from refinery.recipe import Recipe

# In the order in which they are tried.
ENGINES: tuple[type[Engine], ...] = (IncrementalEngine, ReferenceEngine)


def engine_of(name: str) -> Engine:
    """The engine of a name."""
    return next(made() for made in ENGINES if made().name == name)


def engine_for(recipe: Recipe, library: Library, name: str | None = None) -> tuple[Engine, list[str]]:
    """The first engine that can compute changes of a recipe, and notes why those before it cannot. name: of the engine to take."""
    notes: list[str] = []
    for made in ENGINES:
        engine = made()
        if name is not None and engine.name != name:
            continue
        reasons = engine.refusals(recipe, library)
        if not reasons:
            return engine, notes
        notes.append(f"the {engine.name} engine cannot be used: {'; '.join(reasons)}")
    return ReferenceEngine(), notes
