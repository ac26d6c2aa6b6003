"""`discreet` with questions that last, and with little patience: for tests that need to be there in the middle."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from discreet.cli import main
from discreet.engines import connection as machine
from discreet.engines import session
from discreet.server import front
from tests.server.running import MARKS, PATIENCE

HEAVY = "SELECT COUNT(*) FROM range(1000000000000) WHERE hash(range) = 42"
real = session.rows


def rows(connection: Any, query: Any, seconds: float | None) -> list[tuple[Any, ...]]:
    query = getattr(query, "query", query)  # of what was parsed before
    if query.startswith("USE "):  # a rehearsal: over empty tables nothing lasts
        return real(connection, query, seconds)
    folder = Path(os.environ[MARKS])
    if "'held" in query or "'endless" in query:
        (folder / f"begun-{time.monotonic_ns()}").touch()
    while "'held" in query and not (folder / "go").exists():
        time.sleep(0.005)
    return real(connection, HEAVY if "'endless" in query else query, seconds)


if __name__ == "__main__":
    session.rows = rows
    front.PATIENCE = PATIENCE  # type: ignore[misc]
    machine._cores = lambda: 1  # what lasts needs no more
    main()
