"""Conversion of a recipe's node to the type of a key or parameter.

YAML 1.1's guesses do not count: the source text decides, so `2e5` is a number for a number, `no` is a text for a text.
Ambiguous values are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

from refinery.common.paths import PATH
from refinery.common.redaction import has_credentials
from refinery.errors import suggestion
from refinery.recipe.tree import Mapping, Node, Problems, Scalar, Sequence, describe, plain_value

_REAL = re.compile(r"[+-]?(\d+(_\d+)*(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,9})?)\s*%")
_BASED = re.compile(r"[+-]?0[xXbBoO][0-9a-fA-F_]+")
_INFINITE = re.compile(r"([+-]?)\.?(inf|Inf|INF|infinity|Infinity)")
_SIZE = re.compile(r"(?P<number>[0-9.]+(?:[eE][0-9]{1,2})?)\s*(?P<unit>[kKmMgGtT]?)(?P<binary>i?)[bB]?")
_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_LIMIT = 2**63
# Credentials would be in the tables and files of the run, which record its inputs.
CREDENTIALS = "Credentials belong into environment variables or the configuration of the storage's own tools."
_LARGEST = Decimal("1.7e308")


class Mismatch(Exception):
    """The node is not of the wanted type.

    wanted: the type in words. hint: the cure, or None. item: the item of a list whose type is meant.
    """

    def __init__(self, wanted: str, hint: str | None = None, item: Node | None = None) -> None:
        super().__init__(wanted)
        self.wanted, self.hint, self.item = wanted, hint, item


class Spec(Protocol):
    """Common properties of a key and a parameter of an operator."""

    @property
    def type(self) -> str: ...
    @property
    def default(self) -> Any: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def min(self) -> float | None: ...
    @property
    def max(self) -> float | None: ...
    @property
    def choices(self) -> Any: ...


def take(node: Node, spec: Spec, label: str, problems: Problems, otherwise: Any = None) -> Any:
    """Convert a node for a key or parameter, and check type, range and choices.

    On failure, `problems` gets half a sentence that begins with `label`, and the result is `otherwise`.
    """
    if isinstance(node, Scalar) and node.broken:
        return otherwise
    if isinstance(node, Scalar) and node.value is None and (node.plain or node.text is None):
        required = bool(getattr(spec, "required", False))
        if spec.nullable or (spec.default is None and not required):
            return None
        hint = None if required else f"Leave it out for the default, {describe_value(spec.default)}."
        problems.add(node.place, f"{label} has no value", hint)
        return otherwise
    try:
        value = convert(node, spec.type)
        for item in value if isinstance(value, tuple) else (value,):
            _check(item, spec)
    except Mismatch as error:
        what = f"{label} must be {error.wanted}, not {describe(node)}"
        if error.item is not None:
            what = f"{label} holds {describe(error.item)}, but every item must be {error.wanted}"
        problems.add(node.place, what, error.hint)
        return otherwise
    return value


def _check(value: Any, spec: Spec) -> None:
    if spec.choices and value not in spec.choices:
        among = ", ".join(describe_value(choice) for choice in spec.choices)
        raise Mismatch(f"one of {among}", suggestion(str(value), [str(choice) for choice in spec.choices]))
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return
    if spec.min is not None and value < spec.min:
        raise Mismatch(f"at least {spec.min}")
    if spec.max is not None and value > spec.max:
        raise Mismatch(f"at most {spec.max}")


def describe_value(value: Any) -> str:
    """A value as written in a recipe."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple):
        return "[" + ", ".join(describe_value(item) for item in value) + "]"
    return repr(value)


def convert(node: Node, kind: str) -> Any:
    """Convert a node to a value of type `kind`; lists become tuples. Raises Mismatch."""
    if kind.startswith("list["):
        return _items(node, kind[5:-1])
    return _CONVERTERS.get(kind, _any)(node)


def _scalar(node: Node, wanted: str) -> Scalar:
    if isinstance(node, Scalar) and (node.value is not None or not node.plain):
        return node
    raise Mismatch(wanted)


def _int(node: Node) -> int:
    wanted = "a whole number"
    scalar = _scalar(node, wanted)
    if scalar.text is None:
        number = Decimal(scalar.value) if isinstance(scalar.value, (int, float)) else None
        number = None if isinstance(scalar.value, bool) else number
    else:
        number = _number(scalar.text, wanted)
    if number is None or not number.is_finite():
        raise Mismatch(wanted)
    if number.copy_abs() >= _LIMIT:
        raise Mismatch("a whole number below 2^63")
    if number != int(number):
        raise Mismatch(wanted)
    return int(number)


def _number(text: str, wanted: str) -> Decimal | None:
    text = text.strip()
    if re.fullmatch(r"[+-]?0\d+", text):
        raise Mismatch(wanted, f"YAML takes {text} for an octal number; write {text.lstrip('+-').lstrip('0') or '0'}.")
    if _BASED.fullmatch(text):
        try:
            return Decimal(int(text, 0))
        except ValueError:
            return None
    if len(text) < 400 and _REAL.fullmatch(text):
        return Decimal(text.replace("_", ""))
    return None


def _float(node: Node) -> float:
    wanted = "a number"
    scalar = _scalar(node, wanted)
    if scalar.text is None:
        if isinstance(scalar.value, bool) or not isinstance(scalar.value, (int, float)):
            raise Mismatch(wanted)
        if isinstance(scalar.value, int) and abs(scalar.value) > _LARGEST:
            raise Mismatch(wanted)
        return float(scalar.value)
    infinite = _INFINITE.fullmatch(scalar.text.strip())
    if infinite:
        return float(f"{infinite[1]}inf")
    number = _number(scalar.text, wanted)
    if number is None or number.copy_abs() > _LARGEST:
        raise Mismatch(wanted)
    return float(number)


