"""Every key of a recipe: Data-Juicer 1.6.1's, with its defaults, and refinery's own.

A key with a `note` is accepted without effect, with that note. A key with `refuses` would change the result if
ignored, so any value other than its default is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RecipeKey:
    """One top-level key.

    type: as for parameters of operators, and `strings` (one text or a list of texts), `count_or_all`, `count_or_share`
    (a number, or text such as 0.1%), `size` (bytes, or text such as 128MB), `paths`, `mapping`. own: not a key of
    Data-Juicer.
    """

    name: str
    type: str
    default: Any
    doc: str = ""
    choices: tuple[Any, ...] | None = None
    min: float | None = None
    max: float | None = None
    nullable: bool = False
    note: str = ""
    refuses: str = ""
    own: bool = False


FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet")
READABLE = ("jsonl", "json", "jsonl.gz", "jsonl.zst", "parquet", "csv", "tsv", "txt")

_USED = (
    RecipeKey("project_name", "str", "hello_world", "Name of the project, for the tables and the report."),
    RecipeKey(
        "dataset_path",
        "paths",
        (),
        "A file, directory, glob or URL, or a list of them; `0.5 a.jsonl 0.5 b.jsonl` weighs them.",
    ),
    RecipeKey(
        "dataset", "mapping", None, "`configs`, a list of `type, path, weight`, and `max_sample_num`.", nullable=True
    ),
    RecipeKey(
        "export_path", "str", "./outputs/hello_world/hello_world.jsonl", "Where the kept samples go, a path or URL."
    ),
    RecipeKey(
        "export_type",
        "str",
        None,
        "Format; by default from export_path; `none`: tables only.",
        choices=(*FORMATS, "none"),
        nullable=True,
    ),
    RecipeKey("export_shard_size", "size", 0, "Size of each exported file; 0 for one file.", min=0),
    RecipeKey("export_in_parallel", "bool", False, "Write several files of the export at once."),
    RecipeKey("export_aws_credentials", "mapping", None, "Has no effect; never written anywhere.", nullable=True),
    RecipeKey("work_dir", "str", None, "The run folder; by default the directory of export_path.", nullable=True),
    RecipeKey("temp_dir", "str", None, "Where DuckDB puts data that does not fit into memory.", nullable=True),
    RecipeKey(
        "text_keys", "strings", ("text",), "Field with the text, dots for nested ones; the first of a list is used."
    ),
    RecipeKey(
        "suffixes", "strings", (), "Suffixes of the files to read from a directory; else all readable.", nullable=True
    ),
    RecipeKey("np", "int", 4, "Number of workers.", min=1),
    RecipeKey(
        "executor_type",
        "str",
        "default",
        "Where shards run: here, or on a Ray cluster.",
        choices=("default", "ray", "ray_partitioned"),
    ),
    RecipeKey("ray_address", "str", "auto", "The Ray cluster: auto, local, host:port, ray://host:port."),
    RecipeKey("open_tracer", "bool", False, "Record changed and removed samples; `use_tracer` is the same."),
    RecipeKey("op_list_to_trace", "list[str]", (), "Operators to trace; all by default.", nullable=True),
    RecipeKey("trace_num", "count_or_all", 10, "Most samples to trace per step, or `all`.", min=0),
    RecipeKey("trace_keys", "list[str]", (), "Fields of the original sample to add to its traces.", nullable=True),
    RecipeKey("keep_stats_in_res_ds", "bool", False, "Export statistics inside the samples."),
    RecipeKey("keep_hashes_in_res_ds", "bool", False, "Export deduplicators' hashes inside the samples."),
    RecipeKey("op_fusion", "bool", True, "Share words, lines and counts between operators; the results are the same."),
    RecipeKey(
        "fusion_strategy",
        "str",
        None,
        "Run cheap, strict filters first where no row's fate changes: as measured (`probe`) or by class (`greedy`).",
        choices=("probe", "greedy"),
        nullable=True,
    ),
    RecipeKey(
        "adaptive_batch_size", "bool", False, "Batches and shards of a size that fits the samples and the memory."
    ),
    RecipeKey(
        "use_checkpoint",
        "bool",
        False,
        "Go on from the last results that hold; here every run does, so it changes nothing.",
    ),
    RecipeKey(
        "use_cache", "bool", True, "Keep the results of shards when the run has ended, for the next run in this folder."
    ),
    RecipeKey(
        "cache_compress",
        "str",
        None,
        "Compression of texts between stages.",
        choices=("gzip", "zstd", "lz4"),
        nullable=True,
    ),
    RecipeKey(
        "open_monitor",
        "bool",
        False,
        "Record what every worker and the GPUs do each second, not only the run as a whole.",
    ),
    RecipeKey("process", "list", (), "The steps: a list of operators with their parameters."),
)

_OWN = (
    RecipeKey("use_tracer", "bool", False, "The same as open_tracer.", own=True),
    RecipeKey("add_suffix", "bool", False, "Export the suffix of each sample's file, as `__dj__suffix__`.", own=True),
    RecipeKey(
        "memory_limit",
        "size",
        None,
        "Most memory for DuckDB, shared by the workers, for example 4GB.",
        nullable=True,
        min=1,
        own=True,
    ),
    RecipeKey("threads", "int", None, "Threads of each worker's DuckDB; 1 by default.", nullable=True, min=1, own=True),
    RecipeKey(
        "workers",
        "str",
        "auto",
        "What workers are; `auto`: processes for operators that would keep threads waiting, else threads.",
        choices=("auto", "threads", "processes"),
        own=True,
    ),
    RecipeKey(
        "row_timeout",
        "float",
        None,
        "Seconds that an operator's function has for a row, which else goes into quarantine.",
        nullable=True,
        min=0.01,
        own=True,
    ),
    RecipeKey(
        "max_quarantined",
        "count_or_share",
        None,
        "More rows in quarantine, or a larger share such as `0.1%`, end the run.",
        nullable=True,
        min=0,
        own=True,
    ),
    RecipeKey("shard_size", "size", 128_000_000, "Input bytes that a worker takes at a time.", min=1, own=True),
    RecipeKey(
        "stat_summary",
        "mapping",
        None,
        "By what statistics are summed up (`groups`, `group_by`), and `export`, a folder for statistics files.",
        nullable=True,
        own=True,
    ),
    RecipeKey(
        "measure_only", "bool", False, "Filters measure and remove nothing, deduplicators are left out.", own=True
    ),
    RecipeKey("operators", "strings", (), "Folders with operators of one's own.", nullable=True, own=True),
    RecipeKey("vars", "mapping", None, "Default values for {{ variables }}.", nullable=True, own=True),
)

_RAY = "it is for Data-Juicer's Ray engine"
_MEDIA = "refinery refines text"
_ANALYSIS = "it is for Data-Juicer's analyzer"
_LOCAL = "it is for Data-Juicer's way of running operators"

_NOTED: dict[str, str] = {
    "config": "the recipe is named on the command line",
    "auto": _ANALYSIS,
    "auto_num": _ANALYSIS,
    "hpo_config": "it is for Data-Juicer's hyper-parameter search",
    "data_probe_algo": "it is for Data-Juicer's sandbox",
    "data_probe_ratio": "it is for Data-Juicer's sandbox",
    "load_data_np": "every worker reads what it works on; np is the number of workers",
    "load_jsonl_lenient": "malformed lines are always quarantined and never stop a run",
    "enable_optimizer": "refinery always plans; fusion_strategy moves filters",
    "optimizer_strategies": "refinery always plans; fusion_strategy moves filters",
    "use_dag": "refinery always plans",
    "strict_preflight": "recipes are always checked before they run",
    "validators": "samples that cannot be processed are quarantined",
    "load_dataset_kwargs": "inputs are not read by Hugging Face datasets",
    "read_options": _RAY,
    "override_num_blocks": _RAY,
    "export_extra_args": "no format that is written takes extra arguments",
    "encryption_key_path": "files are neither encrypted nor decrypted",
    "image_key": _MEDIA,
    "image_bytes_key": _MEDIA,
    "image_special_token": _MEDIA,
    "audio_key": _MEDIA,
    "audio_special_token": _MEDIA,
    "video_key": _MEDIA,
    "video_special_token": _MEDIA,
    "eoc_special_token": _MEDIA,
    "turbo": _LOCAL,
    "skip_op_error": "a sample that fails is always quarantined, alone",
    "ds_cache_dir": "there is no cache of Hugging Face datasets",
    "event_logging": "every run is recorded in its run database",
    "event_log_dir": "every run is recorded in its run database",
    "checkpoint": _RAY,
    "checkpoint_dir": _RAY,
    "job_id": "a run is known by its work_dir",
    "resume": "every run goes on from the results that still hold; refinery run --fresh does not",
    "open_insight_mining": _ANALYSIS,
    "op_list_to_mine": _ANALYSIS,
    "min_common_dep_num_to_combine": _RAY,
    "conflict_resolve_strategy": _RAY,
    "mapper_fusion": "it is for operators on a GPU",
    "mapper_fusion_vram_limit": "it is for operators on a GPU",
    "percentiles": _ANALYSIS,
    "export_original_dataset": _ANALYSIS,
    "save_stats_in_one_file": _ANALYSIS,
    "partition": _RAY,
    "partition_size": _RAY,
    "partition_dir": _RAY,
    "custom_operator_paths": "Data-Juicer's Python operators are not loaded; `operators:` names folders of refinery's",
    "elastic_juicer_adaptive_batching": _RAY,
    "elastic_juicer_profile_seed": _RAY,
    "auto_op_parallelism": _LOCAL,
    "debug": _LOCAL,
}

_REFUSED = (
    RecipeKey("generated_dataset_config", "any", None, nullable=True, refuses="give a dataset_path"),
    RecipeKey("decrypt_after_reading", "bool", False, refuses="encrypted files are not read; decrypt them before"),
    RecipeKey("encrypt_before_export", "bool", False, refuses="files are not encrypted; encrypt them after the run"),
)


# Keys that this version ignores; the results are the same without them.
NOT_YET: dict[str, str] = {
    "keep_hashes_in_res_ds": "what deduplicators compare is not written beside the samples",
    "export_aws_credentials": "keys for an export at a URL are those of the environment",
}


def _by_name(keys: Iterable[RecipeKey]) -> dict[str, RecipeKey]:
    return {key.name: key for key in keys}


KEYS: dict[str, RecipeKey] = _by_name(
    [*_USED, *_OWN, *_REFUSED, *(RecipeKey(n, "any", None, note=t) for n, t in _NOTED.items())]
)

# Two names of one key; if both are given, they must agree.
ALIASES = {"use_tracer": "open_tracer"}

# Parameters of Data-Juicer's base class of operators that refinery does not need.
BASE_PARAMS: dict[str, str] = {
    **dict.fromkeys(("image_key", "audio_key", "video_key", "image_bytes_key"), _MEDIA),
    **dict.fromkeys(("query_key", "response_key", "history_key"), "operators here read text_key"),
    **dict.fromkeys(("system_key", "instruction_key", "prompt_key"), "operators here read text_key"),
    "index_key": "every row has a number, `_row`",
    "work_dir": "the recipe's work_dir holds everything",
    "input_columns": "what an operator reads is known from its file",
    "output_columns": "what an operator writes is known from its file",
    "skip_op_error": "a sample that fails is always quarantined, alone",
    "adaptive_batching": _LOCAL,
    "auto_op_parallelism": _LOCAL,
    "batch_mode": _LOCAL,
    "batch_size": "operators run on DuckDB's vectors",
    "accelerator": "operators run on the processor",
    "num_proc": "all operators share the recipe's np",
    "turbo": _LOCAL,
    **dict.fromkeys(("cpu_required", "gpu_required", "mem_required", "num_cpus", "num_gpus"), _RAY),
    **dict.fromkeys(("memory", "runtime_env", "ray_execution_mode"), _RAY),
    "stats_export_path": "statistics are in the run database",
}

# Parameters that refinery uses: text_key for every operator, the others for filters.
TEXT_KEY = "text_key"
RANGE_PARAMS = {"min_closed_interval": True, "max_closed_interval": True, "reversed_range": False}
