"""`refinery signatures`: a corpus goes to datatrove's files and comes back as an index."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call
from tests.runs import lines_of, write_lines

STEP = (
    "document_minhash_deduplicator: {normalize: datatrove, tokenization: english, hash: datatrove, "
    "num_buckets: 6, hashes_per_bucket: 4%s}"
)


def words(number: int) -> str:
    """Forty words of each number's own, without digits, which datatrove takes for one number."""
    return " ".join(f"{chr(97 + number)}word{chr(97 + i % 26)}{'xy'[i // 26]}" for i in range(40))


def recipe(name: str, data: list[str | None], more: str = "", first: str = "") -> Path:
    """Write a recipe and its samples."""
    write_lines(Path(f"{name}.jsonl"), [{"id": i, "text": text} for i, text in enumerate(data)])
    steps = "".join(f"  - {step}\n" for step in (first, STEP % more) if step)
    path = Path(f"{name}.yaml")
    path.write_text(f"dataset_path: {name}.jsonl\nexport_path: {name}/kept.jsonl\nnp: 1\nprocess:\n{steps}")
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


OLD = [words(0), "", words(1), words(0), "too short", words(2)]


def test_signatures_of_a_run_become_the_index_of_another(call: Call) -> None:
    assert call("run", recipe("old", OLD, ", index: seen")).code == 0
    done = call("signatures", "write", "old", "sig")
    assert (done.code, done.lines[0].split(",")[0]) == (0, "sig has 3 signatures of 4 documents in 1 ranks")
    assert 'hash_fc="xxhash"' in done.out
    new = recipe("new", [words(3), words(2), words(0) + " more", "too short"], ", index: imported")
    assert json.loads(call("signatures", "read", new, "sig", "--json").out)["documents"] == 3
    own, read = (pq.read_table(next(Path(name).glob("marks-*.parquet"))) for name in ("seen", "imported"))
    assert own.drop(["_row"]).equals(read.drop(["_row"]))  # as if the run itself had extended this index
    assert call("run", new).code == 0
    assert [sample["id"] for sample in lines_of(Path("new/kept.jsonl"))] == [0, 3]


def test_signatures_that_are_read_twice_count_once(call: Call) -> None:
    assert call("run", recipe("old", OLD)).code == 0
    assert call("signatures", "write", "old", "sig").code == 0
    new = recipe("new", [words(3)], ", index: imported")
    assert not json.loads(call("signatures", "read", new, "sig", "--json").out)["replaced"]
    assert json.loads(call("signatures", "read", new, "sig", "--json").out)["replaced"]
    assert len(json.loads(Path("imported/index.json").read_text())["generations"]) == 1


def test_several_exported_files_are_ranks_in_the_order_of_their_names(call: Call) -> None:
    path = recipe("old", [words(i) for i in range(9)])
    assert call("run", path, "--export_shard_size", "700").code == 0
    done = json.loads(call("signatures", "write", "old", "sig", "--json").out)
    assert done["ranks"] == sorted(done["ranks"]) and len(done["ranks"]) > 1
    counts = [len(lines_of(Path(name))) for name in done["ranks"]]
    sizes = [Path(f"sig/bucket_005/{rank:05d}.minhash.sig").stat().st_size for rank in range(len(counts))]
    assert sizes == [count * (4 * 8 + 4) for count in counts]


def test_nothing_is_overwritten(call: Call) -> None:
    assert call("run", recipe("old", OLD)).code == 0
    Path("sig").mkdir()
    Path("sig/mine.txt").touch()
    done = call("signatures", "write", "old", "sig")
    assert done.code == 6 and "something here already" in done.err
    assert [path.name for path in Path("sig").iterdir()] == ["mine.txt"]


def test_a_changed_export_has_no_signatures(call: Call) -> None:
    assert call("run", recipe("old", OLD)).code == 0
    with Path("old/kept.jsonl").open("a") as file:
        file.write('{"text": "another"}\n')
    done = call("signatures", "write", "old", "sig")
    assert done.code == 3 and "has changed since this run wrote it" in done.err
    assert not Path("sig").exists()


def test_a_step_without_datatroves_hash_is_refused(call: Call) -> None:
    Path("in.jsonl").write_text('{"text": "a"}\n')
    text = "dataset_path: in.jsonl\nexport_path: run/kept.jsonl\nprocess:\n  - document_minhash_deduplicator\n"
    Path("r.yaml").write_text(text)
    done = call("signatures", "read", "r.yaml", "sig")
    assert done.code == 3 and "no step has hash: datatrove" in done.err


def test_signatures_of_other_parameters_are_refused(call: Call) -> None:
    assert call("run", recipe("old", OLD)).code == 0
    assert call("signatures", "write", "old", "sig").code == 0
    new = recipe("new", [words(3)], ", precision: 32, index: imported")
    done = call("signatures", "read", new, "sig")
    assert done.code == 3 and "Set hashes_per_bucket and precision" in done.err
    assert not Path("imported").exists()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("{hash: datatrove}", "set normalize: datatrove"),
        ("{seed: 3}", "seed is for hash: datatrove"),
        ("{hash: datatrove, normalize: datatrove, tokenization: word, precision: 16}", "set it to 32 or 64"),
        ("{hash: datatrove, normalize: datatrove, tokenization: word, short: compare}", "set short: keep"),
        ("{hash: data_juicer, tokenization: english}", "Data-Juicer has no tokenization: english"),
    ],
)
def test_parameters_that_datatrove_does_not_have_are_refused(call: Call, params: str, message: str) -> None:
    Path("in.jsonl").write_text('{"text": "a"}\n')
    step = f"  - document_minhash_deduplicator: {params}\n"
    Path("r.yaml").write_text(f"dataset_path: in.jsonl\nexport_path: run/kept.jsonl\nprocess:\n{step}")
    done = call("check", "r.yaml")
    assert done.code == 2 and message in " ".join(done.err.split())