def _bool(node: Node) -> bool:
    wanted = "true or false"
    scalar = _scalar(node, wanted)
    if isinstance(scalar.value, bool):
        return scalar.value
    value = _BOOLS.get(scalar.text.strip().lower()) if scalar.text is not None else None
    if value is None:
        raise Mismatch(wanted)
    return value


def _str(node: Node) -> str:
    wanted = "a text"
    scalar = _scalar(node, wanted)
    if scalar.text is not None:
        return scalar.text
    if isinstance(scalar.value, bool):
        raise Mismatch(wanted, "YAML takes no, off, yes and on for truth values; put them in quotes there.")
    return str(scalar.value)


def _path(node: Node) -> str:
    path = _str(node)
    if "\0" in path:
        raise Mismatch("a path")
    if has_credentials(path):
        raise Mismatch("a path without credentials", CREDENTIALS)
    return path


def _files(node: Node) -> Any:
    """A path, a list of paths, or a mapping of names to paths or to mappings with the key `path`."""
    if isinstance(node, Mapping):
        return {name: _named_file(entry.node) for name, entry in node.entries.items()}
    if isinstance(node, Scalar) and node.collection is None:
        return _path(node)
    return _items(node, "path")


def _named_file(node: Node) -> Any:
    if not isinstance(node, Mapping):
        return _item(node, "path")
    if PATH not in node.entries:
        raise Mismatch(f"a path, or a mapping with the key {PATH}", None, node)
    return {key: _item(entry.node, "path" if key == PATH else "any") for key, entry in node.entries.items()}


def _items(node: Node, kind: str) -> tuple[Any, ...]:
    if isinstance(node, Scalar) and node.collection is not None:
        node = node.collection
    if isinstance(node, Scalar) and node.option and node.text is not None:
        parts = [part.strip() for part in node.text.split(",")]
        return tuple(convert(Scalar(part, part, node.place, plain=False), kind) for part in parts if part)
    if not isinstance(node, Sequence):
        hint = f"Write [{node.text}]." if isinstance(node, Scalar) and node.text else None
        raise Mismatch("a list", hint)
    return tuple(_item(item, kind) for item in node.items)


def _item(node: Node, kind: str) -> Any:
    try:
        return convert(node, kind)
    except Mismatch as error:
        raise Mismatch(error.wanted, error.hint, node) from None


def _str_or_list(node: Node) -> str | tuple[str, ...]:
    if isinstance(node, Scalar) and node.collection is None:
        return _str(node)
    if isinstance(node, Mapping):
        raise Mismatch("a text or a list of texts")
    return _items(node, "str")


def _strings(node: Node) -> tuple[str, ...]:
    if isinstance(node, Scalar) and not node.option:
        return (_str(node),)
    if isinstance(node, Mapping):
        raise Mismatch("a text or a list of texts")
    return _items(node, "str")


def _count_or_all(node: Node) -> int | str:
    if isinstance(node, Scalar) and node.text is not None and node.text.strip().lower() == "all":
        return "all"
    try:
        return _int(node)
    except Mismatch as error:
        raise Mismatch(f"{error.wanted} or 'all'", error.hint) from None


def _count_or_share(node: Node) -> int | str:
    wanted = "a number of rows, or a share such as 0.1%"
    scalar = _scalar(node, wanted)
    share = _SHARE.fullmatch(scalar.text.strip()) if scalar.text is not None else None
    if share is not None and float(share[1]) <= 100:
        return f"{share[1]}%"
    try:
        return _int(scalar)
    except Mismatch as error:
        raise Mismatch(wanted, error.hint) from None


def _share(node: Node) -> float:
    """A share above 0 as a number up to 1; `1%` is 0.01."""
    wanted = "a share above 0 and up to 1, such as 0.01 or 1%"
    scalar = _scalar(node, wanted)
    percent = _SHARE.fullmatch(scalar.text.strip()) if scalar.text is not None else None
    try:
        share = float(Decimal(percent[1]) / 100) if percent is not None else _float(scalar)
    except Mismatch as error:
        raise Mismatch(wanted, error.hint) from None
    if not 0 < share <= 1:
        raise Mismatch(wanted)
    return share


def _size(node: Node) -> int:
    wanted = "a number of bytes, such as 128MB"
    scalar = _scalar(node, wanted)
    match = _SIZE.fullmatch(scalar.text.strip().replace("_", "")) if scalar.text is not None else None
    if match is None or (match["binary"] and not match["unit"]):
        try:
            return _int(scalar)
        except Mismatch as error:
            raise Mismatch(wanted, error.hint) from None
    try:
        power = " kmgt".index(match["unit"].lower() or " ")
        number = Decimal(match["number"]) * (1024 if match["binary"] else 1000) ** power
    except ArithmeticError:
        raise Mismatch(wanted) from None
    if number >= _LIMIT or number != int(number):
        raise Mismatch("a whole number of bytes below 2^63")
    return int(number)


def _any(node: Node) -> Any:
    value = plain_value(node)
    return tuple(value) if isinstance(value, list) else value


_CONVERTERS: dict[str, Callable[[Node], Any]] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    **dict.fromkeys(("str", "regex", "sql"), _str),
    **dict.fromkeys(("folder", "file", "path"), _path),
    "files": _files,
    "str_or_list": _str_or_list,
    "strings": _strings,
    "count_or_all": _count_or_all,
    "count_or_share": _count_or_share,
    "share": _share,
    "size": _size,
    "any": _any,
}
