"""Drawing with matplotlib: pictures as SVG inside a page.

The page's style sets the colours for light, dark and paper: each colour below is a placeholder that becomes a CSS
variable. Words stay text, for search and screen readers. A picture does not depend on the time or on earlier pictures.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

from refinery.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Placeholder colours, and the CSS variables that replace them.
INK, MUTED, GRID = "#010101", "#020202", "#030303"
KEPT, REMOVED, OTHER, BYTES = "#040404", "#050505", "#060606", "#070707"
BOUND, SHADE, PLUS, MINUS = "#080808", "#090909", "#0a0a0a", "#0b0b0b"
_VARIABLES = {
    INK: "ink", MUTED: "muted", GRID: "grid", KEPT: "kept", REMOVED: "removed", OTHER: "other", BYTES: "bytes",
    BOUND: "bound", SHADE: "shade", PLUS: "plus", MINUS: "minus",
}  # fmt: skip

_SETTINGS: Any = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 11,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "path.simplify": False,
}
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def require() -> None:
    """Check that matplotlib is installed. Raises OutputError that names the extra."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise OutputError(
            "a report needs matplotlib, which is not installed. Install the extra: pip install 'refinery[report]'"
        ) from error


@contextmanager
def drawing() -> Iterator[None]:
    """Use matplotlib's default settings, not the user's."""
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")  # a missing glyph does not matter: the page uses the reader's fonts
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def figure(
    width: float, height: float, left: float = 1, bottom: float = 1, top: float = 1, right: float = 1
) -> tuple[Figure, Any]:
    """Make a picture and its axes, with margins; all lengths are in units of which text is 11 high."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(width / 72, height / 72))
    place = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    return picture, picture.add_axes(place)


def written(picture: Figure, name: str, title: str, description: str) -> Markup:
    """Return the picture as an SVG element that scales to the width of its container. name: prefix of its ids."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        picture.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(file.getvalue())
    for part in (*root.findall(f"{_SVG}metadata"), *root.findall(f"{_SVG}defs")[:1]):  # the second is an empty style
        root.remove(part)
    _rename(root, name)
    _, _, width, height = root.attrib["viewBox"].split()
    labels = f"{name}-title {name}-desc"
    attributes = {"viewBox": f"0 0 {width} {height}", "role": "img", "aria-labelledby": labels, "class": "plot"}
    root.attrib.clear()
    root.attrib.update(attributes | {"style": f"--width: {float(width):.0f}px"})
    for at, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(tag, {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(at, element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _rename(root: Any, name: str) -> None:
    """Make element names plain, ids unique and only those in use, and colours CSS variables."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        if (link := element.attrib.pop(_LINK, None)) is not None:
            element.attrib["href"] = f"#{name}-{link.removeprefix('#')}"
        own = element.attrib.pop("id", None)
        if own in used:
            element.attrib["id"] = f"{name}-{own}"
        if element.attrib.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        for key, value in element.attrib.items():
            element.attrib[key] = _value(value, name) if key in ("style", "clip-path") else value
        element.text = element.text if element.tag == "text" else None
        element.tail = None


def _value(value: str, name: str) -> str:
    """Replace colours by CSS variables, drop fonts, and rename references."""
    value = re.sub(r"url\(#", f"url(#{name}-", value)
    value = re.sub(r"font: (?:[\w.]+ )*?([\d.]+px) [^;]*", r"font-size: \1", value)
    value = re.sub(r"font-family: [^;]*(?:; |$)", "", value)
    return re.sub(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]\b", _variable, value)


def _variable(found: re.Match[str]) -> str:
    return f"var(--{_VARIABLES[found[0]]})" if found[0] in _VARIABLES else found[0]
