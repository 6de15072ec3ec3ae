"""Folders that the SQL of a recipe may read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from refinery.compiler.kept_order import FIRST, NAMED
from refinery.operators import is_shipped


def folders_of(steps: Sequence[Any], library: Any, groups: bool, named: Iterable[str]) -> tuple[str, ...]:
    """Folders that the SQL of a recipe may read: those named, those of its operators, the current one; none without user SQL.

    Only user SQL can read files: in parameters, in `stat_summary` (groups: it has some), or in user operators.
    """
    if not (groups or any(_has_sql(step, library) for step in steps)):
        return ()
    folders = {*named}
    packages = (library.package_of(library.operators[step.name].path) for step in steps)
    folders |= {str(package.folder) for package in packages if package is not None}
    return tuple(sorted(folders | ({os.getcwd()} - {os.sep})))


def folder_of(path: str) -> str:
    """The folder that holds everything a path or glob names."""
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.isdir(path):
        return path
    return os.path.dirname(re.split(r"[*?\[]", path, maxsplit=1)[0]) or os.sep


def has_sql(operator: Any) -> bool:
    """Return whether an operator runs SQL that its user writes as a parameter."""
    return any(param.type == "sql" for param in operator.params.values())


def is_own(operator: Any) -> bool:
    """Return whether an operator is not shipped with refinery."""
    return not is_shipped(operator.path)


def _has_sql(step: Any, library: Any) -> bool:
    operator = library.operators[step.name]
    return has_sql(operator) or is_own(operator) or step.params.get("keep", FIRST) not in NAMED
