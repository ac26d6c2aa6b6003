"""`discreet stream demo`: a year of invented rides, whose model stays accurate and whose blocks stay within budget."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.narration import Teller, escaped
from discreet.cli.output import table

if TYPE_CHECKING:
    from discreet.lab.year import Week

SHADES: Final = " ·░▒▓█"
MARKS: Final = ("●", "○")
HEIGHT: Final = 8
WEEKDAYS: Final = ("Mon", "", "Wed", "", "Fri", "", "Sun")


@click.command()
@click.option("--weeks", type=click.IntRange(2, 52), default=52, show_default=True, help="How long the story is.")
@click.option("--rides", type=click.IntRange(500, 20_000), default=2_000, show_default=True, help="Of an ordinary day.")
@click.option("--picture", type=click.Path(path_type=Path), help="Write the picture as SVG, too.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep policy, rides and ledger in a new folder.")
def demo(weeks: int, rides: int, picture: Path | None, folder: Path | None) -> None:
    """A year of taxi rides, day after day: a model of fares that stays accurate, and a budget that is never exceeded.

    Nobody in it exists. A day is a block with a budget of its own. Takes about a minute.
    """
    for path in (picture, folder):
        if path is not None:
            _demand_new(path)
    if picture is not None:
        from discreet.answers.plots.theme import altair

        altair()  # if it is missing, that is better known before the story than after it
    teller = Teller()
    with _folder(folder) as there:
        story = tell(there, teller, weeks, rides)
    if picture is not None:
        from discreet.lab.year import picture as drawn

        drawn(story).save(picture)
        teller.say(f"The same as a picture: {escaped(picture)}")
    if folder is not None:
        teller.commands(f"discreet stream status {folder / 'rides.toml'}")


def _demand_new(path: Path) -> None:
    """Refuse what exists, and what cannot be written."""
    if path.exists():
        raise click.UsageError(f"{path} exists already: name a new one")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as wrong:
        raise click.UsageError(f"{path} cannot be written: {wrong.strerror}") from None


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    """Where rides and ledger are: in a folder that is thrown away, unless one was named."""
    if wanted is not None:
        wanted.mkdir(parents=True)
        yield wanted
        return
    made = Path(tempfile.mkdtemp(prefix="discreet-rides-"))
    try:
        yield made
    finally:
        _forget(made)
        shutil.rmtree(made, ignore_errors=True)


def _forget(folder: Path) -> None:
    """Nobody will miss its ledger: its people are invented."""
    from discreet.curator.state import ledger_path
    from discreet.lab.rides import POLICY
    from discreet.ledger import Marks
    from discreet.policy import read

    marks = Marks.default()
    if marks is not None and (folder / POLICY).exists():
        marks.forget(ledger_path(read(folder / POLICY)).absolute())


def tell(folder: Path, teller: Teller, count: int, rides: int) -> list[Week]:
    """Tell the whole story."""
    from discreet.lab.rides import build
    from discreet.lab.year import GOAL, weeks

    policy = build(folder)
    teller.step("Each day is a block, with a budget of its own")
    lines = policy.read_text(encoding="utf-8").splitlines()
    teller.file([*lines[3:6], "…", *lines[lines.index("[tables.rides.stream]") :]])
    teller.step(f"Days arrive, and every few weeks a model of fares is trained again, to be off by {GOAL:g} at most")
    story = []
    for week in weeks(policy, count, size=rides):
        story.append(week)
        if week.run is not None:
            teller.say(trained(week))
    teller.step("The model stays accurate")
    teller.show(curves([{"●": week.error, "○": week.old} for week in story], GOAL))
    teller.say("mean error of a fare on the rides of each week: ● the model in use, ○ the first one, ┄ the goal")
    teller.step("No block is ever above its budget")
    teller.show(heat_map(story[-1].used))
    most = max(story[-1].used)
    teller.say(
        f'each day\'s block, by how much of its budget is used: "{SHADES}" is 0 to 100 %. The most is {most:.0%}.'
    )
    teller.step("And every week everybody knows how many rides there were so far")
    shown = [week for week in story if week.number % 12 == 3 or week is story[-1]]
    rows = [
        [str(week.total.label), f"{week.total.value:,.0f} ± {week.total.error:,.0f}", f"{week.rides:,}"]
        for week in shown
    ]
    teller.show(table(["up to", "released", "exact (they are invented)"], rows, numbers=frozenset({"released"})))
    return story


def trained(week: Week) -> str:
    """A training in one line: for each number of days what its attempts cost a day."""
    run = week.run
    assert run is not None
    costs: dict[int, list[str]] = {}
    for step in run.steps:
        costs.setdefault(step.attempt.blocks, []).append(f"{float(step.attempt.amount):g}")
    attempts = "; ".join(f"{days} days at {run.currency} {', '.join(each)}" for days, each in costs.items())
    return f"[dim]{week.first}[/]  {attempts}: [{'green' if run.accepted else 'yellow'}]{run.ending}[/]"


# pictures of characters


def heat_map(used: Sequence[float]) -> str:
    """A row for each day of the week, a column for each week; the first block is a Monday's.

    >>> print(heat_map([0.1, 0.3, 0.5, 0.7, 0.9, 1, 0, 1]))
    Mon ·█
        ░
    Wed ▒
        ▓
    Fri █
        █
    Sun
    """
    columns = -(-len(used) // 7)
    rows = []
    for day in range(7):
        shares = [used[7 * week + day] if 7 * week + day < len(used) else None for week in range(columns)]
        rows.append(f"{WEEKDAYS[day]:<4}{''.join(map(_shade, shares))}".rstrip())
    return "\n".join(rows)


def _shade(share: float | None) -> str:
    if share is None:
        return " "
    return SHADES[0 if share <= 0 else min(1 + int(share * (len(SHADES) - 1)), len(SHADES) - 1)]


def curves(series: Sequence[Mapping[str, float | None]], goal: float) -> str:
    """Values over time, with the goal as a line; marks of later names are drawn over by earlier ones."""
    known = [value for point in series for value in point.values() if value is not None]
    top = 1.1 * max([*known, goal])
    grid = [[" "] * len(series) for _ in range(HEIGHT)]

    def height(value: float) -> int:
        return min(int(value / top * HEIGHT), HEIGHT - 1)

    grid[height(goal)] = ["┄"] * len(series)
    for column, point in enumerate(series):
        for mark, value in reversed(list(point.items())):
            if value is not None:
                grid[height(value)][column] = mark
    labels = [f"{top * (row + 0.5) / HEIGHT:4.1f} ┤" for row in range(HEIGHT)]
    return "\n".join(f"{labels[row]}{''.join(grid[row])}".rstrip() for row in reversed(range(HEIGHT)))
