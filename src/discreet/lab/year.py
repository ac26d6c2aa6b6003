"""A year of rides, week after week: days arrive, blocks are opened, and a model of fares is trained again and again.

What a company would do, and what it could not do beside it: as nobody in these rides exists, the errors of its models
on each week's rides can be story exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.lab import rides
from discreet.stream.continual import Running, Total

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.curator.curator import Curator
    from discreet.stream.runs import Run

SQL: Final = "SELECT distance, minutes, fare FROM rides"
METRIC: Final = "mean_absolute_error"
GOAL: Final = 2.0
"""The mean absolute error that a model of fares may have, in money."""
EVERY: Final = 4
"""Weeks after which a model is trained again, whether it looks bad or not."""
DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Week:
    """What happened in a week."""

    number: int
    first: date
    rides: int
    """So many there were up to its end, of each rider and day one: exact, because they are invented."""
    total: Total
    """The running count, as released."""
    run: Run | None
    """What was trained at its end."""
    error: float | None
    """The mean absolute error on this week's rides of the model that was in use."""
    old: float | None
    """The same of the first model of all, had it been kept."""
    used: tuple[float, ...]
    """How much of its budget each block has used by now."""


def weeks(policy: Path, count: int = 52, *, size: int = rides.RIDES) -> Iterator[Week]:
    """Live through so many weeks."""
    from discreet.opening import open as opened

    with opened(policy) as company:
        counted = Running(company, "rides", horizon=DAYS * count, every=DAYS, rho=0.002)
        models: list[Any] = []
        exact = 0
        for number in range(count):
            start = DAYS * number
            made = rides.arrive(policy.parent, start, DAYS, size)
            company.refresh(until=rides.day_of(start + DAYS))
            exact += sum(len(np.unique(day["rider"])) for day in made)
            new, old = (error(models[at], made) if models else None for at in (-1, 0))
            run = trained(company) if number % EVERY == 0 or is_off(company, models) else None
            if run is not None and run.accepted:
                models.append(run.model)
            used = company._ledger.stream("rides").used
            yield Week(number, rides.day_of(start), exact, counted.totals()[-1], run, new, old, used)


def trained(company: Curator) -> Run:
    """A model of fares, on the newest days, at more and more cost until a test says that it is good enough."""
    from discreet.learn import LinearRegression
    from discreet.stream import train

    return train(
        company, LinearRegression(), SQL, target="fare", goal=GOAL, metric=METRIC,
        rho=0.002, cap=0.016, blocks=7, most_blocks=28,
    )  # fmt: skip


def is_off(company: Curator, models: list[Any]) -> bool:
    """Whether the model in use is off by more than the goal on the newest week, as far as a private score can tell."""
    if not models:
        return True
    score = company.score(models[-1], SQL, target="fare", metric=METRIC, rho=0.001, blocks="newest 7")
    return bool(score.interval[0] > GOAL)


def error(model: Any, days: list[dict[str, Any]]) -> float:
    """The mean absolute error of a linear model on rides."""
    fares = np.concatenate([day["fare"] for day in days])
    rows = np.concatenate([np.column_stack([day["distance"], day["minutes"]]) for day in days])
    return float(np.abs(rows @ model.coef_ + model.intercept_ - fares).mean())


def picture(story: list[Week], theme: str = "light") -> ChartType:
    """Above, how wrong the models are in each week; below, how much of its budget a day of each week used at most."""
    from discreet.answers.plots.theme import COLOURS, altair, chart_of, dressed, theme_of

    alt, look = altair(), theme_of(theme)
    time = alt.X("week:T", title=None)
    names = {"the model in use": "error", "the first one, had it been kept": "old"}
    points = [
        {"week": str(week.first), "model": name, "error": round(value, 3)}
        for week in story
        for name, field in names.items()
        if (value := getattr(week, field)) is not None
    ]
    colour = alt.Color(
        "model:N", sort=None, title=None, scale=alt.Scale(range=list(COLOURS[:2])), legend=alt.Legend(orient="top")
    )
    errors = (
        chart_of(points)
        .mark_line(strokeWidth=2, aria=False)
        .encode(x=time, y=alt.Y("error:Q", title="mean error of a fare", scale=alt.Scale(domainMin=0)), color=colour)
    )
    goal = chart_of([{"goal": GOAL}]).mark_rule(strokeDash=[5, 4], color=look.faint).encode(y="goal:Q")
    used = story[-1].used
    bars = [
        {"week": str(week.first), "used": round(max(used[DAYS * week.number : DAYS * (week.number + 1)]), 4)}
        for week in story
    ]
    spent = (
        chart_of(bars)
        .mark_bar(color=COLOURS[2], width=6, aria=False)
        .encode(
            x=time,
            y=alt.Y("used:Q", title="of a day's budget", axis=alt.Axis(format="%"), scale=alt.Scale(domain=(0, 1))),
        )
    )
    both = alt.vconcat(
        (goal + errors).properties(width=560, height=170), spent.properties(width=560, height=90)
    ).resolve_scale(x="shared")
    return dressed(both, look, "", [])
