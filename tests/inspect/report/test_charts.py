"""Places and round values of an axis, and shapes of a picture."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.inspect.report.charts import GRID, KEPT, Picture, Scale


@pytest.mark.parametrize(
    ("low", "high", "most", "whole", "ticks"),
    [
        (0, 100, 4, False, [0, 25, 50, 75, 100]),
        (0, 1.16, 4, True, [0, 1]),
        (0, 116, 4, True, [0, 50, 100]),
        (0, 11.6, 4, True, [0, 5, 10]),
        (-0.3, 0.3, 6, False, [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
        (0.17, 1.0, 6, False, [0.2, 0.4, 0.6, 0.8, 1.0]),
    ],
)
def test_ticks(low: float, high: float, most: int, whole: bool, ticks: list[float]) -> None:
    assert Scale(low, high, 0, 1).ticks(most, whole) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(8, 120, [10, 20, 50, 100]), (0.5, 3e4, [1, 10, 100, 1e3, 1e4]), (1, 1e12, [1, 1e3, 1e6, 1e9, 1e12]), (3, 4, [])],
)
def test_ticks_of_a_logarithmic_axis(low: float, high: float, ticks: list[float]) -> None:
    assert Scale(low, high, 0, 1, log=True).ticks(6) == pytest.approx(ticks)


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12), st.integers(2, 8))
def test_ticks_are_few_and_on_the_axis(low: float, length: float, most: int) -> None:
    high = low + length
    if high - low < abs(low) * 1e-9:  # no axis is that short
        return
    ticks = Scale(low, high, 0, 100).ticks(most)
    assert len(ticks) <= most + 1
    assert all(low - length * 1e-6 <= tick <= high + length * 1e-6 for tick in ticks)


def test_places() -> None:
    assert [Scale(10, 20, 100, 0).place(value) for value in (10, 15, 20)] == [100, 50, 0]
    assert [Scale(1, 100, 0, 50, log=True).place(value) for value in (1, 10, 100)] == pytest.approx([0, 25, 50])


def test_a_picture_is_xml_with_the_text_as_it_is() -> None:
    picture = Picture(100, 20)
    picture.box(1, 2, 3, 4.567, KEPT, 0.25)
    picture.box(1, 2, 0, 4, KEPT)
    picture.line((0, 1), (2, 3), GRID, 1)
    picture.words(5, 6, "<b> & $x$", "end", upwards=True)
    root = ElementTree.fromstring(picture.written("a", "<title>", "a & b"))
    assert [element.tag for element in root] == ["title", "desc", "rect", "line", "text"]
    assert root[2].attrib == {
        "x": "1",
        "y": "2",
        "width": "3",
        "height": "4.57",
        "style": "fill: var(--kept); opacity: 0.25",
    }
    assert root[4].text == "<b> & $x$" and root[4].get("transform") == "rotate(-90 5 6)"
    assert root[0].text == "<title>" and root.get("aria-labelledby") == "a-title a-desc"
