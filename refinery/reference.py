"""The reference of operators, written from their headers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from refinery.errors import Problem, RecipeError, suggestion
from refinery.library import KINDS, RANGE_PARAMS, Library, Operator, Param, shipped

INTRO = """# Operators

Written from the operators' own files by `make docs`. Every operator also takes `text_key` (the field that it works on,
`meta.body` for a nested one; default: the recipe's `text_keys`), and every filter `min_closed_interval`,
`max_closed_interval` (default true) and `reversed_range` (default false).
"""
# Data-Juicer's "no upper bound".
UNBOUNDED = 2**63 - 1
_WIDTH = 118
_LONG_NAME = 32


def page(name: str | None, markdown: bool, operators: Sequence[str] = ()) -> str:
    """The list of operators or one operator's page; as Markdown one page or all.

    Raises RecipeError for a name that no operator has.
    """
    library = Library(tuple(operators))
    if name:
        if name not in library.operators:
            near = suggestion(name, library.operators) or "`refinery ops` lists the operators."
            raise RecipeError([Problem("", f"there is no operator {name!r}", near)])
        operator = library.operators[name]
        return operator_page(operator) if markdown else plain_page(operator)
    if not markdown:
        return listing(library)
    return INTRO + "".join("\n" + operator_page(library.operators[name]) for name in library.operators)


def listing(library: Library) -> str:
    """One line per operator, by kind."""
    lines = []
    width = max((len(name) for name in library.operators if len(name) <= _LONG_NAME), default=0)
    for kind in KINDS.values():
        found = [operator for operator in library.operators.values() if operator.kind == kind]
        lines.append(f"{kind}s ({len(found)})")
        lines += [f"  {op.name:<{width}}  {brief(op.doc, _WIDTH - max(width, len(op.name)) - 4)}" for op in found]
    lines.append("`refinery ops NAME` tells parameters, statistics and examples of one.")
    return "\n".join(lines)


def first_sentence(text: str) -> str:
    """A text up to its first full stop."""
    head, stop, _ = text.partition(". ")
    return head + stop.strip() if stop else text


def brief(text: str, width: int) -> str:
    """The first sentence, cut at a colon or a word where it is longer than `width`."""
    sentence = first_sentence(text)
    head, colon, _ = sentence.partition(": ")
    if len(sentence) > width and colon and len(head) >= 20:
        sentence = head + "."
    return sentence if len(sentence) <= width else textwrap.shorten(sentence, width, placeholder=" ...")


def plain_page(operator: Operator) -> str:
    """What an operator does, its parameters, statistics and examples, to be read in a terminal."""
    lines = [f"{operator.name} ({operator.kind}, version {operator.version})", ""]
    lines += textwrap.wrap(operator.doc, _WIDTH)
    if operator.peer:
        lines.append(f"Matches {operator.peer}.")
    rows = [(p.name, f"{_type(p)}, {_default(p).strip('`')}", p.doc) for p in _own(operator)]
    lines += _section("Parameters", rows)
    lines += _section("Statistics", [(n, s.get("type", "DOUBLE"), s.get("doc", "")) for n, s in operator.stats.items()])
    more = (
        "text_key, min_closed_interval, max_closed_interval and reversed_range"
        if operator.kind == "filter"
        else "text_key"
    )
    lines += ["", f"It also takes {more}, as every {operator.kind} does.", "", "In a recipe", f"  - {operator.name}:"]
    lines += [f"      {p.name}: {_written(p)}" for p in _own(operator) if p.default != UNBOUNDED]
    if operator.examples:
        lines += ["", "Examples"] + [f"  {_example(example)}" for example in operator.examples]
    inside = operator.path.is_relative_to(shipped())
    lines += ["", f"File {operator.path.relative_to(shipped()) if inside else operator.path}"]
    return "\n".join(lines)


def _section(title: str, rows: Sequence[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = ["", title]
    for name, kind, doc in rows:
        start = f"  {name:<{first}}  {kind:<{min(second, 40)}}  "
        texts = textwrap.wrap(" ".join(doc.split()), max(30, _WIDTH - len(start))) or [""]
        lines += [(start + texts[0]).rstrip()] + [" " * len(start) + text for text in texts[1:]]
    return lines


def _own(operator: Operator) -> list[Param]:
    """The parameters without those that every filter has."""
    return [param for name, param in operator.params.items() if name not in RANGE_PARAMS]


def _written(param: Param) -> str:
    """A parameter's default as a recipe would have it; for one that must be given, what belongs there."""
    if param.required:
        return '"..."'
    return _json(param.default)


def operator_page(operator: Operator) -> str:
    """What an operator does, its parameters, statistics and examples, as Markdown."""
    own = _own(operator)
    lines = [f"## {operator.name}", "", f"*{operator.kind}, version {operator.version}*  ", operator.doc, ""]
    if operator.peer:
        lines += [f"Matches: {operator.peer}.", ""]
    if own:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        lines += [f"| `{p.name}` | {_cell(_type(p))} | {_cell(_default(p))} | {_cell(p.doc)} |" for p in own]
        lines.append("")
    if operator.stats:
        lines += ["| statistic | type | |", "|---|---|---|"]
        lines += [
            f"| `{n}` | {s.get('type', 'DOUBLE')} | {_cell(s.get('doc', ''))} |" for n, s in operator.stats.items()
        ]
        lines.append("")
    if operator.examples:
        lines += ["```text"] + [_example(example) for example in operator.examples] + ["```", ""]
    return "\n".join(lines)


def _type(param: Param) -> str:
    text = param.type
    if param.choices:
        text += ": " + ", ".join(str(choice) for choice in param.choices)
    if param.min is not None:
        text += f", at least {param.min}"
    if param.max is not None:
        text += f", at most {param.max}"
    return text


def _default(param: Param) -> str:
    if param.required:
        return "required"
    if param.default == UNBOUNDED:
        return "no bound"
    return f"`{_json(param.default)}`"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def _example(example: dict[str, Any]) -> str:
    given = _short(example["text"])
    fields = {**example.get("fields", {}), **example.get("params", {})}
    params = "".join(f" {name}={_json(value)}" for name, value in fields.items())
    if "out" in example:
        return f"{given}{params} -> {_short(example['out'])}"
    stats = [f"{name} {value}" for name, value in example.get("stats", {}).items()]
    fate = [] if "keep" not in example else ["kept" if example["keep"] else "removed"]
    other = ["refused"] if example.get("error") else ["quarantined"] if "quarantined" in example else []
    return f"{given}{params} -> {', '.join(stats + fate + other)}"


def _short(text: str) -> str:
    shown = _json(text)
    return shown if len(shown) <= 100 else shown[:97] + '..."'
