"""Attacks on streams: one unit, or what it does in one block, is not seen in blocks, failures, ranks or answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.audit.neighbours import Data, neighbours
from discreet.audit.replay import Replay, every_key
from discreet.audit.worlds import searched
from discreet.curator.streams import refresh_streams
from discreet.engines import arrivals, memory
from discreet.engines.arrivals import segments
from discreet.engines.copy import ranked
from discreet.engines.frozen import names
from discreet.engines.session import Session
from discreet.engines.text import reading_parquet
from discreet.errors import Refused
from discreet.learn import CategoricalNB
from discreet.ledger import Ledger
from discreet.policy import Policy, read
from tests.curator.streams import Ride, add, day, opened, policy, rides, world
from tests.plain import plain

KINDS = ["unit-day", "row", "unit in days", "unit"]
QUESTIONS = [
    "SELECT zone, COUNT(*) AS n, SUM(fare) AS total FROM rides GROUP BY zone",
    "SELECT COUNT(DISTINCT rider_id) AS riders FROM rides WHERE fare < 20",
    "SELECT note, COUNT(*) AS n FROM rides GROUP BY note",
    "SELECT zone, day >= DATE '2024-06-01' AS late, COUNT(*) AS n FROM rides GROUP BY zone, late",
    "SELECT COUNT(*) AS n FROM rides AS a JOIN rides AS b ON a.rider_id = b.rider_id WHERE a.fare > b.fare",
    "SELECT AVG(n) AS mean FROM (SELECT rider_id, CLAMP(COUNT(*), 0, 3) AS n FROM rides GROUP BY rider_id)",
]


def held(*given: Ride) -> Data:
    columns = ("rider_id", "day", "fare", "zone", "note")
    return {"rides": [dict(zip(columns, (*ride, "x")[:5], strict=True)) for ride in given], "zones": []}


MIXED = held(
    *[("ann", day(1), fare, zone) for fare in (1, 49) for zone in ("north", "south")],
    *[("ann", day(9), fare, "south", f"note {fare}") for fare in (2, 30)],
    ("ann", "2024-12-31", 50, "north"), ("ann", None, 3, "north"), ("ann", "2023-12-31", 4, "north"),
    ("bob", day(1), 5, "north"), ("bob", day(9), 6, "south"), (None, day(1), 7, "north"),
)  # fmt: skip
"""Ann rides on three days, more often than counts, and at no time or outside of the calendar."""


def asked(kind: str) -> list[str]:
    return [sql for sql in QUESTIONS if kind != "row" or "rider_id" not in sql]


def report(found: Policy, data: Data, others: list[Data], questions: list[Any]) -> list[str]:
    """What replay has to say against them."""
    with Replay(found, selects=every_key) as auditor:
        reports = []
        for question in questions:
            cost: dict[str, Any] = {"epsilon": 0.1} if isinstance(question, str) else {}
            reports += list(auditor.compare_each(question, data, others, **cost))
    assert not any(each.refusal for each in reports)
    return [str(each) for each in reports if not each.same]


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_told_apart_by_nothing_but_noise(kind: str) -> None:
    """In one pair of unit and block, in a unit over all blocks, or in one row: as the policy says."""
    found = policy(kind, delta=True)
    others = list(neighbours(found, MIXED))
    assert len(others) == {"row": 12, "unit-day": 5}.get(kind, 2)
    sql = "SELECT zone, fare > 10 AS dear FROM rides"
    task = CategoricalNB().task(sql, target="dear", epsilon=0.1, fresh=True)
    assert report(found, MIXED, others, [*asked(kind), task]) == []


@pytest.mark.parametrize("kind", ["unit-day", "unit in days"])
def test_invented_units_are_told_apart_by_nothing_but_noise(kind: str) -> None:
    found = policy(kind, delta=True)
    for pair in itertools.islice(searched(found), 4):
        assert report(found, pair.data, [pair.neighbour], asked(kind)[:3]) == [], pair.what


def all_blocks(rows: str, *_: object) -> str:
    return f"SELECT *, 0 AS _discreet_before FROM ({rows})"


@pytest.mark.parametrize(
    ("kind", "function", "wrong"),
    [
        ("unit-day", "pairs", all_blocks),  # bounds of the unit, where a unit in one block comes and goes
        ("unit in days", "ranked", None),  # rows ranked block by block
    ],
)
def test_a_stream_that_bounds_something_else_is_caught(
    kind: str, function: str, wrong: Callable[..., str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same audit, over engines that are wrong on purpose."""
    if wrong is None:

        def wrong(rows: str, *given: Any) -> str:
            return ranked(rows, *given).replace(
                'PARTITION BY "_discreet_unit" ORDER BY', 'PARTITION BY "_discreet_unit", "_discreet_block" ORDER BY'
            )

    monkeypatch.setattr(memory, function, wrong)
    found = policy(kind, delta=True)
    data = held(*[("ann", day(1), 50, "north")] * 3, *[("ann", day(9), 50, "south")] * 3)
    assert report(found, data, list(neighbours(found, data)), asked(kind)[:1])


