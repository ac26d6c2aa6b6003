"""Copies of an open ledger: refused, or safe."""

from __future__ import annotations

import copy
import ctypes
import pickle
import sys
from pathlib import Path

import pytest

from discreet.ledger import LedgerError, verify
from discreet.ledger.sqlite import store as module
from tests.ledger.helpers import CENT, child, hurried, opened, spend, store_of

FORKED = "this ledger was opened before a fork → fork before opening, or start a new process"


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, pickle.dumps, lambda x: pickle.dumps(x, 0)])
def test_a_ledger_is_not_copied(path: Path, act: object) -> None:
    with hurried(path) as ledger:
        charge = ledger.charge(CENT, why="q")
        assert callable(act)
        for thing in (ledger, [ledger], {"ledger": ledger}) if act is not copy.copy else (ledger,):
            with pytest.raises(TypeError, match="open it again"):
                act(thing)
        if act is not copy.copy:
            with pytest.raises(TypeError):
                act(charge)
        spend(ledger)
    assert verify(path).charges == 1


def test_a_child_cannot_use_what_its_parent_opened(path: Path) -> None:
    found = child("fork_and_use", path)
    assert found["said"][:-4] == [FORKED] * 8
    assert found["said"][-1] == "closed"
    for refusal in found["said"][-4:-1]:
        assert (
            "was open when this process was forked: SQLite cannot open it here a second time → fork before" in refusal
        )
    assert found["code"] == 0
    assert found["charges"] == 5
    assert found["problems"] == []


def test_a_child_may_open_what_its_parent_closed(path: Path) -> None:
    assert child("fork_after_closing", path) == {"code": 0, "charges": 3, "problems": []}


def test_a_child_does_not_wait_for_a_lock_that_nobody_will_release(path: Path) -> None:
    assert child("fork_while_locked", path) == {"said": [FORKED] * 3 + ["closed"], "code": 0}


def test_a_child_that_ends_leaves_what_others_wrote(path: Path) -> None:
    """SQLite in the child would take itself for the last one, and remove a WAL that it never read."""
    assert child("fork_and_end", path) == {"codes": [-9, 0], "charges": 2, "problems": []}


def test_connections_of_the_parent_are_never_closed_in_a_child(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = hurried(path.with_name("other.sqlite"))
    closed.close()
    with hurried(path) as ledger:
        connection = store_of(ledger)._connection
        monkeypatch.setattr(module, "_OPENED", {store_of(ledger), store_of(closed)})
        inherited: set[object] = set()
        monkeypatch.setattr(module, "_INHERITED", inherited)
        before = sys.getrefcount(connection)
        module._leave_to_the_parent()
        assert sys.getrefcount(connection) == before + 1
        assert inherited == {(path.stat().st_dev, path.stat().st_ino)}
        for act in (opened, verify):
            with pytest.raises(LedgerError, match="was open when this process was forked"):
                act(path)
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(connection))


def test_what_a_child_finds_in_the_same_process(path: Path) -> None:
    """The number of the process is all that is looked at."""
    with hurried(path) as ledger:
        ledger._process += 1
        for act in (ledger.balance, ledger.entries, lambda: spend(ledger)):
            with pytest.raises(LedgerError, match="opened before a fork"):
                act()
        ledger.close()
        ledger._process -= 1
        spend(ledger)
