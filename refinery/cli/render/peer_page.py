"""The page docs/peer-names.md: names of other tools, and ours. `python -m refinery.cli.render.peer_page` prints it."""

from __future__ import annotations

from refinery.operators import Library
from refinery.operators.peers import PEERS
from refinery.recipe.peer_names import PeerName, peer_names

_INTRO = """# Their name, our name

This page lists the operators of other tools and what a recipe of refinery has instead. `make docs` writes it from the headers
of operators. `refinery ops NAME` and `refinery check` answer with the same lines. Where several tools have an operator of one
name with different results, `as` chooses the tool.

Pages for people who come from one of these tools: [datatrove](coming-from-datatrove.md),
[Data-Juicer](coming-from-data-juicer.md), [DCLM, datamap-rs and dolma](coming-from-dclm-and-dolma.md),
[NeMo Curator](coming-from-nemo-curator.md).
"""


def page(library: Library) -> str:
    """The page as Markdown."""
    known, parts = peer_names(library), [_INTRO]
    for tool in PEERS:
        rows = [one for one in known if one.tool == tool]
        parts.append(f"\n## {tool}\n\n| {tool} | here |\n|---|---|\n" + "".join(map(_row, rows)))
    return "".join(parts)


def _row(one: PeerName) -> str:
    here = one.answer.replace("|", "\\|")
    if one.ours:
        chosen = one.answer.removeprefix(f"- {one.ours}").removeprefix(":").strip()
        here = f"[{one.ours}](operators.md#{one.ours})" + (f" `{chosen}`" if chosen else "")
    elif here.startswith("- ") and " and " not in here and not here.endswith("."):
        here = f"`{here}`"
    return f"| `{one.name}` | {here} |\n"


def main() -> None:
    """Print the page."""
    print(page(Library()), end="")


if __name__ == "__main__":
    main()
