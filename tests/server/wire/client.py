"""A client that sends any bytes: what drivers never would, and what they do, message by message."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.server.running import Running

LONG = 300.0


@dataclass
class Raw:
    """A connection, of which nothing is known."""

    socket: socket.socket
    process: tuple[int, int] = (0, 0)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError(data)
            data += part
        return data

    def message(self) -> tuple[str, bytes]:
        letter = self.exactly(1).decode()
        return letter, self.exactly(struct.unpack("!i", self.exactly(4))[0] - 4)

    def until(self, last: str = "Z") -> list[tuple[str, bytes]]:
        """All messages up to one of this letter."""
        found = [self.message()]
        while found[-1][0] != last:
            found.append(self.message())
        return found

    def rest(self) -> bytes:
        """All that comes until the other end closes."""
        data = b""
        while part := self.socket.recv(65536):
            data += part
        return data

    def ask(self, *messages: bytes) -> list[tuple[str, bytes]]:
        """Several messages of the extended protocol and a Sync."""
        self.send(b"".join(messages) + SYNC)
        return self.until()


def framed(letter: bytes, body: bytes = b"") -> bytes:
    return letter + struct.pack("!i", len(body) + 4) + body


def startup(**parameters: str) -> bytes:
    pairs = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items())
    body = struct.pack("!i", 196608) + pairs + b"\0"
    return struct.pack("!i", len(body) + 4) + body


SYNC = framed(b"S")


def query(text: str) -> bytes:
    return framed(b"Q", text.encode() + b"\0")


def parse(text: str, name: str = "", *types: int) -> bytes:
    numbers = struct.pack("!h", len(types)) + b"".join(struct.pack("!i", each) for each in types)
    return framed(b"P", f"{name}\0{text}\0".encode() + numbers)


def bind(*values: str, portal: str = "", name: str = "") -> bytes:
    cells = b"".join(struct.pack("!i", len(each)) + each.encode() for each in values)
    body = f"{portal}\0{name}\0".encode() + struct.pack("!hh", 0, len(values)) + cells + struct.pack("!h", 0)
    return framed(b"B", body)


def describe(kind: str = "P", name: str = "") -> bytes:
    return framed(b"D", f"{kind}{name}\0".encode())


def execute(most: int = 0, portal: str = "") -> bytes:
    return framed(b"E", f"{portal}\0".encode() + struct.pack("!i", most))


def letters(messages: list[tuple[str, bytes]]) -> str:
    """One letter for each, without notices and settings."""
    return "".join(letter for letter, _ in messages if letter not in "NS")


def fields(body: bytes) -> dict[str, str]:
    """Of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def failure(messages: list[tuple[str, bytes]]) -> dict[str, str]:
    return next(fields(body) for letter, body in messages if letter == "E")


def address(running: Running, who: str = "epidemiology", **more: Any) -> dict[str, Any]:
    token = running.tokens[who]
    return {"host": "127.0.0.1", "port": running.pg_port, "user": who, "password": token, "dbname": "hospital", **more}


def connect(running: Running, who: str = "epidemiology", **more: Any) -> psycopg.Connection[Any]:
    """psycopg, outside of transactions unless something else is said."""
    return psycopg.connect(**address(running, who, **{"autocommit": True, **more}))


@contextmanager
def opened(running: Running) -> Iterator[Raw]:
    """A connection on which nothing was said yet."""
    with socket.create_connection(("127.0.0.1", running.pg_port), LONG) as made:
        yield Raw(made)


@contextmanager
def known(running: Running, who: str = "epidemiology", **settings: str) -> Iterator[Raw]:
    """A connection of somebody who is known."""
    with opened(running) as raw:
        raw.send(startup(user=who, database="hospital", **settings))
        assert raw.message() == ("R", struct.pack("!i", 3))
        raw.send(framed(b"p", running.tokens[who].encode() + b"\0"))
        for letter, body in raw.until():
            if letter == "K":
                raw.process = struct.unpack("!II", body)
        yield raw
