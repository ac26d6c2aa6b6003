"""CURRENT_DATE is fixed when a query is asked: part of what is drawn, recorded, and shown again as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from discreet.accounting.record import Key
from discreet.answers.call import Call, read, written
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.sql import now
from tests.sql import tiny

TEXT = "SELECT COUNT(*) AS n FROM visits WHERE day >= CURRENT_DATE - INTERVAL 30 DAY"


class Clock(datetime):
    """A clock that stands still."""

    at = datetime(2024, 2, 20, 10, 30, 59)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.at.replace(tzinfo=tz)


@pytest.fixture
def curator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Curator]:
    monkeypatch.setattr(now, "datetime", Clock)
    monkeypatch.setattr(Clock, "at", Clock.at)
    with tiny.asked("pure") as found:
        yield found


def test_another_day_is_another_query_and_the_same_day_is_cached(curator: Curator) -> None:
    first = curator.query(TEXT, epsilon=1)
    assert first.rows == [(6,)]  # from 2024-01-21 on
    assert "CURRENT_DATE is 2024-02-20 (UTC), fixed when this was asked" in first.notes
    Clock.at = datetime(2024, 2, 20, 23, 59)
    again = curator.query(TEXT, epsilon=1)
    assert again.cached
    assert again.receipt == first.receipt
    Clock.at = datetime(2024, 3, 31, 0, 0)
    later = curator.query(TEXT, epsilon=1)
    assert not later.cached
    assert later.rows == [(1,)]


def test_preview_and_explain_show_the_date(curator: Curator) -> None:
    assert "CURRENT_DATE is 2024-02-20 (UTC), fixed when this was asked" in curator.preview(TEXT, epsilon=1).notes
    assert "2024-02-20" in str(curator.query(f"EXPLAIN PRIVACY {TEXT}", epsilon=1).notes)


def test_what_was_asked_is_shown_again_as_it_was(curator: Curator) -> None:
    answer = curator.query(TEXT, epsilon=1)
    Clock.at = datetime(2030, 1, 1)
    again = curator.recall(int(answer.receipt.split(":")[0]))
    assert again.rows == answer.rows
    assert again.notes == answer.notes


def test_a_request_that_is_sent_again_after_midnight_is_the_same(curator: Curator) -> None:
    call = Call(sql=TEXT, epsilon=1, key=Key("a", "digest"))
    answer = curator.answer(call)
    Clock.at = datetime(2024, 2, 21)
    again = curator.answer(call)
    assert again.receipt == answer.receipt
    assert again.rows == answer.rows


def test_times_are_whole_minutes(curator: Curator) -> None:
    text = "SELECT COUNT(*) AS n FROM beds WHERE t < CURRENT_TIMESTAMP"
    assert (
        "CURRENT_TIMESTAMP is 2024-02-20 10:30:00 (UTC), fixed when this was asked"
        in curator.query(text, epsilon=1).notes
    )
    Clock.at = datetime(2024, 2, 20, 10, 30, 1)
    assert curator.query(text, epsilon=1).cached
    Clock.at = datetime(2024, 2, 20, 10, 31)
    assert not curator.query(text, epsilon=1).cached


def test_what_only_shows_the_date_is_the_same_release(curator: Curator) -> None:
    text = "SELECT CURRENT_DATE, COUNT(*) AS n FROM visits"
    first = curator.query(text, epsilon=1)
    assert first.columns == ["CURRENT_DATE", "n"]
    Clock.at = datetime(2024, 2, 21)
    later = curator.query(text, epsilon=1)
    assert later.cached
    assert later.rows[0][0] > first.rows[0][0]


def test_cost_follows_from_text_and_moment(curator: Curator) -> None:
    text = "SELECT SUM(DATE_DIFF('day', day, CURRENT_DATE)) AS n FROM visits"
    errors = {curator.preview(text, epsilon=1).error["n"] for _ in range(3)}
    Clock.at = datetime(2034, 2, 20)
    assert len(errors) == 1
    assert curator.preview(text, epsilon=1).error["n"] > max(errors)


def test_the_moment_is_recorded_and_read_again() -> None:
    call = Call(sql=TEXT, epsilon=1, now=datetime(2024, 2, 20))
    assert read(TEXT, written(call)) == call


@pytest.mark.parametrize("word", ["CURRENT_DATE('Asia/Tokyo')", "CURRENT_TIME"])
def test_zones_and_times_of_day_are_refused(curator: Curator, word: str) -> None:
    with pytest.raises(Refused):
        curator.preview(f"SELECT COUNT(*) FROM visits WHERE day < {word}", epsilon=1, dialect="bigquery")
