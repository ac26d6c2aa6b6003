"""The coordinator's side of a round, whatever carries its messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import from_words
from discreet.federated.graph import shape
from discreet.federated.masking import Aggregation, Deal, Revealed, Setting
from discreet.federated.messages import (
    Dealt,
    Mask,
    Message,
    Prepare,
    Reveal,
    Shares,
    Train,
    Vector,
    raw_weights,
    words_of,
)
from discreet.federated.plan import Plan
from discreet.federated.training import Done, Round, Training
from discreet.mechanisms.arrays import Integers
from discreet.noise import SYSTEM

Accept = Callable[[int, Message], None]
"""What is done with a client's answer: it is used, or refused."""


LEAST_MASKED: Final = 3
"""Members of a masked round, at least: of two, each knows what the other sent."""


class Rounds(ABC):
    """One round after the other, with clients that are asked by `_ask`. Who fails in a step is left out of the rest."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self._session = SYSTEM.bytes(16)

    @property
    def _plan(self) -> Plan:
        return self.training.plan

    @abstractmethod
    def _present(self, members: Iterable[int]) -> dict[int, bytes]:
        """Those of the members who are there, with their public keys; they are the ones to be asked."""

    @abstractmethod
    def _ask(self, round_number: int, questions: Mapping[int, Message], answer: type[Message], accept: Accept) -> None:
        """Ask these clients, and hand on answers of that type until all have answered or failed."""

    def one_round(self) -> Done:
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

    def _plain(self, now: Round, present: Mapping[int, bytes]) -> tuple[Integers, int]:
        """Vectors as they are: the coordinator is trusted, or they are noisy already."""
        plan = self._plan
        vectors: list[Integers] = []

        def accept(_: int, message: Message) -> None:
            assert isinstance(message, Vector)
            vector = from_words(words_of(message.words, plan.grid.width))
            if plan.noise == "central" and sum(each**2 for each in vector.tolist()) > plan.grid.sensitivity_squared:
                raise Refused("body-invalid", "the update is longer than the clipping norm", "clip it")
            if plan.noise == "local" and int(np.abs(vector).max()) > plan.farthest:
                raise Refused("body-invalid", "the update is farther from zero than its noise goes", "clip it")
            vectors.append(vector)

        question = Train(now.number, raw_weights(now.weights), now.clip)
        self._ask(now.number, dict.fromkeys(present, question), Vector, accept)
        return sum(vectors, np.zeros(plan.grid.width, dtype=np.int64)), len(vectors)

    def _masked(self, now: Round, present: Mapping[int, bytes]) -> tuple[Integers, int]:
        """Three steps: deal, mask, reveal."""
        members = tuple(present)
        if len(members) < LEAST_MASKED:
            raise Refused("too-few-clients", "a sum of two is known to either of them", "raise rate or clients")
        setting = Setting(self._session, now.number, members, shape(len(members)), self._plan.grid.width)
        server = Aggregation(setting, least=self._plan.least(len(members)))
        weights = raw_weights(now.weights)
        preparations = {
            number: Prepare(now.number, members, {u: present[u] for u in around}, weights, now.clip)
            for number, around in setting.neighbours.items()
        }
        self._ask(now.number, preparations, Dealt, _dealt(server))
        masks = {number: Mask(now.number, server.inbox(number)) for number in server.dealt}
        self._ask(now.number, masks, Vector, _vector(server))
        server.demand_enough()
        last = {u: Reveal(now.number, *map(tuple, map(sorted, server.request(u)))) for u in server.stayed}
        self._ask(now.number, last, Shares, _shares(server))
        return from_words(server.total()), len(server.stayed)


def _dealt(server: Aggregation) -> Accept:
    def accept(number: int, message: Message) -> None:
        assert isinstance(message, Dealt)
        server.deal(number, Deal(message.envelope, message.shares))

    return accept


def _vector(server: Aggregation) -> Accept:
    def accept(number: int, message: Message) -> None:
        assert isinstance(message, Vector)
        server.masked(number, words_of(message.words, server.setting.width))

    return accept


def _shares(server: Aggregation) -> Accept:
    def accept(number: int, message: Message) -> None:
        assert isinstance(message, Shares)
        server.revealed(number, Revealed(message.stayed, message.failed))

    return accept
