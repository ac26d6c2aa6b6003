"""Somebody who lies about k, in how many parts of a partition a unit is, pays for one line where units lost several.

Somebody else waits until the lines of an earlier copy are forgotten and asks again, or reads from a refusal what others
asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import discreet
from discreet.accounting import Pure
from discreet.accounting.record import PartName
from discreet.accounting.rounding import UNITS
from discreet.answers.call import Call
from discreet.curator.curator import Curator
from discreet.curator.refreshing import refresh
from discreet.errors import BudgetExhausted, Refused
from discreet.ledger import LedgerDamaged, ledger, verify
from discreet.ledger import partitions as module
from discreet.ledger.codec import Record
from discreet.sql.part import part_of
from tests.ledger.conftest import in_memory
from tests.ledger.helpers import forge, hurried, rows, spend

POLICY = """
name = "clinic"
max_cost = 10
[budget]
epsilon = 1.0
[unit]
name = "patient"
[tables.visits]
source = "visits.csv"
unit = "patient_id"
max_rows = 4
[tables.visits.columns]
ward = { values = ["A", "B", "C", "D"] }
zip = { type = "text" }
[analysts.ann]
epsilon = 1.0
[analysts.bob]
epsilon = 1.0
"""
TENTH = Pure(Fraction(1, 10))


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Curator]:
    rows = [f"{person},{ward},{1000 + person % 3}" for person in range(40) for ward in "ABCD"]
    (tmp_path / "visits.csv").write_text("\n".join(["patient_id,ward,zip", *rows, ""]), encoding="utf-8")
    (tmp_path / "clinic.toml").write_text(POLICY, encoding="utf-8")
    with discreet.open(tmp_path / "clinic.toml") as found:
        yield found


# lying about k


@pytest.mark.parametrize(("first", "lie"), [(2, 1), (4, 1), (1, 2)])
def test_k_belongs_to_its_partition(first: int, lie: int) -> None:
    """With k = 4 on the first line and k = 1 on the others, four lines would cost as much as one."""
    with in_memory() as folder:
        path = folder / "ledger.sqlite"
        with hurried(path) as book:
            spend(book, TENTH, part=PartName("p", "A", first))
            for part in "ABC":
                with pytest.raises(Refused) as refused:
                    spend(book, TENTH, part=PartName("p", part, lie))
                assert refused.value.code == "unknown-part"
                with pytest.raises(Refused):
                    book.increase(TENTH, PartName("p", part, lie))
            assert len(book.entries()) == 1
        with hurried(path) as book, pytest.raises(Refused):
            spend(book, TENTH, part=PartName("p", "B", lie))


@pytest.mark.parametrize("every", [3, 1000])
def test_k_is_bound_over_totals_too(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "TOTALS_EVERY", every)
    with in_memory() as folder:
        path = folder / "ledger.sqlite"
        with hurried(path) as book:
            for part in "ABCD":
                spend(book, TENTH, part=PartName("p", part, 2))
        with hurried(path) as book:
            with pytest.raises(Refused):
                spend(book, TENTH, part=PartName("p", "B", 1))
            spend(book, TENTH, part=PartName("p", "B", 2))
            assert book._state.spent == (3 * UNITS // 10,)


def test_a_journal_that_lies_about_k_does_not_add_up() -> None:
    def lie(number: int, record: Record) -> None:
        if "portion" in record:
            record["portion"]["most"] = 1 if number > 4 else 2

    with in_memory() as folder:
        path = folder / "ledger.sqlite"
        with hurried(path) as book:
            spend(book, TENTH, part=PartName("p", "A", 2))
            spend(book, Pure(0), part=PartName("p", "B", 2))
            spend(book, Pure(0), part=PartName("p", "C", 2))
        forge(path, lie)
        assert not verify(path).sound
        with pytest.raises(LedgerDamaged):
            hurried(path)


@pytest.mark.parametrize("most", [0, -1, True, 1.5, "1", None])
def test_k_is_a_number_of_parts(clinic: Curator, most: object) -> None:
    part = part_of(clinic.policy, "visits", "ward", "A", 1)
    before = clinic.budget()
    for lie in (lambda: part_of(clinic.policy, "visits", "ward", "A", most), lambda: replace(part, most=most)):  # type: ignore[arg-type]
        with pytest.raises((Refused, discreet.QueryFailed)):
            clinic.answer(Call(sql="SELECT COUNT(*) FROM visits", epsilon=0.1, part=lie()))  # type: ignore[no-untyped-call]
    assert clinic.budget() == before


def test_two_partitions_by_one_column_pay_one_after_the_other(clinic: Curator) -> None:
    """k = 1 and k = 2 are other assignments: a unit loses in both."""
    for parts in (1, 2):
        clinic.table("visits").partition("ward", parts=parts)["A"].count(epsilon=0.1)
    assert clinic.budget().spent.epsilon == pytest.approx(0.2)


# waiting until lines are forgotten


def test_what_lines_of_a_dead_copy_cost_stays_spent(clinic: Curator) -> None:
    """After a refresh the lines are dropped: nothing is given back, and nothing rides on them."""
    wards = clinic.table("visits").partition("ward")
    for epsilon in (0.3, 0.1):
        wards["A"].count(epsilon=epsilon, fresh=True)
    assert wards["B"].count(epsilon=0.3).loss == Pure(0)
    clinic.close()
    refresh(clinic.policy, "a new week")
    with discreet.open(clinic.policy.state.parent / "clinic.toml") as later:
        assert later._ledger._state.partitions == {}
        assert later.budget().spent.epsilon == pytest.approx(0.4)
        assert later.table("visits").partition("ward")["B"].count(epsilon=0.3).loss == Pure(0.3)
        assert later.budget().spent.epsilon == pytest.approx(0.7)
    assert verify(clinic.policy.state / "ledger.sqlite").problems == ()


def test_totals_hold_the_lines_of_living_copies_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight refreshes of 250 parts were 2,000 lines in every record of totals."""
    monkeypatch.setattr(ledger, "TOTALS_EVERY", 50)
    with in_memory() as folder:
        path = folder / "ledger.sqlite"
        with hurried(path) as book:
            for copy in range(4):
                for part in range(30):
                    spend(book, Pure(Fraction(1, 1000)), part=PartName(f"copy {copy}", f"part {part}", 1))
                book.advance_data("a new week")
            assert book._state.spent == (4 * UNITS // 1000,)
        lines = [line.count('"part ') for _, line, *_ in rows(path) if '"kind":"totals"' in line]
        assert lines
        assert max(lines) <= 30
        assert verify(path).problems == ()


def test_a_charge_that_comes_after_the_refresh_begins_anew() -> None:
    """Planned on the copy before, charged after it: it pays in full, which is never too little."""
    old = PartName("the copy before", "A", 1)
    with in_memory() as folder, hurried(folder / "ledger.sqlite") as book:
        spend(book, Pure(1), part=old)
        spend(book, Pure(1), part=replace(old, part="B"))
        book.advance_data("a new week")
        spend(book, Pure(1), part=replace(old, part="B"))
        assert book._state.spent == (2 * UNITS,)


# work that grows with what others asked


def test_a_charge_looks_at_the_k_largest_lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a charge: how many lines are sorted in or copied, after 3,000 parts were asked about."""
    lines = module.Partition.of(2, {f"part {index}": (index,) for index in range(3000)})
    looked_at: list[int] = []
    plain = module._with

    def counted(held: module.Largest, line: tuple[int, str], most: int) -> module.Largest:
        looked_at.append(len(held))
        return plain(held, line, most)

    monkeypatch.setattr(module, "_with", counted)
    after = lines.after("part 7", (5000,))
    assert after.increase("part 8", (1,)) == (0,)
    assert looked_at == [2]
    copied = [new for old, new in zip(lines.chunks, after.chunks, strict=True) if new is not old]
    assert len(copied) == 1
    assert len(copied[0]) < 150


# reading from a refusal what others asked about


def test_an_exhausted_part_says_what_is_free(clinic: Curator) -> None:
    wards = clinic.table("visits").partition("ward")
    wards["A"].count(epsilon=1.0)
    wards["B"].count(epsilon=0.25)
    with pytest.raises(BudgetExhausted) as refused:
        wards["A"].count(epsilon=0.1, fresh=True)
    told = str(refused.value)
    assert "this part is exhausted" in told
    assert "ward = 'B' up to epsilon 0.75, ward = 'C' up to epsilon 1, ward = 'D' up to epsilon 1" in told
    with pytest.raises(BudgetExhausted, match=r"ask about this part for epsilon 0\.75 or less, which gives count ± "):
        wards["B"].count(epsilon=0.8)
    for ward, epsilon in (("B", 0.75), ("C", 1.0), ("D", 1.0)):
        assert wards[ward].count(epsilon=epsilon, fresh=True).loss == Pure(0), "what was said to be free is free"
    with pytest.raises(BudgetExhausted, match="no other part is free"):
        wards["A"].count(epsilon=0.1, fresh=True)


def test_private_keys_that_others_asked_about_are_not_named(clinic: Curator) -> None:
    zips = clinic.table("visits").partition("zip")
    zips["1000"].count(epsilon=1.0, analyst="ann")
    zips["1001"].count(epsilon=0.5, analyst="ann")
    with pytest.raises(BudgetExhausted) as refused:
        zips["1000"].count(epsilon=0.1, analyst="bob", fresh=True)
    told = str(refused.value)
    assert "parts that nobody asked about, up to epsilon 1 each" in told
    assert "1001" not in told
    with pytest.raises(BudgetExhausted) as other:
        zips["nobody has it"].count(epsilon=1.1, analyst="bob")
    assert "for epsilon 1 or less" in str(other.value)


# recalling


def test_the_answer_about_a_part_is_recalled(clinic: Curator) -> None:
    """Free, the same, and of no other part: labels that look like text of the question change nothing."""
    wards, zips = clinic.table("visits").partition("ward"), clinic.table("visits").partition("zip", parts=2)
    given = [
        wards["A"].count(epsilon=0.1),
        wards["B"].where("zip = '1000'").count(epsilon=0.1, analyst="ann"),
        zips["1001"].count(epsilon=0.1),
        zips["' -- of visits, ward = 'A'"].count(epsilon=0.1),
    ]
    before = clinic.budget()
    for answer, entry in zip(given, clinic.entries(), strict=True):
        found = clinic.recall(entry.number)
        assert found.cached
        assert (found.rows, found.receipt, found.question) == (answer.rows, answer.receipt, answer.question)
    assert clinic.budget() == before
