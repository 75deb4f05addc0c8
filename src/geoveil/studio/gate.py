"""Access to the studio: only a browser on this machine that knows the token may talk to it.

Another site in the same browser does not know the token. Even if it guesses the port, its Host and Origin headers
reveal it: a name that resolves to 127.0.0.1 (DNS rebinding) is not a host of the studio.
"""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING

from geoveil.noise import random_bytes

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate", "new_token"]

#: What a page may load and reach: the studio itself, and nothing else. Drawings contain inline styles.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # With no referrer at all, browsers would also hide the origin of forms, which the gate checks.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_REFUSED = b"403: this address works only with its token. Open the whole address that `geoveil studio` printed.\n"


def new_token() -> str:
    """Return a random token of 192 bits, for an address."""
    return base64.urlsafe_b64encode(random_bytes(24)).decode()


class Gate:
    """A gate that passes requests with the token from the studio's own pages, and answers all others with 403.

    Parameters
    ----------
    app : ASGI application
        The application behind the gate. It sees paths without the token.
    token : str
        The first part of all paths.
    port : int
        The port of the studio, on 127.0.0.1.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http" or not self._may_pass(scope):
            await _refuse(send)
            return
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        headers = [(b"content-security-policy", _POLICY.encode())]
        headers += [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        await self._app({**scope, "root_path": f"/{first}", "path": f"/{first}/{rest}"}, receive, sent)

    def _may_pass(self, scope: Scope) -> bool:
        """Return whether a request has the token, is addressed to the studio, and comes from one of its pages."""
        headers = dict(scope["headers"])
        first = scope["path"].removeprefix("/").partition("/")[0]
        if not hmac.compare_digest(first.encode(), self._token.encode()) or headers.get(b"host") not in self._hosts:
            return False
        origin, changes = headers.get(b"origin"), scope["method"] not in ("GET", "HEAD")
        if origin is None:
            # Browsers send the origin with every request that changes something.
            return not changes
        return origin in self._origins


async def _refuse(send: Send) -> None:
    kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": 403, "headers": kind})
    await send({"type": "http.response.body", "body": _REFUSED})
