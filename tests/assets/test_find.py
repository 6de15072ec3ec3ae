"""Places in which models and word lists are looked for, and the choice among several."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.assets.find import find
from refinery.assets.names import Need
from refinery.assets.sources import source_of

MODEL = Need("model", "en.sp.model", folder=False)
WORDS = Need("stopwords_dir", "*stopwords*.json", folder=True)
PYTHIA = Need("tokenizer", "EleutherAI/pythia-6.9b-deduped/tokenizer.json", folder=False)


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def hub_file(cache: Path, repository: str, file: str, revision: str = "c0ffee", main: bool = True) -> Path:
    """A file in a cache of the Hub, laid out as huggingface_hub does: a link to a blob."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    blob = put(folder / "blobs" / f"{revision}-{file.replace('/', '-')}", revision)
    link = folder / "snapshots" / revision / file
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)
    if main:
        put(folder / "refs" / "main", revision)
    return link


def test_every_place_is_looked_at_in_its_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFINERY_ASSETS", f"{home}/r1:{home}/r2")
    monkeypatch.setenv("DATA_JUICER_EXTERNAL_MODELS_HOME", f" {home}/e1 :: {home}/e2")
    last_first = [
        put(home / "refinery/assets/en.sp.model"),
        hub_file(home / ".cache/huggingface/hub", "edugp/kenlm", "wikipedia/en.sp.model"),
        put(home / ".cache/data_juicer/models/en.sp.model"),
        *(put(home / name / "en.sp.model") for name in ("e2", "e1", "r2", "r1", "own2", "own1")),
    ]
    own = (str(home / "own1"), str(home / "own2"))
    for wanted in reversed(last_first):
        path, looked = find(MODEL, own)
        assert path == str(wanted) and (looked[-1].folder in path)
        wanted.unlink()
    path, looked = find(MODEL, own)
    assert path is None
    names = ["assets", "assets", "REFINERY_ASSETS", "REFINERY_ASSETS", *["DATA_JUICER_EXTERNAL_MODELS_HOME"] * 2]
    names += ["the cache of Data-Juicer", "the cache of Hugging Face", "the cache of refinery"]
    assert [place.named_by for place in looked] == names


def test_word_lists_are_a_folder_that_holds_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home / "a/flagged_words.json")
    put(home / "b/my_stopwords.v2.json")
    put(home / ".cache/data_juicer/assets/stopwords.json")
    monkeypatch.setenv("REFINERY_ASSETS", f"{home}/a:{home}/b")
    assert find(WORDS)[0] == str(home / "b")
    monkeypatch.setenv("REFINERY_ASSETS", str(home / "a"))
    assert find(WORDS)[0] == str(home / ".cache/data_juicer/assets")
    monkeypatch.setenv("DATA_JUICER_ASSETS_CACHE", str(home / "other"))
    assert find(WORDS)[0] is None
    put(home / "other/stopwords.json")
    assert find(WORDS)[0] == str(home / "other")


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("DATA_JUICER_MODELS_CACHE", ""),
        ("DATA_JUICER_CACHE_HOME", "models"),
        ("CACHE_HOME", "data_juicer/models"),
    ],
)
def test_variables_move_the_cache_of_data_juicer(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    there = put(home / "moved" / folder / "en.sp.model")
    monkeypatch.setenv(variable, "~/moved")
    assert find(MODEL)[0] == str(there)


@pytest.mark.parametrize(
    ("variable", "folder"), [("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")]
)
def test_variables_move_the_cache_of_hugging_face(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    there = hub_file(home / "moved" / folder, "EleutherAI/pythia-6.9b-deduped", "tokenizer.json")
    monkeypatch.setenv(variable, str(home / "moved"))
    assert find(PYTHIA)[0] == str(there)


def test_the_revision_of_the_hub_is_the_one_of_main(home: Path) -> None:
    cache, name = home / ".cache/huggingface/hub", "EleutherAI/pythia-6.9b-deduped"
    one = hub_file(cache, name, "tokenizer.json", "aaaa", main=False)
    assert find(PYTHIA)[0] == str(one)  # the only one
    two = hub_file(cache, name, "tokenizer.json", "bbbb", main=False)
    assert find(PYTHIA)[0] is None  # none of two is the right one
    put(cache / f"models--{name.replace('/', '--')}/refs/main", "bbbb\n")
    assert find(PYTHIA)[0] == str(two)
    two.unlink()
    assert find(PYTHIA)[0] is None  # an older revision is not taken in its place


def test_a_model_of_the_hub_without_an_owner(home: Path) -> None:
    there = hub_file(home / ".cache/huggingface/hub", "gpt2", "tokenizer.json")
    assert find(Need("tokenizer", "gpt2/tokenizer.json", folder=False))[0] == str(there)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("lid.176.bin", "https://dl.fbaipublicfiles.com/fasttext/supervised-models/lid.176.bin"),
        ("zh.sp.model", "https://huggingface.co/edugp/kenlm/resolve/main/wikipedia/zh.sp.model"),
        ("de.arpa.bin", "https://huggingface.co/edugp/kenlm/resolve/main/wikipedia/de.arpa.bin"),
        (
            "EleutherAI/pythia-6.9b-deduped/tokenizer.json",
            "https://huggingface.co/EleutherAI/pythia-6.9b-deduped/resolve/main/tokenizer.json",
        ),
        ("gpt2/tokenizer.json", "https://huggingface.co/gpt2/resolve/main/tokenizer.json"),
    ],
)
def test_known_sources(home: Path, name: str, address: str) -> None:
    source = source_of(name)
    assert source is not None and source.address(name) == address and source.licence


@pytest.mark.parametrize("name", ["my/en.sp.model", "model.bin", "a/b/c/tokenizer.json", "tokenizer.json"])
def test_names_without_a_known_source(name: str) -> None:
    assert source_of(name) is None


def test_a_mirror_of_the_hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    source = source_of("en.sp.model")
    assert source is not None
    assert source.address("en.sp.model") == "https://mirror.example/edugp/kenlm/resolve/main/wikipedia/en.sp.model"
