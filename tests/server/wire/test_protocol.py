"""Messages: what is one is read, and all else is Malformed, whatever its lengths say."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.server.wire import protocol
from discreet.server.wire.protocol import (
    Bind,
    Cancel,
    Close,
    Describe,
    Encryption,
    Execute,
    Field,
    Malformed,
    Parse,
    Query,
    Startup,
)
from tests.server.wire import client


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (client.query("SELECT 1"), Query("SELECT 1")),
        (client.parse("SELECT $1", "a", 23, 0), Parse("a", "SELECT $1", (23, 0))),
        (client.bind("x", "", portal="p", name="a"), Bind("p", "a", (), (b"x", b""), ())),
        (client.describe("S", "a"), Describe("S", "a")),
        (client.execute(7, "p"), Execute("p", 7)),
        (client.execute(-7), Execute("", 0)),
        (client.framed(b"C", b"Pc\0"), Close("P", "c")),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_clients_send(sent: bytes, message: protocol.Message) -> None:
    assert protocol.length_of(sent[1:5], 100) == len(sent) - 5
    assert protocol.message_of(sent[:1], sent[5:]) == message


def test_nothing_is_read_beyond_the_end_of_a_message() -> None:
    """Every message that is cut, and every one with something behind it."""
    for sent in (client.parse("SELECT $1", "a", 23), client.bind("x", "y"), client.execute(7), client.describe()):
        for cut in range(5, len(sent)):
            with pytest.raises(Malformed):
                protocol.message_of(sent[:1], sent[5:cut])
        with pytest.raises(Malformed):
            protocol.message_of(sent[:1], sent[5:] + b"\0")


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 3, 2**20 + 5, 2**31 - 1])
def test_lengths_that_make_no_sense(length: int) -> None:
    with pytest.raises(Malformed):
        protocol.length_of(struct.pack("!i", length), protocol.MAX_MESSAGE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        struct.pack("!i", 2 << 16),  # version 2
        struct.pack("!i", 3 << 16) + b"user\0",
        struct.pack("!i", 3 << 16) + b"user\0x\0",
        struct.pack("!i", 3 << 16) + b"user\0\xff\0\0",
        struct.pack("!i", 3 << 16) + b"\0more",
        struct.pack("!ii", protocol.CANCEL, 1),
        struct.pack("!iiii", protocol.CANCEL, 1, 2, 3),
        struct.pack("!ii", protocol.SSL, 0),
    ],
    ids=repr,
)
def test_what_no_connection_begins_with(data: bytes) -> None:
    with pytest.raises(Malformed):
        protocol.startup_of(data)


def test_how_connections_begin() -> None:
    assert protocol.startup_of(client.startup(user="me", database="x")[4:]) == Startup(
        0, {"user": "me", "database": "x"}
    )
    assert protocol.startup_of(struct.pack("!i", protocol.SSL)) == Encryption(tls=True)
    assert protocol.startup_of(struct.pack("!iII", protocol.CANCEL, 2**31, 2**32 - 1)) == Cancel(2**31, 2**32 - 1)


@settings(max_examples=80)
@given(st.binary(max_size=60), st.sampled_from(sorted(protocol.FRONTEND)))
def test_any_bytes_are_a_message_or_malformed(data: bytes, letter: bytes) -> None:
    for read in (lambda: protocol.startup_of(data), lambda: protocol.message_of(letter, data)):
        try:
            read()
        except Malformed:
            continue


def test_formats_are_for_all_or_for_each() -> None:
    head = b"\0\0"
    for formats in ((2,), (0, 1, 0), (-1,)):
        counts = struct.pack(f"!h{len(formats)}h", len(formats), *formats)
        with pytest.raises(Malformed):
            protocol.message_of(b"B", head + counts + struct.pack("!hihih", 2, 0, 0, 0, 0)[:10] + struct.pack("!h", 0))
    assert protocol.format_of((), 3) == 0
    assert protocol.format_of((1,), 3) == 1
    assert protocol.format_of((0, 1), 1) == 1


def test_what_is_sent() -> None:
    assert protocol.row([b"a", None, b""]) == b"D\0\0\0\x13\0\x03\0\0\0\x01a\xff\xff\xff\xff\0\0\0\0"
    assert protocol.complete("SELECT 1") == b"C\0\0\0\x0dSELECT 1\0"
    told = protocol.description([Field("n", 20, 8)], (1,))
    assert told[5:] == b"\0\x01n\0" + struct.pack("!IhIhih", 0, 0, 20, 8, -1, 1)
    assert client.fields(protocol.error({"S": "ERROR", "C": "42601", "H": ""})[5:]) == {"S": "ERROR", "C": "42601"}
    assert b"\0" not in protocol.setting("a", "x\0y")[7:-1].replace(b"\0", b"", 0)[:1]  # a NUL in a text ends nothing
    assert protocol.setting("a", "x\0y") == protocol.framed(b"S", b"a\0", "x\ufffdy".encode(), b"\0")
