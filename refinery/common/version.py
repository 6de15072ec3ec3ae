"""The version of refinery, and the folder of its code."""

import time
from pathlib import Path

__version__ = "0.2.0.dev0"

PACKAGE = Path(__file__).parent.parent

# Seconds since 1970 when this process began to import refinery's code.
IMPORTED = time.time()
