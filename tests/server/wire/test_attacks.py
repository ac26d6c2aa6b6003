"""What an attacker tries on the port: lengths, floods, half-open TLS, downgrades, names that lead back to themselves,
and settings that say more than they seem to. Each was found by reading `server/wire` as one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest

from discreet.server.wire import inference, protocol, translation
from discreet.server.wire import statements as s
from discreet.server.wire.portals import Held
from discreet.server.wire.problems import Failed
from discreet.server.wire.protocol import Malformed, message_of, startup_of
from discreet.server.wire.settings import Settings
from discreet.server.wire.stream import Ended, Stream
from discreet.server.wire.transactions import MAX_SAVEPOINTS, Transactions
from tests.server.running import HELD, Running, until
from tests.server.wire.client import (
    LONG,
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
from tests.server.wire.test_asking import charges, new

TLS = Path(__file__).parents[1] / "tls"
SSL = struct.pack("!ii", 8, protocol.SSL)
COST = {"discreet.epsilon": "0.01"}


# bytes


WHOLE = {
    "Q": query("SELECT 'ß'"),
    "P": parse("SELECT $1::text", "name", 25, 0),
    "B": bind("a", "b", portal="p", name="name"),
    "D": describe("S", "name"),
    "C": framed(b"C", b"Sname\0"),
    "E": execute(5, "p"),
    "p": framed(b"p", b"secret\0"),
}


@pytest.mark.parametrize("letter", WHOLE)
def test_messages_cut_at_any_length_are_no_messages(letter: str) -> None:
    whole = WHOLE[letter][5:]
    assert message_of(letter.encode(), whole) is not None
    for length in range(len(whole)):
        with pytest.raises(Malformed):
            message_of(letter.encode(), whole[:length])
    with pytest.raises(Malformed):
        message_of(letter.encode(), whole + b"\0")


def test_starts_cut_at_any_length_are_no_starts() -> None:
    whole = startup(user="me", database="hospital", options="-c discreet.epsilon=0.1")[4:]
    assert isinstance(startup_of(whole), protocol.Startup)
    for length in range(len(whole)):
        with pytest.raises(Malformed):
            startup_of(whole[:length])


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 3, protocol.MAX_MESSAGE + 5, 2**31 - 1])
def test_lengths_that_are_too_small_or_too_large_are_not_believed(length: int) -> None:
    with pytest.raises(Malformed):
        protocol.length_of(struct.pack("!i", length), protocol.MAX_MESSAGE)


@pytest.mark.parametrize("text", ["SELECT '\0'", "SELECT 1\0; SELECT 2"])
def test_a_zero_byte_ends_a_text_and_what_follows_is_no_message(server: Running, text: str) -> None:
    with known(server) as raw:
        raw.send(framed(b"Q", text.encode() + b"\0"))
        assert failure([raw.message()])["C"] == "08P01"
        assert raw.rest() == b""


# before anybody is known


def test_a_flood_of_starts_shuts_out_nobody(server: Running) -> None:
    with ExitStack() as stack:
        for number in range(100):
            raw = stack.enter_context(opened(server))
            raw.send((startup(user="x", database="hospital"), startup(user="x")[:9], SSL, b"")[number % 4])
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"])
def test_no_other_way_to_sign_in_is_offered_or_taken(server: Running, mechanism: str) -> None:
    """A client that insists on SCRAM is not talked into a password, nor is a server talked out of it."""
    with pytest.raises(psycopg.OperationalError, match="authentication method requirement"):
        connect(server, require_auth="scram-sha-256")
    with opened(server) as raw:
        raw.send(startup(user="x", database="hospital"))
        assert raw.message() == ("R", struct.pack("!i", 3))
        raw.send(framed(b"p", mechanism.encode() + b"\0" + struct.pack("!i", 5) + b"n,,n="))
        assert failure([raw.message()])["S"] == "FATAL"
        assert raw.rest() == b""


def test_half_open_tls_leaves_nothing_behind() -> None:
    """Whoever wants to encrypt and goes, sends nonsense, or says nothing more is let go, and its connection counted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    left: list[Stream] = []

    async def begin(stream: Stream) -> None:
        with suppress(Ended, TimeoutError):
            await stream.startup()
            async with asyncio.timeout(0.3):  # from when it was told to go on, which it is first
                await stream.encrypt(context)
        stream.close()

    def attack(port: int, sent: bytes, *, stays: bool) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", port), LONG)
        made.sendall(SSL)
        assert made.recv(1) == b"S"
        made.sendall(sent)
        if not stays:
            made.close()
        return made

    async def attacked() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Stream(begin, left.append), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        hello = b"\x16\x03\x01\x02\x00\x01\x00"
        attacks = [(sent, stays) for sent in (b"", hello, b"garbage" * 9) for stays in (False, True)]
        made = [await loop.run_in_executor(None, partial(attack, port, sent, stays=stays)) for sent, stays in attacks]
        try:
            async with asyncio.timeout(60):
                while len(left) < len(attacks):
                    await asyncio.sleep(0.01)
        finally:
            for each in made:
                each.close()
            server.close()

    asyncio.run(asyncio.wait_for(attacked(), LONG))


