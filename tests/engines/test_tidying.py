"""How often Spark is asked to remove what those shuffled who left it, while others go on."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from discreet.composed import sql
from discreet.engines.spark import cluster, rehearsal
from discreet.engines.spark.engine import UnansweredError
from discreet.policy.clusters import read_cluster
from tests.server.running import until

MASTER = read_cluster("spark:local[1]")


class Spark:
    """One in which somebody stays, and what it has on disk; nothing is looked at before `go`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rows: list[bool]) -> None:
        self.go, self.looks, self._rows = threading.Event(), 0, iter(rows)
        self.running = cluster._Running(os.getpid(), None, object(), ExitStack(), users=100)
        monkeypatch.setattr(cluster, "_has_rows", self._look)
        monkeypatch.setattr(cluster, "LOOK", 0.0)

    def _look(self, _: object) -> bool:
        assert self.go.wait(300)
        self.looks += 1
        return next(self._rows)

    def leave(self, **how: bool) -> None:
        cluster._left(MASTER, self.running, **how)


def test_one_thread_looks_for_all_who_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each who left had a thread of its own: two analysts at a time had Java collect its memory more than once a
    question, for as long as one of them was shuffling.
    """
    spark = Spark(monkeypatch, [True] * 20)
    for _ in range(10):
        spark.leave()
    spark.go.set()
    assert until(lambda: not spark.running.is_tidied)
    assert cluster.TIDIED <= spark.looks <= cluster.TIDIED + 1


def test_who_leaves_during_the_last_look_is_looked_after_too(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Spark(monkeypatch, [False, True, False])
    spark.leave()
    with cluster._guard:  # the look is over, and what it found is not noted yet
        spark.go.set()
        assert until(lambda: spark.looks == 1)
        spark.leave()
    assert until(lambda: not spark.running.is_tidied)
    assert spark.looks == 3
    spark.leave(has_run=False)
    assert not spark.running.is_tidied


def test_a_rehearsal_leaves_nothing_to_tidy_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It makes plans and runs nothing; and there is one before every question of a new form."""
    asked: list[dict[str, bool]] = []

    def session(*_: object, **how: bool) -> None:
        asked.append(how)
        raise OSError

    monkeypatch.setattr(rehearsal, "session", session)
    monkeypatch.setattr(rehearsal, "aggregate", lambda *_: sql("SELECT 1"))
    monkeypatch.setattr(rehearsal, "cluster_of", lambda _: MASTER)
    policy: Any = type("Policy", (), {"state": tmp_path, "folder": tmp_path})
    with pytest.raises(UnansweredError):
        rehearsal.plans(policy, sql("SELECT 1"), {})
    assert asked == [{"runs": False}]
