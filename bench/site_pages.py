"""Pages of the size of real ones: a text, or a small page, in the frame of a site: styles, scripts, navigation, teasers, footer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from html import escape
from itertools import count
from pathlib import Path

SMALLEST, LARGEST = 50_000, 150_000  # bytes of a page, which are spread evenly
STYLES, SCRIPTS, LINKS = 0.2, 0.5, 0.3  # shares of what is added
PROPERTIES = ("margin", "padding", "border-width", "line-height", "font-size", "max-width", "top", "letter-spacing")
BODY = re.compile(r"<body[^>]*>", re.IGNORECASE)
PARAGRAPHS = re.compile(r"\n\s*\n")


def pages(corpus: Path, small: list[str]) -> Iterator[str]:
    """Pages of the texts of a Parquet file, in a mixed order; every tenth is one of the small pages in such a frame."""
    import duckdb

    dice = random.Random(0)
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT text FROM read_parquet(?) WHERE length(text) BETWEEN 500 AND 20000 ORDER BY md5(text)",
            [str(corpus)],
        )
        for number, (text,) in enumerate(iter(rows.fetchone, None)):
            page = small[number // 10 % len(small)] if number % 10 == 9 else article(text)
            yield framed(page, dice, dice.randint(SMALLEST, LARGEST))


def article(text: str) -> str:
    """A page with a text: a paragraph for each piece between empty lines, with the lines of it."""
    title = escape(text.strip().split("\n", 1)[0][:80])
    first, *rest = (escape(piece).replace("\n", "<br>\n") for piece in PARAGRAPHS.split(text.strip()))
    body = "\n".join(f"<p>{piece}</p>" for piece in rest or [first])
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n<body>\n'
        f'<main><article class="post"><h1>{title}</h1>\n{body}\n</article></main>\n</body></html>\n'
    )


def framed(page: str, dice: random.Random, size: int) -> str:
    """The page with a frame that makes it about so many bytes."""
    more = max(size - len(page.encode("utf-8", "replace")), 0)
    words = sorted(set(re.findall(r"[a-z]{4,}", page)))[:400] or ["page"]
    head = f"<style>\n{_fill(_rules(dice), STYLES * more)}</style>\n"
    code = f"<script>\n{_fill(_state(dice, words), SCRIPTS * more)}</script>\n"
    links = _fill(_links(dice, words), LINKS * more).split("\n")
    third = len(links) // 3
    above = f"<header><nav><ul>{' '.join(links[:third])}</ul></nav></header>\n"
    beside = f'<aside class="related"><ul>{" ".join(links[third : 2 * third])}</ul></aside>\n'
    below = f"{beside}<footer><ul>{' '.join(links[2 * third :])}</ul></footer>\n{code}"
    body = BODY.search(page)
    begin = body.end() if body else 0
    end = page.rfind("</body>") if "</body>" in page[begin:] else len(page)
    return page[:begin] + head + above + page[begin:end] + below + page[end:]


def _fill(pieces: Iterator[str], size: float) -> str:
    taken, total = list[str](), 0
    while total < size:
        taken.append(next(pieces))
        total += len(taken[-1])
    return "".join(taken)


def _rules(dice: random.Random) -> Iterator[str]:
    """Rules of a style sheet."""
    for number in count():
        values = "; ".join(f"{dice.choice(PROPERTIES)}: {dice.randint(1, 999) / 10}px" for _ in range(4))
        yield f".box-{number} > .part-{dice.randint(1, 99)}:hover {{ {values} }}\n"


def _state(dice: random.Random, words: list[str]) -> Iterator[str]:
    """Statements with the data of a site's program."""
    for number in count():
        value = {
            "id": number,
            "slug": "-".join(dice.choices(words, k=3)),
            "seen": dice.random(),
            "tags": dice.choices(words, k=4),
        }
        yield f"window.state[{number}] = {json.dumps(value, ensure_ascii=True)};\n"


def _links(dice: random.Random, words: list[str]) -> Iterator[str]:
    """Items of lists of links, with a title of some words."""
    for number in count():
        title = " ".join(dice.choices(words, k=dice.randint(1, 7)))
        yield f'<li class="item menu-{number % 9}"><a class="link" href="/{dice.choice(words)}/{number}.html">{title}</a></li>\n'
