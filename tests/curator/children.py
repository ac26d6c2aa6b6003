"""What other processes do with a policy; each prints what it found as one line of JSON.

`python -m tests.curator.children SCENARIO POLICY ARGUMENT…`
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import discreet
from tests.forked import Forked, forked


def start(scenario: str, policy: Path, *arguments: object) -> Forked:
    """With all warnings."""
    words = scenario, str(policy), *map(str, arguments)
    return forked("tests.curator.children", *words, environment=os.environ, printed=True)


def heard(process: Forked) -> tuple[Any, str]:
    """What it found, and all that it said."""
    said, complained = process.communicate(timeout=120)
    assert process.poll() == 0, complained
    return json.loads(said.splitlines()[-1]), said + complained


def ask(policy: str, sql: str, epsilon: str, analyst: str = "") -> object:
    with discreet.open(policy) as curator:
        answer = curator.query(sql, epsilon=float(epsilon), analyst=analyst or None)
        return {"rows": answer.rows, "cached": answer.cached, "receipt": answer.receipt}


def part(policy: str, ward: str, epsilon: str) -> object:
    """Count the part of one ward."""
    with discreet.open(policy) as curator:
        answer = curator.table("visits").partition("ward")[ward].count(epsilon=float(epsilon))
        spent = curator.budget().spent.epsilon
        return {"loss": float(answer.loss.concentrated().rho), "spent": spent, "cached": answer.cached}


def spend(policy: str, sql: str, epsilon: str, times: str) -> object:
    """Buy fresh answers until refused, with several threads on one curator."""
    found: list[Any] = []

    def work() -> None:
        for _ in range(int(times)):
            try:
                answer = curator.query(sql, epsilon=float(epsilon), fresh=True)
                found.append([len(answer.rows), answer.columns, answer.receipt])
            except discreet.BudgetExhausted as refused:
                found.append(refused.code)

    with discreet.open(policy) as curator:
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return found


def chat(policy: str, questions: str) -> object:
    """Ask everything in every way, log everything, print everything that comes back."""
    logging.basicConfig(level=logging.DEBUG)
    warnings.simplefilter("always")
    counts = {"answered": 0, "refused": 0, "failed": 0}
    with discreet.open(policy) as curator:
        for sql in json.loads(Path(questions).read_text(encoding="utf-8")):
            for act in (curator.preview, curator.query):
                try:
                    answer = act(sql, epsilon=0.001)
                    counts["answered"] += 1
                    print(answer, repr(answer), answer.to_dict(), answer._repr_html_())
                except discreet.Refused as refused:
                    counts["refused"] += 1
                    print(refused, repr(refused), refused.args)
                except discreet.QueryFailed as failed:
                    counts["failed"] += 1
                    print(failed, repr(failed), failed.args)
        print(curator.entries(), curator.budget(), curator.tables(), repr(curator))
    return counts


SCENARIOS: Final[dict[str, Callable[..., object]]] = {"ask": ask, "part": part, "spend": spend, "chat": chat}

if __name__ == "__main__":
    result = SCENARIOS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(result))
