"""Where the parts of a run are: files under names, there whole or not at all, in a folder or on object storage."""

from refinery.storage.store import Store

__all__ = ["Store"]
