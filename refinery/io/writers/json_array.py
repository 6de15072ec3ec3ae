"""Export as one JSON array."""

from __future__ import annotations

from refinery.io.model import Written
from refinery.io.writers.model import ExportJob, Writer


class JsonArray(Writer):
    """An array with one object per line."""

    name = "json"
    part_suffix = "json"
    layout = "array"
    copy_options = "FORMAT json, ARRAY true"

    @property
    def part_name(self) -> str:
        """A folder of arrays cannot be read as one input; a folder of lines can."""
        return "jsonl"

    def is_shared(self, lines: bool) -> bool:
        """Return False: the last line is the only one without a comma, and is known at the end."""
        return False

    def join(self, job: ExportJob) -> list[Written]:
        """Write the lines of the parts with brackets around and commas between them."""
        from refinery.io.writers.lines import join_lines

        return join_lines(job, self.name, array=True)
