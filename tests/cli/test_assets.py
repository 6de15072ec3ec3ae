"""`refinery assets`: what a recipe needs, where it is, downloads and the lock; messages of a run that lacks something."""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import pytest

from tests.assets.conftest import VARIABLES
from tests.cli.conftest import Call
from tests.conftest import ROOT

WORDS = '{"en": ["the", "and"], "es": ["de", "la"]}'
RECIPE = """\
dataset_path: docs.jsonl
export_path: out/docs.jsonl
np: 1
process:
  - stopwords_filter: {min_ratio: 0}
  - words_num_filter: {tokenization: true, min_num: 1}
  - word_repetition_filter: {lang: zh, tokenization: true}
  - stopwords_filter: {lang: es, min_ratio: 0, tokenization: false}
"""


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model is found but where a test puts one, in a folder of its own; kernels stay where they are."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def put(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def lists_only(folder: str = "lists") -> None:
    put(f"{folder}/stopwords.json", WORDS)


def recipe(*lines: str) -> None:
    put("r.yaml", "dataset_path: docs.jsonl\nexport_path: out/docs.jsonl\nnp: 1\n" + "\n".join(lines) + "\n")


LISTS = ("process:", "  - stopwords_filter: {min_ratio: 0}")


def test_all_that_is_missing_is_said_at_once(call: Call) -> None:
    put("r.yaml", RECIPE)
    done = call("run", "r.yaml")
    assert done.code == 2
    assert done.err.splitlines()[:4] == [
        "r.yaml:5: stopwords_filter needs a folder with *stopwords*.json (stopwords_dir), which was not found",
        "r.yaml:6: words_num_filter needs en.sp.model (model), which was not found",
        "r.yaml:7: word_repetition_filter needs zh.sp.model (model), which was not found",
        "r.yaml:8: stopwords_filter needs a folder with *stopwords*.json (stopwords_dir), which was not found",
    ]
    (last,) = done.err.splitlines()[4:]
    assert last.startswith(
        "r.yaml: 3 missing: a folder with *stopwords*.json, en.sp.model, zh.sp.model; looked for in "
    )
    assert "home/.cache/data_juicer/assets (the cache of Data-Juicer)" in last
    assert "home/.cache/data_juicer/models (the cache of Data-Juicer)" in last
    assert "`refinery assets r.yaml --fetch` downloads them" in last
    assert "Remove" not in done.err and "remove" not in done.err
    assert not Path("out").exists()


def test_the_list_names_steps_places_and_sources(call: Call) -> None:
    put("r.yaml", RECIPE)
    put("home/.cache/data_juicer/assets/stopwords.json", WORDS)
    done = call("assets", "r.yaml")
    assert done.code == 2
    text, digest = done.out, hashlib.sha256(WORDS.encode()).hexdigest()
    assert "home/.cache/data_juicer/assets (the cache of Data-Juicer)" in text
    assert "for stopwords_filter (line 5), stopwords_filter (line 8)" in text
    assert f"stopwords.json  42 B  sha256 {digest}" in text
    assert (
        "en.sp.model: missing\n    for words_num_filter (line 6)\n    from https://huggingface.co/edugp/kenlm/" in text
    )
    assert "licence: " in text and "refinery assets r.yaml --fetch downloads 2 of them" in text
    data = json.loads(call("assets", "r.yaml", "--json").out)["assets"]
    assert [(item["name"], item["path"] is None) for item in data] == [
        ("*stopwords*.json", False),
        ("en.sp.model", True),
        ("zh.sp.model", True),
    ]
    assert data[0]["files"] == [{"file": "stopwords.json", "bytes": 42, "sha256": digest}]


def test_a_recipe_that_needs_nothing(call: Call) -> None:
    recipe("process:", "  - text_length_filter:")
    done = call("assets", "r.yaml")
    assert (done.code, done.out) == (0, "r.yaml needs no models and no word lists\n")


@pytest.fixture
def mirror(tmp_path: Path) -> Any:
    """A server of the folder `served`."""
    (tmp_path / "served").mkdir()
    put(str(tmp_path / "served/stopwords.json"), WORDS)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_missing_files_are_downloaded_on_demand_alone(call: Call, mirror: str) -> None:
    recipe("assets: models", *LISTS)
    assert call("assets", "r.yaml").code == 2 and not Path("models").exists()
    done = call("assets", "r.yaml", "--fetch", "--to", "models", "--from", mirror)
    assert done.code == 0, done.err
    shown, digest = done.err.splitlines()[:2], done.err.splitlines()[-1]
    assert shown[0] == f"{mirror}/stopwords.json" and shown[1].startswith("  -> models/stopwords.json (stop words")
    assert digest == f"stopwords.json: sha256 {hashlib.sha256(WORDS.encode()).hexdigest()}"
    assert "models (assets)" in done.out and Path("models/stopwords.json").read_text() == WORDS
    assert call("run", "r.yaml").code == 0


