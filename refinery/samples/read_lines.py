"""Reads JSON: lines as they stand in the file, or the values of an array or sequence, each made one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.errors import DataError
from refinery.kernels import jsontext, lines
from refinery.kernels.arrow import strings
from refinery.samples.batch import LINE, RAW_LIMIT, Bad, Batch
from refinery.samples.sources import Source
from refinery.samples.window import Window

_NOT_JSON = 3
# An element that is longer than this is looked into for the start of the next one, before more is read.
_LONG = 64 << 20


@dataclass(frozen=True)
class Limits:
    """How much is held at once: bytes and rows of a batch, bytes of one line. check: test that lines are JSON objects."""

    batch_bytes: int = 8 << 20
    rows: int = 8192
    line: int = 1 << 30
    check: bool = True


class _Numbers:
    """Rows and physical lines counted so far."""

    def __init__(self) -> None:
        self.row = 0
        self.line = 0


def read_lines(source: Source, start: int, end: int, limits: Limits) -> Iterator[Batch]:
    """Batches of a JSON Lines file: the lines that start in bytes [start, end), all with end -1.

    Lines of white space alone are no samples. A line that is no UTF-8, no JSON object, or too long is a Bad one.
    """
    window = Window(source, start, end, limits.batch_bytes)
    try:
        yield from _lines(window, start == 0, limits)
    finally:
        window.close()


def _lines(window: Window, at_start: bool, limits: Limits) -> Iterator[Batch]:
    numbers = _Numbers()
    ends = np.empty(limits.rows, np.int64)
    at = window.first if at_start else 0
    searched = at
    while True:
        while count := int(lines.line_ends(window.data, searched, window.filled, ends)):
            yield _line_batch(window.data, at, ends[:count].copy(), numbers, limits)
            at = searched = int(ends[count - 1])
        if window.ended:
            break
        if window.filled - at > limits.line:
            yield _too_long(window, at, numbers)
            at = searched = 0
            continue
        searched = window.filled - at
        window.refill(at)
        at = 0
    rest = window.filled - at
    if window.damage:
        yield _only_bad(numbers, 1, window.data[at : window.filled], window.damage)
    elif rest:
        yield _line_batch(window.data, at, np.array([window.filled], np.int64), numbers, limits)


def _line_batch(data: np.ndarray, at: int, ends: np.ndarray, numbers: _Numbers, limits: Limits) -> Batch:
    """The lines that start at `at` and end at `ends`."""
    offsets = np.concatenate((np.array([at], np.int64), ends))
    states = np.zeros(len(ends), np.uint8)
    others = int(lines.classify(data, at, ends, len(ends), states))
    line_numbers = np.arange(numbers.line + 1, numbers.line + 1 + len(ends))
    numbers.line += len(ends)
    return _batch(data, offsets, states, others, line_numbers, numbers, limits)


def _batch(
    data: np.ndarray,
    offsets: np.ndarray,
    states: np.ndarray,
    others: int,
    line_numbers: np.ndarray,
    numbers: _Numbers,
    limits: Limits,
) -> Batch:
    """Samples over `data`, in which those that are none are closed up; `states` says which, `others` how many."""
    if limits.check:
        good = np.zeros(len(states), np.bool_)
        if jsontext.objects(data, offsets, good):
            states[~good & (states == lines.GOOD)] = _NOT_JSON
            others = int(np.count_nonzero(states))
    samples = states != lines.BLANK
    rows = np.cumsum(samples) - 1 + numbers.row
    numbers.row += int(np.count_nonzero(samples))
    bad: list[Bad] = []
    if others:
        for i in np.flatnonzero(samples & (states != lines.GOOD)).tolist():
            bad.append(_bad(data[offsets[i] : offsets[i + 1]], int(rows[i]), int(line_numbers[i]), int(states[i])))
        keep = states == lines.GOOD
        starts, ends = offsets[:-1][keep], offsets[1:][keep]
        rows, line_numbers = rows[keep], line_numbers[keep]
        offsets = np.zeros(len(starts) + 1, np.int64)
        data = data[int(starts[0]) if len(starts) else 0 :]
        lines.gather(data, starts - (starts[0] if len(starts) else 0), ends - (starts[0] if len(starts) else 0), data, offsets)
    column = strings(data, offsets, np.ones(len(offsets) - 1, np.bool_))
    return Batch(True, pa.table({LINE: column}), rows, line_numbers, bad, numbers.line)


def _bad(line: np.ndarray, row: int, number: int, state: int) -> Bad:
    raw = line.tobytes().rstrip(b"\r\n") if len(line) <= RAW_LIMIT else line[:RAW_LIMIT].tobytes()
    error = f"malformed JSON: {explain_json(raw)}" if state == _NOT_JSON else not_utf8(raw)
    return Bad(row, number, raw, error if len(line) <= RAW_LIMIT else f"{error}; of {len(line)} bytes")


def not_utf8(raw: bytes) -> str:
    """Where and why bytes are not UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"invalid UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1} ({error.reason})"
    return "invalid UTF-8"


