"""The block ledger: no block above its capacity, against a plain list; and whatever is hostile is refused."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Approximate, Concentrated, Loss, Pure, Relation
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.record import BlockNames, Key, PartName, ranges_of
from discreet.accounting.rounding import UNITS, charged
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import OWNER, Grant, Ledger, LedgerError, Memory, Repeated, verify
from discreet.ledger.blocks import standing
from discreet.ledger.lines import SIZE, Lines
from discreet.ledger.memory import Journal
from discreet.ledger.state import State
from discreet.ledger.streams import Stream
from discreet.policy import Percentage, Share
from tests.ledger.helpers import BOTH, CENT, hurried

PURE = Grant.of(Fraction(100), None)
ONE = Pure(1)
TENTH = Pure(Fraction(1, 10))


def opened(grant: Grant = PURE, *, shares: dict[str, Share] | None = None, journal: Journal | None = None) -> Ledger:
    return Ledger(Memory(journal), grant, shares=shares or {})


def streaming(ledger: Ledger, blocks: int, capacity: Loss = ONE, most: int = 1, name: str = "rides") -> Ledger:
    ledger.declare_stream(name, capacity, most)
    for number in range(blocks):
        assert ledger.open_block(name, f"{name} {number}", f"day {number}") == number
    return ledger


def ask(ledger: Ledger, loss: Loss, *numbers: int, stream: str = "rides", **facts: Any) -> None:
    with ledger.charge(loss, why="SELECT COUNT(*)", blocks=BlockNames.of(stream, numbers), **facts):
        pass


def replayed(ledger: Ledger) -> State:
    return State.replayed(ledger._store.rows())


# lines


def test_lines_are_a_plain_list() -> None:
    """Hundreds of changes at all edges of chunks; what was before stays what it was."""
    draw = random.Random(1)
    lines, plain, count = Lines(), list[int](), 3 * SIZE + 5
    for _ in range(count):
        lines, plain = lines.grown(), [*plain, 0]
    edges = sorted({edge + off for edge in range(0, count, SIZE) for off in (-1, 0, 1, 50)} & set(range(count)))
    for step in range(300):
        numbers = sorted(draw.sample([*edges, count - 1], 2 * draw.randrange(1, 3)))
        ranges = tuple((low, high) for low, high in zip(numbers[::2], numbers[1::2], strict=True))
        inside = {number for low, high in ranges for number in range(low, high + 1)}
        before, cost = list(lines), draw.choice([0, 1, 10**24, draw.randrange(10**30)])
        assert lines.peak(ranges) == max(before[number] for number in inside)
        assert list(lines.within(ranges)) == [before[number] for number in sorted(inside)]
        if step % 5:
            after, plain = lines.plus(ranges, cost), [x + cost * (i in inside) for i, x in enumerate(plain)]
        else:
            after, plain = lines.dropped(ranges), [0 if i in inside else x for i, x in enumerate(plain)]
        assert (list(lines), list(after)) == (before, plain)
        bound = draw.choice(plain)
        assert after.above(bound) == [i for i, x in enumerate(plain) if x > bound]
        assert Lines.runs(after.coded()) == after == Lines.of(plain)
        assert after != Lines.of([*plain, 0])
        assert after.grown() != after
        lines = after if step % 50 else after.grown()
        plain = list(lines)
        count = len(plain)
    assert lines != plain


# the ledger against a plain list


class Plain:
    """What a ledger should say, in fractions and lists."""

    def __init__(self, width: int, capacity: tuple[int, ...], shares: dict[str, tuple[int, ...]]) -> None:
        self.width, self.capacity, self.shares = width, capacity, shares
        self.lines: list[tuple[int, ...]] = []
        self.own: dict[str, list[tuple[int, ...]]] = {}
        self.retired: set[int] = set()
        self.ever: list[tuple[int, ...]] = []

    def open(self) -> None:
        for lines in (self.lines, self.ever, *self.own.values()):
            lines.append((0,) * self.width)

    def ask(self, analyst: str, numbers: list[int], cost: tuple[int, ...]) -> bool:
        own = self.own.get(analyst, [(0,) * self.width] * len(self.lines))
        limits = self.shares.get(analyst, self.capacity)
        for number in numbers:
            if number >= len(self.lines) or number in self.retired:
                return False
            for lines, most in ((self.lines, self.capacity), (own, limits)):
                if any(x + y > z for x, y, z in zip(lines[number], cost, most, strict=True)):
                    return False
        self.own[analyst] = list(own)
        for number in numbers:
            for lines in (self.lines, self.ever, self.own[analyst]):
                lines[number] = tuple(x + y for x, y in zip(lines[number], cost, strict=True))
        if cost[0]:
            self.retire({number for number in numbers if self.lines[number][0] == self.capacity[0]})
        return True

    def retire(self, numbers: set[int]) -> None:
        self.retired |= numbers
        for lines in (self.lines, *self.own.values()):
            for number in numbers:
                lines[number] = (0,) * self.width

    def lost(self, most: int) -> tuple[int, ...]:
        return tuple(sum(sorted(each, reverse=True)[:most]) for each in zip(*self.ever, strict=True))


@pytest.mark.parametrize("pure", [True, False])
def test_thousands_of_requests_are_admitted_as_by_a_plain_list(
    *, pure: bool, quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same admissions, lines, shares, retirements; resuming from totals and replaying everything agree."""
    monkeypatch.setattr("discreet.ledger.ledger.TOTALS_EVERY", 97)
    draw = random.Random(23 + pure)
    path = quick / "ledger.sqlite"
    grant = PURE if pure else BOTH
    capacity: Pure | Concentrated = Pure(1) if pure else Concentrated(Fraction(1, 50), Fraction(1, 10**8))
    amounts = tuple(int(each * UNITS) for each in capacity.amounts.values())
    ledger = hurried(path, grant, shares={"ann": grant.epsilon / 2, "bob": grant.epsilon})
    ledger.declare_stream("rides", capacity, 3)
    limits = {who: tuple(int(x * UNITS) for x in each.amounts.values()) for who, each in _limits(ledger).items()}
    plain = Plain(len(amounts), amounts, limits)
    admitted = 0
    for step in range(1200):
        count = len(plain.lines)
        if not count or draw.random() < 0.12:
            assert ledger.open_block("rides", f"file {count}", f"day {count}") == count
            plain.open()
        elif draw.random() < 0.01:
            upto = draw.randrange(count)
            ledger.retire("rides", upto, "old")
            plain.retire(set(range(upto)))
        else:
            recent = range(max(0, count - draw.choice([10, 300])), count + (draw.random() < 0.02))
            numbers = sorted(draw.sample(recent, min(len(recent), draw.choice([1, 2, 3, 30]))))
            who = draw.choice([None, "ann", "bob"])
            cost = tuple(draw.choice([0, each // 60, each // 30, each // 2, each + 1]) for each in amounts)
            exact = [Fraction(each, UNITS) for each in cost]
            fits = plain.ask(OWNER if who is None else who, numbers, cost)
            admitted += fits
            with nullcontext() if fits else pytest.raises(Refused):
                ask(ledger, Pure(exact[0]) if pure else Concentrated(*exact), *numbers, analyst=who)
        if step % 200 == 0:
            stands = ledger.stream("rides")
            assert list(stands.lines) == plain.lines
            assert {who: list(own) for who, own in stands.shares.items()} == plain.own
            assert stands.retired == ranges_of(plain.retired)
            assert stands.lost == _loss(plain.lost(3), pure=pure)
            assert all(x <= y for line in plain.ever for x, y in zip(line, amounts, strict=True))
    assert admitted > 200
    state = replayed(ledger)
    assert ledger._state == state
    ledger.close()
    with hurried(path, grant, shares={}) as again:
        assert again._state.streams == state.streams
        assert again.stream("rides") == standing(state, "rides", {})


def _limits(ledger: Ledger) -> Any:
    return ledger.stream("rides").limits


def _loss(amounts: tuple[int, ...], *, pure: bool) -> Loss:
    exact = [Fraction(each, UNITS) for each in amounts]
    return Pure(exact[0]) if pure else Concentrated(*exact)


# the theorem, over everything that somebody can do in a small world


@pytest.mark.parametrize(("most", "blocks"), [(1, 2), (2, 2), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_no_unit_loses_more_than_its_blocks_hold(most: int, blocks: int) -> None:
    """Blocks of capacity (2, 1), units in one or two of them: every order of opening, asking about every set of blocks
    at every cost, and retiring. Somebody adaptive also decides at each opening whether the unit has rows there.

    The loss of an answer is its whole cost, in the same direction each time: the worst transcript. What is reached is
    exactly the sum of the lines, so the bound is met and never exceeded; and `lost` covers it at every moment.
    """
    costs = [(1, 0), (1, 1), (2, 0)]
    subsets = [ranges_of(n for n in range(blocks) if mask >> n & 1) for mask in range(1, 2**blocks)]
    start = (Stream.declared((2, 1), most, None), frozenset[int](), (0, 0))
    seen, waiting, worst = set[Any](), [start], (0, 0)
    while waiting:
        stream, among, loss = waiting.pop()
        key = (tuple(map(tuple, stream.lines)), stream.retired, stream.count, stream.largest, among, loss)
        if key in seen:
            continue
        seen.add(key)
        worst = (max(worst[0], loss[0]), max(worst[1], loss[1]))
        assert all(x <= y for x, y in zip(loss, stream.lost, strict=True))
        assert all(x <= y for x, y in zip(stream.lost, stream.held, strict=True))
        if stream.count < blocks:
            grown = stream.opened(f"{stream.count}", f"{stream.count}")
            waiting += [(grown, among, loss)] + [(grown, among | {stream.count}, loss)] * (len(among) < most)
        waiting += [(stream.dropped(((0, upto),)), among, loss) for upto in range(stream.first, stream.count)]
        for ranges, cost in product(subsets, costs):
            with suppress(ValueError):
                after = stream.charged(ranges, cost, OWNER)
                touched = any(low <= number <= high for low, high in ranges for number in among)
                waiting.append((after, among, (loss[0] + touched * cost[0], loss[1] + touched * cost[1])))
    assert worst == (2 * most, most)
    assert len(seen) > 100


# declarations


def test_a_stream_is_declared_once_and_holds_its_blocks_budgets() -> None:
    ledger = opened(shares={"ann": Fraction(50)})
    ledger.declare_stream("rides", Pure(5), 3)
    assert (ledger.balance().spent.epsilon, ledger.balance("ann").spent.epsilon) == (15, 0)
    before = ledger._state.head
    ledger.declare_stream("rides", Pure(5), 3)
    assert ledger._state.head == before, "the same again is nothing"
    ledger.declare_stream("rides", Pure(7), 3)
    assert ledger.balance().spent.epsilon == 21
    ledger.declare_stream("other", Pure(1), 1)
    assert (ledger.streams(), ledger.balance().spent.epsilon) == (["other", "rides"], 22)
    assert ledger.stream("rides").count == ledger.stream("rides").first == 0
    assert not ledger.stream("rides").live
    assert ledger.stream("rides").newest(3) is None
    assert (ledger.stream("rides").lost, ledger.stream("rides").used) == (Pure(0), ())


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda each: each.declare_stream("rides", Pure(4), 3), "not lowered"),
        (lambda each: each.declare_stream("rides", Pure(5), 2), "at most 3 blocks, not about"),
        (lambda each: each.declare_stream("rides", Pure(5, unit="trip"), 3), "not about one trip"),
        (lambda each: each.declare_stream("rides", Pure(34), 3), "of at most epsilon 33.3333"),
        (lambda each: each.declare_stream("new", Pure(43), 2), "needs epsilon 86 .* epsilon 85 is left"),
        (lambda each: each.declare_stream("new", Pure(0), 2), "a capacity above 0"),
        (lambda each: each.declare_stream("new", Pure(10**20), 1), "of at most epsilon 85"),
        (lambda each: each.declare_stream("new", Pure(1), 0), "whole number"),
        (lambda each: each.declare_stream("new", Pure(1), -1), "whole number"),
        (lambda each: each.declare_stream("new", Pure(1), True), "whole number"),
        (lambda each: each.declare_stream("new", Pure(1), 1.0), "whole number"),
        (lambda each: each.declare_stream("new", Pure(1), 10**9), "whole number"),
        (lambda each: each.declare_stream("", Pure(1), 1), "no name"),
        (lambda each: each.declare_stream("a\nb", Pure(1), 1), "no name"),
        (lambda each: each.declare_stream("x" * 201, Pure(1), 1), "no name"),
        (lambda each: each.declare_stream(None, Pure(1), 1), "no name"),
        (lambda each: each.declare_stream("new", Concentrated(1), 1), "pure budget"),
        (lambda each: each.declare_stream("new", Pure(1, relation=Relation.REPLACE_ONE), 1), "replacing one unit"),
        (lambda each: each.open_block("rides", "", "day"), "no name"),
        (lambda each: each.open_block("rides", "file", "\ud800"), "no name"),
        (lambda each: each.open_block("rides", "rides 0", "day 5"), "block 0 of rides is 'day 0'"),
        (lambda each: each.open_block("rides", "file", "day 1"), "second one"),
        (lambda each: each.open_block("walks", "file", "day"), "streams: rides"),
        (lambda each: each.retire("rides", 4, "old"), "has 3 blocks"),
        (lambda each: each.retire("rides", -1, "old"), "has 3 blocks"),
        (lambda each: each.retire("rides", True, "old"), "has 3 blocks"),
        (lambda each: each.retire("walks", 1, "old"), "no stream 'walks'"),
        (lambda each: each.stream("walks"), "no stream 'walks'"),
        (lambda each: each.affordable(BlockNames.of("rides", [3])), "has 3 blocks"),
        (lambda each: each.raise_budget(Grant.of(Fraction(14), None), "less"), "spent already"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(act: Callable[[Any], object], says: str) -> None:
    ledger = streaming(opened(), 3, Pure(5), 3)
    before = ledger._state
    with pytest.raises((LedgerError, Refused), match=says):
        act(ledger)
    assert ledger._state == before
    assert replayed(ledger) == before


def test_a_stream_says_whom_it_is_about() -> None:
    """A policy's unit, or another one: then what is spent about each is counted apart."""
    ledger = Ledger(Memory(), PURE, shares={}, unit="rider")
    with pytest.raises(LedgerError, match=r"loss.per\('rider'\)"):
        ledger.declare_stream("rides", Pure(1), 1)
    streaming(ledger, 2, Pure(1, unit="rider and day"))
    ask(ledger, Pure(0.5, unit="rider and day"), 0, 1)
    with pytest.raises(Refused, match="losses-differ"):
        ask(ledger, Pure(0.1, unit="rider"), 0, 1)
    with pytest.raises(Refused, match="losses-differ"):
        ask(ledger, Pure(0.1), 0)
    with ledger.charge(Pure(3, unit="rider"), why="all"):
        pass
    assert {name: each.epsilon for name, each in ledger.balance().units.items()} == {"rider": 3, "rider and day": 1}
    assert ledger.affordable_count(Pure(0.1, unit="rider and day"), None, BlockNames.of("rides", [0])) == 5
    assert ledger.affordable_count(Pure(0.1, unit="rider"), None, BlockNames.of("rides", [0])) == 0
    assert ledger.affordable_count(Pure(0, unit="rider"), None, BlockNames.of("rides", [0])) is None


# admission


def test_a_refusal_says_which_blocks_lack_what_and_which_have_room() -> None:
    ledger = streaming(opened(shares={"ann": Percentage(Fraction(1, 10))}), 8)
    ask(ledger, Pure(0.75), 0, 2, 4)
    ask(ledger, Pure(0.25), 5)
    head = ledger._state.head
    with pytest.raises(BudgetExhausted) as first:
        ask(ledger, Pure(0.5), *range(6))
    assert first.value.reason == ("the cost is epsilon 0.5 and 0.25 is left in blocks 0, 2, 4 (day 0 … day 4) of rides")
    assert first.value.fix == "ask for epsilon 0.25 or less, or ask about blocks 1, 3, 5 (day 1 … day 5)"
    assert first.value.edit is not None
    assert first.value.edit.arguments == {"epsilon": 0.25}
    with pytest.raises(BudgetExhausted, match=r"or ask about blocks 1, 3, 5 to 7 \(day 1 … day 7\)"):
        ask(ledger, Pure(0.5), 0)
    with pytest.raises(BudgetExhausted, match=r"in block 1 \(day 1\) of rides, of the share of ann → .* wait for new"):
        ask(ledger, Pure(0.2), 1, analyst="ann")
    with pytest.raises(BudgetExhausted, match=r"epsilon 0.1 or less, or wait for new blocks"):
        ask(ledger, Pure(2), 1, analyst="ann")
    with pytest.raises(Refused, match="unknown-block: stream rides has 8 blocks, numbered from 0"):
        ask(ledger, TENTH, 7, 8)
    with pytest.raises(Refused, match="unknown-stream"):
        ask(ledger, TENTH, 0, stream="walks")
    with pytest.raises(Refused, match="unknown-analyst"):
        ask(ledger, TENTH, 0, analyst="eve")
    with pytest.raises(Refused, match="blocks-invalid"):
        ask(ledger, TENTH, 0, part=PartName("p", "a", 1))
    with pytest.raises(Refused, match="pure budget"):
        ask(ledger, Concentrated(0.1), 0)
    with pytest.raises(Refused, match="replacing one"):
        ask(ledger, Pure(0.1, relation=Relation.REPLACE_ONE), 0)
    assert ledger._state.head == head, "nothing was written"


def test_blocks_that_are_used_up_are_retired_for_good() -> None:
    ledger = streaming(opened(), 5, most=2)
    ask(ledger, Pure(0.6), 1, 2, 3)
    ask(ledger, Pure(0.4), 0, 1, 3)
    assert ledger.stream("rides").retired == ((1, 1), (3, 3))
    with pytest.raises(Refused, match=r"blocks 1, 3 \(day 1 … day 3\) of rides are retired → ask about blocks 0, 2"):
        ask(ledger, Pure(0), 0, 1, 2, 3)
    with pytest.raises(Refused, match=r"block-retired: block 1 \(day 1\) of rides is retired → ask about blocks 0, 2"):
        ask(ledger, Pure(0), 1)
    ledger.declare_stream("rides", Pure(2), 2)
    with pytest.raises(Refused, match="block-retired"):
        ask(ledger, TENTH, 1)
    ledger.retire("rides", 3, "a year has passed")
    ledger.retire("rides", 3, "again")
    ledger.retire("rides", 1, "before")
    stands = ledger.stream("rides")
    assert (stands.first, stands.retired) == (4, ((0, 3),))
    assert list(stands.live) == [(4, 4)]
    assert stands.lost == Pure(2), "the two largest lines there ever were"
    assert [stands.left(number) for number in (3, 4)] == [Pure(0), Pure(2)]
    assert list(stands.used) == [1, 1, 1, 1, 0]
    assert stands.newest(7) == BlockNames("rides", ((4, 4),))
    ask(ledger, Pure(2), 4)
    assert not ledger.stream("rides").live
    with pytest.raises(Refused, match="wait for new blocks"):
        ask(ledger, Pure(0), 4)
    assert replayed(ledger) == ledger._state


def test_threads_share_a_block_to_its_last_hundredth(path: Path) -> None:
    """Charges that wait together are admitted in one transaction, one after the other."""
    with hurried(path, PURE, shares={"ann": Fraction(30)}) as ledger:
        streaming(ledger, 2)
        refused: list[str] = []

        def work(analyst: str | None) -> None:
            for _ in range(40):
                try:
                    ask(ledger, CENT, 0, 1, analyst=analyst)
                except Refused as refusal:
                    refused.append(refusal.code)

        threads = [threading.Thread(target=work, args=(who,)) for who in ("ann", None, None, "ann")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stream = ledger._state.streams["rides"]
        counts = Counter(entry.analyst for entry in ledger.entries())
        assert (counts.total(), stream.lost, stream.retired, len(refused)) == (100, (UNITS,), ((0, 1),), 60)
        assert counts["ann"] <= 30, "her share is 30 per cent of each block"
        assert set(refused) <= {"budget-exhausted", "block-retired"}


def test_a_share_is_the_same_part_of_every_block() -> None:
    """Whatever somebody charges through blocks: no block more than the share, in each currency."""
    shares: dict[str, Share] = {"ann": Percentage(Fraction(1, 4)), "bob": BOTH.epsilon / 2, "eve": BOTH.epsilon * 3}
    ledger = Ledger(Memory(), BOTH, shares=shares)
    streaming(ledger, 3, Concentrated(Fraction(4, 100), Fraction(4, 10**8)))
    stands = ledger.stream("rides")
    assert stands.limits["ann"] == Concentrated(Fraction(1, 100), Fraction(1, 10**8))
    assert stands.limits["eve"] == stands.capacity, "no more than all of it"
    assert stands.left(0, "ann") == stands.limits["ann"]
    ask(ledger, Concentrated(Fraction(1, 100)), 0, 1, analyst="ann")
    assert stands.limits["ann"] == ledger.stream("rides").limits["ann"]
    assert ledger.stream("rides").left(0, "ann") == Concentrated(0, Fraction(1, 10**8))
    assert ledger.stream("rides").left(2, "ann") == stands.limits["ann"]
    assert ledger.stream("rides").left(0, "nobody") == ledger.stream("rides").left(0)
    with pytest.raises(BudgetExhausted, match="of the share of ann"):
        ask(ledger, Concentrated(Fraction(1, 10**9)), 1, analyst="ann")
    with pytest.raises(BudgetExhausted, match=r"the cost is delta .* of the share of ann"):
        ask(ledger, Concentrated(0, Fraction(2, 10**8)), 1, analyst="ann")
    ask(ledger, Concentrated(0, Fraction(1, 10**8)), 1, analyst="ann")
    assert ledger.affordable(BlockNames.of("rides", [1, 2]), "ann").rho == 0
    assert ledger.affordable(BlockNames.of("rides", [1, 2])).rho == 0.03
    assert ledger.affordable(BlockNames.of("rides", [2]), "ann").rho == 0.01
    assert ledger.affordable_count(Concentrated(0.01), "ann", BlockNames.of("rides", [1, 2])) == 0
    assert ledger.affordable_count(Concentrated(0.01), None, BlockNames.of("rides", [1, 2])) == 3
    assert ledger.used("ann", BlockNames.of("rides", [1, 2])).words == "100 % of the capacity used"
    assert ledger.used(None, BlockNames.of("rides", [1, 2])).words == "25 % of the capacity used"
    assert ledger.used("ann", BlockNames.of("rides", [2])).words == "0 % of the capacity used"
    assert ledger.part_of_rest(Pure(1, unit=ledger.unit), "ann", BlockNames.of("rides", [1, 2])) is None
    with pytest.raises(BudgetExhausted, match="the cost is delta"):
        ask(ledger, Concentrated(0, Fraction(5, 10**8)), 0)
    ask(ledger, Approximate(Fraction(1, 100), Fraction(1, 10**8)), 0)


def test_analysts_see_their_own_lines_alone() -> None:
    ledger = streaming(opened(shares={"ann": Fraction(50), "bob": Fraction(50)}), 2, most=3)
    for analyst in ("ann", "bob"):
        ask(ledger, TENTH, 0, analyst=analyst)
    seen = ledger.stream("rides").seen_by("ann")
    assert (set(seen.shares), set(seen.limits), seen.files) == ({"ann"}, {"ann"}, ())
    assert (seen.lines, seen.held) == (ledger.stream("rides").lines, Pure(3))
    assert ledger.stream("rides").seen_by(None).shares == {}


@pytest.mark.parametrize("blocks", [((0, 1),), "rides 0-1", 5])
def test_blocks_are_named_by_their_names(blocks: Any) -> None:
    """Something else would fail inside of the transaction, and take with it those who wait for the same."""
    ledger = streaming(opened(), 2)
    with pytest.raises(TypeError, match="BlockNames"):
        ledger.charge(TENTH, why="q", blocks=blocks)


def test_charges_about_blocks_are_cached_keyed_and_read_as_others_are(path: Path) -> None:
    with hurried(path) as ledger:
        streaming(ledger, 2)
        names = BlockNames.of("rides", [0, 1])
        charge = ledger.charge(TENTH, why="q", plan="p", blocks=names, key=Key("k", "d"), call={"epsilon": "0.1"})
        with charge:
            charge.keep(b"noisy")
        assert (charge.increase, ledger.balance().spent.epsilon) == (Pure(0), 1)
        with pytest.raises(Repeated), ledger.charge(TENTH, why="q", plan="p", blocks=names, key=Key("k", "d")):
            pass
        entry = ledger.entry(charge.number)
        assert entry is not None
        assert (entry.blocks, entry.part, entry.cost, entry.loss) == (names, None, TENTH, Pure(0))
        assert [each.answer for each in ledger.cached("p", 1, TENTH)] == [b"noisy"]
        assert list(ledger.cached("p", 1, Pure(0.2))) == []
        ledger.advance_data("a new week")
        assert ledger.stream("rides").spent(0) == TENTH, "blocks are not made anew"
    assert verify(path, [charge.receipt]).problems == ()


# another currency


def test_lines_go_on_in_another_currency() -> None:
    """They are at least what their charges cost in it, one by one; the capacity is declared anew."""
    ledger = streaming(opened(Grant.of(Fraction(3), None)), 4, Pure(Fraction(1, 2)), 2)
    streaming(ledger, 1, Pure(Fraction(1, 5)), name="unused")
    ask(ledger, Pure(Fraction(1, 4)), 0, 1, 2)
    ask(ledger, Pure(Fraction(1, 8)), 1)
    ask(ledger, Pure(Fraction(1, 2)), 3, analyst=None)
    with ledger.charge(Pure(Fraction(1, 10)), why="beside the streams"):
        pass
    spent = ledger._state.spent[0]
    wide = Grant.of(Fraction(20), Fraction(1, 10**6))
    ledger.raise_budget(wide, "delta")
    stands, state = ledger.stream("rides"), ledger._state
    rho = [charged(rho_of_pure(Fraction(each, 8))) for each in (2, 3, 2)]
    assert [line[0] for line in stands.lines] == [*rho, 0]
    assert stands.lines[1][0] >= charged(rho_of_pure(Fraction(1, 4)) + rho_of_pure(Fraction(1, 8)))
    assert stands.lost.amount * UNITS == charged(rho_of_pure(Fraction(1, 2))) + rho[1]
    assert stands.capacity.amount * UNITS == rho[1]
    assert state.spent[0] == charged(rho_of_pure(Fraction(spent, UNITS)))
    assert ledger.stream("unused").capacity == Concentrated(0)
    with pytest.raises(BudgetExhausted):
        ask(ledger, Concentrated(Fraction(1, 10**9)), 1)
    with pytest.raises(LedgerError, match="not lowered"):
        ledger.declare_stream("rides", Concentrated(Fraction(1, 10**6)), 2)
    ledger.declare_stream("rides", Concentrated(Fraction(1, 2), Fraction(1, 10**9)), 2)
    ledger.declare_stream("unused", Concentrated(Fraction(1, 10)), 2 - 1)
    ask(ledger, Concentrated(Fraction(1, 10)), 0, 1, 2)
    with pytest.raises(Refused, match="block-retired"):
        ask(ledger, Concentrated(Fraction(1, 10)), 3)
    with pytest.raises(LedgerError, match="cannot be counted"):
        ledger.raise_budget(Grant.of(Fraction(1000), None), "back")
    assert replayed(ledger) == ledger._state


def test_what_streams_hold_stays_covered_however_small_it_is() -> None:
    """Where amounts of the other currency round up to one unit each, what is spent covers all of them."""
    ledger = streaming(opened(Grant.of(Fraction(1), None)), 3, Pure(Fraction(2, 10**20)), 3)
    ask(ledger, Pure(Fraction(1, 10**20)), 0, 1, 2)
    ledger.raise_budget(Grant.of(Fraction(1), Fraction(1, 10**6)), "delta")
    assert (ledger._state.streams["rides"].held, ledger._state.spent) == ((3, 0), (3, 0))
    assert replayed(ledger) == ledger._state


def test_an_empty_stream_changes_its_currency_too() -> None:
    ledger = streaming(opened(Grant.of(Fraction(1), None)), 0)
    ledger.raise_budget(Grant.of(Fraction(8), Fraction(1, 10**6)), "delta")
    assert ledger.stream("rides").capacity == Concentrated(0)
    assert replayed(ledger) == ledger._state


def test_many_runs_are_named_by_their_newest() -> None:
    ledger = streaming(opened(), 12)
    ask(ledger, Pure(1), *range(0, 12, 2))
    with pytest.raises(Refused, match=r"blocks 6, 8, 10 \(day 6 … day 10\) and 3 earlier runs of rides are retired"):
        ask(ledger, TENTH, *range(12))


def test_of_a_share_that_was_lowered_below_what_was_spent_nothing_is_left() -> None:
    journal = Journal()
    with streaming(opened(shares={"ann": Fraction(50)}, journal=journal), 2) as ledger:
        ask(ledger, Pure(Fraction(2, 5)), 0, analyst="ann")
    with opened(shares={"ann": Fraction(20)}, journal=journal) as ledger:
        standing = ledger.stream("rides")
        assert standing.limits["ann"] == Pure(Fraction(1, 5))
        assert (standing.left(0, "ann"), standing.left(1, "ann")) == (Pure(0), Pure(Fraction(1, 5)))
