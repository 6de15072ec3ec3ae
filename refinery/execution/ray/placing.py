"""Nodes on which shards should run, because they hold the bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refinery.io.model import Shard
from refinery.io.python_data.spool import SpoolNote
from refinery.io.readers.registry import reader_of
from refinery.storage.locality import machines_of
from refinery.storage.workplace import Workplace


class ShardPlaces:
    """Nodes of the cluster for shards of the input, by the storage's word; spooled files stay where they were written.

    A node gets no more shards than its processors take: others go wherever Ray sends them.
    """

    def __init__(self, nodes: Sequence[Mapping[str, Any]], work_dir: str, cores: float = 1, ahead: int = 1) -> None:
        """nodes: as `ray.nodes()` lists them. cores: of a task. ahead: tasks on a node for each that runs there."""
        self._nodes: dict[str, str] = {}
        self._room: dict[str, int] = {}
        for node in nodes:
            self._room[node["NodeID"]] = int(node["Resources"].get("CPU", 0) / cores) * ahead
            for name in (node["NodeID"], node.get("NodeManagerAddress"), node.get("NodeManagerHostname")):
                if node["Alive"] and name:
                    self._nodes.setdefault(name, node["NodeID"])
        place = Workplace.of(work_dir)
        parts = SpoolNote(place.own(), place.run_dir.spooled.name).read().values()
        self._spooled = {f"{place.input().url}/{part.name}": part.node for part in parts if part.node}

    def take(self, shard: Shard) -> str | None:
        """The best node for a shard that has room left, which is then taken; `leave` gives it back."""
        free_node = next((node for node in self.of(shard) if self._room.get(node, 0) > 0), None)
        if free_node is not None:
            self._room[free_node] -= 1
        return free_node

    def leave(self, node: str) -> None:
        """Give back the room of a shard that has ended."""
        self._room[node] += 1

    def of(self, shard: Shard) -> list[str]:
        """Nodes that hold bytes of a shard of the input, the best first; empty for a shard that reads results of a stage."""
        source = shard.source
        if source.table is not None or (shard.part is not None and shard.part.source is not None):
            return []
        if source.path in self._spooled:
            machines: Sequence[str] = [self._spooled[source.path]]
        else:
            start, end = (shard.start, shard.end) if reader_of(source).cut_anywhere else (0, -1)
            machines = machines_of(source.path, start, end)
        return [self._nodes[name] for name in machines if name in self._nodes]
