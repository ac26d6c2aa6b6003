"""Groups of listed keys as numbers: one small integer for each row, and keys again for each group.

Theorem  Rows have the same number if and only if they have the same keys, where all of them are listed; it is NULL
         where one is not.
Proof    Keys are numbered one by one, from 0 on, and their numbers combined in mixed radix. A stored code is the place
         of a value among all that the policy declares, each of which stands there once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from discreet.composed import Sql, listed, literal, name, sql
from discreet.policy.model import Key
from discreet.sql.keys import GroupKey, PublicKey

NUMBER: Final = name("number")
SALT: Final = name("salt")
SLOT: Final = sql("1::UBIGINT << (((({0} & 62) + 1) * {1} + ({0} >> 58)) & 63)", SALT, NUMBER)
"""The bit of a numbered group, in an order that keyed hash makes for each unit.

Theorem  Rows of a unit have the same bit if and only if they have the same number.
Proof    The salt is the same for all of them. Numbers are less than 64, and a·number + b, modulo 64, is another one for
         each where a is odd.
"""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A key as a number, and what each number stands for."""

    number: Sql
    values: tuple[Key | None, ...]


def computed(keys: Sequence[GroupKey], most: int) -> list[Numbered] | None:
    """Keys whose numbers are computed of them; None if some are not listed, or there are more groups than this."""
    public = [key for key in keys if isinstance(key, PublicKey)]
    if len(public) < len(keys) or math.prod(key.count for key in public) > most:
        return None
    return [Numbered(key.number(), tuple(key.values())) for key in public]


def stored(keys: Sequence[GroupKey]) -> list[Numbered] | None:
    """Keys whose numbers the copy stores; None if it lacks one."""
    numbered = [each for key in keys if (each := _stored(key)) is not None]
    return numbered if len(numbered) == len(keys) else None


def _stored(key: GroupKey) -> Numbered | None:
    field = key.field
    if field is None or field.code is None or not isinstance(key, PublicKey) or key.expr.sql != field.expr.sql:
        return None
    if not key.domain.nullable:
        return Numbered(field.code, field.values)
    return Numbered(sql("COALESCE({}, {})", field.code, literal(len(field.values))), (*field.values, None))


def number(keys: Sequence[Numbered]) -> Sql:
    """The number of a row's group."""
    combined = literal(0)
    for key in keys:
        combined = sql("({} * {} + {})", combined, literal(len(key.values)), key.number)
    return combined


def shared(room: int, counts: Sequence[int]) -> list[int]:
    """How many of each of these fit where their product is at most `room`: of the smallest all, if they do."""
    most = [0] * len(counts)
    for done, index in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        most[index] = min(counts[index], math.floor(room ** (1 / (len(counts) - done)) + 1e-9))
        room //= most[index]
    return most


def keys_of(keys: Sequence[Numbered]) -> list[Sql]:
    """The keys of a group, of its number: computed for each group, and not for each row."""
    shown, below = [], 1
    for key in reversed(keys):
        position = sql("CAST({} // {} % {} AS INTEGER) + 1", NUMBER, literal(below), literal(len(key.values)))
        shown.append(sql("list_extract([{}], {})", listed(key.values), position))
        below *= len(key.values)
    return shown[::-1]
