"""The page of `refinery diff --html`: one HTML file without scripts, in the style of the report."""

from __future__ import annotations

import os
from pathlib import Path

from refinery.errors import OutputError
from refinery.inspect.diff.diff import Difference, StatisticPair
from refinery.inspect.report.page import environment, style
from refinery.results.manifest import publish
from refinery.results.owned_files import OwnedFiles, pattern
from refinery.storage.run_folder import RunDir

_SECTIONS = {"recipes": "Recipes", "rows": "Rows", "statistics": "Statistics", "texts": "Texts"}


def page(found: Difference, limit: int) -> str:
    """The page. limit: lines of each list."""
    other = [fate for fate in found.fates if fate.a != fate.b]
    moved = [stat for stat in found.stats if _moments(stat)[0] != _moments(stat)[1]]
    left_out = ({"rows"} if found.apart is not None else set()) | ({"texts"} if found.texts is None else set())
    rendered = (
        environment()
        .get_template("diff.html")
        .render(
            found=found,
            limit=limit,
            style=style(),
            sections=[(name, title) for name, title in _SECTIONS.items() if name not in left_out],
            steps=[step for step in found.steps if step.change != "same" or step.renamed],
            outcomes=other,
            counts=_counts(found),
            moved=sorted(moved, key=lambda stat: -abs(stat.d or 0.0)),
            changed=[row for row in found.rows if row.changed],
        )
    )
    return rendered.rstrip("\n") + "\n"


def write_page(found: Difference, limit: int, output: str, overwrite: bool) -> Path:
    """Write the page, and list it among the files of the second run. Raises OutputError when it cannot be written."""
    path = Path(os.path.realpath(output) if os.path.islink(output) else output)
    run_dir = RunDir.of_finished(Path(found.b.folder))
    try:
        with OwnedFiles(run_dir, overwrite).claim([pattern(path)]):
            publish(path, page(found, limit))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}. Name another file with --html") from error
    return path


def _moments(stat: StatisticPair) -> tuple[tuple[object, ...], tuple[object, ...]]:
    return (stat.n_a, stat.mean_a, stat.std_a), (stat.n_b, stat.mean_b, stat.std_b)


def _counts(found: Difference) -> dict[str, int]:
    """Rows by what the runs made of them."""
    other = [fate for fate in found.fates if fate.a != fate.b]
    return {
        "rows": sum(fate.rows for fate in found.fates),
        "other": sum(fate.rows for fate in other),
        "both": sum(fate.rows for fate in found.fates if fate.a == fate.b == "kept"),
        "only_a": sum(fate.rows for fate in other if fate.a == "kept"),
        "only_b": sum(fate.rows for fate in other if fate.b == "kept"),
    }
