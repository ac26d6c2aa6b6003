"""What the journal adds up to: a value that each record turns into the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from operator import attrgetter, sub
from typing import Any, Final

from discreet.accounting.record import BlockNames, PartName
from discreet.ledger.codec import GENESIS, Amounts, Record, decode, less, link, parsed, plus, written
from discreet.ledger.erased import Unproven, demand_charge, is_erased_answer, may_be_erased, noted, vouched
from discreet.ledger.grant import Grant
from discreet.ledger.partitions import UNASKED, Partition, partitions_read, partitions_written
from discreet.ledger.problems import LedgerDamaged
from discreet.ledger.store import Row
from discreet.ledger.streams import Stream, demand_name, streams_read, streams_written
from discreet.ledger.units import Units, converted, spent_about, units_read, units_written
from discreet.ledger.windows import FIRST, Window, window_read
from discreet.policy.recorded import digest_of

NOTHING: Final = Grant(Fraction(0), None, (0,))
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a record raises that discreet did not write."""
CHARGE_FIELDS: Final = {"at": str, "analyst": str, "question": str, "data": int, "salt": str}


@dataclass(frozen=True, slots=True)
class State:
    """The journal up to its record number `head`."""

    head: int = 0
    digest: str = GENESIS
    grant: Grant = NOTHING
    spent: Amounts = NOTHING.nothing
    shares: dict[str, Amounts] = field(default_factory=dict)
    protected: str | None = None
    data: int = 1
    partitions: dict[str, Partition] = field(default_factory=dict)
    units: Units = field(default_factory=dict)
    """For each `protected` what was spent about each unit; what is missing was charged before units were recorded."""
    streams: dict[str, Stream] = field(default_factory=dict)
    id: str | None = None
    """Made when a host first accepted the ledger."""
    hosts: frozenset[str] = frozenset()
    home: str | None = None
    """The database that the journal lies in; None in a file."""
    moved: tuple[str, str] | None = None
    """By what name the journal goes on elsewhere, and where that is in words: nothing is written here any more."""
    policy: tuple[int, str] | None = None
    """Number of the newest record that has the policy's document, and the digest of that."""
    window: Window = FIRST
    withdrawn: frozenset[int] = frozenset()
    """Charges whose answers nobody reads any more."""
    unproven: Unproven | None = field(default=None, compare=False)
    """Erased records that nothing in the chain has vouched for yet."""

    def after(self, row: Row) -> State:
        """The state after one more record; `LedgerDamaged` unless it follows from this one."""
        number, line, digest = row
        linked = digest == link(self.digest, line)
        if number != self.head + 1 or not (linked or may_be_erased(line)):
            raise LedgerDamaged(f"record {number} does not follow from the one before", "restore a backup")
        record = decode(number, line)
        try:
            _demand_open(self, record)
            state = RULES[record["kind"]](self, record)
        except MALFORMED:
            raise LedgerDamaged(f"record {number} does not add up", "restore a backup") from None
        if linked == ("erased" in record):
            raise LedgerDamaged(f"record {number} does not follow from the one before", "restore a backup")
        unproven = state.unproven if linked else noted(number, line, state.unproven)
        return changed(state, head=number, digest=digest, unproven=unproven)

    def proven(self) -> State:
        """This state; `LedgerDamaged` if a record was changed and no later one vouches for it."""
        if self.unproven is not None:
            raise LedgerDamaged(f"record {self.unproven[0]} was changed", "restore a backup")
        return self

    @classmethod
    def replayed(cls, rows: Iterable[Row]) -> State:
        """What all records add up to."""
        state = cls()
        for row in rows:
            state = state.after(row)
        return state.proven()

    @classmethod
    def resumed(cls, previous: Row, row: Row) -> State:
        """The state at a record that repeats all of it, taken at its word: `verify` recomputes it."""
        number, line, _ = row
        record = decode(number, line)
        try:
            return replace(_repeated(record), head=number - 1, digest=previous[2]).after(row)
        except MALFORMED:
            raise LedgerDamaged(f"record {number} does not add up", "restore a backup") from None

    def caught_up(self, rows: Callable[..., Iterable[Row]], head: int, every: int) -> State:
        """The state after the records that were appended since, of which the last is `head` or a later one."""
        if head <= self.head:
            raise LedgerDamaged(f"record {self.head} of the ledger is gone or another", "restore a backup")
        state = self if self.head else State.last_repeated(rows, head, every)
        for row in rows(state.head + 1):
            state = state.after(row)
        if state.head < head:
            raise LedgerDamaged(f"record {state.head + 1} of the ledger is gone", "restore a backup")
        return state.proven()

    @classmethod
    def last_repeated(cls, rows: Callable[[int, int], Iterable[Row]], head: int, every: int) -> State:
        """The state at the last record up to `head` that repeats all of it, as one of so many does; or an empty one."""
        start = head - head % every
        last = list(rows(start, start + 1)) if start else []
        if len(last) == 2 and decode(*last[1][:2])["kind"] == "totals":
            return cls.resumed(*last)
        return cls()

    def share(self, analyst: str) -> Amounts:
        """What an analyst spent, in all windows."""
        return self.shares.get(analyst, self.grant.nothing)

    def used(self, analyst: str | None = None) -> Amounts:
        """What was spent in the window that is open: by everybody, or by one analyst."""
        if analyst is None:
            return self.window.since(self.spent)
        return self.window.share_since(analyst, self.share(analyst))

    def increase(self, part: PartName | None, cost: Amounts) -> Amounts:
        """What a query of this cost adds to what is spent: about a part, only what makes the maximum grow."""
        return cost if part is None else self.partition(part).increase(part.part, cost)

    def partition(self, part: PartName) -> Partition:
        """The partition of a part; ValueError if that was made with another number of parts of a unit."""
        return self.partitions.get(part.partition, UNASKED).bound(part.max_parts)

    def converted(self, grant: Grant) -> tuple[Amounts | None, dict[str, Stream]]:
        """What is spent, and streams, in the currency of another budget: None if it cannot be counted there.

        What is spent covers what was spent beside streams, and what all of them hold.
        """
        spent = grant.converted(self.spent)
        if spent is None or len(spent) == len(self.spent) or not self.streams:
            return spent, self.streams
        converted = partial(_in_currency, grant)
        streams = {name: stream.converted(converted) for name, stream in self.streams.items()}
        least = converted(tuple(map(sub, self.spent, self._held(self.streams))))
        return tuple(map(max, spent, plus(least, self._held(streams)))), streams

    @staticmethod
    def _held(streams: Mapping[str, Stream]) -> Amounts:
        return tuple(map(sum, zip(*(stream.held for stream in streams.values()), strict=True)))

    def totals(self) -> Record:
        """The fields of a record that repeats the whole state."""
        return {
            **granted_fields(self.grant),
            "spent": written(self.spent),
            "shares": {analyst: written(amounts) for analyst, amounts in self.shares.items()},
            "protected": self.protected,
            "data": self.data,
            **({"portions": partitions_written(self.partitions)} if self.partitions else {}),
            **({"units": units_written(self.units)} if self.units else {}),
            **({"streams": streams_written(self.streams)} if self.streams else {}),
            **({} if self.id is None else {"id": self.id, "hosts": sorted(self.hosts)}),
            **({} if self.home is None else {"home": self.home}),
            **({} if self.policy is None else {"policy": list(self.policy)}),
            **({} if self.window.number == 1 else {"window": self.window.fields()}),
            **({"withdrawn": sorted(self.withdrawn)} if self.withdrawn else {}),
        }


