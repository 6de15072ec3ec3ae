"""Random recipes, random edits between runs, kills in between: what a resumed run leaves is what a fresh one leaves."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from refinery.api import Run
from refinery.results.database import Counts
from tests.checkpoints.forks import Forks
from tests.runs import content
from tests.soak.pool import NUMBERS, OWN, pool
from tests.soak.world import World

# An end of a run: share of its file operations before it, and how often Ctrl-C is pressed; 0: it is killed.
End = tuple[float, int]
# Before a run that may end: how those before it have ended.
kills = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 2)), max_size=2)
# How a run may end without an export: a recipe that is wrong in both folders.
REFUSALS = ("RecipeError",)

places = st.integers(0, 1000)
items = st.sampled_from(OWN) | st.sampled_from(pool())  # those that read files more often

SETTINGS = [
    ("np", [1, 2, 3]),
    ("workers", ["threads", "processes", None]),
    ("shard_size", [2500, 4000, 9000]),
    ("open_tracer", [True, None]),
    ("op_fusion", [False, None]),
    ("fusion_strategy", ["greedy", None]),
    ("use_cache", [False, True]),
    ("cache_compress", ["zstd", "gzip", None]),
    ("keep_stats_in_res_ds", [True, None]),
    ("row_timeout", [60, None]),
    ("suffix", ["jsonl", "jsonl.gz", "json", "parquet"]),
    ("stat_summary", [{"groups": ["summary"]}, None]),
]
settings_of_recipes = st.sampled_from([(name, value) for name, values in SETTINGS for value in values])


def left(folder: Path, lines_only: bool = False) -> tuple[Any, list[tuple[str, bytes]], dict[str, bytes]]:
    """Tables, exported files, and traces of a finished run; lines_only: the exported lines, in one file or in parts."""
    files = [(path.name, path.read_bytes()) for path in sorted(folder.glob("out*")) if path.is_file()]
    if lines_only:
        parts = sorted((folder / "out").glob("*")) or [folder / "out.jsonl"]
        files = [("", b"".join(path.read_bytes() for path in parts))]
    run = Run(folder / "run", folder / "run" / "refinery.duckdb", (), Counts(0, 0, 0, 0), (), 0.0, 0)
    traces = {path.name: path.read_bytes() for path in sorted((folder / "run" / "trace").glob("*.jsonl"))}
    return content(run, "shards"), files, traces


class Resuming(RuleBasedStateMachine):
    """After every edit the run in the old folder is compared with one in an empty folder, to the byte."""

    forks: ClassVar[Forks]
    cluster: ClassVar[str | None] = None  # address of a Ray cluster that runs may be sent to

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="soak-"))
        self.operations = 60  # of the run before; a guess for the first one
        self.reused = (0, 0)  # shards that the last run found done, and all its shards

    def teardown(self) -> None:
        shutil.rmtree(self.top)

    @initialize(seed=st.integers(0, 2**16), steps=st.lists(items, min_size=1, max_size=5))
    def begin(self, seed: int, steps: list[Any]) -> None:
        self.world = World(self.top / "world", seed)
        for item in steps:
            self.world.edit_insert(item, 1000)
        self._check([])

    @rule(place=places, kills=kills)
    def change_line(self, place: int, kills: list[End]) -> None:
        self.world.edit_line(place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def append(self, place: int, kills: list[End]) -> None:
        self.world.edit_append(place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def remove_line(self, place: int, kills: list[End]) -> None:
        self.world.edit_remove_line(place)
        self._check(kills)

    @rule(name=st.sampled_from("abc"), kills=kills)
    def write_file(self, name: str, kills: list[End]) -> None:
        self.world.edit_add_file(name)
        self._check(kills)

    @rule(name=st.sampled_from("abc"), kills=kills)
    def remove_file(self, name: str, kills: list[End]) -> None:
        self.world.edit_remove_file(name)
        self._check(kills)

    @rule(place=places, kills=kills)
    def rename_file(self, place: int, kills: list[End]) -> None:
        self.world.edit_rename(place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def reorder_files(self, place: int, kills: list[End]) -> None:
        self.world.edit_reorder(place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def touch_file(self, place: int, kills: list[End]) -> None:
        self.world.edit_touch(place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def empty_file(self, place: int, kills: list[End]) -> None:
        self.world.edit_empty(place)
        self._check(kills)

    @rule(step=st.integers(1, 5), kills=kills)
    def change_allowed(self, step: int, kills: list[End]) -> None:
        self.world.edit_allowed(step)
        self._check(kills)

    @rule(word=st.sampled_from(["soon", "later", "zebra"]), kills=kills)
    def add_words(self, word: str, kills: list[End]) -> None:
        self.world.edit_words(word)
        self._check(kills)

    @rule(word=st.sampled_from(["darn", "lazy", "text"]), kills=kills)
    def change_list(self, word: str, kills: list[End]) -> None:
        self.world.edit_list(word)
        self._check(kills)

    @rule(number=st.integers(0, 8), kills=kills)
    def change_helper(self, number: int, kills: list[End]) -> None:
        self.world.edit_helper(number)
        self._check(kills)

    @rule(mark=st.sampled_from(["+", "-", "**"]), kills=kills)
    def change_data(self, mark: str, kills: list[End]) -> None:
        self.world.edit_data(mark)
        self._check(kills)

    @rule(item=items, place=places, kills=kills)
    def insert_step(self, item: Any, place: int, kills: list[End]) -> None:
        if len(self.world.steps) < 8:
            self.world.edit_insert(item, place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def remove_step(self, place: int, kills: list[End]) -> None:
        self.world.edit_remove_step(place)
        self._check(kills)

    @rule(place=places, kills=kills)
    def swap_steps(self, place: int, kills: list[End]) -> None:
        self.world.edit_swap(place)
        self._check(kills)

    @rule(
        place=places,
        whole=st.sampled_from(NUMBERS["int"]),
        share=st.sampled_from(NUMBERS["float"]),
        kills=kills,
    )
    def change_bound(self, place: int, whole: int, share: float, kills: list[End]) -> None:
        self.world.edit_number(place, {"int": whole, "float": share})
        self._check(kills)

    @rule(setting=settings_of_recipes, kills=kills)
    def change_setting(self, setting: tuple[str, Any], kills: list[End]) -> None:
        self.world.edit_key(*setting)
        self._check(kills)

    @precondition(lambda self: self.cluster)
    @rule(on_ray=st.booleans(), kills=kills)
    def change_engine(self, on_ray: bool, kills: list[End]) -> None:
        self.world.edit_key("ray_address", self.cluster if on_ray else None)
        self._check(kills)

    @rule(kills=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3))
    def free(self, kills: list[float]) -> None:
        """Free what is kept, with kills in the middle of it."""
        for share in kills:
            self.forks.command(["gc", str(self.top / "kept")], at=1 + int(share * 20))
        self._check([])

    def _check(self, kills: list[End]) -> None:
        """Kill runs in the old folder, let one end there, and hold it against a run in an empty folder."""
        kept, fresh = self.top / "kept", self.top / "fresh"
        self._remove_other_export(kept)
        asked = self.world.recipe(kept)
        for share, interrupts in kills:
            at = 1 + int(share * self.operations)
            self.forks.run(asked, at=at, folder=self.world.folder, interrupts=interrupts)
        resumed = self.forks.run(asked, folder=self.world.folder)
        anew = self.forks.run(self.world.recipe(fresh, here=True), folder=self.world.folder)
        assert resumed["code"] == anew["code"], (resumed, anew)
        assert resumed["error"].replace("/kept/", "/fresh/") == anew["error"]
        assert resumed["code"] == 0 or resumed["error"].startswith(REFUSALS), resumed["error"]
        if resumed["code"] == 0:
            self.operations, self.reused = anew["operations"], tuple(resumed["reused"])
            assert left(kept, self.world.on_ray) == left(fresh, self.world.on_ray)
        shutil.rmtree(fresh, ignore_errors=True)  # nothing is there when the recipe is refused

    def _remove_other_export(self, folder: Path) -> None:
        """Remove an export of another format or engine, which stays where it is when the recipe names another one."""
        name = "out" if self.world.on_ray else f"out.{self.world.suffix}"
        for path in folder.glob("out*"):
            if path.is_dir() and path.name != name:
                shutil.rmtree(path)
            elif path.name not in (name, "out_stats.jsonl"):
                path.unlink()
