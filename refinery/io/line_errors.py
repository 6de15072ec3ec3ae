"""Reasons why a line is no sample, worded for the person who has to find it."""

from __future__ import annotations

import json
import re

from refinery import kernels

# Beginnings of the errors of a row at which reading a file ends; rows after it are not counted.
DAMAGED = "the compressed data is damaged"
NOT_CLOSED = "the array is not closed: the file seems to be cut off"
STOPPED = "what follows in the file is not read"
CUT_OFF = "the record is cut off: the file ends within it"


def explain_json(raw: bytes) -> str:
    """The reason why a line is no sample: no JSON (Python's reason, column), half a surrogate pair, or no object."""
    try:
        text = raw.decode()
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        return not_utf8(raw)
    except UnicodeEncodeError:
        return _half_pair(text)
    except json.JSONDecodeError as error:
        return f"{error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')} at column {error.pos + 1}"
    except RecursionError:
        return _too_deep()
    except ValueError as error:  # a number of thousands of digits
        return str(error)
    if isinstance(value, dict):
        return _too_deep() if _depth(raw) > kernels.json.jsontext.MAX_DEPTH else "a valid object"
    kinds = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return f"{kinds.get(type(value), 'null')}, not an object"


def _too_deep() -> str:
    return f"nested more than {kernels.json.jsontext.MAX_DEPTH} levels deep"


def _half_pair(text: str) -> str:
    """The place of the first surrogate escape without a partner."""
    pattern = r"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(\\u[dD][89a-fA-F]\w\w)"
    for match in re.finditer(pattern, text):
        if match.group(1):
            return f"unpaired surrogate {match.group(1)} at column {match.start(1) + 1}"
    return "unpaired surrogate"


def _depth(raw: bytes) -> int:
    """Deepest nesting of valid JSON."""
    depth = deepest = 0
    for token in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[{\]}]', raw):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token, 0)
        deepest = max(deepest, depth)
    return deepest


def not_utf8(raw: bytes) -> str:
    """Place and reason of the first bytes that are not UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"invalid UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1} ({error.reason})"
    return "invalid UTF-8"
