"""Charges for parts: what is spent is what the dearest units paid, whatever the order, the currency and the company."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.part import Part
from discreet.accounting.record import PartName
from discreet.accounting.rounding import UNITS, charged
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import Grant, Ledger, LedgerDamaged, back_up, ledger, restore, verify
from discreet.ledger.codec import Amounts, Record
from discreet.ledger.partitions import UNASKED, Partition, partitions_read, partitions_written
from discreet.ledger.sqlite.store import Sqlite
from tests.ledger.conftest import in_memory
from tests.ledger.helpers import BOTH, SHARES, answers, child, forge, hurried, moved, opened, rows, spend

PARTITIONS: Final = {"p": 1, "q": 2, "r": 3}
"""In how many parts a unit is."""


def about(partition: str, part: str = "A") -> PartName:
    return PartName(partition, part, PARTITIONS[partition])


def spent_of(book: Ledger) -> Amounts:
    return book._state.spent


def test_every_key_of_a_column_names_a_part_of_its_own() -> None:
    """Text, number and NULL alike: parts of one name would pay for each other."""
    keys: list[Any] = [None, "NULL", "1", 1, "a", "b"]
    labels = [Part("visits", "ward", key).label for key in keys]
    assert labels == ["ward IS NULL", "ward = 'NULL'", "ward = '1'", "ward = 1", "ward = 'a'", "ward = 'b'"]
    assert Part("visits", "ward", "a").most == 1


# the laws of lines

small = st.integers(0, 9)
costs = st.tuples(small, small)
names = st.builds(about, st.sampled_from(sorted(PARTITIONS)), st.sampled_from("ABCD"))
steps = st.lists(st.tuples(st.none() | names, costs), max_size=14)


def worst_unit(lines: Mapping[str, Amounts], most: int, place: int) -> int:
    """What the worst placed unit paid: every choice of at most so many parts is looked at."""
    choices = (chosen for size in range(most + 1) for chosen in itertools.combinations(lines.values(), size))
    return max(sum(line[place] for line in chosen) for chosen in choices)


@given(steps)
def test_rises_add_up_to_what_the_worst_unit_paid(history: Sequence[tuple[PartName | None, Amounts]]) -> None:
    held: dict[str, Partition] = {}
    total = (0, 0)
    for name, cost in history:
        if name is None:
            continue
        before = held.get(name.partition, Partition()).bound(name.max_parts)
        increase = before.increase(name.part, cost)
        assert all(0 <= a <= b for a, b in zip(increase, cost, strict=True))
        held[name.partition] = before.after(name.part, cost)
        total = (total[0] + increase[0], total[1] + increase[1])
        free = before.free(name.part, 2)
        assert before.increase(name.part, free) == (0, 0)
        assert all(before.increase(name.part, (free[0] + 1, free[1] + 1)))
    for place in (0, 1):
        assert total[place] == sum(worst_unit(dict(lines), PARTITIONS[name], place) for name, lines in held.items())
    record = {"v": 2, "portions": json.loads(json.dumps(partitions_written(held)))}
    again = partitions_read(record)
    assert again == held
    assert [lines.largest for lines in again.values()] == [lines.largest for lines in held.values()]


@given(st.dictionaries(st.sampled_from("ABCDE"), costs, min_size=1), st.integers(1, 6))
def test_the_dearest_are_counted_in_each_currency_by_itself(lines: dict[str, Amounts], most: int) -> None:
    found = Partition.of(most, lines)
    for place in (0, 1):
        assert sum(amount for amount, _ in found.largest[place]) == worst_unit(lines, most, place)


@given(st.lists(st.tuples(st.sampled_from("ABCD"), costs), max_size=12), st.integers(1, 3), st.integers(0, 12))
def test_lines_that_begin_anew_cost_at_least_as_much(history: list[tuple[str, Amounts]], most: int, cut: int) -> None:
    """The law by which lines of dead copies may be dropped."""

    def total(steps: list[tuple[str, Amounts]]) -> Amounts:
        lines, spent = Partition(most), (0, 0)
        for part, cost in steps:
            increase = lines.increase(part, cost)
            lines, spent = lines.after(part, cost), (spent[0] + increase[0], spent[1] + increase[1])
        return spent

    whole, first, second = total(history), total(history[:cut]), total(history[cut:])
    assert all(a <= b + c for a, b, c in zip(whole, first, second, strict=True))


@pytest.mark.parametrize("wrong", [{"most": 0}, {"most": -1}, {"most": True}, {"part": 1}, {"partition": None}])
def test_a_name_of_a_part_that_cannot_be_is_not_read(wrong: Record) -> None:
    """A unit that is in no part at all would pay for nothing."""
    told: Record = {"partition": "p", "part": "A", "most": 1}
    assert PartName.read(told).fields() == told
    with pytest.raises(ValueError, match="a part's name says"):
        PartName.read({**told, **wrong})


@pytest.mark.parametrize("cost", [(1,), (1, 1, 1)])
def test_a_line_is_not_paid_in_another_currency(cost: Amounts) -> None:
    with pytest.raises(ValueError, match="zip"):
        Partition(1).after("A", (2, 2)).after("A", cost)


def test_lines_of_the_same_name_in_two_partitions_are_two_lines(path: Path) -> None:
    with hurried(path) as book:
        for partition in ("p", "q"):
            spend(book, Pure(1), part=about(partition))
        assert spent_of(book) == (2 * UNITS,)


# histories in a ledger


@dataclass
class Model:
    """What should be spent: a list of everything that was paid, looked at afresh each time."""

    grant: Grant
    paid: list[tuple[str, PartName | None, Amounts]] = field(default_factory=list)
    shares: dict[str, Amounts] = field(default_factory=dict)

    def spent(self, more: Sequence[tuple[str, PartName | None, Amounts]] = ()) -> Amounts:
        lines: dict[str, dict[str, Amounts]] = {}
        whole = self.grant.nothing
        for _, name, cost in (*self.paid, *more):
            if name is None:
                whole = plus(whole, cost)
            else:
                line = lines.setdefault(name.partition, {})
                line[name.part] = plus(line.get(name.part, self.grant.nothing), cost)
        worst = (
            tuple(worst_unit(found, PARTITIONS[name], place) for place in range(len(whole)))
            for name, found in lines.items()
        )
        for amounts in worst:
            whole = plus(whole, amounts)
        return whole

    def affords(self, who: str, name: PartName | None, cost: Amounts) -> bool:
        """Pay if it fits the budget and the analyst's share."""
        before, after = self.spent(), self.spent([(who, name, cost)])
        increase = tuple(b - a for a, b in zip(before, after, strict=True))
        used = plus(self.shares.get(who, self.grant.nothing), increase)
        limits = self.grant.share_limits(SHARES[who]) if who in SHARES else used
        if not (within(after, self.grant.limits) and within(used, limits)):
            return False
        self.paid.append((who, name, cost))
        self.shares[who] = used
        return True


