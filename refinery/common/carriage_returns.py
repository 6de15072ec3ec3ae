"""Carriage returns of templates, which Jinja takes for line ends: SQL such as `replace(text, chr(13), '')` may hold one."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

# Jinja replaces CR and CR LF of a template by LF. This stands for a CR meanwhile. It is white space to Jinja, so it may
# stand wherever a CR may, and marks that strip white space take it away as well.
_ESCAPED = "\x1f\x1c\x1f\x1d\x1f\x1e"


class CarriageReturns(Extension):
    """Extension of Jinja that keeps the carriage returns of a template's text and of its constants."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Escape carriage returns before Jinja's lexer sees the template."""
        if _ESCAPED in source:
            raise TemplateSyntaxError(f"the characters {_ESCAPED!r} are reserved; write them with chr(...)", 1)
        return source.replace("\r", _ESCAPED)

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Put carriage returns back into texts and constants."""
        for token in stream:
            is_text = isinstance(token.value, str)
            yield Token(token.lineno, token.type, token.value.replace(_ESCAPED, "\r")) if is_text else token
