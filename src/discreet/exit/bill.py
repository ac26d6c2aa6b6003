"""What a task costs, from text and policy alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

from discreet.accounting.record import OWNER, BlockNames, Key, PartName, demand_key
from discreet.exit.cost import Cost, Loss
from discreet.ledger.codec import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What is charged for a task, what its exit may let out for that, and what the ledger records.

    Theorem  What an exit of this bill lets out costs a unit at most `loss`.
    Proof    The exit lets out at most `limit`, counted for one row (the theorem of `Exit`). A unit has at most `rows`
             rows, so it costs the unit group(limit, rows) (the theorem of `group`), and a bill that charges less than
             that cannot be made.
    """

    loss: Loss
    cost: Cost
    """What noise is chosen from."""
    why: str
    """The question, as people read it in the ledger."""
    plan: str
    """The fingerprint of what is asked, policy included: results are cached under it, and kinds of tasks share none."""
    data: int
    """The data version."""
    rows: int = 1
    """Rows of a unit, where the task's sensitivities are those of one row."""
    limit: Loss | None = None
    """The loss of one row; where sensitivities are those of a unit, the loss."""
    analyst: str | None = None
    call: Record | None = None
    """How it was asked beside `why`, for the record."""
    key: Key | str | None = None
    """The caller's name of this request: one that is sent twice is charged once (`request`)."""
    by_error: bool = False
    """Whether the caller named an error and not a cost: then cached results of any cost are looked at."""
    confirmed: bool = False
    """Whether the caller agreed to whatever that costs."""
    fresh: bool = False
    """Whether a cached result is not wanted."""
    part: Callable[[], PartName] | None = None
    """The part of a partition that it is about."""
    blocks: BlockNames | None = None
    """The blocks of a stream that it reads: the loss is on the line of each, and is that of a unit in all of them."""

    def __post_init__(self) -> None:
        demand_key(self.key)
        if not self.loss.bounds(self.allowed if self.rows == 1 else self.allowed.group(self.rows)):
            raise RuntimeError("a bill charges less than its exit may let out")

    @property
    def request(self) -> Key | None:
        """What the ledger knows the request by, if the caller has a name for it."""
        if not isinstance(self.key, str):
            return self.key
        return Key.called(self.key, self.analyst or OWNER, repr((self.plan, astuple(self.loss), self.blocks)))

    @property
    def allowed(self) -> Loss:
        """What the exit may let out."""
        return self.loss if self.limit is None else self.limit
