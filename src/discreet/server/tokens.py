"""Tokens: who may ask a server what. Only their digests are stored.

A token is `discreet_<id>_<secret>`. The id is shown in lists and logs; the secret has 256 random bits, so that one
round of SHA-256 is enough to store it by. Digests are compared in constant time, also where there is no such id.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final

from discreet.curator.formats import demand_known
from discreet.ledger import LedgerError
from discreet.noise import SYSTEM
from discreet.policy import Policy

FILE: Final = "tokens.sqlite"
SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, digest TEXT NOT NULL, role TEXT NOT NULL, analyst TEXT, "
    "made TEXT NOT NULL, expires TEXT, revoked TEXT) STRICT"
)
FORM: Final = re.compile(r"discreet_([0-9a-f]{8})_([0-9a-f]{64})")
NOBODY: Final = "0" * 64


class Role(StrEnum):
    """What the holder of a token may do."""

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"

    @property
    def asks(self) -> bool:
        return self is not Role.AUDITOR

    @property
    def sees_everybody(self) -> bool:
        """Whether the whole ledger is open, not only one's own part of it."""
        return self is not Role.ANALYST


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is listed: without its secret."""

    id: str
    role: Role
    analyst: str | None
    made: datetime
    expires: datetime | None
    revoked: datetime | None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def state(self) -> str:
        """In one word, as of now."""
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.is_valid(datetime.now(UTC)) else "expired"


@dataclass(frozen=True, slots=True)
class Made:
    """A new token's text, for its holder. It is not stored: who loses it needs another."""

    text: str
    id: str
    digest: str

    @classmethod
    def new(cls) -> Made:
        name, secret = SYSTEM.bytes(4).hex(), SYSTEM.bytes(32).hex()
        return cls(f"discreet_{name}_{secret}", name, _digest(secret))


class Tokens:
    """The tokens of one policy. Many threads may share it; what other processes change is seen at once."""

    def __init__(self, path: Path | None) -> None:
        """In this file, or in memory."""
        self._path = path
        self._lock = threading.Lock()
        with _reported(path):
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(
                path or ":memory:", timeout=30, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")  # whoever writes does not hold up those who look
            self._connection.execute(SCHEMA)

    @classmethod
    def of(cls, policy: Policy) -> Tokens:
        demand_known(policy.state)
        return cls(policy.state / FILE)

    def add(self, made: Made, role: Role, analyst: str | None = None, expires: datetime | None = None) -> None:
        """Accept a token from now on."""
        row = (made.id, made.digest, str(role), analyst, _time(datetime.now(UTC)), _time(expires), None)
        self._run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def find(self, text: str) -> Token | None:
        """The token with this text, if it is one that is accepted now."""
        written = FORM.fullmatch(text)
        name, secret = written.groups() if written else ("", "")
        rows = self._run("SELECT * FROM tokens WHERE id = ?", name)
        stored = rows[0][1] if rows else NOBODY
        if not hmac.compare_digest(stored, _digest(secret)) or not rows:
            return None
        token = _token(rows[0])
        return token if token.is_valid(datetime.now(UTC)) else None

    def all(self) -> list[Token]:
        """Every token that was ever made, oldest first."""
        return [_token(row) for row in self._run("SELECT * FROM tokens ORDER BY made, id")]

    def revoke(self, name: str) -> Token | None:
        """Accept a token no longer; None if there is no such id, or it was revoked before."""
        rows = self._run(
            "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL RETURNING *",
            _time(datetime.now(UTC)),
            name,
        )
        return _token(rows[0]) if rows else None

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _run(self, statement: str, *values: str | None) -> list[tuple[str, ...]]:
        with self._lock, _reported(self._path):
            return self._connection.execute(statement, values).fetchall()


@contextmanager
def _reported(path: Path | None) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as wrong:
        raise LedgerError(f"could not use {path}: {wrong}", "check the state folder and its rights") from None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _time(when: datetime | None) -> str | None:
    return None if when is None else when.astimezone(UTC).isoformat(timespec="seconds")


@lru_cache(maxsize=1024)
def _token(row: tuple[str, ...]) -> Token:
    name, _, role, analyst, made, expires, revoked = row
    return Token(name, Role(role), analyst, datetime.fromisoformat(made), _when(expires), _when(revoked))


def _when(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
