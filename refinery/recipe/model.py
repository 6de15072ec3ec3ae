"""Data classes of a checked recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refinery.common.fields import NamedFields
from refinery.common.key_fields import left_out
from refinery.common.step_label import step_label
from refinery.io.writers.registry import DEFAULT, EXPORT_TYPES, format_of
from refinery.recipe.assets import Asset
from refinery.recipe.executors import DEFAULT_EXECUTOR, EXECUTORS
from refinery.recipe.export import ExportSettings, PartForm
from refinery.recipe.input_config import InputConfig
from refinery.recipe.key import RecipeKey, key, read_from
from refinery.recipe.portion import Portion
from refinery.recipe.run_outputs import RunOutputs
from refinery.recipe.stat_summary import StatSummary
from refinery.recipe.traces import TraceSettings


@dataclass(frozen=True)
class Note:
    """A part of a recipe that is accepted but has no effect, or an unexpected one."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Step:
    """One operator of the recipe.

    index: from 1. params: every parameter, defaults filled in; lists are tuples. Filters have `min_closed_interval`,
    `max_closed_interval` and `reversed_range` among them; `text_key` is there when the recipe gives it to this step.
    given: names of the parameters that the recipe gives. resources: those that the recipe gives, by the names of
    `operators.resources`; they decide no result. file, line: where the step stands; line 0 is no line. title:
    the name that the recipe gives the step, which is shown beside the operator's.
    """

    index: int
    name: str
    params: dict[str, Any]
    given: frozenset[str] = field(default=frozenset(), compare=False, metadata=left_out("all parameters are in params"))
    line: int = field(default=0, compare=False, metadata=left_out("for messages"))
    file: str = field(default="recipe", compare=False, metadata=left_out("for messages"))
    title: str | None = field(default=None, compare=False, metadata=left_out("for tables and messages"))
    resources: Mapping[str, Any] = field(
        default_factory=dict, compare=False, metadata=left_out("time and place decide nothing")
    )

    @property
    def where(self) -> str:
        """The place for messages: `recipe.yaml:14`, or `recipe, step 3`."""
        return f"{self.file}:{self.line}" if self.line else f"{self.file}, step {self.index}"

    @property
    def label(self) -> str:
        """The operator with the name of the step, if it has one."""
        return step_label(self.name, self.title)


