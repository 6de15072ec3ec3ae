"""Each recipe of the cookbook gives what its text says, on the data that it names."""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pyarrow.parquet as pq
import pytest
import yaml

import refinery
from refinery.api import Run
from tests.conftest import ROOT
from tests.doc_blocks import Block, blocks_of
from tests.runs import lines_of, rows

PAGE = ROOT / "docs" / "cookbook.md"
BLOCKS = list(blocks_of(PAGE))
RECIPES: dict[str, Block] = {block.title.removeprefix("# "): block for block in BLOCKS if block.language == "yaml"}
Samples = list[dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled data and the files that the page shows."""
    folder = tmp_path_factory.mktemp("cookbook")
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    text = PAGE.read_text("utf-8")
    for name, content in re.findall(r"^`(\S+\.jsonl)`:\n\n```jsonl\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        (folder / name).write_text(content, "utf-8")
    return folder


@pytest.fixture(scope="module")
def samples(folder: Path) -> dict[str, dict[str, Any]]:
    """The readable samples of the bundled page data, by id."""
    path = folder / "recipes" / "data" / "web_sample.jsonl"
    run = refinery.run({"dataset_path": str(path), "export_path": str(folder / "all" / "kept.jsonl"), "process": []})
    return {sample["id"]: sample for sample in lines_of(Path(run.outputs[0]))}


@pytest.fixture
def cook(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Run]:
    """A function that runs the recipe of a name."""
    monkeypatch.chdir(folder)

    def run(name: str) -> Run:
        path = folder / f"{name}.yaml"
        path.write_text(RECIPES[name].text, "utf-8")
        found = refinery.run(path)
        assert found.counts.read == found.counts.kept + found.counts.removed + found.counts.quarantined
        assert 0 < found.counts.kept
        return found

    return run


def kept(run: Run) -> Samples:
    [path] = run.outputs
    return lines_of(Path(path))


def removed(run: Run) -> dict[str, list[int]]:
    """Rows by the reason of their removal."""
    found = defaultdict(list)
    for row, reason in rows(run, "ledger", "_row, reason"):
        found[reason].append(row)
    return found


Cook = Callable[[str], Run]
ById = Mapping[str, dict[str, Any]]


def test_names_are_those_of_the_exports() -> None:
    assert len(RECIPES) >= 20
    for name, block in RECIPES.items():
        path = yaml.safe_load(block.text)["export_path"]
        assert path.startswith(f"outputs/{name}/"), name
    tests = Path(__file__).read_text("utf-8")
    assert not [name for name in RECIPES if f'cook("{name}")' not in tests]


def test_one_page_for_each_url(cook: Cook) -> None:
    assert [sample["id"] for sample in kept(cook("one_page_for_each_url"))] == [2, 4]


def test_equal_texts(cook: Cook, samples: ById) -> None:
    run = cook("equal_texts")
    assert 0 < run.counts.removed < 100
    pairs = rows(run, "ledger", "_row, kept_instead")
    assert all(instead < row for row, instead in pairs)
    by_text = Counter(sample["text"].strip() for sample in kept(run))
    assert max(by_text.values()) == 1


def test_near_duplicates(cook: Cook) -> None:
    run = cook("near_duplicates")
    assert run.counts.removed > 0
    assert rows(run, "duplicates", "min(jaccard) >= 0.8") == [(True,)]


def test_shared_lines(cook: Cook, samples: ById) -> None:
    before = Counter(line.strip() for sample in samples.values() for line in {*sample["text"].split("\n")})
    common = {line for line, count in before.items() if count > 20 and len(line) > 5 and line.isalpha()}
    found = kept(cook("shared_lines"))
    assert not [sample["id"] for sample in found if common & {*map(str.strip, sample["text"].split("\n"))}]
    assert all(sample["text"].strip() for sample in found) and len(found) < len(samples)


def test_recurring_passages(cook: Cook, samples: ById) -> None:
    run = cook("recurring_passages")
    assert rows(run, "duplicates", "count(DISTINCT _row), round(sum(length) / 1000)") == [(316, 235)]
    assert {reason: len(gone) for reason, gone in removed(run).items()} == {"nothing is left of the text": 12}
    assert "copy in row 9" in str(run.why(30)) and len(samples) == 512
    known, found = set[bytes](), 0
    for text in (sample["text"].encode() for sample in samples.values()):
        own = [text[at : at + 100] for at in range(len(text) - 99)]
        repeated = [at for at, window in enumerate(own) if window in known or known.add(window)]
        found += len({place for at in repeated for place in range(at, at + 100)})
    assert rows(run, "duplicates", "sum(length)") == [(found,)]


def test_repeated_lines(cook: Cook, samples: ById) -> None:
    found = kept(cook("repeated_lines"))
    assert len(found) == len(samples)
    for sample in found:
        lines = [line.strip().lower() for line in sample["text"].split("\n") if line.strip()]
        assert len(lines) == len(set(lines)), sample["id"]
    assert sum(sample["text"] != samples[sample["id"]]["text"] for sample in found) > 10


def test_fineweb_filters(cook: Cook) -> None:
    found = removed(cook("fineweb_filters"))
    assert {reason.partition("_")[0] for reason in found} & {"gopher", "line", "top", "duplicated", "dup"}
    assert len(found) >= 5


def test_without_evaluation_items(cook: Cook) -> None:
    run = cook("without_evaluation_items")
    assert removed(run) == {"contaminated": [0]} and run.counts.kept == 1
    assert rows(run, "contamination", "evaluation_set, item", "score >= 1") == [("quiz", "q2")]


def test_sql_condition(cook: Cook, samples: ById) -> None:
    run = cook("sql_condition")
    found = {sample["id"] for sample in kept(run)}
    for id, sample in samples.items():
        fits = (sample.get("score") or 0) >= 0.5 and sample["meta"]["fetch"]["status"] == 200
        if id in found or len(re.findall(r"\b[a-z]{2,}\b", sample["text"])) > 40:
            assert fits is (id in found), id
    terms = ("score >= 0.5", "meta.fetch.status = 200", "num_words > 20")
    assert all(any(reason.endswith(term) for reason in removed(run)) for term in terms)


def test_share_of_digits(cook: Cook, samples: ById) -> None:
    found = {sample["id"] for sample in kept(cook("share_of_digits"))}
    shares = {
        id: sum(letter in "0123456789" for letter in sample["text"]) / max(1, len(sample["text"]))
        for id, sample in samples.items()
    }
    assert found == {id for id, share in shares.items() if share <= 0.1} and len(found) < len(samples)


def test_lengths_by_language(cook: Cook, samples: ById) -> None:
    found = kept(cook("lengths_by_language"))
    short = [sample for sample in found if len(sample["text"]) < 500 or len(sample["text"].split()) < 80]
    assert short and {sample["lang"] for sample in short} == {"zh", "ja"}
    assert all(len(sample["text"]) >= 200 for sample in short)
    assert {sample["lang"] for sample in found} == {sample["lang"] for sample in samples.values()}


def test_listed_words(cook: Cook, samples: ById, folder: Path) -> None:
    [words] = [block.text for block in BLOCKS if block.language == "json"]
    (folder / "lists").mkdir(exist_ok=True)
    (folder / "lists" / "flagged_words.json").write_text(words, "utf-8")
    gone = samples.keys() - {sample["id"] for sample in kept(cook("listed_words"))}
    assert gone and all(re.search("newsletter|sponsored", samples[id]["text"].lower()) for id in gone)


def test_unwanted_addresses(cook: Cook, samples: ById) -> None:
    run = cook("unwanted_addresses")
    addresses = [sample["url"] for sample in kept(run) if sample.get("url")]
    assert not [url for url in addresses if urlsplit(url).hostname == "harbour.example.org"]
    assert not [url for url in addresses if "socket" in re.split("[^a-zA-Z0-9]+", url)]
    assert set(removed(run)) >= {"hard_blacklisted"}


def test_broken_encodings(cook: Cook) -> None:
    run = cook("broken_encodings")
    assert [sample["text"] for sample in kept(run)] == [
        'The café on the corner "Soleil"',
        "Nothing to repair here, naïve as it is.",
    ]
    assert len(rows(run, "trace")) == 1


def test_personal_data(cook: Cook, samples: ById) -> None:
    found = kept(cook("personal_data"))
    mail = re.compile(r"[a-z0-9_.+-]+@[a-z0-9-]+\.[a-z]+", re.I)
    addresses = {match for sample in found for match in mail.findall(sample["text"])}
    assert addresses == {"email@example.com", "firstname.lastname@example.org"}
    phone = re.compile(r"\+\d[\d ()-]{7,}\d")
    assert any(phone.search(sample["text"]) for sample in samples.values())
    assert not [sample["id"] for sample in found if phone.search(sample["text"])]


def test_warc_to_parquet(cook: Cook) -> None:
    run = cook("warc_to_parquet")
    table = pq.read_table(run.outputs[0])
    assert table.column_names == ["id", "url", "date", "title", "text"] and len(table) == run.counts.kept > 50
    assert all(text and "<p>" not in text for text in table["text"].to_pylist())


def test_papers(cook: Cook) -> None:
    found = kept(cook("papers"))
    assert not [sample["id"] for sample in found if re.search(r"\\bibliography\{|^% ", sample["text"], re.MULTILINE)]
    assert all(len(sample["text"]) >= 200 for sample in found)


def test_free_code(cook: Cook) -> None:
    run = cook("free_code")
    assert [(sample["path"], sample["text"].strip()) for sample in kept(run)] == [("a.py", "print('a')")]
    assert run.counts.removed == 2


def test_a_tenth(cook: Cook, samples: ById) -> None:
    found = len(kept(cook("a_tenth")))
    assert 0.05 * len(samples) < found < 0.16 * len(samples)


def test_german_only(cook: Cook, samples: ById) -> None:
    found = [sample["id"] for sample in kept(cook("german_only"))]
    assert found == [id for id, sample in samples.items() if sample["lang"] == "de"]


def test_cap_for_each_host(cook: Cook, samples: ById) -> None:
    def hosts(of: Any) -> Counter[str]:
        return Counter(urlsplit(sample["url"]).netloc for sample in of if sample.get("url"))

    found, before = hosts(kept(cook("cap_for_each_host"))), hosts(samples.values())
    assert found.keys() == before.keys() and max(before.values()) > 90
    assert all(10 < found[host] <= 20 for host, count in before.items() if count > 60)


def test_shares_of_sources(cook: Cook, samples: ById) -> None:
    before = Counter(sample.get("source") for sample in samples.values())
    after = Counter(sample.get("source") for sample in kept(cook("shares_of_sources")))
    assert after["news"] == 2 * before["news"]
    assert before["wiki"] < after["wiki"] < 1.6 * before["wiki"]
    assert 0.3 * before["crawl-a"] < after["crawl-a"] < 0.7 * before["crawl-a"]
    assert after["docs"] + after["crawl-b"] < 0.25 * (before["docs"] + before["crawl-b"])


def test_two_corpora(cook: Cook) -> None:
    run = cook("two_corpora")
    papers = {sample.get("id") for sample in lines_of(ROOT / "recipes" / "data" / "papers_sample.jsonl")}
    ids = [sample.get("id") for sample in kept(run)]
    assert run.counts.read == 80
    assert sum(id in papers for id in ids) <= 20 < len(ids)


def test_chats(cook: Cook) -> None:
    [chat] = kept(cook("chats"))
    assert chat.keys() == {"id", "messages"} and chat["id"] == 1 and len(chat["messages"]) == 2


def test_joined_tables(cook: Cook, folder: Path) -> None:
    (folder / "corpus.duckdb").unlink(missing_ok=True)
    [script] = [block.text for block in BLOCKS if block.language == "sql"]
    with duckdb.connect(str(folder / "corpus.duckdb")) as con:
        con.execute(script)
    table = pq.read_table(cook("joined_tables").outputs[0])
    assert Counter(table["access"].to_pylist()) == {"paid": 10, "free": 20}


def test_folders_by_language(cook: Cook, samples: ById) -> None:
    run = cook("folders_by_language")
    names = {Path(path).parent.name for path in run.outputs}
    assert names == {f"lang={sample['lang']}" for sample in samples.values()}
    assert all(str(path).endswith(".jsonl.zst") for path in run.outputs)
    assert len(run.to_arrow()) == run.counts.kept


def test_hashed_ids(cook: Cook, samples: ById) -> None:
    found = kept(cook("hashed_ids"))
    assert {tuple(sample) for sample in found} == {("id", "text")}
    ids = {sample["id"] for sample in found}
    assert len(ids) == len(samples) and not ids & samples.keys() and all(id.isdecimal() for id in ids)


def test_with_removed(cook: Cook, folder: Path) -> None:
    run = cook("with_removed")
    files = list((folder / "outputs" / "with_removed" / "removed").rglob("*.jsonl"))
    assert sum(len(lines_of(path)) for path in files) == run.counts.removed
    assert len(files) == len(removed(run)) >= 2
