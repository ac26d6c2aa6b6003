"""The task of a query that leaves bounds out: find them, then release, in one charge.

What is searched for, how the cost is split and what is charged follow from text and policy (`sql.unknown`). Bounds that
an earlier charge found for the same value of the same rows of the same data are taken again: that is post-processing of
what was released, and the whole cost is then for the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, Self

from discreet.accounting import Concentrated, Pure
from discreet.answers import Answer, Preview
from discreet.answers.call import Call
from discreet.curator.found_bounds import CachedSearch
from discreet.curator.prepared import PreparedQuery, prepared
from discreet.curator.task import Context
from discreet.errors import BudgetExhausted, Refused
from discreet.exit import Bill, Exit, Outcome, Reader
from discreet.exit.cost import Loss, noise_of
from discreet.ledger import Charge, LedgerDamaged
from discreet.ledger.entries import CHANGED
from discreet.sql.cost import Allocation, allocate, rank_notes
from discreet.sql.draw import draw
from discreet.sql.expected_error import errors, words
from discreet.sql.plan import Plan
from discreet.sql.unknown import SHARE, Extremes, Found, Range, Unknown

ABOUT: Final = 1.05
"""Errors that differ by less, for what grids round, are shown as one."""


@dataclass(frozen=True)
class PreparedSearch:
    """A query that leaves bounds out, with its bill: nothing was read for it.

    Theorem  Whatever is found, the exit lets out at most what is charged, and what is charged follows from the text.
    Proof    `bill.loss` is the whole cost, with the δ of partition selections, which bounds do not change. Searches
             get shares that add up to `SHARE`, the releases shares that add up to the rest, and every mechanism costs
             its share at most. The exit refuses more (`exit.Exit`).
    """

    query: PreparedQuery
    """Planned with the bounds that are known."""
    known: Found
    """Bounds that earlier charges found."""
    plan: str
    """The fingerprint of the query without any bounds, so that it is the same whatever is known."""

    @property
    def _context(self) -> Context:
        return self.query.context

    @property
    def _call(self) -> Call:
        assert self.query.call is not None
        return self.query.call

    @property
    def _unknown(self) -> tuple[Unknown, ...]:
        return self.query.plan.unknown

    @property
    def _rest(self) -> Fraction:
        """The share of the releases."""
        return 1 - SHARE if self._unknown else Fraction(1)

    @cached_property
    def bill(self) -> Bill:
        return replace(self.query.bill, plan=self.plan, loss=self._loss)

    @property
    def _loss(self) -> Loss:
        """Of all that may leave: the whole cost where bounds are searched for."""
        loss, cost = self.query.loss, self.query.allocation.cost
        if not self._unknown:
            return loss
        whole = Pure(cost.amount) if loss.is_pure else Concentrated(cost.amount, loss.amounts["delta"])
        return whole.per(self._context.policy.unit)

    @property
    def is_public(self) -> bool:
        return self.query.is_public

    # before the charge

    def check(self) -> None:
        """With the narrowest and with the widest bounds that can be found."""
        for plan in (self.query.plan, *self._imagined):
            replace(self.query, plan=plan).check()

    def rehearse(self) -> None:
        for plan in (self.query.plan, *self._imagined):
            replace(self.query, plan=plan).rehearse()

    def ready(self) -> None:
        self.query.ready()

    def exhausted(self, charge: Charge, refused: BudgetExhausted) -> BudgetExhausted:
        return self.query.exhausted(charge, refused)

    @cached_property
    def _imagined(self) -> tuple[Plan, Plan]:
        """The plans with the narrowest and with the widest bounds that can be found."""
        plan, known = self.query.plan, self.known
        return (
            self._finished(plan, known, lambda unknown: unknown.extremes[0]),
            self._finished(plan, known, lambda unknown: unknown.extremes[1]),
        )

    def _finished(self, plan: Plan, known: Found, find: Callable[[Unknown], Range]) -> Plan:
        """The plan when everything is found."""
        bounds = dict(known)
        while plan.unknown:
            bounds |= {unknown.key: find(unknown) for unknown in plan.searched_first}
            plan = self._planned(bounds)
        return plan

    def demand_drawable(self) -> None:
        """Refuse what could not be drawn, whatever is found: noise grows with the widest of it, in steps of a grid."""
        for plan in self._imagined:
            split(self.query, plan, self._rest)
        for unknown in self._unknown:
            self.query.allocation.cost.noise(unknown.sensitivity, SHARE / len(self._unknown))

    def _planned(self, bounds: Found) -> Plan:
        return self._context.plan(self._context.version, self._call, bounds)

    # the charge

    def run(self, rows: Reader, exit_: Exit) -> bytes:
        """Search, plan again, draw: the second plan and its noise depend on what was released alone."""
        plan, bounds = self.query.plan, dict(self.known)
        share = SHARE / max(len(plan.unknown), 1)
        while plan.unknown:
            for unknown in plan.searched_first:
                exact = unknown.counts(rows.rows(unknown.sql()))
                noise = noise_of(exit_.cost.noise(unknown.sensitivity, share))
                bounds[unknown.key] = unknown.read(exit_.release(exact, unknown.sensitivity, share), noise)
            plan = self._planned(bounds)
        allocation = split(self.query, plan, self._rest) if self._unknown else self.query.allocation
        return CachedSearch(bounds, self._rest, draw(plan, allocation, rows, exit_)).encode()

    def decode(self, cached: bytes) -> CachedSearch | None:
        return CachedSearch.decode(cached)

    def is_met(self, value: CachedSearch, cost: Loss) -> bool:
        if self.query.wanted is not None:
            return value.bounds == self.known and self.query.is_met(value.drawn, cost)
        return cost.covers(self.bill.loss)

    # after it

    def show_public(self, preview: Callable[[], Preview]) -> Answer:
        return self.query.show_public(preview)

    def show(self, outcome: Outcome[CachedSearch]) -> Answer:
        cached, context = outcome.value, self._context
        if not outcome.cached:  # what is shown again may be of earlier data
            context.bounds.note(outcome.number, cached.bounds, context.digest, context.version)
        plan, searches = self._repeated(cached.bounds)
        notes = [unknown.note(cached.bounds[unknown.key], context.policy.unit) for unknown in searches]
        allocation = self.query.allocation if self.query.wanted is not None else split(self.query, plan, cached.rest)
        closed = replace(self.query, plan=replace(plan, notes=(*plan.notes, *notes)), allocation=allocation)
        return closed.show(Outcome(cached.drawn, outcome.loss, outcome.cost, outcome.receipt))

    def _repeated(self, bounds: Found) -> tuple[Plan, list[Unknown]]:
        """The plan with what was found, and all that was searched for on the way to it."""
        searches: list[Unknown] = []

        def repeat(unknown: Unknown) -> Range:
            if unknown.key not in bounds:
                raise LedgerDamaged("a cached answer cannot be read", CHANGED)
            searches.append(unknown)
            return bounds[unknown.key]

        return self._finished(self._planned({}), {}, repeat), searches

    def preview(self, *, cached: bool) -> Preview:
        """Of a query whose bounds are not known yet, how errors grow with what is found."""
        shown = self.query.preview(cached=cached)
        if not self._unknown:
            return shown
        sides = [Imagined.of(self.query, plan, self._rest) for plan in self._imagined]
        narrow, wide = sides
        both = {
            label: (min(half, wide.errors[label]), max(half, wide.errors[label]))
            for label, half in narrow.errors.items()
            if label in wide.errors
        }
        ranges = {label: ends for label, ends in both.items() if ends[1] > ends[0] * ABOUT}
        assumed = {each.note for release in self.query.plan.releases for each in release.aggregates}
        ranks = set(rank_notes(self.query.plan.releases, self.query.allocation, self.query.confidence))
        searched = {unknown.words: float(SHARE / len(self._unknown)) for unknown in self._unknown}
        shares = f"{float(100 * SHARE):g} % of the cost finds {', '.join(searched)}; the rest is for the release"
        return replace(
            shown,
            loss=self.bill.loss,
            error={label: most for label, (_, most) in both.items() if label not in ranges},
            noise={label: text for label, text in narrow.noise.items() if wide.noise.get(label) == text},
            ranges=ranges,
            averages={},
            shares=searched | narrow.allocation.by_words,
            notes=(
                *(note for note in shown.notes if note not in assumed | ranks),
                shares,
                *self._multiples(ranges),
                *rank_notes(wide.plan.releases, wide.allocation, self.query.confidence),
            ),
        )

    def _multiples(self, ranges: Mapping[str, tuple[float, float]]) -> list[str]:
        """How the error of each column grows with the one bound that is found, where it is about a multiple of it."""
        first, *others = self._unknown
        if not isinstance(first, Extremes) or others:
            return []
        widths = [float(max(abs(each.low), abs(each.high))) for each in first.extremes]
        notes = []
        for label, ends in ranges.items():
            few, many = sorted(half / width for half, width in zip(ends, widths, strict=True))
            if many < 3 * few:
                notes.append(f"error of {label}: about {many:.3g} times the larger bound that is found, at most")
        return notes


@dataclass(frozen=True, slots=True)
class Imagined:
    """A plan with bounds that could be found, and what would be known of its errors."""

    plan: Plan
    allocation: Allocation
    errors: dict[str, float]
    noise: dict[str, str]

    @classmethod
    def of(cls, query: PreparedQuery, plan: Plan, rest: Fraction) -> Self:
        allocation = split(query, plan, rest)
        halves = errors(plan, allocation.noises, query.confidence)
        return cls(plan, allocation, halves, words(plan, allocation.noises))


def split(query: PreparedQuery, plan: Plan, rest: Fraction) -> Allocation:
    """The mechanisms of a plan for a share of the cost."""
    policy, cost = query.context.policy, query.allocation.cost
    whole = allocate(policy, cost, plan.releases)
    return whole if rest == 1 else allocate(policy, cost, plan.releases, [share * rest for share in whole.shares])


def prepared_search(context: Context, call: Call, plan: Plan) -> PreparedSearch:
    """A query that leaves bounds out, with what is known of them, or a refusal."""
    first, known = plan, dict[str, Range]()
    while not call.fresh and plan.unknown:
        taken = {unknown.key: bounds for unknown in plan.searched_first if (bounds := _known(context, unknown))}
        if not taken:
            break
        known |= taken
        plan = context.plan(context.version, call, known)
    if plan.unknown and (call.error is not None or plan.options.error is not None):
        raise Refused(
            "accuracy-unreachable",
            "the error depends on bounds that have to be found first",
            "give epsilon, or state the bounds, such as SUM(CLAMP(x, 0, 100))",
        )
    task = PreparedSearch(prepared(context, call, plan), known, first.fingerprint)
    if not task.is_public:
        task.demand_drawable()
    return task


def _known(context: Context, unknown: Unknown) -> Range | None:
    return context.bounds.find(context.ledger, unknown.key, context.digest, context.version)
