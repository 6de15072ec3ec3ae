"""Names of everything in a run folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunDir:
    """The folder of one run; nothing else in the project spells these names."""

    root: Path

    @property
    def database(self) -> Path:
        """The tables, for any DuckDB 2.x."""
        return self.root / "refinery.duckdb"

    @property
    def recipe(self) -> Path:
        """The effective recipe, every parameter filled in."""
        return self.root / "recipe.yaml"

    @property
    def plan(self) -> Path:
        """Compiled SQL per stage."""
        return self.root / "plan.json"

    @property
    def manifest(self) -> Path:
        """Versions, inputs, outputs, counts."""
        return self.root / "manifest.json"

    @property
    def trace(self) -> Path:
        """JSONL views of the trace table."""
        return self.root / "trace"

    @property
    def parts(self) -> Path:
        """What the shards wrote, until the run has ended well."""
        return self.root / "parts"

    def stage(self, number: int) -> Path:
        """Parts of one stage."""
        return self.parts / f"stage_{number}"

    def trace_file(self, operator: str, step: int, first: bool) -> Path:
        """`sample_trace-<operator>.jsonl`; with the step when an earlier step runs the same operator."""
        return self.trace / f"sample_trace-{operator}{'' if first else f'_{step}'}.jsonl"
