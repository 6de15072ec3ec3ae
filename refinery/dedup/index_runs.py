"""Runs as an index knows them: by the export that their additions stand for, and by the contents that they have read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.storage.urls import is_url


@dataclass(frozen=True)
class IndexRun:
    """A run that uses an index.

    export: real path or URL of its export. host: name of this machine. folder: id of its run folder; below: the export as
    seen from there, because both may be moved together. inputs: digest of the contents of its inputs; "" if they may be
    others the next time. replaces: an earlier export is there, which this run will replace.
    """

    export: str
    host: str
    folder: str
    below: str
    inputs: str = ""
    replaces: bool = False

    @property
    def name(self) -> str:
        """Identity of the run and of its repetitions."""
        return hashlib.sha256(f"{self.folder}\0{self.below}".encode()).hexdigest()[:32]

    def entry(self) -> dict[str, str]:
        """The fields of a generation by which later runs recognise it."""
        return {
            "export": self.export,
            "host": self.host,
            "folder": self.folder,
            "below": self.below,
            "inputs": self.inputs,
        }

    def own(self, generations: Sequence[dict[str, Any]]) -> list[int]:
        """Positions of the generations that stand for the export of this run, and so do not count.

        They are the last generation of the same export, if that export is there and will be replaced; and those of the same
        export and the same contents, of which this run is a repetition.
        """
        same = [at for at, item in enumerate(generations) if self._is_of_export(item)]
        repeated = [at for at in same if self.inputs and generations[at].get("inputs") == self.inputs]
        return sorted({*repeated, *(same[-1:] if self.replaces else ())})

    def elsewhere(self, generations: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Generations of the same export that count, because it was taken to another place."""
        own = self.own(generations)
        return [item for at, item in enumerate(generations) if at not in own and self._is_of_export(item)]

    def _is_of_export(self, item: dict[str, Any]) -> bool:
        here = item.get("host") == self.host
        if item.get("export") == self.export and (here or is_url(self.export)):
            return True
        if (item.get("folder"), item.get("below")) != (self.folder, self.below):
            return False
        return not (
            here and os.path.lexists(str(item.get("export")))
        )  # else the run folder was copied, and its export stays
