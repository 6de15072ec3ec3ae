"""Random documents: pieces that surprise, alone, repeated, joined, and put into recorded texts."""

from __future__ import annotations

import json
from random import Random

from tests.conftest import RECORDED

ENDS = (
    "",
    " ",
    "\n",
    "\n\n",
    "\n\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1f",
    "\u3000",
    ". ",
    ", ",
)
WORDS = (
    "the", "be", "to", "of", "and", "that", "have", "with", "The", "THE", "don't", "can't", "it's", "I'm", "U.S.A.", "e.g.",
    "Mr. Smith", "www.example.com", "http://a.b.org/x?y=1#z", "https://пример.рф/путь", "a@b.org", "JANE@EXAMPLE.COM",
    "x.y+z@sub.domain.co.uk", "8.8.8.8", "192.168.0.1", "999.1.1.1", "1.2.3.4.5", "2001:db8:0:0:0:0:0:1", "::1", "3,14", "1e9",
    "١٢٣٫٤", "१२३", "２０２４", "²³", "½", "Ⅷ", "①", "#tag", "##", "...", "…", "....", "-", "•", "*", "- item", "• item",
    "* item", "‣ x", "{", "}", "lorem ipsum", "Lorem Ipsum", "javascript", "JavaScript", "privacy policy", "Terms of Use",
    "[1]", "[edit]", "[citation needed]", "[]", "<p>", "</div>", "<br/>", "&amp;", "&nbsp;", "<script>x</script>", "<a href='x'>y</a>",
    "İstanbul", "ıI", "ŞŞ", "ß", "ẞ", "ﬁ", "ﬀ", "ǅ", "Σς", "é", "e\u0301", "a\u0300\u0301\u0302", "\u0301", "नमस्ते", "สวัสดี", "မြန်မာ",
    "中文字符", "这是一个测试。", "一", "日本語テスト", "カタカナ", "한국어", "שלום", "مرحبا", "السلام عليكم؟", "привет", "Ёлка", "𝒳𝓎", "𐍈", "😀", "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽",
    "❤️", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u202e", "\u2066", "\x00", "\x01", "\x7f", "\x80", "\x9f", "\ufffd", "\ufffe", "\U0010ffff",
    "!", "?", ".", ",", ";", ":", "\"", "'", "”", "“", "«", "»", "。", "？", "！", "؟", "।", "、", "—", "–", "(", ")", "[", "/", "\\", "|", "_", "`",
    "$$$", "%%", "@", "@@", "==", "a-b", "a/b", "snake_case", "x" * 63, "y" * 64, "z" * 65, "w" * 1001, "Ω" * 32, "好" * 70, "0" * 40,
    "\\section{A}", "\\newcommand{\\x}{y}", "\\x", "% comment", "\\%", "\\begin{document}", "\\bibliography{b}", "\\appendix", "\\def\\foo{bar}",
    "/* Copyright 2020 */", "// Copyright", "# Copyright (c)", "/* code */", "def f(x):", "    return x", "if (a < b) {", "int main();", "\"\"\"doc\"\"\"",
    "<?xml version=\"1.0\"?>", "\t\t", "   ", "Ã©", "â€™", "lâ€™été", "&lt;b&gt;", "\x1b[31mred\x1b[0m", "monday", "March 3", "A.B.C.", "10%", "$5.00",
    "read more", "Read more...", "sign-in", "items in cart", "cookie policy", "1.2K likes", "3 comments", "555-123-4567", "(555) 123-4567",
)  # fmt: skip
SENTENCES = (
    "The quick brown fox jumps over the lazy dog.", "He said, \"That will be fine!\" and left.", "It is 5 p.m. now. Dr. Who came.",
    "We use cookies to give you the best experience.", "Is this true? Yes! No...", "Der Fluß ist groß, und er fließt.",
    "C'est l'été, n'est-ce pas ?", "El niño comió mañana.", "Это предложение. И ещё одно!", "这是第一句。这是第二句！对吗？", "これは文です。次の文です。",
    "안녕하세요. 반갑습니다.", "هذه جملة. وهذه أخرى؟", "यह एक वाक्य है। दूसरा वाक्य।", "Write to a@b.org or call from 8.8.8.8.",
    "- a bullet line", "• another bullet", "A line that ends in dots...", "another one …", "SHOUTING LINE", "12345 67890", "ປະເທດລາວ. ເມືອງຫຼວງ!", "ភាសាខ្មែរ។ ប្រយោគទីពីរ៕", "ภาษาไทยไม่มีช่องว่าง ประโยคที่สอง", "이것은 긴 문장입니다 1234567890,1234567890,12 그리고 끝.",
    "Tiếng Việt có dấu. Câu thứ hai!", "Η πρόταση; Ναι.", "משפט אחד. משפט שני!", "क्या यह सच है? हाँ! डॉ. राम आए।",
)  # fmt: skip


