"""A client of a federated training, over HTTP. Its secrets are in memory only."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from discreet.errors import Problem, Refused
from discreet.federated.messages import (
    End,
    FromCoordinator,
    Join,
    Mask,
    Message,
    Reveal,
    Wait,
    Welcome,
    Work,
    decoded,
    encoded,
)
from discreet.federated.worker import Load, Worker
from discreet.noise import Bits

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
TIMEOUT: Final = 60.0
MOST_BYTES: Final = 2**28
PAUSE: Final = 0.2


class Unreachable(Problem):
    """The coordinator does not answer."""

    code = "unreachable"


class Connection:
    """One connection to a coordinator, opened again when it breaks."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise Refused("address", f"{url!r} is no address of a coordinator", "write http://127.0.0.1:8800")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise Refused("address", "http is for this machine: others could read along", "use https")
        kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
        self._made = kind(parts.hostname, parts.port, timeout=TIMEOUT)
        self.token = ""

    def say(self, path: str, message: Message) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        try:
            self._made.request("POST", path, encoded(message), headers)
            reply = self._made.getresponse()
            body = reply.read(MOST_BYTES)
            if reply.length:  # http.client calls a part of a body a whole one, if it was told how much to read
                raise http.client.IncompleteRead(b"", reply.length)
        except (OSError, http.client.HTTPException) as wrong:
            self._made.close()
            raise Unreachable(
                f"the coordinator does not answer ({type(wrong).__name__})", "see whether it runs"
            ) from None
        if reply.status != 200:
            raise _refusal(body)
        return decoded(body, FromCoordinator)

    def close(self) -> None:
        self._made.close()


def _refusal(body: bytes) -> Problem:
    try:
        problem = msgspec.json.decode(body, type=dict[str, str])
        return Refused(problem["code"], problem["reason"], problem["fix"])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        return Unreachable("what answers is no coordinator", "check the address")


class Participant:
    """A client that looks for a coordinator, and takes part until the training is over.

    patience   seconds for which it looks for a coordinator that does not answer
    """

    def __init__(
        self, url: str, load: Load, *, max_epsilon: float, patience: float = 30.0, bits: Bits | None = None
    ) -> None:
        self._connection = Connection(url)
        self.worker = Worker(load, max_epsilon=max_epsilon, bits=bits)
        self._patience = patience

    def run(self) -> int:
        """Take part; in how many rounds it did."""
        try:
            self._patiently(self._join)
            while True:
                message = self._patiently(lambda: self._connection.say("/work", Work()))
                if isinstance(message, End):
                    return self.worker.taken
                if not isinstance(message, Wait):
                    self._answer(message)
        finally:
            self._connection.close()

    def _join(self) -> None:
        self._connection.token = ""
        welcome = self._connection.say("/join", Join(self.worker.fresh_key()))
        if not isinstance(welcome, Welcome):
            raise Refused("body-invalid", "the coordinator says what it never should", "check the address")
        self.worker.welcome(welcome)
        self._connection.token = welcome.token

    def _patiently(self, act: Callable[[], Any]) -> Any:
        """Look for the coordinator for a while; one that came back is joined again."""
        until = time.monotonic() + self._patience
        while True:
            try:
                return act()
            except Unreachable:
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)
            except Refused as refusal:
                if refusal.code != "unauthorized":
                    raise
                act = self._rejoined(act)

    def _rejoined(self, act: Callable[[], Any]) -> Callable[[], Any]:
        def again() -> Any:
            self._join()
            return act()

        return again

    def _answer(self, message: Message) -> None:
        """Where an answer comes too late, or to nobody, the round goes on without this client; and where others have
        failed or lied so that it cannot take part any more. A coordinator that asks for what was not agreed is left."""
        try:
            self._connection.say("/send", self.worker.reply(message))
        except Unreachable:
            self.worker.forget()
        except Refused as refusal:
            others = isinstance(message, Mask | Reveal) and refusal.code == "too-few-clients"
            if refusal.code not in ("wrong-round", "unauthorized") and not others:
                raise
            self.worker.forget()
