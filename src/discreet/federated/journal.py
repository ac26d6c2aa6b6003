"""The journal of a training: which rounds began, and what came out of them. A round is on disk before it begins.

One line of JSON for each event, flushed before anything else happens:

    {"plan": …}                                  what was agreed; a training with another plan needs another file
    {"begun": 3}                                 from here on the round counts as spent
    {"done": 3, "weights": …, "clip": …, …}      its model; a round without it was given up
"""

from __future__ import annotations

import base64
import fcntl
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import Floats
from discreet.federated.plan import Plan

NEW: Final = "name a new file, or restore the plan"


class Journal:
    """An opened journal: one process at a time may hold it.

    Theorem  However often a coordinator is killed and started again, no more rounds begin than the plan has.
    Proof    `begin` writes the number of the round and flushes it before it returns; numbers only grow, and the next
             one is one above the last that was begun, done or not. A line that was cut off by a crash stands at the
             end, before its flush returned: what it was to allow has not happened.
    """

    def __init__(self, path: Path, plan: Plan, settings: dict[str, Any]) -> None:
        agreed = {"plan": asdict(plan), "settings": settings}
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise Refused(
                "training-invalid", f"another process trains with {path.name}", "wait, or name a new file"
            ) from None
        try:
            self.begun, self.done = self._read(path, agreed)
        except BaseException:
            os.close(self._file)
            raise

    def _read(self, path: Path, agreed: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        lines = path.read_bytes().split(b"\n")
        whole = sum(len(line) + 1 for line in lines[:-1])
        os.ftruncate(self._file, whole)  # a line that a crash cut off
        os.lseek(self._file, 0, os.SEEK_END)
        if whole == 0:
            self._write(agreed)
            return 0, None
        try:
            first, *events = [msgspec.json.decode(line, type=dict[str, Any]) for line in lines[:-1]]
        except msgspec.DecodeError:
            raise Refused("training-invalid", f"{path.name} is no journal of a training", NEW) from None
        if first != msgspec.json.decode(msgspec.json.encode(agreed)):
            raise Refused("training-invalid", f"{path.name} is the journal of another plan", NEW)
        begun = max((event["begun"] for event in events if "begun" in event), default=0)
        return begun, next((event for event in reversed(events) if "done" in event), None)

    def begin(self, number: int) -> None:
        """The round counts as spent from here on."""
        if number != self.begun + 1:
            raise ValueError("rounds begin one after the other")
        self._write({"begun": number})
        self.begun = number

    def finish(self, number: int, weights: Floats, clip: float, **facts: Any) -> None:
        self._write({"done": number, "weights": packed(weights), "clip": clip, **facts})

    def _write(self, event: dict[str, Any]) -> None:
        line = msgspec.json.encode(event) + b"\n"
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def packed(weights: Floats) -> str:
    """Floats as text, without rounding."""
    return base64.b64encode(weights.astype("<f8").tobytes()).decode("ascii")


def unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
