"""Who is granted blocks: the rules against their plain definition, and what is proven of them, on all small cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from discreet.errors import Refused
from discreet.stream.scheduling import RULES, Demand, Scheduler, granted

CAPACITY = (12,)


class Plain:
    """The rules as the papers write them down: everybody who waits is looked at each time."""

    def __init__(self, capacity: tuple[int, ...], rule: str, among: int, blocks: Iterable[int]) -> None:
        self.capacity, self.rule = capacity, rule
        self.among = 1 if rule == "first" else among
        self.asked = dict.fromkeys(blocks, 0)
        self.spent = {block: [0] * len(capacity) for block in self.asked}
        self.waiting: list[Demand] = []

    def ask(self, demand: Demand) -> list[str]:
        if not self._fits(demand, {block: list(self.capacity) for block in self.asked}):
            return []
        self.waiting.append(demand)
        for block in demand.blocks:
            self.asked[block] += 1
        granted = []
        for each in sorted(self.waiting, key=self._key):  # sorted is stable: of equals who came first
            free = {
                block: [most * min(self.asked[block], self.among) // self.among for most in self.capacity]
                for block in self.asked
            }
            if self._fits(each, free):
                for block, amounts in each.needs:
                    self.spent[block] = [a + b for a, b in zip(self.spent[block], amounts, strict=True)]
                granted.append(each.name)
        self.waiting = [each for each in self.waiting if each.name not in granted]
        return granted

    def _fits(self, demand: Demand, free: dict[int, list[int]]) -> bool:
        return all(
            gone + amount <= most
            for block, amounts in demand.needs
            for gone, amount, most in zip(self.spent[block], amounts, free[block], strict=True)
        )

    def _key(self, demand: Demand) -> Any:
        if self.rule == "first":
            return ()
        if self.rule == "fair":
            shares = [max(map(Fraction, amounts, self.capacity)) for _, amounts in demand.needs]
            return sorted(shares, reverse=True)
        total = 0.0
        for block, amounts in demand.needs:
            left = [most - gone for most, gone in zip(self.capacity, self.spent[block], strict=True)]
            if any(amount > most for amount, most in zip(amounts, left, strict=True)):
                return 0.0
            total += max(amount / most for amount, most in zip(amounts, left, strict=True) if amount)
        return -demand.value / total


def drawn(dice: Random, name: str, currencies: int) -> Demand:
    blocks = sorted(dice.sample(range(4), dice.choice((1, 1, 2, 3))))
    costs = [tuple(dice.choice((1, 2, 3, 5, 9)) for _ in range(currencies)) for _ in blocks]
    return Demand(name, tuple(zip(blocks, costs, strict=True)), dice.choice((1, 1, 4)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("currencies", [1, 2])
def test_rules_are_their_plain_definition(rule: str, currencies: int) -> None:
    """Incremental grants, classes of alike demands and dropped ones change nothing; and no line passes its capacity."""
    for seed in range(25):
        dice = Random(seed)
        among = dice.choice((1, 2, 3, 5))
        capacity = (12, 17)[:currencies]
        scheduler, plain = Scheduler(capacity, rule=rule, among=among), Plain(capacity, rule, among, range(4))
        for block in range(4):
            scheduler.open(block)
        for number in range(40):
            demand = drawn(dice, f"p{number}", currencies)
            turn = scheduler.ask(demand)
            assert [each.name for each in turn.granted] == plain.ask(demand)
            assert not {each.name for each in turn.lost} & set(scheduler.waiting)
            for block in range(4):
                assert scheduler.left(block) == tuple(
                    most - gone for most, gone in zip(capacity, plain.spent[block], strict=True)
                )
                assert all(gone <= most for gone, most in zip(plain.spent[block], capacity, strict=True))


def test_the_papers_example() -> None:
    """Figure 4 of PrivateKube, in halves: fair shares of 2 in two blocks; P2 at t = 2, P1 at t = 3, P3 waits."""
    scheduler = Scheduler((6,), rule="fair", among=3)
    scheduler.open(1)
    scheduler.open(2)
    demands = {"P1": (1, 3), "P2": (2, 2), "P3": (3, 2)}
    turns = [
        [each.name for each in scheduler.ask(Demand(name, ((1, (one,)), (2, (two,))))).granted]
        for name, (one, two) in demands.items()
    ]
    assert turns == [[], ["P2"], ["P1"]]
    assert scheduler.waiting in ((), ("P3",))


@pytest.mark.parametrize("costs", [(4, 5), pytest.param((2, 4, 5, 8), marks=pytest.mark.slow)])
def test_fair_shares_are_granted_at_once(costs: tuple[int, ...]) -> None:
    """The sharing incentive, over all queues of four on two blocks of 12: a third (4) is a fair share among three."""
    few = [(blocks, cost) for blocks in ((0,), (1,), (0, 1)) for cost in costs]
    for queue in product(few, repeat=4):
        scheduler = Scheduler(CAPACITY, rule="fair", among=3)
        scheduler.open(0)
        scheduler.open(1)
        asked = [0, 0]
        for number, (blocks, cost) in enumerate(queue):
            rightful = cost <= 4 and all(asked[block] < 3 for block in blocks)
            turn = scheduler.ask(Demand.of(str(number), blocks, (cost,)))
            if turn.lost and turn.lost[0].name == str(number) and not turn.granted:
                assert not rightful
                continue
            for block in blocks:
                asked[block] += 1
            assert not rightful or str(number) in [each.name for each in turn.granted]


def when(queue: Sequence[Demand], name: str, among: int, rule: str = "fair") -> float:
    """At which arrival a pipeline is granted; infinity if never."""
    scheduler = Scheduler(CAPACITY, rule=rule, among=among)
    for block in range(3):
        scheduler.open(block)
    for number, demand in enumerate(queue):
        if name in [each.name for each in scheduler.ask(demand).granted]:
            return number
    return float("inf")


def test_asking_for_more_never_helps() -> None:
    """Over all queues of three, for each pipeline in it, and each larger cost on the same blocks."""
    some = [(blocks, cost) for blocks in ((0,), (0, 1), (1, 2)) for cost in (2, 5, 7)]
    for queue in product(some, repeat=3):
        truth = [Demand.of(str(number), *facts[:1], (facts[1],)) for number, facts in enumerate(queue)]
        for number, (blocks, cost) in enumerate(queue):
            honest = when(truth, str(number), 3)
            for more in (cost + 1, 11) if honest else ():
                lie = [*truth]
                lie[number] = Demand.of(str(number), blocks, (more,))
                assert when(lie, str(number), 3) >= honest


def test_asking_for_other_blocks_too_can_help() -> None:
    """What the paper's proof of strategy-proofness leaves out; so the docstring says "of the same blocks".

    X wants blocks 0 and 1, Y wants 0 and 2, the liar 2 alone. If the liar asks for a little of block 1 too, that is
    unlocked, X is granted before Y and takes block 0, so that Y is not, and block 2 is left for the liar.
    """
    asked = [Demand.of("opens", [0], (1,)), Demand.of("X", [0, 1], (7,)), Demand.of("Y", [0, 2], (8,))]
    honest = Demand.of("liar", [2], (9,))
    lying = Demand("liar", ((1, (1,)), (2, (9,))))
    assert when([*asked, honest], "liar", 2) == float("inf")
    assert when([*asked, lying], "liar", 2) == 3


def test_unlocking_by_the_clock_gives_no_liar_anything() -> None:
    """Where only the clock unlocks, other blocks are only one thing more that has to fit: over all small cases."""
    some = [(blocks, cost) for blocks in ((0, 1), (0, 2), (2,)) for cost in (5, 8, 9)]

    def tick(queue: Sequence[Demand], name: str) -> float:
        scheduler = Scheduler(CAPACITY, rule="fair", among=3)
        for block in range(3):
            scheduler.open(block)
        for demand in queue:
            assert not scheduler.wait(demand).granted
        turns = [scheduler.unlock(range(3)) for _ in range(3)]
        return next((at for at, turn in enumerate(turns) if name in [each.name for each in turn.granted]), float("inf"))

    for queue in product(some, repeat=3):
        truth = [Demand.of(str(number), blocks, (cost,)) for number, (blocks, cost) in enumerate(queue)]
        for number, (blocks, cost) in enumerate(queue):
            lie = [*truth]
            lie[number] = Demand(str(number), tuple((b, ((cost if b in blocks else 1),)) for b in range(3)))
            assert tick(lie, str(number)) >= tick(truth, str(number))


def test_all_or_nothing_in_any_order() -> None:
    """Whoever is granted has all of its blocks; the order of arrival decides who, never how much of a block."""
    demands = [Demand.of("a", [0, 1], (6,)), Demand.of("b", [1, 2], (6,)), Demand.of("c", [0, 2], (7,))]
    for rule, order in product(RULES, permutations(demands)):
        names = granted(order, CAPACITY, rule=rule, among=2)
        spent = {
            block: sum(dict(d.needs).get(block, (0,))[0] for d in demands if d.name in names) for block in range(3)
        }
        assert max(spent.values()) <= 12
        assert len(names) == len(set(names))


def test_efficiency_packs_more_value() -> None:
    """One demand of ten blocks against ten of one: the knapsack takes the ten, whoever came first."""
    wide = Demand.of("wide", range(10), (60,))
    narrow = [Demand.of(f"n{block}", [block], (50,)) for block in range(10)]
    scheduler = Scheduler((100,), rule="efficient", among=2)
    for block in range(10):
        scheduler.open(block)
    turns = [scheduler.ask(each) for each in (wide, *narrow)]
    assert sum(len(turn.granted) for turn in turns) == 10
    assert granted([wide, *narrow], (100,), rule="first") == ["wide"]
    worth = [Demand.of("a", [0], (70,)), Demand.of("b", [0], (80,), value=3), Demand.of("c", [0], (90,))]
    assert granted(worth, (100,), rule="efficient", among=3) == ["b"]
    assert granted(worth, (100,), rule="fair", among=3) == ["a"]


def test_who_leaves_and_what_others_spend() -> None:
    scheduler = Scheduler((12,), rule="fair", among=2)
    scheduler.open(0, spent=(3,))
    assert scheduler.free(0) == (0,)
    assert scheduler.ask(Demand.of("a", [0], (9,))).granted == ()
    assert list(scheduler.waiting) == ["a"]
    assert scheduler.settle({0: (7,)}).lost[0].name == "a"
    assert not scheduler.waiting
    assert scheduler.ask(Demand.of("b", [0], (5,))).granted[0].name == "b"
    assert scheduler.left(0) == (0,)
    assert scheduler.ask(Demand.of("c", [0], (1,))).lost[0].name == "c"
    scheduler.open(1)
    scheduler.ask(Demand.of("d", [1], (7,)))
    assert scheduler.withdraw("d")
    assert not scheduler.withdraw("d")
    assert scheduler.unlock([1], 5).granted == ()
    scheduler.ask(Demand.of("e", [1], (5,)))
    assert [each.name for each in scheduler.retire(1).lost] == []


def test_hopeless_demands_unlock_nothing() -> None:
    """Else whoever wants block 1 unlocked would ask for it together with one that is used up, at no cost."""
    scheduler = Scheduler((12,), rule="fair", among=2)
    scheduler.open(0, spent=(12,))
    scheduler.open(1)
    for number in range(9):
        assert scheduler.ask(Demand.of(str(number), [0, 1], (1,))).lost
    assert scheduler.free(1) == (0,)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Demand("", ((0, (1,)),)),
        lambda: Demand("x" * 201, ((0, (1,)),)),
        lambda: Demand("x", ()),
        lambda: Demand("x", ((0, (0,)),)),
        lambda: Demand("x", ((0, (-1,)),)),
        lambda: Demand("x", ((0, (1.5,)),)),  # type: ignore[arg-type]
        lambda: Demand("x", ((0, (True,)),)),
        lambda: Demand("x", ((1, (1,)), (0, (1,)))),
        lambda: Demand("x", ((0, (1,)), (0, (1,)))),
        lambda: Demand("x", ((True, (1,)),)),
        lambda: Demand("x", ((0, (1,)),), value=0),
        lambda: Scheduler((0,)),
        lambda: Scheduler((1, 2, 3)),
        lambda: Scheduler([1]),  # type: ignore[arg-type]
        lambda: Scheduler((1,), rule="loudest"),
        lambda: Scheduler((1,), among=0),
        lambda: Scheduler((1,)).unlock([0]),
        lambda: opened(Scheduler((1,))).unlock([0], 0),
        lambda: opened(Scheduler((1,))).settle({0: (-1,)}),
        lambda: opened(Scheduler((1,))).settle({1: (1,)}),
        lambda: Scheduler((1,)).open(-1),
        lambda: Scheduler((1,)).open(0, (1, 1)),
        lambda: Scheduler((1,)).ask(Demand.of("x", [0], (1,))),
        lambda: twice(Scheduler((1,))),
        lambda: opened(Scheduler((1,))).ask(Demand.of("x", [0], (2,))),
        lambda: opened(Scheduler((1,))).ask(Demand.of("x", [0], (1, 1))),
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    with pytest.raises(Refused) as refused:
        make()  # type: ignore[operator]
    assert refused.value.code == "demand-invalid"


def opened(scheduler: Scheduler) -> Scheduler:
    scheduler.open(0)
    return scheduler


def twice(scheduler: Scheduler) -> None:
    opened(scheduler)
    opened(scheduler)
