"""Who masks with whom: a sparse graph of neighbours, so that a round of n clients takes n·log n steps and not n².

Source   Bell, Bonawitz, Gascón, Lepoint & Raykova 2020: clients on a ring in random order, each with its nearest ones.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

SECURE: Final = 2.0**-40
"""That too many of anybody's neighbours are corrupt, or that honest clients fall apart: probability at most this."""
AVAILABLE: Final = 2.0**-20
"""That too few of anybody's neighbours stay, so that a round is lost."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Of the graph of a round.

    Theorem  Let a part `corrupt` of n clients tell the server all they know, and a part `dropout` fail, both chosen
             before the order of the ring. Except with probability 2⁻⁴⁰, for each client: (a) its corrupt neighbours
             have fewer than `threshold` shares; (b) a server that lies about who failed, to each neighbour as it likes,
             gets `threshold` shares of at most one of its two secrets; (c) honest clients who stay are connected.
    Proof    The number of corrupt neighbours is hypergeometric; let c be what it exceeds for any of n with probability
             2⁻⁴¹ at most. threshold > (degree + c)/2 gives (a), and (b): corrupt neighbours give both shares, honest
             ones one of them, so degree + c shares of both kinds are given at most. (c) To cut a ring on which
             everybody knows the next degree/2, a run of that many must be removed: n·(corrupt + dropout)^(degree/2) at
             most.
    """

    degree: int
    threshold: int


@lru_cache(maxsize=256)
def shape(members: int, corrupt: float = 0.05, dropout: float = 0.1) -> Shape:
    """The smallest graph for which the theorem holds, and of which enough neighbours stay; all with all, if few."""
    for degree in range(4, members - 1, 2):
        known = Shape(degree, (degree + _corrupt(members, corrupt, degree)) // 2 + 1)
        apart = members * (corrupt + dropout) ** (degree // 2)
        stay = members - 1 - math.ceil(members * dropout)
        lost = members * _below(members - 1, stay, degree, known.threshold)
        if apart <= SECURE / 2 and lost <= AVAILABLE:
            return known
    return Shape(members - 1, (members - 1 + math.floor(members * corrupt)) // 2 + 1)


def _corrupt(members: int, corrupt: float, degree: int) -> int:
    """A number of corrupt neighbours that nobody exceeds."""
    bad, over, count = math.floor(members * corrupt), 0.0, degree
    while count > 0:
        over += _chance(members - 1, bad, degree, count)
        if members * over > SECURE / 2:
            return count
        count -= 1
    return 0


def _below(total: int, good: int, drawn: int, least: int) -> float:
    return math.fsum(_chance(total, good, drawn, count) for count in range(least))


def _chance(total: int, good: int, drawn: int, count: int) -> float:
    """That `count` of `drawn` are good."""
    if count > good or drawn - count > total - good:
        return 0.0
    return math.comb(good, count) * math.comb(total - good, drawn - count) / math.comb(total, drawn)


def ring(session: bytes, members: Iterable[int]) -> list[int]:
    """The members in the order of the ring: the same in all rounds, so that neighbours stay neighbours."""
    return sorted(members, key=lambda number: hashlib.sha256(session + number.to_bytes(8, "big")).digest())


def neighbours(order: list[int], degree: int) -> dict[int, tuple[int, ...]]:
    """Of each member, in ascending order."""
    count = len(order)
    if degree >= count - 1:
        everybody = sorted(order)
        return {number: tuple(other for other in everybody if other != number) for number in order}
    steps = [step for half in range(1, degree // 2 + 1) for step in (half, -half)]
    return {
        number: tuple(sorted(order[(index + step) % count] for step in steps)) for index, number in enumerate(order)
    }
