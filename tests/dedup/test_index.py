"""An index remembers the samples of earlier runs: what they had is removed from later ones, and nothing is lost or doubled."""

from __future__ import annotations

import json
import random
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.api import Run
from refinery.dedup import index as indexes
from refinery.dedup import index_place
from refinery.errors import ConservationError, OperatorError, OutputError, RecipeError
from refinery.execution import publish
from refinery.results import database
from tests.runs import exported, lines_of, refine, rows, settings, texts, write_lines


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def remembered(folder: Path) -> list[tuple[Any, ...]]:
    """Rows of all generations that the index lists, under their generation's number."""
    listed = json.loads((folder / "index.json").read_text())["generations"]
    found: list[tuple[Any, ...]] = []
    for number, item in enumerate(listed):
        rows = duckdb.sql(f"SELECT {number}, * FROM read_parquet('{folder / item['file']}') ORDER BY _row").fetchall()
        found += rows
    return found


def words(number: int, changed: int | None = None) -> str:
    """A text of its own for each number; changed: one word is another."""
    dice = random.Random(number)
    found = [f"w{dice.randrange(10**6)}" for _ in range(50)]
    if changed is not None:
        found[changed] = "other"
    return " ".join(found)


MINHASH: dict[str, Any] = {"num_permutations": 64, "num_bands": 16, "num_rows_per_band": 4, "window_size": 2}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "keys": ("document_deduplicator", {}),
    "expression": ("key_deduplicator", {"key": "text", "keep": "id desc"}),
    "simhash": ("document_simhash_deduplicator", {"window_size": 1, "num_blocks": 12, "hamming_distance": 9}),
    "bands": ("document_minhash_deduplicator", MINHASH),
    "bands, verified": ("document_minhash_deduplicator", {**MINHASH, "verify": True, "jaccard_threshold": 0.6}),
}


# Other tests, and another kind, cover these.
COVERED = ("keys", "expression", "simhash", "bands")
kinds = [
    pytest.param(*value, id=kind, marks=pytest.mark.long if kind in COVERED else ()) for kind, value in KINDS.items()
]


@pytest.mark.parametrize(("name", "params"), kinds)
def test_later_runs_know_what_earlier_ones_kept(tmp_path: Path, name: str, params: dict[str, Any]) -> None:
    """Three runs: the second has some of the first, the third repeats the second."""
    near = "bands" in str(params) or "hamming" in str(params)
    folder = tmp_path / "an [index]" / "of *"
    steps: list[Any] = [{"text_length_filter": {"min_len": 5}}, {name: {**params, "index": str(folder)}}]
    keys: dict[str, Any] = {"shard_size": 800, "np": 2, "project_name": "mine"}
    first = ["no", words(0), words(1), words(0), words(2)]
    second = [words(1, 7 if near else None), words(3), words(3, 9 if near else None), words(2), "no", words(4)]

    one = refine(tmp_path / "1", texts(first), steps, **keys, open_tracer=True)
    last = "keep" in params  # of the run's own duplicates the last one stays
    assert [row["id"] for row in exported(one)] == ([2, 3, 4] if last else [1, 2, 4])
    assert rows(one, "duplicates", "DISTINCT kept_in_index") == [(None,)]
    kept = [1, 2, 4] if not last else [2, 3, 4]
    assert [row[:2] for row in remembered(folder)] == [(0, row) for row in kept]

    two = refine(tmp_path / "2", texts(second), steps, **keys, open_tracer=True)
    stays, goes = (2, 1) if last else (1, 2)
    assert [row["id"] for row in exported(two)] == sorted([stays, 5])
    run_id = one.sql("SELECT run_id FROM runs").fetchall()[0][0]
    found = {row: others for row, *others in rows(two, "duplicates", "_row, kept, via, kept_in_index")}
    assert found == {
        0: [None, None, f"mine {run_id} row 2"],
        goes: [stays, stays, None],
        3: [None, None, f"mine {run_id} row 4"],
    }
    ledger = {row: others for row, *others in rows(two, "ledger", "_row, reason, kept_instead", "step = 2")}
    assert ledger[0] == [f"duplicate of mine {run_id} row 2", None] and ledger[goes] == [
        f"duplicate of row {stays}",
        stays,
    ]
    assert rows(two, "clusters", "_row, survivor, size") == [
        (0, False, 2), (3, False, 2), *sorted([(stays, True, 2), (goes, False, 2)])
    ]  # fmt: skip
    [path] = (two.work_dir / "trace").glob("duplicate-*")
    traced = [json.loads(line) for line in path.read_text().splitlines()]
    assert [pair["dup1"] for pair in traced] == [second[stays] if row == goes else None for row in sorted(found)]
    after = remembered(folder)
    assert [row[:2] for row in after] == [(0, row) for row in kept] + [(1, stays), (1, 5)]

    before = files(folder)
    three = refine(tmp_path / "3", texts(second), steps, **keys)
    assert exported(three) == [] and three.counts.removed == len(second)
    names = {found for (found,) in rows(three, "duplicates", "kept_in_index")}
    last_id = two.sql("SELECT run_id FROM runs").fetchall()[0][0]
    assert {name.partition(" row ")[0] for name in names} == {f"mine {run_id}", f"mine {last_id}"}
    assert files(folder) == before  # there was nothing to add


