"""The port: connections are taken in, encrypted, known by their token, and counted."""

from __future__ import annotations

import asyncio
import hmac
import ssl
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final

from discreet.errors import Problem, Refused
from discreet.errors.codes import status_of
from discreet.logs import note
from discreet.noise import SYSTEM
from discreet.server import front
from discreet.server.access import MAX_LENGTH, AppState
from discreet.server.connections import Listener
from discreet.server.datasets import Caller
from discreet.server.dispatch import LOOK
from discreet.server.problems import problem_of
from discreet.server.wire import protocol
from discreet.server.wire.catalogue import Catalogues
from discreet.server.wire.execution import Client, Execution
from discreet.server.wire.problems import Failed, failed_of
from discreet.server.wire.protocol import Cancel, Encryption, Malformed, Password, Startup
from discreet.server.wire.session import Session
from discreet.server.wire.settings import Settings, options_of
from discreet.server.wire.stream import Ended, Stream
from discreet.server.wire.transactions import Transactions
from discreet.tracing import CURRENT

MAX_OF_ONE: Final = 32
"""Connections of one token."""
LAST_SECONDS: Final = 5.0
"""For sessions to send what they have, when the server stops."""
APART: Final = frozenset({"user", "database", "options", "replication"})
"""What a client says first and what is no setting."""


