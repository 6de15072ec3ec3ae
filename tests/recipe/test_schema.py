"""The JSON Schema of recipes: it accepts what the loader accepts, refuses what is wrong by itself, and is up to date."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from refinery.cli.render.schema import page
from refinery.errors import RecipeError
from refinery.operators import Library, Operator
from refinery.recipe import hub_datasets, loads
from refinery.recipe.keys import BASE_PARAMS, KEYS
from refinery.recipe.schema import recipe_schema
from tests.conftest import RECORDED, ROOT
from tests.recipe.fake_library import COMPLETE

LIBRARY = Library()
SCHEMA = recipe_schema(LIBRARY)
VALIDATOR = Draft202012Validator(SCHEMA)
HUB = sorted((RECORDED / "hub_recipes").glob("*.yaml"))
FILES = [*sorted((ROOT / "recipes").rglob("*.yaml")), *sorted((ROOT / "tests" / "golden").glob("*.yaml"))]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class EditorLoader(yaml.SafeLoader):
    """YAML as an editor sees it: keys that are collections, such as `{{ name }}` without quotes, are texts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        values = [self.construct_object(value, deep=True) for _, value in node.value]
        return {str(key): value for key, value in zip(keys, values, strict=True)}


EditorLoader.add_constructor(
    "tag:yaml.org,2002:map",
    lambda loader, node: EditorLoader.construct_mapping(loader, node),  # type: ignore[arg-type]
)
EditorLoader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


def problems(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(yaml.load(text, EditorLoader))]


@dataclass(frozen=True)
class Unchecked:
    """The operators without their own checks, which ask for models and lists of words."""

    operators: dict[str, Operator]


def without_assets(params: dict[str, Any]) -> dict[str, Any]:
    return {name: replace(param, asset="") for name, param in params.items()}


UNCHECKED = Unchecked(
    {
        name: replace(op, checks=None, refuses=(), needs={}, params=without_assets(op.params))
        for name, op in LIBRARY.operators.items()
    }
)


def loader_accepts(text: str, library: Any = UNCHECKED) -> bool:
    try:
        loads(text, library=library, variables={"x": 1} if "{{ x" in text else None, need_inputs=False)
    except RecipeError:
        return False
    return True


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    references = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(SCHEMA)))
    assert references and references <= SCHEMA["$defs"].keys()


def test_the_shipped_schema_is_current() -> None:
    assert (ROOT / "recipes" / "schema.json").read_text("utf-8") == page() + "\n", "run make docs"


def test_the_schema_names_keys_operators_and_parameters() -> None:
    assert SCHEMA["properties"].keys() == KEYS.keys()
    threads = SCHEMA["properties"]["threads"]
    assert threads["description"] == KEYS["threads"].help and threads["default"] is None
    assert {"type": "integer", "minimum": 1} in threads["anyOf"]
    assert SCHEMA["properties"]["turbo"]["deprecated"] is True
    words = SCHEMA["$defs"]["operator_words_num_filter"]
    assert {"min_num", "max_num", "text_key", "reversed_range"} <= words["properties"].keys()
    param = LIBRARY.operators["words_num_filter"].params["min_num"]
    assert words["properties"]["min_num"]["default"] == param.default


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_recipes_of_the_tree_are_valid(path: Path) -> None:
    assert problems(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").rglob("*.yaml")), ids=lambda path: path.name)
def test_shipped_recipes_name_the_schema(path: Path) -> None:
    found = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text("utf-8"))
    assert found and (path.parent / found[1]).resolve() == ROOT / "recipes" / "schema.json"


def test_recipes_of_the_pages_are_valid() -> None:
    texts = [
        text for page in PAGES for text in re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.S | re.M)
    ]
    whole = [text for text in texts if re.search(r"^process:", text, re.M) and loader_accepts(text)]
    assert len(whole) > 5
    assert [problems(text) for text in whole] == [[]] * len(whole)


