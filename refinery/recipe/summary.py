"""`stat_summary`: the groups by which the statistics of a run are summed up, and the place of statistics files."""

from __future__ import annotations

import importlib.util
from typing import Any

from refinery.common.extras import install_command
from refinery.common.redaction import has_credentials
from refinery.errors import suggestion
from refinery.recipe.key import RecipeKey
from refinery.recipe.keys import SUMMARY_KEYS
from refinery.recipe.model import GROUPS
from refinery.recipe.stat_summary import StatSummary
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, Sequence
from refinery.recipe.values import CREDENTIALS, take

_DEFAULTS = StatSummary()
# Keys with a plain value; `group_by` has a structured one.
FIELDS = {name: key for name, key in SUMMARY_KEYS.items() if name != "group_by"}
_SQL = RecipeKey("group_by", "sql", "")


def read_summary(entry: Entry | None, problems: Problems) -> StatSummary:
    """Read the value of the key `stat_summary`; errors are added to `problems`."""
    node = entry.node if entry is not None else None
    if isinstance(node, Scalar):
        node = node.collection
    if entry is None or not isinstance(node, Mapping):
        return _DEFAULTS  # the check of all keys reports a value that is no mapping
    values: dict[str, Any] = {"where": str(entry.place)}
    for name, field in node.entries.items():
        key = FIELDS.get(name)
        if name == "group_by":
            values[name] = _group_by(field.node, problems)
            values["by"] = str(field.place)
        elif key is None:
            problems.add(field.place, f"stat_summary has no key {name!r}", suggestion(name, SUMMARY_KEYS))
        else:
            value = take(field.node, key, f"stat_summary.{name}", problems, key.default)
            values[name] = tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value
    summary = StatSummary(**values)
    _check(summary, node, problems)
    return summary


def _group_by(node: Node, problems: Problems) -> tuple[tuple[str, str], ...]:
    """Pairs of name and SQL, from a text, a list of texts (each its own name), or a mapping of names to texts."""
    if isinstance(node, Scalar) and node.collection is not None:
        node = node.collection
    if isinstance(node, Scalar) and node.value is None and node.plain:
        return ()
    if isinstance(node, Mapping):
        named = [(name, field.node) for name, field in node.entries.items()]
    else:
        items = node.items if isinstance(node, Sequence) else [node]
        named = [("", item) for item in items]
    expressions: dict[str, str] = {}
    for name, item in named:
        sql = take(item, _SQL, "stat_summary.group_by", problems, "").strip()
        name = name or " ".join(sql.split())
        if not sql:
            problems.add(item.place, "stat_summary.group_by has an empty expression", "Name a column, or write SQL.")
        elif name in GROUPS:
            hint = f"Give it another name: group_by: {{by_{name}: {sql}}}."
            problems.add(item.place, f"stat_summary.group_by has the name {name!r}, which is a group of its own", hint)
        elif expressions.setdefault(name, sql) != sql:
            problems.add(item.place, f"stat_summary.group_by has the name {name!r} twice")
    return tuple(expressions.items())


def _check(summary: StatSummary, node: Mapping, problems: Problems) -> None:
    """Check groups, packages and credentials, after the types of single values."""

    def place(name: str) -> Any:
        return node.entries[name].node.place if name in node.entries else node.place

    for name in summary.groups:
        if name not in GROUPS:
            hint = suggestion(name, GROUPS) or f"Groups are {', '.join(GROUPS)}; group_by takes columns."
            problems.add(place("groups"), f"stat_summary.groups has no group {name!r}", hint)
    known = [*GROUPS, *(name for name, _ in summary.group_by)]
    for name in summary.top_k_groups:
        if name not in known:
            hint = suggestion(name, known) or f"It names groups and the names of group_by: {', '.join(known)}."
            problems.add(place("top_k_groups"), f"stat_summary.top_k_groups names {name!r}, which is no group", hint)
    if not summary.groups and not summary.group_by:
        problems.add(place("groups"), "stat_summary.groups is empty", f"Groups are {', '.join(GROUPS)}.")
    hosts = [group for group in summary.groups if group in ("fqdn", "suffix")]
    if hosts and importlib.util.find_spec("tldextract") is None:
        what = f"stat_summary.groups {' and '.join(hosts)} need the Python package tldextract"
        problems.add(place("groups"), what, f"Run {install_command('urls')}.")
    for name in ("url_key", "tokens_key", "export"):
        if getattr(summary, name) == "":
            problems.add(place(name), f"stat_summary.{name} is empty")
    if summary.export and has_credentials(summary.export):
        problems.add(place("export"), "stat_summary.export holds credentials", CREDENTIALS)
