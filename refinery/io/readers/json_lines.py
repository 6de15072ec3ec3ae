"""Read JSON: lines as they stand in the file, or the values of an array or sequence, each made one line."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.io.batch import LINE, RAW_LIMIT, BadSample, Batch
from refinery.io.duplicate_keys import last_of_each
from refinery.io.limits import ReadLimits
from refinery.io.line_errors import NOT_CLOSED, explain_json, not_utf8
from refinery.io.model import Source
from refinery.io.readers.read_buffer import JoinedFiles, ReadBuffer
from refinery.kernels.core.arrow import strings

_NOT_JSON = 3
_LONG_LINE = "a line of {} bytes is longer than the limit"
_ENDLESS = "a value starts here and never ends"
# In an element longer than this the start of the next element is searched before more is read.
_LONG = 64 << 20
# A value that stands further to the right does not define the column of the next values.
_INDENT = 256


class _Numbers:
    """Rows and physical lines counted so far."""

    def __init__(self) -> None:
        self.row = 0
        self.line = 0


def read_lines(source: Source, start: int, end: int, limits: ReadLimits) -> Iterator[Batch]:
    """Batches of a JSON Lines file: the lines that start in bytes [start, end), all with end -1.

    Lines of white space alone are no samples. A line that is no UTF-8, no JSON object, or too long is a BadSample.
    """
    window = ReadBuffer(source, start, end, limits.batch_bytes, limit=limits.line)
    try:
        yield from _lines(window, start == 0, limits)
    finally:
        window.close()


def read_joined(sources: Sequence[Source], limits: ReadLimits) -> Iterator[Batch]:
    """Batches of the lines of several small files; rows are counted through all files, lines in each file from 1."""
    joined = JoinedFiles(sources)
    try:
        window = ReadBuffer(sources[0], 0, -1, limits.batch_bytes, limit=limits.line, joined=joined)
        for batch in _lines(window, False, limits):
            yield _of_files(batch, np.array(joined.ends))
    finally:
        joined.close()


def _of_files(batch: Batch, ends: np.ndarray) -> Batch:
    """A batch with the places of its lines in their files. ends: number of lines up to the end of each file."""
    files = np.searchsorted(ends, batch.line_numbers)
    before = np.concatenate(([0], ends))
    bad = [
        replace(bad, file=file, line=bad.line - int(before[file]))
        for bad, file in zip(batch.bad, np.searchsorted(ends, [bad.line for bad in batch.bad]).tolist(), strict=True)
    ]
    numbers = batch.line_numbers - before[files]
    return replace(batch, line_numbers=numbers, bad=bad, files=files.astype(np.int32), lines_seen=0)


def _lines(window: ReadBuffer, at_start: bool, limits: ReadLimits) -> Iterator[Batch]:
    numbers = _Numbers()
    ends = np.empty(limits.rows, np.int64)
    at = window.first if at_start else 0
    searched = at
    while True:
        while count := _line_ends(window, at, searched, ends):
            short = _short(at, ends[:count], limits.line)
            if short:
                yield _line_batch(window.data, at, ends[:short].copy(), numbers, limits)
                at = searched = int(ends[short - 1])
            if short < count:
                searched = int(ends[short])
                yield _only_bad(numbers, 1, window.data[at:searched], _LONG_LINE.format(searched - at))
                at = searched
        if window.ended:
            break
        if window.filled - at > limits.line:
            yield _too_long(window, at, numbers)
            at = searched = 0
            continue
        searched = window.filled - at
        window.refill(at)
        at = 0
    if window.damage:
        yield _only_bad(numbers, 1, window.data[at : window.filled], window.damage)


def _short(at: int, ends: np.ndarray, limit: int) -> int:
    """Number of the lines from `at` on before the first line above the limit."""
    if int(ends[-1]) - at <= limit:
        return len(ends)
    above = np.flatnonzero(np.diff(ends, prepend=at) > limit)
    return int(above[0]) if len(above) else len(ends)


def _line_ends(window: ReadBuffer, at: int, searched: int, ends: np.ndarray) -> int:
    """Write the ends of lines into `ends`, with the end of an undamaged file; returns their number.

    The first line starts at `at`; it does not end before `searched`.
    """
    count = int(kernels.text.lines.line_ends(window.data, searched, window.filled, ends))
    last = int(ends[count - 1]) if count else at
    if window.ended and not window.damage and count < len(ends) and last < window.filled:
        ends[count] = window.filled
        count += 1
    return count


def _line_batch(data: np.ndarray, at: int, ends: np.ndarray, numbers: _Numbers, limits: ReadLimits) -> Batch:
    """The lines that start at `at` and end at `ends`."""
    offsets = np.concatenate((np.array([at], np.int64), ends))
    states = np.zeros(len(ends), np.uint8)
    others = int(kernels.text.lines.classify(data, at, ends, len(ends), states, limits.known))
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
    limits: ReadLimits,
) -> Batch:
    """Samples over `data`, with the gaps of other lines closed. states: kind of each line. others: number of gaps."""
    starts, ends = offsets[:-1], offsets[1:]
    gaps, verbatim = bool(others), True
    if limits.check or limits.repeated:
        kinds = np.zeros(len(states), np.uint8)
        if kernels.json.jsoncheck.objects(data, starts, ends, kinds):
            good = states == kernels.text.lines.GOOD
            if limits.check:
                states[good & (kinds == kernels.json.jsoncheck.OTHER)] = _NOT_JSON
                others = int(np.count_nonzero(states))
            repeating = good & (kinds == kernels.json.jsoncheck.REPEATING)
            ends = _rewritten(data, starts, ends, repeating)
            verbatim = not repeating.any()
            gaps = bool(others or not verbatim)
    samples = states != kernels.text.lines.BLANK
    rows = np.cumsum(samples) - 1 + numbers.row
    numbers.row += int(np.count_nonzero(samples))
    bad: list[BadSample] = []
    if gaps:
        for i in np.flatnonzero(samples & (states != kernels.text.lines.GOOD)).tolist():
            bad.append(_bad(data[starts[i] : ends[i]], int(rows[i]), int(line_numbers[i]), int(states[i])))
        keep = states == kernels.text.lines.GOOD
        starts, ends = starts[keep], ends[keep]
        rows, line_numbers = rows[keep], line_numbers[keep]
        # Moved in place, from the first good line on: earlier batches may still use the bytes before it.
        data = data[int(starts[0]) if len(starts) else 0 :]
        shift = starts[:1].sum()
        offsets = np.zeros(len(starts) + 1, np.int64)
        kernels.text.lines.gather(data, starts - shift, ends - shift, data, offsets)
    column = strings(data, offsets, np.ones(len(offsets) - 1, np.bool_))
    return Batch(True, pa.table({LINE: column}), rows, line_numbers, bad, numbers.line, verbatim=verbatim)


def _rewritten(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, repeating: np.ndarray) -> np.ndarray:
    """Write lines with repeated names anew in place, with the last member of each; returns the ends of all lines."""
    if not repeating.any():
        return ends
    ends = ends.copy()
    for i in np.flatnonzero(repeating).tolist():
        line = last_of_each(data[starts[i] : ends[i]].tobytes())
        ends[i] = starts[i] + len(line)
        data[starts[i] : ends[i]] = np.frombuffer(line, np.uint8)
    return ends


def _bad(line: np.ndarray, row: int, number: int, state: int) -> BadSample:
    raw = line.tobytes().rstrip(b"\r\n")
    if state == _NOT_JSON:
        reason = explain_json(raw)
        error = f"{'no sample' if reason.endswith('not an object') else 'malformed JSON'}: {reason}"
    else:
        error = not_utf8(raw)
    return BadSample(row, number, raw[:RAW_LIMIT], error)


def _only_bad(numbers: _Numbers, physical: int, raw: np.ndarray, error: str) -> Batch:
    batch = Batch.empty(True)
    batch.bad = [BadSample(numbers.row, numbers.line + 1, raw[:RAW_LIMIT].tobytes().rstrip(b" \t\r\n"), error)]
    numbers.row += 1
    numbers.line += physical
    batch.lines_seen = numbers.line
    return batch


def _too_long(window: ReadBuffer, at: int, numbers: _Numbers) -> Batch:
    """Skip the line that starts at `at`; the window then starts with the next line."""
    raw = window.data[at : at + RAW_LIMIT].copy()
    length = window.filled - at
    window.filled = at  # nothing of it is kept
    while True:
        window.refill(window.filled)
        end = int(kernels.text.lines.first_line_end(window.data, 0, window.filled))
        if end >= 0 or window.ended:
            break
        length += window.filled
    used = end if end >= 0 else window.filled
    batch = _only_bad(numbers, 1, raw, _LONG_LINE.format(length + used))
    window.data, window.filled = window.data[used:], window.filled - used
    return batch


def read_values(source: Source, start: int, end: int, limits: ReadLimits) -> Iterator[Batch]:
    """Batches of a JSON file that holds arrays, or values over several lines, or both; of its text between two cuts.

    start, end: 0 and -1, or cuts of `value_cuts`. A value that stands on one line keeps its bytes; line breaks
    between the tokens of other values, and the blanks around them, are left out. After a value that never ends, reading
    goes on at the next value that starts a line in the same column; without one, the rest of the file is one Bad entry.
    """
    window = ReadBuffer(source, start, end, limits.batch_bytes, False, limits.line)
    last = end < 0 or (source.compression is None and end >= source.size)
    try:
        yield from _Values(window, limits, start == 0, last).batches()
    finally:
        window.close()


def value_cuts(source: Source, size: int, limits: ReadLimits) -> tuple[list[int], int]:
    """Cuts of the text of such a file: 0 and ends of values, at least `size` bytes apart; and the bytes of its text."""
    window = ReadBuffer(source, 0, -1, min(size, limits.batch_bytes), False, limits.line)
    try:
        cuts = _Cuts(window, limits).found(size)
        total = window.base + window.filled
        return [cut for cut in cuts if cut == 0 or cut < total], total
    finally:
        window.close()


# Bytes after a value in an open array; and those with which an array or a value starts after a closed one.
_INSIDE = frozenset(b",]")
_STARTS = frozenset(b"[{")

# The end of a batch of values: all were read, a malformed one was skipped, or the rest of the file is lost.
_End = Literal["all", "malformed", "lost"]


class _Values:
    """Reads one value after another out of a window; the search for the next value starts at `at`."""

    def __init__(self, window: ReadBuffer, limits: ReadLimits, first: bool = True, last: bool = True) -> None:
        """first, last: True if the file starts, or ends, with the window.

        At a cut of `value_cuts`, what follows tells whether an array is open there.
        """
        self.window = window
        self.limits = limits
        self.last = last
        self.numbers = _Numbers()
        self.counted = 0  # line feeds before this position are in `numbers.line`
        self.at = window.first if first else 0
        after = self._skip_space()
        self.array = after in _INSIDE if not first else False

    def _skip_space(self) -> int:
        """Move to the next byte that is no blank, and return it; -1 at the end."""
        window = self.window
        while True:
            self.at = int(kernels.json.jsontext.skip_space(window.data, self.at, window.filled))
            if self.at < window.filled:
                return int(window.data[self.at])
            if window.ended:
                return -1
            self._refill()

    def batches(self) -> Iterator[Batch]:
        """All batches, to the end of the file."""
        room = np.empty(self.limits.rows, np.int64), np.empty(self.limits.rows, np.int64)
        while True:
            window = self.window
            count, to, why = kernels.json.jsontext.elements(
                window.data, self.at, window.filled, self.array, window.ended, *room
            )
            if count:
                end = yield from self._values(*(part[:count].copy() for part in room))
                if end == "lost":
                    return
                if end == "malformed":
                    continue
            self.at = int(to)
            if (yield from self._after_values(why)):
                return

    def _values(self, starts: np.ndarray, ends: np.ndarray) -> Generator[Batch, None, _End]:
        """The batch of these values, up to one that is too long, or malformed and skipped."""
        short = len(starts)
        if int(ends[-1] - starts[0]) > self.limits.line:
            above = np.flatnonzero(ends - starts > self.limits.line)
            short = int(above[0]) if len(above) else short
        sound = self._sound(starts[:short], ends[:short])
        if sound:
            yield self._gathered(starts[:sound], ends[:sound])
        if sound == len(starts):
            return "all"
        self.at = int(starts[sound])
        if sound == short:
            yield self._lost(kernels.json.jsontext.MORE)
            return "lost"
        yield self._bad(self._next_value(), _ENDLESS)
        return "malformed"

    def _after_values(self, why: int) -> Generator[Batch, None, bool]:
        """Go on where the values of the window end; True at the end of what can be read."""
        unfinished, more = why == kernels.json.jsontext.UNFINISHED, why == kernels.json.jsontext.MORE
        ended, rest = self.window.ended, self.window.filled - self.at
        if unfinished or (more and not ended and rest > _LONG):
            after = self._next_value()
            if after >= 0:
                yield self._bad(after, _ENDLESS)
                return False
        if unfinished or (more and rest > self.limits.line):
            yield self._lost(why)
            return True
        if why == kernels.json.jsontext.OPENED:
            self.array = True
            return False
        closed = why == kernels.json.jsontext.CLOSED
        if closed and self._skip_space() in _STARTS:
            self.array = False
            return False
        if closed or (more and ended):
            yield from self._tail(why)
            return True
        if more:
            self._refill()
        return False

    def _refill(self) -> None:
        self._count_to(self.at)
        # The text before a value on its line gives the column of the next values.
        keep = max(int(kernels.text.lines.last_line_end(self.window.data, 0, self.at)) - 1, self.at - _INDENT, 0)
        self.window.refill(keep)
        self.at = self.counted = self.at - keep

    def _count_to(self, position: int) -> None:
        self.numbers.line += int(kernels.text.lines.count_lines(self.window.data, self.counted, position))
        self.counted = position

    def _sound(self, starts: np.ndarray, ends: np.ndarray) -> int:
        """Number of the values before a malformed value that has swallowed the next ones."""
        kinds = np.zeros(len(starts), np.uint8)
        if kernels.json.jsoncheck.objects(self.window.data, starts, ends, kinds):
            for k in np.flatnonzero(kinds == kernels.json.jsoncheck.OTHER).tolist():
                self.at = int(starts[k])
                if self._next_value(int(ends[k])) >= 0:
                    return k
        return len(starts)

    def _gathered(self, starts: np.ndarray, ends: np.ndarray) -> Batch:
        data = self.window.data
        line_numbers = np.empty(len(starts), np.int64)
        kernels.text.lines.lines_before(data, self.counted, starts, line_numbers)
        line_numbers += self.numbers.line + 1
        self._count_to(int(ends[-1]))
        out = np.empty(int(ends[-1] - starts[0]) + len(starts), np.uint8)
        offsets = np.zeros(len(starts) + 1, np.int64)
        kernels.json.jsontext.one_line(data, starts, ends, out, offsets)
        states = np.zeros(len(starts), np.uint8)
        others = int(kernels.text.lines.classify(out, 0, offsets[1:], len(starts), states, self.limits.known))
        return _batch(out, offsets, states, others, line_numbers, self.numbers, self.limits)

    def _next_value(self, end: int | None = None) -> int:
        """Start of the next object that begins a line in the same column as the value at `at`; -1 without one."""
        data = self.window.data[: self.window.filled]
        first = int(kernels.text.lines.last_line_end(data, 0, self.at))
        indent = data[first : self.at].tobytes()
        # A value that shares its line with the bracket, or another value, does not define the column of the others.
        shared = indent.strip() or (first == 0 and self.window.base > 0)
        column = rb"[ \t]?" if shared else re.escape(indent)
        match = re.compile(rb"\n" + column + rb"\{").search(
            memoryview(data.data), self.at, len(data) if end is None else end
        )
        return match.end() - 1 if match else -1

    def _bad(self, stop: int, error: str) -> Batch:
        """A Bad entry for the bytes from `at` to `stop`."""
        self._count_to(self.at)
        batch = _only_bad(self.numbers, 0, self.window.data[self.at : stop], error)
        self._count_to(stop)
        batch.lines_seen = self.numbers.line
        self.at = stop
        return batch

    def _lost(self, why: int) -> Batch:
        """A Bad entry for the rest of the file, which is read only to count its lines."""
        error = f"{_ENDLESS}; samples after it cannot be recognised"
        if self.window.damage:
            error = self.window.damage
        elif why != kernels.json.jsontext.UNFINISHED:
            error = f"a value starts here that is longer than {self.limits.line} bytes; what follows it is not read"
        batch = self._bad(self.window.filled, error)
        while not self.window.ended:
            self._refill()
            self.at = self.window.filled
        self._count_to(self.at)
        batch.lines_seen = self.numbers.line
        return batch

    def _tail(self, why: int) -> Iterator[Batch]:
        """Check the text after the last value: nothing, or a BadSample with the reason."""
        if self._skip_space() >= 0:
            batch = self._lost(kernels.json.jsontext.UNFINISHED)
            batch.bad = [replace(bad, error="text after the end of the array") for bad in batch.bad]
            yield batch
        elif self.window.damage:
            yield self._bad(self.at, self.window.damage)
        elif self.array and why != kernels.json.jsontext.CLOSED and self.last:
            yield self._bad(self.at, NOT_CLOSED)
        else:
            self._count_to(self.at)
            batch = Batch.empty(True)
            batch.lines_seen = self.numbers.line
            yield batch


class _Cuts(_Values):
    """Reads the values in the same way, and keeps only their ends."""

    safe = 0

    def found(self, size: int) -> list[int]:
        """The cuts."""
        cuts = [0]
        for _ in self.batches():
            if self.safe - cuts[-1] >= size:
                cuts.append(self.safe)
        return cuts

    def _gathered(self, starts: np.ndarray, ends: np.ndarray) -> Batch:
        # Only after a whole value: the text on the line before the next value gives its column. And only where what
        # follows tells whether an array is open.
        for end in ends[:-3:-1].tolist():
            after = int(kernels.json.jsontext.skip_space(self.window.data, end, self.window.filled))
            if after < self.window.filled and (self.window.data[after] in _INSIDE) == self.array:
                self.safe = self.window.base + end
                break
        return Batch.empty(True)

    def _count_to(self, position: int) -> None:
        self.counted = position
