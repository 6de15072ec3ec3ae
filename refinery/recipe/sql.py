"""Parsing of user SQL with sqlglot; errors fit one line."""

from __future__ import annotations

import re

from refinery.common.lazy import exp


class UnreadableSQL(ValueError):
    """SQL that cannot be parsed. line: of the SQL, where it is known, else 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


def parse(sql: str) -> exp.Expr:
    """Parse one DuckDB statement or expression. Raises ValueError with a one-line reason."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        statements = sqlglot.parse(sql, dialect="duckdb")
    except SqlglotError as error:
        details = (getattr(error, "errors", None) or [{}])[0]
        reason = str(details.get("description") or error).splitlines()[0].rstrip(".")
        reason = re.sub(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>", r"\1 lacks an operand", reason)
        at = details.get("highlight")
        raise UnreadableSQL(f"{reason}, at {at!r}" if at else reason, int(details.get("line") or 1)) from None
    if len(statements) > 1:
        raise ValueError("there is more than one statement, or something after a semicolon")
    if not statements or statements[0] is None:
        raise ValueError("there is nothing but comments" if sql.strip() else "it is empty")
    return statements[0]


def tokens_of(sql: str) -> list[tuple[str, str]]:
    """Kind and text of each token of SQL without the quotes; comments and white space are none. Raises ValueError."""
    from sqlglot.dialects import DuckDB
    from sqlglot.errors import SqlglotError

    try:
        return [(token.token_type.name, token.text) for token in DuckDB().tokenize(sql)]
    except SqlglotError as error:
        raise ValueError(str(error).splitlines()[0]) from None


def split_comments(sql: str) -> tuple[list[str], str]:
    """Lines that are nothing but a comment (`-- ...`), and the SQL without them; a text may hold such lines, too."""
    from sqlglot.dialects import DuckDB

    spans = [(token.start, token.end) for token in DuckDB().tokenize(sql)]
    comments: list[str] = []
    rest: list[str] = []
    at = position = 0
    for line in sql.splitlines(keepends=True):
        while at < len(spans) and spans[at][1] < position:
            at += 1
        inside = at < len(spans) and spans[at][0] < position
        (comments if line.startswith("--") and not inside else rest).append(line)
        position += len(line)
    return [comment.rstrip("\n") for comment in comments], "".join(rest)


def split_at_and(sql: str) -> list[str]:
    """The pieces of SQL between its ANDs that stand in no brackets; that of `BETWEEN a AND b` counts as well."""
    from sqlglot import tokens
    from sqlglot.dialects import DuckDB

    kind = tokens.TokenType
    steps = dict.fromkeys((kind.L_PAREN, kind.L_BRACKET, kind.L_BRACE), 1)
    steps |= dict.fromkeys((kind.R_PAREN, kind.R_BRACKET, kind.R_BRACE), -1)
    depth, start, pieces = 0, 0, []
    for token in DuckDB().tokenize(sql):
        depth += steps.get(token.token_type, 0)
        if token.token_type == kind.AND and not depth:
            pieces.append(sql[start : token.start].strip())
            start = token.end + 1
    return [*pieces, sql[start:].strip()]


def quoted_columns(sql: str) -> str:
    """The SQL with `text[1]` as `"text"[1]`: sqlglot takes a type's name before a bracket for an array type."""
    from sqlglot import tokens
    from sqlglot.dialects import DuckDB
    from sqlglot.errors import SqlglotError

    try:
        all_tokens = DuckDB().tokenize(sql)
    except SqlglotError:
        return sql  # the parser reports the error
    kind = tokens.TokenType
    in_types = {kind.DCOLON, kind.ALIAS, kind.VAR, kind.IDENTIFIER}
    pieces, at = [], 0
    for i, token in enumerate(all_tokens):
        before = all_tokens[i - 1].token_type if i else None
        after = [other.token_type for other in all_tokens[i + 1 : i + 3]]
        is_type = (
            token.token_type in DuckDB.Parser.TYPE_TOKENS and token.token_type != kind.VAR and token.text.isidentifier()
        )
        if is_type and before not in in_types and after[:1] == [kind.L_BRACKET] and after[1:] != [kind.R_BRACKET]:
            pieces += [sql[at : token.start], f'"{token.text}"']
            at = token.end + 1
    return "".join([*pieces, sql[at:]])
