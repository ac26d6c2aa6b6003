"""What happened to a budget beside charges, in words, and who may read it.

Owners and auditors read all of it. An analyst reads what changed for everybody who asks (the budget, windows, data
versions, streams, and of the policy what tables say of themselves), and what is theirs: their tokens, their share, and
answers of theirs that were withdrawn. Reasons are the owner's words to the record: an analyst reads only why an answer
of theirs was withdrawn. Of other analysts, of sources and of hosts they learn nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby
from typing import Any, Final, TypedDict

from discreet.accounting.record import OWNER
from discreet.accounting.record import Event as Recorded
from discreet.accounting.rounding import UNITS, float_up
from discreet.printing import counted

MOST_CHANGES: Final = 4
"""Of a policy, in one line; the export has all of them."""
MOST_LETTERS: Final = 60
"""Of a value that changed."""
PUBLIC: Final = re.compile(
    r"unit\.(name|max_rows)|budget\.max_windows|max_cost|implicit_bounds|retention\.(questions|answers)"
    r"|tables\.[^.]+\.(public|max_rows|max_groups|max_rows_per_group|columns\..+)"
)
"""Keys of a policy that say what every analyst may read in `tables()` and `budget()`. Others are the owner's."""


class Event(TypedDict):
    """What happened beside charges: `changes` has for each key of a policy its value before and after."""

    number: int
    at: str
    kind: str
    who: str
    words: str
    reason: str
    changes: dict[str, list[Any]]
    gain: float | None


class Events(TypedDict):
    """What happened, oldest first."""

    events: list[Event]


