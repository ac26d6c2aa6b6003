"""The same rows for DuckDB, from a file, and for Spark, which chooses the same of them: exact answers are equal."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from discreet.curator.curator import Curator
from discreet.engines.spark.engine import Spark, UnansweredError
from discreet.engines.stopping import Stop, Stopped
from discreet.exit.sampler import Sampler
from discreet.policy import Policy, read
from tests.plain import plain
from tests.postgres.worlds import HEAD, table
from tests.sql import tiny
from tests.sql.worlds import ledger_of, quiet

COLUMNS: Final = (
    'ward = { values = ["A", "B", "C", "D"] }\ncost = { min = 0, max = 100, step = 0.5 }\nn = { type = "integer" }'
)
BOUNDS: Final = "max_rows = 5\nmax_groups = 2\nmax_rows_per_group = 3"
TEXTS: Final = (
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward ORDER BY ward",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 10 GROUP BY ward ORDER BY ward",
)


def pair(folder: Path, source: str) -> tuple[Policy, Policy]:
    """A policy for each, with one secret: of every unit there are more rows and groups than may count."""
    place = folder / "rows"
    place.mkdir()
    shown = "'p' || i % 9 AS person, chr((65 + i * i % 4)::INTEGER) AS ward, i * 0.37 AS cost, 2::BIGINT ** 60 + i AS n"
    with plain() as connection:
        for part in range(3):
            rows = (
                f"SELECT {shown.replace('2::BIGINT ** 60', '1152921504606846976')} FROM range({part}, 240, 3) AS t(i)"
            )
            connection.execute(f"COPY ({rows}) TO '{place}/{part}.parquet' (FORMAT parquet)")
    policies = []
    for label, head, where in (("here", "", "rows/*.parquet"), ("there", 'engine = "spark"\n', source)):
        lines = table(where, str(place), COLUMNS, more=BOUNDS)
        if not head:
            lines = lines.replace(f"table = '{place}'\n", "")
        path = folder / f"{label}.toml"
        path.write_text(f'hash = "md5"\n{head}{HEAD}{lines}', encoding="utf-8")
        policy = read(path)
        policy.state.mkdir(mode=0o700)
        (policy.state / "secret").write_text("5e" * 32, encoding="ascii")
        policies.append(policy)
    return policies[0], policies[1]


def exactly(policy: Policy, engine: Any = None, texts: Sequence[str] = TEXTS) -> list[Any]:
    """What queries answer without noise."""
    from discreet.engines.duckdb import DuckDB

    held = engine or DuckDB(policy, 1)
    with ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=held, sampler=Sampler(quiet, tiny.every, tiny.best))
        return [curator.query(text, epsilon=0.1, fresh=True).rows for text in texts]


def stopped(engine: Spark, text: str, tracker: Any) -> None:
    """Ask what never ends, and stop it once Spark is at it: whoever asks hears so, and Spark ends it."""
    stop, ended = Stop(), []

    def ask() -> None:
        with stop:
            try:
                engine._asked_there(text, None)
            except (Stopped, UnansweredError) as error:
                ended.append(type(error).__name__)

    asking = threading.Thread(target=ask)
    asking.start()
    while not tracker.getActiveJobsIds() and asking.is_alive():
        asking.join(0.05)
    stop.now()
    asking.join()
    assert ended == ["Stopped"]
    while tracker.getActiveJobsIds():
        asking.join(0.05)