class Files:
    """The same stream twice, with and without somebody."""

    def __init__(self, folder: Path, kind: str, secret: str = "00" * 32) -> None:
        self.folder = folder
        self.policy = read(world(folder, kind))
        self.policy.state.mkdir(mode=0o700)
        (self.policy.state / "secret").write_text(secret)

    def rows(self, who: str) -> list[tuple[Any, ...]]:
        """All rows of everybody else, with blocks and ranks."""
        table = self.policy.tables["rides"]
        files = [str(path) for path in segments(self.policy, table, names(self.policy, table))]
        with plain() as connection:
            rows = connection.execute(f"SELECT * FROM {reading_parquet(files)} ORDER BY ALL").fetchall()
        return [row for row in rows if not any(str(value).rpartition(":")[2] == who for value in row)]


HOSTILE: list[list[Ride]] = [
    [("eve", day(1 + n % 4), n % 50, "north", f"eve {n}") for n in range(40)] + [("eve", "9999-12-31", 1, "north")],
    [("eve", "", 1, "north"), ("eve", day(1), 2, "south"), ("eve", "2024-12-30", 3, "south"), ("eve", "x", 4, "?")],
    [("eve", day(5), "1e999", 'no"rth'), ("eve", day(6), "", ""), ("eve", "0001-01-01", 1, "north")],
]
"""Too many, too late, too early, at no time, and broken."""


@pytest.mark.parametrize("kind", ["unit-day", "unit in days", "unit"])
def test_a_refresh_without_somebody_makes_the_same_blocks(tmp_path: Path, kind: str) -> None:
    """The same numbers, labels and failures, and of everybody else the same rows with the same ranks."""
    seen = []
    for name in ("with", "without"):
        files = Files(tmp_path / name, kind)
        with opened(files.folder / "rides.toml") as curator:
            public = []
            for step, hostile in enumerate(HOSTILE):
                mine = hostile if name == "with" else []
                add(files.folder, str(step), [*rides(4, 2 + step)[-16:], *mine])
                refresh_streams(files.policy, curator._ledger, day(3 + 2 * step))
                standing = curator._ledger.stream("rides")
                public.append((standing.labels, standing.retired, standing.lines))
            previews = [curator.preview(sql, epsilon=0.1, blocks="all").to_dict() for sql in QUESTIONS[:2]]
        seen.append((public, previews, files.rows("eve")))
    assert seen[0] == seen[1]
    assert seen[0][2]


def test_previews_and_refusals_read_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs follow from text, policy and ledger: no file of a block is opened, no query run."""
    path = world(tmp_path)
    add(tmp_path, "a", rides())
    with opened(path) as curator:
        curator.refresh(day(4))

        def fail(*_: object, **__: object) -> None:
            raise AssertionError("something was read")

        monkeypatch.setattr(arrivals, "segments", fail)
        monkeypatch.setattr(Session, "rows", fail)
        for blocks in ("newest 1", "all", [0, 2]):
            assert not curator.preview(QUESTIONS[0], epsilon=0.1, blocks=blocks).loss.is_zero
            curator.query(f"EXPLAIN PRIVACY {QUESTIONS[0]}", epsilon=0.1, blocks=blocks)
        for wrong in (None, "2025", [99]):
            with pytest.raises(Exception, match=r"blocks-missing|unknown-block"):
                curator.query(QUESTIONS[0], epsilon=0.1, blocks=wrong)


def test_a_refresh_that_a_value_stops_opens_nothing(tmp_path: Path) -> None:
    """The ledger knows of a block when its rows are on disk, and never before."""
    path = world(tmp_path)
    with opened(path) as curator:
        lines = [
            "rider_id,day,fare,zone,note",
            'ann,2024-01-01,1,north,"x',
            "bob,2024-01-01,1,north,x",
            'cat,2024-01-01,1,north,y"',
        ]
        (tmp_path / "rides" / "a.csv").write_text("\n".join([*lines, ""]))
        with pytest.raises(Exception, match="one record if a quoted value holds line breaks"):
            curator.refresh(day(4))
        assert curator._ledger.stream("rides").count == 0
        assert not names(curator.policy, curator.policy.tables["rides"])


def test_blocks_are_opened_by_the_clock_and_not_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of tomorrow are there already, and are nobody's to ask about."""
    opened_blocks: list[str] = []

    def noted(_ledger: Ledger, _stream: str, blocks: list[tuple[str, str]]) -> None:
        opened_blocks.extend(label for _, label in blocks)

    monkeypatch.setattr(Ledger, "open_blocks", noted)
    found = read(world(tmp_path))
    add(tmp_path, "a", rides(3, 9))
    with opened(found.path) as curator:
        refresh_streams(found, curator._ledger, datetime(2024, 1, 3, 23, 59, 59))
    assert opened_blocks == [day(1), day(2)]


def test_what_is_refused_opens_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block in which somebody rode has one file more than an empty one, and refusals can be timed for nothing."""
    path = world(tmp_path)
    add(tmp_path, "first", rides())
    with opened(path) as curator:
        curator.refresh(until=day(5))
        looked: list[Any] = []

        def found(*given: Any) -> list[Path]:
            looked.append(given)
            return segments(*given)

        monkeypatch.setattr(arrivals, "segments", found)
        for blocks in ("newest 1", "newest 2", [0], "all"):
            with pytest.raises(Refused) as refused:
                curator.query("SELECT COUNT(*) AS n FROM rides", epsilon=1.5, blocks=blocks)
            assert refused.value.code in ("budget-exhausted", "cost-invalid")
        assert not looked
        curator.query("SELECT COUNT(*) AS n FROM rides", epsilon=0.5, blocks=[0])
        assert len(looked) == 1
