"""Attack: what the owner withdrew is fetched from the job that let it out, which is remembered for ten minutes.

It was looked up for queries and releases alone: batches and models say their receipts elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.answers.models import TASKS
from discreet.curator.state import withdraw
from discreet.policy import read
from tests.server.running import build, until
from tests.server.visitor import site

API = "/api/v1/datasets/hospital"
COUNT = "SELECT COUNT(*) AS n FROM patients WHERE age < 40"
ROWS = {"sql": "SELECT age, age AS y FROM patients", "target": "y"}
BODIES: dict[str, dict[str, Any]] = {
    "query": {"sql": COUNT, "epsilon": 0.1},
    "batch": {"queries": [COUNT, f"{COUNT} AND ward = 'A'"], "epsilon": 0.1},
    "release": {"publication": "Facets", "sql": "patients", "epsilon": 0.2},
    "fit": {"estimator": "LinearRegression", **ROWS, "epsilon": 0.5},
    "score": {**ROWS, "epsilon": 0.5},
}


def test_all_kinds_are_tried() -> None:
    assert BODIES.keys() == {"query", *TASKS}


@pytest.mark.parametrize("what", BODIES)
def test_a_job_of_any_kind_does_not_remember_what_was_withdrawn(tmp_path: Path, what: str) -> None:
    path = build(tmp_path, patients=20)
    with site(path) as made:
        visitor, bearer = made.visitor(), {"authorization": f"Bearer {made.tokens['epidemiology']}"}

        def asked(kind: str, body: dict[str, Any]) -> Callable[[], Any]:
            sent = visitor.post(f"{API}/{kind}", json=body, headers={**bearer, "prefer": "respond-async, wait=0"})
            assert sent.status_code == 202, sent.text
            job = sent.headers["location"]
            assert until(lambda: visitor.get(job, headers=bearer).status_code == 200)
            return lambda: visitor.get(job, headers=bearer)

        body = BODIES[what]
        if what == "score":
            body = {**body, "model": asked("fit", BODIES["fit"])().json()}
        again = asked(what, body)
        curator = made.app.state.app_state.datasets["hospital"].curator
        assert again().status_code == 200
        withdraw(read(path), curator.latest(limit=1)[0].number, "wrong")
        assert (again().status_code, again().json()["code"]) == (410, "answer-gone")
