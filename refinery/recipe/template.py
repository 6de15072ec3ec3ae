"""`${NAME}`, `${NAME:-default}` and `{{ variable }}` in recipes.

The parser masks references by plain words before it parses the YAML, and fills them in afterwards, value by value. So
a value can hold quotes, colons or line ends without breaking the recipe's syntax, line numbers stay right,
`max_num: {{ n }}` works without quotes, and references in comments do not matter.

- `${NAME}` is an environment variable, `${NAME:-default}` has a default for one that is unset or empty; `$${NAME}` is
  the text `${NAME}`.
- `{{ name }}` is a variable: from the command line (`--var name=value`) or else from the recipe's `vars:`. Braces
  that start with a variable's name may hold a Jinja expression: `{{ n * 2 }}`, `{{ lang | upper }}`,
  `{{ n | default(10) }}`.
- Other braces are left alone: `\\d{3}`, `{{\\w+}}`, and `'{{name}}'` in quotes and without blanks when there is no
  variable of that name. `{{ '{{' }}` is the text `{{` in any place.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refinery.errors import suggestion
from refinery.recipe.tree import Problems, SourcePlace

_MASKED = re.compile(
    r"""
      \$\$ (?P<kept> \{ [A-Za-z_]\w* (?: :- [^{}\n"\\]* )? \} )
    | \$\{ (?P<env> [A-Za-z_]\w* ) (?: :- (?P<default> [^{}\n"\\]* ) )? \}
    | \{\{ \s* (?P<quote> ['"]) (?P<literal> [^'"\n]*) (?P=quote) \s* \}\}
    | \{\{ (?P<expression> [ \t]* [A-Za-z_]\w* [^{}\n"\\]*) \}\}
    """,
    re.VERBOSE | re.ASCII,
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_REFERENCE = re.compile(r'\$(?=\{[A-Za-z_]\w*(?::-[^{}\n"\\]*)?\})', re.ASCII)


@dataclass(frozen=True)
class Variable:
    """A variable. text: the result of `{{ name }}`. value: the operand in expressions."""

    text: str
    value: Any

    @classmethod
    def of(cls, value: Any) -> Variable:
        """Make a variable from a Python value (a number, text, bool, None or list of these)."""
        return cls(as_text(value), value)


@dataclass
class TemplateValues:
    """Values to fill into recipes. used: names of used variables. closed: the recipe may not read the environment."""

    variables: dict[str, Variable]
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    used: set[str] = field(default_factory=set)
    closed: bool = False


def as_text(value: Any) -> str:
    """A value as YAML text."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value).replace("inf", ".inf").replace("nan", ".nan")
    return json.dumps(value, ensure_ascii=False)


class Template:
    """A text with its references masked."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._prefix = "REFINERY"
        while self._prefix in text:
            self._prefix += "X"
        self._masks = list(_MASKED.finditer(text))
        self._token = re.compile(rf"{self._prefix}(\d+)E")
        numbers = iter(range(len(self._masks)))
        self.masked = _MASKED.sub(lambda _: f"{self._prefix}{next(numbers)}E", text)

    def is_masked(self, text: str) -> bool:
        """Return whether there is anything to fill in."""
        return bool(self._masks) and self._token.search(text) is not None

    def is_whole(self, text: str) -> bool:
        """Return whether the text is one `{{ variable }}` and nothing else."""
        match = self._token.fullmatch(text)
        return match is not None and self._masks[int(match[1])]["expression"] is not None

    def restore(self, text: str) -> str:
        """The original text."""
        return self._token.sub(lambda token: self._masks[int(token[1])][0], text)

    def fill(
        self, text: str, style: str | None, values: TemplateValues, place: SourcePlace, problems: Problems
    ) -> str | None:
        """Fill in the references of a text; None if one has no value. style: the quotes, None for none."""
        broken = False

        def one(token: re.Match[str]) -> str:
            nonlocal broken
            mask = self._masks[int(token[1])]
            line = None if place.line is None else mask.string.count("\n", 0, mask.start()) + 1
            where = place if line is None else SourcePlace(self.source, line)
            value = self._one(mask, style, values, where, problems)
            broken |= value is None
            return value or ""

        filled = self._token.sub(one, text)
        return None if broken else filled

    def _one(
        self, mask: re.Match[str], style: str | None, values: TemplateValues, where: SourcePlace, problems: Problems
    ) -> str | None:
        if mask["kept"] is not None:
            return f"${mask['kept']}"
        if mask["literal"] is not None:
            return mask["literal"]
        if mask["env"] is not None:
            return _environment(mask["env"], mask["default"], values, where, problems)
        name = _NAME.search(mask["expression"])[0]  # type: ignore[index]  # the pattern starts with a name
        values.used.update(_NAME.findall(mask["expression"]))
        if name not in values.variables and not mask["expression"][0].isspace() and style is not None:
            return mask[0].replace("''", "'") if style == "'" else mask[0]
        return _expression(mask["expression"].strip(), values, where, problems)


def _environment(
    name: str, default: str | None, values: TemplateValues, where: SourcePlace, problems: Problems
) -> str | None:
    value = values.environ.get(name)
    if default is not None:
        return value or default
    if value is None and values.closed:
        problems.add(where, f"--safe: the environment variable {name} is not read", "Write the value itself.")
    elif value is None:
        problems.add(where, f"the environment variable {name} is not set", f"Set it, or write ${{{name}:-default}}.")
    return value


def _expression(source: str, values: TemplateValues, where: SourcePlace, problems: Problems) -> str | None:
    if source in values.variables:
        return values.variables[source].text
    if _NAME.fullmatch(source):
        near = suggestion(source, values.variables)
        problems.add(where, f"there is no variable {source!r}", near or f"Give it a value: --var {source}=...")
        return None
    from refinery.recipe.expression import evaluate

    try:
        return as_text(evaluate(source, {name: variable.value for name, variable in values.variables.items()}))
    except ValueError as error:
        problems.add(where, f"{{{{ {source} }}}}: {error}", "Write {{ '{{' }} where two braces are meant.")
        return None


def escape(text: str) -> str:
    """Escape a text so that filling in gives it back."""
    if not _MASKED.search(text):
        return text
    return _REFERENCE.sub("$$", text).replace("{{", "{{ '{{' }}")
