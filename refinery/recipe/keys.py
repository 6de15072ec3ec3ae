"""Every key of a recipe: Data-Juicer 1.6.1's, and refinery's own.

`recipe.model.Recipe` declares the keys that have a meaning; here are the others. A key with a `note` is accepted without
effect. A key with `refuses` would change the result if ignored, so any value other than its default is an error.
"""

from __future__ import annotations

from collections.abc import Iterable

from refinery import operators
from refinery.recipe.input_config import InputConfig
from refinery.recipe.key import RecipeKey, declared_keys
from refinery.recipe.model import Recipe
from refinery.recipe.stat_summary import StatSummary

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
    "load_data_np": "every worker reads its own shards; np is the number of workers",
    "load_jsonl_lenient": "malformed lines are always quarantined and never stop a run",
    "enable_optimizer": "refinery always plans; fusion_strategy moves filters",
    "optimizer_strategies": "refinery always plans; fusion_strategy moves filters",
    "use_dag": "refinery always plans",
    "strict_preflight": "recipes are always checked before they run",
    "validators": "samples that cannot be processed are quarantined",
    "load_dataset_kwargs": "inputs are not read by Hugging Face datasets",
    "read_options": _RAY,
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
    "skip_op_error": "a failing sample is always quarantined, alone",
    "ds_cache_dir": "there is no cache of Hugging Face datasets",
    "event_logging": "every run is recorded in its run database",
    "event_log_dir": "every run is recorded in its run database",
    "checkpoint": _RAY,
    "checkpoint_dir": _RAY,
    "job_id": "a run is identified by its work_dir",
    "resume": "every run reuses valid results; refinery run --fresh does not",
    "open_insight_mining": _ANALYSIS,
    "op_list_to_mine": _ANALYSIS,
    "min_common_dep_num_to_combine": _RAY,
    "conflict_resolve_strategy": _RAY,
    "mapper_fusion": "it is for Data-Juicer's operators on a GPU",
    "mapper_fusion_vram_limit": "it is for Data-Juicer's operators on a GPU",
    "percentiles": _ANALYSIS,
    "export_original_dataset": _ANALYSIS,
    "save_stats_in_one_file": _ANALYSIS,
    "partition": _RAY,
    "partition_size": _RAY,
    "partition_dir": _RAY,
    "custom_operator_paths": "Data-Juicer's Python operators are not loaded; `operators:` names folders with operators",
    "elastic_juicer_adaptive_batching": _RAY,
    "elastic_juicer_profile_seed": _RAY,
    "auto_op_parallelism": _LOCAL,
    "debug": _LOCAL,
}

_VARS = RecipeKey("vars", "mapping", None, "Default values of `{{ variables }}`.", nullable=True, own=True)

_REFUSED = (
    RecipeKey("generated_dataset_config", "any", None, nullable=True, refuses="give a dataset_path"),
    RecipeKey("decrypt_after_reading", "bool", False, refuses="encrypted files are not read; decrypt them before"),
    RecipeKey("encrypt_before_export", "bool", False, refuses="files are not encrypted; encrypt them after the run"),
)


# Keys that this version ignores; the results are the same without them.
NOT_YET: dict[str, str] = {
    "keep_hashes_in_res_ds": "match keys are not written beside the samples",
    "export_aws_credentials": "credentials for an export at a URL are taken from the environment",
}


def _by_name(keys: Iterable[RecipeKey]) -> dict[str, RecipeKey]:
    return {key.name: key for key in keys}


_NOT_USED = [*_REFUSED, *(RecipeKey(name, "any", None, note=text) for name, text in _NOTED.items())]
KEYS: dict[str, RecipeKey] = declared_keys(Recipe) | _by_name([_VARS, *_NOT_USED])

# Two names of one key; if both are given, they must agree.
ALIASES = {key.name: key.alias for key in KEYS.values() if key.alias}

# Keys of mappings: below `dataset`, of each item of its `configs`, below `stat_summary`.
DATASET_KEYS = declared_keys(Recipe, below="dataset")
SOURCE_KEYS = declared_keys(InputConfig)
SUMMARY_KEYS = declared_keys(StatSummary)

# Parameters of Data-Juicer's base class of operators that refinery does not need.
BASE_PARAMS: dict[str, str] = {
    **dict.fromkeys(("image_key", "audio_key", "video_key", "image_bytes_key"), _MEDIA),
    **dict.fromkeys(("query_key", "response_key", "history_key"), "operators here read text_key"),
    **dict.fromkeys(("system_key", "instruction_key", "prompt_key"), "operators here read text_key"),
    "index_key": "every row has a number, `_row`",
    "work_dir": "the recipe's work_dir holds everything",
    "input_columns": "an operator's file shows the fields that it reads",
    "output_columns": "an operator's file shows the fields that it writes",
    "skip_op_error": "a failing sample is always quarantined, alone",
    "adaptive_batching": _LOCAL,
    "auto_op_parallelism": _LOCAL,
    "batch_mode": _LOCAL,
    "accelerator": "operators run on the processor",
    "turbo": _LOCAL,
    **dict.fromkeys(("runtime_env", "ray_execution_mode"), _RAY),
    "stats_export_path": "statistics are in the run database",
}

# Parameters that refinery uses: text_key for every operator, the others for filters.
TEXT_KEY = "text_key"
RANGE_PARAMS = {name: declared["default"] for name, declared in operators.RANGE_PARAMS.items()}
