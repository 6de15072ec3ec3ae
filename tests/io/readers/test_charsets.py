"""Charsets of pages: what is declared, held against the bytes."""

from __future__ import annotations

import pytest

from refinery.io.readers.charsets import page_of

pytest.importorskip("resiliparse")

GERMAN = "Das Mühlenmuseum öffnet wieder. Während des Umbaus wurden die Räder geprüft, die Böden erneuert."
RUSSIAN = "Старая мельница у реки была построена раньше дороги, и люди в долине ещё помнят её шум. " * 3
JAPANESE = "古い水車小屋は道よりも先に川のそばに建てられた。谷の人々はまだその音を覚えている。" * 3


def meta(charset: str) -> str:
    return f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">'


@pytest.mark.parametrize(
    ("text", "encoding", "header", "charset", "declared"),
    [
        (GERMAN, "utf-8", "utf-8", "utf-8", "utf-8"),
        (GERMAN, "utf-8", "ISO-8859-1", "utf-8", "iso-8859-1"),
        (GERMAN, "utf-8", None, "utf-8", None),
        (GERMAN, "cp1252", "iso-8859-1", "cp1252", "iso-8859-1"),
        (GERMAN, "cp1252", "utf-8", "cp1252", "utf-8"),
        (meta("windows-1252") + GERMAN, "cp1252", None, "cp1252", "windows-1252"),
        (meta("utf-8") + GERMAN, "cp1252", None, "cp1252", "utf-8"),
        (RUSSIAN, "koi8-r", None, "koi8-r", None),
        (RUSSIAN, "cp1251", "windows-1251", "cp1251", "windows-1251"),
        (meta("Shift_JIS") + JAPANESE, "cp932", None, "shift_jis", "shift_jis"),
        (JAPANESE, "euc_jp", "x-unknown", "euc_jp", "x-unknown"),
        (JAPANESE, "iso2022_jp", "ISO-2022-JP", "iso2022_jp", "iso-2022-jp"),
        ("<?xml version='1.0' encoding='windows-1251'?>" + RUSSIAN, "cp1251", None, "cp1251", "windows-1251"),
        ("<!-- " + meta("koi8-r") + " -->" + meta("windows-1251") + RUSSIAN, "cp1251", None, "cp1251", "windows-1251"),
        (GERMAN, "utf-16-le", None, "utf-16-le", None),
        (GERMAN, "utf-16-be", "utf-16", "utf-16-be", "utf-16"),
        ("", "utf-8", None, "utf-8", None),
    ],
)
def test_the_charset_that_fits(
    text: str, encoding: str, header: str | None, charset: str, declared: str | None
) -> None:
    found = page_of(text.encode(encoding), header)
    assert (found.text, found.charset, found.declared, found.replaced) == (text, charset, declared, 0)


@pytest.mark.parametrize(
    ("mark", "encoding"), [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")]
)
def test_a_byte_order_mark_goes_before_the_header(mark: bytes, encoding: str) -> None:
    found = page_of(mark + GERMAN.encode(encoding), "koi8-r")
    assert (found.text, found.charset, found.replaced) == (GERMAN, encoding, 0)


def test_utf_8_with_a_few_broken_bytes_stays_utf_8() -> None:
    data = (GERMAN * 9).encode()[:-3] + b"\xc3"
    found = page_of(data + b"\xff genuine \xef\xbf\xbd", None)
    assert (found.charset, found.replaced) == ("utf-8", 2) and found.text.startswith(GERMAN)


def test_the_five_unused_bytes_of_windows_1252_are_controls() -> None:
    found = page_of(b"caf\xe9 \x81 n\xf6", "windows-1252")
    assert (found.text, found.replaced) == ("café \x81 nö", 0)


def test_broken_sequences_of_the_only_known_charset_are_replaced() -> None:
    found = page_of(JAPANESE.encode("euc_jp") + b"\xff\xff", "euc-jp")
    assert found.charset in ("euc_jp", "utf-8") or found.replaced == 0
    assert found.text.startswith(JAPANESE[:5])
