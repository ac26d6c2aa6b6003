"""The coordinator: it asks members of a round for their part, and goes on without those who do not answer.

This is the protocol alone; `web` carries it over HTTP. Threads of clients call `join`, `work`, `send` and `gone`; one
thread calls `run`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import from_words
from discreet.federated.graph import shape
from discreet.federated.keys import PUBLIC
from discreet.federated.masking import Aggregation, Deal, Revealed, Setting
from discreet.federated.messages import (
    Dealt,
    End,
    Join,
    Mask,
    Message,
    Prepare,
    Reveal,
    Shares,
    Train,
    Vector,
    Wait,
    Welcome,
    raw_weights,
    words_of,
)
from discreet.federated.plan import Plan
from discreet.federated.task import Task
from discreet.federated.training import Done, Round, Training
from discreet.mechanisms.arrays import Integers
from discreet.noise import SYSTEM

POLL: Final = 10.0
"""Seconds after which a client that waits is told to ask again."""
GLANCE: Final = 0.25
"""Seconds after which it is seen whether a client that waits is still there."""


@dataclass(slots=True)
class Seat:
    """A client, as long as it is there."""

    number: int
    token: str
    key: bytes
    here: bool = True
    connection: object = None
    dismissed: bool = False
    """That the training is over."""


@dataclass(slots=True)
class Step:
    """One question to some members: what each is asked, what is done with an answer, and who is through."""

    round: int
    questions: Mapping[str, Message]
    """By token: whoever takes a seat later is asked nothing."""
    answer: type[Message]
    accept: Callable[[int, Message], None]
    delivered: set[str] = field(default_factory=set)
    through: set[str] = field(default_factory=set)


class Coordinator:
    """Clients take seats until all are taken; then rounds follow each other until the plan has no more.

    patience   seconds for which an answer is waited for; who fails within a round is left out of its rest
    """

    def __init__(self, training: Training, task: Task, *, patience: float = 60.0) -> None:
        self.training, self._task, self._patience = training, task, patience
        self._plan: Plan = training.plan
        self._session = SYSTEM.bytes(16)
        self._seats: dict[str, Seat] = {}
        self._step: Step | None = None
        self._over = False
        self._change = threading.Condition()

    # what clients do

    def join(self, message: Join, connection: object) -> Welcome:
        if len(message.key) != PUBLIC:
            raise Refused("body-invalid", f"a key has {PUBLIC} bytes", "send an X25519 public key")
        with self._change:
            token = SYSTEM.bytes(16).hex()
            number = self._free()
            self._seats[token] = Seat(number, token, message.key, connection=connection)
            self._change.notify_all()
        return Welcome(number, token, self._session, asdict(self._plan), self._task)

    def _free(self) -> int:
        """A number that nobody has, or that of somebody who left."""
        if self._over or self.training.over:
            raise Refused("training-over", "the training is over", "wait for another one")
        taken = {seat.number: seat for seat in self._seats.values()}
        unused = next((number for number in range(self._plan.clients) if number not in taken), None)
        if unused is not None:
            return unused
        left = next((seat for seat in taken.values() if not seat.here), None)
        if left is None:
            raise Refused("training-over", "all clients of this training are there", "wait for another one")
        del self._seats[left.token]
        return left.number

    def work(self, token: str, connection: object, alive: Callable[[], bool]) -> Message:
        """The next question to a client; waits for a while if there is none."""
        until = time.monotonic() + POLL
        with self._change:
            while True:
                seat = self._seat(token)
                seat.here, seat.connection = True, connection
                if self._over:
                    seat.dismissed = True
                    self._change.notify_all()
                    return End(self.training.begun)
                step = self._step
                if step is not None and token in step.questions and token not in step.delivered:
                    step.delivered.add(token)
                    return step.questions[token]
                left = until - time.monotonic()
                if left <= 0 or not alive():
                    return Wait()
                self._change.wait(min(left, GLANCE))

    def send(self, token: str, message: Dealt | Vector | Shares) -> Wait:
        """A client's answer. One that is wrong is refused, and the client may send a right one."""
        with self._change:
            seat, step = self._seat(token), self._step
            if step is None or message.round != step.round or not isinstance(message, step.answer):
                raise Refused("wrong-round", "nobody asked for this now", "answer the newest question")
            if token not in step.delivered or token in step.through:
                raise Refused("wrong-round", "this client was not asked, or has answered", "send each message once")
            step.accept(seat.number, message)
            step.through.add(token)
            self._change.notify_all()
        return Wait()

    def gone(self, connection: object) -> None:
        """A connection ended."""
        with self._change:
            for seat in self._seats.values():
                if seat.connection is connection:
                    seat.here = False
            self._change.notify_all()

    def _seat(self, token: str) -> Seat:
        seat = self._seats.get(token)
        if seat is None:
            raise Refused("unauthorized", "nobody has this token", "join first")
        return seat

    # what the coordinator does

    def run(self, *, wait: float, tell: Callable[[Done], None] = lambda _: None) -> None:
        """All rounds. It begins when all clients are there, or after `wait` seconds with those who are."""
        with self._change:
            self._change.wait_for(lambda: len(self._seats) == self._plan.clients, timeout=wait)
        try:
            while not self.training.over:
                tell(self._one_round())
        finally:
            with self._change:
                self._over, self._step = True, None
                self._change.notify_all()
                self._change.wait_for(
                    lambda: all(seat.dismissed or not seat.here for seat in self._seats.values()),
                    timeout=self._patience,
                )

    def _one_round(self) -> Done:
        """Among those drawn, clients that are not there take no part."""
        now = self.training.begin()
        present = self._present(now.members)
        try:
            total, survivors = (self._masked if self._plan.noise == "distributed" else self._plain)(now, present)
        except Refused as refusal:
            if refusal.code != "too-few-clients":
                raise
            return self.training.give_up()
        return self.training.finish(total, survivors, members=len(present))

    def _plain(self, now: Round, present: Mapping[int, str]) -> tuple[Integers, int]:
        """Vectors as they are: the coordinator is trusted, or they are noisy already."""
        total = np.zeros(self._plan.grid.width, dtype=np.int64)
        came = 0

        def accept(_: int, message: Message) -> None:
            nonlocal came, total
            assert isinstance(message, Vector)
            total = total + from_words(words_of(message.words, self._plan.grid.width))
            came += 1

        question = Train(now.number, raw_weights(now.weights), now.clip)
        self._ask(now.number, dict.fromkeys(present.values(), question), Vector, accept)
        return total, came

    def _masked(self, now: Round, present: Mapping[int, str]) -> tuple[Integers, int]:
        """Three steps; who fails in one is not asked in the next."""
        members = tuple(present)
        if len(members) < 3:
            raise Refused("too-few-clients", "a sum of two is known to either of them", "raise rate or clients")
        setting = Setting(self._session, now.number, members, shape(len(members)), self._plan.grid.width)
        server = Aggregation(setting, least=self._plan.least(len(members)))
        self._ask(now.number, self._preparations(now, setting, present), Dealt, _dealt(server))
        masks = {present[u]: Mask(now.number, server.inbox(u)) for u in server.dealt}
        self._ask(now.number, masks, Vector, _vector(server))
        if len(server.stayed) < self._plan.least(len(members)):
            raise Refused(
                "too-few-clients", "too few clients stayed: nobody is asked to reveal", "begin the next round"
            )
        last = {present[u]: Reveal(now.number, *map(tuple, map(sorted, server.request(u)))) for u in server.stayed}
        self._ask(now.number, last, Shares, _shares(server))
        return from_words(server.total()), len(server.stayed)

    def _preparations(self, now: Round, setting: Setting, present: Mapping[int, str]) -> dict[str, Message]:
        with self._change:
            keys = {number: self._seats[token].key for number, token in present.items() if token in self._seats}
        if keys.keys() != present.keys():
            raise Refused("too-few-clients", "somebody took another's seat meanwhile", "begin the next round")
        made: dict[str, Message] = {}
        for number, token in present.items():
            around = {u: keys[u] for u in setting.neighbours[number]}
            made[token] = Prepare(now.number, setting.members, around, raw_weights(now.weights), now.clip)
        return made

    def _present(self, members: Iterable[int]) -> dict[int, str]:
        with self._change:
            here = {seat.number: seat.token for seat in self._seats.values() if seat.here}
        return {number: here[number] for number in members if number in here}

    def _ask(
        self,
        round_number: int,
        questions: Mapping[str, Message],
        answer: type[Message],
        accept: Callable[[int, Message], None],
    ) -> None:
        """Ask, and wait until each has answered or left, or patience ends."""
        step = Step(round_number, questions, answer, accept)

        def settled() -> bool:
            waiting = questions.keys() - step.through
            return not any(token in self._seats and self._seats[token].here for token in waiting)

        with self._change:
            self._step = step
            self._change.notify_all()
            self._change.wait_for(settled, timeout=self._patience)
            self._step = None


def _dealt(server: Aggregation) -> Callable[[int, Message], None]:
    def accept(number: int, message: Message) -> None:
        assert isinstance(message, Dealt)
        server.deal(number, Deal(message.envelope, message.shares))

    return accept


def _vector(server: Aggregation) -> Callable[[int, Message], None]:
    def accept(number: int, message: Message) -> None:
        assert isinstance(message, Vector)
        server.masked(number, words_of(message.words, server.setting.width))

    return accept


def _shares(server: Aggregation) -> Callable[[int, Message], None]:
    def accept(number: int, message: Message) -> None:
        assert isinstance(message, Shares)
        server.revealed(number, Revealed(message.stayed, message.failed))

    return accept