def test_keys_to_cancel_cannot_be_guessed_from_others(server: Running) -> None:
    with ExitStack() as stack:
        keys = [stack.enter_context(known(server)).process for _ in range(8)]
    assert len({process for process, _ in keys}) == len({secret for _, secret in keys}) == 8
    assert max(process for process, _ in keys) > 2**20  # they are drawn, not counted


# names that lead back


def test_what_fetches_is_no_cursor_not_even_its_own(server: Running) -> None:
    with known(server) as raw:
        raw.send(query("BEGIN"))
        raw.until()
        raw.ask(parse("FETCH ALL FROM a", "a"), parse("FETCH ALL FROM b", "b"))
        for name, other in (("a", "a"), ("a", "b")):
            raw.send(query("ROLLBACK; BEGIN"))
            raw.until()
            found = raw.ask(bind(name=name, portal=other), bind(name=other, portal="a2"), describe("P", other))
            assert failure(found)["C"] in ("55000", "34000")
            raw.send(query("ROLLBACK; BEGIN"))
            raw.until()
            assert failure(raw.ask(bind(name="a", portal="a"), execute(0, "a")))["C"] == "55000"


# settings


@pytest.mark.parametrize(
    "text",
    [
        "SET discreet.epsilon = 1 0",
        "SET discreet.epsilon = 0 .5",
        "SET discreet.epsilon = 1, 0",
        "SET discreet.epsilon = 1 /* */ 0",
        "SET discreet.epsilon = '1' '0'",
        "SET discreet.epsilon = '1'0",
        "SET discreet.epsilon = 1_0",
        "SET discreet.epsilon = '１'",
        "SET discreet.epsilon = '1e999'",
        "SET discreet.epsilon = 'nan'",
        "SET discreet.epsilon = ''' OR 1=1 --'",
        "SET discreet.epsilon = $$1;$$",
        "SET discreet.epsilon =",
        "SET discreet.epsilon = ,",
        "SET discreet.epsilon = 1,",
        "SET discreet.epsilon = (SELECT 1)",
        "SET discreet.group_size = '٣'",
        'SET "discreet.epsilon; DROP" = 1',
        "SET discreet.epsilon.x = 1",
    ],
)
def test_settings_that_say_two_things_are_refused(text: str) -> None:
    with pytest.raises(Failed):
        run(Transactions(Settings()), text)


@pytest.mark.parametrize("value", ["0.1", "1e-6", "-1e-6", "+.5", "'0.1'", "2."])
def test_numbers_are_taken_as_they_are_written(value: str) -> None:
    (found,) = s.statements(f"SET discreet.epsilon = {value}")
    assert isinstance(found, s.Set)
    assert Settings().with_(found.name, found.value).value("discreet.epsilon") == value.strip("'")


def run(state: Transactions, *texts: str) -> str:
    for text in texts:
        state.done(s.statements(text)[0], Held())
    return str(state.settings.ours().get("epsilon"))


def test_what_is_set_goes_with_its_savepoint() -> None:
    state = Transactions(Settings())
    assert run(state, "SET discreet.epsilon = 1", "BEGIN", "SAVEPOINT a", "SET discreet.epsilon = 2") == "2"
    assert run(state, "SAVEPOINT b", "SET discreet.epsilon = 3", "ROLLBACK TO b") == "2"
    assert run(state, "SET discreet.epsilon = 4", "RELEASE SAVEPOINT b") == "4"
    assert run(state, "ROLLBACK WORK TO SAVEPOINT a") == "1"
    assert run(state, "ROLLBACK TO a", "SET discreet.epsilon = 5", "COMMIT") == "5"
    for text in ("ROLLBACK TO a", "RELEASE a", "SAVEPOINT a"):
        with pytest.raises(Failed, match="transaction blocks"):
            run(state, text)
    run(state, "BEGIN")
    for text in ("ROLLBACK TO a", "RELEASE a"):
        with pytest.raises(Failed, match="does not exist"):
            run(state, text)
    state.failed()
    with pytest.raises(Failed, match="aborted"):
        run(state, "RELEASE a")
    run(state, "ROLLBACK", "BEGIN", *["SAVEPOINT x"] * MAX_SAVEPOINTS)
    with pytest.raises(Failed, match="at most"):
        run(state, "SAVEPOINT x")
    for text in ("SAVEPOINT", "RELEASE"):
        with pytest.raises(Failed):
            s.statements(text)


def test_what_is_set_goes_with_what_fails_beside_it(server: Running) -> None:
    """Several statements at once are one transaction: a cost that was set there is not kept if another one fails."""
    before = charges(server)
    with known(server) as raw:
        raw.send(query("SET discreet.epsilon = 5; SET application_name = 'x'; SELECT COUNT(*) FROM doctors"))
        found = raw.until()
        assert failure(found)["C"] == "42P01"
        assert [body for letter, body in found if letter == "S"][-1] == b"application_name\0\0"
        raw.send(query(new(60)))
        assert failure(raw.until())["C"] == "55000"
        assert letters(raw.ask(parse("SET discreet.epsilon = 5"), bind(), execute(), bind(name="none"))) == "12CEZ"
        assert failure(raw.ask(parse(new(60)), bind(), execute()))["C"] == "55000"
    assert charges(server) == before