def test_a_folder_that_is_not_searched_is_said(call: Call, mirror: str) -> None:
    recipe(*LISTS)
    done = call("assets", "r.yaml", "--fetch", "--to", "models", "--from", mirror)
    assert done.code == 2 and "name it by `assets:` in the recipe" in done.out and "before" not in done.err
    put("served/stopwords.json", "other bytes")
    done = call("assets", "r.yaml", "--fetch", "--to", "models", "--from", mirror)
    assert done.err.endswith(", loaded before\n") and Path("models/stopwords.json").read_text() == WORDS


def test_a_source_that_does_not_answer(call: Call, mirror: str) -> None:
    recipe("process:", "  - words_num_filter: {tokenization: true}")
    done = call("assets", "r.yaml", "--fetch", "--to", "models", "--from", mirror)
    assert done.code == 3
    assert f"{mirror}/en.sp.model: cannot be loaded: the server answers 404" in done.err


def test_a_lock_refuses_other_bytes(call: Call) -> None:
    recipe("assets: lists", *LISTS)
    lists_only()
    assert call("assets", "r.yaml", "--lock").code == 0
    lock = json.loads(Path("assets.lock").read_text())
    digest = hashlib.sha256(WORDS.encode()).hexdigest()
    assert lock["assets"] == {"*stopwords*.json": [{"file": "stopwords.json", "bytes": 42, "sha256": digest}]}
    assert call("run", "r.yaml").code == 0
    put("lists/stopwords.json", WORDS.replace("the", "a"))
    for command in ("run", "check"):
        done = call(command, "r.yaml")
        assert done.code == 2
        assert done.err.startswith("refinery: r.yaml:6: lists: stopwords.json has sha256 ") or command == "check"
        assert f"not {digest}, so it is not the *stopwords*.json that assets.lock locks" in done.err + done.out
    listed = call("assets", "r.yaml")
    assert listed.code == 2 and "NOT what assets.lock locks: stopwords.json has sha256" in listed.out
    put("lists/more_stopwords.json", WORDS)
    put("lists/stopwords.json", WORDS)
    assert "more_stopwords.json is new" in call("run", "r.yaml").err


def test_a_download_is_compared_with_the_lock(call: Call, mirror: str) -> None:
    recipe("assets: lists", *LISTS)
    lists_only()
    assert call("assets", "r.yaml", "--lock").code == 0
    shutil.rmtree("lists")
    put("served/stopwords.json", WORDS.replace("the", "a"))
    done = call("assets", "r.yaml", "--fetch", "--to", "lists", "--from", mirror)
    assert done.code == 3 and "nothing of it is kept" in done.err and list(Path("lists").iterdir()) == []


def test_what_is_missing_cannot_be_locked(call: Call) -> None:
    recipe(*LISTS)
    done = call("assets", "r.yaml", "--lock")
    assert done.code == 2 and "cannot be locked: missing" in done.err and not Path("assets.lock").exists()


def test_a_lock_that_is_none(call: Call) -> None:
    recipe("assets: lists", *LISTS)
    lists_only()
    put("assets.lock", "{}")
    done = call("run", "r.yaml")
    assert done.code == 3 and "is no lock of assets" in done.err and "--lock" in done.err


def test_a_run_records_its_assets(call: Call) -> None:
    recipe("assets: lists", *LISTS)
    lists_only()
    assert call("run", "r.yaml").code == 0
    digest = hashlib.sha256(WORDS.encode()).hexdigest()
    manifest = json.loads(Path("out/.refinery/manifest.json").read_text())["assets"]
    with duckdb.connect("out/refinery.duckdb", read_only=True) as con:
        ((stored,),) = con.execute("SELECT assets FROM runs").fetchall()
    assert json.loads(stored) == manifest
    assert manifest[0]["files"] == [{"file": "stopwords.json", "bytes": 42, "sha256": digest}]
    assert manifest[0]["path"] == str(Path("lists").absolute()) and manifest[0]["name"] == "*stopwords*.json"


def test_results_depend_on_the_bytes_and_not_on_the_place(call: Call) -> None:
    recipe(*LISTS)
    lists_only("home/.cache/data_juicer/assets")
    assert call("run", "r.yaml").code == 0
    shutil.move("home/.cache/data_juicer/assets", "elsewhere")
    put("elsewhere/lid.176.bin", "a file that is no word list")
    done = call("run", "r.yaml", "--assets", "elsewhere", "--json")
    assert json.loads(done.out)["reused"] == {"shards": 1, "of": 1}
    put("elsewhere/stopwords.json", WORDS.replace("the", "a"))
    assert json.loads(call("run", "r.yaml", "--assets", "elsewhere", "--json").out)["reused"]["shards"] == 0


