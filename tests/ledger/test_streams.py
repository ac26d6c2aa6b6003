"""The block ledger: no block above its capacity, against a plain list; and whatever is hostile is refused."""

from __future__ import annotations

import random
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.record import BlockNames, ranges_of
from discreet.accounting.rounding import UNITS
from discreet.errors import Refused
from discreet.ledger import OWNER, Grant, Ledger, Memory
from discreet.ledger.lines import SIZE, Lines
from discreet.ledger.memory import Journal
from discreet.ledger.state import State
from discreet.policy import Share
from tests.ledger.helpers import BOTH, hurried

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
    for step in range(600):
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
        assert again.stream("rides") == ledger_standing(state)


def _limits(ledger: Ledger) -> Any:
    return ledger.stream("rides").limits


def _loss(amounts: tuple[int, ...], *, pure: bool) -> Loss:
    exact = [Fraction(each, UNITS) for each in amounts]
    return Pure(exact[0]) if pure else Concentrated(*exact)


def ledger_standing(state: State) -> Any:
    from discreet.ledger.blocks import standing

    return standing(state, "rides", {})
