"""A stream of rides on disk: its policy in some variants, and files that are added to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.curator.curator import Curator
from discreet.curator.state import open_ledger
from discreet.exit import Sampler
from discreet.opening import MAKERS, RECALLS
from discreet.policy import Policy, parse, read

HEAD = """\
name = "rides"
[budget]
epsilon = {epsilon}
{delta}
[unit]
name = "rider"
[tables.rides]
source = "{source}"
unit = "{unit}"
max_rows = {rows}
[tables.rides.columns]
day = {{ type = "date", min = 2024-01-01, max = 2024-12-31 }}
fare = {{ min = 0, max = 50, step = 0.5 }}
zone = {{ values = ["north", "south"] }}
note = {{ type = "text" }}
[tables.zones]
source = "zones.csv"
public = true
[tables.zones.columns]
zone = {{ values = ["north", "south"] }}
area = {{ type = "integer", min = 0, max = 100 }}
[tables.rides.stream]
"""
STREAMS = {
    "unit-day": 'by = "day"\ncolumn = "day"\nepsilon = 1.0\nprotects = "unit-day"\n',
    "unit-week": 'by = "week"\ncolumn = "day"\nepsilon = 1.0\nprotects = "unit-week"\n',
    "row": 'by = "day"\ncolumn = "day"\nepsilon = 1.0\nprotects = "row"\n',
    "unit in days": 'by = "day"\ncolumn = "day"\nepsilon = 0.5\nprotects = "unit"\nmost = 2\n',
    "unit": 'by = "unit"\nepsilon = 1.0\nbuckets = 2\n',
}
"""What is protected, and how the policy says it."""
Ride = tuple[Any, ...]
"""A rider, a day, a fare, a zone."""


def text(kind: str = "unit-day", *, delta: bool = False, source: str = "rides/*.csv", more: str = "") -> str:
    """The policy."""
    rows = kind == "row"
    head = HEAD.format(
        epsilon=3, delta="delta = 1e-6" if delta else "", source=source, unit="row" if rows else "rider_id",
        rows=1 if rows else 3,
    )  # fmt: skip
    return head + STREAMS[kind] + more


def policy(kind: str = "unit-day", **more: Any) -> Policy:
    """The policy alone."""
    return parse(text(kind, **more).encode(), Path("/srv/rides.toml"))


def world(folder: Path, kind: str = "unit-day", **more: Any) -> Path:
    """The policy in a folder, with nothing arrived yet."""
    (folder / "rides").mkdir(parents=True, exist_ok=True)
    (folder / "zones.csv").write_text("zone,area\nnorth,3\nsouth,5\n", encoding="utf-8")
    path = folder / "rides.toml"
    path.write_text(text(kind, **more), encoding="utf-8")
    return path


def add(folder: Path, name: str, rides: Iterable[Ride]) -> None:
    """One more file."""
    lines = [",".join(map(str, (*ride, "x")[:5])) for ride in rides]
    (folder / "rides" / f"{name}.csv").write_text("\n".join(["rider_id,day,fare,zone,note", *lines, ""]), "utf-8")


def day(number: int) -> str:
    """The nth day of January 2024."""
    return f"2024-01-{number:02}"


def rides(riders: int = 6, days: int = 4) -> list[Ride]:
    """Everybody rides twice a day."""
    zones = ("north", "south")
    return [
        (f"r{rider}", day(1 + when), rider + turn, zones[(rider + turn) % 2])
        for when in range(days)
        for rider in range(riders)
        for turn in range(2)
    ]


EXACT = Sampler(add_noise=lambda _mechanism, _sensitivity, exact, _bits: list(exact))
"""The noise is off."""


def opened(path: Path, **more: Any) -> Curator:
    """A curator of the policy."""
    found = read(path)
    return Curator(found, open_ledger(found), recalls=RECALLS, makers=MAKERS, **more)
