"""Collectors for tests: in this process, in a process of their own, and behind a proxy that records every byte."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from discreet.collector import Survey, parse
from discreet.collector.app import application
from discreet.collector.collection import Collection
from discreet.collector.store import Store
from discreet.server.tokens import Made, Role, Tokens
from tests.forked import Forked, forked
from tests.server.running import environment

SURVEY = """
title = "Habits"
epsilon = 1.0
estimates = "open"
[questions.smoker]
text = "Do you <b>smoke</b>?"
kind = "yes-no"
[questions.way]
text = "How do you come to work?"
kind = "choice"
choices = ["on foot", "by bicycle", "by bus", "<script>alert(1)</script>"]
[questions.hours]
text = "How many hours did you sleep?"
kind = "number"
min = 0
max = 12
"""
ANSWERS = {"smoker": True, "way": "by bus", "hours": 7.25}
URL = "http://127.0.0.1:8010"


@dataclass
class Site:
    """A collector in this process."""

    survey: Survey
    store: Store
    collection: Collection
    token: str
    app: Any

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.together([(method, path, more)])[0]

    def together(self, requests: list[tuple[str, str, dict[str, Any]]]) -> list[httpx.Response]:
        """All of them at once."""

        async def sent() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
                return list(await asyncio.gather(*(client.request(*each[:2], **each[2]) for each in requests)))

        return asyncio.run(sent())

    def body(self, answers: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
        """A submission as clients send it."""
        given = answers or ANSWERS
        reports = {q.id: q.mechanism.encode(q.value(given[q.id])).hex() for q in self.survey.questions}
        number = Made.new().digest[:32]
        return {"survey": self.survey.fingerprint, "number": number, "reports": reports, **changed}

    def post(self, body: Any, **more: Any) -> httpx.Response:
        return self.send("POST", "/api/v1/reports", json=body, **more)


@contextmanager
def site(path: Path, text: str = SURVEY, **options: Any) -> Iterator[Site]:
    survey = parse(text.encode())
    store = Store(path, survey)
    collection = Collection(survey, store, **options)
    owners, made = Tokens(None), Made.new()
    owners.add(made, Role.OWNER)
    try:
        yield Site(survey, store, collection, made.text, application(collection, owners, hosts=["127.0.0.1"]))
    finally:
        store.close()
        owners.close()


@dataclass
class Running:
    """`discreet collect` in a process of its own."""

    process: Forked
    url: str
    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "survey.duckdb"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def collecting(folder: Path, text: str = SURVEY, *options: str) -> Iterator[Running]:
    file = folder / "survey.toml"
    file.write_text(text, encoding="utf-8")
    process = forked("discreet.cli", "collect", str(file), "--port", "0", *options, environment=environment())
    try:
        line = next((line for line in process.stderr if line.startswith("serving ")), "")
        assert line, f"it did not start: {process.wait()}"
        yield Running(process, line.split()[-1], folder)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


@dataclass
class Recorder:
    """A proxy in between: all that went to the server, connection by connection."""

    url: str
    sent: list[bytearray] = field(default_factory=list)

    def everything(self) -> bytes:
        return b"".join(map(bytes, self.sent))

    def requests(self) -> list[tuple[str, dict[str, str], bytes]]:
        """Each request: its first line, its headers, its body."""
        found = []
        for stream in map(bytes, self.sent):
            while stream:
                head, _, rest = stream.partition(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines)
                length = int({name.lower(): value for name, value in headers.items()}.get("content-length", 0))
                found.append((first, headers, rest[:length]))
                stream = rest[length:]
        return found


@contextmanager
def recording(url: str) -> Iterator[Recorder]:
    """Whoever speaks to the recorder speaks to the server, and is written down."""
    host, _, port = url.removeprefix("http://").partition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    recorder = Recorder(f"http://127.0.0.1:{listener.getsockname()[1]}")
    open_now: list[socket.socket] = [listener]

    def pump(source: socket.socket, target: socket.socket, record: bytearray | None) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                if record is not None:
                    record += data
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((host, int(port)))
                open_now.extend((near, far))
                record = bytearray()
                recorder.sent.append(record)
                for arguments in ((near, far, record), (far, near, None)):
                    threading.Thread(target=pump, args=arguments, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield recorder
    finally:
        for each in open_now:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
