"""Tasks of the cluster that look at the fields of shards before a run; see `planning.input_schema`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from collections.abc import Set as AnySet
from pathlib import Path

from refinery.common.field_profile import InputProfile
from refinery.errors import OperatorError
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.executor import every
from refinery.io.field_scan import profile_of
from refinery.io.input_files import FileFacts, check_files, facts_of
from refinery.io.model import Shard
from refinery.workers.serialization import from_json, to_json


def profiles(shards: Sequence[Shard], wanted: AnySet[str]) -> list[InputProfile] | None:
    """Profiles of shards in order; None if no cluster is joined, or it cannot be used: the run says so when it begins.

    None also for a drawn part of the samples, whose numbers would have to be sent.
    """
    module = sys.modules.get("ray")
    if module is None or not module.is_initialized() or any(shard.only is not None for shard in shards):
        return None
    calls = [(to_json(shard), facts_of(shard), sorted(wanted)) for shard in shards]
    try:
        answers = every(ClusterConnection(module, Path()), profile_of_shard, calls, label="types of fields")
    except OperatorError:
        return None
    return [InputProfile.of_plain(json.loads(text)) for text in answers]


def profile_of_shard(shard: str, seen: Sequence[FileFacts], wanted: Sequence[str]) -> str:
    """Profile of a shard as JSON. seen: its files as the driver sees them."""
    check_files(seen)
    return json.dumps(profile_of(from_json(shard), {*wanted}).plain())
