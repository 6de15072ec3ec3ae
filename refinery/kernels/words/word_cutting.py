"""The order in which a piece of text is cut into words: at its ends, until nothing more can be cut off, then inside."""

from __future__ import annotations

from typing import Any

from refinery.kernels.core.jit import kernel
from refinery.kernels.words.word_exceptions import EXCEPTION, exception


def cutter(prefix: Any, suffix: Any, inside: Any) -> Any:
    """A kernel that writes the starts of words in a piece to room[n:] and returns the number of words in `room`.

    prefix(data, start, end, table), suffix(data, start, end, table, known, masks): number of bytes to cut off an end.
    inside(data, start, end, table, known, room, n, masks): writes the starts of words in the rest. masks: a tuple, as
    the kernel receives it.
    """

    @kernel
    def cut(data, start, end, table, known, room, n, masks):
        tail = len(room)
        while start < end:
            if exception(known, data, start, end) & EXCEPTION:
                break
            first = prefix(data, start, end, table)
            if first > 0 and exception(known, data, start + first, end) & EXCEPTION:
                room[n] = start
                n += 1
                start += first
                break
            last = 0
            if start + first < end:
                last = suffix(data, start + first, end, table, known, masks)
            if last > 0 and exception(known, data, start, end - last) & EXCEPTION:
                end -= last
                tail -= 1
                room[tail] = end
                break
            if first == 0 and last == 0:
                break
            if first > 0:
                room[n] = start
                n += 1
                start += first
            if last > 0:
                end -= last
                tail -= 1
                room[tail] = end
        if start < end:
            n = inside(data, start, end, table, known, room, n, masks)
        while tail < len(room):
            room[n] = room[tail]
            n += 1
            tail += 1
        return n

    return cut