_NAMES: Final = tuple(each.name for each in fields(State))
_INDEX: Final = {name: index for index, name in enumerate(_NAMES)}
_values: Final = attrgetter(*_NAMES)


def changed(state: State, **changes: Any) -> State:
    """`replace`, which every charge needs four times, in a third of the time."""
    values = list(_values(state))
    for name, value in changes.items():
        values[_INDEX[name]] = value
    return State(*values)


def _in_currency(grant: Grant, amounts: Amounts) -> Amounts:
    """Where `Grant.converted` can say it."""
    converted = grant.converted(amounts)
    assert converted is not None
    return converted


def granted_fields(grant: Grant) -> Record:
    delta = None if grant.delta is None else str(grant.delta)
    return {"epsilon": str(grant.epsilon), "delta": delta, "limits": written(grant.limits)}


def _grant(record: Record) -> Grant:
    delta = None if record["delta"] is None else Fraction(record["delta"])
    limits = parsed(record["limits"])
    if len(limits) != (1 if delta is None else 2):
        raise ValueError("a pure budget has one limit, a concentrated one two")
    return Grant(Fraction(record["epsilon"]), delta, limits)


def _shares(record: Record) -> dict[str, Amounts]:
    return {str(analyst): parsed(amounts) for analyst, amounts in record["shares"].items()}


def _budget(state: State, record: Record) -> State:
    grant = _grant(record)
    spent, shares = parsed(record["spent"]), _shares(record)
    counted, streams = state.converted(grant)
    if counted != spent:
        raise ValueError("a budget does not change what is spent")
    if {analyst: grant.converted(amounts) for analyst, amounts in state.shares.items()} != shares:
        raise ValueError("a budget does not change what analysts spent")
    # costs of another currency are left behind: those of parts are counted from zero again
    partitions = state.partitions if len(grant.limits) == len(state.grant.limits) else {}
    if "id" in record:  # of a ledger that begins on a host with high-water marks
        state = _accepted(state, {"known": 0, **record})
    units = converted(state.units, grant)
    window = state.window.converted(grant)
    state = replace(state, grant=grant, partitions=partitions, units=units, streams=streams)
    return replace(state, spent=spent, shares=shares, window=window)


