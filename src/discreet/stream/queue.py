"""A queue for the blocks of one stream: tasks wait until a rule grants them their blocks, and are performed then.

What a task asks for is its bill, which follows from its text: nobody says one thing and spends another. What is granted
is charged by the curator, before data is read, like everything else; if somebody outside of the queue was quicker, the
ledger refuses it. The queue is in memory: after a restart it is empty, and what it unlocked is locked again.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import BlockNames
from discreet.accounting.rounding import UNITS
from discreet.answers.call import Call
from discreet.curator.query import Query
from discreet.errors import Problem, Refused
from discreet.ledger.codec import Amounts
from discreet.stream.scheduling import CODE, Demand, Scheduler, Turn

LOST: Final = Refused(
    "budget-exhausted",
    "what is left of its blocks is less than its cost",
    "ask for other blocks, or allow a lower cost",
)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a task that waited no longer: what it shows, or why it is not performed."""

    name: str
    result: Any = None
    problem: Problem | None = None


class Queue:
    """Tasks that wait for blocks of a stream of a curator.

    Theorem  Tasks of a queue spend no more than a block's capacity, whatever rule it has.
    Proof    Each is charged by the ledger. (The rule's own theorems hold as long as others do not spend on the stream.)
    """

    def __init__(self, curator: Any, stream: str, *, rule: str = "fair", among: int = 10) -> None:
        if stream not in getattr(getattr(curator, "policy", None), "streams", ()) or not hasattr(curator, "_ledger"):
            raise Refused(CODE, "a queue is for a stream of a curator", "pass what discreet.open gives, and its stream")
        self._curator, self._stream = curator, stream
        standing = curator._ledger.stream(stream)
        self._capacity = standing.capacity
        self._scheduler = Scheduler(_amounts(standing.capacity, standing.capacity), rule=rule, among=among)
        self._tasks: dict[str, Any] = {}
        self._known: set[int] = set()
        self._done: list[Done] = []
        self._lock = threading.RLock()

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who waits, in the order in which they came."""
        with self._lock:
            return self._scheduler.waiting

    def submit(self, name: str, task: Any, *, value: int = 1) -> list[Done]:
        """A task, or what a caller says (`Call`), comes. What is done now: it, others that its coming unlocked blocks
        for, or nothing.
        """
        if not isinstance(task, Call) and not hasattr(task, "prepared"):
            raise Refused(
                CODE, "a queue takes tasks", "write estimator.task(sql, …, blocks=…), or Call(sql=…, blocks=…)"
            )
        bill = self._curator._prepared(Query(task) if isinstance(task, Call) else task).bill
        if bill.blocks is None or bill.blocks.stream != self._stream:
            raise Refused(CODE, f"this queue is for tasks about blocks of {self._stream}", "name blocks of it")
        demand = Demand.of(name, _numbers(bill.blocks), _amounts(bill.loss, self._capacity), value)
        with self._lock:
            if name in self._tasks:  # before its task takes the place of another
                raise Refused(CODE, "a task of this name waits already", "give each a name of its own")
            self._catch_up()
            turn = self._scheduler.ask(demand)
            # "newest 7" means those of now, however long it waits
            self._tasks[name] = replace(task, blocks=bill.blocks)
            self._perform(turn)
            return self._finished()

    def look(self) -> list[Done]:
        """What is done now that blocks were opened or retired, or others have spent on them."""
        with self._lock:
            self._catch_up()
            return self._finished()

    def _finished(self) -> list[Done]:
        """What nobody was told yet."""
        done, self._done = self._done, []
        return done

    def _catch_up(self) -> None:
        """Take over what is on record."""
        standing = self._curator._ledger.stream(self._stream)
        retired = {number for low, high in standing.retired for number in range(low, high + 1)}
        changed = {}
        for number, line in enumerate(standing.lines):
            spent = self._scheduler.capacity if number in retired else line
            if number not in self._known:
                self._scheduler.open(number, spent)
                self._known.add(number)
            elif self._scheduler.spent(number) != spent:
                changed[number] = spent
        self._perform(self._scheduler.settle(changed))

    def _perform(self, turn: Turn) -> None:
        for demand in turn.lost:
            del self._tasks[demand.name]
            self._done.append(Done(demand.name, problem=LOST))
        for demand in turn.granted:
            task = self._tasks.pop(demand.name)
            try:
                self._done.append(Done(demand.name, self._curator.perform(task)))
            except Problem as problem:
                self._done.append(Done(demand.name, problem=problem))


def _numbers(blocks: BlockNames) -> Iterable[int]:
    return (number for low, high in blocks.ranges for number in range(low, high + 1))


def _amounts(loss: Pure | Concentrated, like: Pure | Concentrated) -> Amounts:
    """A loss in the currency of a capacity, as the ledger counts it: rounded up."""
    counted = loss if like.is_pure else loss.concentrated()
    return tuple(math.ceil(amount * UNITS) for amount in counted.amounts.values())
