"""Probe of a cluster's authentication before joining: Ray itself asks again for a minute, and prints each refusal."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# A method of every head that takes an empty message.
_METHOD = "/ray.rpc.NodeInfoGcsService/GetClusterId"
_SECONDS = 5.0
CURE = "It wants a token: set RAY_AUTH_MODE=token, with its token in RAY_AUTH_TOKEN, in the file RAY_AUTH_TOKEN_PATH or in ~/.ray/auth_token"


def is_refused(place: str) -> bool:
    """Return whether the head at host:port certainly refuses the token of this process, or the lack of one."""
    try:
        import grpc
    except ImportError:  # Ray has it in its core; Python's package comes with the extra
        return False
    token = _token() if os.environ.get("RAY_AUTH_MODE", "").lower() == "token" else ""
    metadata = [("authorization", f"Bearer {token}")] if token else []
    with grpc.insecure_channel(place) as channel:
        try:
            channel.unary_unary(_METHOD)(b"", timeout=_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return False


def _token() -> str:
    """The token that Ray takes; "" without one."""
    if token := os.environ.get("RAY_AUTH_TOKEN", "").strip():
        return token
    with suppress(OSError, UnicodeDecodeError):
        named = os.environ.get("RAY_AUTH_TOKEN_PATH")
        return (Path(named) if named else Path.home() / ".ray" / "auth_token").expanduser().read_text().strip()
    return ""