def plus(a: Amounts, b: Amounts) -> Amounts:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def within(a: Amounts, limits: Amounts) -> bool:
    return all(x <= y for x, y in zip(a, limits, strict=True))


TENTH: Final = Fraction(1, 10)


def pure_loss(cost: Amounts) -> Pure:
    return Pure(cost[0] * TENTH)


def both_loss(cost: Amounts) -> Concentrated:
    return Concentrated(Fraction(cost[0], 200), Fraction(cost[1], 10**8))


TIGHT: Final = Grant.of(Fraction(3), None)
CURRENCIES: Final[Mapping[str, tuple[Grant, Callable[[Amounts], Loss]]]] = {
    "pure": (TIGHT, pure_loss),
    "both": (BOTH, both_loss),
}


def units_of(loss: Loss, grant: Grant) -> Amounts:
    if grant.delta is None:
        assert isinstance(loss, Pure)
        return (charged(loss.epsilon),)
    found = loss.concentrated()
    return charged(found.rho), charged(found.delta)


asked = st.lists(st.tuples(st.sampled_from(["owner", "ann", "bob"]), st.none() | names, costs), min_size=1, max_size=16)


@pytest.mark.parametrize("currency", CURRENCIES)
@settings(max_examples=40, deadline=None)
@given(history=asked, every=st.sampled_from([3, 7, 1000]))
def test_a_ledger_spends_what_the_worst_unit_paid(
    currency: str, history: list[tuple[str, PartName | None, Amounts]], every: int
) -> None:
    """Whatever is refused changes nothing, nothing ever falls, and closing, totals and backups forget nothing."""
    grant, loss_of = CURRENCIES[currency]
    model = Model(grant)
    with pytest.MonkeyPatch.context() as patch, in_memory() as folder:
        patch.setattr(ledger, "TOTALS_EVERY", every)
        path = folder / "ledger.sqlite"
        book = hurried(path, grant)
        for who, name, cost in history:
            before, loss = book._state, loss_of(cost)
            charge = book.charge(loss, why="q", analyst=None if who == "owner" else who, part=name)
            if model.affords(who, name, units_of(loss, grant)):
                with charge:
                    assert units_of(charge.increase, grant) == tuple(
                        b - a for a, b in zip(before.spent, spent_of(book), strict=True)
                    )
            else:
                with pytest.raises(BudgetExhausted), charge:
                    pytest.fail("a refused charge gives no bits")
                assert book._state == before
            assert spent_of(book) == model.spent()
            assert within(before.spent, spent_of(book))
        last = book._state
        assert {who: used for who, used in last.shares.items() if any(used)} == {
            who: used for who, used in model.shares.items() if any(used)
        }
        book.close()
        assert verify(path).problems == ()
        with opened(path, grant) as again:
            assert again._state == last
        assert back_up(path, folder / "backup.sqlite").sound
        assert restore(folder / "backup.sqlite", path).problems == ()
        with opened(path, grant) as again:
            assert (again._state.partitions, again._state.spent) == (last.partitions, last.spent)


