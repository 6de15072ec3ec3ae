"""Redaction of credentials in written and printed text: messages, logs, the state of a run.

The recipe check refuses credentials in a path or URL, so they are in no table and no manifest. Messages of libraries
may still repeat their arguments.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

HIDDEN = "***"

# user:password@ of a URL, a parameter of a signed URL, and a value whose name marks it as secret.
# A key may hold slashes, which a port does not.
_URL_USER = re.compile(r"([a-z][a-z0-9+.-]*://)(?:[^/\s@'\"]*|[^/\s:@'\"]*:(?!\d{1,5}/)[^\s@'\"]*)@", re.IGNORECASE)
_SIGNED = re.compile(
    r"([?&;](?:[\w.-]*(?:signature|credential|token|secret|password|passwd|accesskey(?:id)?|api[_-]?key)|sig|key)=)[^&\s'\"]+",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"((?:aws_)?(?:secret_access_key|session_token|access_key_id|secret_key|password)['\"]?\s*[:=]\s*['\"]?)[^\s'\",}]+",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIAL|API_?KEY|ACCESS_KEY", re.IGNORECASE)
# Shorter secrets would hide words of every message.
_SHORTEST = 8

_known: set[str] = set()


def remember(values: object) -> None:
    """Hide these texts in all output from now on; of mappings and lists, every text in them."""
    if isinstance(values, dict):
        for value in values.values():
            remember(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            remember(value)
    elif isinstance(values, str) and len(values) >= _SHORTEST:
        _known.add(values)


def hide(text: str) -> str:
    """The text without the credentials in it."""
    if "://" in text:
        text = _URL_USER.sub(rf"\1{HIDDEN}@", text)
    if "=" in text or ":" in text:
        text = _NAMED.sub(rf"\1{HIDDEN}", _SIGNED.sub(rf"\1{HIDDEN}", text))
    for secret in sorted(_known | _of_environment(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def has_credentials(path: str) -> bool:
    """Return whether a path or URL holds a password, a key or a signature."""
    if "://" not in path:
        return False
    return bool(_SIGNED.search(path)) or any(":" in match[0].partition("://")[2] for match in _URL_USER.finditer(path))


def _of_environment() -> set[str]:
    secret = [name for name in os.environ if _is_secret(name)]
    return {value for name in secret if len(value := os.environ.get(name, "")) >= _SHORTEST}


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return bool(_VARIABLE.search(name))
