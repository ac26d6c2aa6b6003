"""Trainings that run elsewhere on the same people: charged here first, as one entry, so that one budget counts all.

A training of many steps on Poisson samples (Opacus, TensorFlow Privacy, a federated one) has no useful ρ; what is known
of it is (ε′, δ′), by the distributions of its losses (`accounting.Batch`). The task asks for its sampling rate and its
number of steps, and says with which noise it may run.

Theorem  A training that runs once, as permitted, costs a unit what the caller says, whatever else the ledger holds.
Assumes  Each step takes each unit with probability `rate`, independently, and nobody sees whom; clips what a unit adds
         to an L2 norm C; adds Gaussian noise of standard deviation sigma·C to the sum; and there are `steps` of them.
Proof    The batch is (ε′, δ′)-DP, hence δ′-approximate ρ′-zCDP with ρ′ = ε′·tanh(ε′/2) (decision 032); sigma is found
         so that ρ′ is at most the ρ that the cost stands for, and δ′ is its part of the selection half of δ. Both are
         on disk before the permit is given; a preview names sigma, and permits nothing. No private row is read here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final

from discreet.accounting import Batch, GaussianNoise, Sampled, sigma_for_training
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.labels import selection_delta
from discreet.accounting.record import Entry, Key
from discreet.accounting.rounding import float_up
from discreet.answers import Preview
from discreet.curator.rows import PreparedTask
from discreet.curator.task import Context
from discreet.errors import Refused
from discreet.exact import Number, number, whole
from discreet.exit import Bill, Cost, Exit, Outcome, Reader
from discreet.exit.cost import Loss

TASK: Final = "training"
ONCE: Final = "train once: another run is another charge"


@dataclass(frozen=True, slots=True)
class Permit:
    """With what noise a training may run, once."""

    sigma: float
    """Of the noise, in clipping norms."""
    rate: float
    steps: int
    epsilon: float
    """ε′ and δ′ of the training by itself: what was charged is the label that adds up."""
    delta: float
    receipt: str = ""

    def __str__(self) -> str:
        return (
            f"noise multiplier {self.sigma:.4g} for {self.steps:,} steps at rate {self.rate:g}: "
            f"(ε {self.epsilon:.4g}, δ {self.delta:.3g}); {ONCE}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """A training elsewhere: `curator.preview_of(Training(…))`, then `curator.perform(Training(…))`.

    The cost is said as for queries: `epsilon` (with `delta`), or `rho`.
    """

    why: str
    rate: Number
    steps: int
    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    key: Key | str | None = None
    analyst: ClassVar[str | None] = None
    """Only owners hold rows to train on."""

    def prepared(self, context: Context) -> PreparedTraining:
        """The training with its bill, or a refusal."""
        budget = context.policy.budget
        if budget.delta is None:
            fix = "use a policy whose budget has delta"
            raise Refused("cost-invalid", "a training on samples is no ε-DP: it has a δ", fix)
        cost = Cost.read(context.policy, epsilon=self.epsilon, rho=self.rho, delta=self.delta, private_keys=True)
        delta = cost.delta or selection_delta(cost.amount, budget.epsilon, budget.delta)
        permit, loss = self._permitted(cost.amount, delta)
        said = {"task": TASK, "why": str(self.why), **asdict(permit)}
        bill = Bill(
            loss=loss.per(context.policy.unit),
            cost=cost.of(loss.rho),
            why=f"training elsewhere: {self.why}",
            plan=f"{TASK}:{hashlib.sha256(json.dumps([1, context.digest, said]).encode()).hexdigest()}",
            data=context.version,
            call=said,
            key=self.key,
            fresh=True,
        )
        return PreparedTraining(context, bill, permit)

    def _permitted(self, rho: Fraction, delta: Fraction) -> tuple[Permit, Any]:
        """The least noise for which the training costs at most ρ and δ, and what it costs."""
        try:
            steps, rate = whole(self.steps, "steps"), float(number(self.rate, "rate"))
            sigma = _least_noise(rho, rate, steps, delta)
            batch = Batch([(Sampled(GaussianNoise(sigma), rate), steps)])
        except (TypeError, ValueError) as wrong:
            raise Refused("cost-invalid", str(wrong), "give rate and steps, such as 0.01 and 1000") from None
        loss = batch.loss(delta)
        return Permit(sigma, rate, steps, float_up(loss.epsilon), float_up(loss.delta)), loss.concentrated()


@lru_cache(maxsize=64)
def _least_noise(rho: Fraction, rate: float, steps: int, delta: Fraction) -> float:
    """Found by many trials: a preview and the charge after it take the same."""
    return sigma_for_training(_epsilon_within(rho), rate, steps, delta)


def _epsilon_within(rho: Fraction) -> Fraction:
    """Nearly the largest ε with ε·tanh(ε/2) ≤ ρ."""
    low, high = Fraction(0), Fraction(1)
    while rho_of_pure(high) <= rho:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if rho_of_pure(middle) <= rho else (low, middle)
    return low


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTraining(PreparedTask):
    """A training with its bill."""

    permit: Permit

    def check(self) -> None:
        """There is no query that might not run."""

    def run(self, rows: Reader, exit_: Exit) -> bytes:  # noqa: ARG002  (nothing is read and nothing let out)
        return json.dumps(asdict(self.permit)).encode()

    def decode(self, stored: bytes) -> Permit | None:
        return _permit(stored)

    def is_met(self, value: Permit, cost: Loss) -> bool:  # noqa: ARG002
        """Never: a permit is for one training, and another needs another charge."""
        return False

    def show(self, outcome: Outcome[Permit]) -> Permit:
        return Permit(**{**asdict(outcome.value), "receipt": outcome.receipt})

    def preview(self, *, cached: bool) -> Preview:
        permit = self.permit
        promise = f"(ε {permit.epsilon:.4g}, δ {permit.delta:.3g})"
        counted = f"the training runs at {promise}, which is charged as {self.bill.loss.words}"
        return self._previewed(
            columns=[],
            cached=cached,
            error={},
            noise={
                "training": f"Gaussian noise of {permit.sigma:.4g} clipping norms in each of {permit.steps:,} steps"
            },
            notes=(counted, ONCE),
        )


def recalled(stored: bytes, entry: Entry) -> Permit:  # noqa: ARG001  (as all of these are called)
    """The permit of a charge."""
    permit = _permit(stored)
    if permit is None:
        raise Refused("answer-gone", "another version of discreet gave this permit", "ask for another: it is charged")
    return permit


def _permit(stored: bytes) -> Permit | None:
    """None where what is stored is damaged, or of another version."""
    try:
        return Permit(**json.loads(stored))
    except (TypeError, ValueError):
        return None
