"""The log: one line of JSON for each event. Everything that discreet logs is written by `note`, and nothing elsewhere.

An event is a row of `EVENTS`, and what its line says are fields of `FIELDS`, each of a form that no question, answer,
value, token or password fits into; what does not fit its form is written as "?". Of an error that nobody foresaw there
is its kind and the places it passed, never its message: that may repeat a row.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

DESTINATION: Final = "DISCREET_LOG"
"""The variable that says where commands log: a file, or - for standard error. Without it they do not."""
UNFIT: Final = "?"
SHORTEST: Final = 32
SECRET: Final = re.compile(f"[0-9a-f]{{{SHORTEST}}}")
"""What tokens, keys and digests look like; nothing that is logged does."""
MAX_FRAMES: Final = 12
ACCESS, SERVER, COMMAND = "discreet.access", "discreet.server", "discreet.command"
LOGGERS: Final = {ACCESS: logging.INFO, SERVER: logging.INFO, COMMAND: logging.INFO}


def _has_secret(value: str) -> bool:
    """What is shorter than one has none."""
    return len(value) >= SHORTEST and SECRET.search(value) is not None


def _text(form: str) -> Callable[[object], bool]:
    written = re.compile(form)
    return lambda value: isinstance(value, str) and written.fullmatch(value) is not None and not _has_secret(value)


def _number(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _name(value: object) -> bool:
    """What an owner called something, in the policy."""
    return isinstance(value, str) and len(value) <= 200 and value.isprintable() and not _has_secret(value)


FIELDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "request": _text(r"[0-9a-f]{16}"),
    "method": _text(r"[A-Za-z]{2,7}"),
    "route": _text(r"/[A-Za-z0-9/_{}.-]{0,100}|[a-z]{1,20}"),
    "status": _number,
    "code": _text(r"[a-z0-9-]{0,60}"),
    "ms": _number,
    "token": _text(r"[0-9a-f]{8}|oidc-[0-9a-f]{16}"),
    "dataset": _name,
    "role": _text(r"owner|analyst|auditor"),
    "analyst": _name,
    "charge": _number,
    "cached": lambda value: isinstance(value, bool),
    "version": _text(r"[0-9a-z.+]{1,40}"),
    "data_version": _number,
    "records": _number,
    "sound": lambda value: isinstance(value, bool),
    "command": _text(r"[a-z -]{1,60}"),
    "exit": _number,
    "format": _number,
    "kind": _text(r"[A-Za-z_][A-Za-z0-9_.]{0,80}"),
}
"""What a line may say, and the form that it has."""


@dataclass(frozen=True, slots=True)
class Event:
    """Where an event goes, and how much it matters."""

    logger: str
    level: int = logging.INFO


EVENTS: Final[Mapping[str, Event]] = {
    "request": Event(ACCESS),
    "started": Event(SERVER),
    "stopping": Event(SERVER),
    "stopped": Event(SERVER),
    "policy-read": Event(SERVER),
    "policy-unusable": Event(SERVER, logging.WARNING),
    "answer-not-noted": Event(SERVER, logging.WARNING),
    "connections-exhausted": Event(SERVER, logging.ERROR),
    "sign-in": Event(SERVER),
    "sign-in-refused": Event(SERVER, logging.WARNING),
    "telemetry-failed": Event(SERVER, logging.WARNING),
    "ledger-failed": Event(SERVER, logging.ERROR),
    "unforeseen": Event(SERVER, logging.ERROR),
    "refreshed": Event(COMMAND),
    "upgraded": Event(COMMAND),
    "backed-up": Event(COMMAND),
    "backup-failed": Event(COMMAND, logging.ERROR),
    "command": Event(COMMAND),
}
"""All there are. Their names are stable: programs tell them apart by them."""


def note(event: str, words: str = "", *, error: BaseException | None = None, **facts: object) -> None:
    """Write a line. `words` say it to the owner, in a sentence of ours that holds nothing of a request or a row."""
    where = EVENTS[event]
    logger = logging.getLogger(where.logger)
    if logger.isEnabledFor(where.level):
        given = {name: value for name, value in facts.items() if value is not None}
        extra = {"discreet": (event, given, error)}
        record = logger.makeRecord(logger.name, where.level, "", 0, words or event, (), None, extra=extra)
        logger.handle(record)  # nobody looks for the line of code that it came from


class Lines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        event, facts, error = getattr(record, "discreet", ("unforeseen", {}, None))
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": event,
            **{name: value if FIELDS[name](value) else UNFIT for name, value in facts.items() if name in FIELDS},
        }
        words = record.getMessage() if hasattr(record, "discreet") else ""
        if words and words != event:
            line["words"] = words
        if error is not None:
            line |= {"kind": type(error).__name__, "frames": _frames(error)}
        return json.dumps(line)


def _frames(error: BaseException) -> list[str]:
    """Where an error came from: our files and lines, the innermost last. Of others only the names of their files."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]


def log_to(stream: TextIO, level: int = logging.INFO) -> None:
    """Write the log here from now on, and nowhere else."""
    for name in LOGGERS:
        handler = Quiet(stream)
        handler.setFormatter(Lines())
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [handler], False
        logger.setLevel(level)


class Quiet(logging.StreamHandler[TextIO]):
    """A log that cannot be written (a full disk) stops nobody: what counts is in the ledger."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  (logging's name)
        """Logging would write a traceback, with what was to be logged."""


@contextmanager
def commands_log() -> Iterator[bool]:
    """Within it commands log where `DISCREET_LOG` says; False if it says nothing."""
    target = os.environ.get(DESTINATION, "")
    if not target:
        yield False
    elif target == "-":
        log_to(sys.stderr)
        yield True
    else:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", buffering=1) as stream:
            log_to(stream)
            yield True
