"""The pictures of a report. The page also shows the data of each in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from refinery.common.numbers import number, size
from refinery.inspect.report.charts import (
    BOUND,
    BYTES,
    GRID,
    KEPT,
    MINUS,
    MUTED,
    OTHER,
    PLUS,
    REMOVED,
    SHADE,
    Picture,
    Scale,
)
from refinery.inspect.report.facts import ReportStep
from refinery.inspect.report.statistics import Correlations, Histogram, Statistic
from refinery.inspect.report.visible import beginning, plain
from refinery.operators.bounds import KeptRange

# Width of a picture in units of which text is 11 high: a phone shows it at nearly its drawn size.
_WIDTH = 400
_ROW = 30
# With more columns the map's cells are too small for numbers.
_NUMBERED = 11


def waterfall(steps: Sequence[ReportStep], what: str) -> Markup:
    """Draw bars of the input of each step and of the part that it kept; what: "rows" or "bytes"."""
    before_steps = [getattr(step, f"{what}_in") for step in steps]
    left = [getattr(step, f"{what}_out") for step in steps]
    shown, color, title = (number, KEPT, "Rows") if what == "rows" else (size, BYTES, "Bytes of text")
    bars = [
        Bar(_numbered(step), shown(after), [(after, color), (max(0, before - after), REMOVED)])
        for step, before, after in zip(steps, before_steps, left, strict=True)
    ]
    picture = _bars(bars, max([*before_steps, *left, 1]))
    first, last = (before_steps[0], left[-1]) if steps else (0, 0)
    text = f"{title} that each of {len(steps)} steps left: {shown(first)} into the first one, {shown(last)} out of the last."
    return picture.written(f"waterfall-{what}", f"{title} through the steps", text)


def timings(steps: Sequence[ReportStep]) -> Markup:
    """Draw bars of the seconds of each step."""
    bars = [Bar(_numbered(step), f"{step.seconds:.3f} s", [(step.seconds, KEPT)]) for step in steps]
    slowest = max(steps, key=_seconds)
    picture = _bars(bars, max(slowest.seconds, 1e-9))
    text = f"Worker time of {len(steps)} steps. The longest is step {slowest.step}, {plain(slowest.label)}, "
    return picture.written("timings", "Seconds of each step", f"{text}with {slowest.seconds:.3f} s.")


def _seconds(step: ReportStep) -> float:
    return step.seconds


def cluster_sizes(name: str, sizes: Sequence[tuple[str, int]]) -> Markup:
    """Draw columns of the number of clusters by size."""
    picture = Picture(_WIDTH, 190)
    frame = Frame(Scale(-0.6, max(len(sizes), 8) - 0.4, 48, _WIDTH - 10), _counted([n for _, n in sizes], 152, 8))
    _count_axis(picture, frame, "clusters")
    for at, (label, clusters) in enumerate(sizes):
        left, right, top = frame.x.place(at - 0.35), frame.x.place(at + 0.35), frame.y.place(clusters)
        picture.box(left, top, right - left, frame.y.start - top, KEPT)
        picture.words((left + right) / 2, frame.y.start + 13, label, "middle")
    picture.words((48 + _WIDTH - 10) / 2, 186, "samples in the cluster", "middle")
    listed = "; ".join(f"{clusters:,} of {label}" for label, clusters in sizes)
    return picture.written(name, "Clusters by size", f"Clusters by their number of samples: {listed}.")


def histogram(statistic: Statistic, bins: Histogram, name: str) -> Markup:
    """Draw samples by value, with bounds as lines and the removed side shaded."""
    picture = Picture(_WIDTH, 210)
    edges = bins.axis.edges
    totals = [sum(counts) for counts in zip(bins.kept, bins.here, bins.elsewhere, strict=True)]
    frame = Frame(Scale(edges[0], edges[-1], 48, _WIDTH - 10, bins.axis.log), _counted(totals, 186, 8))
    _shades(picture, statistic.range, frame)
    _count_axis(picture, frame, "samples")
    _columns(picture, bins, frame)
    for value in frame.x.ticks(6):
        picture.line((at := frame.x.place(value), 186), (at, 189), MUTED, 0.8)
        picture.words(at, 201, _count(value), "middle")
    _bounds(picture, statistic.range, frame)
    return picture.written(name, f"Histogram of {statistic.column}", _description(statistic, bins))


def _columns(picture: Picture, histogram: Histogram, frame: Frame) -> None:
    """Draw the counts of each bin on top of each other."""
    places = [frame.x.place(edge) for edge in histogram.axis.edges]
    for at, counts in enumerate(zip(histogram.kept, histogram.here, histogram.elsewhere, strict=True)):
        below = 0
        for count, color in zip(counts, (KEPT, REMOVED, OTHER), strict=True):
            bottom, top = frame.y.place(below), frame.y.place(below + count)
            picture.box(places[at], top, places[at + 1] - places[at], bottom - top, color)
            below += count


def _shades(picture: Picture, bounds: KeptRange, frame: Frame) -> None:
    """Shade the removed ranges within the axis."""
    start, end = frame.x.low, frame.x.high
    low = bounds.low.value if bounds.low else start
    high = bounds.high.value if bounds.high else end
    for left, right in [(low, high)] if bounds.reversed else [(start, low), (high, end)]:
        left, right = max(left, start), min(right, end)
        if left < right:
            place = frame.x.place(left)
            picture.box(place, frame.y.end, frame.x.place(right) - place, frame.y.start - frame.y.end, SHADE, 0.25)


def _bounds(picture: Picture, bounds: KeptRange, frame: Frame) -> None:
    """Draw bounds within the axis as lines with their names, on the side where there is room."""
    for at, bound in enumerate(bounds.ends):
        if frame.x.low < bound.value < frame.x.high:
            place = frame.x.place(bound.value)
            picture.line((place, frame.y.start), (place, frame.y.end), BOUND, 1.4, "5.6 2.8")
            shown, left_side = f"{plain(bound.name)} {number(bound.value)}", place > 0.55 * _WIDTH
            side = (place - 4, "end") if left_side else (place + 4, "start")
            picture.words(side[0], frame.y.end + 10 + 13 * at, shown, side[1], 10)


def _description(statistic: Statistic, histogram: Histogram) -> str:
    parts = [f"{sum(counts):,} {fate}" for counts, fate in _fates(histogram) if sum(counts)]
    ends = [f"{bound.name} is {number(bound.value)}" for bound in statistic.range.ends]
    outside = histogram.below + histogram.above
    beyond = f" {outside:,} samples lie outside of the axis." if outside else ""
    text = f"Samples by {statistic.column}: {', '.join(parts) or 'none'}.{beyond}"
    return f"{text} Bounds: {', '.join(ends)}." if ends else f"{text} No bounds."


def _fates(histogram: Histogram) -> list[tuple[list[int], str]]:
    return [
        (histogram.kept, "kept"),
        (histogram.here, "removed by this step"),
        (histogram.elsewhere, "removed by another step"),
    ]


def correlations(values: Correlations) -> Markup:
    """Draw a map of correlations: a square for each pair, fuller for a stronger correlation."""
    names = values.columns
    side = len(names)
    cell = max(16, min(34, 300 / side))
    picture = Picture(cell * side + 180, cell * side + 24)
    for row, left in enumerate(names):
        y, middle = 1 + row * cell, (row + 0.47) * cell
        picture.words(172, y + cell * 0.47 + 4, f"{_name(left)}  {row + 1}", "end", 10)
        picture.words(178 + middle, cell * side + 14, str(row + 1), "middle", 9)
        for column, right in enumerate(names[: row + 1]):
            r = 1.0 if left == right else values.r.get((right, left))
            color, strength = (OTHER, 0.15) if r is None or row == column else (PLUS if r > 0 else MINUS, abs(r))
            x = 178 + column * cell
            picture.box(x, y, 0.94 * cell, 0.94 * cell, color, strength)
            if side <= _NUMBERED and row != column:
                shown = "–" if r is None else f"{r:.2f}".replace("0.", ".")
                picture.words(x + 0.47 * cell, y + 0.47 * cell + 3, shown, "middle", 9)
    pairs = "; ".join(f"{left} and {right} {r:.2f}" for left, right, r in values.strongest[:3])
    return picture.written("correlations", "Correlations of statistics", f"The strongest: {pairs or 'none'}.")


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its amount as text, and its parts with their colours."""

    label: str
    amount: str
    parts: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Frame:
    """Both axes of a picture. y: its start is at the bottom."""

    x: Scale
    y: Scale


