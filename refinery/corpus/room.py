"""An exhausted disk under a corpus, as an error that says what has become of the change."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from refinery.corpus.folder import CorpusFolder
from refinery.errors import OutputError
from refinery.results.disk_space import explanation

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def room_for_change(folder: CorpusFolder) -> Iterator[None]:
    """Turn an exhausted disk into an OutputError with the cure; the body publishes its snapshot last of all."""
    try:
        yield
    except Exception as error:
        explained = explanation(str(folder.root), (), error)
        cause = explained.__cause__ if isinstance(explained, OutputError) else None
        if not isinstance(cause, OSError) or cause.errno not in _FULL:
            raise
        cure = "The corpus is as it was. Free some space, or move its folder to another disk, and repeat the command"
        raise OutputError(f"{folder.root}: cannot be changed: {os.strerror(cause.errno)}. {cure}") from error