def test_the_order_of_an_earlier_run_does_not_count(tmp_path: Path) -> None:
    """By which samples were preferred may be of any type, and is no part of the index."""

    def keyed(keep: str) -> Any:
        return [{"key_deduplicator": {"key": "text", "keep": keep, "index": str(tmp_path / "index")}}]

    refine(tmp_path / "1", [{"text": "a", "n": 1}, {"text": "a", "n": 2}], keyed("text desc, n"))
    run = refine(tmp_path, [{"text": "b", "n": 9}, {"text": "b", "n": 10}, {"text": "a", "n": 99}], keyed("n desc"))
    assert [(row["text"], row["n"]) for row in exported(run)] == [("b", 10)]


def test_another_name_of_the_operator_is_the_same_index(tmp_path: Path) -> None:
    refine(tmp_path / "1", texts(["a", "b"]), [{"document_deduplicator": {"index": str(tmp_path / "index")}}])
    step = {"ray_document_deduplicator": {"index": str(tmp_path / "index"), "backend": "redis", "max_cluster_size": 5}}
    assert [row["text"] for row in exported(refine(tmp_path, texts(["c", "b"]), [step]))] == ["c"]


# What is no such index


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    params = {"index": str(folder / "index"), "lowercase": True}
    refine(folder, texts(["a", "b"]), [{"document_deduplicator": params}])
    return folder / "index"


@pytest.fixture
def known(made: Path, tmp_path: Path) -> Path:
    """A copy of an index with the samples a and b."""
    return Path(shutil.copytree(made, tmp_path / "index"))


OTHER: list[tuple[dict[str, Any], str]] = [
    ({"document_deduplicator": {"ignore_non_character": True}}, "ignore_non_character, lowercase"),
    ({"document_simhash_deduplicator": None}, "operator"),
    ({"key_deduplicator": {"key": "text"}}, "key, lowercase, operator"),
]


def test_an_index_of_another_kind_is_refused(known: Path, tmp_path: Path) -> None:
    before = files(known)
    for step, what in OTHER:
        [(name, params)] = step.items()
        again = {name: {**(params or {}), "index": str(known)}}
        with pytest.raises(OperatorError) as caught:
            refine(tmp_path / "other", texts(["a"]), [again])
        said = re.search(
            r"was made with other ([a-z_, ]+)\. Use the same parameters, or another folder", str(caught.value)
        )
        assert said and set(what.split(", ")) <= set(said[1].split(", "))
        assert str(caught.value).startswith(f"recipe, step 1: {name}: index {known} ")
    assert files(known) == before and not (tmp_path / "other" / "run" / "out.jsonl").exists()


