"""What is written for programs comes back as the same Python values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.curator import wire
from tests.server.running import build

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("SELECT COUNT(*) AS n FROM patients", {"epsilon": 0.1}),
    ("SELECT ward, COUNT(*), AVG(age) AS a FROM patients GROUP BY ward", {"epsilon": 0.2}),
    ("SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip", {"epsilon": 1}),
    ("SELECT DATE_TRUNC('year', born) AS y, COUNT(*) AS n FROM patients GROUP BY y LIMIT 3", {"epsilon": 1}),
    ("SELECT MEDIAN(age) AS m, SUM(age) AS s, SUM(age) AS s FROM patients", {"epsilon": 1}),
    ("SELECT APPROX_TOP_K(ward, 2) AS top FROM patients", {"epsilon": 1}),
    ("SELECT COUNT(*) AS n FROM patients WHERE age > $a", {"error": 5, "params": {"a": 50}, "confidence": 0.9}),
    ("SELECT ward, beds FROM wards", {}),
    ("EXPLAIN PRIVACY SELECT COUNT(*) FROM patients", {"epsilon": 1}),
]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[discreet.Curator]:
    with discreet.open(build(Path(tmp_path_factory.mktemp("wire")))) as curator:
        yield curator


def sent(document: Any) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.parametrize(("text", "price"), QUESTIONS, ids=[text for text, _ in QUESTIONS])
def test_answers_and_previews_come_back(hospital: discreet.Curator, text: str, price: dict[str, Any]) -> None:
    answer = hospital.query(text, **price)
    assert wire.answer_read(sent(wire.answer_written(answer))) == answer
    preview = hospital.preview(text, **price)
    assert wire.preview_read(sent(wire.preview_written(preview))) == preview


def test_tables_balances_and_entries_come_back(hospital: discreet.Curator) -> None:
    hospital.query("SELECT COUNT(*) FROM patients WHERE age < $a", epsilon=0.1, params={"a": 3})
    for name, facts in hospital.tables().items():
        assert wire.facts_read(name, sent(wire.facts_written(facts))) == facts
    balance = hospital.budget()
    assert wire.balance_read(sent(wire.balance_written(balance))) == balance
    for entry in hospital.entries():
        found = wire.entry_read(sent(wire.entry_written(entry)))
        assert (found.number, found.question, found.call) == (entry.number, entry.question, entry.call)
        assert float(found.loss.concentrated().rho) >= float(entry.loss.concentrated().rho)


# recalling


def test_an_answer_is_recalled_by_its_number(hospital: discreet.Curator) -> None:
    for text, price in QUESTIONS[:7]:
        answer = hospital.query(text, **price, fresh=True)
        spent = hospital.budget().spent
        again = hospital.recall(int(answer.receipt.partition(":")[0]))
        assert hospital.budget().spent == spent
        assert again.cached
        assert (again.rows, again.intervals, again.price, again.receipt, again.confidence) == (
            answer.rows,
            answer.intervals,
            answer.price,
            answer.receipt,
            answer.confidence,
        )


@pytest.mark.parametrize("number", [0, -1, 1, 10**6, 2**70, True, "3", None])
def test_numbers_without_an_answer_are_refused(hospital: discreet.Curator, number: Any) -> None:
    with pytest.raises(discreet.Refused, match="unknown-answer"):
        hospital.recall(number)


def test_an_answer_of_another_policy_is_gone(tmp_path: Path) -> None:
    policy = build(tmp_path)
    with discreet.open(policy) as curator:
        curator.query("SELECT SUM(age) AS s FROM patients", epsilon=0.1)
        number = curator.entries()[0].number
    policy.write_text(policy.read_text(encoding="utf-8").replace("max = 120", "max = 110"), encoding="utf-8")
    with discreet.open(policy) as changed, pytest.raises(discreet.Refused, match="answer-gone"):
        changed.recall(number)
