"""Visitors of the pages, for tests: the application in this process, and people who look at it without a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from discreet.policy import read
from discreet.server.app import application
from discreet.server.datasets import Dataset, Datasets
from tests.server.running import token, until

URL = "http://127.0.0.1:8000"
BROWSER = {"accept": "text/html,application/xhtml+xml"}


@dataclass
class Seen:
    """What a page consists of."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, html: str) -> Seen:
        seen = cls()
        reader = _Reader(seen)
        reader.feed(html)
        reader.close()
        return seen

    def values(self, name: str) -> list[str]:
        """What the fields of this name hold."""
        return [given.get("value") or "" for _, given in self.tags if given.get("name") == name]


class _Reader(HTMLParser):
    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self._seen, self._inside = seen, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self._seen.texts[self._inside] = self._seen.texts.get(self._inside, "") + data


@dataclass
class Visitor:
    """Somebody with a cookie jar."""

    client: httpx.AsyncClient
    loop: asyncio.AbstractEventLoop

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.loop.run_until_complete(self.client.get(path, **more))

    def post(self, path: str, fields: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        return self.loop.run_until_complete(self.client.post(path, data=fields or {}, **more))

    def both(self, path: str, fields: dict[str, str]) -> list[httpx.Response]:
        """The same form sent twice at once."""

        async def sent() -> list[httpx.Response]:
            return list(await asyncio.gather(*(self.client.post(path, data=fields) for _ in range(2))))

        return self.loop.run_until_complete(sent())

    def proof(self, page: str = "/") -> str:
        return Seen.of(self.get(page).text).values("proof")[0]

    def send(self, path: str, **fields: str) -> httpx.Response:
        """A form of this visitor's own, as the page has it."""
        return self.post(path, {"proof": self.proof(), **fields})

    def ask(self, sql: str, epsilon: str = "0.01", **fields: str) -> str:
        """Where the answer is."""
        found = self.send("/data/hospital/ask", sql=sql, epsilon=epsilon, **fields)
        assert found.status_code == 303, found.text
        place = found.headers["location"]

        def arrived() -> httpx.Response | None:
            page = self.get(place)
            return None if 'id="waiting"' in page.text else page

        found = until(arrived) or found
        return str(found.headers.get("location", place))

    def sign_in(self, text: str) -> Visitor:
        assert self.post("/sign-in", {"token": text}).status_code == 303
        return self


@dataclass
class Site:
    """The application over one policy."""

    app: FastAPI
    policy: Path
    tokens: dict[str, str]
    loop: asyncio.AbstractEventLoop
    visitors: list[Visitor] = field(default_factory=list)

    def visitor(self, who: str = "", *, url: str = URL) -> Visitor:
        """Signed in as owner, auditor or an analyst; or as nobody."""
        transport = httpx.ASGITransport(self.app)
        made = Visitor(httpx.AsyncClient(transport=transport, base_url=url, headers=BROWSER, timeout=300), self.loop)
        self.visitors.append(made)
        return made.sign_in(self.tokens[who]) if who else made

    def close(self) -> None:
        for visitor in self.visitors:
            self.loop.run_until_complete(visitor.client.aclose())
        self.app.state.app_state.dispatcher.close()
        self.app.state.app_state.datasets.close()
        self.loop.close()


@contextmanager
def site(policy: Path) -> Iterator[Site]:
    """The pages over this policy, in this process."""
    known = read(policy)
    tokens = {role: token(policy, role) for role in ("owner", "auditor")}
    tokens |= {name: token(policy, "analyst", name) for name in known.analysts}
    app = application(Datasets([Dataset(known)]), workers=2)
    made = Site(app, policy, tokens, asyncio.new_event_loop())
    try:
        yield made
    finally:
        made.close()


def shown(html: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))
