"""`${NAME}` and `{{ variable }}`: filled in after YAML has been read, so nothing in a value can break the recipe."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.recipe import dump, load, loads, parse_variables
from tests.recipe.fake_library import FOUNDATION

HEAD = "dataset_path: a.jsonl\nprocess: [clean_email_mapper]\n"
ENVIRON = {"HOME_OF_DATA": "/data", "EMPTY": "", "QUOTE": 'it\'s: "so" # {now}', "N": "7"}


def name(written: str, variables: dict[str, Any] | None = None) -> str:
    """The value of `project_name`."""
    recipe = loads(f"{HEAD}project_name: {written}\n", "r.yaml", (), variables, library=FOUNDATION, environ=ENVIRON)
    assert loads(dump(recipe), library=FOUNDATION, environ={}) == recipe
    return recipe.project_name


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("${HOME_OF_DATA}/x", "/data/x"),
        ("'${HOME_OF_DATA}'", "/data"),
        ('"a\\t${QUOTE}"', 'a\tit\'s: "so" # {now}'),
        ("${MISSING:-web, #1: 'x'}", "web, #1: 'x'"),
        ("${EMPTY:-default}", "default"),
        ("x${EMPTY}", "x"),
        ("$${HOME_OF_DATA}", "${HOME_OF_DATA}"),
        ("$$${HOME_OF_DATA}", "$${HOME_OF_DATA}"),
        ("${1} ${} $HOME_OF_DATA", "${1} ${} $HOME_OF_DATA"),
        ("|\n  two\n  ${N}", "two\n7\n"),
    ],
)
def test_environment(written: str, expected: str) -> None:
    assert name(written) == expected


@pytest.mark.parametrize(
    ("written", "variables", "expected"),
    [
        ("{{ x }}", {"x": "web"}, "web"),
        ("{{x}}-{{ x }}", {"x": "web"}, "web-web"),
        ("'{{ x }}'", {"x": 'it\'s: "so"\nand {{ x }} ${N}'}, 'it\'s: "so"\nand {{ x }} ${N}'),
        ("{{ x }}", {"x": "no"}, "no"),
        ("{{ n * 2 }}", {"n": 21}, "42"),
        ("{{ n / 2 }}", {"n": 21}, "10.5"),
        ("{{ x | upper }}", {"x": "en"}, "EN"),
        ("{{ x ~ '_' ~ n }}", {"x": "en", "n": 3}, "en_3"),
        ("{{ x if n > 2 else 'few' }}", {"x": "many", "n": 3}, "many"),
        ("{{ y | default('none') }}", {}, "none"),
        ("{{ '{{' }} x }}", {}, "{{ x }}"),
        (r"'\{{2}[^{}]+\}{2} {{\w+}} {{}} x{3}'", {}, r"\{{2}[^{}]+\}{2} {{\w+}} {{}} x{3}"),
        ("'{{cite}} {% if %} {# x #}'", {}, "{{cite}} {% if %} {# x #}"),
        ('"{{cite}}"', {}, "{{cite}}"),
        (r'"{{\\w+}}"', {}, r"{{\w+}}"),
    ],
)
def test_variables(written: str, variables: dict[str, Any], expected: str) -> None:
    assert name(written, variables) == expected


def test_values_of_vars_are_defaults_and_keep_their_spelling() -> None:
    text = (
        f"{HEAD}vars: {{lang: no, least: 1e2, where: '${{HOME_OF_DATA}}', keys: [id, url]}}\n"
        "project_name: '{{ lang }}{{ least }}{{ where }}'\nnp: {{ least / 50 }}\ntrace_keys: {{ keys }}\n"
    )
    recipe = loads(text, library=FOUNDATION, environ=ENVIRON, variables=parse_variables(["least=200"]))
    assert recipe.project_name == "no200/data"
    assert recipe.np == 4
    assert recipe.trace_keys == ("id", "url")


def test_a_variable_may_be_an_operator_or_a_list() -> None:
    text = "dataset_path: {{ files }}\nprocess:\n  - {{ op }}:\n      min_len: {{ least }}\n"
    recipe = loads(
        text, variables={"files": ["a b.jsonl", "c.jsonl"], "op": "text_length_filter", "least": 5}, library=FOUNDATION
    )
    assert [source.path for source in recipe.inputs] == [os.path.abspath("a b.jsonl"), os.path.abspath("c.jsonl")]
    assert recipe.steps[0].params["min_len"] == 5


def test_a_variable_in_a_comment_does_not_matter() -> None:
    assert name("web  # {{ wibble }} ${WIBBLE}") == "web"


def test_lines_stay_right_after_a_value_of_many_lines() -> None:
    text = "dataset_path: a.jsonl\nproject_name: '{{ x }}'\nprocess:\n  - wibble_mapper:\n"
    with pytest.raises(RecipeError, match=r"^recipe.yaml:4: there is no operator 'wibble_mapper'"):
        loads(text, variables={"x": "a\nb\nc"}, library=FOUNDATION)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("{{ x.__class__ }}", "getattr is not allowed"),
        ("{{ x() }}", "call is not allowed"),
        ("{{ x ** 9 }}", "pow is not allowed"),
        ("{{ x * 'a' }}", "takes numbers"),
        ("{{ x | replace('a', 'b') }}", "no filter 'replace'"),
        ("{{ x + }}", "unexpected 'end of"),
        ("{{ x // 0 }}", "division"),
        ("{{ x + y }}", "'y' is undefined"),
        ("{{ y | upper }}", "'y' is undefined"),
        ("{{ x " + "+ 1 " * 100 + "}}", "longer than"),
        ("{{ " + "x" + "[(" * 60 + "}}", ""),
    ],
)
def test_expressions_that_are_refused(expression: str, reason: str) -> None:
    with pytest.raises(RecipeError) as error:
        name(expression, {"x": 5})
    assert str(error.value).startswith("r.yaml:3: ")
    assert reason in str(error.value)


def test_variables_of_the_command_line_that_nothing_uses() -> None:
    with pytest.raises(RecipeError) as error:
        loads(
            HEAD + "project_name: '{{ lang }}'\n", variables=parse_variables(["lnag=en", "lang=en"]), library=FOUNDATION
        )
    assert str(error.value) == "--var lnag: the recipe has no variable 'lnag'. Did you mean 'lang'?"
    with pytest.raises(RecipeError) as error:
        parse_variables(["lang", "1=2", "a=b"])
    assert len(error.value.problems) == 2


def test_a_dict_is_filled_in_too() -> None:
    recipe = load(
        {
            "dataset_path": "${HOME_OF_DATA}/a",
            "project_name": "{{ x }}",
            "vars": {"x": 3},
            "process": ["clean_email_mapper"],
        },
        environ=ENVIRON,
        library=FOUNDATION,
    )
    assert (recipe.inputs[0].path, recipe.project_name) == ("/data/a", "3")


def test_jinja_is_loaded_only_for_an_expression() -> None:
    program = (
        "import sys; from tests.recipe.fake_library import FOUNDATION; from refinery.recipe import loads\n"
        f"loads({HEAD!r} + 'project_name: \"{{{{ x }}}}\"', variables={{'x': 'a'}}, library=FOUNDATION)\n"
        "print([m for m in ('jinja2', 'duckdb', 'numba', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ)
    assert done.stdout == "[]\n", done.stderr
