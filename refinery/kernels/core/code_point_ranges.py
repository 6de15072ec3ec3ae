"""Lists of code points in files, by the names of their classes."""

from __future__ import annotations

from pathlib import Path


def listed_ranges(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Ranges of code points by the names of their classes.

    A line of the file is `name: 41-5A 61 ...`, hexadecimal, ranges with both ends; a line that begins with two blanks goes on
    with the one before, and one that begins with `#` is a comment.
    """
    by_name = {}
    for line in path.read_text(encoding="ascii").replace("\n  ", " ").splitlines():
        if not line.startswith("#"):
            name, _, ranges = line.partition(":")
            ends = [part.split("-") for part in ranges.split()]
            by_name[name] = [(int(parts[0], 16), int(parts[-1], 16)) for parts in ends]
    return by_name
