"""What may be erased of a journal, and how its chain still verifies.

Texts of questions, and answers, have a time after which they go; what was charged, when, to whom and of which data
stays, and so does every sum. A record that is erased is written anew without what goes, under its old hash:

    charge   without question, call, key, request, salt; without plan once its answer is gone too. The name of a part
             becomes a number, in all records of its partition together, once no charge will ever be added to it and
             the text of each is gone: whether two charges are about the same part is what their losses follow from.
    answer   its charge, under another key, so that nobody finds it; neither answer nor digest, plan or salt.
    totals   with numbers for the parts whose names are gone.

A last record (`erased`) has the digests of all lines that were written anew.

Theorem  Whoever changes a record, erased or not, is found out by whoever reads it, unless they can also rewrite the
         chain from there on; that is what receipts and high-water marks are against.
Proof    A line that does not give its hash is refused, unless it says that it was erased and a later record, which the
         chain covers, has its digest (`State.unproven`).

Theorem  What was erased cannot be confirmed by guessing, from what is left.
Proof    The hash of a charge, and of an answer, is over 64 random bits (`salt`) that go with it. Answers of before they
         had a salt can be: who guesses all noisy numbers of one can compare the hash. They are what was released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from discreet.ledger.codec import Record, decode, encode
from discreet.ledger.store import Row

TEXT: Final = ("question", "call", "key", "request", "salt")
"""What goes with the text of a question."""
QUESTION, PLAN, PART, ANSWER = "question", "plan", "part", "answer"
"""What a record says of itself that it has no longer."""

LATEST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Limits:
    """What is older than this is erased; None: nothing is."""

    questions: datetime | None
    answers: datetime | None
    now: datetime = LATEST

    @classmethod
    def before(cls, now: datetime, questions: timedelta | None, answers: timedelta | None) -> Limits:
        texts, noisy = (None if span is None else now - span for span in (questions, answers))
        return cls(texts, noisy, now)


@dataclass(frozen=True, slots=True)
class Retained:
    """What was erased, and whether it is gone from the disk."""

    questions: int = 0
    answers: int = 0
    gone: bool = True
    """Whether no page, free or in use, holds it any more; not, while somebody else reads the ledger."""
    left: tuple[str, ...] = ()
    """Files beside the ledger that may hold what was erased: earlier ledgers, and copies of one."""
    records: int = 0
    """How many were written anew."""
    saved: int = 0
    """Saved queries that went."""

    def document(self) -> dict[str, object]:
        counts = {"questions": self.questions, "answers": self.answers, "saved": self.saved}
        return {**counts, "gone": self.gone, "left": list(self.left)}

    def __bool__(self) -> bool:
        """Whether anything was erased."""
        return bool(self.records or self.saved)


NOTHING: Final = Retained()


@dataclass
class Erasing:
    """Which records of a journal are written anew."""

    limits: Limits
    alive: frozenset[str]
    """Partitions to which charges may still be added."""
    records: dict[int, Record] = field(default_factory=dict)
    _lines: dict[int, str] = field(default_factory=dict)
    _times: Mapping[int, datetime] = field(default_factory=dict)
    unfiled: dict[int, str] = field(default_factory=dict)
    """Withdrawals that are found by no plan any more, and stay as they are."""

    @classmethod
    def of(cls, rows: Iterable[Row], limits: Limits, alive: Iterable[str]) -> Erasing:
        act = cls(limits, frozenset(alive))
        said: dict[int, datetime] = {}
        for number, line, _ in rows:
            record = decode(number, line)
            if record["kind"] == "charge":
                said[number] = datetime.fromisoformat(record["at"])
            if record["kind"] in ("charge", "answer", "totals"):
                act.records[number], act._lines[number] = record, line
        act._times = _times(said, limits.now)
        return act

    def lines(self) -> tuple[dict[int, str], int, int]:
        """The lines that are written anew, by number; how many texts and how many answers go."""
        questions = self._each("charge", self._without_text)
        answers = self._each("answer", self._without_answer)
        self._without_plans()
        for partition, numbers in self._partitions().items():
            self._numbered(partition, numbers)
        changed = {}
        for number, record in self.records.items():
            line = encode(record["kind"], {key: value for key, value in record.items() if key not in ("v", "kind")})
            if "erased" in record and line != self._lines[number]:
                changed[number] = line
        return changed, questions, answers

    def _each(self, kind: str, erased: Callable[[int, Record], Record | None]) -> int:
        new = {number: erased(number, record) for number, record in self.records.items() if record["kind"] == kind}
        done = {number: record for number, record in new.items() if record is not None}
        self.records |= done
        return len(done)

    def _is_older(self, number: int, limit: datetime | None) -> bool:
        return limit is not None and self._times[number] < limit

    def _without_text(self, number: int, charge: Record) -> Record | None:
        if not self._is_older(number, self.limits.questions) or QUESTION in charge.get("erased", ()):
            return None
        return _marked({key: value for key, value in charge.items() if key not in TEXT}, QUESTION)

    def _without_answer(self, _: int, answer: Record) -> Record | None:
        if "erased" in answer or "withdrawn" in answer or not self._is_older(answer["charge"], self.limits.answers):
            return None
        return {"kind": "answer", "v": answer["v"], "of": answer["charge"], "erased": [ANSWER]}

    def _without_plans(self) -> None:
        """A plan is a digest of the text: it goes when no answer is found by it any more."""
        answers = {number: record for number, record in self.records.items() if record["kind"] == "answer"}
        answered = {record.get("charge") for record in answers.values() if "withdrawn" not in record}
        for number, record in self.records.items():
            if record["kind"] == "charge" and QUESTION in record.get("erased", ()) and number not in answered:
                self.records[number] = _marked({**record, "plan": None}, PLAN)
        for number, record in answers.items():
            charge = self.records.get(record.get("charge", 0), {})
            if "withdrawn" in record and PLAN in charge.get("erased", ()):
                self.unfiled[number] = self._lines[number]

    def _partitions(self) -> dict[str, list[int]]:
        """The charges about parts of each partition that is over, if the text of each is gone."""
        about: dict[str, list[int]] = {}
        for number, record in self.records.items():
            if record["kind"] == "charge" and "portion" in record:
                about.setdefault(record["portion"]["partition"], []).append(number)
        first = {name for record in self.records.values() if record["v"] == 1 for name in record.get("portions", ())}
        return {
            partition: numbers
            for partition, numbers in about.items()
            if partition not in self.alive | first  # totals of version 1 cannot be written anew
            and all(QUESTION in self.records[number].get("erased", ()) for number in numbers)
            and not any(PART in self.records[number]["erased"] for number in numbers)
        }

    def _numbered(self, partition: str, numbers: list[int]) -> None:
        names: dict[str, str] = {}
        for number in numbers:
            portion = self.records[number]["portion"]
            part = names.setdefault(portion["part"], f"part {len(names) + 1}")
            self.records[number] = _marked({**self.records[number], "portion": {**portion, "part": part}}, PART)
        for number, record in self.records.items():
            portions = record.get("portions", {}) if record["kind"] == "totals" else {}
            if partition in portions:
                renamed = {**portions, partition: _renamed(portions[partition], names)}
                self.records[number] = _marked({**record, "portions": renamed}, PART)


def _renamed(held: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """The lines of a partition in totals."""
    lines = held["lines"]
    assert isinstance(lines, dict)
    return {**held, "lines": {names.get(part, part): amounts for part, amounts in lines.items()}}


def _marked(record: Record, what: str) -> Record:
    return {**record, "erased": sorted({*record.get("erased", ()), what})}


def _times(said: Mapping[int, datetime], now: datetime) -> dict[int, datetime]:
    """When charges were made, for all that is known: what they say themselves, and that one came after the other.

    A clock may have been behind: then a charge is as old as the newest one before it. Or it was ahead, so that a charge
    says what is still to come: then it is as old as the first one after it that does not.
    """
    times, newest = dict(said), datetime.min.replace(tzinfo=UTC)
    for number, moment in said.items():
        if moment <= now:
            times[number] = newest = max(newest, moment)
    following = now
    for number in reversed(times):
        times[number] = following = min(times[number], following)
    return times
