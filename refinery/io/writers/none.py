"""No export: a run that leaves its tables alone."""

from __future__ import annotations

from refinery.io.model import Written
from refinery.io.writers.model import ExportJob, Writer


class Nothing(Writer):
    """Nothing is written; only `export_type` can name it, because no file has its suffix."""

    name = "none"
    writes = False

    def is_shared(self, lines: bool) -> bool:
        """Return False: there is no file."""
        return False

    def join(self, job: ExportJob) -> list[Written]:
        """Write no file."""
        return []