class Wire:
    """All connections of one port."""

    def __init__(self, shared: AppState, listener: Listener, context: ssl.SSLContext | None) -> None:
        self.datasets, self.dispatcher = shared.datasets, shared.dispatcher
        self.rates, self._metrics, self._trace = shared.rates, shared.metrics, shared.trace
        self.catalogues = Catalogues()
        self._listener, self._context = listener, context
        self._sessions: dict[int, tuple[int, Session]] = {}
        self._held: Counter[str] = Counter()
        self._streams: set[Stream] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, sock=self._listener, backlog=64)

    async def close(self) -> None:
        """What was asked is answered first, within some seconds."""
        if self._server is not None:
            self._server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                while any(not session.is_idle for _, session in self._sessions.values()):
                    await asyncio.sleep(LOOK)
        for stream in list(self._streams):
            stream.abort()
        self.catalogues.close()

    def _connection(self) -> Stream:
        return Stream(self._serve, self._leave)

    def _leave(self, stream: Stream) -> None:
        self._streams.discard(stream)
        self._listener.ends(stream.peer)

    async def _serve(self, stream: Stream) -> None:
        """One connection, from its first byte on."""
        self._streams.add(stream)
        try:
            await self._served(stream)
        except Ended:
            pass
        except Failed as failed:
            stream.write(protocol.error(failed.fields("FATAL")))
        except Malformed as wrong:
            stream.write(protocol.error(Failed("08P01", str(wrong)).fields("FATAL")))
        except Exception as error:
            stream.write(protocol.error(failed_of(problem_of(error)).fields("FATAL")))
        finally:
            stream.close()

    async def _served(self, stream: Stream) -> None:
        try:
            async with asyncio.timeout(front.PATIENCE):
                startup = await self._startup(stream)
                if startup is None:
                    return
                session, process, secret = await self._welcomed(stream, startup)
        except TimeoutError:
            raise Ended from None
        token = session.execution.caller.token
        self._listener.begins(stream.peer)
        self._sessions[process] = secret, session
        self._held[token] += 1
        try:
            await session.serve()
        finally:
            del self._sessions[process]
            self._held -= Counter((token,))

    async def _startup(self, stream: Stream) -> Startup | None:
        """What a client wants, once encryption is settled; None if it only wants to cancel something."""
        for _ in range(3):  # GSSAPI, then TLS, then the rest
            first = await stream.startup()
            if isinstance(first, Cancel):
                self.cancel(first)
                return None
            if isinstance(first, Startup):
                if self._context is not None and not stream.is_encrypted:
                    raise Failed("28000", "this server talks over TLS only", "connect with sslmode=require or better")
                return first
            await self._encrypt(stream, first)
        raise Malformed("encryption is asked for once")

    async def _encrypt(self, stream: Stream, wish: Encryption) -> None:
        if wish.tls and self._context is not None and not stream.is_encrypted:
            await stream.encrypt(self._context)
        else:
            stream.write(protocol.IN_CLEAR)

    async def _welcomed(self, stream: Stream, startup: Startup) -> tuple[Session, int, int]:
        """The session of somebody who is known, and the secret to cancel its queries by."""
        known = startup.parameters
        if "user" not in known:
            raise Failed("28000", "no user is named in the start of the connection")
        if known.get("replication", "off").lower() not in ("off", "false", "no", "0"):
            raise Failed("0A000", "there is nothing to replicate here")
        unknown = [name for name in known if name.startswith("_pq_.")]
        if startup.minor or unknown:
            stream.write(protocol.negotiated(unknown))
        token, callers = await self._known(stream)
        database = known.get("database") or known["user"].partition(" ")[0]
        with self._recorded("connect", {"token": next(iter(callers.values())).token}):
            caller = self._allowed(callers, database)
            settings = _settings(known, caller.analyst or str(caller.role))
        process = self._process()
        secret = int.from_bytes(SYSTEM.bytes(4), "big")
        state = Transactions(settings)
        client = Client(token, self.datasets[database], caller, process)
        session = Session(stream, Execution(self, stream, client, state), state)
        stream.write(protocol.WELCOME)
        session.tell_settings()
        stream.write(protocol.key(process, secret) + protocol.ready("I"))
        return session, process, secret

    async def _known(self, stream: Stream) -> tuple[str, dict[str, Caller]]:
        """The token, sent as a password, and who its holder is for each dataset that it opens."""
        stream.write(protocol.PASSWORD_WANTED)
        message = await stream.message(protocol.MAX_PASSWORD)
        if not isinstance(message, Password):
            raise Malformed("a password was expected")
        token = message.text[:MAX_LENGTH]
        callers = self.datasets.callers(token) if token else {}
        if not callers:
            with self._recorded("connect", {}):
                self.rates.guessed(stream.peer[0] if stream.peer else None)
                text = "the token is missing, unknown, expired or revoked"
                raise Refused("unauthorized", text, "the token is the password; any user will do")
        return token, callers

    def _allowed(self, callers: dict[str, Caller], database: str) -> Caller:
        caller = next(iter(callers.values()))
        most = max(self.datasets[name].curator.policy.serving.requests_per_minute for name in callers)
        self.rates.admit(caller.token, most)
        if database not in callers:
            fix = f"name one that it opens as the database: {', '.join(callers)}"
            raise Refused("unknown-dataset", "this token opens no such dataset", fix)
        if not callers[database].role.asks:
            raise Refused("forbidden", f"the role {callers[database].role} may not ask", "it is for: owner, analyst")
        if self._held[caller.token] >= MAX_OF_ONE:
            raise Failed("53300", f"a token has at most {MAX_OF_ONE} connections", "close some", code="busy")
        return callers[database]

    def _process(self) -> int:
        while True:
            process = int.from_bytes(SYSTEM.bytes(4), "big") >> 1
            if process and process not in self._sessions:
                return process

    def cancel(self, wish: Cancel) -> None:
        """End what a session asks, for somebody who has its secret; others are told nothing."""
        secret, session = self._sessions.get(wish.process, (0, None))
        if hmac.compare_digest(secret.to_bytes(4, "big"), wish.secret.to_bytes(4, "big")) and session is not None:
            session.execution.cancel()

    # the log

    def recorded(self, dataset: str, caller: Caller, route: str) -> AbstractContextManager[None]:
        who = {"token": caller.token, "dataset": dataset, "role": str(caller.role), "analyst": caller.analyst}
        return self._recorded(route, who)

    @contextmanager
    def _recorded(self, route: str, who: Mapping[str, str | None]) -> Iterator[None]:
        """A line of the access log, as requests over HTTP have it: no text, no values, no password."""
        began, code, facts = time.monotonic(), "", dict[str, Any](who)
        earlier, span = front.FACTS.set(facts), self._trace()
        traced = CURRENT.set(span)
        try:
            yield
        except Failed as failed:
            code = failed.code
            raise
        except Problem as problem:
            code = problem.code
            raise failed_of(problem) from None
        except Ended:
            code = "gone"
            raise
        except Exception:
            code = "internal"
            raise
        finally:
            status = status_of(code) if code not in ("", "gone") else 200
            self._metrics.count("PG", route, status, code)
            front.FACTS.reset(earlier)
            CURRENT.reset(traced)
            line = {
                "request": SYSTEM.bytes(8).hex(),
                "method": "PG",
                "route": route,
                "status": status,
                "code": code,
                "ms": round((time.monotonic() - began) * 1000),
                **facts,
            }
            note("request", **line)
            if span is not None:
                span.described(line)


def _settings(known: object, user: str) -> Settings:
    """The settings that a connection begins with: its own, those in its options, and those after the user's name, for
    tools that have no field for options.
    """
    assert isinstance(known, dict)
    settings = Settings(user=user)
    said = [*options_of(known["user"].partition(" ")[2]), *options_of(known.get("options", ""))]
    pairs = [*said, *((n, v) for n, v in known.items() if n not in APART)]
    for name, value in pairs:
        if not name.startswith("_pq_."):
            settings = settings.with_(name, value)
    return settings