@pytest.mark.skipif(not HUB, reason="the public recipes are not at hand")
def test_public_recipes_are_valid_where_the_loader_accepts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operators of a peer stand in, and the driver of the Hub, so that nearly all of them are accepted."""
    monkeypatch.setattr(hub_datasets, "find_spec", lambda package: object())
    library: Any = Unchecked({**COMPLETE.operators, **UNCHECKED.operators})
    validator = Draft202012Validator(recipe_schema(library))
    texts = [path.read_text("utf-8") for path in HUB]
    accepted = [text for text in texts if loader_accepts(text, library)]
    assert len(accepted) == 34
    assert [[*validator.iter_errors(yaml.load(text, EditorLoader))] for text in accepted] == [[]] * 34
    alone = [text for text in accepted if loader_accepts(text)]
    assert len(alone) >= 9 and not any(problems(text) for text in alone)


def recipe(process: str, keys: str = "") -> str:
    return f"dataset_path: a.jsonl\n{keys}\nprocess: {process}\n"


BOTH_ACCEPT = [
    recipe("[]"),
    recipe(""),
    recipe("clean_links_mapper"),
    recipe("{words_num_filter: {min_num: 3}}"),
    recipe("[clean_links_mapper, clean_email_mapper: ]"),
    recipe("[words_num_filter: {min_num: 2e3, max_num: '1_000'}]"),
    recipe("[words_num_filter: {min_num: {{ x }}, max_num: '{{ x * 2 }}'}]"),
    recipe("[words_num_filter: {min_closed_interval: no, reversed_range: 'Yes', text_key: meta.body, batch_size: 3}]"),
    recipe("[alphanumeric_filter: {max_ratio: .inf, tokenization: off}]"),
    recipe("[clean_links_mapper: {reversed_range: true, num_proc: 4}]"),
    recipe("[document_deduplicator: {max_cluster_size: , keep: length(text) desc}]"),
    recipe("[sql_filter: {where: id > 3}]", "np: '4'\nmemory_limit: 2GiB\nexport_shard_size: 10_000"),
    recipe("[]", "trace_num: all\nmax_quarantined: 0.1%\ntext_keys: [a, b]\nsuffixes: .md\ncache_compress:"),
    recipe("[]", "turbo: {a: 1}\ncheckpoint.enabled: true\ndecrypt_after_reading: no\nproject_name: 12"),
    recipe("[]", "stat_summary: {groups: summary, group_by: {a: b}, rank: 2}\nvars: {x: [1]}\nuse_tracer: true"),
    recipe("[]", "stat_summary: {groups: [histogram], group_by: a, top_k: 5}\nexecutor_type: ${EXECUTOR:-ray}"),
    "dataset: {max_sample_num: 5, configs: [{path: a, weight: 2}, {type: local, path: b, format: .JSONL}]}\nprocess: []\n",
    "dataset: {configs: [{type: remote, source: s3, path: 's3://a/b'}]}\ndataset_path:\nprocess: []\n",
    "dataset_path: [a, b]\nbase: &b {min_num: 3}\n".replace("base: &b {min_num: 3}\n", "")
    + "process: [words_num_filter]\n",
]
BOTH_REFUSE = [
    "dataset_path: a.jsonl\n",
    recipe("[]", "tracenum: 5"),
    recipe("[]", "np: many"),
    recipe("[]", "np: 0"),
    recipe("[]", "np: [1]"),
    recipe("[]", "np: 1.5"),
    recipe("[]", "open_tracer: 2"),
    recipe("[]", "open_tracer: perhaps"),
    recipe("[]", "export_type: xml"),
    recipe("[]", "executor_type:"),
    recipe("[]", "memory_limit: much"),
    recipe("[]", "max_quarantined: 1.5"),
    recipe("[]", "op_list_to_trace: clean_links_mapper"),
    recipe("[]", "encrypt_before_export: true"),
    recipe("[]", "stat_summary: {topk: 5}"),
    recipe("[]", "stat_summary: {groups: [words]}"),
    recipe("[]", "stat_summary: 3"),
    recipe("[]", "vars: 3"),
    recipe("{clean_links_mapper: , clean_email_mapper: }"),
    recipe("5"),
    recipe("[clean_link_mapper]"),
    recipe("[image_blur_mapper: ]"),
    recipe("[{}]"),
    recipe("[words_num_filter: {minimum: 3}]"),
    recipe("[words_num_filter: {min_num: few}]"),
    recipe("[words_num_filter: {min_num: }]"),
    recipe("[words_num_filter: 3]"),
    recipe("[words_num_filter: {min_closed_interval: 7}]"),
    recipe("[document_minhash_deduplicator: {tokenization: words}]"),
    recipe("[document_deduplicator: {max_removed_share: 2}]"),
    recipe("[document_deduplicator: {on_excess: stop}]"),
    recipe("[sql_filter]"),
    recipe("[sql_filter: ]"),
    recipe("[sql_filter: {where: [a]}]"),
    "dataset: {configs: []}\nprocess: []\n",
    "dataset: {configs: [{weight: 1}]}\nprocess: []\n",
    "dataset: {configs: [{path: a, wight: 1}]}\nprocess: []\n",
    "dataset: {configs: [{path: a, format: xml}]}\nprocess: []\n",
    "dataset: {configs: [{path: a, type: ftp}]}\nprocess: []\n",
]


@pytest.mark.parametrize("text", BOTH_ACCEPT)
def test_what_the_loader_accepts_is_valid(text: str) -> None:
    assert loader_accepts(text) and problems(text) == []


@pytest.mark.parametrize("text", BOTH_REFUSE)
def test_what_is_wrong_is_not_valid(text: str) -> None:
    assert not loader_accepts(text) and problems(text)


@pytest.mark.parametrize("name", LIBRARY.operators)
def test_defaults_of_operators_are_valid(name: str) -> None:
    """Every operator with all its parameters at their defaults, and those of Data-Juicer's base class."""
    params = {
        n: (p.choices or ("x",))[0] if p.required else list(p.default) if isinstance(p.default, tuple) else p.default
        for n, p in LIBRARY.operators[name].params.items()
    }
    whole = {"process": [{name: params | dict.fromkeys(BASE_PARAMS, 1) | params}]}
    wrong = [error for error in VALIDATOR.iter_errors(whole)]
    required = [n for n, p in LIBRARY.operators[name].params.items() if p.required]
    assert not wrong or any(LIBRARY.operators[name].params[n].type not in ("str", "sql", "regex") for n in required)
    assert [*VALIDATOR.iter_errors({"process": [{name: {"no such": 1}}]})]


def test_operators_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "filters").mkdir()
    header = "doc: Texts.\nversion: 1\nparams:\n  least: {type: int, default: 3, min: 1, doc: Fewest characters.}\n"
    body = f"/*---\n{header}---*/\nSELECT length({{{{ text }}}}) >= {{{{ least }}}} AS keep\n"
    (tmp_path / "filters" / "my_filter.sql").write_text(body)
    made = json.loads(page([str(tmp_path)]))
    mine = made["$defs"]["operator_my_filter"]["properties"]["least"]
    assert mine["description"] == "Fewest characters." and mine["default"] == 3
    validator = Draft202012Validator(made)
    assert not [*validator.iter_errors({"process": [{"my_filter": {"least": 2}}]})]
    assert [*validator.iter_errors({"process": [{"my_filter": {"least": 0}}]})]
    assert problems("process: [my_filter]\n")