def _only_bad(numbers: _Numbers, physical: int, raw: np.ndarray, error: str) -> Batch:
    batch = Batch.empty(True)
    batch.bad = [Bad(numbers.row, numbers.line + 1, raw[:RAW_LIMIT].tobytes().rstrip(b"\r\n"), error)]
    numbers.row += 1
    numbers.line += physical
    batch.lines_seen = numbers.line
    return batch


def _too_long(window: Window, at: int, numbers: _Numbers) -> Batch:
    """Pass over the line that starts at `at`; the window then starts with the next one."""
    raw = window.data[at : at + RAW_LIMIT].copy()
    length = window.filled - at
    window.filled = at  # nothing of it is kept
    while True:
        window.refill(window.filled)
        end = int(lines.first_line_end(window.data, 0, window.filled))
        if end >= 0 or window.ended:
            break
        length += window.filled
    used = end if end >= 0 else window.filled
    batch = _only_bad(numbers, 1, raw, f"a line of {length + used} bytes is longer than the limit")
    window.data, window.filled = window.data[used:], window.filled - used
    return batch


def read_values(source: Source, limits: Limits) -> Iterator[Batch]:
    """Batches of a JSON file that holds an array, or values over several lines.

    A value that stands on one line keeps its bytes; line breaks between the tokens of others, and the blanks around
    them, are left out. After a value that never ends, reading goes on at the next one that starts a line in the same
    column; where none does, the rest of the file is one Bad entry.
    """
    window = Window(source, 0, -1, limits.batch_bytes)
    try:
        yield from _values(window, limits)
    finally:
        window.close()


def _values(window: Window, limits: Limits) -> Iterator[Batch]:
    numbers = _Numbers()
    starts, ends = np.empty(limits.rows, np.int64), np.empty(limits.rows, np.int64)
    at = int(jsontext.skip_space(window.data, window.first, window.filled))
    array = at < window.filled and window.data[at] == ord("[")
    counted = 0  # lines are counted up to here
    at += int(array)
    while True:
        count, to, why = jsontext.elements(window.data, at, window.filled, array, window.ended, starts, ends)
        if count:
            yield _value_batch(window.data, counted, starts[:count], ends[:count], numbers, limits)
            counted = int(starts[count - 1])
        at = int(to)
        if why == jsontext.FULL:
            continue
        rest = window.filled - at
        next_one = -1
        if why == jsontext.UNFINISHED or (why == jsontext.MORE and rest > _LONG):
            next_one = _next_value(window.data, at, window.filled)
        if next_one >= 0 or (rest > limits.line and why == jsontext.MORE) or why == jsontext.UNFINISHED:
            numbers.line += int(lines.count_lines(window.data, counted, at))
            stop = next_one if next_one >= 0 else window.filled
            error = window.damage if window.damage and next_one < 0 else "a value starts here and never ends"
            yield _only_bad(numbers, 0, window.data[at:stop], error)
            at, counted = stop, at
            if next_one < 0 and not window.ended:
                raise DataError(f"{source_place(window)}: a JSON value of more than {limits.line} bytes. Write it as JSON Lines")
            if next_one < 0:
                break
            continue
        if why == jsontext.CLOSED or window.ended:
            break
        numbers.line += int(lines.count_lines(window.data, counted, at))
        window.refill(at)
        at = counted = 0
    numbers.line += int(lines.count_lines(window.data, counted, window.filled))
    yield from _after(window, at, array and why != jsontext.CLOSED, why == jsontext.UNFINISHED, numbers)
