from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.server.running import Running


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    """An analyst's, of the server that all tests share."""
    with server.client() as opened:
        yield opened
