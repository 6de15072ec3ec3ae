"""refinery: recipes for language-model training text, compiled to DuckDB SQL.

Importing this package loads nothing heavy; `run`, `open`, `compile` and the others import what they need when called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refinery.common.version import __version__

if TYPE_CHECKING:
    from refinery.api import Run, add, compile, open, open_corpus, register, run, withdraw

_OF_API = ("Run", "add", "compile", "open", "open_corpus", "register", "run", "withdraw")
__all__ = ["Run", "__version__", "add", "compile", "open", "open_corpus", "register", "run", "withdraw"]


def __getattr__(name: str) -> Any:
    if name in _OF_API:
        from refinery import api

        return getattr(api, name)
    raise AttributeError(f"module 'refinery' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
