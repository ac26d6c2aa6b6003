"""The server that clients talk to."""

from tests.server.conftest import server

__all__ = ["server"]
