"""Everything that is written can be read: in light, in the dark, on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refinery.inspect.report import charts, page

STYLE = (Path(page.__file__).parent / "templates" / "style.css").read_text("utf-8")
LIGHT, DARK, PAPER = (
    dict(re.findall(r"--([a-z]+): (#[0-9a-f]{3,6})", block)) for block in re.findall(r":root \{([^}]*)\}", STYLE)
)
# Text and what it stands on.
WRITTEN = [(text, ground) for text in ("ink", "muted", "link", "code") for ground in ("paper", "raised")]
WRITTEN += [(text, "paper") for text in ("kept", "removed")]
WRITTEN += [("ink", ground) for ground in ("del", "ins", "plus", "minus")]
# Shapes need less (WCAG 1.4.11).
DRAWN = [(shape, "paper") for shape in ("kept", "removed", "other", "bytes", "bound")]


def luminance(color: str) -> float:
    """Relative luminance of a colour, as WCAG 2 defines it."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PAPER], ids=["light", "dark", "paper"])
@pytest.mark.parametrize(("pairs", "least"), [(WRITTEN, 4.5), (DRAWN, 3.0)], ids=["text", "shapes"])
def test_contrast(theme: dict[str, str], pairs: list[tuple[str, str]], least: float) -> None:
    said = {pair: round(contrast(theme[pair[0]], theme[pair[1]]), 2) for pair in pairs}
    assert not {pair: ratio for pair, ratio in said.items() if ratio < least}


def test_every_theme_has_every_colour() -> None:
    assert set(LIGHT) == set(DARK) == set(PAPER) >= set(charts.COLORS)
    assert set(re.findall(r"var\(--([a-z]+)\)", STYLE)) - {"width"} <= set(LIGHT)
