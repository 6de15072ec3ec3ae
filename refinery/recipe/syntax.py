"""YAML errors as messages that name the cure."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml


class YamlError(NamedTuple):
    """A YAML error. line: from 1, or None if YAML does not report it. what, hint: as in `Problem`."""

    line: int | None
    what: str
    hint: str | None


_INDENT = "Items of one block start in the same column; parameters stand deeper than their operator's name."

# (pattern of YAML's message, new message, cure); {0} is the pattern's group, {start} the line where it began.
# A message with "here" is reported at that line.
_RULES: list[tuple[str, str, str | None]] = [
    (r"found character '\\t' that cannot start", "a tab in place of spaces", "Replace tabs by spaces."),
    (
        r"found character '(.)' that cannot start",
        "a value cannot start with {0}",
        "Put the value in single quotes.",
    ),
    (
        r"mapping values are not allowed here",
        "a colon where no key is allowed",
        "Check the indentation of this line and the one above, and quote a value that holds ': '.",
    ),
    (
        r"sequence entries are not allowed here",
        "a list item where none is allowed",
        "Start it on a line of its own: '- '.",
    ),
    (
        r"found unknown escape character '(.)'",
        "double quotes make \\{0} an escape that YAML does not know",
        "Write regular expressions in single quotes.",
    ),
    (
        r"expected escape sequence of",
        "an escape in double quotes is incomplete",
        "Write regular expressions in single quotes.",
    ),
    (
        r"while scanning a quoted scalar.*unexpected end of stream",
        "the quote that is opened here is never closed",
        "Close it; inside single quotes a quote is written twice.",
    ),
    (
        r"while scanning a quoted scalar.*document separator",
        "the quote that is opened here is never closed",
        "Close it; inside single quotes a quote is written twice.",
    ),
    (r"while scanning an alias", "a value that starts with * is a reference in YAML", "Put it in quotes: '*.jsonl'."),
    (r"found undefined alias '?([^']*)'?", "there is no anchor &{0}", "Put a value that starts with * in quotes."),
    (r"while scanning an anchor", "a value that starts with & is an anchor in YAML", "Put it in quotes."),
    (r"could not find expected ':'", "the key here has no colon", "Write it as 'key: value'."),
    (
        r"while parsing a (flow sequence|flow mapping|flow node)",
        "the bracket that is opened here is not closed",
        "Close it, or put a value that holds brackets in quotes.",
    ),
    (
        r"expected <block end>, but found '<scalar>'",
        "there is something after the end of a value",
        "Check the quotes and the indentation of this line.",
    ),
    (
        r"expected <block end>",
        "the indentation does not fit the block that starts in line {start}",
        _INDENT,
    ),
    (
        r"while scanning a block scalar",
        "a value that starts with | or > is a text block in YAML",
        "Put the value in single quotes.",
    ),
    (
        r"expected a single document",
        "a second document starts here",
        "A recipe is one YAML document; remove the line '---'.",
    ),
    (r"while scanning a tag|found undefined tag", "a value that starts with ! is a tag in YAML", "Put it in quotes."),
    (
        r"while scanning a directive|<document start>",
        "a line that starts with % is a directive in YAML",
        "Indent it, or put the value in quotes.",
    ),
]


def explain(error: yaml.YAMLError) -> YamlError:
    """Explain a YAML error and its place."""
    if isinstance(error, yaml.reader.ReaderError):
        return YamlError(None, f"the character U+{_code(error):04X} is not allowed in YAML", "Remove or escape it.")
    if not isinstance(error, yaml.MarkedYAMLError):
        return YamlError(None, f"is not YAML: {error}", None)
    line = error.problem_mark.line + 1 if error.problem_mark else None
    start = error.context_mark.line + 1 if error.context_mark else line
    words = f"{error.context or ''}; {error.problem or ''}".replace("\t", "\\t")
    for pattern, what, hint in _RULES:
        match = re.search(pattern, words, re.DOTALL)
        if match:
            group = match.group(1) if match.groups() else ""
            return YamlError(start if " here " in what else line, what.format(group, start=start), hint)
    return YamlError(line, f"is not YAML: {words.strip('; ')}", None)


def bad_character(error: yaml.reader.ReaderError, text: str) -> YamlError:
    """`explain` for a character that YAML forbids, with its line."""
    return explain(error)._replace(line=text.count("\n", 0, error.position) + 1)


def _code(error: yaml.reader.ReaderError) -> int:
    character = error.character
    return character if isinstance(character, int) else ord(character)
