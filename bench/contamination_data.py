"""Evaluation items of several kinds, documents into which copies of them are planted, and innocent documents that look like it.

Everything is written by seeded templates and words of the bundled samples. A document knows how it was made, so recall and precision are
counted by kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.prose import FIRST_NAMES, Dice, Writer

ROOT = Path(__file__).parent.parent
KINDS = ("choice", "maths", "passage", "code", "short", "script")
COPIES = ("exact", "cut", "reordered", "edited", "reformatted")
INNOCENT = ("plain", "licence", "idiom", "statement", "numbers", "topic", "quotation")
SCRIPTS = ("zh", "ja", "ru", "ar", "hi")
UNSPACED = ("zh", "ja")
IDIOMS = (
    "at the end of the day", "when it comes to", "it goes without saying that", "on the other hand", "as far as the eye can see",
    "the tip of the iceberg", "for what it is worth", "the best of both worlds", "all other things being equal",
)  # fmt: skip
STATEMENTS = (
    "Given an array of integers, return the indices of two numbers that add up to a given target.",
    "Write a function that takes a string and returns it with the words in reverse order.",
    "You are given a list of tasks; print them in an order in which every task follows those it depends on.",
    "A train leaves the station at noon and travels at a constant speed towards the next town.",
)
QUESTION = "Choose the correct answer. Which of the following statements is true?"


class Item(NamedTuple):
    """An item: its kind, the fields of a row of its set, and the text that is copied."""

    kind: str
    row: dict[str, Any]
    text: str


class Document(NamedTuple):
    """A document: how it was made, and the id of the item that it has a copy of, empty for an innocent one."""

    kind: str
    copy: str
    text: str
    item: str = ""


@cache
def lexicon() -> list[str]:
    """Words of four letters or more of the bundled samples, in order of the alphabet."""
    words = re.findall(r"\b[a-z]{4,11}\b", " ".join(base_texts()))
    return sorted(set(words))


@cache
def base_texts() -> list[str]:
    """Texts of the bundled samples, and prose of templates."""
    lines = (ROOT / "recipes" / "data" / "web_sample.jsonl").read_text("utf-8", errors="ignore").split("\n")
    texts = []
    for line in lines:
        try:
            texts.append(json.loads(line)["text"])
        except (ValueError, KeyError, TypeError):
            continue
    return [text for text in texts if isinstance(text, str) and len(text) > 400]


def items(dice: Dice, number: int) -> list[Item]:
    """Items of all kinds in turn."""
    return [_MAKERS[KINDS[at % len(KINDS)]](dice, f"{KINDS[at % len(KINDS)]}-{at}") for at in range(number)]


def _phrase(dice: Dice, low: int, high: int) -> str:
    return " ".join(dice.pick(lexicon()) for _ in range(dice.between(low, high)))


def _sentence(dice: Dice) -> str:
    a, b, c, d = (dice.pick(lexicon()) for _ in range(4))
    forms = (
        f"The {a} {b} near the {c} was {d} by a {_phrase(dice, 1, 3)}.",
        f"After the {a}, every {b} in the {c} began to {d} the {_phrase(dice, 2, 4)}.",
        f"Nobody had seen a {a} {b} before, although the {c} {d} {_phrase(dice, 2, 3)}.",
        f"In {dice.between(1600, 2020)} a {a} of {b} {c} reached the {d} with {_phrase(dice, 2, 5)}.",
        f"{dice.pick(IDIOMS).capitalize()}, the {a} and the {b} {c} over their {d}.",
    )
    return dice.pick(forms)


def _choice(dice: Dice, name: str) -> Item:
    question = f"Which {_phrase(dice, 2, 3)} of the {_phrase(dice, 1, 2)} does the {_phrase(dice, 2, 3)} use to {_phrase(dice, 2, 4)}?"
    choices = [f"The {_phrase(dice, 2, 4)}" for _ in range(4)]
    row = {
        "id": name,
        "question": f"{QUESTION} {question}" if dice.chance(0.5) else question,
        "choices": choices,
        "answer": dice.below(4),
    }
    return Item(
        "choice",
        row,
        question + "\n" + "\n".join(f"{letter}) {one}" for letter, one in zip("ABCD", choices, strict=True)),
    )


def maths(dice: Dice) -> str:
    """A word problem; two of them differ in names, things and numbers."""
    who, other = dice.mixed(FIRST_NAMES)[:2]
    thing, place, kind = dice.pick(lexicon()), dice.pick(lexicon()), dice.pick(lexicon())
    a, b, c, d = (dice.between(3, 97) for _ in range(4))
    forms = (
        f"{who} has {a} {kind} {thing}s in the {place}. {other} brings {b} more and takes {c} of them home. Each {thing} costs {d} coins. "
        f"How many coins are the {thing}s worth that {who} has left?",
        f"A {place} sells {a} boxes of {thing}s every day, and each box holds {b} of them. On {c} days of the month {who} buys {d} {kind} boxes. "
        f"How many {thing}s does {who} buy in that month?",
        f"{who} walks {a} steps to the {place} while {other} walks {b} steps with a {kind} {thing}. They meet after {c} minutes and rest for {d}. "
        f"How many steps do both of them walk in total?",
    )
    return dice.pick(forms)


def _maths(dice: Dice, name: str) -> Item:
    text = maths(dice)
    return Item("maths", {"id": name, "question": text, "answer": f"#### {dice.between(10, 900)}"}, text)


def _passage(dice: Dice, name: str) -> Item:
    text = " ".join(_sentence(dice) for _ in range(dice.between(6, 16)))
    row = {
        "id": name,
        "passage": text,
        "question": f"What did the {_phrase(dice, 2, 3)} do with the {_phrase(dice, 2, 3)}?",
        "answer": _phrase(dice, 1, 3),
    }
    return Item("passage", row, text)


@cache
def licences() -> list[str]:
    """Paragraphs of the project's licence."""
    paragraphs = (ROOT / "LICENSE").read_text("utf-8").split("\n\n")
    return [" ".join(one.split()) for one in paragraphs if len(one.split()) > 40]


