"""Several queries handed over together: one charge, and less error than one by one where they are counting queries."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting import compose
from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.accounting.losses import Sensitivity
from discreet.answers import Answer, Preview
from discreet.answers.batches import TASK
from discreet.answers.batches import Queries as Asked
from discreet.answers.call import Call, written
from discreet.curator.prepared import PreparedQuery
from discreet.curator.rows import PreparedTask
from discreet.curator.task import Context, demand_choice
from discreet.errors import Refused
from discreet.exact import probability
from discreet.exit import Bill, Cost, Exit, Outcome, Reader
from discreet.exit.cost import Loss
from discreet.policy import Policy
from discreet.release.codec import decode, demand_type, encode, stored
from discreet.release.core import Published, demand_affordable, variance_of
from discreet.release.plans import Product, factor_size, factors_for
from discreet.release.queries import Queries
from discreet.release.recognised import Family, families
from discreet.release.remembered import Remembered
from discreet.release.strategies import Matrix, Strategy
from discreet.sql.cache import NoisyMeasures
from discreet.sql.cost import Allocation, allocate, lines_of, shares_of
from discreet.sql.draw import draw
from discreet.sql.expected_error import errors, words
from discreet.sql.now import present
from discreet.sql.plan import Plan

MOST_SCALE: Final = 2**12
MOST_CLASSES: Final = 512
"""Of cells that queries tell apart: with more of them a batch would take long to plan."""


@stored
@dataclass(frozen=True, kw_only=True, eq=False)
class BatchValues(Published):
    """What a batch let out: of each family what was measured, of all other queries their noisy measures."""

    plans: tuple[Product, ...]
    values: tuple[Any, ...]
    """Of each family the measurements."""
    others: tuple[str, ...]
    """Of each other query its noisy measures, in base64."""
    variances: tuple[float, ...] = ()
    """Of each family that of the noise on its measurements; older records do not say it."""

    def __post_init__(self) -> None:
        demand_type(plans=(self.plans, tuple), values=(self.values, tuple), others=(self.others, tuple))
        for plan in self.plans:
            demand_type(plan=(plan, Product))
        for variance in self.variances:
            demand_type(variance=(variance, float))
        if len(self.variances) not in (0, len(self.plans)):
            raise ValueError("each family has a variance")
        for text in self.others:
            demand_type(text=(text, str))
        for plan, values in zip(self.plans, self.values, strict=True):
            demand_type(values=(values, np.ndarray))
            if values.shape != (plan.rows,) or values.dtype != np.int64:
                raise ValueError("a strategy has as many measurements as rows")


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Asked):
    """Several queries as one task: see `Asks.batch`."""

    now: datetime | None = None
    """What CURRENT_DATE and the like mean, where a record says it."""

    def prepared(self, context: Context) -> PreparedBatch:
        """All of them with one bill, or a refusal.

        Theorem  All answers together cost a unit what the caller says.
        Proof    Families are measured for their shares, each as one vector that a unit of r rows moves by r times the
                 norms of a column of its strategy (`Family.counted`); other queries for theirs, as queries are. Shares
                 add up to 1, and losses add up. Everything else is post-processing.
        """
        texts = self.texts
        demand_choice(self.fresh, "cached answers")
        now = self.now or context.present(texts, self.key)
        calls = [Call(sql=text, now=now if present(text) else None) for text in texts]
        plans = [context.plan(context.version, call) for call in calls]
        for plan in plans:
            _demand_plain(plan)
        try:
            confidence = probability(self.confidence, "confidence")
        except (TypeError, ValueError) as wrong:
            raise Refused("cost-invalid", str(wrong), "give a confidence such as 0.95") from None
        recognised = [family for family in families(context, plans) if 0 < family.matrix.shape[1] <= MOST_CLASSES]
        members = {index for family in recognised for index in family.members}
        rest = [index for index in range(len(plans)) if index not in members]
        private = any(release.private_keys for index in rest for release in plans[index].releases)
        cost = Cost.read(context.policy, epsilon=self.epsilon, rho=self.rho, delta=self.delta, private_keys=private)
        share = Fraction(1, len(plans))
        measured = tuple(_Measured.of(family, cost, share * len(family.members)) for family in recognised)
        allocations = _allocations(context.policy, cost, [plans[index] for index in rest], share * len(rest))
        losses = [*(each.loss for each in measured), *(each.loss for each in allocations.values())]
        loss = compose(*(each if cost.pure else each.concentrated() for each in losses)).per(context.policy.unit)
        fingerprint = [plan.fingerprint for plan in plans]
        digest = hashlib.sha256(json.dumps([1, fingerprint]).encode()).hexdigest()
        bill = Bill(
            loss=loss,
            cost=cost,
            why="; ".join(texts),
            plan=f"{TASK}:{digest}",
            **context.about,
            analyst=self.analyst,
            call={"task": TASK, "queries": texts, **self.said, **written(Call(sql="", now=now))},
            key=self.key,
            fresh=self.fresh,
        )
        queries = tuple(
            PreparedQuery(context, plan, allocate(context.policy, cost, plan.releases), confidence, bill, text)
            for plan, text in zip(plans, texts, strict=True)
        )
        ordered = tuple((rest[order], allocation) for order, allocation in allocations.items())
        return PreparedBatch(context, bill, queries, measured, ordered)


def _demand_plain(plan: Plan) -> None:
    options = plan.options
    if any(getattr(options, each) is not None for each in ("epsilon", "rho", "delta", "error")):
        raise Refused("cost-twice", "a query of a batch names a cost of its own", "leave it to the batch, or ask alone")
    if plan.unknown or plan.explain or not plan.releases:
        reason = "a query of a batch needs bounds to be found, explains, or reads nothing private"
        raise Refused("statement-not-allowed", reason, "ask it alone")


def _allocations(policy: Policy, cost: Cost, plans: Sequence[Plan], share: Fraction) -> dict[int, Allocation]:
    """How other queries share what is left to them: as if they were one query."""
    releases = [release for plan in plans for release in plan.releases]
    if not releases:
        return {}
    lines = lines_of(releases)
    shares = [each * share for each in shares_of(cost, lines)]
    whole = allocate(policy, cost, releases, shares)
    split: dict[int, Allocation] = {}
    start = first = 0
    for index, plan in enumerate(plans):
        count, size = len(plan.releases), len(lines_of(plan.releases))
        mechanisms = whole.mechanisms[first : first + count]
        losses = [loss if cost.pure else loss.concentrated() for each in mechanisms for loss in each.losses]
        loss: Any = compose(*losses)
        split[index] = replace(whole, shares=tuple(shares[start : start + size]), mechanisms=mechanisms, loss=loss)
        start, first = start + size, first + count
    return split


@dataclass(frozen=True, eq=False)
class _Measured:
    """A family with its strategy and its share of the cost."""

    family: Family
    plan: Product
    share: Fraction
    moved: Sensitivity
    variance: float
    loss: Loss

    @classmethod
    def of(cls, family: Family, cost: Cost, share: Fraction) -> _Measured:
        rows = family.node.rows or 1
        queries = Queries("matrix", family.matrix.shape[1], matrix=family.matrix)
        scale = min(cost.fineness(Sensitivity.cells(1, rows), share), MOST_SCALE)
        plan = Product((_best(queries, scale, pure=cost.pure),), (queries.cells,))
        one = plan.sensitivity
        moved = Sensitivity(one.l1 * rows, one.l2_squared * rows**2)
        demand_affordable(cost, moved, share)
        return cls(family, plan, share, moved, variance_of(cost, moved, share), cost.noise(moved, share).loss)

    def noisy(self, values: Any, *, pure: bool, confidence: Fraction) -> dict[int, NoisyMeasures]:
        """For each member what it would have drawn itself: estimates rounded to whole numbers, and their noise."""
        estimate = self.family.matrix @ self.plan.solved(values.astype(np.float64))
        variances = self._variances()
        drawn, start = {}, 0
        for member, count in zip(self.family.members, self.family.answers, strict=True):
            numbers = [round(number) for number in estimate[start : start + count].tolist()]
            noise = _noise_of(float(variances[start : start + count].max()) + 1 / 12, confidence, pure=pure)
            drawn[member] = NoisyMeasures().then((noise,), (numbers,), None)
            start += count
        return drawn

    def noises(self, *, pure: bool, confidence: Fraction) -> dict[int, Noise]:
        """For each member the noise of its answers."""
        variances, start, known = self._variances(), 0, {}
        for member, count in zip(self.family.members, self.family.answers, strict=True):
            most = float(variances[start : start + count].max()) + 1 / 12
            known[member] = _noise_of(most, confidence, pure=pure)
            start += count
        return known

    def _variances(self) -> Any:
        (factor,) = self.plan.factors
        return self.variance * np.array([factor.variance(row) for row in self.family.matrix])


_SEARCHED: Remembered[Strategy] = Remembered()


def _best(queries: Queries, scale: int, *, pure: bool) -> Strategy:
    """The strategy with the least error, among them the queries themselves; remembered, since some take seconds."""

    def search() -> Strategy:
        tried = factors_for(queries, scale, pure=pure)
        themselves = _themselves(queries, scale)
        tried += [] if themselves is None else [themselves]
        return min(tried, key=lambda each: factor_size(each, queries, pure=pure))

    return _SEARCHED.get((queries.key, scale, pure), search)


def _themselves(queries: Queries, scale: int) -> Matrix | None:
    """The queries as they are, each measured once; every class a little, so that estimates exist."""
    rows = np.unique(queries.rows.astype(np.int64), axis=0)
    if len(rows) > MOST_CLASSES:
        return None
    return Matrix(np.concatenate([scale * rows, np.eye(rows.shape[1], dtype=np.int64)]), "queries")


def _noise_of(variance: float, confidence: Fraction, *, pure: bool) -> Noise:
    """A distribution whose interval is at least that of a sum of such noises: of Laplace noise the wider of two."""
    gaussian = DiscreteGaussian(Fraction(variance).limit_denominator(10**6))
    if not pure:
        return gaussian
    laplace = DiscreteLaplace(Fraction(math.sqrt(variance / 2)).limit_denominator(10**6))
    return gaussian if gaussian.width(confidence) > laplace.width(confidence) else laplace


@dataclass(frozen=True, slots=True, eq=False)
class PreparedBatch(PreparedTask):
    """A batch with its bill: nothing was read for it."""

    queries: tuple[PreparedQuery, ...]
    measured: tuple[_Measured, ...]
    others: tuple[tuple[int, Allocation], ...]
    """Queries that are answered side by side, by their places."""

    def check(self) -> None:
        for query in self.queries:
            query.check()
        for each in self.measured:
            self._demand_runnable(each.family.query, self.queries[each.family.members[0]].plan.schemas)

    def rehearse(self) -> None:
        for query in self.queries:
            query.rehearse()
        for each in self.measured:
            schemas = self.queries[each.family.members[0]].plan.schemas
            self.context.demand_planned([each.family.query], schemas)

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        values = tuple(
            exit_.release(each.plan.measured(each.family.counted(rows.rows(each.family.query))), each.moved, each.share)
            for each in self.measured
        )
        others = tuple(
            base64.b64encode(draw(self.queries[index].plan, allocation, rows, exit_).encode()).decode("ascii")
            for index, allocation in self.others
        )
        plans, variances = tuple(each.plan for each in self.measured), tuple(each.variance for each in self.measured)
        return encode(BatchValues(plans=plans, values=values, others=others, variances=variances))

    def decode(self, stored: bytes) -> BatchValues | None:
        return decode(stored, BatchValues)

    def is_met(self, value: BatchValues, cost: Loss) -> bool:
        """Whether cached values are of the same families, and cost enough."""
        same = len(value.plans) == len(self.measured) and len(value.others) == len(self.others)
        shapes = zip(value.plans, self.measured, strict=False)
        return same and cost.covers(self.bill.loss) and all(a.shape == b.plan.shape for a, b in shapes)

    def show(self, outcome: Outcome[BatchValues]) -> list[Answer]:
        nothing = self.context.nothing
        confidence = self.queries[0].confidence
        drawn: dict[int, NoisyMeasures] = {}
        stored = outcome.value
        variances = stored.variances or tuple(each.variance for each in self.measured)
        for each, plan, values, variance in zip(self.measured, stored.plans, stored.values, variances, strict=True):
            known = replace(each, plan=plan, variance=variance)
            drawn |= known.noisy(values, pure=self.bill.cost.pure, confidence=confidence)
        for (index, _), text in zip(self.others, stored.others, strict=True):
            measures = NoisyMeasures.decode(base64.b64decode(text))
            assert measures is not None
            drawn[index] = measures
        loss = nothing if outcome.loss is None else outcome.loss
        answers = [
            query._answer(drawn[index], loss, outcome.cost, outcome.receipt, cached=outcome.cached)
            for index, query in enumerate(self.queries)
        ]
        return [replace(answer, notes=(*self._notes(), *answer.notes)) for answer in answers]

    def _notes(self) -> tuple[str, ...]:
        count = len(self.queries)
        together = sum(len(each.family.members) for each in self.measured)
        notes = [f"one of {count} answers of one charge"]
        if together:
            notes.append(
                f"{together} counting queries were measured together; values outside of what is declared are NULL"
            )
        return tuple(notes)

    def preview(self, *, cached: bool) -> Preview:
        """What all of it would cost, and the error of each query."""
        pure, confidence = self.bill.cost.pure, self.queries[0].confidence
        noises: dict[int, tuple[tuple[Noise | None, ...], ...]] = {
            index: allocation.noises for index, allocation in self.others
        }
        for each in self.measured:
            known = each.noises(pure=pure, confidence=confidence)
            noises |= {index: ((noise,),) for index, noise in known.items()}
        error: dict[str, float] = {}
        noise_words: dict[str, str] = {}
        for index, query in enumerate(self.queries):
            for label, width in errors(query.plan, noises[index], confidence).items():
                error[f"{index + 1}: {label}"] = width
            for label, text in words(query.plan, noises[index]).items():
                noise_words[f"{index + 1}: {label}"] = text
        return self._previewed(
            columns=list(error),
            cached=cached,
            error=error,
            noise=noise_words,
            notes=self._notes(),
            confidence=float(confidence),
            shares={f"{index + 1}": 1 / len(self.queries) for index in range(len(self.queries))},
        )
