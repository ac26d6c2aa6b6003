"""A question in SQL as a mechanism: data in, what leaves out, as often as one likes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.compare import Call, Choice, Passed, Selection
from discreet.audit.neighbours import Data
from discreet.audit.outputs import Batch, Floats, code
from discreet.audit.replay import Replay
from discreet.curator.task import Task
from discreet.errors import Refused
from discreet.noise import SYSTEM
from discreet.policy import Policy


def question(policy: Policy, sql: str | Task[Any], **cost: Any) -> Batch:
    """A question for `estimate`: `estimate(question(policy, "SELECT COUNT(*) FROM t", epsilon=1), data, neighbour)`.

    The question is asked once of each database; then everything that left is drawn again as often as needed,
    from the same mechanisms and exact numbers. What follows is post-processing and can tell no more. Where private keys
    are selected, only the selection is drawn again: what is counted for them is another release, of other noise.
    A task, such as `StandardScaler().task(sql, epsilon=1, fresh=True)`, is asked alike, if its releases do not depend
    on each other. Where bounds may be left out they do, and the question is asked anew each time.
    """

    def anew(data: Data, n: int) -> Floats:
        with Replay(policy) as replay:
            return np.array([_seen(replay.run(sql, data, **cost).outcome) for _ in range(n)], dtype=np.float64)

    def draw(data: Data, n: int) -> Floats:
        with Replay(policy) as replay:
            run = replay.run(sql, data, **cost)
        if run.outcome[0] == "refused":
            raise Refused(*map(str, run.outcome[1:]))
        if not run.calls:
            raise ValueError("nothing private is drawn for this question")
        selections = [passed for passed in run.calls if isinstance(passed, Selection)]
        return np.concatenate([_again(passed, n) for passed in selections or run.calls], axis=1)

    return Batch(anew if policy.implicit_bounds else draw, str(sql))


def _seen(outcome: tuple[Any, ...]) -> list[float]:
    """An answer as numbers: those in it, and what its notes say."""
    if outcome[0] == "refused":
        raise Refused(*map(str, outcome[1:]))
    _, rows, _, _, notes = outcome
    numbers = [float(value) for row in rows for value in row if isinstance(value, (int, float))]
    return [*numbers, float(code(notes))]


def _again(passed: Passed, n: int) -> Floats:
    if isinstance(passed, Call):
        return _noisy(passed, n)
    if isinstance(passed, Choice):
        groups = [[passed.mechanism.mechanism.choose(group, SYSTEM) for group in passed.exact] for _ in range(n)]
        return np.asarray(groups, dtype=np.float64).reshape(n, -1)
    assert isinstance(passed, Selection)
    chosen = [passed.mechanism.select(passed.exact, SYSTEM) for _ in range(n)]
    return np.array([[len(keys), sum(map(code, keys)), sum(keys.values())] for keys in chosen], dtype=np.float64)


def _noisy(passed: Call, n: int) -> Floats:
    """All draws as one long vector: every number of a vector gets noise of its own."""
    noisy = passed.mechanism.release(list(passed.exact) * n, SYSTEM)
    return np.asarray(noisy, dtype=np.float64).reshape(n, -1)
