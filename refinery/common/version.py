"""The version of refinery, and the folder of its code."""

from pathlib import Path

__version__ = "0.1.0"

PACKAGE = Path(__file__).parent.parent
