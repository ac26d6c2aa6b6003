"""Two servers over one ledger: what one of them charges, the other knows, and nothing is charged or answered twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from discreet.accounting import Pure
from discreet.curator.state import open_ledger, verify_ledger
from discreet.policy import read
from tests.postgres import ledgers
from tests.server.running import POLICY, Running, build, serving

SMALL = POLICY.replace("epsilon = 30.0\ndelta = 1e-6", "epsilon = 3.0").replace("epsilon = 10.0", "epsilon = 2.5")
SMALL = SMALL.replace("epsilon = 5.0", "epsilon = 1.0")


@pytest.fixture(scope="module", params=["file", "postgres"])
def both(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[tuple[Running, Running]]:
    text = SMALL
    if request.param == "postgres":
        cluster = request.getfixturevalue("postgres")
        schema = ledgers.prepared(cluster).schema
        text += f'[ledger]\nurl = "{cluster.address(user=ledgers.ROLE)}"\nschema = "{schema}"\n'
    policy = build(tmp_path_factory.mktemp("two"), patients=60, text=text)
    with serving(policy) as first, serving(policy, tokens=first.tokens) as second:
        yield first, second


def ask(running: Running, who: str, key: str, epsilon: float, age: int = 40) -> httpx.Response:
    body = {"sql": f"SELECT COUNT(*) AS n FROM patients WHERE age < {age}", "epsilon": epsilon, "fresh": True}
    with running.client(who) as client:
        return client.post("datasets/hospital/query", json=body, headers={"idempotency-key": key})


def released(found: httpx.Response) -> tuple[Any, Any]:
    assert found.status_code == 200, found.text
    return found.json()["rows"], found.json()["receipt"]


def charges(both: tuple[Running, Running]) -> int:
    with open_ledger(read(both[0].policy)) as ledger:
        return len(ledger.entries())


@pytest.mark.long
def test_a_key_is_charged_once_whichever_server_gets_it(both: tuple[Running, Running]) -> None:
    keys, before = [f"key {number}" for number in range(8)], charges(both)
    with ThreadPoolExecutor(8) as pool:
        asked = [(key, pool.submit(ask, each, "epidemiology", key, 0.01)) for key in keys for each in (*both, *both)]
        found = [(key, each.result(300)) for key, each in asked]
    for key in keys:
        own = [each for name, each in found if name == key]
        settled = {str(released(ask(each, "epidemiology", key, 0.01))) for each in both}
        assert len(settled) == 1, "the same answer from both"
        assert {str(released(each)) for each in own if each.status_code == 200} <= settled
        late = [each.json()["reason"] for each in own if each.status_code != 200]
        assert all("has no answer; what it cost stays spent" in each for each in late), "one was still answering"
    assert charges(both) == before + len(keys)


@pytest.mark.long
def test_together_they_spend_no_more_than_the_share_and_the_budget(both: tuple[Running, Running]) -> None:
    """finance has 1 of the 3, epidemiology 2.5: together more than there is, less what was spent before."""
    with ThreadPoolExecutor(8) as pool:
        asked = [
            (who, pool.submit(ask, each, who, f"{who} {number} {each.url}", 0.125, 30 + number))
            for number in range(16)
            for each in both
            for who in ("finance", "epidemiology")
        ]
        found = [(who, each.result(300)) for who, each in asked]
    answered = {name: [each for who, each in found if who == name and each.status_code == 200] for name, _ in found}
    refused = {each.json()["code"] for _, each in found if each.status_code != 200}
    assert refused == {"budget-exhausted"}
    policy = read(both[0].policy)
    with open_ledger(policy) as ledger:
        losses = [(each.analyst, each.loss) for each in ledger.entries()]
    spent = {
        who: sum(loss.epsilon for name, loss in losses if name == who and isinstance(loss, Pure)) for who in answered
    }
    assert spent["finance"] <= 1
    assert spent["epidemiology"] <= 2.5
    assert 3 - 0.125 < sum(spent.values()) <= 3, "they used it up, and no more"
    assert sum(map(len, answered.values())) * 0.125 <= sum(spent.values())
    assert verify_ledger(policy, [released(each)[1] for own in answered.values() for each in own]).sound
