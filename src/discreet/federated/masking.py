"""Secure aggregation: a server learns the sum of vectors modulo 2³², and nothing else about any of them.

Each client adds to its vector a mask of its own, and for each neighbour a mask that the neighbour subtracts. Pairs of
masks cancel in the sum. In three steps of a round,

1. deal    a client draws its own mask's seed, puts the seeds of its pairs in an envelope, and gives each neighbour a
           share of the seed and of the envelope's key, sealed so that only that neighbour can open them;
2. mask    it sends its masked vector, with masks for those neighbours who dealt;
3. reveal  it hears who stayed and who failed, and gives its shares: of the seeds of those who stayed, of the keys of
           those who failed. Never both of one client.

Then the server takes off the own masks of those who stayed, and the pairs' masks of those who failed.

Threat   The server follows the protocol and is curious; a part of the clients may tell it all they know (`graph`).
model    Then it learns the sum of at least `least` vectors and nothing else about honest ones.
         What hinders a server that lies about who failed: no client gives both shares of one client, answers twice,
         masks a round twice, or reveals anything where most of its neighbours are said to have failed; and the
         threshold is above half of what could be given (`Shape`, b). So it cannot say to all that all but one failed.
         What does not: it could tell each client another story, so that failures add up which nobody sees together;
         clients that sign what they heard would be needed against that. It could invent clients, or hand out keys of
         its own (man in the middle), since nobody else vouches for them. Where that is feared, clients compare keys
         another way: `Member` takes what they trust. A client that lies can spoil the sum, not read it; where
         what it sealed cannot be opened, the round is given up and the training goes on.
Why an   Keys last for many rounds. If failed clients' keys themselves were shared, as in one-round protocols, a server
envelope would learn from one failure the pairs' masks of all rounds, and with the own masks of earlier rounds, vectors.
         Envelopes hold seeds of one round.
Source   Bonawitz et al. 2017 (masks, shares, the threshold against servers that lie); Bell et al. 2020 (the graph).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import Words
from discreet.federated.graph import Shape, neighbours, ring
from discreet.federated.keys import SEED, Identity, derived, opened, sealed, words
from discreet.federated.sharing import SECRET, SHARE, restored, shared
from discreet.noise import Bits, resolve

TAG: Final = 16
SEALED: Final = 2 * SHARE + TAG
"""Bytes of what one neighbour gets."""


@dataclass(frozen=True)
class Setting:
    """A round as all of its members know it: the graph follows from it."""

    session: bytes
    number: int
    members: tuple[int, ...]
    shape: Shape
    width: int

    @cached_property
    def neighbours(self) -> dict[int, tuple[int, ...]]:
        return neighbours(ring(self.session, self.members), self.shape.degree)

    def label(self, kind: bytes, *numbers: int) -> bytes:
        """What a key is derived for."""
        return b"".join([kind, self.session, *(number.to_bytes(8, "big") for number in (self.number, *numbers))])


@dataclass(frozen=True, slots=True)
class Deal:
    """What a client gives away in the first step: for the server, and for each neighbour."""

    envelope: bytes
    shares: Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class Revealed:
    """Shares that a client gives in the last step: of own masks of those who stayed, of envelopes of the others."""

    stayed: Mapping[int, bytes]
    failed: Mapping[int, bytes]


class Member:
    """A client in one round. Each step is taken once; what is not as agreed is refused.

    keys     public keys of its neighbours, as the server says
    trusted  public keys as known from elsewhere: where given, the server's must be the same
    own      the secret of its own mask, of a member that goes on in another process
    """

    def __init__(
        self,
        identity: Identity,
        number: int,
        setting: Setting,
        keys: Mapping[int, bytes],
        *,
        trusted: Mapping[int, bytes] | None = None,
        own: bytes | None = None,
        bits: Bits | None = None,
    ) -> None:
        if number not in setting.neighbours:
            raise Refused("wrong-round", "this client is no member of the round", "wait for the next one")
        self._number, self._setting, self._bits = number, setting, bits
        self._around = setting.neighbours[number]
        if not max(len(self._around) / 2, 1) < setting.shape.threshold <= len(self._around):
            raise Refused("too-few-clients", "so few neighbours cannot guard a secret", "wait for more clients")
        if not all(other in keys for other in self._around):
            raise Refused("body-invalid", "the keys of some neighbours are missing", "send all of them")
        if trusted is not None and any(trusted.get(other) != keys[other] for other in self._around):
            raise Refused("unknown-key", "a neighbour's key is not the one that this client trusts", "compare keys")
        identity.begin(setting.session, setting.number)
        self._secrets = {other: identity.secret_with(keys[other]) for other in self._around}
        self.own = resolve(bits).bytes(SECRET) if own is None else own
        self._received: dict[int, bytes] | None = None
        self.revealed = False

    def deal(self) -> Deal:
        key, threshold = resolve(self._bits).bytes(SECRET), self._setting.shape.threshold
        seeds = b"".join(self._seed(other) for other in self._around)
        of_own, of_key = (
            shared(secret, threshold=threshold, count=len(self._around), bits=self._bits) for secret in (self.own, key)
        )
        shares = {
            other: sealed(self._channel(self._number, other), own + of_envelope)
            for other, own, of_envelope in zip(self._around, of_own, of_key, strict=True)
        }
        return Deal(sealed(_envelope_key(self._setting, key), seeds), shares)

    def masked(self, vector: Words, inbox: Mapping[int, bytes]) -> Words:
        """The vector with its masks; `inbox` has what neighbours dealt to this client, those who did."""
        if self._received is not None:
            raise Refused("wrong-round", "this client has sent its vector already", "begin the next round")
        if not inbox.keys() <= set(self._around):
            raise Refused("body-invalid", "shares come from somebody who is no neighbour", "send those of neighbours")
        if len(inbox) < self._setting.shape.threshold:
            raise Refused("too-few-clients", "too few neighbours dealt: masks would hide too little", "wait for more")
        if vector.shape != (self._setting.width,):
            raise ValueError(f"a vector must have {self._setting.width} words")
        self._received = self._opened(inbox)
        masked = vector + own_mask(self._setting, self.own)
        for other in inbox:
            mask = words(self._seed(other), self._setting.width)
            masked = masked + mask if self._number < other else masked - mask
        return masked

    def _opened(self, inbox: Mapping[int, bytes]) -> dict[int, bytes]:
        received = {other: opened(self._channel(other, self._number), text) for other, text in inbox.items()}
        if any(len(shares) != 2 * SHARE for shares in received.values()):
            raise Refused("too-few-clients", "shares do not have their size: some client lies", "begin the next round")
        return received

    def resume(self, inbox: Mapping[int, bytes] | None, *, revealed: bool) -> None:
        """Go on where another process of this client stopped: after it sent its vector, if there is an inbox."""
        self._received = None if inbox is None else self._opened(inbox)
        self.revealed = revealed

    def reveal(self, stayed: set[int], failed: set[int]) -> Revealed:
        """Shares of those neighbours who stayed and of those who failed, once."""
        if self._received is None or self.revealed:
            raise Refused("wrong-round", "shares are given once, after the vector was sent", "begin the next round")
        if stayed & failed:
            raise Refused(
                "double-unmasking", "both shares of one client would unmask it", "say who failed, and who not"
            )
        if stayed | failed != self._received.keys():
            raise Refused(
                "body-invalid", "each neighbour who dealt has stayed or failed", "name all of them, no others"
            )
        if len(stayed) < self._setting.shape.threshold:
            raise Refused("too-few-clients", "most neighbours failed, or are said to have", "begin the next round")
        self.revealed = True
        received = self._received
        return Revealed({u: received[u][:SHARE] for u in stayed}, {u: received[u][SHARE:] for u in failed})

    def _seed(self, other: int) -> bytes:
        return derived(self._secrets[other], self._setting.label(b"mask"))

    def _channel(self, sender: int, receiver: int) -> bytes:
        other = receiver if sender == self._number else sender
        return derived(self._secrets[other], self._setting.label(b"share", sender, receiver))


class Aggregation:
    """The server's side of a round: it collects, and adds up. Wrong messages are refused, and change nothing.

    least   vectors of which the sum is looked at, at least
    """

    def __init__(self, setting: Setting, *, least: int) -> None:
        self.setting, self._least = setting, least
        self._deals: dict[int, Deal] = {}
        self._vectors: dict[int, Words] = {}
        self._answers: dict[int, Revealed] = {}

    def deal(self, number: int, deal: Deal) -> None:
        around = self._around(number, self._deals, self._vectors)
        sizes = {len(share) for share in deal.shares.values()}
        if set(deal.shares) != set(around) or sizes != {SEALED} or len(deal.envelope) != SEED * len(around) + TAG:
            raise Refused("body-invalid", "a deal has one share for each neighbour, and an envelope", "deal again")
        self._deals[number] = deal

    def inbox(self, number: int) -> dict[int, bytes]:
        """What neighbours dealt to a client."""
        return {u: self._deals[u].shares[number] for u in self.setting.neighbours[number] if u in self._deals}

    def masked(self, number: int, vector: Words) -> None:
        self._around(number, self._vectors, self._answers)
        if number not in self._deals:
            raise Refused("wrong-round", "who did not deal sends no vector", "wait for the next round")
        if vector.shape != (self.setting.width,) or vector.dtype != np.uint32:
            raise Refused("body-invalid", f"a vector has {self.setting.width} words of 32 bits", "send all of them")
        self._vectors[number] = vector

    def request(self, number: int) -> tuple[set[int], set[int]]:
        """Which neighbours of a client stayed, and which failed after they dealt."""
        dealt = {u for u in self.setting.neighbours[number] if u in self._deals}
        return dealt & self._vectors.keys(), dealt - self._vectors.keys()

    def revealed(self, number: int, answer: Revealed) -> None:
        self._around(number, self._answers, {})
        if number not in self._vectors:
            raise Refused("wrong-round", "who sent no vector has nothing to reveal", "wait for the next round")
        stayed, failed = self.request(number)
        lengths = {len(share) for part in (answer.stayed, answer.failed) for share in part.values()}
        if set(answer.stayed) != stayed or set(answer.failed) != failed or not lengths <= {SHARE}:
            raise Refused("body-invalid", "these are not the shares that were asked for", "send one for each neighbour")
        self._answers[number] = answer

    def _around(self, number: int, already: Mapping[int, object], later: Mapping[int, object]) -> tuple[int, ...]:
        if number not in self.setting.neighbours:
            raise Refused("wrong-round", "this client is no member of the round", "wait for the next one")
        if number in already or later:
            raise Refused("wrong-round", "this message has come already, or too late", "send each message once")
        return self.setting.neighbours[number]

    @property
    def dealt(self) -> set[int]:
        return set(self._deals)

    @property
    def stayed(self) -> set[int]:
        return set(self._vectors)

    @property
    def answered(self) -> set[int]:
        return set(self._answers)

    def demand_enough(self) -> None:
        """Nobody is asked to reveal anything, and nothing is added up, where too few stayed."""
        if len(self._vectors) < max(self._least, 1):
            raise Refused(
                "too-few-clients", "too few clients stayed: their sum is not looked at", "begin the next round"
            )

    def total(self) -> Words:
        """The sum of the vectors of those who stayed. Refused if they are too few, or too few gave shares."""
        self.demand_enough()
        total = np.zeros(self.setting.width, dtype=np.uint32)
        for vector in self._vectors.values():
            total += vector
        for number in self._vectors:
            total -= own_mask(self.setting, self._restored(number, lambda answer: answer.stayed))
        for number in self._deals.keys() - self._vectors.keys():
            for other, seed in self._seeds(number).items():
                mask = words(seed, self.setting.width)
                total = total - mask if other < number else total + mask
        return total

    def _seeds(self, number: int) -> dict[int, bytes]:
        """Of the pairs of a client that failed with neighbours who stayed."""
        around = self.setting.neighbours[number]
        wanted = [other for other in around if other in self._vectors]
        if not wanted:
            return {}
        key = _envelope_key(self.setting, self._restored(number, lambda answer: answer.failed))
        seeds = opened(key, self._deals[number].envelope)
        return {
            other: seeds[SEED * index : SEED * (index + 1)] for index, other in enumerate(around) if other in wanted
        }

    def _restored(self, number: int, part: Callable[[Revealed], Mapping[int, bytes]]) -> bytes:
        shares = {
            point: part(self._answers[other])[number]
            for point, other in enumerate(self.setting.neighbours[number], 1)
            if other in self._answers
        }
        try:
            return restored(shares, threshold=self.setting.shape.threshold)
        except ValueError:
            raise Refused(
                "too-few-clients", "too few neighbours gave shares, or wrong ones", "begin the next round"
            ) from None


def own_mask(setting: Setting, secret: bytes) -> Words:
    return words(derived(secret, setting.label(b"own")), setting.width)


def _envelope_key(setting: Setting, secret: bytes) -> bytes:
    return derived(secret, setting.label(b"envelope"))
