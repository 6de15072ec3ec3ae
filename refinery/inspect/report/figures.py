"""The pictures of a report. The page also shows the data of each in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from refinery.common.numbers import number, size
from refinery.inspect.report import charts
from refinery.inspect.report.axes import Axis
from refinery.inspect.report.charts import BOUND, BYTES, GRID, INK, KEPT, MINUS, MUTED, OTHER, PLUS, REMOVED, SHADE
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
    given = [getattr(step, f"{what}_in") for step in steps]
    left = [getattr(step, f"{what}_out") for step in steps]
    amounts = [number(value) if what == "rows" else size(value) for value in left]
    labels = [f"{step.step}  {_name(step.operator)}" for step in steps]
    title = "Rows" if what == "rows" else "Bytes of text"
    picture, axes = _bars(labels, amounts)
    places = range(len(steps))
    axes.barh(places, left, height=0.3, color=KEPT if what == "rows" else BYTES)
    lost = [max(0, before - after) for before, after in zip(given, left, strict=True)]
    axes.barh(places, lost, left=left, height=0.3, color=REMOVED)
    _bar_ends(axes, max([*given, *left, 1]))
    first, last = (given[0], left[-1]) if steps else (0, 0)
    shown = [number(value) if what == "rows" else size(value) for value in (first, last)]
    text = f"{title} that each of {len(steps)} steps left: {shown[0]} into the first one, {shown[1]} out of the last."
    return charts.written(picture, f"waterfall-{what}", f"{title} through the steps", text)


def timings(steps: Sequence[ReportStep]) -> Markup:
    """Draw bars of the seconds of each step."""
    labels = [f"{step.step}  {_name(step.operator)}" for step in steps]
    picture, axes = _bars(labels, [f"{step.seconds:.3f} s" for step in steps])
    axes.barh(range(len(steps)), [step.seconds for step in steps], height=0.3, color=KEPT)
    _bar_ends(axes, max([*(step.seconds for step in steps), 1e-9]))
    slowest = max(steps, key=_seconds)
    text = f"Worker time of {len(steps)} steps. The longest is step {slowest.step}, {slowest.operator}, "
    return charts.written(picture, "timings", "Seconds of each step", f"{text}with {slowest.seconds:.3f} s.")


def _seconds(step: ReportStep) -> float:
    return step.seconds


def cluster_sizes(name: str, sizes: Sequence[tuple[str, int]]) -> Markup:
    """Draw columns of the number of clusters by size."""
    picture, axes = charts.figure(_WIDTH, 190, left=48, bottom=38, top=8, right=10)
    places = range(len(sizes))
    axes.bar(places, [clusters for _, clusters in sizes], color=KEPT, width=0.7)
    axes.set_xticks(places, [label for label, _ in sizes])
    axes.set_xlim(-0.6, max(len(sizes), 8) - 0.4)
    axes.set_xlabel("samples in the cluster")
    axes.set_ylabel("clusters")
    _counts(axes)
    listed = "; ".join(f"{clusters:,} of {label}" for label, clusters in sizes)
    return charts.written(picture, name, "Clusters by size", f"Clusters by their number of samples: {listed}.")


def histogram(statistic: Statistic, found: Histogram, name: str) -> Markup:
    """Draw samples by value, with bounds as lines and the removed side shaded."""
    picture, axes = charts.figure(_WIDTH, 210, left=48, bottom=24, top=8, right=10)
    edges = found.axis.edges
    below = [0] * found.axis.bins
    for counts, color in ((found.kept, KEPT), (found.here, REMOVED), (found.elsewhere, OTHER)):
        tops = [low + count for low, count in zip(below, counts, strict=True)]
        if any(counts):
            axes.stairs(tops, edges, baseline=below, fill=True, facecolor=color, linewidth=0)
        below = tops
    if found.axis.log:
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_locator(_powers(edges[-1] / edges[0]))
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, max([*below, 1]) * 1.16)
    axes.xaxis.set_major_formatter(_formatter())
    axes.set_ylabel("samples")
    _counts(axes)
    _shaded(axes, statistic.range, found.axis)
    return charts.written(picture, name, f"Histogram of {statistic.column}", _description(statistic, found))


def _shaded(axes: Any, bounds: KeptRange, axis: Axis) -> None:
    """Draw bounds within the axis as lines, and their removed ranges as shades."""
    start, end = axis.edges[0], axis.edges[-1]
    low = bounds.low.value if bounds.low else start
    high = bounds.high.value if bounds.high else end
    removed = [(low, high)] if bounds.reversed else [(start, low), (high, end)]
    for left, right in removed:
        left, right = max(left, start), min(right, end)
        if left < right:
            axes.axvspan(left, right, facecolor=SHADE, alpha=0.25, linewidth=0, zorder=0)
    for at, bound in enumerate(bounds.ends):
        if start < bound.value < end:
            axes.axvline(bound.value, color=BOUND, linewidth=1.4, linestyle=(0, (4, 2)))
            place = axes.transData.transform((bound.value, 0))[0] / axes.figure.bbox.width
            left_side = place > 0.55
            axes.annotate(
                f"{plain(bound.name)} {number(bound.value)}",
                (bound.value, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(-4 if left_side else 4, -10 - 13 * at),
                textcoords="offset points",
                ha="right" if left_side else "left",
                fontsize=10,
                color=INK,
            )


def _description(statistic: Statistic, found: Histogram) -> str:
    parts = [f"{sum(counts):,} {fate}" for counts, fate in _fates(found) if sum(counts)]
    ends = [f"{bound.name} is {number(bound.value)}" for bound in statistic.range.ends]
    outside = found.below + found.above
    beyond = f" {outside:,} samples lie outside of the axis." if outside else ""
    text = f"Samples by {statistic.column}: {', '.join(parts) or 'none'}.{beyond}"
    return f"{text} Bounds: {', '.join(ends)}." if ends else f"{text} No bounds."


def _fates(found: Histogram) -> list[tuple[list[int], str]]:
    return [(found.kept, "kept"), (found.here, "removed by this step"), (found.elsewhere, "removed by another step")]


def correlations(found: Correlations) -> Markup:
    """Draw a map of correlations: a square for each pair, fuller for a stronger correlation."""
    from matplotlib.patches import Rectangle

    names = found.columns
    side = len(names)
    cell = max(16, min(34, 300 / side))
    picture, axes = charts.figure(cell * side + 180, cell * side + 24, left=178, bottom=20)
    for row, left in enumerate(names):
        for column, right in enumerate(names[: row + 1]):
            r = 1.0 if left == right else found.r.get((right, left))
            color, strength = (OTHER, 0.15) if r is None or row == column else (PLUS if r > 0 else MINUS, abs(r))
            axes.add_patch(Rectangle((column, row), 0.94, 0.94, facecolor=color, alpha=strength, linewidth=0))
            if side <= _NUMBERED and row != column:
                shown = "–" if r is None else f"{r:.2f}".replace("0.", ".")
                axes.text(column + 0.47, row + 0.5, shown, ha="center", va="center", fontsize=9)
    axes.set_xlim(0, side)
    axes.set_ylim(side, 0)
    axes.set_aspect("equal")
    axes.set_xticks([at + 0.47 for at in range(side)], [str(at + 1) for at in range(side)], fontsize=9)
    axes.set_yticks(
        [at + 0.47 for at in range(side)], [f"{_name(name)}  {at + 1}" for at, name in enumerate(names)], fontsize=10
    )
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    pairs = "; ".join(f"{left} and {right} {r:.2f}" for left, right, r in found.strongest[:3])
    return charts.written(picture, "correlations", "Correlations of statistics", f"The strongest: {pairs or 'none'}.")


def _bars(labels: Sequence[str], amounts: Sequence[str]) -> tuple[Any, Any]:
    """Make axes for a bar under each label, with its amount at the right end."""
    picture, axes = charts.figure(_WIDTH, _ROW * len(labels) + 14)
    for at, (label, amount) in enumerate(zip(labels, amounts, strict=True)):
        axes.text(0, at - 0.26, label, transform=axes.get_yaxis_transform(), va="bottom")
        axes.text(1, at - 0.26, amount, transform=axes.get_yaxis_transform(), va="bottom", ha="right")
    axes.set_ylim(len(labels) - 0.5, -0.9)
    axes.set_axis_off()
    return picture, axes


def _bar_ends(axes: Any, most: float) -> None:
    axes.set_xlim(0, most)
    for at in range(int(max(axes.get_ylim()) + 0.5)):
        axes.plot([0, most], [at + 0.15, at + 0.15], color=GRID, linewidth=0.8, zorder=0)


def _counts(axes: Any) -> None:
    """Make the y axis one of counts, with a light grid."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(_count))
    axes.grid(axis="y", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)


def _powers(ratio: float) -> Any:
    """Ticks of a logarithmic axis: at powers of ten, and between them on a short axis."""
    from matplotlib.ticker import LogLocator

    return LogLocator(subs=(1, 2, 5) if ratio < 1e3 else (1,), numticks=8)


def _formatter() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(_count)


def _count(value: float, place: int | None = None) -> str:
    """A short number: 20k, 1.5M, 0.25."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            return f"{value / (1e3 if name == 'k' else unit):,.4g}{name}"
    return f"{value:.4g}"


def _name(name: str) -> str:
    return beginning(plain(name), 32)
