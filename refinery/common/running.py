"""Return whether a process of this machine runs."""

from __future__ import annotations

import os


def is_running(process: int) -> bool:
    """True if a process has this number, whoever owns it; also for a number too large to ask about."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
