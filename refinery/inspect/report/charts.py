"""Pictures as SVG elements inside a page. The page's style sets the colours for light, dark and paper."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.etree import ElementTree

from markupsafe import Markup

# Colours: CSS variables of the page.
COLORS = ("ink", "muted", "grid", "kept", "removed", "other", "bytes", "bound", "shade", "plus", "minus")
INK, MUTED, GRID, KEPT, REMOVED, OTHER, BYTES, BOUND, SHADE, PLUS, MINUS = COLORS


@dataclass
class Picture:
    """Shapes and words. Lengths are in units of which text is 11 high; y grows downwards."""

    width: float
    height: float
    _elements: list[ElementTree.Element] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, color: str, opacity: float = 1) -> None:
        """Draw a filled rectangle; none of no size."""
        if width > 0 and height > 0:
            style = f"fill: var(--{color})" + (f"; opacity: {_short(opacity)}" if opacity < 1 else "")
            self._add("rect", style, x=x, y=y, width=width, height=height)

    def line(
        self, start: tuple[float, float], end: tuple[float, float], color: str, width: float, dashes: str = ""
    ) -> None:
        """Draw a straight line. dashes: lengths of dashes and gaps, as SVG has them."""
        style = f"stroke: var(--{color}); stroke-width: {_short(width)}" + (
            f"; stroke-dasharray: {dashes}" if dashes else ""
        )
        self._add("line", style, x1=start[0], y1=start[1], x2=end[0], y2=end[1])

    def words(
        self, x: float, y: float, text: str, anchor: str = "start", size: float = 11, upwards: bool = False
    ) -> None:
        """Write a text on a line. anchor: start, middle or end, which is at x. upwards: turned to be read from below."""
        style = f"fill: var(--{INK}); font-size: {_short(size)}px; text-anchor: {anchor}"
        element = self._add("text", style, x=x, y=y)
        element.text = text
        if upwards:
            element.set("transform", f"rotate(-90 {_short(x)} {_short(y)})")

    def written(self, name: str, title: str, description: str) -> Markup:
        """The picture as an SVG element that scales to the width of its container. name: prefix of its ids."""
        attributes = {
            "viewBox": f"0 0 {_short(self.width)} {_short(self.height)}",
            "role": "img",
            "aria-labelledby": f"{name}-title {name}-desc",
            "class": "plot",
            "style": f"--width: {self.width:.0f}px",
        }
        root = ElementTree.Element("svg", attributes)
        for tag, text in (("title", title), ("desc", description)):
            ElementTree.SubElement(root, tag, {"id": f"{name}-{tag}"}).text = text
        root.extend(self._elements)
        return Markup(ElementTree.tostring(root, encoding="unicode"))

    def _add(self, tag: str, style: str, **numbers: float) -> ElementTree.Element:
        element = ElementTree.Element(
            tag, {name: _short(number) for name, number in numbers.items()} | {"style": style}
        )
        self._elements.append(element)
        return element


@dataclass(frozen=True)
class Scale:
    """Places of values along an axis. low, high: values at its ends; start, end: their places. log: logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """The place of a value."""
        low, high, at = (
            (math.log(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        )
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int, integers: bool = False) -> list[float]:
        """Round values on the axis, at most `most`, if the axis is linear. integers: only integers."""
        return _powers(self.low, self.high, most) if self.log else _steps(self.low, self.high, most, integers)


def _steps(low: float, high: float, most: int, integers: bool) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, or of 2.5 times it."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    sizes = [factor * power for factor in (1, 2, 2.5, 5, 10, 20, 50)]
    step = next(
        size for size in sizes if (high - low) / size <= most and (not integers or (size >= 1 and size == round(size)))
    )
    return [at * step for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, on a short axis with 2 and 5 times each, on a long one not every power."""
    factors = (1, 2, 5) if high / low < 1e3 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in factors]
    shown = [value for value in values if low <= value <= high]
    return shown[:: math.ceil(len(shown) / most)] if shown else []


def _short(number: float) -> str:
    """A number of at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
