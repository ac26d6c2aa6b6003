"""What an owner does to streams, on the record: declares them, opens their blocks, and retires these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from operator import sub

from discreet.accounting import Loss
from discreet.accounting.rounding import UNITS
from discreet.accounting.stream import StreamStanding
from discreet.ledger.blocks import known, standing
from discreet.ledger.charge import cost_of, demand_spendable
from discreet.ledger.codec import Amounts, Record, less, plus, written
from discreet.ledger.problems import LedgerError
from discreet.ledger.state import State
from discreet.ledger.store import Row
from discreet.ledger.streams import Stream, demand_name
from discreet.policy import Share


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Streams(ABC):
    """The part of a ledger that is about streams."""

    unit: str | None
    _state: State
    _shares: Mapping[str, Share]

    @abstractmethod
    def _write(self, act: Callable[[], object]) -> None: ...
    @abstractmethod
    def _append(self, kind: str, fields: Record) -> Row: ...
    @abstractmethod
    def _held(self) -> AbstractContextManager[None]: ...
    @property
    @abstractmethod
    def _newest(self) -> State: ...

    def declare_stream(self, name: str, capacity: Loss, most: int) -> None:
        """Put a stream on record, whose units have rows in at most `most` blocks: no block is ever charged above the
        capacity, and the budget is charged now for as many capacities.

        The same declaration again is nothing. A larger capacity is charged for the difference; a smaller one is
        refused, and so is another `most` or another unit.
        """
        _named(name)
        demand_spendable(capacity, None)
        if self.unit is not None and capacity.unit is None:
            raise LedgerError(
                f"the capacity of stream {name} does not say whom it is about", f"write loss.per({self.unit!r})"
            )
        self._write(lambda: self._declare(name, capacity, most))

    def _declare(self, name: str, capacity: Loss, most: int) -> None:
        state = self._state
        amounts = cost_of(capacity, state.grant)
        try:
            new = Stream.declared(amounts, most, capacity.unit)
        except ValueError as wrong:
            raise LedgerError(f"stream {name} cannot be declared: {wrong}", "say a whole number from 1 on") from None
        old = state.streams.get(name)
        if old is not None:
            _demand_alike(name, old, new)
            if old.capacity == amounts:
                return
        loss = new.held if old is None else tuple(map(sub, new.held, old.held))
        if not amounts[0] or any(less(plus(state.used(), loss), state.grant.limits)):
            raise self._unaffordable(name, new, loss, state.grant.nothing if old is None else old.capacity)
        unit = {} if capacity.unit is None else {"unit": capacity.unit}
        fields = {"name": name, "capacity": written(amounts), "most": most, "at": now(), **unit}
        self._append("stream", {**fields, "loss": written(loss), "spent": written(plus(state.spent, loss))})

    def _unaffordable(self, name: str, stream: Stream, loss: Amounts, before: Amounts) -> LedgerError:
        left = less(self._state.grant.limits, self._state.used())
        most = tuple(old + amount // stream.most for old, amount in zip(before, left, strict=True))
        return LedgerError(
            f"stream {name} needs {_shown(loss)} of the budget (its capacity, {stream.most} times), "
            f"and {_shown(left)} is left",
            f"give its blocks a capacity above 0 and of at most {_shown(most)}, "
            "or raise the budget on the record with `discreet budget raise`",
        )

    def open_block(self, stream: str, file: str, label: str) -> int:
        """A new block of a stream, with the name of the file that its rows are in, and a public label; its number.

        The same file and label again are the block that has them. No two blocks have the same label: whoever opens the
        block of a day that another process has just opened is refused.
        """
        return self.open_blocks(stream, [(file, label)])[0]

    def open_blocks(self, stream: str, blocks: Sequence[tuple[str, str]]) -> list[int]:
        """The same for several, by file and label, in one transaction: all of them or none."""
        for name in (each for block in blocks for each in block):
            _named(name)
        with self._held():
            numbers: list[int] = []
            self._write(lambda: numbers.extend(self._open(stream, file, label) for file, label in blocks))
            return numbers

    def _open(self, name: str, file: str, label: str) -> int:
        stream = known(self._state, name)
        for names, each in ((stream.files, file), (stream.labels, label)):
            if each in names:
                number = names.index(each)
                if (stream.files[number], stream.labels[number]) == (file, label):
                    return number
                raise LedgerError(
                    f"block {number} of {name} is {stream.labels[number]!r}, in another file or with another label",
                    "rows that are in a block already are not put into a second one",
                )
        self._append("block", {"stream": name, "number": stream.count, "file": file, "label": label, "at": now()})
        return stream.count

    def retire(self, stream: str, upto: int, reason: str) -> None:
        """Retire all blocks of a stream below the number `upto`: nobody asks about them any more, ever."""
        self._write(lambda: self._retire(stream, upto, reason))

    def _retire(self, name: str, upto: int, reason: str) -> None:
        stream = known(self._state, name)
        if type(upto) is not int or not 0 <= upto <= stream.count:
            raise LedgerError(f"stream {name} has {stream.count} blocks", f"name a number from 0 to {stream.count}")
        if upto > stream.first:
            self._append("retire", {"stream": name, "upto": upto, "reason": str(reason), "at": now()})

    def stream(self, name: str) -> StreamStanding:
        """How a stream stands."""
        return standing(self._newest, name, self._shares)

    def streams(self) -> list[str]:
        """The streams on record, by name."""
        return sorted(self._newest.streams)


def _named(name: object) -> None:
    try:
        demand_name(name)
    except ValueError as wrong:
        raise LedgerError(f"{name!r:.80} is no name for a stream, a file or a block: {wrong}", "use another") from None


def _demand_alike(name: str, old: Stream, new: Stream) -> None:
    """A stream is what it was declared as; only its capacity grows."""
    if (old.most, old.unit) != (new.most, new.unit):
        raise LedgerError(
            f"stream {name} is about one {old.unit or 'unit'} with rows in at most {old.most} blocks, "
            f"not about one {new.unit or 'unit'} with rows in at most {new.most}",
            "declare another stream: what was charged for this one holds for its own units alone",
        )
    if any(less(old.capacity, new.capacity)):
        raise LedgerError(
            f"the capacity of stream {name} is {_shown(old.capacity)}, and would be {_shown(new.capacity)}",
            "a capacity is not lowered: blocks may have used it, and the budget was charged for it; "
            "restore the number in the policy",
        )


def _shown(amounts: Amounts) -> str:
    names = ("epsilon",) if len(amounts) == 1 else ("rho", "delta")
    return ", ".join(f"{name} {amount / UNITS:g}" for name, amount in zip(names, amounts, strict=True))
