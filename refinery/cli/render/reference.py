"""The reference of operators, written from their headers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from refinery.cli.render.layout import hanging, terminal_width
from refinery.errors import Problem, RecipeError, suggestion
from refinery.operators import KINDS, RANGE_PARAMS, SURVIVOR_PARAMS, VERIFY_PARAMS, Library, Operator, Param, shipped
from refinery.operators.bounds import UNBOUNDED
from refinery.recipe.data_juicer import DATA_JUICER_OPERATORS
from refinery.recipe.peer_names import folded, peer_names, sentence

INTRO = """# Operators

This page describes every operator, its parameters, its statistics and examples of its results. `make docs` writes it from
the operators' files.

Every operator also has the parameter `text_key`, the field that it works on (`meta.body` for a nested one; default: the
recipe's `text_keys`). Every filter has `min_closed_interval`, `max_closed_interval` (default true) and `reversed_range`
(default false). Statistics operators measure samples, and neither change nor remove them. Operators that compare samples
with each other are [deduplicators](#deduplicators).
"""
DEDUPLICATORS = """# Deduplicators

A deduplicator compares all samples before the next step begins. Deduplicators that remove samples keep one of each
cluster of duplicates and have the following parameters besides their own; only those that compare shingles have `verify`.
Deduplicators that remove lines, paragraphs or sentences from texts have only their own parameters.

"""
# Parameters common to deduplicators of samples.
SHARED = {**VERIFY_PARAMS, **SURVIVOR_PARAMS}
_WIDTH = 118
_LONG_NAME = 32
# Least columns of descriptions beside names; with fewer, they stand below.
_BESIDE = 32
# Characters of a description in the list from which it is cut at a colon.
_BRIEF = 80
# Wider than any line: without a terminal, each operator is one line, which grep finds.
_ONE_LINE = 10_000


def page(name: str | None, markdown: bool, operators: Sequence[str] = ()) -> str:
    """Return the list of operators or one operator's page; as Markdown, one page or all pages.

    A name that no operator has is searched for. Raises RecipeError if nothing is found.
    """
    library = Library(tuple(operators))
    if name:
        if name not in library.operators:
            return found_by_word(name, library)
        operator = library.operators[name]
        return operator_page(operator, library) if markdown else plain_page(operator, library)
    if not markdown:
        return listing(library)
    every = list(library.operators.values())
    first = "".join("\n" + operator_page(operator, library) for operator in every if not _compares(operator))
    second = "".join("\n" + operator_page(operator, library) for operator in every if _compares(operator))
    return f"{INTRO}{first}\n{DEDUPLICATORS}" + "\n".join(_parameters(_shared(every))) + f"\n{second}"


def _compares(operator: Operator) -> bool:
    return operator.kind == "deduplicator"


def _shared(operators: Sequence[Operator]) -> list[Param]:
    """The common parameters of deduplicators, each as declared by the first deduplicator that has it."""
    params: dict[str, Param] = {}
    for operator in filter(_compares, operators):
        params = {name: operator.params[name] for name in SHARED if name in operator.params} | params
    return [params[name] for name in SHARED if name in params]


def listing(library: Library) -> str:
    """The operators by kind: the first sentence on each."""
    lines = []
    names = [name for name in library.operators if len(name) <= _LONG_NAME]
    for kind in KINDS.values():
        of_kind = [operator for operator in library.operators.values() if operator.kind == kind]
        lines.append(f"{plural(kind)} ({len(of_kind)})")
        lines += described(of_kind, max(map(len, names), default=0))
    for package in library.packages.values():
        own = ", ".join(name for name, _ in library.names_below(package.folder)) or "none"
        lines += hanging(f"from {package}: {own}", terminal_width(_WIDTH), 2)
    lines += hanging(
        "`refinery ops NAME` shows parameters, statistics and examples of one operator.", terminal_width(_WIDTH), 0
    )
    return "\n".join(lines)


def found_by_word(word: str, library: Library) -> str:
    """Operators with a word in their name, kind or description, those with it in their name first.

    Raises RecipeError, with the nearest names, if there are none.
    """
    wanted = word.casefold().strip()
    places = [
        (operator, f"{operator.kind} {operator.doc} {operator.alias_of or ''}".casefold())
        for operator in library.operators.values()
    ]
    named = [operator for operator, _ in places if wanted in operator.name.casefold()]
    others = [operator for operator, text in places if wanted in text and operator not in named]
    theirs = [one for one in peer_names(library) if wanted and folded(wanted) in one.key]
    answers = [sentence(one) for one in theirs if one.key == folded(wanted)]
    if not wanted or not (named or others or theirs):
        near = suggestion(word, library.operators) or "`refinery ops` lists the operators."
        if wanted in DATA_JUICER_OPERATORS:
            near = f"It is an operator of Data-Juicer that refinery does not have. {near}"
        raise RecipeError([Problem("", f"there is no operator {word!r}, and none is described by it", near)])
    column = max((len(operator.name) for operator in named + others if len(operator.name) <= _LONG_NAME), default=0)
    lines = [*answers, *([f"no operator is called {word}; it occurs in"] if named or others else [])]
    lines += described(named + others, column)
    rest = [one for one in theirs if one.key != folded(wanted)]
    lines += ["names in other tools"] if rest else []
    lines += [f"  {sentence(one)}" for one in rest]
    return "\n".join(lines)


def described(operators: Sequence[Operator], column: int) -> list[str]:
    """Names, and the first sentence on each operator. column: width of the names; a longer one has its own line."""
    width, lines = terminal_width(_ONE_LINE), []
    for operator in operators:
        said = f"The same operator as {operator.alias_of}." if operator.alias_of else brief(operator.doc)
        start = f"  {operator.name:<{column}}  "
        if len(operator.name) > column and width != _ONE_LINE:
            lines.append(f"  {operator.name}")
            start = " " * (column + 4)
        lines += hanging(start + said, width, column + 4)
    return lines


def plural(kind: str) -> str:
    """Plural of an operator kind, for a heading."""
    return "statistics operators" if kind == "stats" else f"{kind}s"


def first_sentence(text: str) -> str:
    """A text up to its first full stop."""
    head, stop, _ = text.partition(". ")
    return head + stop.strip() if stop else text


def brief(text: str) -> str:
    """The first sentence; up to a colon if it is long and says enough until there."""
    sentence = first_sentence(text)
    head, colon, _ = sentence.partition(": ")
    return head + "." if len(sentence) > _BRIEF and colon and len(head) >= 20 else sentence


def plain_page(operator: Operator, library: Library) -> str:
    """Page of an operator for a terminal: description, parameters, statistics and examples."""
    own, width = _own(operator, library), min(terminal_width(_WIDTH), _WIDTH)
    lines = [f"{operator.name} ({operator.kind}, version {operator.version})", ""]
    lines += [f"The same operator as {operator.alias_of}.", ""] if operator.alias_of else []
    lines += textwrap.wrap(operator.doc, width)
    lines += hanging(f"Matches {operator.peer}.", width, 0) if operator.peer else []
    lines += _section("Parameters", _rows(own), width)
    if operator.alias_of:
        others = ", ".join(name for name in operator.params if name not in {param.name for param in own})
        said = f"It also takes these parameters, see `refinery ops {operator.alias_of}`: {others}."
        lines += ["", *textwrap.wrap(said, width)]
    else:
        stats = [(n, s.get("type", "DOUBLE"), s.get("doc", "")) for n, s in operator.stats.items()]
        lines += _section("Statistics", stats, width)
        lines += _section("Parameters that deduplicators share", _rows(_shared([operator])), width)
        lines += ["", *hanging(f"It also takes {_common(operator)}, as {_every(operator.kind)} does.", width, 0)]
        lines += ["", "In a recipe", f"  - {operator.name}:"]
        lines += [f"      {p.name}: {_written(p)}" for p in own if p.default != UNBOUNDED]
    if operator.examples:
        lines += ["", "Examples", *_examples(operator)]
    inside = operator.path.is_relative_to(shipped())
    package = library.package_of(operator.path)
    by = f" of {package}" if package is not None else ""
    lines += ["", f"File {operator.path.relative_to(shipped()) if inside else operator.path}{by}"]
    return "\n".join(lines)


def _common(operator: Operator) -> str:
    """Names of the parameters that every operator of the kind takes."""
    if operator.kind == "filter":
        return "text_key, min_closed_interval, max_closed_interval and reversed_range"
    return "text_key"


def _every(kind: str) -> str:
    return "every statistics operator" if kind == "stats" else f"every {kind}"


def _rows(params: Sequence[Param]) -> list[tuple[str, str, str]]:
    return [(p.name, f"{_type(p)}, {_default(p).strip('`')}", p.doc) for p in params]


def _examples(operator: Operator) -> list[str]:
    """Examples, one a line; broken at words on a terminal."""
    width = terminal_width(_ONE_LINE)
    return [line for example in operator.examples for line in hanging(f"  {_example(example)}", width, 4)]


def _section(title: str, rows: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    """Names, types and descriptions. Where a narrow terminal has no room beside the types, descriptions are below."""
    if not rows:
        return []
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = ["", title]
    for name, kind, doc in rows:
        start = f"  {name:<{first}}  {kind:<{min(second, 40)}}  "
        text = " ".join(doc.split())
        if width - len(start) >= _BESIDE:
            lines += [line.rstrip() for line in hanging(start + text, width, len(start))]
        else:
            lines += hanging(f"  {name:<{first}}  {kind}", width, first + 4)
            lines += hanging(f"{'':{first + 4}}{text}", width, first + 4) if text else []
    return lines


def _own(operator: Operator, library: Library) -> list[Param]:
    """Parameters of this operator that its kind does not share; of an alias, those that only the alias has."""
    others: set[str] = set(RANGE_PARAMS) if operator.kind == "filter" else set()
    if operator.kind == "deduplicator":
        others = {*SHARED, *(library.operators[operator.alias_of].params if operator.alias_of else ())}
    return [param for name, param in operator.params.items() if name not in others]


def _written(param: Param) -> str:
    """A parameter's default as written in a recipe; a placeholder for a required parameter."""
    if param.required:
        return '"..."'
    return _json(param.default)


def operator_page(operator: Operator, library: Library) -> str:
    """Page of an operator as Markdown: description, parameters, statistics and examples."""
    lines = [f"## {operator.name}", "", f"*{operator.kind}, version {operator.version}*  "]
    lines += [f"The same operator as [{operator.alias_of}](#{operator.alias_of})."] if operator.alias_of else []
    lines += [operator.doc, ""]
    if operator.peer:
        lines += [f"Matches: {operator.peer}.", ""]
    own = _own(operator, library)
    if own:
        lines += [*_parameters(own), ""]
    if operator.stats:
        lines += ["| statistic | type | |", "|---|---|---|"]
        lines += [
            f"| `{n}` | {s.get('type', 'DOUBLE')} | {_cell(s.get('doc', ''))} |" for n, s in operator.stats.items()
        ]
        lines.append("")
    if operator.examples:
        lines += ["```text"] + [_example(example) for example in operator.examples] + ["```", ""]
    return "\n".join(lines)


def _parameters(params: Sequence[Param]) -> list[str]:
    """A table of parameters."""
    rows = [f"| `{p.name}` | {_cell(_type(p))} | {_cell(_default(p))} | {_cell(p.doc)} |" for p in params]
    return ["| parameter | type | default | |", "|---|---|---|---|", *rows]


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
    others = [f"`{_json(rule['default'])}` with {_values(rule['when'])}" for rule in param.default_when]
    values = ", ".join(f"`{_json(value)}`" for value in param.default_for)
    return "; ".join([f"`{_json(param.default)}`", *others, *([f"also for {values}"] if values else [])])


def _values(params: Mapping[str, Any]) -> str:
    return " and ".join(f"`{name}: {value}`" for name, value in params.items())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def _example(example: dict[str, Any]) -> str:
    if "texts" in example:
        return _example_of_set(example)
    text = _short(example["text"])
    params = _params_text({**example.get("fields", {}), **example.get("params", {})})
    if "out" in example and "keep" not in example:
        return f"{text}{params} -> {_short(example['out'])}"
    if "written" in example:
        return f"{text}{params} -> {', '.join(f'{name} {_json(value)}' for name, value in example['written'].items())}"
    stats = [f"{name} {value}" for name, value in example.get("stats", {}).items()]
    fate = [] if "keep" not in example else ["kept" if example["keep"] else "removed"]
    fate += [example["reason"]] if "reason" in example else []
    fate += [f"as {_short(example['out'])}"] if "out" in example else []
    other = ["refused"] if example.get("error") else ["quarantined"] if "quarantined" in example else []
    return f"{text}{params} -> {', '.join(stats + fate + other)}"


def _example_of_set(example: dict[str, Any]) -> str:
    """An example of several texts: numbers of the kept texts, from 0; or the rest of each text, null if removed."""
    texts = example["texts"]
    shown = f"[{', '.join(_short(text, 60) for text in texts)}]{_params_text(example.get('params', {}))}"
    if "out" in example:
        left = ["null" if text is None else _short(text, 60) for text in example["out"]]
        return f"{shown} -> {'unchanged' if example['out'] == texts else '[' + ', '.join(left) + ']'}"
    if example.get("error"):
        return f"{shown} -> refused"
    kept = ", ".join(map(str, example["kept"]))
    return f"{shown} -> {'all kept' if len(example['kept']) == len(texts) else 'kept ' + kept}"


def _params_text(params: dict[str, Any]) -> str:
    return "".join(f" {name}={_json(value)}" for name, value in params.items())


def _short(text: str, width: int = 100) -> str:
    shown = _json(text)
    return shown if len(shown) <= width else shown[: width - 4] + '..."'
