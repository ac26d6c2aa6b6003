"""Reports on disk, in DuckDB: which there are, and how often; not whose, not when, not in which order.

Stored are the bytes of reports, each question's for itself; random numbers of submissions, so that one that arrives
twice counts once; digests of invitations, and which submission used each. Nothing leads from a submission to its
reports but the order in which rows were written. So the file is rewritten with all rows sorted: when it is opened, when
it is closed, on the first report of a day, and whenever it has grown by a tenth. What was written since then is in
the order of arrival, until the next time; so is the log of a process that was killed, until the file is opened again.

A submission is acknowledged after its transaction: a killed process loses none.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import duckdb

from discreet.collector.survey import Survey
from discreet.engines.connection import connect, total_memory
from discreet.errors import Refused
from discreet.files import flush
from discreet.noise import SYSTEM

SCHEMA: Final = {
    "survey": "fingerprint VARCHAR, title VARCHAR",
    "reports": "question VARCHAR, report BLOB",
    "submissions": "number BLOB PRIMARY KEY",
    "invitations": "digest BLOB PRIMARY KEY, submission BLOB",
    "refused": "reason VARCHAR PRIMARY KEY, count BIGINT",
}
LEAST_GROWTH: Final = 1000
"""Reports after which rows are sorted again, however few there are."""
NUMBER_BYTES: Final = 16
"""Of a submission's random number."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What one person sends: a report for each question, in the survey's order."""

    number: bytes
    reports: Mapping[str, bytes]
    invitation: str | None = None


class Store:
    """The reports of one survey in one file. Threads may share it; processes may not."""

    def __init__(self, path: Path, survey: Survey, *, today: Any = None) -> None:
        self._path, self._survey = path, survey
        self._today = today or (lambda: datetime.now(UTC).date())
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()
        self._closed = False
        self._connection = _connected(path)
        try:
            self._demand_same()
            self._sort()
        except BaseException:
            self._connection.close()
            raise

    # what there is

    def count(self) -> int:
        """Of submissions."""
        return int(self._value("SELECT COUNT(*) FROM submissions"))

    def reports(self, question: str) -> list[bytes]:
        with self._lock:
            rows = self._connection.execute("SELECT report FROM reports WHERE question = ?", [question]).fetchall()
        return [row[0] for row in rows]

    def invitations(self) -> tuple[int, int]:
        """How many there are, and how many were used."""
        return int(self._value("SELECT COUNT(*) FROM invitations")), int(
            self._value("SELECT COUNT(submission) FROM invitations")
        )

    def refused(self) -> dict[str, int]:
        """How many submissions were refused, by the code of the refusal."""
        with self._lock:
            stored = dict(self._connection.execute("SELECT reason, count FROM refused").fetchall())
            return dict(sorted((Counter(stored) + self._refused).items()))

    # what is added

    def add(self, submissions: Sequence[Submission]) -> list[bool | Refused]:
        """Store them, in one transaction: they are on disk when this returns.

        For each: False where it was stored before, and counts once; or why it is refused.
        """
        with self._lock:
            self._sort_if_due()
            self._connection.execute("BEGIN")
            try:
                outcomes = self._outcomes(submissions)
                self._write([each for each, outcome in zip(submissions, outcomes, strict=True) if outcome is True])
                self._write_refused()
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(duckdb.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._refused.clear()
            self._grown += outcomes.count(True)
            return outcomes

    def refuse(self, reason: str) -> None:
        """Count a refusal. It is written with the next submission, or at the end: nobody can make us write."""
        with self._lock:
            self._refused[reason] += 1

    def invite(self, count: int) -> list[str]:
        """New invitations, of which digests are stored."""
        made = [SYSTEM.bytes(16).hex() for _ in range(count)]
        with self._lock:
            rows = sorted([digest(text)] for text in made)
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT INTO invitations VALUES (?, NULL)", rows)
            self._connection.execute("COMMIT")
        return made

    def close(self) -> None:
        """Sort it once more. To close it again does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._write_refused()
                self._sort()
            finally:
                self._connection.close()

    def _outcomes(self, submissions: Sequence[Submission]) -> list[bool | Refused]:
        """Which of them are new, one after the other."""
        known = self._among("SELECT number, true FROM submissions WHERE number", [each.number for each in submissions])
        hidden = [digest(each.invitation or "") for each in submissions] if self._survey.invitations else []
        used = self._among("SELECT digest, submission FROM invitations WHERE digest", hidden)
        outcomes: list[bool | Refused] = []
        for index, each in enumerate(submissions):
            refusal = _uninvited(used, hidden[index]) if hidden else None
            outcome = False if each.number in known else refusal or True
            if outcome is True:
                known[each.number] = True
                used.update({hidden[index]: each.number} if hidden else {})
            outcomes.append(outcome)
        return outcomes

    def _among(self, query: str, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Rows of these keys, in one query: DuckDB takes as long for one as for hundreds."""
        if not keys:
            return {}
        return dict(self._connection.execute(f"{query} IN ({', '.join('?' * len(keys))})", list(keys)).fetchall())

    def _write(self, submissions: Sequence[Submission]) -> None:
        reports = [(q.id, each.reports[q.id]) for q in self._survey.questions for each in submissions]
        self._insert("submissions", [(each.number,) for each in submissions])
        self._insert("reports", reports)
        if self._survey.invitations:
            update = "UPDATE invitations SET submission = ? WHERE digest = ?"
            for each in submissions:
                self._connection.execute(update, [each.number, digest(each.invitation or "")])

    def _insert(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            row = f"({', '.join('?' * len(rows[0]))})"
            values = [value for each in rows for value in each]
            self._connection.execute(f"INSERT INTO {name} VALUES {', '.join([row] * len(rows))}", values)

    def _write_refused(self) -> None:
        upsert = "INSERT INTO refused VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
        for reason, count in self._refused.items():
            self._connection.execute(upsert, [reason, count])

    # order

    def _sort_if_due(self) -> None:
        if self._sorted_on != self._today() or self._grown > max(LEAST_GROWTH, self._sorted // 10):
            self._sort()

    def _sort(self) -> None:
        """Rewrite the file, every table in the order of its bytes. Whenever it stops, one whole file is there."""
        fresh = self._path.with_name(f".{self._path.name}.sorting")
        self._connection.execute("DETACH DATABASE IF EXISTS sorted")  # of one that failed
        _remove(fresh)
        self._connection.execute(f"ATTACH {_quoted(fresh)} AS sorted")
        for name, columns in SCHEMA.items():
            self._connection.execute(f"CREATE TABLE sorted.{name} ({columns})")
            self._connection.execute(f"INSERT INTO sorted.{name} SELECT * FROM {name} ORDER BY ALL")
        self._connection.execute("CHECKPOINT sorted")
        self._connection.execute("DETACH sorted")
        self._connection.close()
        if not _log(self._path).exists() and not _log(fresh).exists():  # else the old file is more than it seems
            os.chmod(fresh, 0o600)
            flush(fresh)
            os.replace(fresh, self._path)
            flush(self._path.parent)
        _remove(fresh)
        self._connection = _connected(self._path)
        self._sorted, self._grown = int(self._one("SELECT COUNT(*) FROM submissions")), 0
        self._sorted_on: date = self._today()

    def _demand_same(self) -> None:
        """Raise if the file has reports of another survey."""
        for name, columns in SCHEMA.items():
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        known = self._connection.execute("SELECT fingerprint, title FROM survey").fetchall()
        if not known:
            row = [self._survey.fingerprint, self._survey.title]
            self._connection.execute("INSERT INTO survey VALUES (?, ?)", row)
        elif known[0][0] != self._survey.fingerprint:
            raise Refused(
                "survey-database",
                f"{self._path.name} has reports of another version of this survey, or of another one",
                "name a new file with --database, or undo the change",
            )

    def _value(self, query: str) -> Any:
        with self._lock:
            return self._one(query)

    def _one(self, query: str, *values: Any) -> Any:
        rows = self._connection.execute(query, list(values)).fetchall()
        return rows[0][0]


def _uninvited(used: Mapping[bytes, bytes | None], hidden: bytes) -> Refused | None:
    if hidden not in used:
        return Refused("invitation", "the invitation is missing or unknown", "open the link that you were sent")
    if used[hidden] is not None:
        return Refused("invitation", "this invitation was used already", "each one counts once; ask for another")
    return None


def digest(text: str) -> bytes:
    """What is stored of an invitation. It has 128 random bits: one round is enough."""
    return hashlib.sha256(text.encode()).digest()


def _connected(path: Path) -> duckdb.DuckDBPyConnection:
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                _open(path).close()
                os.chmod(path, 0o600)
        return _open(path)
    except (duckdb.Error, OSError) as wrong:
        reason = "another process uses it" if "lock" in str(wrong).lower() else "it cannot be opened"
        raise Refused(
            "survey-database", f"{path.name}: {reason}", "stop the other process, or name another --database"
        ) from None


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    """With all memory there is for engines: nothing else runs here, and nothing is spilled."""
    return connect(path, memory_limit=f"{total_memory()}B")


def _remove(path: Path) -> None:
    for each in (path, _log(path)):
        each.unlink(missing_ok=True)


def _log(path: Path) -> Path:
    """DuckDB's write-ahead log."""
    return path.with_name(f"{path.name}.wal")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
