"""refinery: recipes for language-model training text, compiled to DuckDB SQL.

Importing this package loads nothing heavy; `run`, `compile` and `register` import what they need when called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refinery.common.version import __version__

if TYPE_CHECKING:
    from refinery.api import Run, compile, register, run

__all__ = ["Run", "__version__", "compile", "register", "run"]


def __getattr__(name: str) -> Any:
    if name in ("Run", "compile", "register", "run"):
        from refinery import api

        return getattr(api, name)
    raise AttributeError(f"module 'refinery' has no attribute {name!r}")
