"""Clients that mean no good: what they send is refused or ends their connection, and nobody else notices."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from discreet.errors import Refused
from discreet.policy import read
from discreet.server import run
from discreet.server.listening import Listening
from discreet.server.tokens import Tokens
from discreet.server.wire import protocol, translation
from discreet.server.wire.portals import MAX_UNDERSTOOD, Held, Portal, Prepared
from discreet.server.wire.problems import Failed
from discreet.server.wire.settings import Settings
from discreet.server.wire.statements import Select
from tests.server.running import ENDLESS, HELD, Running, build, serving, token, until
from tests.server.wire.client import (
    Raw,
    address,
    bind,
    connect,
    describe,
    execute,
    failure,
    framed,
    known,
    letters,
    opened,
    parse,
    query,
    startup,
)

TLS = Path(__file__).parents[1] / "tls"


def answers(server: Running) -> bool:
    with known(server) as raw:
        raw.send(query("SELECT 1"))
        return letters(raw.until()) == "TDCZ"


FIRST = {
    "nothing": b"",
    "http": b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    "zeros": b"\0" * 100,
    "negative": struct.pack("!i", -5) + b"x" * 50,
    "huge": struct.pack("!i", 2**31 - 1) + b"x" * 50,
    "cut": startup(user="x")[:-3],
    "version 2": struct.pack("!ii", 8, 2 << 16),
    "no user": startup(database="hospital"),
    "tls hello": b"\x16\x03\x01\x02\x00\x01\x00",
    "encrypted thrice": struct.pack("!ii", 8, protocol.SSL) * 4,
    "cancel nobody": struct.pack("!iiii", 16, protocol.CANCEL, 1, 2),
    "query first": query("SELECT 1"),
}


@pytest.mark.parametrize("name", FIRST)
def test_connections_that_begin_badly(server: Running, name: str) -> None:
    with opened(server) as raw:
        raw.send(FIRST[name])
        raw.socket.shutdown(1)
        found = raw.rest()
        assert b"hospital" not in found
        assert not found.startswith(b"R")  # nobody was asked for a password
    assert answers(server)


def test_a_password_is_the_next_thing(server: Running) -> None:
    for sent in (
        query("SELECT 1"),
        framed(b"p", b"x" * 5000 + b"\0"),
        framed(b"p", b"no end"),
        struct.pack("!ci", b"p", -1),
    ):
        with opened(server) as raw:
            raw.send(startup(user="x", database="hospital"))
            raw.message()
            raw.send(sent)
            assert failure([raw.message()])["S"] == "FATAL"
            assert raw.rest() == b""


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack("!ci", b"Q", 2**31 - 1),
        struct.pack("!ci", b"Q", -1),
        struct.pack("!ci", b"Q", 2**20 + 5),
        framed(b"Q", b"no end"),
        framed(b"Q", b"\xff\0"),
        framed(b"?", b"x"),
        framed(b"B", b"\0\0" + struct.pack("!hh", 0, -1)),
        framed(b"P", b"\0select 1\0" + struct.pack("!h", 30000)),
        framed(b"p", b"again\0"),
    ],
    ids=repr,
)
def test_what_is_no_message_ends_the_connection(server: Running, sent: bytes) -> None:
    with known(server) as raw:
        raw.send(sent)
        told = failure([raw.message()])
        assert (told["S"], told["C"]) == ("FATAL", "08P01")
        assert raw.rest() == b""
    assert answers(server)


def test_messages_in_the_wrong_order(server: Running) -> None:
    with known(server) as raw:
        for sent, state in (
            (execute(), "34000"),
            (describe("P", "x"), "34000"),
            (describe("S", "x"), "26000"),
            (bind(name="x"), "26000"),
            (parse("SELECT 1; SELECT 2"), "42601"),
            (framed(b"F", b"anything"), "0A000"),
        ):
            found = raw.ask(sent, parse("SELECT 1"), bind(), execute())  # all that follows is left out
            assert failure(found)["C"] == state
            assert letters(found) == "EZ"
        assert letters(raw.ask(framed(b"d", b"rows"), framed(b"c"), framed(b"H"))) == "Z"
        assert letters(raw.ask(parse(""), bind(), describe(), execute())) == "12nIZ"
        raw.ask(parse("SELECT $1::text"), bind("a"))
        assert failure(raw.ask(parse("SELECT $1::text"), bind()))["C"] == "08P01"
        assert failure(raw.ask(parse("SELECT $60000")))["C"] == "54023"


def test_what_is_told_steers_no_terminal(server: Running) -> None:
    with known(server) as raw:
        for text in (
            'SET "a\x1b[2J" = 1',
            'FETCH "a\x1b[2J"',
            'SELECT * FROM pg_catalog."a\x1b[2J"',
            'SELECT "a\x1b[2J"(1)',
        ):
            raw.send(query(text))
            told = failure(raw.until())
            assert "\x1b" not in "".join(told.values())


def test_a_session_holds_so_much_and_no_more(server: Running) -> None:
    with known(server) as raw:
        raw.send(b"".join(parse("SELECT 1", f"s{number}") for number in range(520)) + framed(b"S"))
        found = raw.until()
        assert failure(found)["C"] == "53400"
        assert letters(found).count("1") == 500
        raw.send(query("DEALLOCATE ALL; BEGIN"))
        raw.until()
        raw.ask(parse("SELECT 1", "a"))
        found = raw.ask(*(bind(name="a", portal=f"p{number}") for number in range(30)))
        assert failure(found)["C"] == "53400"
        assert letters(found).count("2") == 20


def test_of_questions_about_the_catalogue_a_session_holds_few() -> None:
    """Each is a tree, three hundred times as large as its text: two million letters of them took 700 megabytes."""
    held, numbers = Held(), ",".join(["1"] * 9000)

    def understood(number: int) -> Prepared:
        text = f"SELECT oid FROM pg_class WHERE oid IN ({numbers}, {number})"
        return Prepared(text, Select(text), (), translation.read(text))

    first = understood(0)
    most = MAX_UNDERSTOOD // len(first.text)
    many = [first, *(replace(first, about_catalogue=copy(first.about_catalogue)) for _ in range(most))]
    assert first.about_catalogue is not None
    for number, each in enumerate(many[:-2]):
        held.add_statement(f"s{number}", each)
        held.add_portal(f"p{number}", Portal(each, Settings(user="x")))  # the same tree: no more of it
    held.add_portal("p", Portal(many[-2], Settings(user="x")))
    too_many = "too many questions about the catalogue"
    with pytest.raises(Failed, match=too_many):
        held.add_statement("more", many[-1])
    with pytest.raises(Failed, match=too_many):
        held.add_portal("more", Portal(many[-1], Settings(user="x")))
    held.portals.pop("p")
    held.add_statement("more", many[-1])


def test_connections_of_one_token_are_counted(server: Running) -> None:
    made: list[Raw] = []
    opens = [known(server) for _ in range(32)]
    try:
        made += [each.__enter__() for each in opens]
        with pytest.raises(psycopg.OperationalError, match="at most 32 connections"):
            connect(server)
        connect(server, "finance").close()
    finally:
        for each in opens[: len(made)]:
            each.__exit__(None, None, None)
    until(lambda: _connects(server))


def _connects(server: Running) -> bool:
    try:
        connect(server).close()
    except psycopg.OperationalError:
        return False
    return True


def test_revoked_tokens_end_their_sessions(server: Running) -> None:
    text = token(server.policy, "analyst", "finance")
    with psycopg.connect(**{**address(server), "password": text}, autocommit=True) as connection:
        connection.execute("SELECT 1")
        tokens = Tokens.of(read(server.policy))
        tokens.revoke(text.split("_")[1])
        tokens.close()
        with pytest.raises(psycopg.errors.AdminShutdown, match="revoked"):
            connection.execute("SELECT 1")
        assert connection.closed


# cancelling


def test_cancelling_reaches_the_engine_and_the_charge_stays(rigged: Running) -> None:
    with known(rigged, **{"discreet.epsilon": "0.01"}) as raw, rigged.client() as client:
        before = len(client.get("datasets/hospital/ledger").json()["entries"])
        raw.send(query(ENDLESS))
        rigged.begun(1)
        with opened(rigged) as other:
            other.send(struct.pack("!iiII", 16, protocol.CANCEL, *raw.process))
            assert other.rest() == b""
        told = failure(raw.until())
        assert told["C"] == "57014"
        assert "stays spent" in told["M"]
        entries = client.get("datasets/hospital/ledger").json()["entries"]
        assert [entry["answered"] for entry in entries[before:]] == [False]
        raw.send(query("SELECT 1"))
        assert letters(raw.until()) == "TDCZ"


def test_a_time_limit_of_the_session_cancels(rigged: Running) -> None:
    options = "-c discreet.epsilon=0.01 -c statement_timeout=50ms"
    with connect(rigged, options=options) as connection, pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(ENDLESS)


def test_others_cannot_cancel(rigged: Running) -> None:
    with known(rigged, **{"discreet.epsilon": "0.01"}) as raw:
        raw.send(query(HELD.replace("held", "held by one")))
        rigged.begun(1)
        process, secret = raw.process
        for wrong in ((process, secret ^ 1), (process ^ 1, secret)):
            with opened(rigged) as other:
                other.send(struct.pack("!iiII", 16, protocol.CANCEL, *wrong))
                assert other.rest() == b""
        rigged.release()
        assert letters(raw.until()) == "TDCZ"


def test_whoever_is_gone_is_not_waited_for(rigged: Running) -> None:
    with (
        known(rigged, **{"discreet.epsilon": "0.01"}) as first,
        known(rigged, **{"discreet.epsilon": "0.01"}) as second,
    ):
        first.send(query(HELD.replace("held", "held by nobody")))
        second.send(query(HELD.replace("held", "held by nobody else")))
        rigged.begun(1)
    with rigged.client() as client:
        rigged.release()
        until(lambda: client.get("health").json()["running"] == 0)
    assert answers(rigged)


def test_slow_messages_end_the_connection(rigged: Running) -> None:
    """A rigged server has little patience: with a start, a password and a message that do not come to their end."""
    with opened(rigged) as raw:
        raw.send(startup(user="x")[:10])
        assert raw.rest() == b""
    with opened(rigged) as raw:
        raw.send(startup(user="x", database="hospital"))
        raw.message()
        assert raw.rest() == b""
    with known(rigged) as raw, known(rigged) as patient:
        raw.send(query("SELECT 1")[:7])
        assert raw.rest() == b""
        patient.send(query("SELECT 1"))  # who says nothing is waited for
        assert letters(patient.until()) == "TDCZ"


# TLS


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    policy = build(tmp_path_factory.mktemp("wire"), patients=10)
    given = ("--certificate", str(TLS / "server.pem"), "--key", str(TLS / "server.key"), "--pg-port", "0")
    with serving(policy, *given) as running:
        yield running


def test_with_a_certificate_all_is_encrypted(encrypted: Running) -> None:
    verified = {"sslmode": "verify-full", "sslrootcert": str(TLS / "authority.pem"), "host": "localhost"}
    with connect(encrypted, **verified) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert connection.pgconn.ssl_in_use
    with pytest.raises(psycopg.OperationalError, match="over TLS only"):
        connect(encrypted, sslmode="disable")


def test_a_cost_that_was_found_is_confirmed_where_it_is_large(encrypted: Running) -> None:
    """Where nobody else spends: what is left decides."""
    text = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
    with connect(encrypted, "owner", sslmode="require", options="-c discreet.error=0.5") as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="confirm-cost") as raised:
            connection.execute(text)
        connection.execute(str(raised.value.diag.message_hint).partition(",")[0])  # what it says can be sent
        assert len(connection.execute(text).fetchall()) == 3


def test_nothing_in_clear_gets_into_an_encrypted_connection(encrypted: Running) -> None:
    with opened(encrypted) as raw:
        raw.send(struct.pack("!ii", 8, protocol.SSL) + startup(user="x", database="hospital"))
        found = raw.rest()
        assert found.startswith(b"E")
        assert b"08P01" in found


def test_a_server_without_a_certificate_says_so(server: Running) -> None:
    with pytest.raises(psycopg.OperationalError, match="SSL"):
        connect(server, sslmode="require")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_tokens_are_not_sent_in_clear_over_a_network(host: str) -> None:
    with pytest.raises(Refused, match="in clear") as raised:
        run._wire(Listening(host=host), 0)
    assert raised.value.code == "address"


def test_it_is_loaded_for_its_port_alone() -> None:
    """Nothing outside imports it, but for one line inside of a function."""
    source = Path(run.__file__).parents[1]
    inside = source / "server" / "wire"
    found = [
        (path.name, line)
        for path in source.rglob("*.py")
        if not path.is_relative_to(inside)
        for line in path.read_text(encoding="utf-8").splitlines()
        if "server.wire" in line and "import" in line
    ]
    assert found == [("run.py", "    from discreet.server.wire.serving import Wire")]
