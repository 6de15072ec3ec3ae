"""Meaning of DuckDB's error messages, which have no codes."""

from __future__ import annotations

import errno
import os
import re

_OUT_OF_REACH = re.compile(r'Cannot access (?:file|directory) "(.*?)" - file system operations are disabled')
_NO_TABLE = re.compile(r"Table with name (.*?) does not exist")
_NO_NAME = re.compile(r'Referenced (?:column|table) ".*" not found')
_NEAR = re.compile(r'^Did you mean "([^"_][^"]*)"\?', re.MULTILINE)
_MIXED = re.compile(r"Cannot mix values of type (.+) and (VARCHAR|BOOLEAN) in COALESCE")
_NUMBER = re.compile(r'"errno":"(\d+)"')
# Lines about the place in the SQL, and the part of a message about the cast's column: the row's error is before them.
_ADVICE = re.compile(r"\n+(?:LINE \d+:|At:|Candidate)|\s+when casting from source column")
_IN_FUNCTION = "Python exception occurred while executing the UDF: "


def first_line(error: BaseException) -> str:
    """First line of a message; "" if it has none."""
    return next(iter(str(error).splitlines()), "")


def binder_reason(error: BaseException) -> str:
    """First line of a binder's message, without the kind of error and the last full stop."""
    return first_line(error).strip().removeprefix("Binder Error: ").removeprefix("Catalog Error: ").rstrip(".!")


def file_out_of_reach(error: BaseException) -> str | None:
    """Name of the file that a confined connection may not read; None for another error.

    A path of unknown suffix counts as the name of a table.
    """
    text = first_line(error)
    if (match := _OUT_OF_REACH.search(text)) is not None:
        return match[1]
    table = _NO_TABLE.search(text)
    return table[1] if table is not None and any(sign in table[1] for sign in "./\\") else None


def is_unknown_name(error: BaseException) -> bool:
    """Return whether a column or table is named that the FROM of the query does not have."""
    return _NO_NAME.match(binder_reason(error)) is not None


def proposed_name(error: BaseException) -> str | None:
    """Name that DuckDB proposes for an unknown one; None without one."""
    match = _NEAR.search(str(error))
    return match and match[1]


def mixed_types(error: BaseException) -> tuple[str, str] | None:
    """Type of an expression and the type that COALESCE needs in its place; None for another error."""
    match = _MIXED.search(first_line(error))
    return match and (match[1], match[2])


def is_ungrouped(error: BaseException) -> bool:
    """Return whether an aggregate stands beside a plain column."""
    return "must appear in the GROUP BY clause" in first_line(error)


def is_unnamed_file(error: BaseException) -> bool:
    """Return whether a glob matches a file whose name is not UTF-8."""
    return "Invalid unicode" in str(error)


def is_interrupt(error: BaseException) -> bool:
    """Return whether a RuntimeError is DuckDB's answer to Ctrl-C."""
    return str(error) == "Query interrupted"


def is_failed_write(error: BaseException) -> bool:
    """Return whether a file could not be written, whatever the class of the error."""
    return "Could not write file" in first_line(error)


def system_error(error: BaseException) -> OSError:
    """The system's error in a message, which has its number in JSON, or its text behind the cause or at the end."""
    text = first_line(error)
    number = _NUMBER.search(text)
    reason = os.strerror(int(number[1])) if number else text.rpartition("because of error: ")[2]
    code = next((code for code in errno.errorcode if reason.startswith(os.strerror(code))), None)
    if code is None:
        code = next((code for code in errno.errorcode if reason.endswith(f": {os.strerror(code)}")), None)
        reason = reason if code is None else os.strerror(code)
    return OSError(reason) if code is None else OSError(code, reason)


def row_reason(error: BaseException) -> str:
    """Reason why an expression fails for a row, on one line; of an error in a function, the function's own message."""
    text = _ADVICE.split(str(error))[0]
    return " ".join((text.partition(_IN_FUNCTION)[2] or text).split())
