"""Recipe step `stats_merger`: merges statistics files beside the samples, which pass through."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from refinery.errors import DataError, OutputError, Problem, RecipeError
from refinery.recipe.model import Step
from refinery.recipe.stat_summary import StatSummary
from refinery.storage.drivers import filesystem
from refinery.storage.urls import is_url

NAME = "stats_merger"


def check(steps: Sequence[Step], summary: StatSummary) -> None:
    """Check, before anything is processed, that there are files to merge and a driver for the run's own files.

    Raises RecipeError for missing folders, unless the run itself will write its statistics files into them, and
    OutputError where `stat_summary.export` cannot be opened.
    """
    _open_export(summary)
    problems = [
        Problem(step.where, f"{NAME}: {what}", "Name the folder that holds {group}/{stat}/00000.json and so on.")
        for step in steps
        if step.name == NAME and (what := _missing(step.params["input_folder"], summary.export)) is not None
    ]
    if problems:
        raise RecipeError(problems)


def _open_export(summary: StatSummary) -> None:
    export = summary.export
    if export is None or not is_url(export):
        return
    try:
        filesystem(export)
    except DataError as error:
        raise OutputError(f"{summary.where}: stat_summary.export: {error}") from error


def merge(steps: Sequence[Step], work_dir: str) -> list[str]:
    """Merge the folders of a recipe's steps, after its run; returns lines of the result.

    Raises DataError for damaged or unreadable files, OutputError where results cannot be written, with the step's
    place. The run has then ended well: only the merged files are missing.
    """
    notes: list[str] = []
    for step in (step for step in steps if step.name == NAME):
        try:
            notes += _merged(step)
        except (DataError, OutputError) as error:
            raise type(error)(f"{step.where}: {NAME}: {error}\nthe run itself has ended well: {work_dir}") from error
    return notes


def _missing(folder: str, written: str | None) -> str | None:
    """The reason why nothing can be read of a folder; None where it can."""
    if "://" in folder or "::" in folder:
        return None
    real = os.path.realpath(os.path.expanduser(folder))
    if written and os.path.commonpath((real, os.path.realpath(written))) in (real, os.path.realpath(written)):
        return None
    if os.path.isdir(real):
        return None
    return f"input_folder {folder} is {'a file, no folder' if os.path.exists(real) else 'not there'}"


def _merged(step: Any) -> list[str]:
    from refinery.stats.merge import StatsMerger, StatsWarning
    from refinery.stats.topk import TopKConfig

    params = step.params
    options = {name: params[name] for name in ("top_k_groups", "top_k")} | (params["top_k_config"] or {})
    config = TopKConfig(list(options["top_k_groups"]), options["top_k"])
    merger = StatsMerger(params["input_folder"], params["output_folder"], params["remove_input"], config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatsWarning)
        merged = merger.merge()
    summary = f"{merged.files:,} files of {merged.folders:,} folders merged into {params['output_folder']}, {merged.keys:,} keys"
    return [f"{NAME}: {line}" for line in (summary, *merged.notes())]
