"""How far a task is: with padding a function of the clock and public facts alone; without, its steps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from discreet.client.remote import Waiting
from discreet.exit import Exit, ReleasePoint, progress
from discreet.exit.progress import TOLD, Progress, Seen
from discreet.ledger import Grant, Ledger, Memory
from discreet.release import MWEM, Domain, MarginalSynthesizer
from discreet.server.api import progress_of
from discreet.server.queue import Job
from tests.exit.test_perform import Counted, Rows, task

PLANNED = (("rounds", 4),)


class Clock:
    """Time passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Stepping(Counted):
    """A task with as many steps as a row says, each of which takes as long as a row says."""

    clock: Any = None
    private: int = 0
    stages = PLANNED

    def run(self, rows: Any, exit_: Exit) -> bytes:
        told = TOLD.get()
        assert told is not None
        steps = exit_.parallel().watched(range(self.private), 4, "rounds")
        seen = [told.seen(), *(told.seen() for _ in steps)]
        self.clock.now = 101.3  # whatever happened before: what is seen at this moment
        seen.append(told.seen())
        self.steps.append(repr(seen[-1]))
        self.steps.append(repr(seen))
        return super().run(rows, exit_)


def run(monkeypatch: pytest.MonkeyPatch, pad: float, private: int) -> list[str]:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr("discreet.exit.timing.time.sleep", lambda _: None)
    stepping = Stepping(task(fresh=True).bill, clock=clock, private=private)
    with Ledger(Memory(), Grant.of(Fraction(3), None), shares={}) as ledger, Progress():
        ReleasePoint(ledger, pad=pad).perform(stepping, Rows)
    return stepping.steps


def test_with_padding_nothing_that_rows_decide_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: ask again and again how far it is, and tell from the steps what the rows are."""
    seen = {run(monkeypatch, 0.1, private)[-3] for private in (0, 1, 3)}
    assert seen == {repr(Seen(1.2999999999999972, 1.6, PLANNED))}
    assert run(monkeypatch, 0.0, 1)[-2] != run(monkeypatch, 0.0, 3)[-2]  # where the owner pads nothing, it is


def test_without_padding_steps_are_seen_also_those_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run(monkeypatch, 0.0, 3)[-2]
    assert "stage=None" in shown
    assert "stage='rounds', done=2, total=4" in shown


@pytest.mark.parametrize(
    ("seen", "share", "words"),
    [
        (Seen(1.0, None, ()), None, ""),
        (Seen(1.0, 1.6, ()), 0.625, "may end 1.6 s after its beginning"),
        (Seen(1.0, 1.6, PLANNED), 0.625, "rounds (4 steps); may end 1.6 s after its beginning"),
        (Seen(1.0, None, PLANNED, "rounds", 1, 4), 0.25, "rounds: 1 of 4"),
        (Seen(1.0, None, PLANNED, "rounds", 9, 4), 1.0, "rounds: 9 of 4"),
    ],
)
def test_it_is_said_in_words_and_as_a_share(seen: Seen, share: float | None, words: str) -> None:
    assert (seen.share, seen.words) == (share, words)


def test_a_job_says_it_and_a_client_reads_it() -> None:
    job = Job("caller", lambda: None)
    assert progress_of(job) == {}
    job.progress.begin(0.0, PLANNED)
    steps = iter(job.progress.steps(range(4), 4, "rounds"))
    next(steps)
    next(steps)
    document: Any = {"job": "j", "position": None, **progress_of(job)}
    assert Waiting.of(document) == Waiting(None, "rounds: 1 of 4", 0.25)
    assert Waiting.of({"job": "j", "position": 2}) == Waiting(2)
    hostile: Any = {"job": "j", "position": None, "progress": {"words": "\x1b[2J" * 99, "share": 1, "seconds": 1}}
    assert "\x1b" not in Waiting.of(hostile).words
    assert len(Waiting.of(hostile).words) <= 200


def test_what_is_planned_is_what_is_done() -> None:
    """Stages are those that the exit is told, with as many steps: else bars would never be full."""
    domain = Domain.of({"a": ["x", "y"], "b": (0, 9)})
    for publication in (MarginalSynthesizer(domain=domain, steps=3), MWEM(domain=domain, rounds=2)):
        complete = publication.declared(None)
        told: list[tuple[str, int]] = []

        def watch(steps: Any, total: int, what: str, told: list[tuple[str, int]] = told) -> Any:
            told.append((what, total))
            return steps

        from discreet.noise import SYSTEM

        exit_ = Exit(complete.cost_for(rho=1), SYSTEM)
        exit_.watch = watch
        complete.published(complete.rows_of({"a": ["x"] * 9, "b": [1] * 9}), exit_)
        assert tuple(told) == complete.stages
