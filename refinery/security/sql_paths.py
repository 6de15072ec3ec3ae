"""Folders that the SQL of a recipe may read."""

from __future__ import annotations

import os
import re
from typing import Any

from refinery.compiler.kept_order import FIRST, NAMED
from refinery.operators import is_shipped
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url


def folders_of(recipe: Any, library: Any) -> tuple[str, ...]:
    """Folders of the recipe, its inputs and its operators, and the current folder; none without user SQL.

    Only user SQL can read files: in parameters, in `stat_summary`, or in user operators.
    """
    if not (recipe.stat_summary.group_by or any(_has_sql(step, library) for step in recipe.steps)):
        return ()
    folders = {RunDir.around(recipe.path)} if recipe.path else set()
    folders |= {folder_of(source.path) for source in recipe.inputs if not is_url(source.path)}
    folders |= {os.path.abspath(os.path.expanduser(folder)) for folder in recipe.operators}
    packages = (library.package_of(library.operators[step.name].path) for step in recipe.steps)
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
