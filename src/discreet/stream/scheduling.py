"""Who is granted which blocks, where several pipelines want the same ones.

A pipeline asks for blocks and says what it adds to the line of each; it is granted all of that or nothing, and what is
granted never comes back. A rule says in which order those who wait are looked at; who does not fit is passed over.

first      First come, first served: the whole capacity of a block is free from the beginning.
fair       The smallest dominant share first (DPF of PrivateKube): each pipeline that asks for a block unlocks 1/N of
           its capacity, and only what is unlocked is granted.
efficient  The highest value for what is left of the blocks first (the greedy knapsack of DPack), unlocked in the same
           way. In ρ there is one order to pack in; where δ is spent too, the scarcer of both counts.

Nothing here is private: demands, lines and capacities are on record, and a schedule follows from them alone. Nor does
it protect anybody: that is the ledger's, whoever comes first.

Theorem  (never over capacity) Of no block is more granted than its capacity, in each currency, whatever is asked.
Proof    A demand is granted only where it fits into what is unlocked and not granted, on every block; at most the
         capacity is unlocked.
Theorem  (sharing incentive, rule "fair") A pipeline that is among the first N to ask for each of its blocks, and asks
         of each for at most 1/N of its capacity, is granted when it comes. So none of these ever waits.
Proof    By induction, whoever waits with a dominant share of at most 1/N is without hope: it does not fit into a block
         whose capacity is all unlocked, which never gets more. Let somebody with such a share come. Of those who wait
         and have hope, all have a larger one, so it is looked at before anybody takes something. It fits into every
         block of which it is among the first N: it unlocked at least ⌊capacity/N⌋ there, and what is free is never
         below 0. If these are all of its blocks, it is granted; else it is granted, or without hope.
Theorem  (strategy, rule "fair") Who asks for more of the same blocks than it needs is never granted earlier.
Proof    Unlocking does not depend on how much is asked. Until it would be granted its true demand it takes nothing in
         either case, and the others are looked at in the same order: both cases are alike. At that moment those before
         it in the order, with the larger demand, are those with the true one and some more, who leave no more; and it
         needs no less.
Beware   Who asks for *other* blocks too may gain, which the paper's proof leaves out: that unlocks them, somebody else
         is granted them and takes what a third would have taken together with what the liar wants (a test has the
         example). So may who sends many small pipelines: each unlocks a share. Where the clock unlocks (`wait` and
         `unlock`: DPF-T) nobody gains so, but nobody has a right to a share either.
Source   Luo, Pan, Tholoniat, Cidon, Geambasu & Lécuyer 2021 (PrivateKube, DPF); Tholoniat et al. 2025 (DPack).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

from discreet.errors import Refused
from discreet.ledger.codec import Amounts

CODE: Final = "demand-invalid"
LONGEST_NAME: Final = 200
Needs = tuple[tuple[int, Amounts], ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pipeline asks for: of each block the amounts that it adds to its line; all of them or nothing."""

    name: str
    needs: Needs
    """Sorted by block."""
    value: int = 1
    """What it is worth, for the rule "efficient"."""

    def __post_init__(self) -> None:
        name: object = self.name
        named = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME
        if not named or type(self.value) is not int or self.value < 1:
            raise _invalid("a demand has a name, and a value of 1 or more")
        if not self.needs or not all(_is_amounts(amounts) for _, amounts in self.needs):
            raise _invalid("a demand names blocks, and for each whole amounts that are not all 0")
        if list(self.blocks) != sorted(set(self.blocks)) or not all(type(block) is int for block in self.blocks):
            raise _invalid("the blocks of a demand are numbers, sorted, each once")

    @classmethod
    def of(cls, name: str, blocks: Iterable[int], cost: Amounts, value: int = 1) -> Self:
        """The same cost on each block, as one charge has it."""
        return cls(name, tuple((block, cost) for block in sorted(set(blocks))), value)

    @property
    def blocks(self) -> tuple[int, ...]:
        return tuple(block for block, _ in self.needs)


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a demand, or of a share that was unlocked."""

    granted: tuple[Demand, ...] = ()
    """In the order in which they were looked at."""
    lost: tuple[Demand, ...] = ()
    """Those that can never be granted any more: a block has too little left."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Demands that are alike, in the order in which they came: if one does not fit, none does."""

    needs: Needs
    value: int
    shares: tuple[Fraction, ...]
    """Of the capacity of each block, the largest first."""
    arrivals: dict[str, tuple[int, Demand]]

    @property
    def first(self) -> int:
        return next(iter(self.arrivals.values()))[0]


