"""Attack: spend one budget several times by asking from many threads at once, after a fork, or from a copy.

The sparse vector technique says Yes `limit` times for its cost; eight threads that all see "none yet" before any of
them writes, or two processes that share one noisy threshold, get eight, or twice as many, for the cost of one.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Pure, turns
from discreet.accounting.turns import Turns
from discreet.errors import BudgetExhausted, Refused
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.ledger import Grant, Ledger
from discreet.mechanisms import AboveThreshold
from discreet.mechanisms.threshold import Watch
from discreet.noise import SYSTEM, Bits
from tests.threads import at_once

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    lambda thing: pickle.dumps(thing, 0),
    lambda thing: dataclasses.replace(thing),
]
FAR = 10**9


class Yielding(Bits):
    """Real bits, before which every other thread gets its turn many times over."""

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        for _ in range(200):
            os.sched_yield()
        return SYSTEM.bytes(count)


def watching(limit: int = 1, bits: Bits | None = None) -> Watch:
    """A stream under way, of which every number lies far above the threshold."""
    mechanism = AboveThreshold(1, sensitivity=1, threshold=0, limit=limit)
    return Watch(mechanism, 0, bits)


def in_a_child(act: Callable[[], object]) -> str:
    """What a forked child gets, in words."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: the child does next to nothing
        child = os.fork()
    if not child:
        try:
            said = repr(act())
        except BaseException as refusal:
            said = f"{type(refusal).__name__}: {refusal}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.parametrize("limit", [1, 3])
def test_eight_threads_get_no_more_yes_than_one(limit: int) -> None:
    watch = watching(limit, Yielding())
    answers = at_once(8, lambda: watch.ask(FAR))
    assert answers.count(True) == limit
    assert sum(isinstance(answer, BudgetExhausted) for answer in answers) == 8 - limit
    assert (watch.positives, watch.left) == (limit, 0)


def test_threads_that_switch_as_often_as_they_can_get_no_more_either() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            watch = watching(2)
            answers = at_once(8, lambda watch=watch: watch.ask(FAR))  # type: ignore[misc]
            assert answers.count(True) == 2
    finally:
        sys.setswitchinterval(usual)


def test_a_number_that_asks_while_it_is_read_gets_no_yes_of_its_own() -> None:
    watch = watching(1)
    inner: list[object] = []

    class Sly(float):
        def __str__(self) -> str:
            inner.append(watch.ask(FAR))
            return "1e9"

    with pytest.raises(BudgetExhausted):
        watch.ask(Sly(1e9))
    assert inner == [True]


def test_a_forked_child_cannot_ask_with_its_parent_s_noise() -> None:
    watch = watching(1)
    assert "forked: a stream under way was made before a fork" in in_a_child(lambda: watch.ask(FAR))
    assert watch.ask(FAR)


def test_a_child_that_was_forked_while_another_thread_was_asking_is_refused_and_does_not_hang() -> None:
    started, go_on, parent = threading.Event(), threading.Event(), os.getpid()

    class Slow(Bits):
        __slots__ = ()

        def bytes(self, count: int) -> bytes:
            started.set()
            if os.getpid() == parent:
                go_on.wait()
            return SYSTEM.bytes(count)

    watch = watching(1, Slow())
    asking = threading.Thread(target=lambda: watch.ask(FAR))
    asking.start()
    started.wait()
    assert "made before a fork" in in_a_child(lambda: watch.ask(FAR))
    go_on.set()
    asking.join()
    assert watch.left == 0


@pytest.mark.parametrize("again", COPIES)
def test_what_spends_has_no_copies(again: Callable[[Any], Any], tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite", Grant.of(Fraction(1), None), shares={}) as ledger:
        charge = ledger.charge(Pure(1), why="q")
        for thing in (watching(), Turns("a thing"), Exit(Cost(Pure(1)), SYSTEM), ledger):
            with pytest.raises(TypeError):
                again(thing)
        if again is not COPIES[-1]:  # a charge made anew from another's fields is a charge of its own
            with pytest.raises(TypeError):
                again(charge)


def test_what_was_found_is_not_for_the_asker_to_change() -> None:
    watch: Any = watching(1)
    assert watch.ask(FAR)
    for name in ("positives", "left", "mechanism", "limit"):
        with pytest.raises(AttributeError):
            setattr(watch, name, 0)
    with pytest.raises(BudgetExhausted):
        watch.ask(FAR)


def test_a_mechanism_that_is_shared_starts_streams_of_their_own() -> None:
    """`start` is charged each time: nothing of one stream is in another."""
    mechanism = AboveThreshold(1, sensitivity=1, threshold=0)
    one, other = mechanism.start(), mechanism.start()
    assert one.ask(FAR)
    assert (one.left, other.left) == (0, 1)


# what else spends


def test_threads_of_a_fit_pay_for_each_of_their_releases() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            allowance = Exit(Cost(Pure(1)), SYSTEM)
            found = at_once(8, lambda allowance=allowance: allowance.part(Fraction(1, 3)))  # type: ignore[misc]
            assert sum(isinstance(part, Exit) for part in found) == 3
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.parametrize("share", [Fraction(-1), Fraction(-1, 10**30)])
def test_nothing_is_paid_back_to_a_fit(share: Fraction) -> None:
    with pytest.raises(RuntimeError, match="not below 0"):
        Exit(Cost(Pure(1)), SYSTEM).part(share)


def test_a_forked_child_cannot_spend_what_its_parent_may(tmp_path: Path) -> None:
    allowance = Exit(Cost(Pure(1)), SYSTEM)
    assert "made before a fork" in in_a_child(lambda: allowance.part(Fraction(1)))
    with Ledger.open(tmp_path / "ledger.sqlite", Grant.of(Fraction(1), None), shares={}) as ledger:
        charge = ledger.charge(Pure(1), why="q")
        assert "opened before a fork" in in_a_child(charge.__enter__)
        with charge:
            assert ledger.remaining().epsilon == 0


def test_eight_threads_enter_one_charge_once(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.sqlite", Grant.of(Fraction(1), None), shares={}) as ledger:
        charge = ledger.charge(Pure(1), why="q")
        found = at_once(8, charge.__enter__)
        assert found.count(SYSTEM) == 1
        assert len(ledger.entries()) == 1


def test_a_refusal_to_take_turns_says_what_to_do() -> None:
    assert "fork first" in in_a_child(Turns("a thing").__enter__)
    turns = Turns("a thing")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "getpid", lambda: -1)
        with pytest.raises(Refused, match="forked"):
            turns.__enter__()


def test_a_child_in_another_namespace_may_have_the_number_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """So forks are counted: what follows in a child has the parent's process number, and takes no turn."""
    stream = watching()
    assert stream.mechanism == AboveThreshold(1, sensitivity=1, threshold=0, limit=1)
    monkeypatch.setattr(turns, "_forks", turns._forks)
    turns._count()
    with pytest.raises(Refused, match="fork"):
        stream.ask(FAR)
