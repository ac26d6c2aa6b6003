"""Talking to the shell through a pseudo-terminal, as somebody at a keyboard does."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Self

import pexpect

from tests.cli.runs import PROGRAM

PATIENCE = 300
PAUSE = 0.3
"""Seconds without output after which the shell waits for somebody."""
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

    def say(self, text: str, until: str = "left>") -> str:
        """Type something; what is on the screen once that which is waited for is there and nothing more comes."""
        self.child.send(text)
        return self.until(until)

    def until(self, wanted: str) -> str:
        """Everything that is shown, without what steers the terminal, until something is and nothing follows."""
        shown = ""
        while True:
            self.child.expect(
                [r"[\s\S]+", pexpect.TIMEOUT, pexpect.EOF], timeout=PAUSE if wanted in shown else PATIENCE
            )
            if self.child.after is pexpect.EOF:
                raise AssertionError(f"it ended: {shown}")
            if self.child.after is pexpect.TIMEOUT:
                assert wanted in shown, f"{wanted!r} never came: {shown}"
                return shown
            shown += _CONTROLS.sub("", str(self.child.after))

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
