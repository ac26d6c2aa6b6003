"""Rows split over clients that differ from each other, for experiments with public or invented rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet import noise
from discreet.exact import Number, positive, whole
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits


def dirichlet_split(labels: ArrayLike, clients: int, *, alpha: Number = 1, bits: Bits | None = None) -> list[Integers]:
    """The rows of each client: of each label, clients have shares that are drawn from Dirichlet(α, …, α).

    The smaller α is, the fewer clients have most rows of a label; a large α makes clients alike.

    Proof    Pólya's urn: row number i of a label goes to a client drawn uniformly with probability kα/(kα + i), and
             else where a row before it went, drawn uniformly. Such rows are drawn from shares that are Dirichlet
             (Blackwell & MacQueen 1973). Whole numbers decide: the draw is exact.

    >>> [len(rows) for rows in dirichlet_split([0, 0, 1, 1, 1], 1)]
    [5]
    """
    known, count = np.asarray(labels), whole(clients, "clients")
    new = positive(alpha, "alpha") * count
    owners = np.zeros(len(known), dtype=np.int64)
    for label in np.unique(known):
        places = np.flatnonzero(known == label)
        owners[places] = _urn(len(places), count, new.numerator, new.denominator, bits)
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.cumsum(np.bincount(owners, minlength=count))[:-1])


def _urn(rows: int, clients: int, new: int, scale: int, bits: Bits | None) -> Integers:
    """Of ticket t below new + i·scale the first `new` ask for a new draw; the others are rows before this one."""
    fresh = noise.below(clients, rows, bits=bits)
    tickets = noise.below(new + scale * np.arange(rows), rows, bits=bits)
    owners: list[int] = []
    for ticket, client in zip(tickets.tolist(), fresh.tolist(), strict=True):
        owners.append(client if ticket < new else owners[(ticket - new) // scale])
    return np.array(owners, dtype=np.int64)
