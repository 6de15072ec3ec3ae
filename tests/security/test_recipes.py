"""Limits on a recipe's text before it runs: nothing that takes long, and nothing that Python could run."""

from __future__ import annotations

import ast
import re
import time
from pathlib import Path

import pytest

from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.operators import Library, shipped
from refinery.recipe import loads

ROOT = Path(__file__).parent.parent.parent
PLAIN = "dataset_path: in.jsonl\nprocess:\n  - clean_links_mapper: {{repl: {value}}}\n"


def refused(text: str) -> str:
    """The problems of a recipe, which are found quickly."""
    started = time.process_time()
    with pytest.raises(RecipeError) as caught:
        loads(text, library=Library(), need_inputs=False)
    assert time.process_time() - started < 5
    return str(caught.value)


def test_aliases_do_not_explode() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    said = refused("\n".join([*levels, "vars: {all: *a9}", "process: [clean_email_mapper]"]))
    assert "holds too many values" in said


@pytest.mark.long
def test_merged_mappings_do_not_explode() -> None:
    merged = ["m0: &m0 {k0: 1}"] + [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 50)}]}}" for n in range(1, 8)]
    assert "holds too many values" in refused("\n".join([*merged, "process: [clean_email_mapper]"]))


def test_a_recipe_within_itself() -> None:
    assert "refers to itself" in refused("a: &a [*a]\nprocess: [clean_email_mapper]")


@pytest.mark.parametrize("opening", [pytest.param("[", marks=pytest.mark.long), "{a: ", "- ", "[{a: "])
def test_nesting_is_bounded(opening: str) -> None:
    for depth in (100, 20_000):
        assert re.search("nested deeper than 50|is not closed|list item", refused(f"vars: {opening * depth}"))


def test_a_long_recipe_is_read_or_refused_quickly() -> None:
    assert "too large" in refused_file("x" * (17 << 20))
    assert "holds too many values" in refused("vars: [" + "1, " * 300_000 + "1]\nprocess: [clean_email_mapper]")


def refused_file(text: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.yaml"
        path.write_text(text)
        with pytest.raises(RecipeError) as caught:
            open_recipe(path)
        return str(caught.value)


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['id']",
        "!!python/name:os.system ''",
        "!!python/object/new:type []",
        "!x {a: 1}",
    ],
)
def test_tags_make_no_objects(tag: str) -> None:
    assert "is not allowed in recipes" in refused(PLAIN.format(value=tag))


@pytest.mark.parametrize(
    "expression",
    [
        "x.__class__",
        "x['__class__']",
        "x | attr('__class__')",
        "x.upper()",
        "x * 10 ** 9",
        "x ** 9 ** 9 ** 9",
        "n ** n ** n",
        "x | format(1)",
        "x % (1, 2)",
        "range(10 ** 12) | join",
        "x if n else self",
        "cycler('a').next()",
        "lipsum(1000)",
        "config",
        "x | replace('a', 'b' * 10 ** 9)",
        "[x for y in n]",
        "n * 1e308 * x",
        "x | map('upper') | list",
    ],
)
def test_expressions_reach_nothing_and_end(expression: str) -> None:
    text = "vars: {x: abc, n: 999999999}\n" + PLAIN.format(value=f"'{{{{ {expression.replace(chr(39), chr(34))} }}}}'")
    try:
        recipe = loads(text, library=Library(), need_inputs=False)
    except RecipeError as error:
        assert len(str(error)) < 1000
    else:  # what is no expression to us stays text
        assert recipe.steps[0].params["repl"].startswith("{{") or expression == "x if n else self"


def test_statements_of_templates_are_text() -> None:
    for value in ("{% for x in range(10 ** 9) %}x{% endfor %}", "{# note #}", "{%- set x = 1 %}"):
        recipe = loads(PLAIN.format(value=f"'{value}'"), library=Library(), need_inputs=False)
        assert recipe.steps[0].params["repl"] == value


# Nothing is unpickled

_CALLS = re.compile(
    r"\b(pickle|cloudpickle|dill|shelve|marshal|joblib|jsonpickle)\b|torch\.load|allow_pickle\s*=\s*True|yaml\.(unsafe_|full_)load\(|yaml\.Unsafe"
)


def sources() -> list[Path]:
    folders = [ROOT / "refinery", shipped() / "sql", shipped() / "udfs"]
    return [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".sql", ".html")]


# Requests to worker processes, of refinery's own objects; answers are read with a closed list of classes
# (tests/operators/test_user_process.py).
_PICKLES = {"operators/user_process.py"}


def test_nothing_is_pickled_elsewhere() -> None:
    """Code only: a docstring may say that there is none. Ray has a transport of its own, which is not ours."""
    found = []
    for path in sources():
        if path.is_relative_to(ROOT / "refinery") and path.relative_to(ROOT / "refinery").as_posix() in _PICKLES:
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            if not _CALLS.search(text):
                continue
            tree = ast.parse(text)
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node):
                    node.body = node.body[1:] or [ast.Pass()]
            text = ast.unparse(tree)
        found += [f"{path}: {match[0]}" for match in _CALLS.finditer(text)]
    assert not found


def test_arrays_are_loaded_without_pickle(tmp_path: Path) -> None:
    import numpy as np

    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        np.load(tmp_path / "objects.npy")
    for path in sources():
        if path.suffix == ".py" and "allow_pickle" in (text := path.read_text(encoding="utf-8")):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load":
                    assert not any(keyword.arg == "allow_pickle" for keyword in node.keywords), path
