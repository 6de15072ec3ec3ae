"""View `compare`: the run beside another one that the command line names with --with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refinery.explore.browsing import other_run
from refinery.explore.model import Endpoint, Query, View
from refinery.explore.run import ExploredRun
from refinery.inspect.browse.word_diff import word_diff
from refinery.inspect.diff.diff import Difference, compare

# Examples of each kind of difference, and characters of a text that is compared word by word.
_EXAMPLES, _LONGEST = 50, 200_000


def others(run: ExploredRun, query: Query) -> list[dict[str, Any]]:
    """The runs that this one can be compared with."""
    return [{"number": number, "folder": str(folder)} for number, folder in enumerate(run.others)]


def compared(run: ExploredRun, query: Query) -> dict[str, Any]:
    """The differences from another run, computed once."""
    number = query.integer("number", least=0)
    other = other_run(run, number)
    found: Difference = run.remember(("compared", number), lambda: compare(run.folder, other, _EXAMPLES))
    answer = asdict(found)
    if found.texts is not None:
        answer["texts"]["examples"] = [
            {"row": pair.row, "diff": word_diff((pair.a or "")[:_LONGEST], (pair.b or "")[:_LONGEST])}
            for pair in found.texts.examples
        ]
        answer["texts"]["longest"] = _LONGEST
    return answer


VIEW = View("compare", "Compare", 70, (Endpoint("", others), Endpoint("{number}", compared)))
