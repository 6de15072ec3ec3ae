"""Tokens of statements for keys: comments and white space are none, everything else is."""

from __future__ import annotations

import duckdb
import pytest

from refinery.checkpoints.sql_tokens import sql_tokens, text_of


def test_comments_and_white_space_are_no_tokens() -> None:
    sql = "SELECT 'ä''s -- no comment'  ||x -- c\n, \"ö\" /* é */ FROM t WHERE a->>'b' >= 1.5e3 AND E'\\n' = $$a b$$"
    words = [
        "SELECT",
        "'ä''s -- no comment'",
        "||",
        "x",
        ",",
        '"ö"',
        "FROM",
        "t",
        "WHERE",
        "a",
        "->>",
        "'b'",
        ">=",
        "1.5e3",
    ]
    assert sql_tokens(sql) == [*words, "AND", "E'\\n'", "=", "$$a b$$"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("'a b'", "'a  b'"), ("'a'", '"a"'), ("1", "1.0"), ("a.b", "a, b"), ("'-- a'", "'-- b'"), ("x<y", "x<=y")],
)
def test_other_statements_have_other_tokens(one: str, other: str) -> None:
    assert sql_tokens(f"SELECT {one}") != sql_tokens(f"SELECT {other}")


@pytest.mark.parametrize("value", ["", "it's", "a ' b '' c", "ü/日本 -- x", "\\n"])
def test_a_token_has_the_value_of_its_text(value: str) -> None:
    token = "'" + value.replace("'", "''") + "'"
    with duckdb.connect() as con:
        assert con.execute(f"SELECT {token}").fetchall() == [(value,)]
    assert sql_tokens(f"SELECT {token}") == ["SELECT", token] and text_of(token) == value


@pytest.mark.parametrize("token", ["x", '"x"', "E'x'", "$$x$$", "'", "x'"])
def test_other_tokens_have_no_value(token: str) -> None:
    assert text_of(token) is None
