"""Messages of PostgreSQL's protocol, version 3: bytes to values and back. Pure: nothing here reads, waits or decides.

Whatever a client sends is either a message or `Malformed`; no length in it is believed before the bytes are there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MAJOR: Final = 3
SSL: Final = 80877103
GSS: Final = 80877104
CANCEL: Final = 80877102
MAX_STARTUP: Final = 10_000
MAX_PASSWORD: Final = 1000
MAX_MESSAGE: Final = 2**20
"""Bytes of a message: before somebody is known, and afterwards as many as a request over HTTP may have."""
HEADER: Final = 5
TEXT: Final = 0
BINARY: Final = 1


class Malformed(Exception):  # noqa: N818  (what was sent is)
    """What was sent is no message: there is no telling where the next one begins."""


# what clients send


@dataclass(frozen=True, slots=True)
class Encryption:
    """A wish to encrypt, before anything else: TLS, or GSSAPI, which is not known here."""

    tls: bool


@dataclass(frozen=True, slots=True)
class Cancel:
    """A wish to end what another connection asked."""

    process: int
    secret: int


@dataclass(frozen=True, slots=True)
class Startup:
    """Who wants to talk about which database, and with which settings."""

    minor: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Password:
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """Of a statement (S) or a portal (P)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Close:
    """Of a statement (S) or a portal (P)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    portal: str
    most: int
    """Rows at most; 0 means all."""


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The oldest way to call a function; nobody needs it."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Rows for a COPY that nobody began: PostgreSQL leaves them out, too."""


Message = (
    Password | Query | Parse | Bind | Describe | Close | Execute | Sync | Flush | Terminate | FunctionCall | Copied
)


class Body:
    """The inside of a message, read from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            raise Malformed("the message is shorter than it says")
        self._at += count
        return self._data[self._at - count : self._at]

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def uint32(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def count(self) -> int:
        """How many of something follow: PostgreSQL counts to 65,535."""
        return int.from_bytes(self.take(2), "big")

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise Malformed("a text in the message does not end")
        written = self.take(end - self._at)
        self._at += 1
        try:
            return written.decode()
        except UnicodeDecodeError:
            raise Malformed("a text in the message is not UTF-8") from None

    def end(self) -> None:
        if self._at != len(self._data):
            raise Malformed("the message is longer than it should be")


def length_of(header: bytes, most: int) -> int:
    """How many bytes follow a length, which counts itself."""
    length = int.from_bytes(header, "big", signed=True) - 4
    if not 0 <= length <= most:
        raise Malformed("the length of the message makes no sense")
    return length


def startup_of(data: bytes) -> Encryption | Cancel | Startup:
    """The first message, which alone has no letter in front."""
    body = Body(data)
    code = body.int32()
    if code in (SSL, GSS):
        body.end()
        return Encryption(code == SSL)
    if code == CANCEL:
        wanted = Cancel(body.uint32(), body.uint32())
        body.end()
        return wanted
    if code >> 16 != MAJOR:
        raise Malformed("only version 3 of the protocol is spoken here")
    parameters: dict[str, str] = {}
    while name := body.text():
        parameters[name] = body.text()
    body.end()
    return Startup(code & 0xFFFF, parameters)


def _parse(body: Body) -> Parse:
    return Parse(body.text(), body.text(), tuple(body.uint32() for _ in range(body.count())))


def _bind(body: Body) -> Bind:
    portal, statement = body.text(), body.text()
    formats = tuple(body.int16() for _ in range(body.count()))
    values = tuple(_value(body) for _ in range(body.count()))
    results = tuple(body.int16() for _ in range(body.count()))
    if len(formats) not in (0, 1, len(values)) or not {*formats, *results} <= {TEXT, BINARY}:
        raise Malformed("formats are 0 or 1, for all or for each")
    return Bind(portal, statement, formats, values, results)


def _value(body: Body) -> bytes | None:
    length = body.int32()
    return None if length == -1 else body.take(length)


def _named(kind: type[Describe] | type[Close], body: Body) -> Describe | Close:
    letter = body.take(1).decode("latin-1")
    if letter not in ("S", "P"):
        raise Malformed("only statements and portals have descriptions and ends")
    return kind(letter, body.text())


def _ignored(message: Message) -> Callable[[Body], Message]:
    def read(body: Body) -> Message:
        body.take(len(body._data) - body._at)
        return message

    return read


FRONTEND: Final[dict[bytes, Callable[[Body], Message]]] = {
    b"p": lambda body: Password(body.text()),
    b"Q": lambda body: Query(body.text()),
    b"P": _parse,
    b"B": _bind,
    b"D": lambda body: _named(Describe, body),
    b"C": lambda body: _named(Close, body),
    b"E": lambda body: Execute(body.text(), max(0, body.int32())),
    b"S": lambda _: Sync(),
    b"H": lambda _: Flush(),
    b"X": lambda _: Terminate(),
    b"F": _ignored(FunctionCall()),
    b"d": _ignored(Copied()),
    b"c": _ignored(Copied()),
    b"f": _ignored(Copied()),
}


def message_of(letter: bytes, data: bytes) -> Message:
    """A message by its letter and what is inside."""
    read = FRONTEND.get(letter)
    if read is None:
        raise Malformed("no message begins with this letter")
    body = Body(data)
    message = read(body)
    body.end()
    return message


# what a server sends


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result: its name, the number of its type, and how many bytes a value has (-1: it depends)."""

    name: str
    type: int
    size: int


