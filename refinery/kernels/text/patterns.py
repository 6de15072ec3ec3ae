"""User-defined regular expressions: checks, and substitution with the results of the `regex` module.

Patterns have the meaning of Data-Juicer's operators: the `regex` module with DOTALL. Importing this file imports
neither that module nor pyarrow, so a recipe without patterns can be checked without them.

Many patterns use only syntax that RE2 reads the same way. `re2_equivalent` translates these, and `sub` then runs
RE2, which needs no interpreter lock and takes linear time in the text, where `[a-z]+@x` on a long line of letters
takes a backtracking engine quadratic time.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

# Data-Juicer's default patterns (facts about 1.6.1), each of which has a kernel; for the `regex` module with DOTALL.
EMAIL_PATTERN = r"[A-Za-z0-9.\-+_]+@[a-z0-9.\-+_]+\.[a-z]+"
LINK_PATTERN = (
    r"(?i)\b((?:[a-z][\w-]+:(?:\/{1,3}|[a-z0-9%])|www\d{0,3}[.]|[a-z0-9.\-]+[.][a-z]{2,4}\/)"
    r"(?:[^\s()<>]+|\(([^\s()<>]+|(\([^\s()<>]+\)))*\))+"
    r"(?:\(([^\s()<>]+|(\([^\s()<>]+\)))*\)|[^\s`!()\[\]{};:\'\".,<>?«»“”‘’]))"
)
IP_PATTERN = (
    r"(?:(?:1[0-9][0-9]\.)|(?:2[0-4][0-9]\.)|(?:25[0-5]\.)|(?:[1-9][0-9]\.)|(?:[0-9]\.)){3}"
    r"(?:(?:1[0-9][0-9])|(?:2[0-4][0-9])|(?:25[0-5])|(?:[1-9][0-9])|(?:[0-9]))"
    r"|([\da-fA-F]{1,4}:){7}[\da-fA-F]{1,4}"
)

# Limit of the product of all counts of a pattern. Above it, RE2's automaton can outgrow its memory, and `e.{30}q`
# takes ten times as long as with a backtracking engine; RE2 refuses counts from 1001 on.
MOST_REPEATS = 16


def unwrap(pattern: str) -> str:
    """Content of a pattern written as a Python raw string, r'...' or r"..."; other patterns unchanged."""
    if len(pattern) > 2 and pattern[:2] in ("r'", 'r"') and pattern[-1] == pattern[1]:
        return pattern[2:-1]
    return pattern


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Compile a pattern (DOTALL); safe to use from several threads. Raises `regex.error`."""
    import regex

    return regex.compile(pattern, flags=regex.DOTALL)


def pattern_fault(pattern: str) -> str | None:
    """Fault of a pattern and its position, as half a sentence, or None: `missing ) at position 2, after '(a'`."""
    import regex

    try:
        compiled(pattern)
    except regex.error as error:
        place = "" if error.pos is None else f" at position {error.pos}, {_after(pattern, error.pos)}"
        return f"{error.msg}{place}"
    except (ValueError, OverflowError) as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return None


def _after(pattern: str, position: int) -> str:
    if position <= 0:
        return "at the start"
    shown = pattern[max(0, position - 20) : position]
    return f"after {shown!r}" if position <= 20 else f"after ...{shown!r}"


def template_fault(pattern: str, repl: str) -> str | None:
    """Fault of a replacement for a valid pattern, as half a sentence, or None."""
    import regex

    try:
        # Group numbers are checked on a match: an empty last alternative always matches. The line end before it closes
        # a comment at the end of the pattern.
        compiled(pattern + "\n|").sub(repl, "")
    except (regex.error, IndexError, ValueError) as error:
        return str(error)
    return None


def problems(params: Mapping[str, Any], default: str) -> list[str]:
    """Problems of an operator with the parameters `pattern` (None: `default`) and `repl`, as sentences."""
    if params["pattern"] is None and "\\" not in params["repl"]:
        return []
    pattern = default if params["pattern"] is None else unwrap(params["pattern"])
    fault = pattern_fault(pattern)
    if fault:
        return [
            f"pattern is not a regular expression: {fault}. Literal ( [ * + ? . | ^ $ and \\ need a \\ before them."
        ]
    fault = template_fault(pattern, params["repl"])
    if fault:
        return [f"repl is not a replacement for this pattern: {fault}. A literal backslash is written \\\\."]
    return []


def whole_match_pieces(repl: str, groups: tuple[int, ...] = (0,)) -> list[str] | None:
    """Pieces of a replacement around each reference to the whole match, or None when it holds any other escape.

    groups: numbers of the groups that always equal the whole match.
    """
    names = "".join(map(str, groups))
    numbers = names.replace("0", "")
    pieces = re.split(rf"\\g<[{names}]>" + (rf"|\\[{numbers}](?!\d)" if numbers else ""), repl)
    return None if any("\\" in piece for piece in pieces) else pieces


