"""Mappers for source code, LaTeX and HTML against plain Python: the peer's patterns in `regex`, and lexbor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from refinery.compiler.templates import template
from refinery.operators import Library, load_module
from refinery.workers.functions import register
from tests.characters import by_planes, characters
from tests.examples import share_of

OPERATORS = Library().operators
MAPPERS = ("clean_html_mapper", "expand_macro_mapper", "remove_comments_mapper")  # those with functions
Text = st.SearchStrategy[str]

# Line ends and spaces of every kind, marks, and letters and digits that only Python takes for some.
SPACES = "\n\r\v\f\x1c\x85\u2028\u00a0\u3000 \t"
NASTY = SPACES + "\u2029\0{}[]()*%\\/-#\"'<>&;!?=_aZ0é日İıſK٣²\u0301\ufeff\ufffd👍\U0010ffff"


def texts(*tokens: str) -> Text:
    """Texts of an operator's own tokens, mixed with nasty characters."""
    piece = st.sampled_from(tokens) | st.sampled_from(NASTY) | st.text(st.sampled_from(NASTY), max_size=3)
    return st.lists(piece, max_size=12).map("".join) | st.lists(st.sampled_from(tokens), max_size=12).map("".join)


def column(each: Text) -> st.SearchStrategy[list[str | None]]:
    return st.lists(st.none() | each, min_size=1, max_size=6)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        register(connection, [function for name in MAPPERS for function in OPERATORS[name].functions])
        yield connection


def selected(con: duckdb.DuckDBPyConnection, name: str, rows: dict[str, Any], **params: Any) -> list[Any]:
    """Result of the operator's own SELECT for a column `text` (and `suffix`)."""
    operator = OPERATORS[name]
    settled = {n: p.default for n, p in operator.params.items()} | params
    body = template(operator.sql).render(text="text", suffix="suffix", params=settled, **settled)
    columns = {name: pa.array(values, pa.string()) for name, values in rows.items()}
    con.register("rows", pa.table(columns | {"i": range(len(rows["text"]))}))
    return [value for (value,) in con.execute(f"{body} FROM rows ORDER BY i").fetchall()]


def agrees(con: Any, name: str, rows: Sequence[str | None], expected: Callable[[str], str], **params: Any) -> None:
    """The operator says NULL exactly where the expected text is the text itself, and else the expected text."""
    wanted = [None if text is None or expected(text) == text else expected(text) for text in rows]
    assert selected(con, name, {"text": rows}, **params) == wanted