# one by one


def test_only_the_rise_is_spent(path: Path) -> None:
    with hurried(path) as book:
        costs = []
        for part, cost in (("A", 3), ("B", 2), ("B", 2), ("A", 1), ("C", 4)):
            charge = book.charge(Pure(cost), why="q", part=about("p", part))
            with charge:
                costs.append(charge.increase)
        assert costs == [Pure(3), Pure(0), Pure(1), Pure(0), Pure(0)]
        assert [entry.loss for entry in book.entries()] == costs
        assert [entry.cost for entry in book.entries()] == [Pure(cost) for cost in (3, 2, 2, 1, 4)]


def test_the_two_largest_lines_are_paid_where_a_unit_is_in_two_parts(path: Path) -> None:
    with hurried(path) as book:
        for part, total in (("A", 1), ("B", 2), ("C", 2), ("C", 3), ("D", 3)):
            spend(book, Pure(1), part=about("q", part))
            assert spent_of(book) == (total * UNITS,)


def test_rho_and_delta_rise_by_themselves(path: Path) -> None:
    """The part with the most rho need not be the one with the most delta."""
    with hurried(path, BOTH) as book:
        spend(book, Concentrated(Fraction(1, 50), 0), part=about("p", "A"))
        charge = book.charge(Concentrated(Fraction(1, 100), Fraction(1, 10**8)), why="q", part=about("p", "B"))
        with charge:
            assert charge.increase == Concentrated(0, Fraction(1, 10**8))
        assert spent_of(book) == (charged(Fraction(1, 50)), charged(Fraction(1, 10**8)))


def test_what_costs_nothing_is_recorded_and_keeps_its_answer(path: Path) -> None:
    with hurried(path, TIGHT) as book:
        spend(book, Pure(3), part=about("p", "A"))
        receipt = spend(book, Pure(3), part=about("p", "B"), plan="b", answer=b"7")
        (kept,) = answers(book, "b")
        assert (kept.answer, kept.loss, kept.receipt) == (b"7", Pure(3), receipt)
        assert [(entry.loss, entry.answered) for entry in book.entries()] == [(Pure(3), False), (Pure(0), True)]
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(Fraction(1, 10**9)), part=about("p", "B"))
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(Fraction(1, 10**9)))
    assert verify(path, [receipt]).problems == ()


