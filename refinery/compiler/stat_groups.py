"""Groups that a recipe's statistics are summed up by: hidden columns with each sample's keys, computed on reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from refinery.common.fields import keys_of
from refinery.common.lazy import exp
from refinery.compiler.column_names import Keys
from refinery.compiler.mistakes import each_of, sentences
from refinery.compiler.model import Schema
from refinery.compiler.templates import ident, json_path, lit
from refinery.errors import Problem, did_you_mean
from refinery.recipe.sql import parse
from refinery.recipe.stat_summary import StatSummary

# A hidden column: its name, SQL, and what it is.
Column = tuple[str, str, str]
# Column of the number of tokens of a sample.
TOKENS = "_tokens"
# More tokens than any document has; squares of smaller numbers can be summed without overflow.
_MOST_TOKENS = 2**40


@dataclass(frozen=True)
class GroupReads:
    """Access to the samples of a chain.

    line(name, make, fields): a column made from lines, see `_Compiler._from_line`. column(name): a column of the input.
    own(sql): a user's expression with its names resolved. is_json(sql): it has a JSON value.
    """

    schema: Schema
    line: Callable[[str, Callable[[str], str], Sequence[Keys]], str]
    column: Callable[[str], str]
    own: Callable[[str], str]
    is_json: Callable[[str], bool]


def key_name(group: str, summary: StatSummary) -> str:
    """The hidden column with the keys of a group."""
    names = [name for name, _ in summary.group_by]
    return f"_key_{names.index(group) + 1}" if group in names else f"_key_{group}"


def keyed(summary: StatSummary) -> list[str]:
    """Groups whose keys are hidden columns."""
    return [group for group in summary.groups if group in ("fqdn", "suffix")] + [name for name, _ in summary.group_by]


def key_columns(summary: StatSummary, reader: GroupReads) -> list[tuple[str, Iterator[Column]]]:
    """Hidden columns of a sample, each lot with the place in the recipe that asks for it; a key is never NULL.

    What names no column is a ValueError, with the cure, of its lot.
    """
    fields = _fields(summary, reader)
    return [
        (summary.where, _of_address(summary, reader, fields)),
        (summary.by, _of_expressions(summary, reader)),
        (summary.where, _of_tokens(fields)),
    ]


def define_keys(summary: StatSummary, reader: GroupReads, define: Callable[[str, str, str], None]) -> list[Problem]:
    """Define all hidden columns, given name, SQL and a note; return the problems, each with its place in the recipe."""
    problems: list[Problem] = []
    for place, columns in key_columns(summary, reader):
        try:
            for column in columns:
                define(*column)
        except ValueError as error:
            by = "" if place.startswith("--") else "stat_summary: "
            problems += [Problem(place, f"{by}{sentence}") for sentence in sentences(error)]
    return problems


def _of_address(summary: StatSummary, reader: GroupReads, fields: dict[str, str]) -> Iterator[Column]:
    for group in ("fqdn", "suffix"):
        if group in summary.groups:
            yield key_name(group, summary), _of_url(group, fields, summary, reader.schema), f"{group} of the address"


def _of_expressions(summary: StatSummary, reader: GroupReads) -> Iterator[Column]:
    owns = list(each_of([partial(reader.own, sql) for _, sql in summary.group_by]))
    for (name, _), own in zip(summary.group_by, owns, strict=True):
        yield (
            key_name(name, summary),
            f"coalesce({as_text(own, reader.is_json)}, '')",
            "what statistics are summed up by",
        )


def as_text(own: str, is_json: Callable[[str], bool]) -> str:
    """SQL for the value of an expression as text; NULL if it cannot be computed, as a sample is kept then."""
    # A text among values of other types is no quoted one.
    text = f"json_extract_string({own}, '$')" if is_json(own) else f"CAST({own} AS VARCHAR)"
    return text if parse(own).find(exp.Select) else f"TRY({text})"  # TRY does not accept subqueries


def _of_tokens(fields: dict[str, str]) -> Iterator[Column]:
    if "tokens" in fields:
        number = f"TRY_CAST({fields['tokens']} AS DOUBLE)"
        whole = f"{number} BETWEEN 0 AND {_MOST_TOKENS} AND {number} = floor({number})"
        yield TOKENS, f"CASE WHEN {whole} THEN CAST({number} AS BIGINT) END", "number of tokens"


def _of_url(group: str, fields: dict[str, str], summary: StatSummary, schema: Schema) -> str:
    """SQL for a part of the URL: the field of that name if there is one, else from the URL, else the empty text."""
    if "url" not in fields and group not in fields:
        head = keys_of(summary.url_key)[0]
        cure = did_you_mean(head, schema.columns) or ". Name the field with the address in url_key"
        raise ValueError(f"no column {head!r}{cure}")
    parts = [fields[group]] if group in fields else []
    parts += [f"TRY(url_parts({fields['url']})).{group}"] if "url" in fields else []
    return f"coalesce({', '.join(parts)}, '')"


def _fields(summary: StatSummary, reader: GroupReads) -> dict[str, str]:
    """SQL for the fields that the groups need, as texts, without those that a table does not have."""
    paths: dict[str, tuple[str, ...]] = {}
    for group in ("fqdn", "suffix"):
        if group in summary.groups:
            paths[group] = (group,)
    if paths:
        paths["url"] = keys_of(summary.url_key)
    if "histogram" in summary.groups:
        paths["tokens"] = keys_of(summary.tokens_key)
    if not paths:
        return {}
    if reader.schema.lines:  # all fields from one read of the line
        names = ", ".join(lit(json_path(path)) for path in paths.values())
        read = reader.line("_grouping", lambda line: f"json_extract_string({line}, [{names}])", [*paths.values()])
        return {role: f"{read}[{number}]" for number, role in enumerate(paths, 1)}
    columns = {}
    for role, (head, *inner) in paths.items():
        if head in reader.schema.columns or reader.schema.unknown:
            columns[role] = f"CAST({'.'.join([ident(reader.column(head)), *map(ident, inner)])} AS VARCHAR)"
    return columns
