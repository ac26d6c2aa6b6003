"""Attempts on the newest blocks of a stream, one after the other, until a test accepts: the schedule meets the ledger.

Theorem  Every attempt is charged before its rows are read, on each of its blocks, and no block is charged more than its
         capacity, whatever tests say. Proof: attempts are tasks of the curator, which charges them through the one exit
         and the block ledger. Which blocks an attempt has is said by the ledger and the number of the attempt alone.
Again    With a key, each charge has a name of its own. Who runs it again with the same key and the same arguments is
         shown what was charged before, on the blocks that it was charged for, and goes on after it: a run that was
         killed, or that ran out of blocks or budget. An attempt that was charged and never answered is counted, and
         repeated as another attempt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from discreet.accounting.record import BlockNames, Key
from discreet.curator.curator import Curator
from discreet.errors import BudgetExhausted, Edit, QueryFailed, Refused
from discreet.exit.cost import Cost, Loss, usual_cost
from discreet.policy import Policy
from discreet.policy.streams import block_budget
from discreet.printing import counted
from discreet.stream.runs import Ending, Run, Step
from discreet.stream.schedule import CONCENTRATED_GROWTH, PURE_GROWTH, Attempt, Schedule
from discreet.stream.validation import Decision


@dataclass(frozen=True, slots=True)
class Tested:
    """What an attempt let out."""

    decision: Decision
    value: float
    miss: float
    result: Any
    cached: bool


@dataclass(frozen=True, slots=True, eq=False)
class Pursuit:
    """A goal on a stream: attempts, what they may cost, and who asks."""

    curator: Curator
    stream: str
    schedule: Schedule
    whole: Loss
    """The cost of the last attempt, as the ledger counts it."""
    analyst: str | None
    key: str | None
    request: str
    """A digest of all that is wanted."""

    # before anything is charged

    @classmethod
    def read(
        cls,
        curator: object,
        stream: str | None,
        *,
        epsilon: object,
        rho: object,
        cap: object,
        blocks: object,
        most_blocks: object,
        analyst: str | None,
        key: object,
        arguments: Mapping[str, Any],
    ) -> Pursuit:
        """From what a caller says, or a refusal."""
        if not isinstance(curator, Curator):
            reason = "attempts on a stream are made by the curator itself"
            raise Refused("stream-invalid", reason, "open the policy with discreet.open, and pass what that gives")
        name = _named(curator.policy, stream)
        table = curator.policy.tables[name]
        policy = replace(curator.policy, budget=block_budget(curator.policy, table))
        if (epsilon is None) == (rho is None) or cap is None:
            raise _no_cost(policy)
        first, last = Cost.read(policy, epsilon=epsilon, rho=rho), _same_kind(policy, cap, pure=rho is None)
        growth = PURE_GROWTH if first.pure else CONCENTRATED_GROWTH
        try:
            schedule = Schedule.read(
                start=first.amount, cap=last.amount, blocks=blocks, most=most_blocks, growth=growth
            )
        except (TypeError, ValueError) as wrong:
            raise Refused("stream-invalid", str(wrong), "write epsilon=0.1, cap=0.8, blocks=1 or the like") from None
        if key is not None and (not isinstance(key, str) or not 0 < len(key) <= 100 or not key.isprintable()):
            raise Refused("stream-invalid", "a key is a short text", 'write key="tips" or the like, or leave it out')
        said = [name, str(first.amount), str(last.amount), schedule.blocks, {**arguments, "analyst": analyst}]
        digest = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
        return cls(curator, name, schedule, last.loss, analyst, key, digest)

    def first(self, task: Any) -> Any:
        """A task at the cost of the first attempt, about the newest block: to be prepared, and not to be performed."""
        newest = self.curator._ledger.stream(self.stream).newest(1)
        blocks = {self.stream: "newest"} if newest is None else newest
        return replace(task, blocks=blocks, **self.cost(self.schedule.attempts[0]))

    @property
    def live(self) -> int:
        """How many blocks can be read."""
        return sum(high - low + 1 for low, high in self.curator._ledger.stream(self.stream).live)

    @property
    def currency(self) -> str:
        return "ε" if self.whole.is_pure else "ρ"

    def cost(self, attempt: Attempt) -> dict[str, Any]:
        """What an attempt costs, as tasks take it."""
        return {"epsilon" if self.whole.is_pure else "rho": attempt.amount}

    def name_of(self, attempt: Attempt, what: str) -> Key | None:
        """The name of a charge."""
        return None if self.key is None else Key(f"{self.key}:{attempt.number}:{what}", self.request)

    # attempts

    def run(self, act: Act, first: str, what: str, goal: float) -> Run:
        """Attempt after attempt, until one is accepted or nothing is left; `first` names the first charge of each."""
        steps: list[Step] = []
        attempt: Attempt | None = self.schedule.attempts[0]
        ended: tuple[Ending, str, Any] = Ending.NOT_REACHED, "no attempt was good enough: allow more blocks", None
        while attempt is not None:
            charged = self._charged(attempt, first)
            blocks = charged or self._blocks(attempt)
            if not isinstance(blocks, BlockNames):
                ended = (*blocks, None)
                break
            try:
                tested = act(attempt, blocks)
            except BudgetExhausted as refused:
                ended = Ending.NO_BUDGET, f"{refused.reason}; {refused.fix}", None
                break
            except QueryFailed:
                if charged is None:
                    raise
                tested = None
            steps.append(_step(attempt, self._words(blocks), tested))
            if tested is None:  # the same again, as another attempt
                attempt = replace(attempt, number=attempt.number + 1)
            elif tested.decision is Decision.RETRY:
                attempt = self.schedule.after(attempt)
            else:
                ended = (*ENDINGS[tested.decision], tested.result)
                break
        return Run(what, goal, self.schedule, self.currency, tuple(steps), *ended)

    def _charged(self, attempt: Attempt, first: str) -> BlockNames | None:
        """The blocks that an attempt was charged for, if it was."""
        key, ledger = self.name_of(attempt, first), self.curator._ledger
        number = None if key is None else ledger.charged(key)
        entry = None if number is None else ledger.entry(number)
        return None if entry is None else entry.blocks

    def _blocks(self, attempt: Attempt) -> BlockNames | tuple[Ending, str]:
        """The newest blocks that can bear the cost; or how it ends, and why."""
        standing = self.curator._ledger.stream(self.stream)
        live = [number for low, high in standing.live for number in range(low, high + 1)]
        able = [number for number in live if standing.left(number, self.analyst).amount >= attempt.amount]
        if len(able) >= attempt.blocks:
            return BlockNames.of(self.stream, able[-attempt.blocks :])
        cost = f"{self.currency} {float(attempt.amount):.4g}"
        needs = f"attempt {attempt.number} needs {cost} of {counted(attempt.blocks, 'block')}"
        again = "run it again" if self.key is None else f"run it again with key={self.key!r}"
        more = attempt.blocks - len(able)
        fix = f"{again} when {counted(more, 'more block')} {'has' if more == 1 else 'have'} arrived"
        if len(live) < attempt.blocks:
            return Ending.NO_BLOCKS, f"{needs}, and there {_are(len(live))}: {fix}"
        return Ending.NO_BUDGET, f"{needs}, and {len(able)} of {len(live)} have as much left: {fix}"

    def _words(self, blocks: BlockNames) -> str:
        labels = self.curator._ledger.stream(self.stream).labels
        runs = [(labels[low], labels[high]) for low, high in blocks.ranges]
        return ", ".join(low if low == high else f"{low}..{high}" for low, high in runs)


Act = Callable[[Attempt, BlockNames], Tested]
ENDINGS: Final = {
    Decision.ACCEPT: (Ending.ACCEPTED, "the test accepted"),
    Decision.REJECT: (
        Ending.REJECTED,
        "no function of these columns reaches the goal: more rows or a higher cost do not help",
    ),
}


def _step(attempt: Attempt, blocks: str, tested: Tested | None) -> Step:
    if tested is None:
        return Step(attempt, blocks, None)
    return Step(attempt, blocks, tested.decision, tested.value, tested.miss, tested.cached)


def _are(count: int) -> str:
    return {0: "are none", 1: "is one"}.get(count, f"are {count}")


def _named(policy: Policy, stream: str | None) -> str:
    """The stream that is meant."""
    streams = list(policy.streams)
    if stream is None and len(streams) == 1:
        return streams[0]
    if stream in streams:
        return str(stream)
    fix = f"stream is one of {', '.join(streams)}" if streams else "give a table a stream in the policy"
    raise Refused("stream-invalid", "that is no stream of the policy" if streams else "the policy has no stream", fix)


def _same_kind(policy: Policy, cap: object, *, pure: bool) -> Cost:
    """The cap, said as the first cost is."""
    return Cost.read(policy, epsilon=cap) if pure else Cost.read(policy, rho=cap)


def _no_cost(policy: Policy) -> Refused:
    usual = usual_cost(policy)
    first = float(f"{usual / 4:.2g}")
    cost = {"epsilon": first, "cap": 8 * first}
    fix = (
        f"add what the first attempt costs a block and what the last may, such as epsilon={first:g}, cap={8 * first:g}"
    )
    return Refused("cost-missing", "the attempts have no cost", fix, edit=Edit(arguments=cost))
