"""The budget as a picture: what was left after each charge, who spent it, and what else happened in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol

from discreet.accounting import Concentrated
from discreet.accounting.balance import Amount, Balance
from discreet.accounting.record import Entry
from discreet.answers.plots.answer import NARROW, WIDE, Layout
from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of, dressed, shortened, theme_of
from discreet.answers.story import StoryLine
from discreet.printing import at_least, at_most, counted, printable

if TYPE_CHECKING:
    from altair.typing import ChartType

SHOWN_CHARGES: Final = 1_000
"""Charges that are drawn: the newest."""
SHOWN_EVENTS: Final = 200
WIDTH: Final = 520
"""Pixels, where there is room."""
MOST_LABELS: Final = 16
"""Events whose kind and day are written beside their lines."""
OTHERS: Final = "others"
Record = dict[str, Any]


class Journal(Protocol):
    """Where charges are read: a ledger or a curator. A search of the ledger's says which."""

    def entries(self, search: Any, *, limit: int | None = ...) -> list[Entry]: ...
    def latest(self, search: Any, *, limit: int) -> list[Entry]: ...
    def count(self, search: Any) -> int: ...


@dataclass(frozen=True, slots=True)
class History:
    """The newest charges, oldest of them first; how many there are in all; when the first one was made; and what
    happened since the oldest of them, or since the beginning."""

    newest: Sequence[Entry]
    count: int
    since: str = ""
    events: Sequence[StoryLine] = ()

    @classmethod
    def of(cls, journal: Journal, search: Any, story: Sequence[StoryLine] = ()) -> History:
        """Reads no more than what is drawn, however long the journal is."""
        newest = journal.latest(search, limit=SHOWN_CHARGES)[::-1]
        first = journal.entries(search, limit=1)
        count = max(journal.count(search), len(newest))
        oldest = newest[0].number if count > len(newest) else 0
        events = [line for line in story if line.number > oldest and not line.is_beginning][-SHOWN_EVENTS:]
        return cls(newest, count, first[0].at if first else "", events)

    def windows(self, before: int) -> int:
        """The number of the record that opened the window before this record; 0 for the first."""
        return max((line.number for line in self.events if line.kind == "window" and line.number < before), default=0)


@beside_others
def budget_chart(
    history: History, total: Balance, shares: Mapping[str, Balance], theme: str = "light", layout: Layout = WIDE
) -> ChartType:
    """What remains of the budget after each charge; below it, what analysts have left of their shares."""
    look = theme_of(theme)
    alt = altair()
    people = _people(history.newest, shares)
    panels = [_total(history, total, people, layout)]
    left = [record for analyst, balance in shares.items() for record in _share(history, analyst, balance, people)]
    if left:
        panels.append(_shares(left, people, layout))
    chart = alt.vconcat(*panels).resolve_scale(color="shared", x="shared")
    lines = _subtitle(history, total)
    return dressed(chart, look, f"remaining {_words(total)}", lines, letters=layout.letters, label=layout.label)


def burnt(history: History, balance: Balance) -> list[Record]:
    """For each charge what remained before and after it.

    Counted back from what remains now, which the ledger knows exactly; where the budget was raised, or a window opened,
    less remained before.
    """
    symbol, left = _symbol(balance), _exact(_amount(balance.remaining))
    records: list[Record] = []
    events = list(history.events)
    for number, entry in _numbered(history)[::-1]:
        while events and events[-1].number > entry.number:
            left -= _gained(history, events.pop(), history.newest, balance)
        cost = _cost(entry, balance)
        after, left = left, left + cost
        records.append(
            {
                "charge": number,
                "number": entry.number,
                "at": entry.at[:19].replace("T", " "),
                "analyst": printable(entry.analyst),
                "question": shortened(printable(entry.question), 70),
                "cost": f"{symbol} {at_least(float(cost))}",
                "remaining": float(after),
                "before": float(left),
            }
        )
    return records[::-1]


def _gained(history: History, event: StoryLine, charges: Sequence[Entry], balance: Balance) -> Fraction:
    """By how much an event changed what remains: a share begins anew with a window, whatever the budget does."""
    if balance.of == "budget":
        return _exact(event.gain or 0.0)
    if event.kind != "window":
        return Fraction(0)
    begun = history.windows(event.number)
    return sum((_cost(each, balance) for each in charges if begun < each.number < event.number), Fraction(0))


def _numbered(history: History) -> list[tuple[int, Entry]]:
    """The newest charges with their places in the whole history."""
    return list(enumerate(history.newest, history.count - len(history.newest) + 1))