@dataclass(frozen=True, slots=True)
class StoryLine:
    """An event for people."""

    number: int
    at: str
    """Empty if it was recorded before times were."""
    kind: str
    who: str
    """Whom it is about: an analyst, or the owner."""
    words: str
    reason: str = ""
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Of a policy: for each key what it was and what it is; None where it is not written."""
    gain: float | None = None
    """Of a budget or a window: by how much it changed what remains for everybody (ε, or ρ); less than 0 if lowered."""

    @property
    def is_beginning(self) -> bool:
        """Whether nothing was otherwise before it."""
        return (self.kind == "budget" and self.gain is None) or (self.kind == "policy" and not self.changes)

    def document(self) -> Event:
        return {
            "number": self.number,
            "at": self.at,
            "kind": self.kind,
            "who": self.who,
            "words": self.words,
            "reason": self.reason,
            "changes": {key: list(values) for key, values in self.changes.items()},
            "gain": self.gain,
        }


def story(events: Iterable[Recorded], analyst: str | None = None) -> list[StoryLine]:
    """All of it; or what this analyst may read. Blocks that were opened one after the other are one line."""
    lines = [_line(event) for event in _folded(events)]
    return lines if analyst is None else [each for each in (_own(one, analyst) for one in lines) if each is not None]


def _own(line: StoryLine, analyst: str) -> StoryLine | None:
    """What an analyst may read of it; None if that is nothing."""
    if line.kind in ("token", "withdrawn"):
        return line if line.who == analyst else None
    if line.kind == "policy":
        visible = {key: each for key, each in line.changes.items() if _is_open(key, analyst)}
        return replace(line, words=_changed(visible), changes=visible, reason="") if visible else None
    return None if line.kind in ("accepted", "moved") else replace(line, reason="")


def _is_open(key: str, analyst: str) -> bool:
    return PUBLIC.fullmatch(key) is not None or key in (f"analysts.{analyst}.epsilon", f"analysts.{analyst}.share")


def _folded(events: Iterable[Recorded]) -> Iterable[Recorded]:
    for key, group in groupby(events, lambda event: (event.kind, event.fields.get("stream"))):
        several = list(group)
        if key[0] != "block" or len(several) == 1:
            yield from several
        else:
            last = several[-1]
            yield replace(last, fields={**last.fields, "first": several[0].fields["number"]})


def _line(event: Recorded) -> StoryLine:
    kind, fields = KINDS.get(event.kind, event.kind), event.fields
    reason = fields.get("withdrawn" if kind == "withdrawn" else "reason", "")
    who = fields.get("analyst") or OWNER
    changes = {key: (before, after) for key, (before, after) in fields.get("changes", {}).items()}
    return StoryLine(event.number, event.at, kind, who, WORDS[kind](fields), reason, changes, _gain(kind, fields))


def _gain(kind: str, fields: Mapping[str, Any]) -> float | None:
    if kind == "window":
        return int(fields["used"][0]) / UNITS
    before = fields.get("before", {}).get("limits", ()) if kind == "budget" else ()
    if len(before) != len(fields.get("limits", ())) or not before:
        return None  # the first budget, or one of another currency
    return (int(fields["limits"][0]) - int(before[0])) / UNITS


# words


def _budget(fields: Mapping[str, Any]) -> str:
    now = _grant(fields)
    if "before" not in fields:
        return f"the budget is {now}"
    before = fields["before"]
    old, new = (Fraction(each["epsilon"]) for each in (before, fields))
    act = "changed" if old == new else "raised" if old < new else "lowered"
    return f"the budget was {act} from {_grant(before)} to {now}"


def _grant(fields: Mapping[str, Any]) -> str:
    epsilon, delta = Fraction(fields["epsilon"]), fields["delta"]
    return f"ε {float(epsilon):g}" if delta is None else f"(ε {float(epsilon):g}, δ {float(Fraction(delta)):g})"


def _policy(fields: Mapping[str, Any]) -> str:
    changes = fields.get("changes", {})
    if changes:
        return _changed(changes)
    return "the policy is on record" if "policy" in fields else "the policy protects other tables, or another unit"


def _changed(changes: Mapping[str, Any]) -> str:
    shown = [f"{key} {_value(before)} → {_value(after)}" for key, (before, after) in list(changes.items())]
    more = f"; and {len(shown) - MOST_CHANGES} more" if len(shown) > MOST_CHANGES else ""
    return f"the policy changed: {'; '.join(shown[:MOST_CHANGES])}{more}"


def _value(value: Any) -> str:
    if value is None:
        return "(nothing)"
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)).startswith("$"):
        value = next(iter(value.values()))  # a date
    text = str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _token(fields: Mapping[str, Any]) -> str:
    whose = fields["role"] if fields["analyst"] is None else f"analyst {fields['analyst']}"
    return f"token {fields['id']} of {whose} was {fields['act']}"


def _window(fields: Mapping[str, Any]) -> str:
    return f"window {fields['number']} of at most {fields['most']} was opened: the budget may be spent once more"


def _erased(fields: Mapping[str, Any]) -> str:
    gone = [(fields["texts"], "text", fields["questions"]), (fields["gone"], "answer", fields["answers"])]
    shown = [f"{counted(count, noun)} from before {str(at)[:10]}" for count, noun, at in gone if count]
    return f"erased, as too old: {' and '.join(shown) or 'names of parts'}"


def _accepted(fields: Mapping[str, Any]) -> str:
    return f"the ledger was accepted on this host, which knew {fields['known']} records of it"


def _stream(fields: Mapping[str, Any]) -> str:
    names = ("ε",) if len(fields["capacity"]) == 1 else ("ρ", "δ")
    amounts = [float_up(Fraction(int(amount), UNITS)) for amount in fields["capacity"]]
    shown = ", ".join(f"{name} {amount:g}" for name, amount in zip(names, amounts, strict=True))
    return f"stream {fields['name']}: each block may be charged {shown}"


def _block(fields: Mapping[str, Any]) -> str:
    if "first" in fields:
        return f"blocks {fields['first']} to {fields['number']} of {fields['stream']} were opened"
    return f"block {fields['number']} of {fields['stream']} was opened ({fields['label']})"


KINDS: Final = {"epoch": "policy", "data": "refresh"}
"""What records of these kinds are called for people."""
WORDS: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "budget": _budget,
    "policy": _policy,
    "refresh": lambda fields: f"the data was read anew: version {fields['version']}",
    "token": _token,
    "window": _window,
    "erased": _erased,
    "withdrawn": lambda fields: f"the answer to charge {fields['charge']} was withdrawn",
    "accepted": _accepted,
    "moved": lambda fields: f"the ledger goes on elsewhere: {fields['to']}",
    "stream": _stream,
    "block": _block,
    "retire": lambda fields: f"blocks of {fields['stream']} below {fields['upto']} were retired",
}
