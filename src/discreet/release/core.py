"""What all publications share: public arguments, the cost, the charge, exact rows in, a published value out.

How to write one
    A frozen dataclass marked with `@stored` that is a `Publication`: its fields are public arguments, and it can be
    written as JSON. These methods say the rest; the first two run before anything is charged, on public facts alone.

    declared(fields)
                    the same publication with what the policy says about the columns, where the caller left it out; or
                    a refusal (`undeclared-…`, `release-invalid`). Called without fields for the caller's own arrays:
                    then all must be said already.
    expected(cost, most)
                    the error to expect, and how the cost is shared, for units of at most `most` rows; a refusal where
                    the cost is too low.
    run(rows, exit_)
                    the published value. `rows` are exact (`Rows`), `rows.most` of one unit. Numbers leave it through
                    `exit_.release(integers, sensitivity, share)` (or `choose`, `select_keys`, `part`) alone, with a
                    sensitivity *of a unit of `rows.most` rows*, proven in the docstring beside it. It must not raise
                    whatever the rows are: an error that depends on rows is a leak. Long loops go through
                    `exit_.watched`; random numbers for post-processing come from `exit_.below` or `exit_.seed`.

    `columns` names what is read. `selects` says whether private keys are found: then the exit's δ, and half of a δ that
    the caller names, is for that (`exit_.cost.delta`). `wants_units` asks for `rows.units`.

What is published is a `Published`: a frozen dataclass marked with `@stored`, complete without any secret. It is kept
beside its charge, cached, and recalled by the number of the charge.

The neighbouring relation is add or remove one unit with all of its rows, of which `max_rows` are read. On arrays of the
caller a row is a unit; where a person has k rows, `group(loss, k)` is the loss.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, TypeVar

import numpy as np

from discreet.accounting import Concentrated, rho_for
from discreet.accounting.distributions import DiscreteLaplace
from discreet.accounting.losses import Sensitivity
from discreet.answers.models import Documented, Publisher
from discreet.answers.progress import shown
from discreet.errors import Refused
from discreet.exact import LEAST_EPSILON, Number, flag, probability
from discreet.exit import SAMPLER, Cost, Exit, Sampler, opened
from discreet.exit.charges import charge_for
from discreet.exit.cost import WHOLE, Loss, noise_of
from discreet.mechanisms import Laplace
from discreet.printing import inert
from discreet.release.codec import demand_type as demand_type
from discreet.release.codec import stored as stored
from discreet.release.domain import Bins, Domain
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

PUBLICATIONS: Final[dict[str, type[Publication]]] = {}
"""All publications, by name."""
CONFIDENCE: Final = Fraction(95, 100)
Release = TypeVar("Release", bound="Published")


@dataclass(frozen=True, slots=True)
class Charged:
    """What a published value was charged for, and how."""

    cost: Loss
    """The cost at which it was published."""
    loss: Loss | None
    """What this call cost; None if that is nothing, because it was cached."""
    receipt: str = ""
    """Empty without a ledger."""


@dataclass(frozen=True, kw_only=True)
class Published(Documented):
    """What a publication let out: noisy numbers and public facts."""

    charged: Charged | None = field(default=None, compare=False, repr=False, metadata={"unstored": True})

    def document(self) -> Any:
        """As JSON has it."""
        from discreet.release.sent import document_of

        return document_of(self)

    def listed(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """As a table: its headings, and its rows."""
        rows: Any = getattr(self, "rows", ())
        listed = list(rows() if callable(rows) else rows)
        names = [str(name) for name in getattr(self, "columns", ())]
        return names, listed

    def csv(self) -> str:
        """The same for spreadsheets: bins by their ends, and no text that a spreadsheet would take for a formula."""
        names, rows = self.listed()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([[inert(spoken(value)) for value in row] for row in (names, *rows)])
        return text.getvalue()

    @property
    def cost(self) -> Loss | None:
        """What it was charged for."""
        return None if self.charged is None else self.charged.cost

    @property
    def cached(self) -> bool:
        """Whether it was published before, and this call cost nothing."""
        return self.charged is not None and self.charged.loss is None

    @property
    def receipt(self) -> str:
        """Of the charge."""
        return "" if self.charged is None else self.charged.receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is known before anything is read."""

    error: Mapping[str, float] = field(default_factory=dict)
    """By what is measured, in words: the half-width of its 95 % interval."""
    noise: Mapping[str, str] = field(default_factory=dict)
    """The noise of each, in words."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """For each measurement, in words, its share of the cost."""
    notes: tuple[str, ...] = ()
    cells: int | None = None
    """How many numbers are published, if that is known."""

    @property
    def size(self) -> float:
        """One number for how large the errors are: by it the less noisy kind is chosen where the caller leaves it."""
        return math.sqrt(sum(error**2 for error in self.error.values())) if self.error else 0.0


class Publication(Publisher):
    """A publication; the module says how to write one."""

    selects: ClassVar[bool] = False
    wants_units: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Known by name, so that contracts and recalls find it."""
        super().__init_subclass__(**options)
        if cls.run is not Publication.run and not cls.__name__.startswith("_"):
            PUBLICATIONS[cls.__name__] = cls

    # to be written

    def declared(self, fields: Sequence[Field] | None) -> Self:
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, once all is declared."""
        raise NotImplementedError

    def expected(self, cost: Cost, most: int) -> Expected:
        raise NotImplementedError

    def run(self, rows: Rows, exit_: Exit) -> Published:
        raise NotImplementedError

    # given

    @property
    def is_selecting(self) -> bool:
        """Whether this one finds private keys; to be overridden where that depends on arguments."""
        return self.selects

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        """What takes long, and in how many steps at most, by public facts: as `exit_.watched` is told."""
        return ()

    def release(
        self,
        data: Any,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        ledger: Any = None,
        verbose: bool = False,
    ) -> Any:
        """Publish it for rows that the caller owns, one for each unit: a frame, a mapping of columns, or rows.

        With a ledger it is one charge, on disk before the data is touched; without, the caller accounts for it.
        """
        return self._released(data, SAMPLER, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger, verbose=verbose)

    def _released(
        self, data: Any, sampler: Sampler, *, epsilon: Any, delta: Any, rho: Any, ledger: Any, verbose: bool
    ) -> Published:
        complete = self.declared(None)
        cost = complete.cost_for(epsilon=epsilon, delta=delta, rho=rho, charged=ledger is not None)
        complete.expected(cost, complete.rows_of_unit)
        flag(verbose, "verbose")
        if ledger is not None and not hasattr(ledger, "charge"):
            raise TypeError(f"ledger must be a discreet ledger or None, not a {type(ledger).__name__}")
        total = loss_of(cost, complete.is_selecting)
        charge = charge_for(ledger, total, f"{type(self).__name__}.release")
        with opened(charge, cost, limit=total, sampler=sampler) as exit_:
            exit_.watch = shown if verbose else None
            value = complete.published(complete.rows_of(data), exit_)
        return replace(value, charged=Charged(total, total, getattr(charge, "receipt", "")))

    @property
    def rows_of_unit(self) -> int:
        """On rows of the caller: how many of them one unit has; a publication that is told whose rows are may allow
        more than one.
        """
        return 1

    def rows_of(self, data: Any) -> Rows:
        """The caller's rows."""
        return Rows.of(data, self.columns)

    def published(self, rows: Rows, exit_: Exit) -> Published:
        """What `run` gives; which row over- or underflowed is private, and so is whether one did."""
        with np.errstate(all="ignore"):
            return self.run(rows, exit_)

    def cost_for(self, *, epsilon: Any = None, delta: Any = None, rho: Any = None, charged: bool = False) -> Cost:
        """On rows of the caller: ε, ρ, or of (ε, δ) the less noisy. A δ is halved where keys are selected."""
        if self.is_selecting:
            if epsilon is None or delta is None:
                Cost.alone(epsilon=epsilon, delta=delta, rho=rho)  # what else is wrong with it is said first
                fix = "give epsilon with delta"
                raise Refused("private-keys-need-delta", "private keys are selected, which needs a delta", fix)
            half = probability(delta, "delta") / 2
            return replace(Cost(Concentrated(rho_for(epsilon, half))), delta=half)
        if epsilon is None or delta is None or charged:
            return Cost.alone(epsilon=epsilon, delta=delta, rho=rho)
        return Cost.less_noisy(self._size, epsilon=epsilon, delta=delta)

    def _size(self, cost: Cost) -> float:
        try:
            return self.expected(cost, self.rows_of_unit).size
        except (Refused, ValueError):  # whichever is chosen is refused for it, in words
            return math.inf

    def task(self, sql: Any, **options: Any) -> Any:
        """The task of publishing it for a table or the rows of a SELECT, for `curator.perform` and `curator.preview`.

        Options are those of `curator.release`: epsilon (with delta) or rho, max_rows, analyst, fresh, key.
        """
        from discreet.release.publish import Publish

        return Publish(self, sql, **options)


