"""Running counts and sums of a stream: one more total for each block that is sealed, with noise that grows by its log.

A total over blocks 0 … t is put together from dyadic nodes: of the blocks j·2ˡ … (j + 1)·2ˡ − 1, for every level l. A
node is an ordinary query about its blocks, asked when the last of them is there. So there is no state to lose: released
nodes are answers beside their charges, shown again for nothing after a restart, and no noise is kept anywhere.

Theorem  Over a horizon of T blocks (or T steps of several blocks each), all totals together add at most the cost to
         the line of each block.
Proof    There are m = ⌊log₂ T⌋ + 1 levels; a block is in one node of each at most. A node is charged for 1/m of the
         cost, to its blocks alone (the theorem of block composition), under a name of its own: the ledger has one
         charge of a name, whoever asks again, in whatever process, so that none is drawn twice. A charge whose answer
         was lost (a process that died between the two) is not made again: its node is missing, for good. Totals are
         post-processing.
Error    The total of t blocks is a sum of as many nodes as t has ones in binary. The estimate of a node combines what
         was measured of it with those of its halves, by inverse variances, so its variance v_l = 1/(1 + 1/(2·v_{l−1}))
         falls from 1 to a half of one node's. A node that is missing is the sum of its halves.
Factor   Over a year (T = 366, m = 9), in ρ, the root of the mean variance is 4.7 times that of one query for the whole
         cost; where every day is asked once and added up it is 13.5 times. The square root of a matrix
         (`mechanisms.prefixes`) has 2.8 times. But each of its numbers reads all blocks at a share of its own for each,
         which no charge can say, or it needs earlier noise: and who holds that holds the rows.
Source   Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011; estimates from below as in Honaker 2015.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, cast

from discreet.accounting.record import BlockNames, Key
from discreet.accounting.stream import StreamStanding
from discreet.answers.call import Call
from discreet.curator.query import Query
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.exact import whole

MOST_BLOCKS: Final = 2**20
CODE: Final = "running-invalid"
Node = tuple[int, int]
"""A level, and the number of the node on it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A noisy number, and the half-width of its 95 % interval: infinity says that it is not known."""

    value: float
    half: float

    def plus(self, other: Measured) -> Measured:
        """Of two sums of other blocks, their sum. Half-widths of independent noises add in squares: exactly for
        Gaussian noise, and for Laplace noise that is more than needed.
        """
        return Measured(self.value + other.value, math.hypot(self.half, other.half))

    def combined(self, other: Measured) -> Measured:
        """Of two measurements of one number, the best one."""
        if math.isinf(other.half) or not self.half:
            return self
        if math.isinf(self.half) or not other.half:
            return other
        weight = other.half**2 / (self.half**2 + other.half**2)
        return Measured(weight * self.value + (1 - weight) * other.value, math.sqrt(weight) * self.half)


UNKNOWN: Final = Measured(0.0, math.inf)


@dataclass(frozen=True, slots=True)
class Total:
    """The running total up to a block."""

    block: int
    label: str
    value: float
    """Unbiased, hence neither whole nor always rising."""
    error: float
    """The half-width of its 95 % interval."""


class Running:
    """A running count of rows, or sum of a column, over the blocks of a stream; see `running`."""

    def __init__(
        self,
        curator: Any,
        table: str,
        *,
        column: str | None = None,
        where: str | None = None,
        horizon: int,
        epsilon: Any = None,
        rho: Any = None,
        first: int = 0,
        every: int = 1,
        analyst: str | None = None,
    ) -> None:
        if whole(horizon, "horizon", least=whole(every, "every")) > MOST_BLOCKS:
            raise Refused(CODE, f"a horizon has at most {MOST_BLOCKS:,} blocks", "begin another after it")
        whole(first, "first", least=0)
        for name, given in {"table": table, "column": column or "", "where": where or ""}.items():
            if not isinstance(given, str):
                raise Refused(CODE, f"{name} must be a text", "name a table, a column, and a condition in SQL")
        if not hasattr(curator, "_ledger"):
            raise Refused(CODE, "running totals are asked of the curator itself", "pass what discreet.open gives")
        stream = curator.policy.tables.get(table)
        if stream is None or stream.stream is None or stream.stream.by == "unit":
            reason = f"{table} is no stream with blocks of time" if table in curator.policy.tables else "no such stream"
            raise Refused(CODE, reason, "name a table that has a stream by hour, day, week or month")
        self._curator, self._table, self._analyst = curator, table, analyst
        self.sql: Final = _text(table, column, where)
        self.steps: Final = horizon // every
        """Of the horizon, each with a total at its end."""
        self.first, self.every = first, every
        self._cost = {name: cost for name, cost in (("epsilon", epsilon), ("rho", rho)) if cost is not None}
        self._nodes: dict[Node, Measured] = {}
        self._each: dict[str, Fraction] = {}

    @property
    def levels(self) -> int:
        return self.steps.bit_length()

    @property
    def missing(self) -> tuple[tuple[int, int], ...]:
        """The first and the last block of each node that was refused: some of them were used up, or are retired."""
        return tuple(self._ends(node) for node, known in self._nodes.items() if math.isinf(known.half))

    def totals(self) -> list[Total]:
        """All totals so far. What was drawn before is shown again; what is new is charged and drawn.

        From a block on whose rows could not be asked about (`missing`) there are none.
        """
        standing = self._standing()
        there = min((standing.count - self.first) // self.every, self.steps)
        for end in range(there):
            for level in range(self.levels):
                node = level, (end + 1) // 2**level - 1
                if (end + 1) % 2**level == 0 and node not in self._nodes:
                    self._measure(node)
        estimates = estimated(self._nodes)
        sums = [prefix(estimates, end) for end in range(1, there + 1)]
        last = self.first + self.every - 1
        return [
            Total(last + self.every * step, standing.labels[last + self.every * step], total.value, total.half)
            for step, total in enumerate(sums)
            if not math.isinf(total.half)
        ]

    def _ends(self, node: Node) -> tuple[int, int]:
        level, number = node
        size = self.every * 2**level
        return self.first + number * size, self.first + (number + 1) * size - 1

    def _measure(self, node: Node) -> None:
        """Ask about the blocks of a node. What is refused once is refused always; an answer may still be on its way."""
        try:
            answer = self._curator.answer(self._call(node))
        except QueryFailed:
            return
        except Refused:
            if node == (0, 0):
                raise
            self._nodes[node] = UNKNOWN
            return
        ((value,),) = answer.rows
        low, high = next(iter(answer.intervals[0].values()))
        self._nodes[node] = UNKNOWN if value is None else Measured(float(value), float(high - low) / 2)

    def _call(self, node: Node) -> Call:
        """The query of a node, under a name of its own: of the policy, the text, the horizon, the cost and the node."""
        blocks = BlockNames(self._table, (self._ends(node),))
        if not self._each:
            self._each = self._share(blocks)
        call = Call(sql=self.sql, **cast(Any, self._each), analyst=self._analyst, blocks=blocks)
        plan = self._curator._prepared(Query(call)).bill.plan
        cost = {name: str(amount) for name, amount in self._each.items()}
        request = json.dumps([plan, self.steps, self.first, self.every, cost, *self._ends(node)])
        digest = hashlib.sha256(request.encode()).hexdigest()
        return replace(call, key=Key(f"running {digest}", digest))

    def _share(self, blocks: BlockNames) -> dict[str, Fraction]:
        """What a node costs: the whole, in the currency of the budget, divided by the number of levels."""
        whole_cost = self._curator.preview_of(Call(sql=self.sql, **self._cost, analyst=self._analyst, blocks=blocks))
        loss = whole_cost.loss
        if whole_cost.groups is not None and whole_cost.groups != 1:
            raise Refused(CODE, "a running total is one number for each block", "leave GROUP BY out of the condition")
        if not self._standing().capacity.bounds(loss):
            raise BudgetExhausted("the cost is more than the capacity of a block", "allow a lower cost")
        return {name: amount / self.levels for name, amount in loss.named.items()}

    def _standing(self) -> StreamStanding:
        standing: StreamStanding = self._curator._ledger.stream(self._table)
        return standing


def running(curator: Any, table: str, **options: Any) -> list[Total]:
    """Running counts of rows (or sums of a `column`, `where` a condition holds) up to each block that is sealed.

    The cost (`epsilon` or `rho`) is that of the whole `horizon`, in blocks: each block is charged for it once, in as
    many parts as there are levels. With `every=7` there is a total for every seventh block only, and less noise. Asked
    again, also in another process, only what is new is drawn. Whoever asks often keeps a `Running` and calls its
    `totals()`.
    """
    return Running(curator, table, **options).totals()


# post-processing


def estimated(nodes: dict[Node, Measured]) -> dict[Node, Measured]:
    """The best estimate of each node from itself and all below it."""
    made: dict[Node, Measured] = {}
    for level, number in sorted(nodes):
        own = nodes[level, number]
        halves = [made.get((level - 1, 2 * number + half), UNKNOWN) for half in (0, 1)]
        made[level, number] = own.combined(halves[0].plus(halves[1])) if level else own
    return made


def prefix(estimates: dict[Node, Measured], count: int) -> Measured:
    """The sum of the first so many blocks: of one node for each one in the binary form of their number."""
    total, start = Measured(0.0, 0.0), 0
    for level in reversed(range(count.bit_length())):
        if count & 2**level:
            total = total.plus(_node(estimates, level, start // 2**level))
            start += 2**level
    return total


def _node(estimates: dict[Node, Measured], level: int, number: int) -> Measured:
    """An estimate, or the sum of those of its halves where there is no such level."""
    if (level, number) in estimates or not level:
        return estimates.get((level, number), UNKNOWN)
    return _node(estimates, level - 1, 2 * number).plus(_node(estimates, level - 1, 2 * number + 1))


def _text(table: str, column: str | None, where: str | None) -> str:
    quoted = '"{}"'.format(table.replace('"', '""'))
    counted = "COUNT(*)" if column is None else 'SUM("{}")'.format(column.replace('"', '""'))
    return f"SELECT {counted} AS total FROM {quoted}" + ("" if where is None else f" WHERE ({where})")
