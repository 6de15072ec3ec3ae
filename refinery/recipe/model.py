"""Data classes of a checked recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from refinery.recipe.values import Spec


class ParamLike(Spec, Protocol):
    """One parameter as declared in an operator's header."""

    @property
    def name(self) -> str: ...
    @property
    def required(self) -> bool: ...


class OperatorLike(Protocol):
    """Properties of an operator that the check of a recipe uses."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def params(self) -> Mapping[str, Any]: ...
    @property
    def bounds(self) -> Mapping[str, Any]: ...

    def check(self, params: dict[str, Any]) -> list[str]:
        """Problems, as sentences, that keep the operator from running with these parameters."""


class LibraryLike(Protocol):
    """All available operators."""

    @property
    def operators(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Note:
    """A part of a recipe that is accepted but has no effect, or an unexpected one."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class InputConfig:
    """One source of samples.

    path: file, directory, glob or URL. weight: its share when `max_sample_num` limits the samples. format: one of
    `keys.READABLE`, or None if the file's suffix decides.
    """

    path: str
    weight: float = 1.0
    format: str | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Step:
    """One operator of the recipe.

    index: from 1. params: every parameter, defaults filled in; lists are tuples. Filters have `min_closed_interval`,
    `max_closed_interval` and `reversed_range` among them; `text_key` is there when the recipe gives it to this step.
    given: names of the parameters that the recipe gives. file, line: where the step stands; line 0 is no line.
    """

    index: int
    name: str
    params: dict[str, Any]
    given: frozenset[str] = field(default=frozenset(), compare=False)
    line: int = field(default=0, compare=False)
    file: str = field(default="recipe", compare=False)

    @property
    def where(self) -> str:
        """The place for messages: `recipe.yaml:14`, or `recipe, step 3`."""
        return f"{self.file}:{self.line}" if self.line else f"{self.file}, step {self.index}"


# Groups by which statistics are summed up, besides the user's expressions.
GROUPS = ("summary", "histogram", "fqdn", "suffix")


@dataclass(frozen=True)
class StatSummary:
    """Groups by which the statistics of a run are summed up. `recipe.summary.FIELDS` documents each field.

    group_by: pairs of name and SQL expression. stats: names of statistics, empty for all. where: the key's place. by:
    the place of `group_by`, which may be an option.
    """

    groups: tuple[str, ...] = ("summary",)
    group_by: tuple[tuple[str, str], ...] = ()
    histogram_round_digits: int = 3
    top_k: int = 100_000
    top_k_groups: tuple[str, ...] = ("fqdn", "suffix")
    url_key: str = "url"
    tokens_key: str = "token_count"
    export: str | None = None
    rank: int = 0
    stats: tuple[str, ...] = ()
    where: str = field(default="stat_summary", compare=False)
    by: str = field(default="stat_summary", compare=False)

    @property
    def grouped(self) -> bool:
        """True if statistics are grouped by anything."""
        return bool(self.group_by) or any(group != "summary" for group in self.groups)


@dataclass(frozen=True)
class Recipe:
    """A checked recipe. `keys.KEYS` documents each key. Two recipes are equal when they do the same."""

    steps: tuple[Step, ...]
    inputs: tuple[InputConfig, ...] = ()
    max_sample_num: int | None = None
    project_name: str = "hello_world"
    export_path: str = "./outputs/hello_world/hello_world.jsonl"
    export_type: str | None = None
    export_shard_size: int = 0
    export_in_parallel: bool = False
    export_aws_credentials: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    work_dir: str = "./outputs/hello_world"
    temp_dir: str | None = None
    text_keys: tuple[str, ...] = ("text",)
    suffixes: tuple[str, ...] = ()
    add_suffix: bool = False
    np: int = 4
    executor_type: str = "default"
    ray_address: str = "auto"
    open_tracer: bool = False
    op_list_to_trace: tuple[str, ...] = ()
    trace_num: int | str = 10
    trace_keys: tuple[str, ...] = ()
    keep_stats_in_res_ds: bool = False
    keep_hashes_in_res_ds: bool = False
    op_fusion: bool = True
    fusion_strategy: str | None = None
    adaptive_batch_size: bool = False
    use_checkpoint: bool = False
    use_cache: bool = True
    cache_compress: str | None = None
    open_monitor: bool = False
    memory_limit: int | None = None
    threads: int | None = None
    workers: str = "auto"
    row_timeout: float | None = None
    max_quarantined: int | str | None = None
    shard_size: int = 128_000_000
    measure_only: bool = False
    stat_summary: StatSummary = StatSummary()
    operators: tuple[str, ...] = ()
    given: frozenset[str] = field(default=frozenset(), compare=False)
    ignored: tuple[Note, ...] = field(default=(), compare=False)
    source: str = field(default="", compare=False, repr=False)
    path: str | None = field(default=None, compare=False)
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def place_of(self, key: str) -> str:
        """Place of a key in the recipe, for messages; the recipe itself for a key that it does not set."""
        return self.places.get(key) or self.path or "recipe"

    @property
    def text_key(self) -> str:
        """The field that operators read and change, unless a step sets its own."""
        return self.text_keys[0]

    @property
    def reorders(self) -> str | None:
        """Strategy that reorders filters, `probe` or `greedy`; None if filters keep the recipe's order."""
        return self.fusion_strategy if self.op_fusion and not self.measure_only else None

    @property
    def trace_limit(self) -> int | None:
        """Most samples to trace per operator, None for all."""
        return None if self.trace_num == "all" else int(self.trace_num)

    @property
    def export_format(self) -> str:
        """Format of the export: export_type, else from export_path's suffix, else jsonl; `none`: no export."""
        return self.export_type or format_of(self.export_path) or "jsonl"


def format_of(path: str) -> str | None:
    """The format of a path's suffix: `jsonl.gz`, `parquet`; None without a suffix; `.xyz` if unknown."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    stem, _, last = name.rpartition(".")
    if not stem:
        return None
    if last in ("gz", "zst") and stem.endswith(".jsonl"):
        return f"jsonl.{last}"
    return last if last in ("jsonl", "json", "parquet") else f".{last}"
