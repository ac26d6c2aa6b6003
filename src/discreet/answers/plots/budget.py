"""The budget as a picture: what was left after each charge, and who spent it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol

from discreet.accounting import Concentrated
from discreet.accounting.balance import Amount, Balance
from discreet.accounting.record import Entry
from discreet.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of, dressed, shortened, theme_of
from discreet.printing import at_least, at_most, counted, printable

if TYPE_CHECKING:
    from altair.typing import ChartType

SHOWN_CHARGES: Final = 1_000
"""Charges that are drawn: the newest."""
OTHERS: Final = "others"
Record = dict[str, Any]


class Journal(Protocol):
    """Where charges are read: a ledger or a curator. A search of the ledger's says which."""

    def entries(self, search: Any, *, limit: int | None = ...) -> list[Entry]: ...
    def latest(self, search: Any, *, limit: int) -> list[Entry]: ...
    def count(self, search: Any) -> int: ...


@dataclass(frozen=True, slots=True)
class History:
    """The newest charges, oldest of them first; how many there are in all; and when the first one was made."""

    newest: Sequence[Entry]
    count: int
    since: str = ""

    @classmethod
    def of(cls, journal: Journal, search: Any) -> History:
        """Reads no more than what is drawn, however long the journal is."""
        newest = journal.latest(search, limit=SHOWN_CHARGES)[::-1]
        first = journal.entries(search, limit=1)
        return cls(newest, max(journal.count(search), len(newest)), first[0].at if first else "")


def budget_chart(history: History, total: Balance, shares: Mapping[str, Balance], theme: str = "light") -> ChartType:
    """What remains of the budget after each charge; below it, what analysts have left of their shares."""
    look = theme_of(theme)
    alt = altair()
    people = _people(history.newest, shares)
    panels = [_total(burnt(history, total), total, people, history.count)]
    left = [record for analyst, balance in shares.items() for record in _share(history, analyst, balance, people)]
    if left:
        panels.append(_shares(left, people))
    chart = alt.vconcat(*panels).resolve_scale(color="shared", x="shared")
    return dressed(chart, look, f"remaining {_words(total)}", _subtitle(history, total))


def burnt(history: History, balance: Balance) -> list[Record]:
    """For each charge what remained before and after it.

    Counted back from what remains now, which the ledger knows exactly whatever budget was in force earlier.
    """
    symbol, left = _symbol(balance), _exact(_amount(balance.remaining))
    records: list[Record] = []
    for number, entry in _numbered(history)[::-1]:
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
    for number, entry in reversed(mine):
        records.append(_point(number, name, left / whole, people))
        left += _cost(entry, balance)
    records.append(_point(history.count - len(history.newest), name, left / whole, people))
    return records[::-1]


def _point(charge: int, analyst: str, part: Fraction, people: Sequence[str]) -> Record:
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
            f"the budget is (ε {whole.epsilon:g}, δ {whole.delta:g}); δ {left} is left for keys that are found"
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


def _encoded(people: Sequence[str]) -> Any:
    alt = altair()
    scale = alt.Scale(domain=list(people), range=[*COLOURS[: len(people)], NEUTRAL][: len(people)])
    return alt.Color("colour:N", scale=scale, legend=alt.Legend(title="analyst"))


# panels


def _axis(records: Sequence[Record]) -> Any:
    """Whole numbers of charges; none of them is in two places, however few there are."""
    alt = altair()
    last = max((record["charge"] for record in records), default=0)
    few = {"values": list(range(last + 1))} if last <= 12 else {}
    axis = alt.Axis(tickMinStep=1, format="d", grid=False, **few)
    return alt.X("charge:Q", title="charges", axis=axis, scale=alt.Scale(nice=False, zero=False))


def _total(records: list[Record], total: Balance, people: Sequence[str], charges: int) -> Any:
    """The whole budget: a line of steps, and on each a drop in the colour of whoever made it."""
    alt = altair()
    whole = _amount(total.total)
    begin = {"charge": charges - len(records), "remaining": records[0]["before"] if records else whole}
    after = [{"charge": record["charge"], "remaining": record["remaining"]} for record in records]
    line = chart_of([begin, *(after or [{**begin, "charge": 1}])])
    spent = chart_of({**record, "colour": _colour(record["analyst"], people)} for record in records)
    top = max(whole, begin["remaining"])  # more than today's budget if the owner made it smaller
    y = alt.Y("remaining:Q", title=f"remaining {_symbol(total)}", scale=alt.Scale(domain=[0, top], nice=False))
    x = _axis(records)
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("number", "at", "analyst", "cost", "question")]
    tooltip.append(alt.Tooltip("remaining:Q", format=".4~g"))
    drops = spent.mark_rule(strokeWidth=3).encode(x=x, y=y, y2=alt.Y2("before:Q"), color=_encoded(people))
    size = 45 if len(records) <= 60 else 16
    dots = spent.mark_point(filled=True, size=size, opacity=1).encode(x=x, y=y, color=_encoded(people), tooltip=tooltip)
    steps = line.mark_line(interpolate="step-after", color=NEUTRAL, strokeWidth=2).encode(x=x, y=y)
    return alt.layer(steps, *((drops, dots) if records else ())).properties(width=520, height=240)


def _shares(records: list[Record], people: Sequence[str]) -> Any:
    """The shares: a line of steps for each analyst."""
    alt = altair()
    y = alt.Y("left:Q", title="left of the share", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    tooltip = [alt.Tooltip("analyst:N"), alt.Tooltip("left:Q", format=".1%")]
    base = chart_of(records).encode(x=_axis(records), y=y, color=_encoded(people), detail="analyst:N", tooltip=tooltip)
    return base.mark_line(interpolate="step-after", strokeWidth=2).properties(width=520, height=120)
