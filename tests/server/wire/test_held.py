"""What a server holds of questions over PostgreSQL's protocol once they were answered."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from discreet.answers.call import Call
from discreet.server.dispatch import Dispatcher, Submission
from discreet.server.queue import Queue
from discreet.server.wire.execution import Client, Execution
from tests.server.running import until


class Curator:
    """One whose every answer is charged."""

    def free(self, _: Call) -> None:
        """Nothing is known yet."""

    def perform(self, _: Call) -> int:
        return 42


def test_an_answer_that_nobody_can_come_for_is_not_held() -> None:
    """No client is told the name of a job here: two hundred answers of each caller were held, ten minutes each."""
    dispatcher = Dispatcher(Queue(1))
    shared: Any = SimpleNamespace(dispatcher=dispatcher)
    nobody: Any = SimpleNamespace(is_lost=False)
    caller: Any = SimpleNamespace(token="t")
    execution = Execution(shared, nobody, Client("t", nobody, caller, 1), nobody)
    curator: Any = Curator()
    question: Any = SimpleNamespace(submission=lambda: Submission(curator, Call(sql="q"), "line"))
    portal: Any = SimpleNamespace(settings=SimpleNamespace(seconds=None))

    async def ask() -> list[Any]:
        return [await execution._outcome(question, portal) for _ in range(3)]

    assert asyncio.run(ask()) == [42] * 3
    assert until(lambda: not dispatcher.queue._jobs)
    assert not dispatcher.queue._ended
    dispatcher.close()