def documents(seed: int, number: int) -> list[dict[str, str]]:
    """That many samples with a text and an address."""
    random = Random(seed)
    known = recorded_texts()
    found = [
        {"text": text}
        for text in ("", " ", "\n", "\r\n \t", "\u2028", "\x00", "a", ".", "。", "\ufeff", "\n\n\n", "...", "🇩🇪")
    ]
    while len(found) < number:
        found.append({"text": one_text(random, known)})
    return [sample(random, str(at), one["text"]) for at, one in enumerate(found[:number])]


def copies(seed: int, number: int) -> list[dict[str, str]]:
    """That many samples, most of which are copies of others or nearly so."""
    random = Random(seed)
    texts = [one["text"] or "." for one in documents(seed, max(number // 3, 1))]
    while len(texts) < number:
        text = random.choice(texts)
        texts.append(text if random.random() < 0.4 else edited(random, text) or ".")
    random.shuffle(texts)
    return [sample(random, str(at), text) for at, text in enumerate(texts)]


def sample(random: Random, id: str, text: str) -> dict[str, str]:
    suffix = random.choice((".txt", ".md", "", ".TXT", ".tar.gz"))
    return {"id": id, "text": text, "url": address(random), "__dj__suffix__": suffix}


def recorded_texts() -> list[str]:
    """Texts of the recorded cases, of at most 8,000 characters."""
    texts = []
    for name in ("datatrove", "data_juicer"):
        lines = (RECORDED / name / "docs.jsonl").read_bytes().decode().split("\n")
        texts += [json.loads(line)["text"] for line in lines if line]
    return [text for text in texts if isinstance(text, str) and len(text) <= 8000]


def one_text(random: Random, known: list[str]) -> str:
    kind = random.randrange(6)
    if kind == 0:
        return random.choice(known)
    if kind == 1:
        return edited(random, random.choice(known))
    if kind == 2:
        return joined(random, WORDS, random.randint(1, 30))
    if kind == 3:
        return joined(random, SENTENCES, random.randint(1, 12))
    if kind == 4:
        few = random.sample(WORDS + SENTENCES, random.randint(1, 4))
        return joined(random, few, random.randint(2, 40))
    return joined(random, WORDS + SENTENCES, random.randint(5, 80))


def joined(random: Random, pieces: tuple[str, ...] | list[str], number: int) -> str:
    """Pieces with one kind of ends most of the time, so that lines and paragraphs repeat."""
    usual = random.choice((" ", " ", " ", "\n", "\n", "\n\n", random.choice(ENDS)))
    odd = random.choice((0, 0.1, 0.4))
    return "".join(
        random.choice(pieces) + (random.choice(ENDS) if random.random() < odd else usual) for _ in range(number)
    )


def edited(random: Random, text: str) -> str:
    """A text with a few changes."""
    for _ in range(random.randint(1, 5)):
        at = random.randint(0, len(text))
        to = min(len(text), at + random.randint(0, 200))
        part = text[at:to]
        change = random.randrange(6)
        if change == 0:
            part = random.choice(WORDS) + random.choice(ENDS) + part
        elif change == 1:
            part += ("\n" + part) * random.randint(1, 3)
        elif change == 2:
            part = ""
        elif change == 3:
            part = random.choice((str.upper, str.lower, str.title, str.swapcase))(part)
        elif change == 4:
            part = part.replace(" ", random.choice(ENDS))
        else:
            part += random.choice(ENDS) * random.randint(1, 4)
        text = text[:at] + part + text[to:]
    return text


def address(random: Random) -> str:
    hosts = ("example.com", "www.bad-site.co.uk", "a.b.blogspot.com", "xn--e1afmkfd.xn--p1ai", "пример.рф", "EXAMPLE.org", "localhost", "1.2.3.4",
             "[2001:db8::1]", "user:pw@host.net:8080", "foo.github.io", "co.uk", "..", "a_b.com.", "sub.domain.kawasaki.jp")  # fmt: skip
    paths = (
        "",
        "/",
        "/sex-video/adult",
        "/a?b=porn#c",
        "/free/casino_games",
        "/Ünï/path",
        "/%20x",
        "/a//b",
        ":80/x",
        "?q",
        "#f",
        "/live/cam/girl",
    )
    schemes = ("http://", "https://", "", "//", "HTTP://", "ftp://", "http:", "mailto:")
    return random.choice(schemes) + random.choice(hosts) + random.choice(paths)
