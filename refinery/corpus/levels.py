"""The rule by which small files of a corpus are merged, by two levels: each eighth change merges eight, each sixty-fourth the merged ones."""

from __future__ import annotations

from collections.abc import Sequence

# Files of a level that become one.
EACH = 8
# Bytes from which a file stays as it is: to open it costs little beside reading it.
LARGE = 4 << 20


def merged_at(number: int, files: Sequence[tuple[int, int]]) -> list[range]:
    """Positions of files that are merged with a change, as runs of at least two neighbours.

    number: of the change, from 1, or for a table whose turn comes earlier, from a later number. files: number of the last change and bytes of each, in the order of changes. A row is written twice more at
    most, and a table of n changes has about n / 64 + 14 small files.
    """
    span = EACH**2 if number % EACH**2 == 0 else EACH if number % EACH == 0 else 0
    runs, start = [], 0
    for at in range(len(files) + 1):
        if at < len(files) and files[at][0] > number - span and files[at][1] < LARGE:
            continue
        if at - start > 1:
            runs.append(range(start, at))
        start = at + 1
    return runs
