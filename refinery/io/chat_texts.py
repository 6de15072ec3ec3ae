"""Lists of chat messages as one text, by a template for each message."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TEMPLATE = "{role}: {content}\n"
_PLACE = re.compile(r"\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}")


class NoMessages(ValueError):
    """A value that is no list of messages."""


@dataclass(frozen=True)
class Template:
    """Literals with the fields of a message between them: one literal more than fields."""

    literals: tuple[str, ...]
    fields: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Template:
        """The template of a text with `{field}` in it; other braces are braces. Raises ValueError."""
        parts = _PLACE.split(text)
        literals, fields = tuple(parts[::2]), tuple(parts[1::2])
        if not fields:
            raise ValueError("has no field of messages, such as {content}")
        return Template(literals, fields)

    def text_of(self, messages: Any) -> str:
        """All messages, one after another. Raises NoMessages."""
        if not isinstance(messages, list):
            raise NoMessages("is no list of messages")
        return "".join(self._message(number, message) for number, message in enumerate(messages, 1))

    def _message(self, number: int, message: Any) -> str:
        if not isinstance(message, dict):
            raise NoMessages(f"has no object as message {number}")
        if not any(field in message for field in self.fields):
            raise NoMessages(f"has none of the template's fields in message {number}")
        parts = [self.literals[0]]
        for field, literal in zip(self.fields, self.literals[1:], strict=True):
            parts += [_plain(message.get(field)), literal]
        return "".join(parts)


def _plain(value: Any) -> str:
    """A value of a message: a text, a list of parts with texts, or nothing; anything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, (str, dict)) for part in value):
        return _of_parts(value)
    return json.dumps(value, ensure_ascii=False)


def _of_parts(parts: Sequence[Any]) -> str:
    """The texts of parts; other parts, such as images, have none."""
    texts = [part if isinstance(part, str) else part.get("text") for part in parts]
    return "".join(text for text in texts if isinstance(text, str))
