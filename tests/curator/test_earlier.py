"""Answers of an earlier policy stay readable, with a banner, and never answer a new query; withdrawn ones are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.answers.call import Call
from discreet.answers.wire import answer_read, answer_written
from discreet.curator.curator import Curator
from discreet.curator.earlier import BANNER, policy_at
from discreet.curator.state import withdraw
from discreet.errors import QueryFailed, Refused
from discreet.policy import Policy, fingerprint, read
from tests.curator.worlds import hospital

AGES = "SELECT sex, AVG(age) AS age FROM patients GROUP BY sex"


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return hospital(tmp_path)


def edited(policy: Policy, old: str, new: str) -> Curator:
    """The curator of the policy after its owner changed it."""
    text = policy.path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    policy.path.write_text(text.replace(old, new), encoding="utf-8")
    return discreet.open(policy.path)


def test_an_answer_of_an_earlier_policy_is_shown_as_it_was_and_answers_nothing_new(policy: Policy) -> None:
    with discreet.open(policy.path) as before:
        first = before.query(AGES, epsilon=0.5, analyst="fraud")
        number = before.entries()[0].number
        batch = before.perform(before.batched(["SELECT COUNT(*) AS n FROM patients", AGES], epsilon=0.5))
        both = before.entries()[1].number
    with edited(policy, "max = 110", "max = 90") as after:
        again = after.recall(number, analyst="fraud")
        assert again.rows == first.rows
        assert again.intervals == first.intervals
        assert again.earlier
        assert again.notes == (BANNER, *first.notes)
        assert "age is clamped to [0, 110]" in again.notes
        document: Any = answer_written(again)
        assert answer_read(document).earlier
        assert after.recall(number, confidence=0.5).confidence == 0.5
        listed = after.recall(both)
        assert [answer.rows for answer in listed] == [answer.rows for answer in batch]
        assert all(answer.earlier for answer in listed)
        # the same text is another query now: charged, and clamped to the bounds of now
        assert after.free(Call(sql=AGES, epsilon=0.5)) is None
        new = after.query(AGES, epsilon=0.5, analyst="fraud")
        assert not new.cached
        assert not new.earlier
        assert new.loss == first.loss
        assert not new.loss.is_zero
        assert "age is clamped to [0, 90]" in new.notes
        assert len(after.entries()) == 3
        # and back: the text means what it meant, on newer data
        assert not after.recall(after.entries()[2].number).earlier
    with edited(policy, "max = 90", "max = 110") as back:
        assert not back.recall(number).earlier


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('age = { type = "integer", min = 0, max = 110 }\n', ""),  # the column is nobody's business any more
        ('[unit]\nname = "patient"', '[unit]\nname = "person"'),
        ("max_rows = 3", "max_rows = 2"),
    ],
)
def test_whatever_changed_the_answer_is_what_it_was(policy: Policy, old: str, new: str) -> None:
    with discreet.open(policy.path) as before:
        first = before.query(AGES, epsilon=0.5)
        number = before.entries()[0].number
    with edited(policy, old, new) as after:
        again = after.recall(number)
        assert again.rows == first.rows
        assert again.earlier


def test_only_those_who_still_have_access_read_it(policy: Policy) -> None:
    with discreet.open(policy.path) as before:
        before.query(AGES, epsilon=0.5, analyst="fraud")
        number = before.entries()[0].number
    with edited(policy, "[analysts.fraud]\nepsilon = 2.0\n", "") as after:
        with pytest.raises(Refused, match="no such analyst"):
            after.recall(number, analyst="fraud")
        assert after.recall(number).rows


def test_what_needs_public_tables_of_then_is_gone(policy: Policy) -> None:
    """They are not read again: another version of them could be joined to what was released."""
    sql = "SELECT w.ward, COUNT(*) AS n FROM patients p JOIN wards w ON p.zip = w.ward GROUP BY w.ward"
    with discreet.open(policy.path) as before:
        try:
            before.query(sql, epsilon=0.5)
        except Refused:
            pytest.fail("the fixture answers this")
        number = before.entries()[0].number
    with edited(policy, "max = 110", "max = 90") as after, pytest.raises(Refused) as refused:
        after.recall(number)
    assert refused.value.code == "answer-gone"


def test_nothing_is_read_for_it_and_no_data_version_begins(policy: Policy) -> None:
    with discreet.open(policy.path) as before:
        before.query(AGES, epsilon=0.5)
        number = before.entries()[0].number
    for file in policy.folder.glob("*.parquet"):
        file.unlink()
    with edited(policy, "max = 110", "max = 90") as after:
        records = after._ledger._newest.head
        assert after.recall(number).earlier
        assert after._ledger._newest.head == records
        with pytest.raises(QueryFailed):
            after.query(AGES, epsilon=0.5)


def test_the_policy_of_a_charge_is_the_one_on_record_before_it(policy: Policy) -> None:
    with discreet.open(policy.path) as before:
        before.query(AGES, epsilon=0.1)
    with edited(policy, "max = 110", "max = 90") as middle:
        middle.query(AGES, epsilon=0.1)
    now = read(policy.path)
    with edited(policy, "max = 90", "max = 80") as after:
        first, second = (entry.number for entry in after.entries())
        found = [policy_at(after._ledger, after.policy, number) for number in (first, second)]
        bounds: list[Any] = [each.tables["patients"].columns["age"].bounds for each in found if each is not None]
        assert bounds == [(0, 110), (0, 90)]
        assert [fingerprint(each) for each in found if each is not None][1] == fingerprint(now)
        assert policy_at(after._ledger, after.policy, 1) is None


# withdrawals


def test_nobody_reads_what_was_withdrawn_and_the_same_query_is_charged_anew(policy: Policy) -> None:
    with discreet.open(policy.path) as curator:
        first = curator.query(AGES, epsilon=0.5, analyst="fraud")
        number = curator.entries()[0].number
        spent = curator.budget().spent
        withdraw(policy, number, "the wrong people")  # by the owner, in another process as it were
        for analyst in (None, "fraud"):
            with pytest.raises(Refused) as refused:
                curator.recall(number, analyst=analyst)
            assert refused.value.code == "answer-gone"
            assert "withdrew" in refused.value.reason
        assert curator.budget().spent == spent
        again = curator.query(AGES, epsilon=0.5)
        assert not again.cached
        assert again.receipt != first.receipt
        assert [(told.kind, told.who, told.reason) for told in curator.story()][-1] == (
            "withdrawn",
            "fraud",
            "the wrong people",
        )
