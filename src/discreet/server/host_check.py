"""The names that a server answers to, so that a page elsewhere whose name was made to lead here gets nothing: DNS
rebinding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import Refused
from discreet.server.problems import response_of

ANY: Final = "*"
HOST: Final = re.compile(r"\[?([^\[\]]*?)\]?(?::\d{1,5})?")
"""A name or an address, and perhaps a port."""


class Hosts:
    """Refuses requests that are meant for somebody else."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        self._names = {name.lower().strip("[]") for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or ANY in self._names or _name(scope) in self._names:
            await self._app(scope, receive, send)
        else:
            fix = "use a name that leads here, or start the server with --name"
            refused = Refused("unknown-host", "this server does not go by that name", fix)
            await response_of(refused)(scope, receive, send)


def _name(scope: Scope) -> str | None:
    written = HOST.fullmatch(Headers(scope=scope).get("host", ""))
    return written[1].lower() if written else None