def framed(letter: bytes, *parts: bytes) -> bytes:
    data = b"".join(parts)
    return letter + struct.pack("!i", len(data) + 4) + data


def _string(text: str) -> bytes:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace") + b"\0"


PASSWORD_WANTED: Final = framed(b"R", struct.pack("!i", 3))
WELCOME: Final = framed(b"R", struct.pack("!i", 0))
PARSED: Final = framed(b"1")
BOUND: Final = framed(b"2")
CLOSED: Final = framed(b"3")
NO_DATA: Final = framed(b"n")
SUSPENDED: Final = framed(b"s")
EMPTY: Final = framed(b"I")
ENCRYPTED: Final = b"S"
IN_CLEAR: Final = b"N"


def negotiated(unknown: Sequence[str]) -> bytes:
    """The newest version that is spoken here, 3.0, and the options that are not known."""
    return framed(b"v", struct.pack("!ii", 0, len(unknown)), *map(_string, unknown))


def setting(name: str, value: str) -> bytes:
    return framed(b"S", _string(name), _string(value))


def key(process: int, secret: int) -> bytes:
    """With this a client can cancel what it asks."""
    return framed(b"K", struct.pack("!II", process, secret))


def ready(state: str) -> bytes:
    """I: idle, T: in a transaction, E: in one that failed."""
    return framed(b"Z", state.encode())


def parameters(types: Sequence[int]) -> bytes:
    return framed(b"t", struct.pack("!H", len(types)), *(struct.pack("!I", each) for each in types))


def description(fields: Sequence[Field], formats: Sequence[int] = ()) -> bytes:
    parts = [struct.pack("!H", len(fields))]
    for index, field in enumerate(fields):
        numbers = (0, 0, field.type, field.size, -1, format_of(formats, index))
        parts.append(_string(field.name) + struct.pack("!IhIhih", *numbers))
    return framed(b"T", *parts)


def row(cells: Iterable[bytes | None]) -> bytes:
    parts = [struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells]
    return framed(b"D", struct.pack("!H", len(parts)), *parts)


def complete(tag: str) -> bytes:
    return framed(b"C", _string(tag))


def error(fields: Mapping[str, str]) -> bytes:
    return framed(b"E", *_fields(fields))


def notice(fields: Mapping[str, str]) -> bytes:
    return framed(b"N", *_fields(fields))


def _fields(fields: Mapping[str, str]) -> Iterable[bytes]:
    yield from (letter.encode() + _string(text) for letter, text in fields.items() if text)
    yield b"\0"


def format_of(formats: Sequence[int], index: int) -> int:
    """Of a column or a parameter: one format for all, one for each, or text."""
    if len(formats) > 1:
        return formats[index] if index < len(formats) else TEXT
    return formats[0] if formats else TEXT
