"""Upgrades of a state folder that are killed at a call of C, before it or after it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.curator.formats import FORMAT, backup_of, stated, upgrade
from discreet.ledger import verify


def journal(path: Path) -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT number, line, hash, kept FROM journal ORDER BY number").fetchall()


def killed_at(folder: Path, point: int) -> bool:
    """An upgrade in a process that is killed at this call; whether it came so far."""
    child = os.fork()
    if child == 0:
        count = 0

        def profile(_: object, event: str, __: object) -> None:
            nonlocal count
            count += event in ("c_call", "c_return")
            if count > point:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            sys.setprofile(profile)
            upgrade(folder)
            sys.setprofile(None)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def checked(folder: Path, before: list[Any], tokens: list[Any]) -> int:
    """The folder after a kill: nothing is lost, and the next one finishes it. The format that was stated."""
    number = stated(folder).number
    assert number in (0, FORMAT), number
    assert journal(folder / "ledger.sqlite") == before
    if number == FORMAT:
        assert backup_of(folder, FORMAT).exists(), "the copy comes first"
    upgrade(folder)
    assert stated(folder).number == FORMAT
    for path in (folder / "ledger.sqlite", backup_of(folder, FORMAT)):
        assert verify(path).problems == ()
        assert journal(path) == before
    with closing(sqlite3.connect(folder / "tokens.sqlite")) as connection:
        assert connection.execute("SELECT * FROM tokens").fetchall() == tokens
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    return number


def main(source: Path, work: Path, most: int) -> dict[str, Any]:
    """Kills at so many points, spread over all of them."""
    before = journal(source / "ledger.sqlite")
    with closing(sqlite3.connect(source / "tokens.sqlite")) as connection:
        tokens = connection.execute("SELECT * FROM tokens").fetchall()
    last = 1
    while killed_at(_copied(source, work), last):
        last *= 2
    points = sorted({last * number // most for number in range(most)})
    kills = 0
    formats = set()
    for point in points:
        folder = _copied(source, work)
        kills += killed_at(folder, point)
        formats.add(checked(folder, before, tokens))
    return {"kills": kills, "points": len(points), "calls": last, "formats": sorted(formats)}


def _copied(source: Path, work: Path) -> Path:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(source, work)
    return work


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