def test_the_share_of_whoever_asks_pays_the_rise(path: Path) -> None:
    with hurried(path) as book:
        spend(book, Pure(1), analyst="ann", part=about("p", "A"))
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(Fraction(1, 10)), analyst="ann", part=about("p", "A"))
        spend(book, Pure(1), analyst="ann", part=about("p", "B"))
        spend(book, Pure(2), analyst="bob", part=about("p", "B"))
        assert book._state.shares == {"ann": (UNITS,), "bob": (2 * UNITS,)}
        assert book.balance("ann").remaining.epsilon == 0


def test_a_share_that_cannot_pay_the_rise(path: Path) -> None:
    with hurried(path) as book:
        spend(book, Pure(5), part=about("p", "A"))
        spend(book, Pure(5), analyst="ann", part=about("p", "B"))
        before = book._state
        with pytest.raises(BudgetExhausted):
            spend(book, Pure(2), analyst="ann", part=about("p", "B"))
        assert book._state == before
        spend(book, Pure(1), analyst="ann", part=about("p", "B"))
        assert book._state.shares == {"owner": (5 * UNITS,), "ann": (UNITS,)}


@pytest.mark.parametrize("name", [about("p"), None])
def test_a_cost_of_another_currency_is_refused(path: Path, name: PartName | None) -> None:
    with hurried(path) as book:
        before = book._state
        with pytest.raises(Refused, match="cost-invalid"):
            spend(book, Concentrated(1), part=name)
        assert book._state == before


