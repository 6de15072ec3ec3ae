"""Pages of the sample archive: good ones, and one for every reason for which a recipe of the web removes a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

from prose import WORDS, Dice, Writer


@dataclass(frozen=True)
class WebPage:
    """A page: what it is for, its address, its HTML."""

    name: str
    url: str
    html: str


SITE = "https://weir.example.org"
# Words without a meaning of their own, from syllables: any number of texts in which nothing repeats.
SYLLABLES = "ba de fi go lu ma ne pi ro su ta ve wi zo ka le mi no pu ra".split()
PHRASE = "by the old mill beside our quiet river in spring".split()


def page(title: str, body: str, lang: str = "en") -> str:
    """A page with the navigation and the footer that every site has."""
    return (
        f'<!DOCTYPE html>\n<html lang="{lang}"><head><meta charset="utf-8"><title>{escape(title)}</title></head><body>\n'
        '<nav><a href="/">Home</a> <a href="/news">News</a> <a href="/about">About</a></nav>\n'
        f"<main><article><h1>{escape(title)}</h1>\n{body}\n</article></main>\n"
        "<footer>Printed by the friends of the weir</footer></body></html>\n"
    )


def paragraphs(texts: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def lines_of_one(texts: Iterable[str]) -> str:
    """Lines of one paragraph."""
    return f"<p>{'<br>'.join(escape(text) for text in texts)}</p>"


def words(dice: Dice, count: int) -> list[str]:
    """Different words of three syllables."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(dice.pick(SYLLABLES) for _ in range(3))] = None
    return list(found)


def sentences(found: list[str], each: int = 9) -> list[str]:
    """Words as sentences."""
    return [" ".join(found[at : at + each]).capitalize() + "." for at in range(0, len(found), each)]


def prose(dice: Dice, count: int = 6, lang: str = "en") -> list[str]:
    writer = Writer(dice, lang, 2)
    return [writer.paragraph(4, 6) for _ in range(count)]


def repeated(dice: Dice, length: int, gap: int, times: int = 30) -> list[str]:
    """Sentences in which the same words, so many, come again after so many others."""
    filler = words(dice, gap * times)
    return [" ".join([*PHRASE[:length], *filler[at * gap : (at + 1) * gap]]).capitalize() + "." for at in range(times)]


