"""The link and address kernels against the `regex` module, and e-mail addresses in SQL against it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refinery.compiler.templates import template
from refinery.kernels.text import links
from refinery.kernels.text.emails import EMAIL_PATTERN, clean_emails
from refinery.kernels.text.links import IP_PATTERN, LINK_PATTERN, clean_ips, clean_links
from refinery.operators import read_operator, shipped
from refinery.workers.functions import register
from tests.examples import share_of

REPLS = ["", "<LINK>", r"[\g<0>]", "é"]

quick = settings(max_examples=share_of(150), suppress_health_check=[HealthCheck.too_slow])


def wanted(pattern: str, repl: str, texts: list[str]) -> list[str | None]:
    compiled = regex.compile(pattern, regex.DOTALL)
    results = [compiled.sub(repl, text) for text in texts]
    return [None if result == text else result for result, text in zip(results, texts, strict=True)]


LINK_PIECES = st.one_of(
    st.sampled_from(
        "http:// https:/// ftp:// www. WwW. www1. www٣. www123. www1234. a.co/ x.org/ .com/ .K\u212a/ .\u0130\u017f/ "
        "ab: a: mailto: \u017fſ: x-y: aa://// () (a) ((b)) (a(b)c) ((( :: // ... foo com".split(" ")
    ),
    st.sampled_from(list("aZ0-_.:/%w(<>) \n\t\x1c\x85\u00a0\u2028'\"«»“”‘’`![]{};,?é中ſKİı٣²\u0301😀\0")),
)


@quick
@given(st.lists(st.lists(LINK_PIECES, max_size=14).map("".join), min_size=1, max_size=8), st.sampled_from(REPLS))
def test_links_are_those_of_the_pattern(texts: list[str], repl: str) -> None:
    assert clean_links(pa.array(texts), repl).to_pylist() == wanted(LINK_PATTERN, repl, texts)


@quick
@given(st.lists(st.text("aZ0-_.:/%w(<>) \n'\"«é中ſK", max_size=24), min_size=1, max_size=60))
def test_links_in_noise(texts: list[str]) -> None:
    assert clean_links(pa.array(texts), "").to_pylist() == wanted(LINK_PATTERN, "", texts)


@quick
@given(st.lists(LINK_PIECES, max_size=14).map("".join), st.integers(50, 200), st.sampled_from(" aé."))
def test_links_at_any_place_in_a_long_text(link: str, before: int, filler: str) -> None:
    texts = [filler * k + " " + link + " " + filler * before for k in range(before, before + 70, 7)]
    assert clean_links(pa.array(texts), "").to_pylist() == wanted(LINK_PATTERN, "", texts)


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("see http://a.b/c.", "see _."),
        ("http://a.b/c(d)e)", "_)"),
        ("http://a.b/c(d(e)f)", "_"),
        ("http://a.b/c(d((e))f)", "_(d((e))f)"),
        ("http:////", "_"),
        ("http:///", "_"),
        ("http://ab", "_"),
        ("http://a", "_"),
        ("a-www.b.co/xy", "_"),
        ("a-www.b.co/x", "a-_"),
        ("-foo.com/ab", "-_"),
        ("é-foo.com/ab", "é_"),
        ("éfoo.com/ab", None),
        ("\u212aelvin:ab1", "_"),
        ("www1234.x.org", None),
        ("www٣.x.org", "_"),
        ("http://a.b/c»", "_»"),
    ],
)
def test_links_by_hand(text: str, out: str | None) -> None:
    assert clean_links(pa.array([text]), "_").to_pylist() == [out] == wanted(LINK_PATTERN, "_", [text])


def test_letters_are_those_that_the_pattern_takes_for_letters() -> None:
    everything = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    folded = set(regex.findall("(?i)[a-z]", "".join(everything)))
    assert {char for char in everything if links._is_letter.py_func(ord(char))} == folded


@pytest.mark.parametrize("form", ["{0}ab://x{0}y{0}", "www{0}.xy (a{0})", "a{0}-b.co/xy"])
def test_every_character_that_is_not_ascii(form: str) -> None:
    chars = [*range(0x80, 0x3100), 0x4E00, 0xAC00, 0xFEFF, 0xFF10, 0xFFFD, *range(0x1D7C0, 0x1D800), 0x1F600, 0x10FFFF]
    texts = [form.format(chr(c)) for c in chars]
    assert clean_links(pa.array(texts), "_").to_pylist() == wanted(LINK_PATTERN, "_", texts)


@pytest.mark.parametrize("repl", [r"\1", r"\g<1>!", r"a\nb", r"\\", r"\2", r"<\g<0>\t>", "\\1\\1", r"\g<0>"])
def test_templates(repl: str) -> None:
    texts = ["a http://b.c/d(e), www.x.org", "none", "", "http://a.bc/d"]
    assert clean_links(pa.array(texts), repl).to_pylist() == wanted(LINK_PATTERN, repl, texts)
    addresses = ["at 1.2.3.4 and 1:2:3:4:5:6:7:8", "none"]
    assert clean_ips(pa.array(addresses), repl.replace("2", "1")).to_pylist() == wanted(
        IP_PATTERN, repl.replace("2", "1"), addresses
    )


def test_a_bad_template_is_an_error_only_where_something_is_found() -> None:
    assert clean_links(pa.array(["nothing", None]), r"\9").to_pylist() == [None, None]
    with pytest.raises(regex.error):
        clean_links(pa.array(["http://a.bc"]), r"\9")


def test_columns_of_every_kind() -> None:
    texts = ["www.a.bc", None, "", "x", "see http://a.bc/d", "y" * 200, "z http://q.rs/t"]
    out = [None if text is None or "." not in text else regex.sub(LINK_PATTERN, "L" * 300, text) for text in texts]
    whole = pa.array(texts)
    assert clean_links(whole, "L" * 300).to_pylist() == out
    assert clean_links(whole.cast(pa.large_string()), "L" * 300).to_pylist() == out
    assert clean_links(whole.slice(3, 3), "L" * 300).to_pylist() == out[3:6]
    assert clean_links(pa.chunked_array([whole.slice(0, 2), whole.slice(2)]), "L" * 300).to_pylist() == out
    assert clean_links(pa.array([], pa.string()), "").to_pylist() == []
    assert clean_links(pa.array([None, None], pa.string()), r"\2").to_pylist() == [None, None]
    assert clean_links(pa.array(["http://a.bc", "http://b.cd"]), "").to_pylist() == ["", ""]


@pytest.mark.parametrize(
    "unit",
    "a- www. ( : http:// http://a(( aa:b(( aa:b(c) aa:bcd( .co/ -a.co/ wwww aa:.. (a( aa:b(x(y) ! ' é- ::: K".split(),
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    # With the square of the length, or worse, as in a backtracking engine, this would take hours.
    for text in (unit * 150_000, "http://a" + unit * 150_000, "aa:b(" + unit * 150_000):
        clean_links(pa.array([text]), "")
        clean_ips(pa.array([text.replace("a", "1")]), "")


IP_PIECES = st.sampled_from(
    "1. 10. 255. 256. 249. 01. 100. 299. 9 99 1 0 25 199 . : :: a A f F g a: 1: 0: ffff: 12345 ab12 ٣ ٣: ߉: ² é".split()
    + ["1.1.1.1", "1:2:3:4:5:6:7:8", "10.2.30.", "a:b:c:", " ", "\n"]
)


@quick
@given(
    st.lists(st.lists(IP_PIECES, max_size=20).map("".join), min_size=1, max_size=30),
    st.sampled_from(["", "<IP>", r"\g<0>!"]),
)
def test_addresses_are_those_of_the_pattern(texts: list[str], repl: str) -> None:
    assert clean_ips(pa.array(texts), repl).to_pylist() == wanted(IP_PATTERN, repl, texts)


@quick
@given(st.lists(st.text("129056.:af ", max_size=50), min_size=1, max_size=60))
def test_addresses_in_noise(texts: list[str]) -> None:
    assert clean_ips(pa.array(texts), "_").to_pylist() == wanted(IP_PATTERN, "_", texts)


@pytest.mark.parametrize("number", range(300))
def test_every_number_of_an_address(number: int) -> None:
    texts = [f"{number}.1.1.1", f"1.{number}.1.1", f"1.1.{number}.1", f"1.1.1.{number}", f"1.1.1.0{number}"]
    assert clean_ips(pa.array(texts), "_").to_pylist() == wanted(IP_PATTERN, "_", texts)


def test_threads_do_not_disturb_each_other() -> None:
    draw = random.Random(7)
    pieces = ["http://a.bc/d ", "1.2.3.4 ", "word ", "é ", "www.x.org, "]
    column = pa.array(["".join(draw.choices(pieces, k=30)) for _ in range(500)])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda repl: clean_ips(clean_links(column, repl), repl), ["", "<>"] * 8))
    assert all(result.equals(results[k % 2]) for k, result in enumerate(results))


EMAIL_PIECES = st.sampled_from(
    "a B 9 . - + _ @ @a .b .org a@b.c x.y@z. @@ .. é ſ K 中 ٣ \n \0 < > , user name@host.co A@B.C -@-.a".split(" ")
    + [" "]
)


CLEAN_EMAIL = read_operator(shipped() / "udfs" / "mappers" / "clean_email_mapper.py")


@pytest.fixture(scope="module")
def emails() -> Iterator[duckdb.DuckDBPyConnection]:
    """One connection for all examples: making another one takes longer than an example."""
    with duckdb.connect() as connection:
        register(connection, CLEAN_EMAIL.functions)
        yield connection


@quick
@given(
    st.lists(st.lists(EMAIL_PIECES, max_size=20).map("".join), min_size=1, max_size=30),
    st.sampled_from(["", "<EMAIL>", "it's", "$0 &", "a\0b", r"<\g<0>>", r"\n"]),
)
def test_email_addresses_in_sql_are_those_of_the_pattern(
    emails: duckdb.DuckDBPyConnection, texts: list[str], repl: str
) -> None:
    sql = template(CLEAN_EMAIL.sql).render(text="content", pattern=None, repl=repl)
    table = pa.table({"row": range(len(texts)), "content": texts})
    emails.register("texts", table)
    rows = emails.sql(f"{sql.strip()}, row FROM texts ORDER BY row").fetchall()
    assert [row[0] for row in rows] == wanted(EMAIL_PATTERN, repl, texts)


@pytest.mark.parametrize("repl", ["", r"<\g<0>>"])
def test_email_addresses_at_any_place_in_long_texts(repl: str) -> None:
    chance = random.Random(1)
    pieces = [*"aZ0.-+_@@\n é中", "a@b.cd", "@x.y", ".com", "plain words ", "w" * 61, "@" * 3]
    texts = ["".join(chance.choices(pieces, k=chance.randrange(60))) for _ in range(2000)]
    assert clean_emails(pa.array(texts), repl).to_pylist() == wanted(EMAIL_PATTERN, repl, texts)
    shifted = pa.array(["@", *texts, "@a.b"], pa.large_string())[1:-1]
    assert clean_emails(shifted, repl).to_pylist() == wanted(EMAIL_PATTERN, repl, texts)
