"""A query ends soon after somebody else says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from discreet.engines.session import columns, rows
from discreet.engines.stopping import CURRENT, Stop, Stopped

ENDLESS = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(1000000) b"


@pytest.mark.parametrize(("read", "delay"), [(rows, 0.0), (rows, 0.001), (rows, 0.2), (columns, 0.0), (columns, 0.2)])
def test_a_running_query_is_interrupted(read: Callable[..., Any], delay: float) -> None:
    stop, failures = Stop(), list[BaseException]()

    def ask() -> None:
        try:
            with stop:
                read(duckdb.connect(), ENDLESS, None)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(delay)
    stop.now()
    thread.join(timeout=300)
    assert not thread.is_alive()
    assert [type(error) for error in failures] in ([duckdb.InterruptException], [Stopped])


def test_no_query_begins_after_it() -> None:
    stop = Stop()
    stop.now()
    with stop, pytest.raises(Stopped):
        rows(duckdb.connect(), "SELECT 1", None)


def test_others_are_left_alone() -> None:
    stop, connection = Stop(), duckdb.connect()
    with stop:
        assert rows(connection, "SELECT 1", None) == [(1,)]
    stop.now()
    assert CURRENT.get() is None
    assert rows(connection, "SELECT 2", None) == [(2,)]


def test_whoever_insists_does_not_keep_the_process_alive() -> None:
    stop = Stop()
    with stop as entered, stop.over(lambda: None):
        stop.now()
        insisting = [thread.daemon for thread in threading.enumerate() if thread.name == "discreet-stop"]
    assert entered is stop
    assert insisting
    assert all(insisting)