def copied(dice: Dice, length: int, share: float, phrases: int = 12) -> list[str]:
    """Sentences with groups of `length` words, each of them twice: the second copies have this share of all characters."""
    room = (
        int(6 * length * phrases / share / 7) - 2 * length * phrases
    )  # a word has six characters, with its blank seven
    own = words(dice, length * phrases + room)
    groups, rest = [own[at * length : (at + 1) * length] for at in range(phrases)], own[length * phrases :]
    ends = [room * number // (2 * phrases) for number in range(2 * phrases + 1)]
    return [
        " ".join([*rest[start:end], *groups[number % phrases]]).capitalize() + "."
        for number, (start, end) in enumerate(zip(ends, ends[1:], strict=False))
    ]


def all_different(alphabet: list[str], length: int) -> list[str]:
    """A de Bruijn sequence: every run of `length` words of the alphabet occurs once."""
    size, run, found = len(alphabet), [0] * (len(alphabet) * length), list[int]()

    def extend(at: int, period: int) -> None:
        if at > length:
            if length % period == 0:
                found.extend(run[1 : period + 1])
            return
        run[at] = run[at - period]
        extend(at + 1, period)
        for digit in range(run[at - period] + 1, size):
            run[at] = digit
            extend(at + 1, at)

    extend(1, 1)
    return [alphabet[digit] for digit in found]


def long_page(dice: Dice) -> str:
    """More than 100,000 words without a run of five that repeats."""
    counted = all_different("mill weir lock gate pond ford quay tide reed silt and".split(), 5)[:104_000]
    return paragraphs(sentences(counted, 40))


def good(dice: Dice) -> Iterator[tuple[str, str, str]]:
    for number in range(1, 7):
        yield f"good {number}", f"/news/{number}.html", paragraphs(prose(dice, 5 + number))
    told = prose(dice, 8)
    yield "good, told first", "/news/flood.html", paragraphs(told)
    yield "nearly the same", "/news/flood-again.html", paragraphs([*told[:-1], told[-1] + " More will follow."])


def of_gopher(dice: Dice) -> Iterator[tuple[str, str, str]]:
    """Gopher's rules for words, lines and marks."""
    some = prose(dice, 8)
    yield "gopher_short_doc", "/short.html", paragraphs([" ".join(some[0].split()[:30]) + "."])
    yield "gopher_long_doc", "/long.html", long_page(dice)
    yield "gopher_below_avg_threshold", "/small-words.html", paragraphs(small_words(dice))
    yield "gopher_above_avg_threshold", "/long-words.html", paragraphs(long_words(dice))
    tags = [f"{one} {' '.join('#' + dice.pick(WORDS) for _ in range(12))}." for one in some[:4]]
    yield "gopher_too_many_hashes", "/tags.html", paragraphs(tags)
    trailing = [pausing(one.split()) for one in some[:5]]
    yield "gopher_too_many_ellipsis", "/dots.html", paragraphs(trailing)
    yield (
        "gopher_too_many_bullets",
        "/list.html",
        paragraphs(f"• {one}" for text in some[:5] for one in text.split(". ")),
    )
    teasers = [one.rstrip(".") + "…" for text in some[5:] for one in text.split(". ")]
    yield "gopher_too_many_end_ellipsis", "/teasers.html", paragraphs([*teasers, *some[:2]])
    yield "gopher_below_alpha_threshold", "/gauge.html", paragraphs(numbers(dice))


def pausing(found: list[str]) -> str:
    """Words with a pause after each five of them."""
    return " ... ".join(" ".join(found[at : at + 5]) for at in range(0, len(found), 5))


def small_words(dice: Dice) -> list[str]:
    short = "I am to go on as we do it so he is at it by an ox or if no up my us me be of in".split()
    return [" ".join(dice.mixed(short)[:19]).capitalize() + "." for _ in range(9)]


def long_words(dice: Dice) -> list[str]:
    found = words(dice, 240)
    return [
        f"The {''.join(found[at : at + 3])} and {''.join(found[at + 3 : at + 6])} of {''.join(found[at + 6 : at + 9])}."
        for at in range(0, 234, 9)
    ]


def numbers(dice: Dice) -> list[str]:
    return [
        f"In {dice.between(1871, 2024)} the gauge had {', '.join(str(dice.between(100, 999)) for _ in range(9))} and {dice.below(90)}."
        for _ in range(12)
    ]


def of_repetition(dice: Dice) -> Iterator[tuple[str, str, str]]:
    """Rules for repeated lines, paragraphs and n-grams."""
    lines = [
        f"The {one} stays at the {two} until the {three} comes."
        for one, two, three in zip(words(dice, 20), words(dice, 20), words(dice, 20), strict=True)
    ]
    yield "dup_line_frac", "/menu.html", lines_of_one([*lines[:9], *lines[:6], *lines[9:12]])
    some = [" ".join(sentences(words(dice, 36), 12)) for _ in range(9)]
    yield (
        "dup_line_char_frac",
        "/twice.html",
        lines_of_one([*some[:4], *sentences(words(dice, 60), 6), some[0], some[1]]),
    )
    yield "dup_para_frac", "/stanzas.html", paragraphs([*lines[12:], *lines[12:17]])
    yield "dup_para_char_frac", "/reprint.html", paragraphs([*some[4:], *lines[:10], some[4], some[5]])
    for length, gap in ((2, 2), (3, 5), (4, 9)):
        yield f"top_{length}_gram", f"/refrain-{length}.html", paragraphs(repeated(dice, length, gap))
    for length, share in ((5, 0.165), (6, 0.146), (7, 0.136), (8, 0.126), (9, 0.116), (10, 0.107)):
        yield f"duplicated_{length}_n_grams", f"/copies-{length}.html", paragraphs(copied(dice, length, share))


def of_lines(dice: Dice) -> Iterator[tuple[str, str, str]]:
    """C4's and FineWeb's rules."""
    some = prose(dice, 16)
    yield "lorem_ipsum", "/template.html", paragraphs([*some[:5], "Lorem ipsum stands here until the text is written."])
    yield "curly_bracket", "/code.html", paragraphs([*some[:5], "The rule is written as { keep: true } in the file."])
    yield "too_few_sentences", "/breathless.html", paragraphs([one.replace(". ", " and then ") for one in some[5:8]])
    yield (
        "line_punct_ratio",
        "/headlines.html",
        paragraphs(one.rstrip(".") for text in some[:6] for one in text.split(". ")),
    )
    short = sentences(words(dice, 120), 3)
    yield "short_line_ratio", "/notes.html", paragraphs([*short, *some[:3]])
    yield "char_dup_ratio", "/banner.html", paragraphs([some[8][:90] + ".", *some[9:15], some[8][:90] + "."])
    yield "list_ratio", "/register.html", paragraphs(register(dice))


def of_line_modifiers(dice: Dice) -> Iterator[tuple[str, str, str]]:
    """DCLM's and Dolma 3's rules that need pages of their own."""
    some = prose(dice, 8)
    yield "page_length", "/closed.html", paragraphs(["The mill is closed today."])
    counters = [f"{dice.between(10, 900)} {what}" for what in ("likes", "shares", "comments", "views", "followers")]
    shouted = [text.split(". ")[0].upper() for text in some[:4]]
    yield "word_removal_ratio", "/feed.html", paragraphs([*some[:3], *counters, *shouted])
    yield "bad words", "/quarrel.html", paragraphs([*some[3:6], "The mayor called the plan a humbug."])
    yield "stop_word", "/index.html", paragraphs(sentences(words(dice, 160), 12))
    bullets = "\n".join(f"• {one}" for text in some for one in text.split(". "))
    yield "bullets in one block", "/block.html", f"<pre>{escape(bullets)}</pre>"
    titles = [" ".join(word.capitalize() for word in one.split()) for text in some[:5] for one in text.split(". ")]
    yield "madlad rule 2", "/titles.html", paragraphs([". ".join(titles), *some[5:]])
    yield "copied lines", "/quoted.html", paragraphs(some[:2])


def register(dice: Dice) -> list[str]:
    """Lines of three words, a third of them long enough to be no short lines."""
    found, lines = words(dice, 400), list[str]()
    for at in range(60):
        one, two, three, four = found[at * 5 : at * 5 + 4]
        long = at % 3 == 0 or at in (1, 4)
        lines.append(f"{one}{two} with {three}{four}ade" if long else f"of {one} that")
        lines[-1] += "." if at % 6 == 0 else ""
    return lines


def of_addresses(dice: Dice) -> Iterator[tuple[str, str, str]]:
    """Lists of domains, addresses and words."""
    for name, url in (
        ("domain", "https://shop.example.net/offers.html"),
        ("subdomain", "https://ads.example.com/today.html"),
        ("url", "https://weir.example.org/removed-on-request.html"),
        ("hard_blacklisted", "https://weir.example.org/casino/evening.html"),
        ("soft_blacklisted", "https://weir.example.org/bonus/jackpot.html"),
        ("blacklisted_subword", "https://weir.example.org/freepoker-night.html"),
    ):
        yield name, url, paragraphs(prose(dice, 4))


def of_languages(dice: Dice) -> Iterator[tuple[str, str, str, str]]:
    """Pages in other languages: good ones, a short one, a list, and one whose lines repeat."""
    for lang in ("de", "fr", "es", "ru"):
        told = prose(dice, 6, lang)
        yield f"good in {lang}", f"/{lang}/report.html", paragraphs(told), lang
        yield f"short in {lang}", f"/{lang}/short.html", paragraphs([" ".join(told[0].split()[:30]) + "."]), lang
        lines = [one for text in told for one in text.split(". ")]
        yield f"repeated in {lang}", f"/{lang}/menu.html", lines_of_one([*lines[:12], *lines[:8]]), lang


GROUPS: tuple[Callable[[Dice], Iterator[tuple[str, str, str]]], ...] = (
    good,
    of_addresses,
    of_repetition,
    of_gopher,
    of_lines,
    of_line_modifiers,
)


def web_pages(seed: int) -> list[WebPage]:
    """All pages of the archive."""
    dice, found = Dice(seed), list[WebPage]()
    for group in GROUPS:
        for name, url, body in group(dice):
            title = Writer(dice, "en").title() if name != "stop_word" else "Register"
            found.append(WebPage(name, url if "://" in url else SITE + url, page(title, body)))
    for name, url, body, lang in of_languages(dice):
        found.append(WebPage(name, SITE + url, page(Writer(dice, lang).title(), body, lang)))
    found.append(WebPage("recrawled", found[0].url, found[0].html.replace("Home", "Start")))
    empty = (
        '<!DOCTYPE html><html><head><title>Weir</title></head><body><script>location = "/app"</script></body></html>'
    )
    found.append(WebPage("empty", SITE + "/app.html", empty))
    return found
