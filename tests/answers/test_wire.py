"""What is written for programs comes back as the same Python values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

import discreet
from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import Amount
from discreet.accounting.record import Entry
from discreet.answers import Answer, documents, wire
from discreet.answers.facts import Facts
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


def sent(document: Any, kind: Any = documents.Answer) -> Any:
    """What a client gets of it: all that was written, and nothing that is not part of its form."""
    text = json.dumps(document, allow_nan=False).encode()
    assert msgspec.to_builtins(documents.decoded(text, kind)) == json.loads(text)
    return documents.decoded(text, kind)


@pytest.mark.parametrize(("text", "cost"), QUESTIONS, ids=[text for text, _ in QUESTIONS])
def test_answers_and_previews_come_back(hospital: discreet.Curator, text: str, cost: dict[str, Any]) -> None:
    answer = hospital.query(text, **cost)
    assert wire.answer_read(sent(wire.answer_written(answer))) == answer
    preview = hospital.preview(text, **cost)
    assert wire.preview_read(sent(wire.preview_written(preview), documents.Preview)) == preview


def test_tables_balances_and_entries_come_back(hospital: discreet.Curator) -> None:
    hospital.query("SELECT COUNT(*) FROM patients WHERE age < $a", epsilon=0.1, params={"a": 3})
    for name, facts in hospital.tables().items():
        assert wire.facts_read(name, sent(wire.facts_written(facts), documents.Table)) == facts
    balance = hospital.budget()
    assert documents.decoded(msgspec.json.encode(balance), documents.Balance) == balance
    for entry in hospital.entries():
        found = wire.entry_read(sent(wire.entry_written(entry), documents.Entry))
        assert (found.number, found.question, found.call) == (entry.number, entry.question, entry.call)
        assert float(found.loss.concentrated().rho) >= float(entry.loss.concentrated().rho)


# what no question above holds


def listed(*lists: Any) -> Answer:
    """An answer whose only column holds these lists of counts."""
    return Answer(
        question="SELECT …", columns=["top"], rows=[(each,) for each in lists], intervals=[{} for _ in lists],
        confidence=0.95, loss=Pure(0), cost=Pure(Fraction(1, 8)), cached=True, receipt="", remaining=Amount(1.0),
        noise={"top": ""}, notes=(), guarantee=(1.0, None),
    )  # fmt: skip


def counted(*values: Any) -> list[dict[str, Any]]:
    return [{"value": value, "count": 3} for value in values]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((date(2026, 1, 2), date(1066, 10, 14)), "date"),
        ((datetime(2026, 1, 2, 3, 4, 5, 6),), "timestamp"),
        ((True, False), "boolean"),
        ((1, 2), "integer"),
        ((0.5,), "number"),
        (("2026-01-02", "B"), "text"),
        ((1, "B"), "text"),
        ((), "text"),
    ],
)
def test_lists_come_back_with_the_types_of_their_items(values: tuple[Any, ...], kind: str) -> None:
    answer = listed(None, counted(*values), counted(*values[:1]))
    written = sent(wire.answer_written(answer))
    assert written["types"] == [f"list of {kind}"]
    assert wire.answer_read(written) == answer


@pytest.mark.parametrize("lists", [(None,), (), (counted(1), 7), (7,)])
def test_what_is_no_list_everywhere_has_no_type(lists: tuple[Any, ...]) -> None:
    answer = listed(*lists)
    written = sent(wire.answer_written(answer))
    assert written["types"] == [None]
    assert wire.answer_read(written) == answer


@pytest.mark.parametrize("wrong", [{"types": []}, {"types": ["text", "text"]}, {"rows": [[]]}, {"rows": [[1, 2]]}])
def test_an_answer_in_which_something_is_missing_is_not_read(wrong: dict[str, Any]) -> None:
    written = sent(wire.answer_written(listed(7)))
    with pytest.raises(ValueError, match="zip"):
        wire.answer_read(cast("documents.Answer", {**cast("dict[str, Any]", written), "rows": [], **wrong}))


@pytest.mark.parametrize(
    ("loss", "cost"), [(Pure(0), Pure(Fraction(1, 3))), (Concentrated(Fraction(1, 3), Fraction(1, 7)), Pure(1))]
)
def test_an_entry_is_told_rounded_up(loss: Pure | Concentrated, cost: Pure) -> None:
    entry = Entry(3, "2026-01-02T03:04:05Z", "ann", "SELECT …", loss, 1, True, cost, {"epsilon": 1})
    written = sent(wire.entry_written(entry), documents.Entry)
    for name in ("epsilon", "rho", "delta"):
        exact = getattr(loss, name, None)
        assert (written[name] is None) == (exact is None)
        assert exact is None or exact <= Fraction(written[name]) <= exact + Fraction(1, 10**15)
    assert cost.epsilon <= Fraction(written["cost"]["epsilon"]) <= cost.epsilon + Fraction(1, 10**15)
    found = wire.entry_read(written)
    assert (type(found.loss), found.number, found.at, found.answered) == (type(loss), 3, entry.at, True)


def test_a_private_table_tells_its_limits_and_a_public_one_has_none() -> None:
    visits = Facts("visits", False, "patient_id", {}, 20, 5, 3)
    assert wire.facts_read("visits", sent(wire.facts_written(visits), documents.Table)) == visits
    wards = wire.facts_written(Facts("wards", True, None, {}, 20, 5, 3))
    assert [wards[name] for name in wire.LIMITS] == [None] * 3


# recalling


def test_an_answer_is_recalled_by_its_number(hospital: discreet.Curator) -> None:
    for text, cost in QUESTIONS[:7]:
        answer = hospital.query(text, **cost, fresh=True)
        spent = hospital.budget().spent
        again = hospital.recall(int(answer.receipt.partition(":")[0]))
        assert hospital.budget().spent == spent
        assert again.cached
        assert (again.rows, again.intervals, again.cost, again.receipt, again.confidence) == (
            answer.rows,
            answer.intervals,
            answer.cost,
            answer.receipt,
            answer.confidence,
        )


@pytest.mark.parametrize("number", [0, -1, 1, 10**6, 2**70, True, "3", None])
def test_numbers_without_an_answer_are_refused(hospital: discreet.Curator, number: Any) -> None:
    with pytest.raises(discreet.Refused, match="unknown-answer"):
        hospital.recall(number)


def test_an_answer_of_another_policy_says_so(tmp_path: Path) -> None:
    policy = build(tmp_path)
    with discreet.open(policy) as curator:
        answer = curator.query("SELECT SUM(age) AS s FROM patients", epsilon=0.1)
        number = curator.entries()[0].number
    policy.write_text(policy.read_text(encoding="utf-8").replace("max = 120", "max = 110"), encoding="utf-8")
    with discreet.open(policy) as changed:
        recalled = changed.recall(number)
        assert isinstance(recalled, discreet.Answer)
        assert (recalled.rows, recalled.earlier) == (answer.rows, True)
        assert wire.answer_read(sent(wire.answer_written(recalled))) == recalled


@pytest.mark.parametrize("kind", [*documents.SENT, documents.Anything])
def test_types_are_known_before_threads_decode_into_them(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads whose first answers came at once ended a client's process with a segmentation fault: msgspec makes
    what it knows of a type when it first decodes into it, and shows it to others half made."""

    def later(*_: Any, **__: Any) -> None:
        pytest.fail("a type is looked at when a body is decoded")

    monkeypatch.setattr(msgspec.json, "decode", later)
    monkeypatch.setattr(msgspec.json, "Decoder", later)
    with pytest.raises(ValueError, match="not of discreet's form"):
        documents.decoded(b"[]", kind)
