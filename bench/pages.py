"""Kinds of web pages of the sample: good pages, damaged pages, and pages that a filter should remove."""

from __future__ import annotations

import base64
import html
import unicodedata

from prose import CODE, WORDS, Dice, Writer, ip, link, person

# --- pages worth keeping ---------------------------------------------------------------------------------------------


def article(w: Writer) -> str:
    parts = [w.title(), w.paragraphs(3, 7)]
    if w.dice.chance(0.45):
        parts.append(w.line("contact"))
    return "\n\n".join(parts)


def long_read(w: Writer) -> str:
    chapters = [f"{w.title()}\n\n{w.paragraphs(4, 7)}" for _ in range(w.dice.between(2, 4))]
    return "\n\n".join([*chapters, w.line("contact")])


def news(w: Writer) -> str:
    day = f"{w.dice.between(2019, 2025)}-{w.dice.between(1, 12):02}-{w.dice.between(1, 28):02}"
    contact = "\n".join(w.line("contact") for _ in range(w.dice.between(1, 3)))
    return f"{w.title()}\n{day} – {person(w.dice)}\n\n{w.paragraphs(2, 4)}\n\n{contact}\n{w.line('boilerplate')}"


def forum(w: Writer) -> str:
    posts = []
    for number in range(1, w.dice.between(4, 8)):
        quote = f"> {w.sentence()}\n" if number > 1 and w.dice.chance(0.5) else ""
        posts.append(f"#{number} {person(w.dice)}\n{quote}{w.line('replies')} {w.paragraph(1, 3)}")
    return f"{w.title()}\n\n" + "\n\n".join(posts)


def guide(w: Writer) -> str:
    steps = "\n".join(f"{number}. {w.sentence()}" for number in range(1, w.dice.between(4, 8)))
    text = f"# {w.title()}\n\n{w.paragraph()}\n\n## 1\n\n{steps}\n\n## 2\n\n{w.paragraph()} `{w.dice.pick(WORDS)}.conf`"
    if w.dice.chance(0.5):
        kind = w.dice.pick(list(CODE))
        text += f"\n\n```{kind}\n{CODE[kind](w.dice)}```"
    return f"{text}\n\n[{w.dice.pick(WORDS)}]({link(w.dice)}) **{w.dice.pick(WORDS)}**: {w.sentence()}"


def shop(w: Writer) -> str:
    items = "\n".join(
        f"- {w.sentence()} {w.dice.between(2, 400)},{w.dice.below(100):02} €" for _ in range(w.dice.between(4, 9))
    )
    return f"{w.title()}\n\n{w.paragraph(2, 4)}\n\n{items}\n\n{w.line('contact')}"


def source_file(w: Writer) -> str:
    kind = w.dice.pick(("python", "js", "c"))
    mark = {"python": "#", "js": "//", "c": "//"}[kind]
    parts = [f"{mark} {w.sentence()}\n{CODE[kind](w.dice)}" for _ in range(w.dice.between(2, 5))]
    return "\n\n".join(parts)


def formulas(w: Writer) -> str:
    a, b = w.dice.between(2, 30), w.dice.between(2, 30)
    integral = f"$$\\int_0^{{{a}}} x^{{{b}}}\\,dx = \\frac{{{a}^{{{b + 1}}}}}{{{b + 1}}}$$"
    return (
        f"{w.title()}\n\n{w.paragraph()}\n\n{integral}\n\n"
        f"{w.paragraph()} $\\alpha \\leq {b}$ \\emph{{{w.dice.pick(WORDS)}}}.\n\n{w.paragraph()}"
    )


# --- pages that a filter should remove -------------------------------------------------------------------------------


def menu(w: Writer) -> str:
    """Only navigation: very short lines."""
    return "\n".join(w.dice.pick(WORDS).capitalize() for _ in range(w.dice.between(40, 90)))


def flat(w: Writer) -> str:
    """A page that lost its line breaks: everything is one line."""
    return " ".join(w.paragraphs(9, 14).split("\n\n"))


def blob(w: Writer) -> str:
    """Prose around a single line of base64."""
    data = bytes(w.dice.below(256) for _ in range(w.dice.between(2400, 3600)))
    return f"{w.title()}\n\n{w.paragraphs(3, 5)}\n\n{base64.b64encode(data).decode()}\n\n{w.paragraphs(2, 4)}"


def symbols(w: Writer) -> str:
    """Rulers, arrows and emoji with a word here and there."""
    row = "*=~-_#|<>^•★☆→✔✨🔥🎉💬"
    lines = []
    for _ in range(w.dice.between(12, 30)):
        lines.append("".join(w.dice.pick(row) for _ in range(w.dice.between(10, 40))) + " " + w.dice.pick(WORDS))
    return "\n".join(lines)


def numbers(w: Writer) -> str:
    """A table of measurements: enough letters and digits, but no language."""
    rows = []
    for index in range(w.dice.between(25, 60)):
        cells = " ".join(f"{w.dice.below(99999):05d}" for _ in range(6))
        rows.append(f"{w.dice.pick(WORDS)}{index:03d} {cells} {w.dice.pick(WORDS)}")
    return "\n".join(rows)


def stutter(w: Writer) -> str:
    """One short phrase, repeated, like keyword spam."""
    phrase = " ".join(w.dice.pick(WORDS) for _ in range(w.dice.between(2, 4)))
    return f"{w.title()}\n\n" + "\n".join([f"{phrase} " * w.dice.between(6, 9)] * w.dice.between(6, 12))