def test_match_keys_that_have_changed_are_refused(known: Path, tmp_path: Path) -> None:
    [marks] = known.glob("marks-*")
    data = bytearray(marks.read_bytes())
    data[len(data) // 3] ^= 1
    marks.write_bytes(data)
    before = files(known)
    with pytest.raises(OperatorError, match="marks-.* has other contents than run .* has written. Bring it back"):
        refine(tmp_path, texts(["b", "c"]), step(known))
    assert files(known) == before and not (tmp_path / "out.jsonl").exists()
    listed = json.loads((known / "index.json").read_text())
    for item in listed["generations"]:
        assert (item.pop("size"), len(item.pop("digest"))) == (len(data), 32)
    data[len(data) // 3] ^= 1
    marks.write_bytes(data)
    (known / "index.json").write_text(json.dumps(listed))  # as earlier versions have written it
    assert [row["text"] for row in exported(refine(tmp_path, texts(["b", "c"]), step(known)))] == ["c"]


def test_an_index_knows_the_hash_functions_that_apply(tmp_path: Path) -> None:
    """An index made when others were the default is not mixed with match keys of the present ones."""
    step = "document_minhash_deduplicator"

    def add(index: str, **params: Any) -> None:
        refine(tmp_path / "run", texts(["a b c d e f"]), [{step: {**params, "index": str(tmp_path / index)}}])

    add("fast", hash="fast")
    with pytest.raises(OperatorError, match="was made with other hash"):
        add("fast")
    add("plain")
    add("plain", hash="data_juicer")
    add("words", tokenization="word", window_size=2)
    add("words", tokenization="word", window_size=2, hash="fast")


def test_an_index_with_digests_of_an_earlier_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "side.csv").write_text("k\n1\n")
    key = f"text || (SELECT max(k) FROM '{tmp_path}/side.csv')"
    steps: list[Any] = [{"key_deduplicator": {"key": key, "index": str(tmp_path / "index")}}]
    refine(tmp_path / "1", texts(["a", "b"]), steps)
    listed = tmp_path / "index" / "index.json"
    plain = json.loads(listed.read_text())
    assert plain["made_by"].pop("digests") == "xxh3_128"
    listed.write_text(json.dumps(plain))
    with pytest.raises(OperatorError, match="was made by an earlier version of refinery, which had other digests"):
        refine(tmp_path / "2", texts(["b", "c"]), steps)


def test_an_index_of_other_files_beside_the_samples_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that the key's SQL reads are part of the index's identity, as the key itself is."""
    monkeypatch.chdir(tmp_path)
    side = tmp_path / "side.csv"
    side.write_text("k\n1\n")
    key = f"text || (SELECT max(k) FROM '{side}')"
    steps: list[Any] = [{"key_deduplicator": {"key": key, "index": str(tmp_path / "index")}}]
    refine(tmp_path / "1", texts(["a", "b"]), steps)
    assert refine(tmp_path / "2", texts(["b", "c"]), steps).counts.removed == 1
    side.write_text("k\n2\n")
    with pytest.raises(OperatorError, match=r"was made with other content of key\."):
        refine(tmp_path / "3", texts(["b", "c"]), steps)


_BY_LIST = '''"""Keys for one test."""

from pathlib import Path

from refinery.kernels.core.arrow import each

OPERATOR = {
    "doc": "Keys for one test.",
    "version": 1,
    "match": "keys",
    "sql": "SELECT keyed({{ text }}) AS key",
    "functions": {"keyed": {"columns": ["VARCHAR"], "returns": "VARCHAR"}},
    "resources": {"files": ["words.txt"]},
}


def keyed(column):
    return each(column, lambda text: text + (Path(__file__).parent / "words.txt").read_text())
'''


def test_an_index_of_another_declared_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the operator declares decides what is compared; it is looked for beside the operator."""
    operator = tmp_path / "ops" / "deduplicators" / "listed_deduplicator.py"
    operator.parent.mkdir(parents=True)
    operator.with_name("words.txt").write_text("one")
    operator.write_text(_BY_LIST)
    (tmp_path / "words.txt").write_text("of nobody")
    monkeypatch.chdir(tmp_path)
    steps: list[Any] = [{"listed_deduplicator": {"index": str(tmp_path / "index")}}]
    keys = {"operators": ["ops"]}
    refine(tmp_path / "1", texts(["a", "b"]), steps, **keys)
    (tmp_path / "words.txt").write_text("of nobody, changed")
    assert refine(tmp_path / "2", texts(["b", "c"]), steps, **keys).counts.removed == 1
    operator.with_name("words.txt").write_text("two")
    with pytest.raises(OperatorError, match="was made with other code"):
        refine(tmp_path / "3", texts(["b", "c"]), steps, **keys)


@pytest.mark.parametrize("place", ["a link", "a link/below", "a file/below", "a" * 300])
def test_an_index_that_cannot_be_made_is_refused_before_the_run(tmp_path: Path, place: str) -> None:
    (tmp_path / "a link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "a file").write_text("x")
    with pytest.raises(OperatorError, match="document_deduplicator: index .* cannot be used: "):
        refine(tmp_path / "1", texts(["a"]), [{"document_deduplicator": {"index": str(tmp_path / place)}}])
    assert not list((tmp_path / "1").rglob("*.done.json"))


def test_a_folder_that_holds_something_else_is_refused(known: Path, tmp_path: Path) -> None:
    def attempt(path: Path, message: str) -> None:
        step = {"document_deduplicator": {"index": str(path), "lowercase": True}}
        with pytest.raises(OperatorError, match=message):
            refine(tmp_path, texts(["a"]), [step])

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    attempt(tmp_path / "mine", "neither an index nor an empty folder")
    attempt(tmp_path / "mine" / "notes.txt", "neither an index nor an empty folder")
    outside = json.dumps({"file": "../marks-1.parquet", "run_id": "1", "project": "mine"})
    lists = ('{"made_by": 1, "generations": [3]}', '{"made_by": {}, "generations": [{}]}')
    for text in ("", "{", "[]", "{}", *lists, f'{{"made_by": {{}}, "generations": [{outside}]}}'):
        (tmp_path / "strange").mkdir(exist_ok=True)
        (tmp_path / "strange" / "index.json").write_text(text)
        attempt(tmp_path / "strange", "index.json is not the list of an index")
    [marks] = known.glob("marks-*")
    marks.rename(tmp_path / "elsewhere")
    attempt(known, f"has lost {marks.name}")


def test_an_index_belongs_to_one_step(tmp_path: Path) -> None:
    steps = [{"document_deduplicator": {"index": str(tmp_path / name)}} for name in ("a", "b", "./a")]
    with pytest.raises(RecipeError, match="recipe, step 3: .*of step 1 have the same index"):
        refine(tmp_path, texts(["a"]), steps)
    assert refine(tmp_path, texts(["a", "a"]), steps[:2]).counts.kept == 1
    assert [len(remembered(tmp_path / name)) for name in "ab"] == [1, 1]


# Runs that fail, or run at once


def step(folder: Path) -> list[Any]:
    return [{"document_deduplicator": {"index": str(folder), "lowercase": True}}]


def test_a_run_that_fails_leaves_the_index_as_it_was(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(known)
    write_lines(tmp_path / "in.jsonl", texts(["b", "c", "c", "d"]))

    def fails(steps: list[Any], error: type[Exception]) -> None:
        with pytest.raises(error):
            refinery.run(settings(tmp_path, steps))
        assert files(known) == before

    # In the deduplicator, in one after it, and when all is done but the tables.
    fails([{"document_deduplicator": {"index": str(known), "lowercase": True, "max_cluster_size": 1}}], OperatorError)
    fails([*step(known), {"key_deduplicator": {"key": "1", "max_cluster_size": 1}}], OperatorError)
    with monkeypatch.context() as patch:
        real = database.check
        patch.setattr(database, "check", lambda *given: (real(*given), _lost())[0])
        fails(step(known), ConservationError)
    with monkeypatch.context() as patch:
        patch.setattr(publish, "_export", _full)
        fails(step(known), OutputError)
    run = refinery.run(settings(tmp_path, step(known)))
    assert [row["text"] for row in exported(run)] == ["c", "d"] and len(remembered(known)) == 4


def _lost() -> None:
    raise ConservationError("rows do not add up")


def _full(*_: Any) -> Any:
    raise OSError(28, "No space left on device")


def test_an_extension_that_is_cut_off_never_was(known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = remembered(known)
    replaced = index_place.os.replace

    def cut_off(source: Any, target: Any) -> None:
        if str(target).endswith("index.json"):
            raise OSError(5, "Input/output error")
        replaced(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(index_place.os, "replace", cut_off)
        with pytest.raises(OutputError, match="the index cannot be extended: Input/output error"):
            with indexes.extending([(_opened(known), next(known.glob("marks-*")))]) as publish:
                publish("run", "project")
    assert len(list(known.glob("marks-*"))) == 2 and remembered(known) == before
    run = refine(tmp_path, texts(["a", "c"]), step(known))
    assert [row["text"] for row in exported(run)] == ["c"] and len(remembered(known)) == 3
    # So it is in a folder where nothing is listed yet.
    with monkeypatch.context() as patch:
        patch.setattr(index_place.os, "replace", cut_off)
        with pytest.raises(OutputError, match="the index cannot be extended: Input/output error"):
            refine(tmp_path / "new", texts(["a", "c"]), step(tmp_path / "new index"))
    assert refine(tmp_path / "new", texts(["a", "c"]), step(tmp_path / "new index")).counts.kept == 2


def _opened(folder: Path) -> Any:
    listed = json.loads((folder / "index.json").read_text())
    return indexes.Index(index_place.IndexFolder(str(folder)), listed["made_by"], tuple(listed["generations"]))


def test_of_two_runs_at_once_the_second_is_reported(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run fails before it publishes anything, and succeeds when it is run again."""
    refine(tmp_path, texts(["a", "b"]), [{"text_length_filter": {"min_len": 1}}])  # an earlier export in its place
    real, other = indexes.extend, []

    def meanwhile(*given: Any) -> Any:
        if not other:
            other.append(None)
            other.append(refine(tmp_path / "other", texts(["c"]), step(known)))
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(indexes, "extend", meanwhile)
        with pytest.raises(OutputError, match="another run has extended the index meanwhile; run this one again"):
            refine(tmp_path, texts(["c", "d"]), step(known))
    assert isinstance(other[1], Run) and len(remembered(known)) == 3
    assert [row["text"] for row in lines_of(tmp_path / "run" / "out.jsonl")] == ["a", "b"]
    again = refine(tmp_path, texts(["c", "d"]), step(known))
    assert [row["text"] for row in exported(again)] == ["d"] and len(remembered(known)) == 4


def test_a_run_that_is_repeated_does_not_meet_itself(known: Path, tmp_path: Path) -> None:
    """It is compared with what others have added, and takes the place of what it has added before."""
    write_lines(tmp_path / "new" / "in.jsonl", texts(["b", "c", "d", "E"]))
    recipe = settings(tmp_path / "new", step(known), open_tracer=True)
    first = refinery.run(recipe)
    samples, duplicates = exported(first), first.sql("FROM duplicates").fetchall()
    assert [row["text"] for row in samples] == ["c", "d", "E"]
    refine(tmp_path / "other", texts(["d", "e", "f"]), step(known))
    count, marks = len(files(known)), remembered(known)
    again = refinery.run(recipe)
    assert exported(again) == samples and again.sql("FROM duplicates").fetchall() == duplicates
    assert remembered(known) == marks and len(files(known)) == count
    # With another recipe other samples stay, and those are what is remembered.
    shorter = [{"sql_filter": {"where": "text <> 'c'"}}, *step(known)]
    assert [row["text"] for row in exported(refinery.run({**recipe, "process": shorter}))] == ["d", "E"]
    assert [row[0] for row in remembered(known)] == [0, 0, 1, 1, 2]
    # The same files for another place are another run.
    assert refinery.run({**recipe, "export_path": str(tmp_path / "else.jsonl")}).counts.kept == 1


def test_a_run_that_is_cut_off_between_two_indexes_does_the_rest(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(tmp_path / "new" / "in.jsonl", texts(["b", "c", "c"]))
    second = tmp_path / "second"
    recipe = settings(tmp_path / "new", [*step(known), {"key_deduplicator": {"key": "text", "index": str(second)}}])
    real = indexes._list

    def cut_off(index: Any, *given: Any) -> None:
        if index.place.key == str(second):
            raise KeyboardInterrupt
        real(index, *given)

    with monkeypatch.context() as patch:
        patch.setattr(indexes, "_list", cut_off)
        with pytest.raises(KeyboardInterrupt):
            refinery.run(recipe)
    assert len(remembered(known)) == 3 and files(second) == {}
    assert [row["text"] for row in exported(refinery.run(recipe))] == ["c"]
    assert len(remembered(known)) == 3 and len(remembered(second)) == 1


def test_nothing_is_published_where_an_index_cannot_be_written(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two indexes the second has no room left: neither is extended."""
    real, calls, before = index_place.shutil.copyfile, [], files(known)

    def full(source: Any, target: Any) -> Any:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(source, target)

    steps = [*step(known), {"key_deduplicator": {"key": "text", "index": str(tmp_path / "second")}}]
    with monkeypatch.context() as patch:
        patch.setattr(index_place.shutil, "copyfile", full)
        with pytest.raises(OutputError, match="second: the index cannot be extended: No space left on device"):
            refine(tmp_path / "new", texts(["c"]), steps)
    assert files(known) == before and files(tmp_path / "second") == {}
    assert not [name for name in ("out.jsonl", "refinery.duckdb") if (tmp_path / "new" / "run" / name).exists()]
    assert exported(refine(tmp_path / "new", texts(["c"]), steps)) == texts(["c"])
    assert len(remembered(known)) == 3 and len(remembered(tmp_path / "second")) == 1


def test_runs_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """Two runs with the same two indexes: one may fail, none waits for ever."""
    one, two = (str(tmp_path / name) for name in ("one", "two"))
    said: list[str] = []

    def run(name: str, folders: tuple[str, str]) -> None:
        steps = [
            {"document_deduplicator": {"index": folders[0]}},
            {"key_deduplicator": {"key": "text", "index": folders[1]}},
        ]
        try:
            refine(tmp_path / name, texts([f"{name} {k}" for k in range(50)]), steps)
        except OutputError as error:
            said.append(str(error))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, ("a", "b"), ((one, two), (one, two))))
    listed = [len(json.loads((tmp_path / name / "index.json").read_text())["generations"]) for name in ("one", "two")]
    assert listed == [2 - len(said)] * 2 and all("run this one again" in message for message in said)


def test_nothing_to_remember_makes_no_index(tmp_path: Path) -> None:
    for samples in ([], ["not json"]):
        assert refine(tmp_path, samples, step(tmp_path / "index"), max_quarantined="100%").counts.kept == 0
        assert not (tmp_path / "index").exists()
    key = [{"key_deduplicator": {"key": "nullif(length(text), length(text))", "index": str(tmp_path / "index")}}]
    assert refine(tmp_path, texts(["a", "a"]), key).counts.kept == 2 and not (tmp_path / "index").exists()
