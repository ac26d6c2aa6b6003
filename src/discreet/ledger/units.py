"""What was spent about each unit: a sum over different units is what a budget counts, and no guarantee to anybody.

Theorem  All charges about one unit, as one policy declared it, together are a guarantee to that unit: the sum of their
         losses, for adding or removing one of it.
Proof    `charge` admits losses about adding or removing one of the ledger's unit alone, and the filters' theorem adds
         them up. A charge about another unit (a visit) says of this one (a patient) only what `group` says for as many
         visits as a patient has, and nobody wrote down how many those are: so lines of different units are not added.
         The same name may mean something else once owners of tables change, and then `protected` does: another line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from discreet.ledger.codec import Amounts, Record, less, parsed, plus, written

if TYPE_CHECKING:
    from discreet.ledger.grant import Grant
    from discreet.ledger.state import State

Units = Mapping[str, Mapping[str, Amounts]]
"""For each `protected` what was spent about each unit."""
UNRECORDED: Final = "whom is not on record"
"""Charges of before units were recorded."""


def spent_about(units: Units, protected: str, record: Record, loss: Amounts) -> Units:
    """The units after one more charge; one that names no unit is counted with none."""
    if "unit" not in record:
        return units
    unit = record["unit"]
    if not isinstance(unit, str) or not unit:
        raise ValueError("a unit has a name")
    lines = units.get(protected, {})
    before = lines.get(unit, (0,) * len(loss))
    return {**units, protected: {**lines, unit: plus(before, loss)}}


def converted(units: Units, grant: Grant) -> Units:
    """In the currency of another budget: at least what they were, as of all that is spent."""
    return {
        key: {unit: grant.converted(amounts) or amounts for unit, amounts in lines.items()}
        for key, lines in units.items()
    }


def units_read(record: Record) -> Units:
    return {
        str(key): {str(unit): parsed(amounts) for unit, amounts in lines.items()}
        for key, lines in record.get("units", {}).items()
    }


def units_written(units: Units) -> Record:
    return {key: {unit: written(amounts) for unit, amounts in lines.items()} for key, lines in units.items()}


def by_unit(state: State) -> dict[str, Amounts]:
    """What was spent about each unit, if there are several: else all that is spent is about the one."""
    labelled: dict[str, Amounts] = {}
    left = state.spent
    for key, lines in state.units.items():
        for unit, amounts in lines.items():
            labelled[_label(unit, labelled, now=key == str(state.protected))] = amounts
            left = less(left, amounts)
    if any(left):
        labelled[UNRECORDED] = left
    return labelled if len(labelled) > 1 else {}


def _label(unit: str, taken: Mapping[str, Amounts], *, now: bool) -> str:
    if now:
        return unit
    earlier = f"{unit}, as declared earlier"
    count = sum(label.startswith(earlier) for label in taken)
    return f"{earlier} ({count + 1})" if count else earlier
