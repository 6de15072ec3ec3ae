"""Other tools whose operators ours match, and their names for them in the headers of operators."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The tools, as headers write them, and the names by which parameters `as` and `peers` know them.
PEERS = {
    "Data-Juicer": "data_juicer",
    "datatrove": "datatrove",
    "DCLM": "dclm",
    "datamap-rs": "datamap",
    "dolma": "dolma",
    "NeMo Curator": "nemo",
}
_TOOL = rf"({'|'.join(map(re.escape, PEERS))})(?: \d[\w.]*)?"
_OF = re.compile(rf"(?:^|[,;] )(\w+) of {_TOOL}((?:,? and of {_TOOL})*)")
_TOOLS = re.compile(_TOOL)


def names_in(peer: str) -> Iterator[tuple[str, str]]:
    """Tool and name of each operator that a header's `peer` names: `X of datatrove 0.10.1, Y of DCLM and of datamap-rs`."""
    for match in _OF.finditer(peer):
        for tool in (match[2], *(other[1] for other in _TOOLS.finditer(match[3] or ""))):
            yield tool, match[1]