def _share(history: History, analyst: str, balance: Balance, people: Sequence[str]) -> list[Record]:
    """What an analyst had left of a share after each of their charges, in parts of the share."""
    whole = _exact(_amount(balance.total))
    name = printable(analyst)
    if not whole:
        return []
    left = _exact(_amount(balance.remaining))
    mine = [(number, entry) for number, entry in _numbered(history) if entry.analyst == analyst]
    records = [_point(max(1, history.count), name, left / whole, people)]
    charges = [entry for _, entry in mine]
    windows = [(position, event) for position, event in _placed(history) if event.kind == "window"]
    items: list[tuple[float, Entry | StoryLine]] = [*mine, *windows]
    for number, item in sorted(items, key=lambda each: each[1].number, reverse=True):
        records.append(_point(number, name, left / whole, people))
        if isinstance(item, StoryLine):
            left -= _gained(history, item, charges, balance)
        else:
            left += _cost(item, balance)
    records.append(_point(history.count - len(history.newest), name, left / whole, people))
    return records[::-1]


def _point(charge: float, analyst: str, part: Fraction, people: Sequence[str]) -> Record:
    return {"charge": charge, "analyst": analyst, "colour": _colour(analyst, people), "left": min(1.0, float(part))}


# amounts


def _symbol(balance: Balance) -> str:
    return "ε" if balance.remaining.rho is None else "ρ"


def _amount(amount: Amount) -> float:
    return amount.epsilon if amount.rho is None else amount.rho


def _exact(amount: float) -> Fraction:
    return Fraction(repr(amount))


def _cost(entry: Entry, balance: Balance) -> Fraction:
    """In the currency of the budget: a pure charge counts as ρ since the budget has a δ."""
    if balance.remaining.rho is None:
        return entry.loss.amounts.get("epsilon", Fraction(0))
    spent: Concentrated = entry.loss.concentrated()
    return spent.rho


def _words(balance: Balance) -> str:
    symbol = _symbol(balance)
    return f"{symbol} {at_most(_amount(balance.remaining))} of {at_most(_amount(balance.total))}"


def _subtitle(history: History, total: Balance) -> list[str]:
    whole = total.total
    lines = []
    if not history.newest:
        lines.append("nothing is spent yet")
    else:
        charges = counted(history.count, "charge")
        lines.append(f"{charges}, {history.since[:10]} to {history.newest[-1].at[:10]}")
    if whole.rho is not None and whole.delta is not None:
        left = at_most(total.remaining.delta or 0.0)
        lines.append(
            f"the budget is (ε {whole.epsilon:g}, δ {whole.delta:g}); δ {left} is left for partition selection"
        )
    if history.count > len(history.newest):
        lines.append(f"the newest {SHOWN_CHARGES:,} charges are shown")
    return lines


# colours


def _people(entries: Sequence[Entry], shares: Mapping[str, Balance]) -> list[str]:
    """Who gets a colour: those with a share, then those who spent; as many as there are colours."""
    names = dict.fromkeys(map(printable, [*shares, *(entry.analyst for entry in entries)]))
    people = list(names)
    return people if len(people) <= len(COLOURS) else [*people[: len(COLOURS)], OTHERS]


def _colour(analyst: str, people: Sequence[str]) -> str:
    return analyst if analyst in people else OTHERS


def _encoded(people: Sequence[str], layout: Layout) -> Any:
    alt = altair()
    below = {"orient": "bottom", "columns": 2} if layout is NARROW else {}
    scale = alt.Scale(domain=list(people), range=[*COLOURS[: len(people)], NEUTRAL][: len(people)])
    return alt.Color("colour:N", scale=scale, legend=alt.Legend(title="analyst", **below))


# panels


def _width(layout: Layout) -> int:
    return NARROW.width if layout is NARROW else WIDTH


def _axis(records: Sequence[Record]) -> Any:
    """Whole numbers of charges; none of them is in two places, however few there are."""
    alt = altair()
    last = int(max((record["charge"] for record in records), default=0))
    few = {"values": list(range(last + 1))} if last <= 12 else {}
    axis = alt.Axis(tickMinStep=1, format="d", grid=False, **few)
    return alt.X("charge:Q", title="charges", axis=axis, scale=alt.Scale(nice=False, zero=False))