def test_the_recipe_of_a_run_holds_the_path_and_looks_again_elsewhere(call: Call) -> None:
    recipe(*LISTS)
    lists_only("home/.cache/data_juicer/assets")
    assert call("run", "r.yaml").code == 0
    stored = "out/.refinery/recipe.yaml"
    there = str(Path("home/.cache/data_juicer/assets").absolute())
    assert f"stopwords_dir: {there}" in Path(stored).read_text()
    assert "home/.cache/data_juicer/assets (the recipe of a run)" in call("assets", stored).out
    assert call("why", "0", "--run", "out").code == 0
    shutil.move(there, "elsewhere")
    done = call("run", stored, "--assets", "elsewhere", "--work_dir", "other", "--export_path", "other/x.jsonl")
    assert done.code == 0, done.err
    assert f"stopwords_dir: {Path('elsewhere').absolute()}" in Path("other/.refinery/recipe.yaml").read_text()
    assert call("run", stored, "--work_dir", "third", "--export_path", "third/x.jsonl").code == 2


def test_a_finished_run_finds_the_same_bytes_elsewhere(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe(*LISTS)
    lists_only("home/.cache/data_juicer/assets")
    assert call("run", "r.yaml").code == 0
    shutil.move("home/.cache/data_juicer/assets", "elsewhere")
    assert "1 missing" in call("why", "0", "--run", "out").err
    monkeypatch.setenv("REFINERY_ASSETS", "elsewhere")
    assert call("why", "0", "--run", "out").code == 0
    assert call("refilter", "out", "--set", "process.1.min_ratio=0.1").code == 0
    explained = call("sql", "out/.refinery/recipe.yaml", "--explain").out
    assert "reads elsewhere (REFINERY_ASSETS) for stopwords_filter (line" in explained
    put("elsewhere/stopwords.json", WORDS.replace("the", "a"))
    assert "changed since the run" in call("why", "0", "--run", "out").err


def test_the_bundled_lists_are_lists(call: Call) -> None:
    bundled = ROOT / "recipes" / "assets"
    recipe(
        "process:",
        "  - stopwords_filter: {lang: all, min_ratio: 0}",
        "  - stopwords_filter: {lang: es, min_ratio: 0}",
        "  - flagged_words_filter: {lang: en, max_ratio: 0.1}",
    )
    assert call("run", "r.yaml", "--assets", str(bundled)).code == 0
    with duckdb.connect("out/refinery.duckdb", read_only=True) as con:
        ratios = con.execute("SELECT stopwords_ratio FROM stats WHERE _row = 0").fetchall()
    assert ratios[0][0] > 0.2  # "Write to ... about the programme, please."
    assert call("run", "r.yaml").code == 2  # they are not found by themselves


def test_a_path_of_the_recipe_is_never_replaced(call: Call) -> None:
    recipe("assets: lists", "process:", "  - stopwords_filter: {stopwords_dir: /nowhere/lists}")
    lists_only()
    done = call("run", "r.yaml")
    assert done.code == 2 and "/nowhere/lists: No such file or directory" in done.err


def test_a_name_is_looked_for_as_a_path_first(call: Call) -> None:
    recipe("assets: lists", "process:", "  - stopwords_filter: {stopwords_dir: mine}")
    put("lists/mine/stopwords.json", '{"en": ["far"]}')
    assert "lists/mine (assets)" in call("assets", "r.yaml").out
    put("mine/stopwords.json", '{"en": ["near"]}')
    assert "mine: mine (the recipe)" in call("assets", "r.yaml").out.replace(f"{Path.cwd()}/", "")


def test_all_languages_and_one_that_the_list_lacks(call: Call) -> None:
    recipe("assets: lists", "process:", "  - stopwords_filter: {lang: all, min_ratio: 0}")
    lists_only()
    assert call("run", "r.yaml").code == 0
    recipe("assets: lists", "process:", "  - stopwords_filter: {lang: zh, min_ratio: 0}")
    assert "no stopwords for lang 'zh'" in call("run", "r.yaml").err


@pytest.mark.parametrize("folder", ["https://example.org/models", "''"])
def test_assets_are_local_folders(call: Call, folder: str) -> None:
    recipe(f"assets: [{folder}]", *LISTS)
    done = call("check", "r.yaml")
    assert "which is no folder" in done.err + done.out


def test_a_safe_recipe_names_no_folder_outside(call: Call) -> None:
    recipe("assets: /etc", *LISTS)
    assert "assets is '/etc', which is outside" in call("run", "r.yaml", "--safe").err