@dataclass(frozen=True, kw_only=True)
class OverDomain(Publication):
    """A publication of the cells of a domain."""

    names: tuple[str, ...] | None = None
    """Which columns; None for all whose values are known."""
    bins: Bins | None = None
    domain: Domain | None = None
    """None: as the policy declares it."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self._domain.names

    @property
    def is_selecting(self) -> bool:
        return self.domain is not None and bool(self.domain.unlisted)

    @property
    def _domain(self) -> Domain:
        assert self.domain is not None
        return self.domain


def loss_of(cost: Cost, selecting: bool) -> Loss:
    """What everything costs that is released for it: δ is added where keys are selected."""
    if not selecting or cost.delta is None or cost.pure:
        return cost.loss
    return Concentrated(cost.amount, cost.delta)


def spoken(value: Any) -> Any:
    """What stands for a cell; the ends of a bin with a dash between them."""
    return " – ".join(map(str, value)) if isinstance(value, tuple) else value


# what publications are made of


def error_of(cost: Cost, sensitivity: Sensitivity, share: Fraction = WHOLE) -> float:
    """The half-width of the 95 % interval of the noise on each number of a vector."""
    demand_affordable(cost, sensitivity, share)
    return float(noise_of(cost.noise(sensitivity, share)).width(CONFIDENCE))


def demand_affordable(cost: Cost, sensitivity: Sensitivity, share: Fraction = WHOLE) -> None:
    """Refuse a cost of which so small a share allows no noise that can be drawn: before anything is charged."""
    if cost.amount * share < LEAST_EPSILON:
        raise Refused("cost-invalid", "the cost is too low to be shared", "allow the release a higher cost")
    cost.fineness(sensitivity, share)


def variance_of(cost: Cost, sensitivity: Sensitivity, share: Fraction = WHOLE) -> float:
    """The variance of the noise on each number of a vector."""
    noise = noise_of(cost.noise(sensitivity, share))
    if isinstance(noise, DiscreteLaplace):
        return noise.variance
    spread = float(noise.spread)
    if spread > 25:  # the variance of the discrete one differs by less than a float can say
        return spread
    steps = np.arange(-60, 61, dtype=np.float64)
    weights = np.exp(-(steps**2) / (2 * spread))
    return float(steps**2 @ weights / weights.sum())


def noise_words(cost: Cost, sensitivity: Sensitivity, share: Fraction = WHOLE) -> str:
    """The noise on each number of a vector, in words."""
    kind = "Laplace" if isinstance(cost.noise(sensitivity, share), Laplace) else "Gaussian"
    return f"{kind} noise with a standard deviation of {cost.deviation(sensitivity, share):.4g}"
