"""What attacks over HTTP have in common: what is sent to a server, and a server that says what it likes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx

from discreet.client import Remote
from discreet.client.http import Connection

PLACE: Final = "datasets/hospital"


def post(client: httpx.Client, what: str, body: Mapping[str, Any], key: str | None = None) -> httpx.Response:
    """Ask for something, with a key of idempotency or without one."""
    headers = {"content-type": "application/json"} | ({} if key is None else {"idempotency-key": key})
    return client.post(f"{PLACE}/{what}", content=json.dumps(body), headers=headers)


def charges(client: httpx.Client) -> int:
    return len(client.get(f"{PLACE}/ledger").json()["entries"])


def nested(depth: int) -> Any:
    """A list in a list in a list …"""
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


def remote(document: Any) -> Remote:
    """A client of a server that answers this, whatever it is asked."""

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=json.dumps(document), headers={"content-type": "application/json"})

    return Remote(Connection("http://127.0.0.1:1", "t", transport=httpx.MockTransport(answer)), "hospital")