def sub(column: pa.Array | pa.ChunkedArray, pattern: str, repl: str) -> pa.Array:
    """`regex.sub(pattern, repl, text, flags=DOTALL)` of every text; NULL where nothing changes.

    Raises `regex.error`, or IndexError for an unknown group name, when `template_fault` reports a fault.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from refinery.kernels.core.arrow import each, texts

    def exact(text: str) -> str:
        return compiled(pattern).sub(repl, text)

    fast = _re2_route(pattern, repl)
    if fast is None:
        return each(column, exact)
    view = texts(column)
    array = view.array if view.size < 2**28 else view.array.cast(pa.large_string())  # the result may be longer
    plain = pc.fill_null(pc.string_is_ascii(array), True) if fast.ascii_only else pa.repeat(True, len(array))
    replaced = pc.replace_substring_regex(pc.if_else(plain, array, None), pattern=fast.pattern, replacement=fast.repl)
    result = pc.if_else(pc.equal(replaced, array), None, replaced)
    if plain.true_count == len(array):
        return result
    others = pc.invert(plain)
    return pc.replace_with_mask(result, others, each(array.filter(others), exact).cast(result.type))


def clean_pattern(column: pa.Array | pa.ChunkedArray, pattern: str, repl: str) -> pa.Array:
    """`sub` for a pattern as a recipe has it."""
    return sub(column, unwrap(pattern), repl)


class Route(NamedTuple):
    """Substitution by RE2: pattern and template, and a flag that limits it to texts of ASCII characters."""

    pattern: str
    repl: str
    ascii_only: bool


@lru_cache(maxsize=256)
def _re2_route(pattern: str, repl: str) -> Route | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    equivalent = re2_equivalent(pattern)
    template = equivalent and _re2_template(repl, equivalent)
    if equivalent is None or template is None:
        return None
    try:
        pc.match_substring_regex(pa.array(["a"]), pattern=equivalent.pattern)
    except pa.ArrowInvalid:  # RE2 limits the size of its program
        return None
    return Route(equivalent.pattern, template, equivalent.ascii_only)


class Re2(NamedTuple):
    """Pattern for RE2 with the matches of another pattern in the `regex` module.

    ascii_only: equal on texts of ASCII characters only. groups: number of groups. groups_repeat: True if a group can
    match several times, so that its final content is the engine's choice.
    """

    pattern: str
    ascii_only: bool
    groups: int
    groups_repeat: bool


def re2_equivalent(pattern: str) -> Re2 | None:
    r"""Translate a search to RE2, or return None when the same result is not certain.

    Both engines try alternatives and repeats in the same order of preference and take the leftmost match. So patterns
    of characters, classes, groups, alternatives and repeats mean the same, as long as neither a repeated part nor the
    whole can match the empty string: there they differ. Escapes that depend on Unicode (`\w`, `\d`, `\b`) are accepted
    for ASCII texts; look-around, references, possessive repeats, anchors, flags and properties are not accepted at all.
    """
    if any(0xD800 <= ord(char) < 0xE000 for char in pattern):
        return None
    reader = _Reader(pattern)
    try:
        alternatives = reader.alternatives()
    except _NotTaken:
        return None
    if reader.at < len(pattern) or alternatives.empty or reader.most > MOST_REPEATS:
        return None
    return Re2(alternatives.text, reader.ascii_only, reader.groups, reader.groups_repeat)


def _re2_template(repl: str, equivalent: Re2) -> str | None:
    """Replacement in RE2's syntax: only plain text and the numbers 0 to 9 of existing groups."""
    pieces = re.split(r"\\g<([0-9])>|\\([1-9])(?!\d)", repl)
    template = ""
    for literal, named, short in zip(pieces[::3], pieces[1::3] + [None], pieces[2::3] + [None], strict=True):
        if "\\" in literal:
            return None
        template += literal
        number = int(named or short or 0)
        if number > equivalent.groups or (number and equivalent.groups_repeat):
            return None
        if named or short:
            template += f"\\{number}"
    return template


class _NotTaken(Exception):
    """The pattern holds syntax that may mean something else in RE2."""


class _Piece(NamedTuple):
    text: str  # for RE2
    empty: bool  # can match the empty string


# Meanings of escapes inside a class, in RE2's notation. White space is the same set in every Unicode version.
_ASCII_CLASSES = {"w": "0-9A-Z_a-z", "d": "0-9"}
_SPACE = r"\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_PLAIN_ESCAPES = set(string.punctuation) - {"_"} | {" "}


