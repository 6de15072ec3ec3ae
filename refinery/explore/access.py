"""Access to the page: this machine alone, with the token; and the headers that keep documents from running as code."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Names of this machine in the header Host; another one is a foreign site whose name leads here (DNS rebinding).
HOSTS = ["127.0.0.1", "localhost"]
# The header with which the page proves that it, and no other page in the browser, sends a POST.
TOKEN_HEADER = "x-refinery-token"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_REFUSED = "This page is for the one who started it: open the address that `refinery explore` has printed.\n"


@dataclass(frozen=True)
class Access:
    """Middleware that lets requests with the token pass. cookie: its name; ports of one machine share cookies."""

    app: ASGIApp
    token: str
    cookie: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        allowed = self._allows(request)
        app = self.app if allowed else PlainTextResponse(_REFUSED, status_code=403)
        comes_in = allowed and "token" in request.query_params

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if comes_in:
                    headers.append("set-cookie", f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/")
            await send(message)

        await app(scope, receive, with_headers)

    def _allows(self, request: Request) -> bool:
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.headers.get('host')}":
            return False
        if request.method not in ("GET", "HEAD"):
            return self._is_token(request.headers.get(TOKEN_HEADER))
        return self._is_token(request.query_params.get("token", request.cookies.get(self.cookie)))

    def _is_token(self, text: str | None) -> bool:
        return text is not None and hmac.compare_digest(text.encode(), self.token.encode())
