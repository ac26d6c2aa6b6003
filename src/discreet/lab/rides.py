"""Invented taxi rides, day after day, the same every time: data that grows, to train models on.

Nobody in it exists. Every number is drawn from a hash of the day and of what it is for, so that a day is alike on every
machine, whichever days were made before. There is something to learn, and it changes: there is a new tariff in July,
streets are slower at rush hours and in rain, and weekends and holidays are not like Mondays.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.engines.connection import connect
from discreet.lab.invented import Floats, uniform

POLICY: Final = "rides.toml"
FIRST_DAY: Final = date(2024, 1, 1)
DAYS: Final = 366
RIDES: Final = 2_000
"""Of an ordinary day."""
HOLIDAYS: Final = frozenset(
    {(1, 1), (2, 14), (5, 1), (7, 4), (10, 31), (11, 28), (12, 24), (12, 25), (12, 31)},
)
"""Months and days on which people ride differently."""
HOURS: Final = (3, 2, 1, 1, 1, 2, 4, 7, 8, 6, 5, 5, 6, 6, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4)
"""How many ride in each hour."""
RUSH: Final = np.array([0.0] * 7 + [0.6, 1.0, 0.6] + [0.2] * 6 + [0.7, 1.0, 0.9, 0.4] + [0.1] * 4)
"""How much slower streets are in each hour of a working day."""
NEW_TARIFF: Final = date(2024, 7, 1)
TARIFFS: Final = ((3.0, 1.1, 0.35), (4.0, 1.6, 0.40))
"""What a ride, a kilometre and a minute cost, before and after."""
TEXT: Final = """\
# Rides of a taxi company: a day is a block, with a budget of its own.
name = "rides"

[budget]
epsilon = @BUDGET@
delta = 1e-6

[unit]
name = "rider"

[tables.rides]
source = "rides/*.parquet"
unit = "rider"
max_rows = 1                      # of one rider and day: few ride twice
[tables.rides.columns]
day = { type = "date", min = 2024-01-01, max = 2025-12-31 }
hour = { type = "integer", min = 0, max = 23 }
distance = { min = 0, max = 30, step = 0.01 }
rain = { type = "boolean" }
weekend = { type = "boolean" }
minutes = { min = 0, max = 120, step = 0.1 }
fare = { min = 0, max = 100, step = 0.01 }

[tables.rides.stream]
by = "day"                        # a block for each day
column = "day"
epsilon = @CAPACITY@              # of one day's block; then it is used up
protects = "unit-day"             # what a rider does in one day
"""


def rides(number: int, count: int = RIDES) -> dict[str, NDArray[Any]]:
    """The rides of one day, by its number: a column each, as many rides as that day had.

    >>> first = rides(0)
    >>> list(first), len(first["fare"]) == len(rides(0)["fare"])
    (['rider', 'day', 'hour', 'distance', 'rain', 'weekend', 'minutes', 'fare'], True)
    """
    day = day_of(number)
    weekend, holiday = day.weekday() >= 5, (day.month, day.day) in HOLIDAYS
    rain = _uniform(number, "rain", 1)[0] < (0.38 if day.month in (3, 4, 10, 11) else 0.22)
    busy = count * (0.8 if weekend else 1.0) * (0.6 if holiday else 1.0) * (1.15 if rain else 1.0)
    rows = int(busy * (0.95 + 0.1 * _uniform(number, "rows", 1)[0]))
    likely = np.cumsum(HOURS) / sum(HOURS)
    hour = np.searchsorted(likely, _uniform(number, "hour", rows), side="right").clip(0, 23)
    distance = np.round(
        np.interp(_uniform(number, "distance", rows), (0, 0.25, 0.5, 0.8, 0.95, 1), (0.4, 1.5, 2.6, 6, 14, 29)), 2
    )
    rush = RUSH[hour] * (0.25 if weekend or holiday else 1.0)
    pace = 3.0 * (1 + 0.6 * rush) * (1.2 if rain else 1.0)  # minutes a kilometre
    minutes = 2 + distance * pace * _about(number, "minutes", rows, 0.15)
    start, far, long = TARIFFS[day >= NEW_TARIFF]
    fare = (start + far * distance + long * minutes) * _about(number, "fare", rows, 0.06)
    return {
        "rider": (_uniform(number, "rider", rows) * 40_000).astype(np.int64),
        "day": np.full(rows, np.datetime64(day, "us")),
        "hour": hour.astype(np.int64),
        "distance": distance,
        "rain": np.full(rows, rain),
        "weekend": np.full(rows, weekend),
        "minutes": np.round(np.minimum(minutes, 119.9), 1),
        "fare": np.round(np.minimum(fare, 99.99), 2),
    }


def text(budget: float = 3.0, capacity: float = 2.0) -> str:
    """The policy file: what may be lost of all that is known of a rider, and of one day's."""
    return TEXT.replace("@BUDGET@", f"{budget:g}").replace("@CAPACITY@", f"{capacity:g}")


def build(folder: Path, **policy: float) -> Path:
    """A folder for rides that are to come, with its policy; where that is."""
    (folder / "rides").mkdir(parents=True, exist_ok=True)
    path = folder / POLICY
    path.write_text(text(**policy), encoding="utf-8", newline="\n")
    path.chmod(0o600)
    return path


def arrive(folder: Path, first: int, days: int = 1, count: int = RIDES) -> list[dict[str, NDArray[Any]]]:
    """The rides of some days in a row arrive, as one more file; what it holds, day by day."""
    path = folder / "rides" / f"{day_of(first)}.parquet"
    made = [rides(number, count) for number in range(first, first + days)]
    together = {name: np.concatenate([day[name] for day in made]) for name in made[0]}
    quoted = str(path).replace("'", "''")
    with connect(threads=1) as connection:
        connection.register("made", together)
        connection.execute(f"COPY (SELECT * REPLACE (day::DATE AS day) FROM made) TO '{quoted}' (FORMAT parquet)")
    path.chmod(0o600)
    return made


def day_of(number: int) -> date:
    return FIRST_DAY + timedelta(days=number)


def _uniform(number: int, purpose: str, count: int) -> Floats:
    """Numbers above 0 and below 1 that depend on nothing but the day and what they are for."""
    return uniform(f"discreet.lab.rides {number} {purpose}", count)


def _about(number: int, purpose: str, count: int, spread: float) -> Floats:
    """Factors about 1: the mean of three uniform numbers, of this standard deviation."""
    mean = sum(_uniform(number, f"{purpose} {part}", count) for part in range(3)) / 3
    return np.asarray(1 + spread * 6 * (mean - 0.5), dtype=np.float64)
