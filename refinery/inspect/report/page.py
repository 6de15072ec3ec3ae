"""The report page of a run: one HTML file that loads nothing else."""

from __future__ import annotations

import json
import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from refinery.common.numbers import number, rate, size
from refinery.errors import OutputError
from refinery.inspect.report import figures
from refinery.inspect.report.alerts import read_alerts
from refinery.inspect.report.contamination import read_contamination
from refinery.inspect.report.differences import difference
from refinery.inspect.report.duplicates import ROWS, read_duplicates
from refinery.inspect.report.examples import read_examples
from refinery.inspect.report.facts import MOST_FILES, ReportStep, read_facts, read_reasons, read_steps
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.resources import read_resources
from refinery.inspect.report.sources import MOST as MOST_SOURCES
from refinery.inspect.report.sources import read_sources
from refinery.inspect.report.statistics import (
    MOST_DETAILS,
    MOST_LISTED,
    QUANTILES,
    Correlations,
    Statistic,
    read_analysis,
    read_correlations,
    read_statistics,
)
from refinery.inspect.report.tables import Row, RunTables
from refinery.inspect.report.visible import beginning, visible
from refinery.results import manifest
from refinery.results.owned_files import OwnedFiles, pattern
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_stdout

SECTIONS = (
    ("alerts", "Look here first"),
    ("ran", "What ran"),
    ("waterfall", "Waterfall"),
    ("statistics", "Statistics"),
    ("correlations", "Correlations"),
    ("analysis", "Analysis"),
    ("removed", "Removed samples"),
    ("changed", "Changed samples"),
    ("duplicates", "Duplicates"),
    ("contamination", "Contamination"),
    ("sources", "Sources"),
    ("quarantine", "Quarantine"),
    ("timings", "Timings"),
)
# Characters to show of a sample, characters of a line in quarantine, lines of either; lines in quarantine and kinds of
# errors to list.
_TEXT, _RAW, _LINES = 500, 200, 8
_BROKEN, _ERRORS = 50, 20
# Pairs of statistics in the table beside the map.
_PAIRS = 15
_TEMPLATES = Path(__file__).parent / "templates"


def report(work_dir: Path, output: str | None, overwrite: bool = False) -> Path | None:
    """Write the page of a run; output: a file, `-` for standard output, None for the default place in the run folder.

    overwrite: replace even a file that neither a run nor a report has written.

    Returns the file. Raises DataError when there is no finished run, OutputError when the page cannot be written.
    """
    text = page(work_dir)
    if output is not None and is_stdout(output):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())  # UTF-8, whatever the terminal's encoding is
        return None
    run_dir = RunDir.of_finished(work_dir)
    path = Path(os.path.realpath(output) if os.path.islink(output) else output) if output else run_dir.report
    try:
        with OwnedFiles(run_dir, overwrite).claim([pattern(path)]):
            manifest.publish(path, text, None if output else run_dir.aside(path))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}. Name another file with -o") from error
    return path


def page(work_dir: Path) -> str:
    """Return the page as HTML, the same for the same run. Raises DataError when there is no finished run."""
    with RunTables(work_dir) as tables, Replay(work_dir) as again:
        facts, steps = read_facts(tables), read_steps(tables)
        statistics = read_statistics(tables, steps, again)
        sources, duplicates = read_sources(tables, again), read_duplicates(tables, steps, again)
        content: dict[str, Any] = {
            "facts": facts,
            "steps": steps,
            "reasons": read_reasons(tables, steps),
            "labels": {step.step: step.label for step in steps},
            "statistics": statistics,
            "correlations": read_correlations(tables, statistics),
            "analysis": read_analysis(tables),
            "examples": read_examples(tables, steps, again, sources.column is not None),
            "duplicates": duplicates,
            "contamination": read_contamination(tables),
            "alerts": read_alerts(tables, facts, steps, sources, duplicates),
            "sources": sources,
            "broken": [_legible(row) for row in tables.query("quarantine", limit=_BROKEN, width=_RAW + 1)],
            "errors": tables.query("errors", limit=_ERRORS),
            "why_not": again.why_not,
            "resources": read_resources(tables),
        }
    plots = _plots(steps, statistics, content["correlations"], content["duplicates"])
    limits = {"details": MOST_DETAILS, "listed": MOST_LISTED, "sources": MOST_SOURCES, "files": MOST_FILES}
    limits |= {"rows": ROWS, "broken": _BROKEN, "pairs": _PAIRS, "text": _TEXT, "raw": _RAW}
    rendered = (
        environment()
        .get_template("page.html")
        .render(**content, plots=plots, style=style(), sections=_sections(content), limits=limits, quantiles=QUANTILES)
    )
    return rendered.rstrip("\n") + "\n"


def style() -> Markup:
    """The style sheet."""
    return Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8"))


def _sections(content: dict[str, Any]) -> list[tuple[str, str]]:
    """The sections of the page; those of an analysis and of evaluation sets only if the run has them."""
    optional = ("analysis", "contamination")
    return [section for section in SECTIONS if section[0] not in optional or content[section[0]] is not None]


@cache
def environment() -> jinja2.Environment:
    """Jinja environment that escapes all values; an undefined name is an error. It compiles its templates once."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "visible": visible,
        "excerpt": _excerpt,
        "number": number,
        "value": _value,
        "short": _short,
        "files": _files,
        "size": size,
        "share": _share,
        "setting": _setting,
    }
    env.globals |= {"difference": difference, "rate": rate}
    return env


def _excerpt(text: str, width: int = _TEXT) -> Markup:
    return visible(beginning(text, width, _LINES))


def _value(value: object) -> str:
    """A number, or a dash for None."""
    return "–" if value is None else number(value)


def _short(value: float | None) -> str:
    """A number in about four digits, for large tables."""
    if value is None:
        return "–"
    return number(round(value)) if abs(value) >= 1000 else f"{value:.4g}"


def _files(count: int) -> str:
    return f"{count:,} file" if count == 1 else f"{count:,} files"


def _setting(value: object) -> str:
    """A parameter as written in a recipe."""
    plain = isinstance(value, str) and value.isprintable() and value.strip() == value != ""
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def _legible(row: Row) -> Row:
    """A row of the quarantine, with invalid UTF-8 bytes as \\xff."""
    return row if row["bytes"] is None else row | {"raw": row["bytes"].decode("utf-8", "backslashreplace")}


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.1f} %" if total else "–"


def _plots(
    steps: list[ReportStep], statistics: list[Statistic], correlations: Correlations | None, duplicates: list[Any]
) -> dict[str, Markup]:
    """Every picture, by its name."""
    todo: dict[str, Any] = {}
    if steps:
        todo["rows"] = partial(figures.waterfall, steps, "rows")
        todo["bytes"] = partial(figures.waterfall, steps, "bytes")
        todo["timings"] = partial(figures.timings, steps)
    if correlations is not None:
        todo["correlations"] = partial(figures.correlations, correlations)
    for at, statistic in enumerate(statistics):
        if statistic.histogram is not None:
            draw = partial(figures.histogram, statistic, statistic.histogram)
            todo[statistic.column] = partial(draw, f"histogram-{at}")
    for duplicate in duplicates:
        if duplicate.sizes:
            name = f"sizes-{duplicate.step.step}"
            todo[name] = partial(figures.cluster_sizes, name, duplicate.sizes)
    return {name: draw() for name, draw in todo.items()}
