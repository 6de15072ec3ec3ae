"""Patterns in the syntax of Rust's crate regex, run by the module `regex`.

They differ from Python's in what `$`, `\\s` and classes such as `[[:alpha:]]` match, in the form `\\x{41}`, and in having neither
look-around nor references to groups.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

# Parts of a pattern in which a character has another meaning than alone.
_TOKEN = re.compile(
    r"(?P<code>\\[xuU]\{(?P<hex>[0-9A-Fa-f]+)\})|(?P<end>\\z)|(?P<space>\\s)|(?P<no_space>\\S)|(?P<escape>\\.)"
    r"|\[:(?P<posix>[a-z]+):\]|(?P<flags>\(\?[a-zA-Z-]+[:)])|(?P<open>\[\^?\]?)|(?P<close>\])|(?P<dollar>\$)",
    re.DOTALL,
)

# Classes of ASCII that Rust knows by name.
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\x0B\x0C\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

# What Rust's patterns lack, and what is left out here, by the reason.
_REFUSED = {
    r"\\[1-9]|\(\?(?:[=!>]|<[=!])": "Rust's patterns have neither look-around nor references to groups",
    r"\(\?[a-z]*(?:U|-[a-z]*u)": "the flags U and -u are not supported",
    r"\(\?[a-z]*m[a-z-]*:": "write (?m) at the beginning",
    r"\[:\^": r"write a class such as \P{L}",
}
_NESTED = re.compile(r"&&|~~|--|\[[^\]]*\[(?!:)")


def problems(pattern: str) -> list[str]:
    """Reasons why a pattern cannot be used, as sentences."""
    for refused, reason in _REFUSED.items():
        for match in re.finditer(rf"\\\\|({refused})", pattern):
            if match[1]:
                return [f"{pattern!r} has {match[1]}: {reason}"]
    try:
        matcher(pattern)
    except ValueError as error:
        return [f"{pattern!r} is no regular expression: {error}"]
    return []


@lru_cache(maxsize=64)
def matcher(pattern: str) -> Any:
    """The compiled pattern. Raises ValueError for one that cannot be read."""
    import regex

    flags = regex.VERSION1 if _NESTED.search(pattern) else regex.VERSION0
    try:
        return regex.compile(python_form(pattern), flags)
    except (regex.error, OverflowError) as error:
        raise ValueError(str(error)) from None


def python_form(pattern: str) -> str:
    """A pattern for the module `regex` with the meaning of Rust's."""
    parts, at, depth, multiline = list[str](), 0, 0, False
    for token in _TOKEN.finditer(pattern):
        parts.append(pattern[at : token.start()])
        at = token.end()
        if token["flags"]:
            multiline = _is_on("m", token[0], multiline)
        elif token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        parts.append(_translated(token, depth > 0, multiline))
    return "".join([*parts, pattern[at:]])


def _is_on(flag: str, flags: str, before: bool) -> bool:
    on, _, off = flags.strip("(?:)").partition("-")
    return flag in on or (before and flag not in off)


def _translated(token: re.Match[str], in_class: bool, multiline: bool) -> str:
    if token["code"]:
        return re.escape(chr(int(token["hex"], 16)))
    if token["space"]:
        return r"\p{White_Space}"
    if token["no_space"]:
        return r"\P{White_Space}"
    if token["end"]:
        return r"\Z"
    if token["posix"]:
        if token["posix"] not in _POSIX:
            raise ValueError(f"there is no class {token[0]}")
        return _POSIX[token["posix"]]
    if token["dollar"]:
        return "$" if in_class or multiline else r"\Z"
    return token[0]
