"""The command `refinery new`: the file of an operator, to be changed."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from refinery.errors import OutputError, Problem, RecipeError
from refinery.operators import Library

# Kinds as the command names them, and their folders.
FOLDERS = {
    "mapper": "mappers",
    "filter": "filters",
    "statistics": "statistics",
    "deduplicator": "deduplicators",
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TEMPLATES = Path(__file__).parent / "operator_templates"


def write(kind: str, name: str, folder: Path, python: bool) -> Path:
    """Write the file of a new operator below a folder; returns its path.

    Raises RecipeError for a name that cannot be, or that an operator has; OutputError if there is a file already.
    """
    if not _NAME.fullmatch(name):
        cure = "A name has lower-case letters, digits and _, and begins with a letter: my_filter."
        raise RecipeError([Problem("NAME", f"{name!r} is no name for an operator", cure)])
    library = Library((folder,)) if any((folder / each).is_dir() for each in FOLDERS.values()) else Library()
    if name in library.operators:
        what = f"there is an operator {name!r} already: {library.operators[name].path}"
        raise RecipeError([Problem("NAME", what, "Choose another name.")])
    suffix = "py" if python else "sql"
    path = folder / FOLDERS[kind] / f"{name}.{suffix}"
    text = Template((_TEMPLATES / f"{kind}.{suffix}.txt").read_text(encoding="utf-8")).substitute(name=name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(
            f"{path}: there is such a file already, which is not overwritten. Choose another name"
        ) from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    return path