COMMENT = regex.compile(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")


def without_copyright(text: str) -> str:
    found = COMMENT.search(text)
    if found:
        notice = regex.search("copyright", found[0], regex.IGNORECASE)
        return text[: found.start()] + text[found.end() :] if notice else text
    lines = text.split("\n")
    while lines and (not lines[0] or lines[0].startswith(("//", "#", "--"))):
        del lines[0]
    return "\n".join(lines)


@settings(max_examples=share_of(150))
@given(column(texts(*"/* */ / * /** copyright CopyrIGHT copyrİght # -- -".split(), "//x\n", "\n", "a\n")))
def test_clean_copyright(con: duckdb.DuckDBPyConnection, rows: list[str | None]) -> None:
    agrees(con, "clean_copyright_mapper", rows, without_copyright)


def test_case_of_copyright(con: duckdb.DuckDBPyConnection) -> None:
    word = "copyright"
    chars = [*map(chr, range(0x3000)), *map(chr, range(0xA640, 0xAC00)), *map(chr, range(0x10400, 0x10600))]
    texts = [f"/*{word[:i]}{c}{word[i + 1 :]}*/" for i in range(len(word)) for c in chars]
    agrees(con, "clean_copyright_mapper", texts, without_copyright)


NAMES = ("chapter", "part", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
HEADING = "|".join(rf"\\\b{name}\b\*?(?:\[(.*?)\])?\{{(.*?)\}}" for name in NAMES)


def from_heading(text: str, drop: bool) -> str:
    if not regex.search(f"^(.*?)({HEADING})", text, regex.DOTALL):
        return "" if drop else text
    return regex.sub(f"^(.*?)({HEADING})", r"\2", text, flags=regex.DOTALL)


@settings(max_examples=share_of(150))
@given(
    column(texts(*r"\section \part \subparagraph \sub \ section * [ ] ]{ { }".split(), "{a\n}")),
    st.booleans(),
)
def test_remove_header(con: duckdb.DuckDBPyConnection, rows: list[str | None], drop: bool) -> None:
    agrees(con, "remove_header_mapper", rows, lambda text: from_heading(text, drop), drop_no_head=drop)


@pytest.mark.parametrize("name", NAMES)
def test_every_heading(con: duckdb.DuckDBPyConnection, name: str) -> None:
    found = [f"\\{name}{form} b" for form in ("{a}", "*{a}", "[a]{b}", "*[]{}", "[a] [b]{c}", "{\n}")]
    others = [f"\\{name}{form} b" for form in (" {a}", "s{a}", "é{a}", "{a", "[a]", "[a] {b}", "**{a}")]
    rows = [f"é\r\n{rest}" for rest in found + others]
    assert selected(con, "remove_header_mapper", {"text": rows}, drop_no_head=False) == found + [None] * len(others)


@settings(max_examples=share_of(150))
@given(column(texts("%", "\\", "\\%", "%%", "a%b", "\n", "\n%", "%\n", "é%", "x")), st.booleans(), st.booleans())
def test_remove_comments(con: duckdb.DuckDBPyConnection, rows: list[str | None], inline: bool, multiline: bool) -> None:
    def without_comments(text: str) -> str:
        if inline:
            text = regex.sub(r"[^\\]%.+$", "", text, flags=regex.MULTILINE)
        return regex.sub(r"^%.*\n?", "", text, flags=regex.MULTILINE) if multiline else text

    agrees(con, "remove_comments_mapper", rows, without_comments, inline=inline, multiline=multiline)


PLACES = ("references", "REFERENCES", "thebibliography")
BIBLIOGRAPHY = "|".join([r"\\appendix", *(rf"\\begin\{{{place}\}}" for place in PLACES), r"\\bibliography\{.*\}"])


CITED = r"\appendix \begin{references} \begin{REFERENCES} \begin{thebibliography} \bibliography{ \bibliography".split()
PROSE = r"\begin{ references } { \bibliographystyle{x} appendix \ ".split()


@settings(max_examples=share_of(150))
@given(column(texts(*CITED, *PROSE, "a\n")))
def test_remove_bibliography(con: duckdb.DuckDBPyConnection, rows: list[str | None]) -> None:
    def body(text: str) -> str:
        return regex.sub(f"({BIBLIOGRAPHY}).*$", "", text, flags=regex.DOTALL)

    agrees(con, "remove_bibliography_mapper", rows, body)


DEFINITIONS = (
    regex.compile(r"\\\bnewcommand\b\*?\{(\\[a-zA-Z0-9]+?)\}\{(.*?)\}$", regex.MULTILINE),
    regex.compile(r"\\def\s*(\\[a-zA-Z0-9]+?)\s*\{(.*?)\}$", regex.MULTILINE),
)


def escaped(text: str) -> str:
    return text.encode("unicode-escape").decode("ascii")


def expanded(text: str) -> str:
    macros: dict[str, str] = {}
    for definition in DEFINITIONS:
        macros |= {escaped(found[1]): escaped(found[2]) for found in definition.finditer(text)}
    for name, value in macros.items():
        text = regex.sub(f"({name})([^a-zA-Z0-9])", value + r"\2", text)
    return text


MACROS = texts(
    *r"\newcommand * {\a} {\b1} { } \def \a \a \b1 \b a 1 \a\a. %".split(),
    *("}\n", "{x}\n", "\\newcommand{\\a}{\\b1 é}\n", "\\newcommand*{\\b1}{}\n"),
    *("\\def\\a{\\1\\g<2>}\n", "\\def\\b {\\a\\a}\n"),
)


@settings(max_examples=share_of(200))
@given(column(MACROS))
def test_expand_macro(con: duckdb.DuckDBPyConnection, rows: list[str | None]) -> None:
    agrees(con, "expand_macro_mapper", rows, expanded)


@settings(max_examples=share_of(100))
@given(st.text(st.sampled_from(SPACES), max_size=3), st.text(st.sampled_from(SPACES), max_size=2), st.text(max_size=6))
def test_macro_values(con: duckdb.DuckDBPyConnection, before: str, after: str, value: str) -> None:
    defined = f"\\def{before}\\x{after}{{{value}}}\n\\x|\\x"
    command = f"\\newcommand{{\\x}}{{{value}}}\n\\x."
    agrees(con, "expand_macro_mapper", [defined, command, defined + value, command.replace("\n", "\r\n")], expanded)


def test_macros_whose_text_explodes() -> None:
    macros = "".join(f"\\newcommand{{\\m{i}}}{{\\m{i + 1} \\m{i + 1} }}\n" for i in range(40))
    expand_macro = load_module(OPERATORS["expand_macro_mapper"].path).expand_macro
    with pytest.raises(ValueError, match="more than 16 MiB"):
        expand_macro(pa.array([None, "\\def\\x{y}\n\\x.", macros + "\\m0 ."]))


def html_text(text: str) -> str:
    for tag, mark in (("<li>", "\n*"), ("</li>", ""), ("<ol>", "\n*"), ("</ol>", "")):
        text = text.replace(tag, mark)
    return LexborHTMLParser(text).text()


TAGS = ("<a b='>'>", *"<li> </li> <ol> </ol> <LI> <p> </p> <pre> <table> <td> <script> <!--".split())
MARKS = ("< b", "\r\n", *"&amp; &amp &lt;b> &#0; &#x41 &#; &notit; & &é < <é </ <? -->".split())


@settings(max_examples=share_of(200))
@given(column(texts(*TAGS, *MARKS, "a", " ", "\n")))
def test_clean_html(con: duckdb.DuckDBPyConnection, rows: list[str | None]) -> None:
    agrees(con, "clean_html_mapper", rows, html_text)


@by_planes
def test_characters_that_html_leaves_alone(con: duckdb.DuckDBPyConnection, planes: range) -> None:
    """Whatever the test in front of the parser lets pass, the parser would not have changed."""
    chars = [char for char in characters(planes) if char not in "\0\r"]
    alone = "".join(chars).replace("<", "").replace("&", "").lstrip()
    opened = "".join(f"<{c}" for c in chars if not (c.isascii() and c.isalpha()) and c not in "/!?<&")
    referred = "".join(f"&{c}" for c in chars if not (c.isascii() and c.isalpha()) and c not in "#<&")
    whole = [alone, "x" + opened, "x" + referred, "x<", "x&", "x&&<<", "x&<é", "x<&1"]
    assert selected(con, "clean_html_mapper", {"text": whole}) == [None] * len(whole)
    assert [html_text(text) for text in whole] == whole
    starts = [c + "x" for c in chars if ord(c) < 0x3100 and c not in "\t\n\f <&"] + ["\ufeffx", "\U000e0001x"]
    assert selected(con, "clean_html_mapper", {"text": starts}) == [None] * len(starts)
    assert [html_text(text) for text in starts] == starts


SUFFIX = st.sampled_from(["", ".md", "md", ".MD", ".txt", "'", ".é"])


@settings(max_examples=share_of(100))
@given(st.lists(st.none() | SUFFIX, min_size=1), st.none() | SUFFIX | st.lists(SUFFIX, max_size=3), st.booleans())
def test_suffix_filter(
    con: duckdb.DuckDBPyConnection, suffixes: list[str | None], wanted: str | list[str] | None, reverse: bool
) -> None:
    allowed = [wanted] if isinstance(wanted, str) else wanted or []
    expected = [not allowed or (suffix in allowed) is not reverse for suffix in suffixes]
    rows = {"text": ["x"] * len(suffixes), "suffix": suffixes}
    assert selected(con, "suffix_filter", rows, suffixes=wanted, reversed_range=reverse) == expected
