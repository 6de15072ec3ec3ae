"""The page docs/sql-functions.md: operators as SQL functions. `python -m refinery.cli.render.sql_functions_page` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refinery.assets.names import needs
from refinery.cli.render.reference import first_sentence
from refinery.operators import Library, Operator
from refinery.sql_functions.inlined import NotOneText
from refinery.sql_functions.model import SqlFunction
from refinery.sql_functions.of_operator import functions_of_operator
from refinery.sql_functions.stored import stored_functions

_INTRO = """# SQL functions

This page lists the operators that DuckDB can call as functions, in any query of yours. `make docs` writes it from the headers of operators.

```python
import duckdb
import refinery

con = duckdb.connect()
names = refinery.register(con)
con.sql("CREATE TABLE docs AS SELECT 'See https://example.org for more' AS body UNION ALL SELECT 'Too short'")
print(con.sql("SELECT clean_links_mapper(body) AS body FROM docs WHERE words_num_filter(body, min_num := 3)"))
print(con.sql("SELECT body, words_num_filter_stats(body).num_words FROM docs"))
```

| operator | function | value |
|---|---|---|
| mapper | `NAME(text)` | the new text; NULL if the operator removes the sample |
| filter | `NAME(text)` | BOOLEAN: true if the filter keeps the text |
| filter with statistics | `NAME_stats(text)` | a STRUCT of its statistics |
| statistics | `NAME(text)` | a STRUCT of statistics |

- Functions give the results of a recipe: they are macros, made by the same compiler. A text that is NULL gives NULL.
- Parameters are named arguments; without them the defaults of the operator hold. NULL is no bound. A value that a recipe refuses is an error.
- A parameter that is no argument here shapes the operator's SQL. `steps` makes a function of any step, with all of its parameters, under a name of yours:

```python
import duckdb
import refinery

con = duckdb.connect()
steps = {
    "long_enough": {"words_num_filter": {"min_num": 3, "tokenization": False}},
    "masked": {"clean_email_mapper": {"repl": "<mail>"}},
}
refinery.register(con, steps=steps)
con.sql("CREATE TABLE docs AS SELECT 'Write to me@example.org' AS body")
print(con.sql("SELECT masked(body) FROM docs WHERE long_enough(body)"))
```

- `refinery.register(con, ["my_operators"])` adds operators of your own folders.
- The functions are temporary: nothing is written to a database, and each connection registers them for itself. To register them again does no harm.
"""


# The exponent by which DuckDB reads a number as DOUBLE.
_EXPONENT = re.compile(r"(?<=\d)e0\b")


@dataclass(frozen=True)
class _Left:
    """An operator without a function. reason: half a sentence."""

    operator: Operator
    reason: str


def page(library: Library) -> str:
    """The page as Markdown, the same on every machine."""
    listed: dict[str, list[SqlFunction]] = {}
    left, with_assets = list[_Left](), list[_Left]()
    for name, operator in library.operators.items():
        params = {param: spec.default for param, spec in operator.params.items()}
        wanted = needs(params, operator.params)
        if wanted and not any(spec.required for spec in operator.params.values()):
            with_assets.append(_Left(operator, ", ".join(f"`{need.name}`" for need in wanted)))
            continue
        try:
            listed[name] = stored_functions().get(name) or functions_of_operator(operator, library)
        except NotOneText as error:
            left.append(_Left(operator, str(error)))
    return "".join([_INTRO, *_functions(library, listed), *_assets(with_assets), *_without(left)])


def _functions(library: Library, listed: dict[str, list[SqlFunction]]) -> Iterator[str]:
    for kind, title in (("filter", "Filters"), ("mapper", "Mappers"), ("stats", "Statistics")):
        yield f"\n## {title}\n\n| function | value | |\n|---|---|---|\n"
        for name, functions in listed.items():
            operator = library.operators[name]
            if operator.kind == kind:
                yield from (_row(one, operator) for one in functions)


def _row(function: SqlFunction, operator: Operator) -> str:
    own = function.name == operator.name
    about = f"{_cell(first_sentence(operator.doc))} {_packages(operator)}".strip() if own else "its statistics"
    shown = f"[{function.name}](operators.md#{operator.name})" if own else function.name
    rest = _EXPONENT.sub("", function.signature.removeprefix(function.name))
    kind = function.returns if len(function.returns) <= 120 else f"STRUCT of {function.returns.count(',') + 1} fields"
    return f"| {shown}`{rest}` | `{kind}` | {about} |\n"


def _packages(operator: Operator) -> str:
    return f"Needs the package {', '.join(operator.needs)}." if operator.needs else ""


def _assets(operators_left: Iterable[_Left]) -> Iterator[str]:
    yield "\n## Functions that need a model or a list\n\n"
    yield "They are there if the file is on the machine ([assets.md](assets.md)); their arguments are the bounds.\n\n"
    yield "| function | file |\n|---|---|\n"
    yield from (
        f"| [{one.operator.name}](operators.md#{one.operator.name}) | {one.reason} |\n" for one in operators_left
    )


def _without(operators_left: Iterable[_Left]) -> Iterator[str]:
    yield "\n## Operators without a function\n\n"
    yield "An operator that only lacks a default is a function with `steps`.\n\n| operator | it |\n|---|---|\n"
    yield from (
        f"| [{one.operator.name}](operators.md#{one.operator.name}) | {_cell(one.reason)} |\n" for one in operators_left
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Print the page."""
    print(page(Library()), end="")


if __name__ == "__main__":
    main()
