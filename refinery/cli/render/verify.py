"""Output of `refinery verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refinery.cli.render import console
from refinery.common.printable import printable

# Files to list of each part and problem.
_MOST = 50


def show(checked: Any) -> Iterator[str]:
    """Yield the lines of an outcome: each part, files that are not as recorded, what was not compared, the root."""
    for part in checked.parts:
        if not part.compared and part.files:
            yield f"{_title(part.part)}: not compared, as asked ({part.files:,} files)"
        elif part.files or any(problem.part == part.part for problem in checked.problems):
            yield f"{_title(part.part)}: {_outcome(part, checked.problems)}"
            yield from _listed([problem for problem in checked.problems if problem.part == part.part])
        elif part.compared and not all(other.compared for other in checked.parts):
            yield f"{_title(part.part)}: the run has none"
    for part, what in checked.left_out:
        yield f"note: no digest of {what}, among the {_title(part)}: it is no file"
    for part, reason in checked.not_searched:
        yield f"note: new files among the {_title(part)} were not looked for: {reason}"
    yield f"root {checked.root}, recorded {checked.recorded} ({checked.time})"


def recorded(digests: Any) -> Iterator[str]:
    """Yield the lines on digests that were recorded now."""
    size = sum(file.size for file in digests.files)
    yield f"digests of {len(digests.files):,} files, {console.size(size)}, are recorded as the files are now, {digests.recorded}"
    for part, what in digests.left_out:
        yield f"note: no digest of {what}, among the {_title(part)}: it is no file"
    yield f"root {digests.root}"


def _title(part: str) -> str:
    return part.replace("_", " ")


def _outcome(part: Any, problems: Any) -> str:
    own = [problem for problem in problems if problem.part == part.part]
    same = part.files - sum(problem.problem != "new" for problem in own)
    counts = [f"{same:,} of {part.files:,} files as recorded, {console.size(part.bytes)} in all"]
    for kind in ("differs", "missing", "unreadable", "new"):
        number = sum(problem.problem == kind for problem in own)
        counts += [f"{number:,} {kind if kind != 'differs' else 'different'}"] if number else []
    return ", ".join(counts)


def _listed(problems: list[Any]) -> Iterator[str]:
    for problem in problems[:_MOST]:
        detail = f" ({problem.detail})" if problem.detail else ""
        yield f"  {problem.problem:<10} {printable(problem.path)}{detail}"
    if len(problems) > _MOST:
        yield f"  and {len(problems) - _MOST:,} more, which --json lists"
