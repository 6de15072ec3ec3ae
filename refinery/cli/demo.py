"""The files of `refinery demo`: the bundled recipe and its documents, in a folder of the user."""

from __future__ import annotations

from pathlib import Path

from refinery.errors import OutputError
from refinery.operators import shipped

NAME = "web_sample"


def put(folder: Path) -> Path:
    """Copy the recipe and its documents into a folder; return the recipe's path.

    Raises OutputError, before anything is written, if another file has one of the names.
    """
    home = shipped() / "recipes"
    files = {
        folder / f"{NAME}.jsonl": (home / "data" / f"{NAME}.jsonl").read_bytes(),
        folder / f"{NAME}.yaml": _recipe((home / f"{NAME}.yaml").read_text(encoding="utf-8")).encode(),
    }
    for path, content in files.items():
        if path.exists() and path.read_bytes() != content:
            raise OutputError(
                f"{path}: exists, and is not the demo's file. Move it, or run `refinery demo` in another folder"
            )
    for path, content in files.items():
        _write(path, content)
    return folder / f"{NAME}.yaml"


def _recipe(text: str) -> str:
    """The recipe for files beside it."""
    lines = [line for line in text.splitlines() if not line.startswith("# yaml-language-server")]
    moved = "\n".join(lines) + "\n"
    return moved.replace("recipes/data/", "").replace("recipes/", "")


def _write(path: Path, content: bytes) -> None:
    try:
        if not path.exists():
            path.write_bytes(content)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None