def _epoch(state: State, record: Record) -> State:
    policy = state.policy
    if "policy" in record:
        if record["digest"] != digest_of(record["policy"]) or not isinstance(record["changes"], dict):
            raise ValueError("a policy is on record with its digest and what changed")
        policy = state.head + 1, record["digest"]
    return replace(state, protected=str(record["protected"]), policy=policy)


def _data(state: State, record: Record) -> State:
    if record["version"] != state.data + 1:
        raise ValueError("data versions count up")
    # what was charged for parts stays spent, so that counting may begin anew at any time (see `partitions`)
    return replace(state, data=state.data + 1, partitions=state.partitions if record["v"] == 1 else {})


def _charge(state: State, record: Record) -> State:
    erased = demand_charge(record, CHARGE_FIELDS)
    analyst, loss = record["analyst"], parsed(record["loss"])
    spent = _spent(state, record, loss)
    about = [key for key in ("portion", "blocks") if key in record]
    if (
        len(about) > 1
        or ("price" in record) != bool(about)
        or (not erased and ("blocks" in about) != (record["v"] == 2))
    ):
        raise ValueError(
            "a charge is about everything, about a part or about blocks; these have a cost beside the loss"
        )
    shares = {**state.shares, analyst: plus(state.share(analyst), loss)}
    units = spent_about(state.units, str(state.protected), record, loss)
    lines = _about(state, record, loss) if about else {}
    return changed(state, spent=spent, shares=shares, units=units, **lines)


def _spent(state: State, record: Record, loss: Amounts) -> Amounts:
    """What is spent after a record that adds a loss."""
    spent = parsed(record["spent"])
    if plus(state.spent, loss) != spent:
        raise ValueError("a charge adds its loss")
    if any(less(state.window.since(spent), state.grant.limits)):
        raise ValueError("a charge fits the budget")
    return spent


def _about(state: State, record: Record, loss: Amounts) -> dict[str, Any]:
    """The lines that a charge about a part or about blocks changes."""
    cost = parsed(record["price"])
    if "blocks" in record:
        blocks = BlockNames.read(record["blocks"])
        if any(loss):
            raise ValueError("the budget was charged when the stream was declared")
        stream = state.streams[blocks.stream].charged(blocks.ranges, cost, record["analyst"])
        return {"streams": {**state.streams, blocks.stream: stream}}
    part = PartName.read(record["portion"])
    partition = state.partition(part)
    if partition.increase(part.part, cost) != loss:
        raise ValueError("a charge for a part is what makes the maximum grow")
    return {"partitions": {**state.partitions, part.partition: partition.after(part.part, cost)}}


def _stream(state: State, record: Record) -> State:
    """A stream is declared, or its capacity raised: the budget is charged for the difference."""
    name, capacity, loss = demand_name(record["name"]), parsed(record["capacity"]), parsed(record["loss"])
    new = Stream.declared(capacity, record["most"], record.get("unit"))
    old = state.streams.get(name, Stream.declared(state.grant.nothing, new.most, new.unit))
    if (old.most, old.unit) != (new.most, new.unit) or not capacity[0]:
        raise ValueError("a stream has room for something, for the same units as before")
    stream = old.raised(capacity)
    if tuple(map(sub, stream.held, old.held)) != loss or not isinstance(record["at"], str):
        raise ValueError("a stream holds its capacity as often as a unit has blocks")
    units = spent_about(state.units, str(state.protected), record, loss)
    return replace(state, spent=_spent(state, record, loss), units=units, streams={**state.streams, name: stream})


def _block(state: State, record: Record) -> State:
    name, file, label = (demand_name(record[key]) for key in ("stream", "file", "label"))
    stream = state.streams[name]
    if type(record["number"]) is not int or record["number"] != stream.count or not isinstance(record["at"], str):
        raise ValueError("blocks are numbered one after the other")
    return replace(state, streams={**state.streams, name: stream.opened(file, label)})


def _retire(state: State, record: Record) -> State:
    name, upto = demand_name(record["stream"]), record["upto"]
    stream = state.streams[name]
    if type(upto) is not int or not stream.first < upto <= stream.count:
        raise ValueError("blocks that are there are retired")
    if not (isinstance(record["reason"], str) and isinstance(record["at"], str)):
        raise ValueError("blocks are retired for a reason")
    return replace(state, streams={**state.streams, name: stream.dropped(((0, upto - 1),))})


