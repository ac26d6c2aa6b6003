"""Talking to the shell through a pseudo-terminal, as somebody at a keyboard does."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Self

import pexpect

from tests.cli.runs import PROGRAM

PATIENCE = 300
PAUSE = 0.05
"""Seconds between two looks at a shell that has nothing to do."""
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|[\x07\x08]")


class Conversation:
    """The shell in a terminal of 120 columns."""

    def __init__(self, policy: Path, *args: str, prelude: str = "") -> None:
        # what cannot move the cursor back answers no question about where it is
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"}
        self.child = pexpect.spawn(
            sys.executable,
            ["-c", prelude + PROGRAM, "shell", str(policy), *args],
            env=environment,
            encoding="utf-8",
            timeout=PATIENCE,
            dimensions=(50, 120),
            cwd=str(policy.parent),
        )
        self.greeting = self.until(">")

    def say(self, text: str, until: str = "used>") -> str:
        """Type something; what is on the screen once that which is waited for is there and nothing more comes."""
        self.child.send(text)
        return self.until(until)

    def until(self, wanted: str) -> str:
        """Everything that is shown, without what steers the terminal, until something is and nothing follows."""
        shown, looks, deadline = "", 0, time.monotonic() + PATIENCE
        while looks < 2 or wanted not in shown:
            self.child.expect([r"[\s\S]+", pexpect.TIMEOUT, pexpect.EOF], timeout=PAUSE)
            if self.child.after is pexpect.EOF:
                raise AssertionError(f"it ended: {shown}")
            if self.child.after is pexpect.TIMEOUT:
                looks = looks + 1 if self._sleeps() else 0
                assert time.monotonic() < deadline, f"{wanted!r} never came: {shown}"
            else:
                looks, shown = 0, shown + _CONTROLS.sub("", str(self.child.after))
        return shown

    def _sleeps(self) -> bool:
        """Whether no thread of the shell has anything to do: on a busy machine one that has waits for its turn."""
        try:
            tasks = Path("/proc", str(self.child.pid)).glob("task/*/stat")
            stats = [task.read_text(encoding="utf-8") for task in tasks]
        except OSError:  # one has just ended
            return False
        return all(stat.rpartition(")")[2].split()[0] == "S" for stat in stats)

    def ends(self, text: str = "\x04") -> int:
        """Type something that ends it; the exit code."""
        self.child.send(text)
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.signalstatus is None
        return int(self.child.exitstatus or 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close(force=True)