def test_a_refused_charge_cost_nothing(path: Path) -> None:
    with hurried(path, TIGHT) as book:
        charge = book.charge(Pure(4), why="q", part=about("p"))
        with pytest.raises(BudgetExhausted), charge:
            pytest.fail("a refused charge gives no bits")
        assert charge.increase == Pure(0)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_charge_leaves_the_lines(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    with hurried(path) as book:
        spend(book, Pure(1), part=about("p"))
        before = book._state

        def failing(*_: object) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(Sqlite, "append", failing)
            with pytest.raises(BaseException), book.charge(Pure(1), why="q", part=about("p")):  # noqa: B017, PT011
                pytest.fail("nothing was written: no bits")
        assert book._state == before
        spend(book, Pure(1), part=about("p"))
        assert spent_of(book) == (2 * UNITS,)


# acts of the owner


def test_a_larger_budget_keeps_the_lines(path: Path) -> None:
    with hurried(path, TIGHT) as book:
        spend(book, Pure(2), part=about("p", "A"))
        book.raise_budget(Grant.of(Fraction(9), None), "more")
        spend(book, Pure(2), part=about("p", "B"))
        assert spent_of(book) == (2 * UNITS,)
    assert verify(path).problems == ()


def test_new_policies_keep_the_lines_and_new_data_end_them(path: Path) -> None:
    with hurried(path) as book:
        spend(book, Pure(2), part=about("p", "A"))
    with opened(path, protected="others") as book:
        spend(book, Pure(2), part=about("p", "B"))
        assert spent_of(book) == (2 * UNITS,)
        book.advance_data("a new week")
        spend(book, Pure(2), part=about("p", "B"))
        assert spent_of(book) == (4 * UNITS,)
    assert verify(path).problems == ()


def test_data_of_version_1_keep_the_lines(path: Path) -> None:
    """What was written before lines ended with their copies still means what it meant."""
    with hurried(path) as book:
        spend(book, Pure(2), part=about("p", "A"))
        book.advance_data("a new week")
        spend(book, Pure(0), part=about("p", "B"))
    forge(path, lambda _, record: record.update(v=1) if record["kind"] == "data" else None)
    with opened(path) as book:
        spend(book, Pure(2), part=about("p", "B"))
        assert spent_of(book) == (2 * UNITS,)
    assert verify(path).problems == ()


def test_lines_end_with_their_currency(path: Path) -> None:
    """Pure lines say nothing in another currency: what was spent stays spent, and parts are paid from nothing again."""
    with hurried(path, TIGHT) as book:
        spend(book, Pure(TENTH), part=about("p", "A"))
        book.raise_budget(BOTH, "with delta")
        carried = charged(rho_of_pure(TENTH))
        assert spent_of(book) == (carried, 0)
        assert book._state.partitions == {}
        rho = Fraction(1, 1000)
        spend(book, Concentrated(rho), part=about("p", "B"))
        assert spent_of(book) == (carried + charged(rho), 0)
        spend(book, Concentrated(rho), part=about("p", "A"))
        assert spent_of(book) == (carried + charged(rho), 0)
        last = book._state
    assert verify(path).problems == ()
    with opened(path, BOTH) as book:
        assert book._state == last


# the file


def asked_about_parts(path: Path) -> Path:
    """A closed ledger of charges for parts and for the whole."""
    with hurried(path) as book:
        for partition, part, cost in (("p", "A", 3), ("p", "B", 4), ("q", "A", 2), ("q", "B", 2), ("q", "C", 3)):
            spend(book, Pure(cost), part=about(partition, part), answer=b"x", plan=partition)
            spend(book, Pure(1), analyst=None)
        spend(book, Pure(1), part=about("p", "A"))
    return path


def charges_of(path: Path) -> list[int]:
    return [number for number, line, *_ in rows(path) if "portion" in json.loads(line)]


def test_a_journal_says_what_it_says_it_says(path: Path) -> None:
    found = [json.loads(line) for number, line, *_ in rows(asked_about_parts(path)) if number in charges_of(path)]
    assert [(record["portion"], record["price"], record["loss"]) for record in found[:2]] == [
        ({"partition": "p", "part": "A", "most": 1}, [str(3 * UNITS)], [str(3 * UNITS)]),
        ({"partition": "p", "part": "B", "most": 1}, [str(4 * UNITS)], [str(UNITS)]),
    ]


TAMPERED: Final[Mapping[str, Callable[[Record], object]]] = {
    "a lower cost": lambda record: record.update(price=[str(int(record["price"][0]) - UNITS)]),
    "a higher cost": lambda record: record.update(price=[str(int(record["price"][0]) + UNITS)]),
    "no cost": lambda record: record.pop("price"),
    "a cost in two currencies": lambda record: record.update(price=[*record["price"], "0"]),
    "a cost below nothing": lambda record: record.update(price=["-1"]),
    "a cost that is a number": lambda record: record.update(price=[int(record["price"][0])]),
    "another partition": lambda record: record["portion"].update(partition="z"),
    "a part that is no text": lambda record: record["portion"].update(part=7),
    "parts without number": lambda record: record["portion"].pop("most"),
    "in no part": lambda record: record["portion"].update(most=0),
    "in so many parts": lambda record: record["portion"].update(most=True),
    "in half a part": lambda record: record["portion"].update(most=1.5),
    "a name that is none": lambda record: record.update(portion=[]),
    "a lower loss": lambda record: record.update(loss=[str(int(record["loss"][0]) // 2 - 1)]),
}


@pytest.mark.parametrize("way", TAMPERED)
def test_a_changed_record_is_found(path: Path, quick: Path, way: str) -> None:
    """A charge that others follow, and one that is the last of its partition: chain recomputed, seal removed."""
    asked_about_parts(path)
    found = charges_of(path)
    for number in (found[1], found[4]):
        copied = moved(path, quick / "copy")
        changed = False

        def edit(place: int, record: Record, number: int = number) -> None:
            nonlocal changed
            if place == number:
                before = json.dumps(record)
                TAMPERED[way](record)
                changed = json.dumps(record) != before

        forge(copied, edit)
        assert changed
        assert not verify(copied).sound, (way, number)
        with pytest.raises(LedgerDamaged, match="does not add up"):
            opened(copied)


def test_a_name_of_a_part_taken_away_is_found(path: Path) -> None:
    asked_about_parts(path)
    last = charges_of(path)[4]
    forge(path, lambda number, record: record.pop("portion") if number == last else None)
    assert not verify(path).sound


def test_a_charge_that_was_moved_to_another_part_is_found_by_its_receipt(path: Path) -> None:
    """Where all sums stay the same, nothing but a receipt can tell."""
    with hurried(path) as book:
        spend(book, Pure(3), part=about("p", "A"))
        receipt = spend(book, Pure(3), part=about("p", "B"))
    forge(path, lambda _, record: record["portion"].update(part="Z") if record.get("loss") == ["0"] else None)
    assert verify(path).sound
    assert not verify(path, [receipt]).sound


@pytest.mark.parametrize(("most", "place"), [(1, 3), (3, 4), (2, 1)])
def test_another_number_of_parts_is_found_where_it_changes_what_is_paid(path: Path, most: int, place: int) -> None:
    asked_about_parts(path)
    number = charges_of(path)[place]
    forge(path, lambda found, record: record["portion"].update(most=most) if found == number else None)
    assert not verify(path).sound
    with pytest.raises(LedgerDamaged):
        opened(path)


def test_a_loss_lowered_with_everything_after_it_is_found(path: Path) -> None:
    """The sums still add up; the cost of the part does not."""
    asked_about_parts(path)
    number = charges_of(path)[1]

    def edit(place: int, record: Record) -> None:
        if place == number:
            record["loss"] = ["0"]
        if place >= number and "spent" in record:
            record["spent"] = [str(int(record["spent"][0]) - UNITS)]

    forge(path, edit)
    assert not verify(path).sound


def test_totals_repeat_the_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "TOTALS_EVERY", 5)
    asked_about_parts(path)
    last = [json.loads(line) for _, line, *_ in rows(path) if '"kind":"totals"' in line][-1]
    assert last["portions"]["p"]["lines"]["B"] == [str(4 * UNITS)]
    with opened(path) as book:
        assert spent_of(book) == ((4 + 2 + 3 + 5) * UNITS,)
        spend(book, Pure(3), part=about("q", "A"))
        assert spent_of(book) == ((4 + 5 + 3 + 5) * UNITS,)
    assert verify(path).problems == ()


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record.pop("portions"),
        lambda record: record["portions"].pop("p"),
        lambda record: record["portions"].update(other=record["portions"]["p"]),
        lambda record: record["portions"]["p"].update(most=2),
        lambda record: record["portions"]["p"]["lines"].pop("B"),
        lambda record: record["portions"]["p"]["lines"].update(B=["0"]),
        lambda record: record["portions"]["p"]["lines"].update(B=[str(9 * UNITS)]),
    ],
)
def test_forged_lines_in_totals_are_found(
    path: Path, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Record], None]
) -> None:
    monkeypatch.setattr(ledger, "TOTALS_EVERY", 5)
    asked_about_parts(path)
    totals = [number for number, line, *_ in rows(path) if '"kind":"totals"' in line]
    forge(path, lambda number, record: edit(record) if number == totals[-1] else None)
    assert not verify(path).sound


