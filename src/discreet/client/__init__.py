"""`discreet.connect`: ask a server as if it were a curator. It imports nothing of the server."""

from __future__ import annotations

from discreet.client.problems import Unreachable
from discreet.client.remote import Remote, connect

__all__ = ["Remote", "Unreachable", "connect"]
