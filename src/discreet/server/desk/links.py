"""One-time links for whoever started a desk. A link signs in once, and the next one is told where the desk was started.

What stands behind # of a link is a token that opens nothing by itself: signing in exchanges it for another that no page
and no address ever shows. So a link in a browser's history, or over somebody's shoulder, is worth nothing once used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from discreet.server.tokens import Made, Role, Token, Tokens


class Links:
    """The links of this process; they end with it, and so does what they opened."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        """`tell` hears the next link when one was used."""
        self._fresh, self._used = Tokens(None), Tokens(None)
        self._lock = threading.Lock()
        self._tell = tell

    def new(self) -> str:
        """The text of a new link, for the owner's eyes."""
        made = Made.new()
        self._fresh.add(made, Role.OWNER)
        return made.text

    def redeem(self, text: str) -> str | None:
        """What a session holds in the place of a link, which signs nobody in again; None if it is no fresh link."""
        with self._lock:
            token = self._fresh.find(text)
            if token is None:
                return None
            self._fresh.revoke(token.id)
        held = Made.new()
        self._used.add(held, Role.OWNER)
        if self._tell is not None:
            self._tell(self.new())
        return held.text

    def find(self, text: str) -> Token | None:
        """Whoever signed in by a link."""
        return self._used.find(text)

    def close(self) -> None:
        self._fresh.close()
        self._used.close()
