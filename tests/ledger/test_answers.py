"""Answers lie beside their charges: for the same question again, in any process, and after any restart."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.ledger import LedgerDamaged, LedgerError, verify
from discreet.ledger.codec import VERSIONS, Record, decode, encode, parsed
from discreet.ledger.sqlite.reading import SqliteReader
from tests.ledger.helpers import BOTH, CENT, answers, change, child, forge, hurried, opened, spend, store_of


def test_answers_are_found_by_their_plan_newest_first(path: Path) -> None:
    with hurried(path) as ledger:
        first = spend(ledger, Pure(0.1), plan="p", answer=b"41")
        ledger.advance_data("a new week")
        second = spend(ledger, Pure(0.2), plan="p", answer=b"42", analyst="ann")
        spend(ledger, plan="q", answer=b"7")
        spend(ledger, plan="p")
        found = answers(ledger, "p")
        assert [(kept.answer, kept.receipt, kept.loss, kept.data_version) for kept in found] == [
            (b"42", second, Pure(0.2), 2),
            (b"41", first, Pure(0.1), 1),
        ]
        assert answers(ledger, "nobody asked") == []
        assert [entry.answered for entry in ledger.entries()] == [True, True, True, False]
    assert verify(path, [kept.receipt for kept in found]).problems == ()
    with opened(path) as ledger:
        assert answers(ledger, "p") == found


def test_answers_of_other_processes_are_found_at_once(path: Path) -> None:
    with opened(path) as ledger:
        receipt = child("keep_one", path, "p", "from elsewhere")
        (kept,) = answers(ledger, "p")
        assert (kept.answer, kept.receipt) == (b"from elsewhere", receipt)
        assert verify(path, [receipt]).problems == ()


def test_a_crash_between_charge_and_answer(path: Path) -> None:
    """Charged, not answered; never the reverse."""
    found = child("charge_and_die", path, "p")
    assert found["code"] == -9
    with opened(path) as ledger:
        (entry,) = ledger.entries()
        assert not entry.answered
        assert answers(ledger, "p") == []
        assert ledger.balance().spent.epsilon == 1
    assert verify(path, found["said"]).problems == ()


def test_an_answer_may_be_kept_after_the_block(path: Path) -> None:
    with hurried(path) as ledger:
        charge = ledger.charge(CENT, why="q", plan="p")
        with charge:
            pass
        charge.keep(b"42")
        assert [kept.answer for kept in answers(ledger, "p")] == [b"42"]
        assert ledger.balance().spent.epsilon == 0.01
    with pytest.raises(LedgerError, match="closed"):
        charge.keep(b"43")


def test_an_answer_without_a_plan_counts_as_answered(path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger, answer=b"42")
        assert ledger.entries()[0].answered
    assert verify(path).problems == ()


def test_large_answers(path: Path) -> None:
    content = bytes(range(256)) * 4096
    with hurried(path, BOTH) as ledger:
        spend(ledger, Concentrated(0.001), plan="p", answer=content)
        assert answers(ledger, "p")[0].answer == content
        assert answers(ledger, "p")[0].loss == Concentrated(0.001)
    assert verify(path).problems == ()


def test_keeping_does_not_loosen_the_next_charge(path: Path) -> None:
    """Answers need not wait for the disk; charges do, also after an answer whose writing failed."""
    with opened(path) as ledger:
        connection = store_of(ledger)._connection
        full = connection.execute("PRAGMA synchronous").fetchone()
        assert full == (2,)
        charge = ledger.charge(CENT, why="q", plan="p")
        with charge:
            charge.keep(b"42")
        assert connection.execute("PRAGMA synchronous").fetchone() == full
        with pytest.raises(TypeError):
            charge.keep("42")  # type: ignore[arg-type]
        with ledger.charge(CENT, why="q"), pytest.raises(ZeroDivisionError), ledger._store.relaxed():
            raise ZeroDivisionError
        assert connection.execute("PRAGMA synchronous").fetchone() == full


def test_an_answer_to_what_is_no_charge(path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger, plan="p", answer=b"42")

    def edit(_: int, record: Record) -> None:
        if record["kind"] == "answer":
            record["charge"] = 1

    forge(path, edit)
    with opened(path) as ledger:
        assert [ledger.answer(number) for number in (1, 3)] == [None, None]
    assert any("filed under another question" in problem for problem in verify(path).problems)
    change(path, "UPDATE journal SET plan = NULL")
    assert any("filed under another question" in problem for problem in verify(path).problems)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_json_is_never_written(wrong: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode("charge", {"call": {"epsilon": wrong}})


@pytest.mark.parametrize("texts", [["-5"], ["+5"], ["1_0"], [" 7"], ["0x1"], [""], [5], ["1", 5], "5", None, {}])
def test_amounts_are_digits_and_nothing_that_could_be_below_zero(texts: object) -> None:
    with pytest.raises(ValueError, match="decimal digits"):
        parsed(texts)


def test_a_record_is_written_in_one_way_only() -> None:
    assert encode("charge", {"z": "ä", "a": [1]}) == '{"a":[1],"kind":"charge","v":1,"z":"ä"}'


@pytest.mark.parametrize(
    ("kind", "newest", "key", "plain"),
    [
        ("budget", 1, "", 1), ("epoch", 1, "", 1), ("data", 2, "", 2), ("charge", 2, "blocks", 1),
        ("answer", 2, "withdrawn", 1), ("accepted", 1, "", 1), ("totals", 4, "policy", 2), ("totals", 4, "window", 2),
        ("totals", 4, "withdrawn", 2), ("stream", 1, "", 1), ("block", 1, "", 1), ("retire", 1, "", 1),
        ("token", 1, "", 1), ("window", 1, "", 1), ("erased", 1, "", 1), ("charge", 3, "erased", 1),
        ("answer", 3, "erased", 1), ("totals", 5, "erased", 2),
    ],
)  # fmt: skip
def test_every_version_so_far_is_read_the_newest_is_written_and_the_next_is_refused(
    kind: str, newest: int, key: str, plain: int
) -> None:
    """What is not about streams, or about what came after them, is written as before there was any."""
    assert decode(1, encode(kind, {key: {}}))["v"] == newest
    assert decode(1, encode(kind, {key: {}, "streams": {}}))["v"] == newest
    assert decode(1, encode(kind, {}))["v"] == plain
    assert decode(1, encode("totals", {"streams": {}}))["v"] == 3
    for version in range(1, newest + 1):
        assert decode(1, json.dumps({"v": version, "kind": kind})) == {"v": version, "kind": kind}
    for version in (VERSIONS[kind] + 1, 0, True):
        with pytest.raises(LedgerDamaged, match="does not know"):
            decode(1, json.dumps({"v": version, "kind": kind}))


def test_each_entry_alone_is_the_one_of_the_list(path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger, plan="p", answer=b"41")
        spend(ledger, plan="p", answer=b"42")
        spend(ledger, plan="p")
        spend(ledger)
        listed = ledger.entries()
        assert [entry.answered for entry in listed] == [True, True, False, False]
        assert [ledger.entry(entry.number) for entry in listed] == listed
        # the budget, the answer, and what is not there yet
        others = {1, listed[0].number + 1, 10**6} - {entry.number for entry in listed}
        assert len(others) == 3
        assert [ledger.entry(number) for number in others] == [None] * 3


def test_a_cost_that_is_no_number_is_damage(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite") as ledger:
        spend(ledger, plan="p", answer=b"x")
    forge(tmp_path / "ledger.sqlite", lambda _, record: record.update(loss=["ten"]) if "loss" in record else None)
    reader = SqliteReader(tmp_path / "ledger.sqlite")
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        reader.largest("p", 1, None, ())
    reader.close()


def test_a_fork_closes_nothing_of_its_parent(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.sqlite") as ledger:
        held = store_of(ledger)._held
        replace(held, process=-1).close(1)
        spend(ledger)
        assert ledger.count() == 1
