"""Programs of tests in processes of their own, forked from one that has imported what they need.

A server starts in a tenth of a second of the processor instead of one and a half. That nothing is missing in a process
that begins with nothing is tested where people's commands are: `tests/cli`, `tests/server/test_starting.py`.
"""

from __future__ import annotations

import atexit
import os
import runpy
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from typing import Any, Final, TextIO

PRELOADED: Final = [
    *("discreet.cli.serve", "discreet.cli.collect", "discreet.collector.app", "discreet.opening"),
    *("discreet.server.app", "discreet.server.front", "discreet.server.wire.serving"),
    *("discreet.curator.refreshing", "discreet.engines.duckdb", "discreet.noise.samplers", "duckdb"),
    *("pytest", "tests.server.running", "uvicorn", "discreet.preloaded", "altair"),
]


CODE: Final = "-c"
"""The program that is the first of its arguments."""


@dataclass(frozen=True, slots=True)
class Forked:
    """As a `subprocess.Popen` whose errors are read, and what it prints, where somebody wants that."""

    process: ForkServerProcess
    stderr: TextIO
    stdout: TextIO | None = None

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if (ended := self.process.exitcode) is None:
            raise subprocess.TimeoutExpired(str(self.process), timeout or 0)
        return ended

    def send_signal(self, number: int) -> None:
        if self.process.pid is not None and self.poll() is None:
            os.kill(self.process.pid, number)

    def terminate(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()

    def communicate(self, timeout: float) -> tuple[str, str]:
        """All that it prints and all that it complains of, until it ends; after so many seconds it is killed."""
        complained: list[str] = []
        reading = threading.Thread(target=lambda: complained.append(self.stderr.read()))
        patience = threading.Timer(timeout, self.kill)
        patience.start()
        reading.start()
        try:
            with self.stderr, self.stdout or nullcontext() as printing:
                said = "" if printing is None else printing.read()
                reading.join()
            self.wait(timeout)
        finally:
            patience.cancel()
        return said, complained[0]


def _run(
    program: str, arguments: list[str], environment: Mapping[str, str], folder: str, errors: Any, printed: Any
) -> None:
    if printed is None:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
    else:
        os.dup2(printed.detach(), 1)
    os.dup2(errors.detach(), 2)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # until the process ends
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    warnings.resetwarnings()
    warnings.simplefilter("default")
    try:
        if program == CODE:
            code, *sys.argv[1:] = arguments
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = [program, *arguments]
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # which processes of multiprocessing leave out


class Pipe:
    """Where a process writes its errors, or what it prints: sent with it, as a descriptor of its own."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return _received, (DupFd(self.descriptor),)


def _received(sent: Any) -> Any:
    return sent


def forked(program: str, *arguments: str, environment: Mapping[str, str], printed: bool = False) -> Forked:
    """`python -m program arguments…`, or `python -c code arguments…`, here and now.

    What it prints is lost, unless it is asked for.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    pipes = [os.pipe() for _ in range(1 + printed)]
    ends = [Pipe(write) for _, write in pipes]
    given = (program, list(arguments), dict(environment), os.getcwd(), ends[0], ends[1] if printed else None)
    try:
        process = context.Process(target=_run, args=given, daemon=True)
        process.start()
    finally:
        for _, write in pipes:
            os.close(write)
    return Forked(process, *(os.fdopen(read, encoding="utf-8", errors="replace") for read, _ in pipes))