def again(w: Writer) -> str:
    """The same paragraphs twice, as badly extracted pages have them."""
    body = w.paragraphs(3, 5)
    return f"{w.title()}\n\n{body}\n\n{w.line('boilerplate')}\n\n{body}"


def stub(w: Writer) -> str:
    """A title and a sentence fragment: too few words."""
    return w.dice.pick((w.title(), w.line("boilerplate"), f"{w.dice.pick(WORDS)} {w.dice.below(1000)}", "404", "…"))


def terse(w: Writer) -> str:
    """Enough words, but only a few dozen characters."""
    small = "so it is not me but we do go on if he is up to it or as an ox by a bay".split()
    return " ".join(w.dice.pick(small) for _ in range(w.dice.between(14, 20)))


# --- damage ----------------------------------------------------------------------------------------------------------


def curly(text: str, dice: Dice) -> str:
    """Typographic quotes, dashes and dots."""
    words = text.replace("'", "’").replace("...", "…").replace(" - ", " — ").split(" ")
    return " ".join(f"“{word}”" if len(word) > 4 and dice.chance(0.06) else word for word in words)


def ligatures(text: str, dice: Dice) -> str:
    for plain, glyph in (("ffi", "ﬃ"), ("fi", "ﬁ"), ("fl", "ﬂ"), ("ff", "ﬀ")):
        text = text.replace(plain, glyph)
    return text.replace("st", "ﬆ", 2)


def fullwidth(text: str, dice: Dice) -> str:
    """Some words in the wide forms of East Asian input methods."""
    wide = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
    return " ".join(word.translate(wide) if dice.chance(0.12) else word for word in text.split(" "))


def mojibake(text: str, dice: Dice) -> str:
    """UTF-8 read as Latin-1, once or twice; some pages only from the middle on."""
    start = 0 if dice.chance(0.7) else len(text) // 2
    broken = text[start:].encode("utf-8").decode("latin-1")
    if dice.chance(0.2):
        broken = broken.encode("utf-8").decode("latin-1")
    return text[:start] + broken


def entities(text: str, dice: Dice) -> str:
    """HTML that was escaped once too often."""
    named = {"é": "&eacute;", "ñ": "&ntilde;", "ü": "&uuml;", "'": "&#8217;", "—": "&mdash;"}
    text = html.escape(text, quote=False)
    for char, entity in named.items():
        text = text.replace(char, entity)
    return " ".join(f"&quot;{word}&quot;" if len(word) > 5 and dice.chance(0.05) else word for word in text.split(" "))


def tags(text: str, dice: Dice) -> str:
    """Left-over markup, beside which entities keep their meaning."""
    return "".join(f"<p>{part}</p>\n" for part in text.split("\n\n")) + "&copy; 2024 &nbsp; <br>"


def controls(text: str, dice: Dice) -> str:
    """Bells, terminal colours, byte order marks, zero-width characters."""
    odd = ("\x07", "\x00", "\x1b[31m", "\x1b[0m", "\ufeff", "\u200b", "\u00ad", "\x0c", "\u200e", "\ufffd")
    words = text.split(" ")
    return "\ufeff" + " ".join(dice.pick(odd) + word if dice.chance(0.05) else word for word in words)


def line_ends(text: str, dice: Dice) -> str:
    return text.replace("\n", dice.pick(("\r\n", "\r", "\u2028", "\u0085", "\n\r\n", "\x0b")))


def spaces(text: str, dice: Dice) -> str:
    """No-break, ideographic and thin spaces, tabs, and blanks around the text."""
    odd = ("\u00a0", "\u3000", "\u2009", "\t", "  ", "\u202f", "\u200d")
    words = text.split(" ")
    spaced = "".join(word + (dice.pick(odd) if dice.chance(0.1) else " ") for word in words)
    return f" \n\t{spaced}\n\n   "


def decomposed(text: str, dice: Dice) -> str:
    """Accents as separate marks (NFD)."""
    return unicodedata.normalize("NFD", text)


def addresses(text: str, dice: Dice) -> str:
    """A page full of addresses: some that the cleaning operators know, some that they leave on purpose."""
    odd = (
        "JANE.DOE@EXAMPLE.COM",
        "first.last@mail.example.co",
        "mailto:list@example.org",
        "https://example.com/a_(b)/c?d=e&f=g#h",
        "example.net/",
        "www.example.org/path,",
        "user@localhost",
        "tel:+1-555-0100",
        "https://xn--bcher-kva.example/ü/日本",
        "::ffff:192.0.2.7",
        "999.1.2.3",
    )
    extra = [dice.pick(odd) for _ in range(4)] + [ip(dice), link(dice)]
    return text + "\n\n" + "\n".join(extra)


DAMAGE = {
    kind.__name__: kind
    for kind in (
        curly,
        ligatures,
        fullwidth,
        mojibake,
        entities,
        tags,
        controls,
        line_ends,
        spaces,
        decomposed,
        addresses,
    )
}


def nearly(text: str, dice: Dice) -> str:
    """A copy with a few words changed, and another first or last line."""
    words = text.split(" ")
    for _ in range(max(1, len(words) // 60)):
        words[dice.below(len(words))] = dice.pick(WORDS)
    copy = " ".join(words)
    return f"{dice.pick(WORDS).capitalize()} archive\n\n{copy}" if dice.chance(0.5) else f"{copy}\n\nMirror copy."