def test_each_statement_of_a_text_is_charged_by_itself(server: Running) -> None:
    before = charges(server)
    with known(server, **COST) as raw:
        raw.send(query(f"{new(61)}; {new(62)}; {new(61)}; SELECT COUNT(*) FROM doctors; {new(63)}"))
        found = raw.until()
        assert (
            letters(found) == "TDDDC" * 3 + "EZ"
        )  # what came before the failure was answered, what follows is not run
    assert charges(server) == before + 2


def test_quoted_texts_have_no_parameters() -> None:
    assert inference.count("SELECT '$5', \"$6\", $$ $7 $$, $2") == 2


def test_a_text_put_into_a_text_stays_one(server: Running) -> None:
    hostile = "A'; SET discreet.epsilon = 9; SELECT COUNT(*) FROM patients; --"
    with connect(server, options="-c discreet.epsilon=0.01") as connection:
        text = "SELECT COUNT(*) AS n FROM patients WHERE ward = %s"
        assert len(connection.execute(text, (hostile,)).fetchall()) == 1
        assert connection.execute("SELECT %s::text", (hostile,)).fetchone() == (hostile,)
        assert connection.execute("SHOW discreet.epsilon").fetchone() == ("0.01",)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT relname FROM pg_class UNION SELECT zip FROM patients",
        "SELECT (SELECT MIN(zip) FROM patients) FROM pg_class",
        "SELECT * FROM pg_class c JOIN patients p ON true",
        "SELECT relname FROM pg_class WHERE EXISTS (SELECT 1 FROM patients WHERE zip = '02131')",
        "WITH x AS (SELECT zip FROM patients) SELECT * FROM x, pg_class",
        "SELECT relname FROM pg_class UNION ALL SELECT zip FROM public.patients",
        "WITH pg_class AS (SELECT zip AS relname FROM patients) SELECT relname FROM pg_class",
        "SELECT relname FROM pg_class, LATERAL (SELECT zip FROM patients) z",
        "DECLARE c CURSOR WITH HOLD FOR SELECT relname FROM pg_class UNION SELECT zip FROM patients",
        "COPY (SELECT zip FROM patients) TO STDOUT",
        "COPY patients FROM STDIN",
    ],
)
def test_no_question_about_the_catalogue_reaches_a_row(server: Running, text: str) -> None:
    before = charges(server)
    with known(server, **COST) as raw:
        raw.send(query(text))
        found = raw.until()
        assert "D" not in letters(found)
        assert "0213" not in "".join(failure(found).values()).replace(text, "")
    assert charges(server) == before


def test_a_table_of_ones_own_hides_a_private_one_only_outside_of_itself() -> None:
    assert translation.read("WITH patients AS (SELECT 5 AS x) SELECT x FROM patients") is not None
    assert translation.read("WITH patients AS (SELECT * FROM patients) SELECT COUNT(*) FROM patients") is None
    assert translation.read("WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n FROM x) SELECT n FROM x") is not None


def test_a_question_in_ones_own_with_is_for_the_planner(server: Running) -> None:
    text = "WITH patients AS (SELECT * FROM patients WHERE age < 64) SELECT COUNT(*) AS n FROM patients"
    with connect(server, options="-c discreet.epsilon=0.01") as connection:
        assert len(connection.execute(text).fetchall()) == 1


# who goes


def test_whoever_goes_in_the_middle_of_a_charge_stays_charged_once(rigged: Running) -> None:
    with rigged.client() as client:
        before = len(client.get("datasets/hospital/ledger").json()["entries"])
        with known(rigged, **COST) as raw:
            raw.send(query(HELD.replace("held", "held in the middle")))
            rigged.begun(1)
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # cut, not closed
        with known(rigged, **COST) as raw:
            raw.send(query("SELECT 1"))
            assert letters(raw.until()) == "TDCZ"
        assert client.get("health").json()["running"] == 1
        rigged.release()
        until(lambda: client.get("health").json()["running"] == 0)
        (entry,) = client.get("datasets/hospital/ledger").json()["entries"][before:]
        assert entry["answered"], "what ran is kept for the next time"


def test_what_is_described_and_never_executed_is_free(server: Running) -> None:
    before = charges(server)
    with known(server, **{"discreet.epsilon": "5"}) as raw:
        raw.send(query("BEGIN"))
        raw.until()
        raw.ask(parse(new(65), "a"))
        for number in range(10):
            assert letters(raw.ask(bind(name="a", portal=f"p{number}"), describe("P", f"p{number}"))) == "2TZ"
        raw.send(query(f"DECLARE c CURSOR FOR {new(65)}; MOVE 0 FROM c; ROLLBACK"))
    assert charges(server) <= before + 1
