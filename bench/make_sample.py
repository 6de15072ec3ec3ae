"""Write the sample data of the recipes: `recipes/data/web_sample.jsonl` and `recipes/data/papers_sample.jsonl`.

    python bench/make_sample.py            write both files
    python bench/make_sample.py --check    compare both files with their contents from the seed; exit 1 on a difference

The web sample is a small crawl with the flaws of a big one, broken input lines included. The output depends on the
seed alone, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pages
import papers
from prose import HOSTS, WORDS, Dice, Writer, ip

DATA = Path(__file__).resolve().parent.parent / "recipes" / "data"
SEED = 2037
NEWLINE = b"\n"

# More than half English, as in crawls; every language often enough to show the effect of the operators.
LANGUAGE_MIX = ("en",) * 16 + tuple("es es de de fr fr zh zh ja ru ru pt ar ar hi hi".split())
ACCENTED = ("es", "de", "fr", "pt", "ru", "zh", "ja")

GOOD: tuple[tuple[Callable[[Writer], str], str, int], ...] = (
    (pages.article, "crawl-a", 150),
    (pages.news, "news", 45),
    (pages.forum, "forum", 36),
    (pages.guide, "docs", 40),
    (pages.long_read, "wiki", 22),
    (pages.shop, "shop", 18),
    (pages.source_file, "code", 14),
    (pages.formulas, "docs", 8),
)
BAD: tuple[tuple[Callable[[Writer], str], int], ...] = (
    (pages.menu, 9),
    (pages.flat, 6),
    (pages.blob, 6),
    (pages.symbols, 8),
    (pages.numbers, 7),
    (pages.stutter, 8),
    (pages.again, 9),
    (pages.stub, 12),
    (pages.terse, 7),
)
DAMAGED_EACH = 7
EXACT_COPIES = 12
NEAR_COPIES = 18

Page = tuple[str, str, str, str]  # text, language, source, title


def english(dice: Dice) -> Writer:
    return Writer(dice, "en", dice.between(1, 3))


def good_pages(dice: Dice) -> Iterator[Page]:
    for kind, source, count in GOOD:
        for _ in range(count):
            plain = kind in (pages.source_file, pages.formulas)
            w = english(dice) if plain else Writer(dice, dice.pick(LANGUAGE_MIX), dice.between(1, 3))
            yield kind(w), w.lang, source, w.title()


def damaged_pages(dice: Dice) -> Iterator[Page]:
    for name, damage in pages.DAMAGE.items():
        for _ in range(DAMAGED_EACH):
            needs_accents = name in ("mojibake", "decomposed", "entities")
            w = Writer(dice, dice.pick(ACCENTED if needs_accents else LANGUAGE_MIX), 2)
            yield damage(pages.news(w), dice), w.lang, "crawl-b", w.title()


def bad_pages(dice: Dice) -> Iterator[Page]:
    for kind, count in BAD:
        for _ in range(count):
            w = english(dice)
            yield kind(w), w.lang, "crawl-b", w.title()


def all_pages(dice: Dice) -> list[Page]:
    """Every page in its final order; copies are shuffled among the others, not beside their originals."""
    made = [*good_pages(dice), *damaged_pages(dice), *bad_pages(dice)]
    originals = dice.mixed(made[: sum(count for *_, count in GOOD)])
    for page in originals[:EXACT_COPIES]:
        made.append(page)
    for text, lang, source, title in originals[EXACT_COPIES : EXACT_COPIES + NEAR_COPIES]:
        made.append((pages.nearly(text, dice), lang, source, title))
    return dice.mixed(made)


def record(dice: Dice, number: int, page: Page) -> dict[str, Any]:
    """One line of the sample. `meta` is nested, and has an integer that a double cannot represent."""
    text, lang, source, title = page
    day = f"2025-{dice.between(1, 12):02}-{dice.between(1, 28):02}T{dice.below(24):02}:{dice.below(60):02}:00Z"
    return {
        "id": f"web-{number:04}",
        "text": text,
        "url": f"https://{dice.pick(HOSTS)}/{dice.pick(WORDS)}/{dice.pick(WORDS)}-{number}.html",
        "lang": lang,
        "source": source,
        "score": None if dice.chance(0.05) else round(dice.random(), 3),
        "meta": {
            "title": title,
            "crawled": day,
            "fetch": {"status": dice.pick((200, 200, 200, 301)), "ip": ip(dice), "bytes": dice.between(900, 90_000)},
            "tags": [dice.pick(WORDS) for _ in range(dice.below(4))],
            "digest": 2**53 + 1 + 2 * dice.below(2**40),
        },
    }


BROKEN = (
    b'{"id": "web-broken-01", "text": "The download stopped in the middle of this line, so the quotation mark is',
    b'{"id": "web-broken-02", "text": "Two bytes that are not UTF-8: \xff\xfe, the rest is fine.", "lang": "en"}',
    b'{"id": "web-broken-03", "text": null, "url": "https://example.com/empty", "lang": "en"}',
    b'{"id": "web-broken-04", "text": 2037, "url": "https://example.com/number", "lang": "en"}',
    b'{"id": "web-broken-05", "url": "https://example.com/missing", "lang": "en", "source": "crawl-b"}',
    b'{"id": "web-broken-06", "text": "A comma too many at the end of this object.", "lang": "en",}',
    b"<html><body>502 Bad Gateway: the proxy wrote its own page into the export</body></html>",
    b'{"id": "web-broken-08", "text": "Half of a surrogate pair, \\ud83d, cannot be a character.", "lang": "en"}',
    b'["web-broken-09", "This line is valid JSON, but it is a list and not an object."]',
    b'{"id": "web-broken-10", "text": ["The text", "came as a list"], "lang": "en"}',
    b"{'id': 'web-broken-11', 'text': 'Single quotes: somebody printed a Python dictionary.'}",
    b'{"id": "web-broken-12", "text": "Latin-1 instead of UTF-8: caf\xe9 cr\xe8me br\xfbl\xe9e.", "lang": "fr"}',
)


def dumped(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8")


def web_sample() -> bytes:
    dice = Dice(SEED)
    lines = [dumped(record(dice, number, page)) for number, page in enumerate(all_pages(dice), 1)]
    for index, line in enumerate(BROKEN):
        lines.insert(7 + 41 * index, line)
    return NEWLINE.join(lines) + NEWLINE


def papers_sample() -> bytes:
    return b"".join(dumped(row) + NEWLINE for row in papers.papers(Dice(SEED + 1)))


FILES = {"web_sample.jsonl": web_sample, "papers_sample.jsonl": papers_sample}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write or check the sample data of the recipes.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    parser.add_argument("--out", type=Path, default=DATA, help="folder of the files (default: recipes/data)")
    arguments = parser.parse_args()
    stale = []
    for name, make in FILES.items():
        content, path = make(), arguments.out / name
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            print(f"{name}: {len(content.split(NEWLINE)) - 1:,} lines, {len(content):,} bytes")
        elif not path.exists() or path.read_bytes() != content:
            stale.append(name)
    if stale:
        print(f"differs from what the generator writes: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