@pytest.mark.parametrize(
    "lines",
    [
        *([], 7, {"p": []}, {"p": {"B": ["4"]}}, {"p": {"lines": {"B": ["4"]}}}),
        *({"p": {"most": most, "lines": {"B": ["4"]}}} for most in (0, True, "1", None)),
        *({"p": {"most": 1, "lines": {"B": amounts}}} for amounts in ("4", [4], ["-4"], ["4", "4"])),
        {"p": {"most": 1, "lines": {"B": ["4"], "C": ["4", "4"]}}},
    ],
)
def test_lines_in_totals_that_cannot_be_read_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, lines: object
) -> None:
    monkeypatch.setattr(ledger, "TOTALS_EVERY", 5)
    with hurried(path) as book:
        for _ in range(4):
            spend(book, Pure(1), part=about("p", "B"))
    (totals,) = (number for number, line, *_ in rows(path) if '"kind":"totals"' in line)
    forge(path, lambda number, record: record.update(portions=lines) if number == totals else None)
    with pytest.raises(LedgerDamaged, match="does not add up"):
        opened(path)


def test_journals_from_before_there_were_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold neither parts nor their costs, in charges or in totals; such journals are still written and read."""
    monkeypatch.setattr(ledger, "TOTALS_EVERY", 4)
    with hurried(path) as book:
        for _ in range(9):
            spend(book, Pure(1), answer=b"x", plan="p")
    written = [json.loads(line) for _, line, *_ in rows(path)]
    assert {"charge", "answer", "totals"} <= {record["kind"] for record in written}
    assert not any({"portion", "portions", "price"} & record.keys() for record in written)
    with opened(path) as book:
        assert spent_of(book) == (9 * UNITS,)
        assert [kept.loss for kept in answers(book, "p")] == [Pure(1)] * 9
        spend(book, Pure(2), part=about("p", "A"))
        spend(book, Pure(2), part=about("p", "B"))
        assert spent_of(book) == (11 * UNITS,)
    assert verify(path).problems == ()


def test_totals_of_version_1_say_costs_alone() -> None:
    costs = {"A": [str(3 * UNITS)], "B": [str(UNITS)]}
    (first,) = partitions_read({"v": 1, "portions": {"p": costs}}).values()
    assert first == Partition.of(None, {"A": (3 * UNITS,), "B": (UNITS,)})
    (second,) = partitions_read({"v": 2, "portions": {"p": {"most": 1, "lines": costs}}}).values()
    assert second == first.bound(1)


def test_what_repeats_a_partition_has_its_costs_and_its_number_of_parts() -> None:
    costs = {"A": (3,), "B": (5,)}
    known, unsaid = Partition.of(2, costs), Partition.of(None, costs)
    assert known.agreed(Partition.of(2, dict(costs))) is known
    assert known.agreed(unsaid) is known
    assert unsaid.agreed(known) is known
    for other in (Partition.of(3, costs), Partition.of(2, {**costs, "B": (6,)}), Partition.of(None, {"A": (3,)})):
        with pytest.raises(ValueError, match="the same"):
            known.agreed(other)


# many at once


def test_two_ledgers_on_one_file_share_the_lines(path: Path) -> None:
    with hurried(path) as one, hurried(path) as other:
        for turn in range(6):
            spend((one, other)[turn % 2], Pure(1), part=about("p", "AB"[turn % 3 == 0]))
        assert one.balance() == other.balance()
        assert other.balance().spent.epsilon == 4


def test_threads_never_exceed_the_budget_and_add_up(path: Path) -> None:
    """Eight threads over four parts, half of the time over the whole: exactly what fits is spent."""
    book = hurried(path, Grant.of(Fraction(20), None))
    granted: list[tuple[PartName | None, Amounts]] = []

    def work(index: int) -> None:
        for turn in range(20):
            name = about("q", "ABCD"[(index + turn) % 4]) if (index + turn) % 3 else None
            with suppress(BudgetExhausted):
                spend(book, Pure(Fraction(1, 4)), part=name)
                granted.append((name, (UNITS // 4,)))

    workers = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    model = Model(book.grant, [("owner", name, cost) for name, cost in granted])
    assert spent_of(book) == model.spent() == (20 * UNITS,)
    assert len(book.entries()) == len(granted)
    book.close()
    assert verify(path).problems == ()


def test_processes_never_exceed_the_budget_and_add_up(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    found: dict[str, Any] = child("spend_on_parts", path, 3, 12, 4)
    assert found["failed"] == []
    assert found["codes"] == [0]
    report = verify(path, found["receipts"])
    assert report.problems == ()
    assert report.charges == len(found["receipts"])
    assert found["refused"] == 3 * 12 - report.charges
    with opened(path, Grant.of(Fraction(4), None)) as book:
        lines: dict[str, int] = {}
        for entry in book.entries():
            lines[entry.question] = lines.get(entry.question, 0) + 1
        whole = lines.pop("all", 0)
        assert whole + sum(sorted(lines.values())[-2:]) == 4 * 4
        assert spent_of(book) == (4 * UNITS,)


def test_where_nobody_said_in_how_many_parts_a_unit_may_be_nothing_is_free() -> None:
    with pytest.raises(ValueError, match="nobody said"):
        UNASKED.free("a", 1)
