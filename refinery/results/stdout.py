"""An export on standard output: first written to a file of the run, printed when the tables account for every row."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def pour(outcome: Any) -> bool:
    """Print the export of a successful run, if it goes to standard output; returns whether it does.

    Raises BrokenPipeError when the reader is gone.
    """
    path = outcome.run_dir.stdout
    if not any(isinstance(output, Path) and output == path for output in outcome.outputs):
        return False
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    with path.open("rb") if binary is not None else path.open(encoding="utf-8") as file:  # texts: in notebooks
        shutil.copyfileobj(file, binary or sys.stdout, _BLOCK)
    sys.stdout.flush()
    return True
