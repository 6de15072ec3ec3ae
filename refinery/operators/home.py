"""Folder of the shipped operators."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from refinery.errors import OperatorError


@cache
def shipped() -> Path:
    """The folder that holds `sql/`, `udfs/` and `recipes/`: inside an installed package, or the checkout."""
    inside = Path(__file__).parent.parent / "shipped"
    if inside.is_dir():
        return inside
    checkout = Path(__file__).parent.parent.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "sql").is_dir():
        return checkout
    raise OperatorError(f"neither {inside} nor a checkout at {checkout} holds the operators; reinstall refinery")


def is_shipped(path: Path) -> bool:
    """Return whether an operator file is shipped with refinery."""
    return os.path.realpath(path).startswith(_folders())


@cache
def _folders() -> tuple[str, ...]:
    """The folders of shipped operators, with a separator at the end."""
    return tuple(os.path.join(os.path.realpath(shipped()), folder, "") for folder in ("sql", "udfs"))