def _bars(bars: Sequence[Bar], most: float) -> Picture:
    """Draw a bar under each label, with its amount at the right end. most: the value of a whole line."""
    picture = Picture(_WIDTH, _ROW * len(bars) + 14)
    scale = Scale(0, most, 1, _WIDTH - 1)
    for at, bar in enumerate(bars):
        middle, start = 1 + _ROW * (at + 0.9) + 4, 0.0
        picture.words(1, middle - 11, bar.label)
        picture.words(_WIDTH - 1, middle - 11, bar.amount, "end")
        picture.line((1, middle), (_WIDTH - 1, middle), GRID, 0.8)
        for value, color in bar.parts:
            left, start = scale.place(start), start + value
            picture.box(left, middle - 4.5, scale.place(start) - left, 9, color)
    return picture


def _counted(counts: Sequence[int], bottom: float, top: float) -> Scale:
    """The axis of counts, with a margin above the highest."""
    return Scale(0, max([*counts, 1]) * 1.16, bottom, top)


def _count_axis(picture: Picture, frame: Frame, label: str) -> None:
    """Draw the y axis of counts with a light grid, and the line of the x axis."""
    for value in frame.y.ticks(4, integers=True):
        place = frame.y.place(value)
        picture.line((frame.x.start, place), (frame.x.end, place), MUTED if value == 0 else GRID, 0.6)
        picture.words(frame.x.start - 5, place + 4, _count(value), "end")
    picture.words(10, (frame.y.start + frame.y.end) / 2, label, "middle", upwards=True)


def _numbered(step: ReportStep) -> str:
    return f"{step.step}  {_name(step.label)}"


def _count(value: float) -> str:
    """A short number: 20k, 1.5M, 0.25."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            return f"{value / (1e3 if name == 'k' else unit):,.4g}{name}"
    return f"{value:.4g}"


def _name(name: str) -> str:
    return beginning(plain(name), 32)