def _answer(state: State, record: Record) -> State:
    if is_erased_answer(record, state.head):
        return state
    if record["charge"] not in range(1, state.head + 1) or not isinstance(record["digest"], str):
        raise ValueError("an answer follows its charge")
    if record["charge"] in state.withdrawn or ("withdrawn" in record) != (record["v"] == 2):
        raise ValueError("no answer follows one that was withdrawn")
    if record["v"] == 1:
        return state
    if not (isinstance(record["withdrawn"], str) and isinstance(record["at"], str)):
        raise ValueError("an answer is withdrawn for a reason")
    return replace(state, withdrawn=state.withdrawn | {record["charge"]})


def _token(state: State, record: Record) -> State:
    said = [record["act"], record["id"], record["role"], record["at"]]
    if not all(isinstance(each, str) for each in said) or record["act"] not in ("made", "revoked"):
        raise ValueError("a token was made or revoked")
    if not isinstance(record["analyst"], str | None):
        raise ValueError("a token is somebody's")
    return state


def _window(state: State, record: Record) -> State:
    window = state.window.next(record["most"], state.grant.limits, state.spent, state.shares)
    if window_read(record) != window or parsed(record["used"]) != state.used():
        raise ValueError("a window begins with what was spent before")
    if not (isinstance(record["reason"], str) and isinstance(record["at"], str)):
        raise ValueError("a window is opened for a reason")
    return replace(state, window=window)


def _accepted(state: State, record: Record) -> State:
    name, host, known = record["id"], record["host"], record["known"]
    if not (isinstance(name, str) and isinstance(host, str) and type(known) is int and known >= 0):
        raise ValueError("a host accepts a ledger with all that it knew of it")
    if not isinstance(record["reason"], str) or state.id not in (None, name):
        raise ValueError("a ledger has one id")
    home = record.get("home", state.home)
    if not isinstance(home, str | None):
        raise ValueError("a home is a text")
    return replace(state, id=name, hosts=state.hosts | {host}, home=home, moved=None)


def _moved(state: State, record: Record) -> State:
    if not all(isinstance(record[key], str) for key in ("arrived", "to", "at")):
        raise ValueError("a journal that was moved says where to")
    return replace(state, moved=(record["arrived"], record["to"]))


def _demand_open(state: State, record: Record) -> None:
    """What was moved goes on in one place, and nowhere else."""
    arrived = record.get("arrived") if record["kind"] == "accepted" else None
    if arrived != (None if state.moved is None else state.moved[0]):
        raise ValueError("nothing follows in a journal that was moved but that it arrived")


def _totals(state: State, record: Record) -> State:
    if "units" not in record:  # written by a discreet that did not count them: whoever begins here knows none either
        state = replace(state, units={})
    repeated = replace(_repeated(record), head=state.head, digest=state.digest)
    if replace(repeated, partitions={}) != replace(state, partitions={}):
        raise ValueError("totals repeat what the records before add up to")
    if repeated.partitions.keys() != state.partitions.keys():
        raise ValueError("totals repeat all partitions")
    agreed = {name: each.agreed(repeated.partitions[name]) for name, each in state.partitions.items()}
    return replace(state, partitions=agreed)


def _repeated(record: Record) -> State:
    return State(
        grant=_grant(record),
        spent=parsed(record["spent"]),
        shares=_shares(record),
        protected=str(record["protected"]),
        data=int(record["data"]),
        partitions=partitions_read(record),
        units=units_read(record),
        streams=_streams(record),
        id=None if record.get("id") is None else str(record["id"]),
        hosts=frozenset(map(str, record.get("hosts", ()))),
        home=None if record.get("home") is None else str(record["home"]),
        policy=_policy(record.get("policy")),
        window=window_read(record["window"]) if "window" in record else FIRST,
        withdrawn=frozenset(map(int, record.get("withdrawn", ()))),
    )


def _policy(named: Any) -> tuple[int, str] | None:
    if named is None:
        return None
    number, digest = named
    return int(number), str(digest)


def _streams(record: Record) -> dict[str, Stream]:
    if ("erased" in record) != (record["v"] == 5):
        raise ValueError("totals of version 5 have names that were erased")
    if record["v"] == 5:
        return streams_read(record)
    newer = any(key in record for key in ("policy", "window", "withdrawn", "home"))
    if newer != (record["v"] == 4) or (not newer and ("streams" in record) != (record["v"] == 3)):
        raise ValueError("totals of version 3 have streams, and those of version 4 what came later")
    return streams_read(record)


RULES: Final[dict[str, Callable[[State, Record], State]]] = {
    "budget": _budget,
    "epoch": _epoch,
    "data": _data,
    "charge": _charge,
    "stream": _stream,
    "block": _block,
    "retire": _retire,
    "answer": _answer,
    "token": _token,
    "window": _window,
    "accepted": _accepted,
    "moved": _moved,
    "erased": lambda state, record: replace(state, unproven=vouched(state.unproven, record)),
    "totals": _totals,
}