# Groups by which statistics are summed up, besides the user's expressions.
GROUPS = ("summary", "histogram", "fqdn", "suffix")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A checked recipe: the declaration of its keys, and their values. Two recipes are equal when they do the same."""

    project_name: str = key("str", "hello_world", "Name of the project, for the table `runs` and the manifest.")
    inputs: tuple[InputConfig, ...] = read_from(
        RecipeKey(
            "dataset_path",
            "paths",
            (),
            "A file, folder, glob or URL, or a list of them; `0.5 a.jsonl 0.5 b.jsonl` gives them weights.",
        ),
        RecipeKey(
            "dataset",
            "mapping",
            None,
            "`configs` and `max_sample_num`, see [below](#keys-of-dataset); `dataset_path` takes precedence.",
            nullable=True,
        ),
        RecipeKey(
            "configs", "list", (), "The inputs: a list of mappings with the keys below. Required.", below="dataset"
        ),
        default=(),
    )
    max_sample_num: int | None = key(
        "int",
        None,
        "Maximum number of samples to read, divided among the inputs by weight.",
        min=1,
        nullable=True,
        below="dataset",
    )
    export_path: str = key(
        "str", "./outputs/hello_world/hello_world.jsonl", "Path or [URL](input.md#urls) of the kept samples."
    )
    export_type: str | None = key(
        "str",
        None,
        "Format; by default from the suffix of export_path. `none`: tables only.",
        choices=EXPORT_TYPES,
        nullable=True,
    )
    export_shard_size: int = key("size", 0, "Size of each exported file; 0 for one file.", min=0)
    export_in_parallel: bool = key("bool", False, "Write several files of the export at once.")
    export_fields: NamedFields = read_from(
        RecipeKey(
            "",
            "fields",
            (),
            "Fields of the exported samples: a list chooses (`[id, text]`) or leaves out (`[-meta]`), a mapping renames, see "
            "[output](output.md#exported-fields). By default all.",
            nullable=True,
            own=True,
        ),
        default=(),
    )
    partition_by: tuple[tuple[str, str], ...] = read_from(
        RecipeKey(
            "",
            "expressions",
            (),
            "Columns or SQL expressions over a sample as it is exported; the export is then a folder with a folder `name=value` "
            "for each of their values, see [output](output.md#partitions).",
            nullable=True,
            own=True,
        ),
        default=(),
    )
    repeat_by: str | None = key(
        "sql",
        None,
        "Number of times that a kept sample is written: a column or SQL over a sample as it is exported, see [output](output.md#repeats). "
        "By default once.",
        nullable=True,
        own=True,
    )
    max_partitions: int = key(
        "int",
        1000,
        "Maximum number of folders that `partition_by` and `removed_partition_by` may make.",
        min=1,
        own=True,
    )
    drop_empty: bool = key(
        "bool",
        False,
        "Remove samples whose text is empty at the end, as a last step `empty_text_filter`.",
        own=True,
    )
    removed_path: str | None = key(
        "str",
        None,
        "Folder, file or [URL](input.md#urls) for the removed samples, each with the step and the reason, see "
        "[output](output.md#removed-samples).",
        nullable=True,
        own=True,
    )
    removed_partition_by: tuple[str, ...] | None = key(
        "strings",
        None,
        "`step`, other columns of the ledger, or fields of the samples, for the folders in `removed_path`; by default `step`, "
        "or nothing if `removed_path` names a file.",
        nullable=True,
        own=True,
    )
    export_aws_credentials: Mapping[str, Any] | None = read_from(
        RecipeKey("", "mapping", None, "Has no effect; never written anywhere.", nullable=True),
        default=None,
        compare=False,
    )
    work_dir: str = read_from(
        RecipeKey(
            "",
            "str",
            None,
            "The run folder, or a URL such as `s3://bucket/run` ([ray.md](ray.md#storage)); by default the folder of "
            "export_path.",
            nullable=True,
        ),
        default="./outputs/hello_world",
    )
    corpus: str | None = key(
        "str",
        None,
        "Folder of a corpus that `refinery add` and `refinery run` add the input to, in place of an export: see "
        "[corpus.md](corpus.md).",
        nullable=True,
        own=True,
    )
    publish: str | None = key(
        "str",
        None,
        "With a corpus: a table that gets each snapshot, `duckdb:FILE` or `ducklake:CATALOGUE`, see "
        "[corpus.md](corpus.md#a-table-of-a-database).",
        nullable=True,
        own=True,
    )
    temp_dir: str | None = key("str", None, "Folder for DuckDB's data that does not fit into memory.", nullable=True)
    text_keys: tuple[str, ...] = key(
        "strings",
        ("text",),
        "Field with the text. `meta.body` is a nested field, `'\"te.xt\"'` a field with a dot in its name. Only the first "
        "of a list is used.",
    )
    suffixes: tuple[str, ...] = key(
        "strings", (), "Suffixes of the files to read from a folder; by default all readable files.", nullable=True
    )
    np: int = key("int", 4, "Number of workers; at most one per core is used.", min=1)
    executor_type: str = key(
        "str",
        DEFAULT_EXECUTOR,
        "`default` runs on this machine, `ray` and `ray_partitioned` on a Ray cluster: see [ray.md](ray.md).",
        choices=tuple(EXECUTORS),
    )
    ray_address: str = key("str", "auto", "The Ray cluster: `auto`, `local`, `host:port` or `ray://host:port`.")
    open_tracer: bool = read_from(
        RecipeKey("", "bool", False, "Record examples of changed and removed samples."),
        RecipeKey("use_tracer", "bool", False, "Another name of `open_tracer`.", own=True, alias="open_tracer"),
        default=False,
    )
    op_list_to_trace: tuple[str, ...] = key("list[str]", (), "Operators to trace; empty for all.", nullable=True)
    trace_num: int | str = key("count_or_all", 10, "Maximum number of samples to trace per step, or `all`.", min=0)
    trace_keys: tuple[str, ...] = key(
        "list[str]", (), "Fields of the original sample to add to its traces.", nullable=True
    )
    keep_stats_in_res_ds: bool = key("bool", False, "Export statistics inside the samples, as `__dj__stats__`.")
    keep_hashes_in_res_ds: bool = key("bool", False, "Export deduplicators' hashes inside the samples; has no effect.")
    op_fusion: bool = key("bool", True, "Share words, lines and counts between operators; the results are the same.")
    fusion_strategy: str | None = key(
        "str",
        None,
        "Run cheap, strict filters first if the same rows are kept: by measurement (`probe`) or by kind (`greedy`), see "
        "[below](#order-of-filters).",
        choices=("probe", "greedy"),
        nullable=True,
    )
    adaptive_batch_size: bool = key(
        "bool",
        False,
        "Fit the sizes of batches and shards to the samples and the memory: see [below](#sizes-of-batches).",
    )
    use_checkpoint: bool = key(
        "bool",
        False,
        "Accepted, without effect: every run reuses valid results.",
    )
    use_cache: bool = key(
        "bool",
        True,
        "Keep the results of shards after the run, for the next run in this folder: see [checkpoints](checkpoints.md).",
    )
    cache_compress: str | None = key(
        "str", None, "Compression of texts between stages.", choices=("gzip", "zstd", "lz4"), nullable=True
    )
    open_monitor: bool = key(
        "bool",
        False,
        "Measure each worker and the GPUs every second, beside the run as a whole: see [monitoring](monitoring.md).",
    )
    digests: bool = key(
        "bool",
        False,
        "Record the SHA-256 of inputs, models, recipe and outputs at the end of the run, for `refinery verify`: see "
        "[cards](cards.md#verify).",
        own=True,
    )
    audit: int | None = key(
        "int",
        None,
        "Removed samples of each deduplicator to compare with those that stay; 0 for none. By default 1000 where the input is "
        "small or the result is suspicious, see [deduplication](deduplication.md#was-it-right).",
        min=0,
        nullable=True,
        own=True,
    )
    steps: tuple[Step, ...] = read_from(
        RecipeKey("process", "list", (), "The steps, in order: operators with their parameters. Required."), default=()
    )
    add_suffix: bool = key("bool", False, "Export the suffix of each sample's file, as `__dj__suffix__`.", own=True)
    memory_limit: int | None = key(
        "size",
        None,
        "Maximum memory of DuckDB, for example `4GB`, divided among the workers. A small one makes batches smaller, too. Tasks of "
        "deduplicators take about as much beside it ([scale.md](scale.md#deduplication)).",
        nullable=True,
        min=1,
        own=True,
    )
    threads: int | None = key(
        "int", None, "Threads of each worker's DuckDB; 1 by default.", nullable=True, min=1, own=True
    )
    workers: str = key(
        "str",
        "auto",
        "Kind of the workers. `auto`: processes for operators that hold Python's lock, else threads "
        "([workers.md](workers.md)).",
        choices=("auto", "threads", "processes"),
        own=True,
    )
    row_timeout: float | None = key(
        "float",
        None,
        "Seconds that an operator's function may take for a row; a slower row goes to quarantine. The workers are then "
        "processes. SQL has the same limit for a batch, by default 2 minutes ([workers.md](workers.md)).",
        nullable=True,
        min=0.01,
        own=True,
    )
    max_quarantined: int | str | None = key(
        "count_or_share",
        None,
        "Rows, or share of all rows, that may be in quarantine; more end the run with exit code 7.",
        nullable=True,
        min=0,
        own=True,
    )
    shard_size: int = key(
        "size",
        128_000_000,
        "Maximum input bytes of a shard. Shards are smaller if otherwise cores would have no work: see "
        "[scale.md](scale.md#shards-and-memory).",
        min=1,
        own=True,
    )
    override_num_blocks: int | None = key(
        "int",
        None,
        "Number of shards, in place of `shard_size`; approximate, since files and row groups limit the cuts.",
        nullable=True,
        min=1,
    )
    keep_fields: tuple[str, ...] = key(
        "strings",
        (),
        "Fields of the input that the run stores in its tables, with their types, for every sample: `[id, url, meta.source]`, see "
        "[views](views.md#fields-fields-of-one-sample-as-it-was-read).",
        nullable=True,
        own=True,
    )
    stat_summary: StatSummary = read_from(
        RecipeKey(
            "",
            "mapping",
            None,
            "Groups by which statistics are summed up, and a folder for statistics files: see [below](#statistics).",
            nullable=True,
            own=True,
        ),
        default=StatSummary(),
    )
    limit: int | None = key(
        "int",
        None,
        "Read the first samples of the input only: see [input](input.md#a-part-of-the-input).",
        nullable=True,
        min=1,
        own=True,
    )
    sample: float | None = key(
        "share",
        None,
        "Read this share of the samples, chosen by their content: see [input](input.md#a-part-of-the-input).",
        nullable=True,
        own=True,
    )
    fields: tuple[tuple[str, str], ...] = read_from(
        RecipeKey(
            "",
            "mapping",
            (),
            "Types of JSON fields that SQL names, such as `{rating: DOUBLE, meta.id: UBIGINT}`. A sample with a value that "
            "does not fit exactly goes to quarantine: see [input](input.md#types-of-fields).",
            nullable=True,
            own=True,
        ),
        default=(),
    )
    measure_only: bool = key(
        "bool",
        False,
        "Measure only: filters remove nothing and deduplicators are left out, as in `refinery analyze`.",
        own=True,
    )
    operators: tuple[str, ...] = key(
        "strings", (), "Folders with your own operators: see [extending](extending.md).", nullable=True, own=True
    )
    assets: tuple[str, ...] = key(
        "strings",
        (),
        "Folders to search first for models and word lists: see [assets](assets.md).",
        nullable=True,
        own=True,
    )
    found_assets: tuple[tuple[str, str], ...] = read_from(
        RecipeKey(
            "",
            "mapping",
            (),
            "Written into the recipe of a finished run: paths of its models and word lists, with the names in the recipe. "
            "A path that no longer exists is looked for again.",
            nullable=True,
            own=True,
        ),
        default=(),
        compare=False,
    )
    assets_of_steps: tuple[Asset, ...] = field(default=(), compare=False, repr=False)
    skipped: tuple[str, ...] = field(default=(), compare=False)
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
    def portion(self) -> Portion | None:
        """The part of the input and of the steps that is run; None for all of both."""
        portion = Portion(self.limit, self.sample, self.skipped)
        return portion if portion != Portion() else None

    @property
    def reorders(self) -> str | None:
        """Strategy that reorders filters, `probe` or `greedy`; None if filters keep the recipe's order."""
        return self.fusion_strategy if self.op_fusion and not self.measure_only else None

    @property
    def traces(self) -> TraceSettings:
        """Settings of traces."""
        limit = None if self.trace_num == "all" else int(self.trace_num)
        return TraceSettings(self.open_tracer, self.op_list_to_trace, limit, self.trace_keys)

    @property
    def export_format(self) -> str:
        """Format of the export: export_type, else from export_path's suffix, else jsonl; `none`: no export."""
        return self.export_type or format_of(self.export_path) or DEFAULT

    @property
    def export(self) -> ExportSettings:
        """Place and form of the export."""
        return ExportSettings.of(self)

    @property
    def removed(self) -> ExportSettings | None:
        """Place and form of the files of removed samples; None without them."""
        return ExportSettings.of_removed(self) if self.removed_path is not None else None

    @property
    def part_form(self) -> PartForm:
        """Form of the samples that shards leave."""
        compression, removed = self.cache_compress, self.removed_path is not None
        return PartForm(self.export_format, self.export_fields, compression, self.add_suffix, removed)

    @property
    def outputs(self) -> RunOutputs:
        """Places that a run writes to."""
        return RunOutputs(
            self.work_dir,
            self.export,
            self.removed,
            self.stat_summary,
            tuple(str(step.params["index"]) for step in self.steps if step.params.get("index")),
            self.temp_dir,
            self.open_tracer,
            of_part=self.limit is not None or self.sample is not None,
        )

    @property
    def exports(self) -> bool:
        """False if the recipe asks for tables alone."""
        return self.export.is_written
