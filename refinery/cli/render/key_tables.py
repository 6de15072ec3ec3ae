"""The tables of keys in docs/recipes.md and the list of keys in `--help`, written from the keys' declaration.

`python -m refinery.cli.render.key_tables docs/recipes.md` rewrites the tables between the page's marks.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from refinery.recipe.key import RecipeKey
from refinery.recipe.keys import DATASET_KEYS, KEYS, NOT_YET, SOURCE_KEYS, SUMMARY_KEYS
from refinery.recipe.values import describe_value

# Types as the page names them, where that is not the name itself.
_TYPES = {
    "str": "text",
    "int": "integer",
    "float": "number",
    "strings": "text or list",
    "list[str]": "list",
    "paths": "path or list",
    "size": "bytes, or `128MB`, `1GiB`",
    "count_or_all": "integer or `all`",
    "count_or_share": "number of rows, or `0.1%`",
    "share": "share, as `0.01` or `1%`",
    "expressions": "text, list or mapping",
    "fields": "text, list or mapping",
}
_WIDTH = 118


def pages() -> dict[str, str]:
    """The generated parts of docs/recipes.md, by their names in the page's marks."""
    used = {name: key for name, key in KEYS.items() if _has_effect(key)}
    peers = {name: key for name, key in used.items() if not key.own}
    own = {name: key for name, key in used.items() if key.own}
    return {
        "keys": f"{_table(peers)}\n\nrefinery's own:\n\n{_table(own)}",
        "keys without effect": _without_effect(),
        "refused keys": _listed(f"`{key.name}`: {key.refuses}." for key in KEYS.values() if key.refuses),
        "keys of dataset": _table({**DATASET_KEYS, **{f"configs.{n}": key for n, key in SOURCE_KEYS.items()}}),
        "keys of stat_summary": _table(SUMMARY_KEYS),
    }


def option_rows() -> list[tuple[str, str]]:
    """Option and description of each key, for `--help`."""
    return [(f"--{key.name}", key.help.partition(". ")[0].rstrip(".")) for key in KEYS.values() if _has_effect(key)]


def rewritten(page: str) -> str:
    """The page with the present tables between its marks. Raises ValueError for a table without marks."""
    for name, text in pages().items():
        marks = re.compile(rf"(<!-- {name}: [^\n]*-->\n\n).*?(\n\n<!-- end of {name} -->)", re.DOTALL)
        if len(marks.findall(page)) != 1:
            raise ValueError(f"the page does not have the marks of the part {name!r} once")
        page = marks.sub(lambda found, text=text: found[1] + text + found[2], page)  # type: ignore[misc]
    return page


def _has_effect(key: RecipeKey) -> bool:
    return not key.note and not key.refuses and key.name not in NOT_YET


def _table(keys: Mapping[str, RecipeKey]) -> str:
    rows = [f"| `{name}` | {_type(key)} | {_default(key)} | {_cell(key.doc)} |" for name, key in keys.items()]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])


def _type(key: RecipeKey) -> str:
    if key.choices:
        return ", ".join(f"`{choice}`" for choice in key.choices)
    return _TYPES.get(key.type, key.type)


def _default(key: RecipeKey) -> str:
    """The default as a recipe writes it; `none` and `empty` are no texts."""
    if key.default is None:
        return "none"
    if key.default in ((), ""):
        return "empty"
    if isinstance(key.default, tuple):
        return f"`[{', '.join(map(str, key.default))}]`"
    return f"`{key.default if isinstance(key.default, str) else describe_value(key.default)}`"


def _without_effect() -> str:
    """Keys that are accepted without effect, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in [*((key.name, key.note) for key in KEYS.values() if key.note), *NOT_YET.items()]:
        reasons.setdefault(reason, []).append(f"`{name}`")
    return _listed(f"{', '.join(names)}: {reason}." for reason, names in reasons.items())


def _listed(items: Iterable[str]) -> str:
    wrap = textwrap.TextWrapper(_WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(wrap.fill(item) for item in items)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(path: Path) -> None:
    """Rewrite the tables of a page in place."""
    path.write_text(rewritten(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
