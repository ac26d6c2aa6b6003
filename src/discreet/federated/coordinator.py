"""The coordinator of clients that come by themselves, and leave as they like.

It has no sockets; `web` carries it over HTTP. Threads of clients call `join`, `work`, `send` and `gone`; one
thread calls `run`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from discreet.errors import Refused
from discreet.federated.keys import demand_key
from discreet.federated.messages import Dealt, End, Join, Message, Shares, Vector, Wait, Welcome
from discreet.federated.rounds import LEAST_MASKED, Accept, Rounds
from discreet.federated.task import Task
from discreet.federated.training import Done, Training
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
    accept: Accept
    delivered: set[str] = field(default_factory=set)
    through: set[str] = field(default_factory=set)


class Coordinator(Rounds):
    """Clients take seats until all are taken; then rounds follow each other until the plan has no more.

    patience   seconds for which an answer is waited for; who fails within a round is left out of its rest
    joined     hears how many are there when one more is
    """

    def __init__(
        self,
        training: Training,
        task: Task,
        *,
        patience: float = 60.0,
        joined: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(training)
        self._task, self._patience, self._joined = task, patience, joined
        self._seats: dict[str, Seat] = {}
        self._tokens: dict[int, str] = {}
        """Of those who are there since the round began."""
        self._step: Step | None = None
        self._over = False
        self._change = threading.Condition()

    # what clients do

    def join(self, message: Join, connection: object) -> Welcome:
        demand_key(message.key)
        with self._change:
            token = SYSTEM.bytes(16).hex()
            number = self._free()
            self._seats[token] = Seat(number, token, message.key, connection=connection)
            self._joined(sum(seat.here for seat in self._seats.values()))
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
        """The next question to a client; waits for a while if there is none.

        Who asks again and has not answered the last one never will, and the round does not wait for it.
        """
        until = time.monotonic() + POLL
        with self._change:
            if self._step is not None and token in self._step.delivered:
                self._step.through.add(token)
                self._change.notify_all()
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
        """All rounds. It begins when all clients are there, or after `wait` seconds with those who are.

        Where hardly anybody is there, no round begins: none would be learned from, and all of them spent.
        """
        with self._change:
            self._change.wait_for(lambda: len(self._seats) == self._plan.clients, timeout=wait)
        try:
            while not self.training.over:
                self._demand_somebody(wait)
                tell(self.one_round())
        finally:
            with self._change:
                self._over, self._step = True, None
                self._change.notify_all()
                self._change.wait_for(
                    lambda: all(seat.dismissed or not seat.here for seat in self._seats.values()),
                    timeout=self._patience,
                )

    def _demand_somebody(self, wait: float) -> None:
        needed = LEAST_MASKED if self._plan.noise == "distributed" else 1
        with self._change:
            if not self._change.wait_for(
                lambda: sum(seat.here for seat in self._seats.values()) >= needed, timeout=wait
            ):
                reason = f"fewer than {needed} clients are here, after {self.training.begun} rounds"
                raise Refused("too-few-clients", reason, "start clients and the coordinator again: it goes on")

    def _present(self, members: Iterable[int]) -> dict[int, bytes]:
        with self._change:
            here = {seat.number: seat for seat in self._seats.values() if seat.here}
        self._tokens = {number: here[number].token for number in members if number in here}
        return {number: here[number].key for number in self._tokens}

    def _ask(self, round_number: int, questions: Mapping[int, Message], answer: type[Message], accept: Accept) -> None:
        by_token = {self._tokens[number]: question for number, question in questions.items()}
        step = Step(round_number, by_token, answer, accept)

        def settled() -> bool:
            waiting = by_token.keys() - step.through
            return not any(token in self._seats and self._seats[token].here for token in waiting)

        with self._change:
            self._step = step
            self._change.notify_all()
            self._change.wait_for(settled, timeout=self._patience)
            self._step = None
