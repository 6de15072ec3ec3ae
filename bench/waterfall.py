"""Draw the waterfall of a run as an SVG file: rows that each step gets, keeps and removes, with the most frequent reason.

    python -m bench.waterfall outputs/web_sample docs/waterfall.svg

The picture has colours for light and dark pages, and needs no font of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import refinery

LABELS, BARS, NOTES, ROW, TOP = 290, 230, 390, 24, 44
WIDTH = LABELS + BARS + NOTES
STEPS = """
SELECT step, operator, rows_in, rows_out, coalesce(changed, 0), rows_in - rows_out, reason
FROM waterfall LEFT JOIN (
    SELECT step, arg_min(reason, (-rows, reason)) AS reason
    FROM (SELECT step, reason, count(*) AS rows FROM ledger GROUP BY ALL) GROUP BY step
) USING (step)
ORDER BY rows_in DESC, step
"""
STYLE = """
svg { font: 13px system-ui, sans-serif; }
.page { fill: #ffffff; } .ink { fill: #1f2328; } .muted { fill: #59636e; }
.kept { fill: #2f81b7; } .gone { fill: #d1603d; } .title { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } .ink { fill: #e6edf3; } .muted { fill: #9198a1; }
  .kept { fill: #4ea1d3; } .gone { fill: #e5835f; }
}
"""


@dataclass(frozen=True)
class WaterfallRow:
    """One step of a run. lost: rows that it removed or put into quarantine."""

    step: int
    operator: str
    rows_in: int
    rows_out: int
    changed: int
    lost: int
    reason: str | None

    @property
    def note(self) -> str:
        """The number of rows that are left, and what became of the others."""
        if self.lost and self.step == 0:
            return f"{self.rows_out:,} readable, {self.lost:,} in quarantine"
        if self.lost:
            return f"{self.rows_out:,} left, {self.lost:,} removed: {self.reason or 'in quarantine'}"
        return f"{self.rows_out:,} left" + (f", {self.changed:,} changed" if self.changed else "")


def rows_of(run_folder: Path) -> tuple[list[WaterfallRow], str]:
    """The rows of a run's waterfall, and the sentence that accounts for all of its rows."""
    run = refinery.open(run_folder)
    counts = run.counts
    total = f"{counts.read:,} rows read = {counts.kept:,} kept + {counts.removed:,} removed + {counts.quarantined:,} quarantined"
    return [WaterfallRow(*row) for row in run.sql(STEPS).fetchall()], total


def picture(rows: Sequence[WaterfallRow], total: str) -> str:
    """The SVG document."""
    height = TOP + ROW * len(rows) + 12
    svg = ElementTree.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}", "role": "img", "aria-label": total},
    )
    ElementTree.SubElement(svg, "style").text = STYLE
    _add(svg, "rect", "page", width=WIDTH, height=height)
    _add(svg, "text", "ink title", x=16, y=26).text = total
    most = max(row.rows_in for row in rows)
    for at, row in enumerate(rows):
        _draw(svg, row, TOP + at * ROW, BARS / most)
    ElementTree.indent(svg)
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _draw(svg: ElementTree.Element, row: WaterfallRow, top: int, scale: float) -> None:
    base = top + 16
    _add(svg, "text", "muted", x=32, y=base, text_anchor="end").text = str(row.step or "")
    _add(svg, "text", "ink", x=42, y=base).text = row.operator
    kept, gone = round(row.rows_out * scale, 1), round(row.lost * scale, 1)
    _add(svg, "rect", "kept", x=LABELS, y=top + 4, width=kept, height=ROW - 8)
    if gone:
        _add(svg, "rect", "gone", x=round(LABELS + kept, 1), y=top + 4, width=gone, height=ROW - 8)
    _add(svg, "text", "muted", x=LABELS + BARS + 10, y=base).text = row.note


def _add(svg: ElementTree.Element, tag: str, style: str, **places: object) -> ElementTree.Element:
    attributes = {name.replace("_", "-"): str(value) for name, value in places.items()}
    return ElementTree.SubElement(svg, tag, {"class": style, **attributes})


def main() -> None:
    """Draw the waterfall of the run that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("svg", type=Path)
    arguments = parser.parse_args()
    arguments.svg.write_text(picture(*rows_of(arguments.run)), encoding="utf-8")


if __name__ == "__main__":
    main()
