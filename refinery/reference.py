"""The reference of operators, written from their headers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from refinery.errors import OperatorError, did_you_mean
from refinery.library import KINDS, Library, Operator, Param

INTRO = """# Operators

Written from the operators' own files by `make docs`. Every operator also takes `text_key` (the field that it works on,
`meta.body` for a nested one; default: the recipe's `text_keys`), and every filter `min_closed_interval`,
`max_closed_interval` (default true) and `reversed_range` (default false).
"""


def page(name: str | None, markdown: bool, operators: Sequence[str] = ()) -> str:
    """The list of operators, one operator's page, or (markdown) all pages."""
    library = Library(tuple(operators))
    if name:
        if name not in library.operators:
            raise OperatorError(f"no operator {name!r}{did_you_mean(name, library.operators)}")
        return operator_page(library.operators[name])
    if not markdown:
        return listing(library)
    return INTRO + "".join("\n" + operator_page(library.operators[name]) for name in library.operators)


def listing(library: Library) -> str:
    """One line per operator, by kind."""
    lines = []
    for kind in KINDS.values():
        found = [operator for operator in library.operators.values() if operator.kind == kind]
        lines.append(f"{kind}s ({len(found)})")
        width = max((len(operator.name) for operator in found), default=0)
        lines += [f"  {operator.name:<{width}}  {first_sentence(operator.doc)}" for operator in found]
    return "\n".join(lines)


def first_sentence(text: str) -> str:
    """A text up to its first full stop."""
    head, stop, _ = text.partition(". ")
    return head + stop.strip() if stop else text


def operator_page(operator: Operator) -> str:
    """What an operator does, its parameters, statistics and examples, as Markdown."""
    own = {n: p for n, p in operator.params.items() if n not in ("min_closed_interval", "max_closed_interval", "reversed_range")}
    lines = [f"## {operator.name}", "", f"*{operator.kind}, version {operator.version}*  ", operator.doc, ""]
    if operator.peer:
        lines += [f"Matches: {operator.peer}.", ""]
    if own:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        lines += [f"| `{p.name}` | {_type(p)} | {_default(p)} | {_cell(p.doc)} |" for p in own.values()]
        lines.append("")
    if operator.stats:
        lines += ["| statistic | type | |", "|---|---|---|"]
        lines += [f"| `{n}` | {s.get('type', 'DOUBLE')} | {_cell(s.get('doc', ''))} |" for n, s in operator.stats.items()]
        lines.append("")
    if operator.examples:
        lines += ["```"] + [_example(example) for example in operator.examples] + ["```", ""]
    return "\n".join(lines)


def _type(param: Param) -> str:
    text = param.type
    if param.choices:
        text += ": " + ", ".join(str(choice) for choice in param.choices)
    if param.min is not None:
        text += f", at least {param.min}"
    return text


def _default(param: Param) -> str:
    if param.required:
        return "required"
    if param.default == 2**63 - 1:
        return "no bound"
    return f"`{json.dumps(param.default, ensure_ascii=False)}`".replace("|", "\\|")


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def _example(example: dict[str, Any]) -> str:
    given = _short(example["text"])
    params = "".join(f" {name}={json.dumps(value, ensure_ascii=False)}" for name, value in example.get("params", {}).items())
    if "out" in example:
        return f"{given}{params} -> {_short(example['out'])}"
    stats = ", ".join(f"{name} {value}" for name, value in example.get("stats", {}).items())
    fate = "" if "keep" not in example else "kept" if example["keep"] else "removed"
    return f"{given}{params} -> {', '.join(part for part in (stats, fate) if part)}"


def _short(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= 100 else shown[:97] + '..."'
