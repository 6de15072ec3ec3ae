"""Reproducible prose in ten languages, from the templates in `vocabulary/`.

Everything is drawn through `Dice`, which uses only `random()`, the one generator method whose sequence Python promises
to keep, so a seed gives the same text on every version.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

VOCABULARY = Path(__file__).with_name("vocabulary")
SLOT = re.compile(r"\{([^{}\\ ]+)\}")

FIRST_NAMES = "Ada Bruno Clara Dmitri Elif Farid Greta Hana Ines Jonas Lucia Mateo Nadia Omar Petra Rui Sofia".split()
LAST_NAMES = "Almeida Brandt Castillo Dubois Egger Farouk Gomez Haas Ito Jansen Kuznetsov Moreau Novak Okada".split()
HOSTS = ("example.com", "example.org", "example.net", "harbour.example.org", "news.example.com", "wiki.example.net")
WORDS = (
    "river bench signal garden packet window ledger harvest mirror socket anchor thread valley engine bucket".split()
)
VERBS = "load merge count split trim send check close open build sort read write move copy find".split()

T = TypeVar("T")


class Dice(random.Random):
    """Random choices whose sequence does not depend on the Python version."""

    def below(self, end: int) -> int:
        return int(self.random() * end)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def mixed(self, items: Sequence[T]) -> list[T]:
        """The items in another order."""
        return [item for _, item in sorted(((self.random(), index), item) for index, item in enumerate(items))]


@cache
def vocabulary(lang: str) -> dict[str, Any]:
    """The templates of a language: every block of lines as a list."""
    return _lists(yaml.safe_load((VOCABULARY / f"{lang}.yaml").read_text(encoding="utf-8")))


def _lists(node: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, dict):
            made[key] = _lists(value)
        else:
            made[key] = value if key == "space" and not value.strip() else value.splitlines()
    return made


class Writer:
    """Writes sentences, paragraphs and titles of one language about one to three topics."""

    def __init__(self, dice: Dice, lang: str, topics: int = 1) -> None:
        self.dice = dice
        self.lang = lang
        self.words = vocabulary(lang)
        self.space: str = self.words["space"]
        self.topics = dice.mixed(list(self.words["topics"]))[:topics]
        self._deck: list[str] = []

    def slots(self) -> dict[str, list[str]]:
        merged = dict(self.words["slots"])
        for topic in self.topics:
            merged.update(self.words["topics"][topic].get("slots", {}))
        return merged

    def title(self) -> str:
        titles: list[str] = self.words["topics"][self.topics[0]]["titles"]
        return self.dice.pick(titles)

    def sentence(self) -> str:
        """The next sentence; no sentence is repeated before all have been used once."""
        if not self._deck:
            own = [line for topic in self.topics for line in self.words["topics"][topic]["sentences"]]
            self._deck = self.dice.mixed(own + self.words["sentences"])
        return self.fill(self._deck.pop())

    def paragraph(self, low: int = 3, high: int = 6) -> str:
        return self.space.join(self.sentence() for _ in range(self.dice.between(low, high)))

    def paragraphs(self, low: int, high: int) -> str:
        return "\n\n".join(self.paragraph() for _ in range(self.dice.between(low, high)))

    def line(self, kind: str) -> str:
        """One line of `boilerplate`, `replies` or `contact`."""
        return self.fill(self.dice.pick(self.words[kind]))

    def fill(self, template: str) -> str:
        slots = self.slots()

        def value(match: re.Match[str]) -> str:
            name = match.group(1)
            if name in BUILT_IN:
                return BUILT_IN[name](self.dice)
            if name in slots:
                return self.fill(self.dice.pick(slots[name]))
            text = self.fill(self.dice.pick(slots[name.lower()]))
            return text[:1].upper() + text[1:]

        return SLOT.sub(value, template)


def person(dice: Dice) -> str:
    return f"{dice.pick(FIRST_NAMES)} {dice.pick(LAST_NAMES)}"


def email(dice: Dice) -> str:
    first, last = person(dice).lower().split()
    return dice.pick((f"{first}.{last}", f"{first}_{last}{dice.below(90)}", f"{last}+list")) + "@" + dice.pick(HOSTS)


def link(dice: Dice) -> str:
    path = "/".join(dice.pick(WORDS) for _ in range(dice.between(1, 3)))
    tail = dice.pick(("", ".html", f"?page={dice.below(40)}", "#top", f"/{dice.between(1990, 2025)}/"))
    return dice.pick(("https://", "http://", "https://www.", "www.", "ftp://")) + f"{dice.pick(HOSTS)}/{path}{tail}"


def ip(dice: Dice) -> str:
    """An address from the ranges reserved for documentation."""
    if dice.chance(0.2):
        return "2001:db8:0:0:" + ":".join(f"{dice.below(65536):x}" for _ in range(4))
    return f"{dice.pick(('192.0.2', '198.51.100', '203.0.113'))}.{dice.between(1, 254)}"


BUILT_IN: dict[str, Callable[[Dice], str]] = {
    "n": lambda dice: str(dice.between(3, 97)),
    "year": lambda dice: str(dice.between(1871, 2024)),
    "name": person,
    "email": email,
    "link": link,
    "ip": ip,
    "cite": lambda dice: rf"\cite{{{dice.pick(LAST_NAMES).lower()}{dice.between(70, 99)}}}",
    "ref": lambda dice: rf"\ref{{fig:{dice.pick(WORDS)}}}",
}


def python_code(dice: Dice) -> str:
    verb, thing, other = dice.pick(VERBS), dice.pick(WORDS), dice.pick(WORDS)
    return (
        f"def {verb}_{thing}({other}s, limit={dice.between(2, 90)}):\n"
        f'    """{verb.capitalize()} every {thing} that belongs to one of the {other}s."""\n'
        f"    found = []\n"
        f"    for {other} in {other}s:\n"
        f"        if {other}.{thing} is None or len(found) >= limit:\n"
        f"            continue\n"
        f"        found.append({other}.{thing})\n"
        f"    return sorted(found, key=lambda item: item.{dice.pick(WORDS)}_id)\n"
    )


def javascript_code(dice: Dice) -> str:
    verb, thing, other = dice.pick(VERBS), dice.pick(WORDS), dice.pick(WORDS)
    return (
        f"export async function {verb}{thing.capitalize()}({other}, options = {{}}) {{\n"
        f"  const answer = await fetch(`/api/{thing}/${{{other}.id}}`, {{ method: 'POST', ...options }});\n"
        f"  if (!answer.ok) {{\n"
        f"    throw new Error(`cannot {verb} the {thing}: ${{answer.status}}`);\n"
        f"  }}\n"
        f"  return (await answer.json()).{other}s ?? [];\n"
        f"}}\n"
    )


def c_code(dice: Dice) -> str:
    verb, thing, size = dice.pick(VERBS), dice.pick(WORDS), dice.pick((64, 128, 512, 4096))
    return (
        f"/* {verb.capitalize()} the {thing}; returns the number of bytes, or -1. */\n"
        f"static int {thing}_{verb}(struct {thing} *self, const char *path)\n"
        f"{{\n"
        f"    char buffer[{size}];\n"
        f"    size_t total = 0;\n"
        f"    while (self->next && total < sizeof(buffer)) {{\n"
        f"        total += (size_t) self->next->length;\n"
        f"        self->next = self->next->next;\n"
        f"    }}\n"
        f"    return total ? (int) total : -1;\n"
        f"}}\n"
    )


def shell_code(dice: Dice) -> str:
    verb, thing = dice.pick(VERBS), dice.pick(WORDS)
    return (
        f"$ {thing}ctl {verb} --jobs {dice.between(1, 16)} --output /var/lib/{thing}/{dice.pick(WORDS)}.log\n"
        f"{verb} finished in {dice.between(2, 97)}.{dice.below(10)} s\n"
    )


CODE: dict[str, Callable[[Dice], str]] = {"python": python_code, "js": javascript_code, "c": c_code, "sh": shell_code}
