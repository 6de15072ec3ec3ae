"""Messages for the public recipes on a machine that has none of their models and word lists: all at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from refinery.assets.sources import source_of
from refinery.errors import RecipeError
from refinery.execution.assets import assets_of
from refinery.execution.open import open_recipe
from tests.assets.conftest import home
from tests.conftest import RECORDED, ROOT

__all__ = ["home"]

HUB = sorted((RECORDED / "hub_recipes").glob("*.yaml"))
TOKENIZING = ("words_num_filter", "word_repetition_filter", "flagged_words_filter", "stopwords_filter")


def needed(recipe: Path) -> list[tuple[str, str]]:
    """Steps with the files that Data-Juicer would download for them, by the rules of its operators."""
    found = []
    for step in yaml.safe_load(recipe.read_text("utf-8"))["process"]:
        ((operator, params),) = step.items()
        given: dict[str, Any] = params or {}
        lang = given.get("lang", "en")
        if operator == "language_id_score_filter":
            found.append((operator, "lid.176.bin"))
        if operator == "perplexity_filter":
            found += [(operator, f"{lang}.arpa.bin"), (operator, f"{lang}.sp.model")]
        if operator in TOKENIZING and given.get("tokenization"):
            found.append((operator, f"{lang}.sp.model"))
        if operator == "alphanumeric_filter" and given.get("tokenization"):
            found.append((operator, "EleutherAI/pythia-6.9b-deduped/tokenizer.json"))
        if operator in ("flagged_words_filter", "stopwords_filter"):
            found.append((operator, f"a folder with *{operator.removesuffix('_filter')}*.json"))
    return found


@pytest.mark.parametrize("recipe", HUB, ids=lambda path: path.stem)
def test_all_missing_files_are_said_at_once_with_the_cure(recipe: Path, home: Path) -> None:
    data = home / "docs.jsonl"
    data.write_text('{"text": "x", "content": "x", "id": 1}\n')
    paths = {"dataset_path": str(data), "export_path": str(home / "out.jsonl"), "executor_type": "default"}
    wanted = needed(recipe)
    if not wanted:
        return
    with pytest.raises(RecipeError) as raised:
        open_recipe(recipe, paths)
    lines = str(raised.value).splitlines()
    said = [re.fullmatch(r"\S+:\d+: (\w+) needs (.+) \(\w+\), which was not found", line) for line in lines]
    assert sorted(found.groups() for found in said if found) == sorted(wanted)
    (last,) = [line for line in lines if "; looked for in " in line]
    names = {name for _, name in wanted}
    assert last.startswith(f"{recipe}: {len(names)} missing: ") and all(name in last for name in names)
    assert f"`refinery assets {recipe} --fetch` downloads them" in last
    assert ".cache/data_juicer/" in last and "refinery/assets (the cache of refinery)" in last
    assert not re.search("remove", str(raised.value), re.IGNORECASE)


@pytest.mark.parametrize("recipe", HUB, ids=lambda path: path.stem)
def test_every_missing_file_has_a_public_source(recipe: Path, home: Path) -> None:
    found, _ = assets_of(str(recipe), [], {}, [])
    assert {asset.name for asset in found} == {name for _, name in needed(recipe)}
    for asset in found:
        source = source_of(asset.asset.need.name)
        assert asset.path is None and source is not None and source.licence


@pytest.mark.skipif(not HUB, reason="the public recipes are not at hand")
def test_the_page_on_compatibility_says_what_each_recipe_needs() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w.-]+)\.yaml` \| (.*?) \|", page, re.MULTILINE))
    assert rows.keys() == {path.stem for path in HUB}
    for path in HUB:
        names = dict.fromkeys(name.removeprefix("a folder with ") for _, name in needed(path))
        assert rows[path.stem] == (", ".join(f"`{name.removeprefix('EleutherAI/')}`" for name in names) or "nothing")
