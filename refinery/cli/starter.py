"""The file of `refinery init`."""

from __future__ import annotations

from pathlib import Path

from refinery.errors import OutputError
from refinery.inspect.analyze.request import stem
from refinery.inspect.starter import starter_recipe


def write(data: str, output: str | None) -> Path:
    """Write a recipe for the data to a new file; return its path.

    Raises DataError if no recipe can be made, OutputError if the file exists or cannot be written.
    """
    path = Path(output or f"{stem(data)}.yaml")
    if path.exists():
        raise OutputError(f"{path}: is there already. Name another file with -o")
    text = starter_recipe(data, str(path))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
    return path
