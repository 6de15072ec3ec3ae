"""Tokens of a statement, as DuckDB reads it."""

from __future__ import annotations

from refinery.common.lazy import duckdb


def sql_tokens(sql: str) -> list[str]:
    """The tokens of a statement as they are written, without comments and the white space around them.

    Two statements with the same tokens are the same to DuckDB.
    """
    text = sql.encode()  # DuckDB counts bytes
    tokens = duckdb.tokenize(sql)
    ends = [*(start for start, _ in tokens[1:]), len(text)]
    return [
        text[start:end].decode().strip()
        for (start, kind), end in zip(tokens, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]


def text_of(token: str) -> str | None:
    """The value of a token that is a text in single quotes; None for any other token."""
    plain = len(token) > 1 and token[0] == token[-1] == "'"
    return token[1:-1].replace("''", "'") if plain else None