class _Reader:
    """Parser of the accepted syntax, from left to right, which writes it for RE2."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.groups = 0
        self.groups_repeat = False
        self.ascii_only = False
        self.most = 1  # product of all counts: at least RE2's product of nested counts

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise _NotTaken
        self.at += 1
        return char

    def eat(self, expected: str) -> bool:
        there = self.pattern.startswith(expected, self.at)
        self.at += len(expected) if there else 0
        return there

    def alternatives(self) -> _Piece:
        branches = [self.sequence()]
        while self.eat("|"):
            branches.append(self.sequence())
        return _Piece("|".join(branch.text for branch in branches), any(branch.empty for branch in branches))

    def sequence(self) -> _Piece:
        pieces = []
        while self.peek() not in ("", "|", ")"):
            groups = self.groups
            piece = self.item()
            count = self.count()
            if count:
                if piece.empty:
                    raise _NotTaken
                self.groups_repeat |= self.groups > groups and count != "?" and count != "??"
                piece = _Piece(piece.text + count, count[0] in "*?" or count.startswith("{0"))
            pieces.append(piece)
        return _Piece("".join(piece.text for piece in pieces), all(piece.empty for piece in pieces))

    def item(self) -> _Piece:
        char = self.take()
        if char == "(":
            return self.group()
        if char == "[":
            return _Piece(self.char_class(), False)
        if char == ".":
            return _Piece("(?s:.)", False)
        if char == "\\":
            return self.escape()
        if char in "^$*+?{":
            raise _NotTaken
        return _Piece(_char(char), False)

    def group(self) -> _Piece:
        self.depth += 1
        if self.depth > 50 or self.peek() == "*":
            raise _NotTaken
        opening = "(?:" if self.eat("?:") else "("
        if opening == "(":
            self.groups += 1
            if self.peek() == "?":
                raise _NotTaken
        inside = self.alternatives()
        if not self.eat(")"):
            raise _NotTaken
        self.depth -= 1
        return _Piece(opening + inside.text + ")", inside.empty)

    def count(self) -> str:
        """Read a repeat for RE2, or nothing. Possessive and stacked repeats are not accepted."""
        char = self.peek()
        if char == "" or char not in "*+?{":
            return ""
        self.at += 1
        if char == "{":
            char = self.braces()
        lazy = "?" if self.eat("?") else ""
        if self.peek() and self.peek() in "*+?{":
            raise _NotTaken
        return char + lazy

    def braces(self) -> str:
        match = re.compile(r"([0-9]{1,4})(?:(,)([0-9]{0,4}))?\}").match(self.pattern, self.at)
        if match is None:
            raise _NotTaken
        self.at = match.end()
        low, high = int(match[1]), int(match[3] or match[1])
        if high < low or high == 0:
            raise _NotTaken
        self.most *= high
        return f"{{{low},{match[3] and high}}}" if match[2] else f"{{{low}}}"

    def escape(self) -> _Piece:
        char = self.take()
        if char == "b":
            self.ascii_only = True
            return _Piece(r"\b", True)
        if char in "sS":
            return _Piece(f"[{'^' if char == 'S' else ''}{_SPACE}]", False)
        if char in "wWdD":
            self.ascii_only = True
            return _Piece(f"[{'^' if char in 'WD' else ''}{_ASCII_CLASSES[char.lower()]}]", False)
        return _Piece(_char(self.escaped(char)), False)

    def escaped(self, char: str) -> str:
        if char in _PLAIN_ESCAPES:
            return char
        if char in _CONTROLS:
            return _CONTROLS[char]
        digits = {"x": 2, "u": 4}.get(char, 0)
        code = self.pattern[self.at : self.at + digits]
        if not digits or not re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", code) or 0xD800 <= int(code, 16) < 0xE000:
            raise _NotTaken
        self.at += digits
        return chr(int(code, 16))

    def char_class(self) -> str:
        text = "[^" if self.eat("^") else "["
        first = True
        while first or self.peek() != "]":
            first = False
            text += self.class_item()
        self.at += 1
        return text + "]"

    def class_item(self) -> str:
        char = self.take()
        if char == "\\" and self.peek() and self.peek() in "wds":
            escape = self.take()
            self.ascii_only |= escape != "s"
            return _SPACE if escape == "s" else _ASCII_CLASSES[escape]
        low = self.class_char(char)
        if self.peek() != "-" or self.pattern.startswith("-]", self.at):
            return _char(low)
        self.at += 1
        high = self.class_char(self.take())
        if high < low:
            raise _NotTaken
        return f"{_char(low)}-{_char(high)}"

    def class_char(self, char: str) -> str:
        # Brackets and doubled signs have meanings of their own in some versions of the syntax.
        if char in "[]" or (char in "-&|~" and self.peek() == char):
            raise _NotTaken
        return self.escaped(self.take()) if char == "\\" else char


def _char(char: str) -> str:
    return char if char.isascii() and char.isalnum() else f"\\x{{{ord(char):x}}}"
