"""Objects at URLs that runs of one work_dir have put; no other object there is replaced or removed.

The list of objects is `published.json` in the run's own folder: for each URL the version that the run has left, and the
owner (an export, or the run folder). An object is listed before it is put, with the version that was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from refinery.common.redaction import hide
from refinery.errors import OutputError
from refinery.storage.drivers import said
from refinery.storage.open import open_store
from refinery.storage.store import Store


class OwnedObjects:
    """The list of objects in one run folder. overwrite: objects of others may be replaced, too."""

    def __init__(self, own: Store, name: str, overwrite: bool = False) -> None:
        """own: the run's own folder. name: the list's name in it."""
        self._own, self._name, self.overwrite = own, name, overwrite
        self._held, self._begun = self._read()  # by URL: owner and version; owner and the version of before

    def require(self, urls: Iterable[str]) -> None:
        """Check that objects may be put at URLs. Raises OutputError."""
        for url in () if self.overwrite else urls:
            version = _seen(url)
            if version and not self._is_ours(url, version):
                since = "has changed since a run put it there" if url in self._held else "was not put there by a run"
                what = f"{url}: {since} of this work_dir, so it is not overwritten"
                raise OutputError(f"{what}. Move or remove it, name another place, or add --overwrite")

    def begin(self, owner: str, urls: Iterable[str]) -> None:
        """List URLs before objects are put there. Raises OutputError as `require` does."""
        urls = list(urls)
        self.require(urls)
        for url in urls:
            before = _seen(url)
            if not self._is_ours(url, before):  # an object of ours stays in the list as it is
                self._begun[url] = owner, before
            elif url not in self._begun:
                self._begun[url] = owner, ""
        self._save()

    def note(self, owner: str, urls: Iterable[str]) -> None:
        """List objects with their versions of now."""
        for url in urls:
            self._held[url] = owner, _seen(url)
            self._begun.pop(url, None)
        self._save()

    def forget(self, urls: Iterable[str]) -> None:
        """Strike removed objects off the list."""
        for url in urls:
            self._held.pop(url, None)
            self._begun.pop(url, None)
        self._save()

    def keep(self, owner: str, urls: Iterable[str]) -> None:
        """Remove all objects of an owner (an export or a folder) but those at `urls`. Raises OSError."""
        known = {**self._begun, **self._held}
        stale = sorted({url for url, (of, _) in known.items() if of == owner} - set(urls))
        for url in stale:
            if (version := _version(url)) and self._is_ours(url, version):
                _, store, name = _parted(url)
                store.discard(name)
        if stale:
            self.forget(stale)

    def _is_ours(self, url: str, version: str) -> bool:
        """True if a run has put that version of the object; after a killed run, any new version at its URLs counts."""
        return self._held.get(url, ("", ""))[1] == version or (url in self._begun and self._begun[url][1] != version)

    def _save(self) -> None:
        if not self._held and not self._begun and not self._own.exists(self._name):
            return  # all places of the run are on this machine
        plain = {"objects": self._held, "begun": self._begun}
        self._own.write_text(self._name, json.dumps(plain, ensure_ascii=False, indent=1))
        self._own.tidy()

    def _read(self) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
        try:
            plain = json.loads(self._own.read_text(self._name))
            return _pairs(plain["objects"]), _pairs(plain["begun"])
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
            return {}, {}


def _pairs(plain: Any) -> dict[str, tuple[str, str]]:
    return {str(url): (str(owner), str(version)) for url, (owner, version) in plain.items()}


def _parted(url: str) -> tuple[str, Store, str]:
    folder, _, name = url.rpartition("/")
    return folder, open_store(folder), name


def _version(url: str) -> str:
    _, store, name = _parted(url)
    return store.version(name)


def _seen(url: str) -> str:
    """The object's present version; "" without an object. Raises OutputError."""
    try:
        return _version(url)
    except OSError as error:
        reason = hide(error.strerror or said(error))
        what = f"{url}: cannot be examined, so it could be another's ({reason})"
        raise OutputError(f"{what}. The driver takes credentials from the environment") from error
