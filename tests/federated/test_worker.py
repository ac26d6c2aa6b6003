"""A client that is forgotten between two messages: what it saved is enough, and lets nothing happen twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.federated.messages import (
    FromClient,
    FromCoordinator,
    Message,
    Reveal,
    Train,
    Vector,
    Welcome,
    decoded,
    encoded,
    raw_weights,
    raw_words,
)
from discreet.federated.plan import Plan
from discreet.federated.rounds import Accept, Rounds
from discreet.federated.task import Feature, Task
from discreet.federated.training import Training
from discreet.federated.worker import Worker

TASK = Task(features=(Feature("x", -1, 1),), target="z", local_rate=0.5)
FACTS: dict[str, Any] = {"clients": 5, "parameters": 2, "rounds": 2, "sigma": 0.5, "delta": 1e-5, "dropout": 0.25}
ROWS = (np.array([[0.5], [-0.5]]), np.array([1.0, 0.0]))


def load(_: Task) -> tuple[Any, Any]:
    return ROWS


class Forgetful(Rounds):
    """Clients that are made anew from what they saved, for every message; `silent` ones answer no more."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(Training(plan, np.zeros(2)))
        self.states: dict[int, bytes] = {}
        self.keys: dict[int, bytes] = {}
        self.silent: set[tuple[int, type[Message]]] = set()
        self.asked: list[tuple[int, Message]] = []
        for number in range(plan.clients):
            worker = Worker(load, max_epsilon=1e9)
            self.keys[number] = worker.fresh_key()
            worker.welcome(Welcome(number, "", self._session, asdict(plan), TASK))
            self.states[number] = worker.saved()

    def _present(self, members: Iterable[int]) -> dict[int, bytes]:
        return {number: self.keys[number] for number in members}

    def answered(self, number: int, question: Message) -> Message:
        worker = Worker.restored(self.states[number], load, max_epsilon=1e9)
        answer = worker.reply(decoded(encoded(question), FromCoordinator))
        self.states[number] = worker.saved()
        made: Message = decoded(encoded(answer), FromClient)
        return made

    def _ask(self, round_number: int, questions: Mapping[int, Message], answer: type[Message], accept: Accept) -> None:
        for number, question in questions.items():
            if (number, type(question)) not in self.silent:
                self.asked.append((number, question))
                made = self.answered(number, question)
                assert isinstance(made, answer)
                assert getattr(made, "round") == round_number  # noqa: B009  (messages differ)
                accept(number, made)


@pytest.mark.parametrize("noise", ["central", "distributed", "local"])
def test_rounds_go_on_with_what_was_saved(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = lambda _, size, **__: np.zeros(size, dtype=np.int64)  # noqa: E731
    monkeypatch.setattr("discreet.federated.places.noise.gaussian", nothing)
    rounds = Forgetful(Plan(**FACTS, noise=noise))
    assert rounds.one_round().used
    assert np.allclose(rounds.training.weights, [0.125, 0.0], atol=1e-5)  # a step of 0.5 · mean((½ − z)·x)
    rounds.silent = {(2, type(rounds.asked[0][1]))}
    done = rounds.one_round()
    assert (done.survivors, done.used) == (4, True)


def test_nothing_happens_twice_though_the_client_was_forgotten() -> None:
    rounds = Forgetful(Plan(**FACTS, noise="distributed"))
    before = dict(rounds.states)
    rounds.one_round()
    for number, question in rounds.asked:
        with pytest.raises(Refused):
            rounds.answered(number, question)
    lie = Reveal(1, (1, 2, 3), (4,))
    with pytest.raises(Refused, match="given once"):
        rounds.answered(0, lie)
    assert rounds.states != before


def test_a_worker_that_agreed_to_nothing_answers_nothing() -> None:
    worker = Worker(load, max_epsilon=1e9)
    with pytest.raises(Refused, match="agreed to nothing"):
        worker.reply(Train(1, raw_weights(np.zeros(2)), 1.0))


def test_an_update_that_was_not_clipped_is_refused_by_a_coordinator_that_sees_it() -> None:
    """Words of a client that ignores the clipping norm: with central noise they would not be hidden by it."""

    class Long(Forgetful):
        def answered(self, number: int, question: Message) -> Message:  # noqa: ARG002
            return Vector(1, raw_words(np.full(2, 2**30, dtype=np.uint32)))

    rounds = Long(Plan(**FACTS))
    with pytest.raises(Refused, match="longer than the clipping norm"):
        rounds.one_round()
