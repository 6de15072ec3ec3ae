"""Comments on the tables of runs: three hundred statements, a third of the time of a small run, and few tests read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from refinery.execution import account

_COMMENT = account.comment_on_all


@contextmanager
def made_by(comment: Callable[..., Any]) -> Iterator[None]:
    """Have a function make the comments of the runs of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(account, "comment_on_all", comment)
        yield


def no_comments() -> Any:
    """Have runs of this process leave their tables without comments. Commands in processes of their own make them."""
    return made_by(lambda con, own=None: None)


def all_comments() -> Any:
    """Have runs make the comments again."""
    return made_by(_COMMENT)
