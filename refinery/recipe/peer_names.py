"""Names of operators in other tools, with ours: from the headers of operators, and a list of those that need none here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from refinery.operators.peers import PEERS, names_in
from refinery.recipe.peer_answers import ANSWERS
from refinery.recipe.protocols import LibraryLike


@dataclass(frozen=True)
class PeerName:
    """A name in another tool. tool: as in `PEERS`. ours: the operator here, or "". answer: what to write here instead."""

    tool: str
    name: str
    ours: str
    answer: str

    @property
    def key(self) -> str:
        """The name without case and underscores: recipes of users write either form."""
        return folded(self.name)


def folded(name: str) -> str:
    """A name in a form in which `WordCountFilter` is `word_count_filter`."""
    return name.replace("_", "").replace("-", "").replace(".", "").lower()


def peer_names(library: LibraryLike) -> list[PeerName]:
    """All names that are known, by tool and name; an operator of the same name is listed, too."""
    known: dict[tuple[str, str], PeerName] = {}
    for operator in library.operators.values():
        for tool, name in _of_operator(operator):
            chosen = _chosen(operator, tool)
            answer = f"- {operator.name}{f': {chosen}' if chosen else ''}"
            known.setdefault((tool, name), PeerName(tool, name, operator.name, answer))
    for tool, names, answer in ANSWERS:
        for name in names.split():
            known.setdefault((tool, name), PeerName(tool, name, "", answer))
    order = list(PEERS)
    return sorted(known.values(), key=lambda one: (order.index(one.tool), one.name.lower()))


def _of_operator(operator: object) -> Iterator[tuple[str, str]]:
    """Tool and name of each operator elsewhere that an operator stands for."""
    yield from names_in(str(getattr(operator, "peer", "")))
    tools = {short: tool for tool, short in PEERS.items()}
    for short, names in (getattr(operator, "peers", None) or {}).items():
        for name in [names] if isinstance(names, str) else names:
            yield tools[short], name


def _chosen(operator: object, tool: str) -> str:
    """The parameter that chooses a tool's meaning of a name, if the operator has it and the tool is not its default."""
    param = getattr(operator, "params", {}).get("as")
    choices = getattr(param, "choices", None) or ()
    short = PEERS[tool]
    return f"{{as: {short}}}" if short in choices and getattr(param, "default", None) != short else ""


def answer_to(name: str, library: LibraryLike) -> str | None:
    """A sentence that says what another tool's operator is here; None for a name that is not known."""
    wanted = folded(name)
    matches = [one for one in peer_names(library) if one.key == wanted]
    if not matches:
        return None
    return "; ".join(dict.fromkeys(map(sentence, matches)))


def sentence(one: PeerName) -> str:
    """The counterpart of another tool's operator."""
    return f"{one.name} of {one.tool} is here: {one.answer}"
