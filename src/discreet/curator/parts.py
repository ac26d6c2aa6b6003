"""Parts of a partition between curator and ledger: their names, how they are put on record, and calls read back."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from discreet.accounting.part import Part
from discreet.accounting.record import Entry, PartName
from discreet.answers.call import Call, value_read
from discreet.answers.parts import public_keys
from discreet.engines.engine import Engine
from discreet.errors import QueryFailed, Refused
from discreet.policy import Key, Policy
from discreet.policy.model import Column
from discreet.sql.part import part_of


def part_name(part: Part, engine: Engine) -> PartName:
    """A part in the ledger: other rows, other copies and other partitions are never mistaken for it."""
    with suppress(Exception):
        partition = repr((engine.copy, part.table, part.column, part.most))
        return PartName(hashlib.sha256(partition.encode()).hexdigest()[:32], part.label, part.most)
    raise QueryFailed("the tables cannot be read; nothing was charged", "ask the owner to run `discreet check`")


def why(text: str, part: Part | None) -> str:
    """What the ledger records as the question."""
    return text if part is None else f"{text} -- of {part.table}, {part.label}"


# parts on record


def recorded(policy: Policy, entry: Entry, analyst: str | None, **more: Any) -> Call:
    """The call that a charge is the record of; before calls were recorded, that of its text at its cost."""
    record = {name: value_read(value) for name, value in entry.call.items()}
    part = _recorded_part(policy, entry, record.pop("part", None))
    text = entry.question if part is None else entry.question.removesuffix(why("", part))
    return Call(sql=text, analyst=analyst, part=part, **{**(record or entry.cost.named), **more})


def _recorded_part(policy: Policy, entry: Entry, record: Mapping[str, Any] | None) -> Part | None:
    """The part that a charge is about: as its call says, or, before calls said it, as its text does."""
    if record is not None:
        return part_of(policy, record["table"], record["column"], record["key"], record["most"])
    if entry.part is None:
        return None
    for table in policy.private_tables.values():
        for column in table.columns.values():
            for key in _keys_in(entry.part.part, column):
                with suppress(Refused):
                    part = part_of(policy, table.name, column.name, key, entry.part.max_parts)
                    if entry.question.endswith(why("", part)):
                        return part
    raise Refused("unknown-part", "the policy has no such part", "ask again")


def _keys_in(label: str, column: Column) -> tuple[Key | None, ...]:
    """The keys that a label may mean."""
    declared = public_keys(column)
    if declared is not None:
        return declared
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return (ast.literal_eval(label.removeprefix(f"{column.name} = ")), None)
    return (None,)