class Scheduler:
    """The blocks of one stream, and the pipelines that wait for them.

    >>> scheduler = Scheduler((100,), rule="fair", among=4)
    >>> scheduler.open(0)
    >>> scheduler.ask(Demand.of("elephant", [0], (60,))).granted  # 25 are unlocked
    ()
    >>> [demand.name for demand in scheduler.ask(Demand.of("mouse", [0], (10,))).granted]  # and 25 more
    ['mouse']
    >>> [demand.name for demand in scheduler.ask(Demand.of("other", [0], (20,))).granted]
    ['other']
    >>> [demand.name for demand in scheduler.ask(Demand.of("last", [0], (20,))).granted]
    ['last']
    """

    def __init__(self, capacity: Amounts, *, rule: str = "fair", among: int = 1) -> None:
        if not _is_amounts(capacity):
            raise _invalid("a capacity is one whole amount or two")
        if rule not in RULES:
            raise _invalid(f"a rule is one of {', '.join(RULES)}")
        if type(among) is not int or among < 1:
            raise _invalid("a block is shared among 1 pipeline or more")
        self.capacity = capacity
        self._order, self._among = RULES[rule], 1 if rule == "first" else among
        self._unlocked: dict[int, int] = {}
        self._spent: dict[int, Amounts] = {}
        self._waiting: dict[tuple[Needs, int], _Waiting] = {}
        self._wanted: defaultdict[int, dict[tuple[Needs, int], None]] = defaultdict(dict)
        self._keys: dict[str, tuple[Needs, int]] = {}
        self._arrived = 0

    # blocks

    def open(self, block: int, spent: Amounts | None = None) -> None:
        """A new block, of which all is locked; with `spent`, of which so much is gone already."""
        gone = (0,) * len(self.capacity) if spent is None else spent
        if type(block) is not int or block < 0 or block in self._spent:
            raise _invalid("a new block has a number that no other has")
        self._demand_amounts(gone)
        self._unlocked[block], self._spent[block] = 0, gone

    def unlock(self, blocks: Iterable[int], shares: int = 1) -> Turn:
        """So many shares of each of these blocks more may be granted: by the clock, not because somebody asks."""
        listed = list(blocks)
        for block in listed:
            self._known(block)
        if type(shares) is not int or shares < 1:
            raise _invalid("one share is unlocked, or several")
        self._unlock(listed, shares)
        return self._granted(listed)

    def _unlock(self, blocks: Iterable[int], shares: int) -> None:
        for block in blocks:
            self._unlocked[block] = min(self._unlocked[block] + shares, self._among)

    def settle(self, spent: Mapping[int, Amounts]) -> Turn:
        """Of these blocks so much is spent, says whoever keeps the record."""
        for block, amounts in spent.items():
            self._known(block)
            self._demand_amounts(amounts)
        self._spent.update(spent)
        return self._granted(list(spent))

    def spent(self, block: int) -> Amounts:
        self._known(block)
        return self._spent[block]

    def retire(self, block: int) -> Turn:
        """Of this block nothing is granted any more."""
        return self.settle({block: self.capacity})

    def left(self, block: int) -> Amounts:
        """What is not spent of its capacity, locked or not."""
        self._known(block)
        return tuple(max(most - gone, 0) for most, gone in zip(self.capacity, self._spent[block], strict=True))

    def free(self, block: int) -> Amounts:
        """What may be granted of it now."""
        self._known(block)
        shares = self._unlocked[block]
        unlocked = [most * shares // self._among for most in self.capacity]
        return tuple(max(most - gone, 0) for most, gone in zip(unlocked, self._spent[block], strict=True))

    def _demand_amounts(self, spent: Amounts) -> None:
        if len(spent) != len(self.capacity) or any(type(amount) is not int or amount < 0 for amount in spent):
            raise _invalid("what is spent of a block is in the currency of its capacity")

    def _known(self, block: int) -> None:
        if block not in self._spent:
            raise _invalid("there is no such block")

    # pipelines

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who waits, in the order in which they came."""
        arrivals = [entry for alike in self._waiting.values() for entry in alike.arrivals.values()]
        return tuple(demand.name for _, demand in sorted(arrivals, key=lambda entry: entry[0]))

    def ask(self, demand: Demand) -> Turn:
        """A pipeline comes and unlocks a share of each of its blocks. Who is granted now; if it is not, it waits."""
        turn = self.wait(demand)
        if turn.lost:
            return turn  # and nothing is unlocked: else it would cost nothing to unlock what others wait for
        self._unlock(demand.blocks, 1)
        return self._granted(demand.blocks)

    def wait(self, demand: Demand) -> Turn:
        """A pipeline comes, unlocks nothing and waits, where the clock unlocks (`unlock`)."""
        for block, amounts in demand.needs:
            self._known(block)
            if len(amounts) != len(self.capacity) or not _fits(amounts, self.capacity):
                raise _invalid("a demand exceeds the capacity of a block, or is in another currency")
        if demand.name in self._keys:
            raise _invalid("a pipeline of this name waits already")
        if not all(_fits(amounts, self.left(block)) for block, amounts in demand.needs):
            return Turn(lost=(demand,))
        self._put(demand)
        return Turn()

    def withdraw(self, name: str) -> bool:
        """One that waits leaves; whether it did. What it unlocked stays unlocked."""
        key = self._keys.pop(name, None)
        if key is None:
            return False
        alike = self._waiting[key]
        del alike.arrivals[name]
        if not alike.arrivals:
            self._drop(key)
        return True

    def _put(self, demand: Demand) -> None:
        key = demand.needs, demand.value
        if key not in self._waiting:
            shares = sorted((self._share(amounts, self.capacity) for _, amounts in demand.needs), reverse=True)
            self._waiting[key] = _Waiting(*key, tuple(shares), {})
            for block in demand.blocks:
                self._wanted[block][key] = None
        self._arrived += 1
        self._waiting[key].arrivals[demand.name] = self._arrived, demand
        self._keys[demand.name] = key

    def _drop(self, key: tuple[Needs, int]) -> list[Demand]:
        alike = self._waiting.pop(key)
        for block, _ in alike.needs:
            self._wanted[block].pop(key, None)
        for name in alike.arrivals:
            self._keys.pop(name, None)
        return [demand for _, demand in alike.arrivals.values()]

    @staticmethod
    def _share(amounts: Amounts, whole: Amounts) -> Fraction:
        """Of a whole, in the currency of which it is the largest part."""
        return max(Fraction(amount, most) for amount, most in zip(amounts, whole, strict=True) if amount)

    # grants

    def _granted(self, unlocked: Iterable[int]) -> Turn:
        """Look at those who want a block that was unlocked: for all others nothing has changed."""
        keys = dict.fromkeys(key for block in unlocked for key in self._wanted[block])
        orders = {key: self._order(self, self._waiting[key]) for key in keys}
        heap = [(order, self._waiting[key].first, key) for key, order in orders.items()]
        heapq.heapify(heap)
        granted = []
        while heap:
            _, _, key = heapq.heappop(heap)
            if all(_fits(amounts, self.free(block)) for block, amounts in key[0]):
                granted.append(self._take(key))
                if key in self._waiting:
                    heapq.heappush(heap, (orders[key], self._waiting[key].first, key))
        taken = dict.fromkeys(block for demand in granted for block in demand.blocks)
        return Turn(tuple(granted), tuple(self._hopeless({**taken, **dict.fromkeys(unlocked)})))

    def _take(self, key: tuple[Needs, int]) -> Demand:
        """The first of those who are alike is granted."""
        _, demand = next(iter(self._waiting[key].arrivals.values()))
        for block, amounts in demand.needs:
            self._spent[block] = tuple(map(sum, zip(self._spent[block], amounts, strict=True)))
        self.withdraw(demand.name)
        return demand

    def _hopeless(self, blocks: Iterable[int]) -> list[Demand]:
        """Whoever no longer fits into what is left of a block, locked or not, need not wait."""
        lost = []
        for block in blocks:
            left = self.left(block)
            for key in list(self._wanted[block]):
                if not _fits(dict(key[0])[block], left):
                    lost += self._drop(key)
        return lost


def _by_arrival(_: Scheduler, __: _Waiting) -> Any:
    return ()


def _by_share(_: Scheduler, alike: _Waiting) -> Any:
    """The dominant share; of equal ones the second, the third, …: those of fewer blocks end sooner, and come first."""
    return alike.shares


def _by_value(scheduler: Scheduler, alike: _Waiting) -> Any:
    """The value for a unit of what is left, over all blocks: the highest first."""
    weight = 0.0
    for block, amounts in alike.needs:
        left = scheduler.left(block)
        if not _fits(amounts, left):
            return 0.0
        weight += max(amount / most for amount, most in zip(amounts, left, strict=True) if amount)
    return -alike.value / weight


RULES: Final[dict[str, Callable[[Scheduler, _Waiting], Any]]] = {
    "first": _by_arrival,
    "fair": _by_share,
    "efficient": _by_value,
}
"""In which order those who wait are looked at: the smallest first, of equals whoever came first."""


def granted(demands: Iterable[Demand], capacity: Amounts, *, rule: str = "fair", among: int = 1) -> list[str]:
    """Who is granted, in this order, if they come one after the other and all blocks are new.

    >>> few = [Demand.of("a", [0, 1], (6,)), Demand.of("b", [1, 2], (6,)), Demand.of("c", [2], (4,))]
    >>> granted(few, (10,), rule="first"), granted(few, (10,), rule="fair", among=2)
    (['a', 'c'], ['c', 'b'])
    """
    listed = list(demands)
    scheduler = Scheduler(capacity, rule=rule, among=among)
    for block in sorted({block for demand in listed for block in demand.blocks}):
        scheduler.open(block)
    return [grant.name for demand in listed for grant in scheduler.ask(demand).granted]


def _fits(amounts: Amounts, into: Amounts) -> bool:
    return all(amount <= most for amount, most in zip(amounts, into, strict=True))


def _is_amounts(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) in (1, 2)
        and all(type(amount) is int and amount >= 0 for amount in value)
        and any(value)
    )


def _invalid(reason: str) -> Refused:
    return Refused(CODE, reason, "ask for open blocks, at a cost within their capacity")
