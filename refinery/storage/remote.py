"""Store at a URL: object storage, or anything else that fsspec has a driver for.

Nothing is renamed: an object is put whole and only then appears under its name.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import inspect
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from refinery.common.running import is_running
from refinery.storage.drivers import driver_errors, filesystem, of_store
from refinery.storage.object_versions import version_fields
from refinery.storage.objects import children_of, facts_of, objects_below
from refinery.storage.retries import repeated
from refinery.storage.store import Store
from refinery.storage.urls import scheme_of

_CREATING = threading.Lock()
# Modules of the methods that drivers inherit.
_LOOKS_FIRST = ("fsspec.spec", "fsspec.asyn")


class RemoteStore(Store):
    """Store of objects below a URL. Fetched copies stay on this machine's disk until `forget` or the process ends."""

    on_this_machine = False

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._fs, self._root = filesystem(self.url)
        self._lock = threading.RLock()
        self._here: dict[str, str] = {}  # by name: version of the object in the cache
        self._fetching: dict[str, threading.Lock] = {}
        self._folder: Path | None = None

    def scratch(self) -> Path:
        """A temporary folder of this process."""
        return self._made("scratch")

    def publish(self, local: Path, name: str) -> None:
        """Put the file's contents. Raises OSError."""
        self.put(local, name)
        local.unlink()

    def put(self, local: Path, name: str) -> None:
        """Put the file's contents and keep the file. Raises OSError."""
        with self._errors_of(name):
            repeated(self._fs, lambda: self._fs.put_file(str(local), self._at(name)))
        self._drop(name)

    def fetch(self, name: str) -> Path:
        """A copy on this machine, fetched again if the object has changed; concurrent callers wait for one download."""
        if os.path.isabs(name):
            return Path(name)
        target = self.place(name)
        with self._lock:
            alone = self._fetching.setdefault(name, threading.Lock())
        with alone, self._errors_of(name):
            version = self._version(facts_of(self._fs, self._at(name)))
            if self._here.get(name) == version and target.exists():
                return target
            aside = self.scratch() / f"{target.name}.{threading.get_ident()}"
            repeated(self._fs, lambda: self._fs.get_file(self._at(name), str(aside)))
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside, target)
            self._here[name] = version
        return target

    def place(self, name: str) -> Path:
        """The path of the copy, present or not."""
        return Path(name) if os.path.isabs(name) else self._made("cache") / name

    @contextmanager
    def reading(self, name: str) -> Iterator[Any]:
        """An object as a stream; only the bytes that are read are fetched."""
        with self._errors_of(name):
            self._fs.invalidate_cache()
            with self._fs.open(self._at(name), "rb") as stream:
                yield stream

    def bytes_at(self, name: str, start: int, size: int = -1) -> bytes:
        """Bytes of the object, by one request."""
        with self._errors_of(name):
            data: bytes = self._fs.cat_file(self._at(name), start=start, end=start + size if size >= 0 else None)
            return data

    def exists(self, name: str) -> bool:
        """Check whether the object exists."""
        try:
            with self._errors_of(name):
                facts_of(self._fs, self._at(name))
        except FileNotFoundError:
            return False
        return True

    def version(self, name: str) -> str:
        """Size, and the driver's version fields (digest, time)."""
        try:
            with self._errors_of(name):
                info = facts_of(self._fs, self._at(name))
        except FileNotFoundError:
            return ""
        return self._version(info) if info.get("type") != "directory" else ""

    def names_in(self) -> list[str]:
        """One listing, whatever else the bucket holds."""
        with self._errors_of(""):
            self._fs.invalidate_cache()
            children = children_of(self._fs, self._root) or []
        return sorted(info["name"].rpartition("/")[2] for info in children if info.get("type") != "directory")

    def names(self, prefix: str = "") -> list[str]:
        """The objects whose names begin with `prefix`."""
        return sorted(self._infos(prefix))

    def size(self, prefix: str = "") -> int:
        """Bytes of these objects."""
        return sum(int(info.get("size") or 0) for info in self._infos(prefix).values())

    def sound(self, name: str, size: int, digest: str) -> bool:
        """Check whether the object is there with that size; object storage guards the bytes itself."""
        try:
            with self._errors_of(name):
                return int(facts_of(self._fs, self._at(name)).get("size") or 0) == size
        except OSError:
            return False

    def read_text(self, name: str) -> str:
        """An object's contents as text."""
        with self._errors_of(name):
            return repeated(self._fs, lambda: self._fs.cat_file(self._at(name))).decode("utf-8")

    def write_text(self, name: str, text: str) -> None:
        """Put a text."""
        with self._errors_of(name):
            repeated(self._fs, lambda: self._fs.pipe_file(self._at(name), text.encode("utf-8")))
        self._drop(name)

    @property
    def exclusive(self) -> bool:
        """True if the driver lets the storage create an object only where there is none.

        Other drivers inherit a method that looks first and writes then: two runs that look at once both write.
        """
        method = inspect.unwrap(self._fs.pipe_file)  # of an asynchronous driver, the coroutine behind it
        return not method.__module__.startswith(_LOOKS_FIRST) and "mode" in inspect.signature(method).parameters

    def create(self, name: str, text: str) -> bool:
        """Put a text only if the name is free, however many callers do so at once; True if this call put it.

        Raises OSError, with ENOTSUP where the driver cannot do this.

        A driver that repeats a request finds the object of its own first attempt, so the stored content decides.
        """
        if not self.exclusive:
            what = f"the driver of {scheme_of(self.url)}:// cannot create objects exclusively"
            raise OSError(errno.ENOTSUP, what, f"{self.url}/{name}")
        content = text.encode("utf-8")
        with self._errors_of(name), _CREATING:  # the driver of memory:// looks and writes, too
            return repeated(self._fs, lambda: self._create(self._at(name), content))

    def _create(self, path: str, content: bytes) -> bool:
        try:
            self._fs.pipe_file(path, content, mode="create")
        except Exception:
            try:
                stored = self._fs.cat_file(path)
            except FileNotFoundError:
                stored = None
            if stored is None:
                raise
            return bool(stored == content)
        return True

    def remove(self, prefix: str = "") -> None:
        """Remove the objects, many in one request where the driver can."""
        with self._errors_of(prefix):
            repeated(self._fs, lambda: self._remove(prefix))
        for name in [name for name in self._here if name.startswith(prefix)]:
            self._drop(name)

    def _remove(self, prefix: str) -> None:
        if paths := [self._at(name) for name in self.names(prefix)]:
            self._fs.rm(paths)

    def discard(self, name: str) -> None:
        """Remove the object without listing others."""
        try:
            with self._errors_of(name):
                repeated(self._fs, lambda: self._fs.rm_file(self._at(name)))
        except FileNotFoundError:
            pass
        self._drop(name)

    def tidy(self) -> None:
        """Remove temporary folders of ended processes of this machine."""
        for folder in Path(tempfile.gettempdir()).glob(f"{self._prefix()}*"):
            owner = folder.name.removeprefix(self._prefix()).partition("-")[0]
            if owner.isdigit() and not is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)

    def forget(self) -> None:
        """Remove the copies on this machine's disk."""
        with self._lock:
            self._here.clear()
            if self._folder is not None:
                shutil.rmtree(self._folder / "cache", ignore_errors=True)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _infos(self, prefix: str) -> dict[str, dict[str, Any]]:
        """Facts of the objects whose names begin with `prefix`, by name."""
        folder = prefix.rpartition("/")[0]
        root = self._at(folder) if folder else self._root
        with self._errors_of(prefix):
            self._fs.invalidate_cache()
            listed = objects_below(self._fs, root)
        infos = {path[len(self._root) :].lstrip("/"): info for path, info in listed.items()}
        return {name: info for name, info in infos.items() if name.startswith(prefix) and name}

    def _version(self, info: dict[str, Any]) -> str:
        return " ".join([str(info.get("size")), *version_fields(info)])

    def _drop(self, name: str) -> None:
        with self._lock:
            if self._here.pop(name, None) is not None:
                self.place(name).unlink(missing_ok=True)

    def _prefix(self) -> str:
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:12]
        return f"refinery-{socket.gethostname()}-{digest}-"

    def _made(self, name: str) -> Path:
        """A folder of this process, removed when the process ends."""
        with self._lock:
            if self._folder is None or not self._folder.exists():
                self._folder = Path(tempfile.mkdtemp(prefix=f"{self._prefix()}{os.getpid()}-"))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            folder = self._folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _errors_of(self, name: str) -> AbstractContextManager[None]:
        """Turn any error of a driver into OSError with the object's URL."""
        return driver_errors(f"{self.url}/{name}", of_store)