def _code(dice: Dice, name: str) -> Item:
    statement = (
        f"Write a function {dice.pick(lexicon())}_{dice.pick(lexicon())} that takes a list of {_phrase(dice, 2, 3)} and a number of {_phrase(dice, 1, 2)}. "
        f"It must {_phrase(dice, 1, 1)} every {_phrase(dice, 2, 3)} whose {_phrase(dice, 1, 2)} is below {dice.between(3, 900)}, and return the {_phrase(dice, 3, 5)}."
    )
    head = f"{dice.pick(STATEMENTS)} " if dice.chance(0.3) else ""
    licence = f"# {dice.pick(licences())}\n" if dice.chance(0.3) else ""
    row = {"task_id": name, "prompt": licence + head + statement, "canonical_solution": _solution(dice)}
    return Item("code", row, statement)


def _solution(dice: Dice) -> str:
    a, b, c = (dice.pick(lexicon()) for _ in range(3))
    return (
        f"def {a}_{b}({c}):\n    total = []\n    for {a} in {c}:\n        if {a} % {dice.between(2, 90)} != {dice.between(2, 9)}:\n"
        f"            total.append({a} * {dice.between(2, 90)} + len({b}))\n    return sum(total) - {dice.between(2, 900)}\n"
    )


def _short(dice: Dice, name: str) -> Item:
    question = f"Which {_phrase(dice, 1, 1)} {_phrase(dice, 1, 1)} first {_phrase(dice, 1, 1)} the {_phrase(dice, 2, 2)} of {_phrase(dice, 2, 4)}?"
    return Item("short", {"id": name, "question": question, "answer": _phrase(dice, 1, 2)}, question)


def _script(dice: Dice, name: str) -> Item:
    lang = dice.pick(SCRIPTS)
    sentences = [_foreign(dice, lang) for _ in range(dice.between(4, 7))]
    text = ("" if lang in UNSPACED else " ").join(sentences)
    return Item("script", {"id": name, "question": text, "answer": ""}, text)


@cache
def _words_of(lang: str) -> list[str]:
    text = Writer(Dice(0), lang, 3).paragraph(60, 60)
    if lang in UNSPACED:
        clean = re.sub(r"[\W\d]+", "", text)
        return sorted({clean[at : at + 2] for at in range(len(clean) - 1)})
    return sorted(set(re.findall(r"[^\W\d]{2,}", text)))


def _foreign(dice: Dice, lang: str) -> str:
    """A sentence of words in any order of a language in another script."""
    words = [dice.pick(_words_of(lang)) for _ in range(dice.between(8, 14))]
    return "".join(words) + "\u3002" if lang in UNSPACED else " ".join(words) + "."


_MAKERS: dict[str, Callable[[Dice, str], Item]] = {
    "choice": _choice, "maths": _maths, "passage": _passage, "code": _code, "short": _short, "script": _script,
}  # fmt: skip


def copied(dice: Dice, text: str, how: str) -> str:
    """A copy of a text of some kind."""
    return _COPIES[how](dice, text)


