"""pii_mapper and symbol_lines_mapper against their meaning in plain Python."""

from __future__ import annotations

import ipaddress
import re
from itertools import cycle

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup.minhash_normalize import PUNCTUATION
from refinery.operators import Library, load_module
from tests.examples import share_of

pii = load_module(Library().operators["pii_mapper"].path)
symbol_lines = load_module(Library().operators["symbol_lines_mapper"].path)

ADDRESSES = st.lists(
    st.sampled_from(
        ["a", "b.c", "@", "a@b.org", "x.y@z", ".", "..", "-", "[", "]", ":", "é", " ", "_", "1", "25", "255", "8.8.8.8"]
        + ["10.0.0.1", "999", "01.", "1.2.3", "@[", "8.8.8.8]", "\n", "co.uk", "x" * 600, "日", "/", "'", "192.0.2.1"]
    ),
    max_size=14,
).map("".join)
SYMBOLS = st.lists(
    st.sampled_from(
        ["|", "||", " ", "\n", "\n", "\r\n", "\r", "a", "-", "…", "》", "\x85", "\u2028", "\x1c", "\f", "\t", "\x00"]
        + ["\u3000", "\xa0", "“", "日", "*"]
    ),
    max_size=20,
).map("".join)


def replaced(text: str, emails: list[str], ips: list[str], public: bool) -> str:
    """datatrove's meaning, for a document of its own."""
    mails, numbers = cycle(emails), cycle(ips)

    def number(match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        return next(numbers) if address.is_global or not public else match[0]

    text = pii._EMAIL.sub(lambda match: next(mails), text) if emails else text
    return pii._IP.sub(number, text) if ips else text


@settings(max_examples=share_of(400), deadline=None)
@example(["a" * 511 + "." + "b@c.de", "x@y.z@w.v", "a@b.c@[8.8.8.8]"], True, True, True)
@given(st.lists(ADDRESSES, min_size=1, max_size=6), st.booleans(), st.booleans(), st.booleans())
def test_pii(texts: list[str], emails: bool, ips: bool, public: bool) -> None:
    lists = ["<1>", "<@2>"] * emails, ["I", "8.8.4.4", "K"] * ips
    new = pii.replace_pii(pa.array([*texts, None]), *lists, public, False)
    expected = [replaced(text, *lists, public) for text in texts]
    assert new.to_pylist() == [*(None if a == b else b for a, b in zip(texts, expected, strict=True)), None]


def test_pii_at_every_place_in_blocks() -> None:
    texts = [" " * before + "a@b.c 8.8.8.8" + " " * behind for before in range(130) for behind in (0, 1, 63, 64)]
    new = pii.replace_pii(pa.array(texts).cast(pa.large_string()), ["M"], ["N"], True, False).to_pylist()
    assert [text.split() for text in new] == [["M", "N"]] * len(texts)


def test_spread_uses_all_replacements() -> None:
    texts = [f"{number} a@b.c" for number in range(3000)]
    new = pii.replace_pii(pa.array(texts), ["X", "Y", "Z"], [], True, True).to_pylist()
    assert all(900 < sum(text.endswith(letter) for text in new) < 1100 for letter in "XYZ")
    assert pii.replace_pii(pa.array(texts[7:]), ["X", "Y", "Z"], [], True, True).to_pylist() == new[7:]


def without(text: str, symbols: set[str], replacement: str) -> str:
    """datatrove's meaning."""
    lines, within = [], False
    for line in text.splitlines():
        of_symbols = line.strip() != "" and all(char in symbols or char == " " for char in line)
        if not of_symbols:
            lines.append(line)
        elif replacement and not within:
            lines.append(replacement)
        within = of_symbols
    return "\n".join(lines)


@settings(max_examples=share_of(400), deadline=None)
@given(
    st.lists(SYMBOLS, min_size=1, max_size=6),
    st.sampled_from([None, "|", "", "》*…"]),
    st.sampled_from(["", "\n", "S"]),
)
def test_symbol_lines(texts: list[str], symbols: str | None, replacement: str) -> None:
    new = symbol_lines.remove_symbol_lines(
        pa.array([*texts, None]), None if symbols is None else list(symbols), replacement
    )
    expected = [without(text, set(PUNCTUATION if symbols is None else symbols), replacement) for text in texts]
    assert new.to_pylist() == [*(None if a == b else b for a, b in zip(texts, expected, strict=True)), None]