def _steps(history: History, records: Sequence[Record], total: Balance) -> list[Record]:
    """What remained from each charge, and from each event that changed it, to the next."""
    whole = _amount(total.total)
    begin = {"charge": history.count - len(records), "remaining": records[0]["before"] if records else whole}
    after = [{"charge": record["charge"], "remaining": record["remaining"]} for record in records]
    changed = [event for event in _happened(history) if event["kind"] in ("budget", "window")]
    following = [*(record["before"] for record in records), _amount(total.remaining)]
    for event in changed:  # several in one gap end with what was there before the next charge
        gap = int(event["charge"]) - int(begin["charge"])
        after.append({"charge": event["charge"], "remaining": following[gap]})
    steps = sorted([begin, *after], key=lambda step: step["charge"])
    return steps if len(steps) > 1 else [begin, {**begin, "charge": 1}]


def _placed(history: History) -> list[tuple[float, StoryLine]]:
    """Events between the charges that they happened between."""
    first = history.count - len(history.newest)
    gaps: dict[int, list[StoryLine]] = {}
    for event in history.events:
        gaps.setdefault(first + sum(entry.number < event.number for entry in history.newest), []).append(event)
    return [
        (after + (index + 1) / (len(events) + 1), event)
        for after, events in gaps.items()
        for index, event in enumerate(events)
    ]


def _happened(history: History) -> list[Record]:
    """Events as they are drawn."""
    return [
        {
            "charge": position,
            "kind": event.kind,
            "label": f"{_name(event)} {event.at[:10]}".strip(),
            "at": event.at[:19].replace("T", " ") or "not on record",
            "happened": shortened(printable(f"{event.words}: {event.reason}" if event.reason else event.words), 90),
        }
        for position, event in _placed(history)
    ]


def _name(event: StoryLine) -> str:
    """What it is called in few letters."""
    if event.kind == "budget":
        return "lowered" if (event.gain or 0) < 0 else "raised"
    return event.kind


def _marks(history: History, x: Any, top: float) -> list[Any]:
    """A line for each event, with its kind and its day while there is room for them."""
    alt = altair()
    events = _happened(history)
    if not events:
        return []
    base = chart_of({**event, "top": top} for event in events)
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("at", "kind", "happened")]
    rules = base.mark_rule(strokeDash=[3, 3], color=NEUTRAL, opacity=0.8).encode(x=x, tooltip=tooltip)
    if len(events) > MOST_LABELS:
        return [rules]
    style = {"angle": 270, "align": "right", "baseline": "bottom", "dx": -4, "dy": -2, "fontSize": 10}
    texts = base.mark_text(**style, color=NEUTRAL).encode(x=x, y="top:Q", text="label:N", tooltip=tooltip)
    return [rules, texts]


def _total(history: History, total: Balance, people: Sequence[str], layout: Layout) -> Any:
    """The whole budget: a line of steps, and on each a drop in the colour of whoever made it."""
    alt = altair()
    records = burnt(history, total)
    whole = _amount(total.total)
    steps_drawn = _steps(history, records, total)
    line = chart_of(steps_drawn)
    spent = chart_of({**record, "colour": _colour(record["analyst"], people)} for record in records)
    most = max([whole, *(step["remaining"] for step in steps_drawn)])  # more than today's if the owner made it smaller
    top = most * (1.5 if 0 < len(history.events) <= MOST_LABELS else 1.0)  # room for what is written
    y = alt.Y("remaining:Q", title=f"remaining {_symbol(total)}", scale=alt.Scale(domain=[0, top], nice=False))
    x = _axis(records)
    marks = _marks(history, x, top)
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("number", "at", "analyst", "cost", "question")]
    tooltip.append(alt.Tooltip("remaining:Q", format=".4~g"))
    drops = spent.mark_rule(strokeWidth=3).encode(x=x, y=y, y2=alt.Y2("before:Q"), color=_encoded(people, layout))
    size = 45 if len(records) <= 60 else 16
    dots = spent.mark_point(filled=True, size=size, opacity=1).encode(
        x=x, y=y, color=_encoded(people, layout), tooltip=tooltip
    )
    steps = line.mark_line(interpolate="step-after", color=NEUTRAL, strokeWidth=2).encode(x=x, y=y)
    return alt.layer(*marks, steps, *((drops, dots) if records else ())).properties(width=_width(layout), height=240)


def _shares(records: list[Record], people: Sequence[str], layout: Layout) -> Any:
    """The shares: a line of steps for each analyst."""
    alt = altair()
    y = alt.Y("left:Q", title="left of the share", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    tooltip = [alt.Tooltip("analyst:N"), alt.Tooltip("left:Q", format=".1%")]
    base = chart_of(records).encode(
        x=_axis(records), y=y, color=_encoded(people, layout), detail="analyst:N", tooltip=tooltip
    )
    return base.mark_line(interpolate="step-after", strokeWidth=2).properties(width=_width(layout), height=120)