def _cut(dice: Dice, text: str) -> str:
    units = text.split(" ") if " " in text else list(text)
    length = int(len(units) * (0.55 + 0.25 * dice.random()))
    start = dice.pick((0, len(units) - length, (len(units) - length) // 2))
    return ("" if " " not in text else " ").join(units[start : start + length])


def _reordered(dice: Dice, text: str) -> str:
    sentences = [one for one in re.split(r"(?<=[.?!。？！।])\s*|\n", text) if one.strip()]
    return " ".join(dice.mixed(sentences))


def _edited(dice: Dice, text: str) -> str:
    if " " not in text:
        return "".join(dice.pick(text) if dice.chance(0.04) else one for one in text)
    words = text.split(" ")
    for _ in range(max(1, round(len(words) * (0.05 + 0.05 * dice.random())))):
        at = dice.below(len(words))
        word = words[at]
        if re.search(r"\d", word):
            continue
        words[at] = dice.pick(
            (dice.pick(lexicon()), "", f"{word} {dice.pick(lexicon())}", word[:2] + word[3:], word + "e")
        )
    return " ".join(words)


def _reformatted(dice: Dice, text: str) -> str:
    styles: Sequence[Callable[[str], str]] = (
        str.upper,
        lambda text: re.sub(r"[,.;:?!)]", "", text),
        lambda text: re.sub(r" ", lambda _: dice.pick((" ", " ", "  ", "\n", "\u00a0")), text),
        lambda text: "<p>" + " ".join(f"<b>{one}</b>" if dice.chance(0.2) else one for one in text.split(" ")) + "</p>",
        lambda text: " ".join(f"**{one}**" if dice.chance(0.2) else one for one in text.split(" ")),
        lambda text: "> " + text.replace("\n", "\n> ").replace(". ", ".\n> "),
    )
    return dice.pick(styles)(text)


_COPIES: dict[str, Callable[[Dice, str], str]] = {
    "exact": lambda _, text: text, "cut": _cut, "reordered": _reordered, "edited": _edited, "reformatted": _reformatted,
}  # fmt: skip


def planted(dice: Dice, item: Item, how: str) -> Document:
    """A document with a copy of an item amid other paragraphs."""
    copy = copied(dice, item.text, how)
    return Document(item.kind, how, _amid(dice, copy), next(iter(item.row.values())))


def _amid(dice: Dice, text: str) -> str:
    paragraphs = dice.pick(base_texts()).split("\n\n")
    at = dice.below(len(paragraphs) + 1)
    glue = "\n\n" if dice.chance(0.6) else " "
    return glue.join([*paragraphs[:at], text, *paragraphs[at:]])


def innocent(dice: Dice, how: str, known: Sequence[Item]) -> Document:
    """A document without a copy of an item."""
    return Document("", how, _amid(dice, _INNOCENT[how](dice, known)))


def _numbers(dice: Dice, known: Sequence[Item]) -> str:
    """A problem of an item with other numbers and names."""
    text = dice.pick([item.text for item in known if item.kind == "maths"])
    for name in FIRST_NAMES:
        text = text.replace(name, dice.pick(FIRST_NAMES))
    return re.sub(r"\d+", lambda _: str(dice.between(98, 300)), text)


def _topic(dice: Dice, known: Sequence[Item]) -> str:
    """Sentences with words of an item."""
    words = [word for word in re.findall(r"\w{4,}", dice.pick([item.text for item in known if item.kind != "script"]))]
    return (
        " ".join(f"There was a {dice.pick(words)}, and {_phrase(dice, 2, 6)} {dice.pick(words)}." for _ in range(8))
        if words
        else ""
    )


def _quotation(dice: Dice, known: Sequence[Item]) -> str:
    """The first sentence of a long passage."""
    return (
        dice.pick([item.text for item in known if item.kind == "passage" and len(item.text) > 700]).split(".")[0] + "."
    )


_INNOCENT: dict[str, Callable[[Dice, Sequence[Item]], str]] = {
    "plain": lambda dice, _: _sentence(dice),
    "licence": lambda dice, _: "\n".join(dice.mixed(licences())[: dice.between(1, 4)]),
    "idiom": lambda dice, _: " ".join(f"{idiom.capitalize()}, {_phrase(dice, 3, 8)}." for idiom in dice.mixed(IDIOMS)[:5]),
    "statement": lambda dice, _: f"{dice.pick(STATEMENTS)} {_sentence(dice)} {QUESTION}",
    "numbers": _numbers,
    "topic": _topic,
    "quotation": _quotation,
}  # fmt: skip


def documents(dice: Dice, known: Sequence[Item], each: int) -> list[Document]:
    """`each` documents of every kind of copy and item, and as many innocent ones of each kind."""
    made = [
        planted(dice, dice.pick([item for item in known if item.kind == kind]), how)
        for kind in KINDS for how in COPIES for _ in range(each)
    ]  # fmt: skip
    return made + [
        innocent(dice, how, known) for how in INNOCENT for _ in range(each * len(KINDS) * len(COPIES) // len(INNOCENT))
    ]
