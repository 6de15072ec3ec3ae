"""Text of another encoding, as the UTF-8 that readers work on."""

from __future__ import annotations

import codecs
from typing import Any

_STEP = 256 << 10
# Stands for bytes that the encoding does not have: no UTF-8, so the record goes to quarantine.
_BROKEN = "\udcff"
_HANDLER = "refinery-broken"


def _broken(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _BROKEN, error.end


codecs.register_error(_HANDLER, _broken)


class Transcoded:
    """A stream of text as UTF-8. damage: the reason of an early end of the stream below."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(_HANDLER)
        self._room = bytearray(_STEP)
        self._rest = memoryview(b"")
        self._ended = False

    @property
    def damage(self) -> str | None:
        """The reason, once all bytes before the damage have been handed out."""
        return getattr(self._stream, "damage", None) if self._ended and not self._rest else None

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; 0 at the end."""
        while not self._rest and not self._ended:
            below = getattr(self._stream, "damage", None)
            count = 0 if below else int(self._stream.readinto(memoryview(self._room)) or 0)
            self._ended = not count
            text = self._decoder.decode(bytes(self._room[:count]), final=self._ended)
            self._rest = memoryview(text.encode("utf-8", "surrogateescape"))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
