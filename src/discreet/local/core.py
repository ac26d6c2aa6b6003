"""What every mechanism of this package does: `encode` where the value is, `estimate` where the reports are.

A report of a frequency mechanism speaks for some values of the domain (`supports`): for its own value with probability
p (`truth`), for any other with probability q (`lie`). Whatever else it says is as likely for all values:

    P(report | v) = c(report)·ratio  where the report speaks for v,   c(report)  where it does not.

Theorem  ε-DP for each report, against everybody, when any value may be replaced by any other: REPLACE_ONE. That
         somebody reported is public; whoever reports n times loses n·ε, unless it is the same report (`Client`).
Proof    ratio ≤ e^ε, as fractions: see `chances`. Each mechanism says why its reports have this form.
Estimate (C/n − q)/(p − q), where C of n reports speak for a value: without bias, since E[C/n] = q + share·(p − q). Its
         variance is (q(1 − q) + share·(p − q)(1 − p − q))/(n·(p − q)²) among the people who answered, and
         λ(1 − λ)/(n·(p − q)²) with λ = q + share·(p − q) for the population that they were drawn from.
Interval C is binomial with λ, so that Clopper and Pearson's interval holds; for all values together by Bonferroni.
Poison   One report moves an estimate by at most 1/(n·(p − q)), whatever it says: m invented ones by m times that.
Source   Wang, Blocki, Li & Jha 2017 ("pure" protocols); Cheu, Smith & Ullman 2021 (poisoning).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.losses import Pure
from discreet.accounting.relations import Relation
from discreet.exact import Number, flag, number, probability, whole
from discreet.local.chances import local_epsilon
from discreet.local.intervals import Floats, clopper_pearson_all, normal_quantile
from discreet.local.reports import HEADER, VERSION, Accepted, Booleans, Bytes, Integers, Reports, accept, header
from discreet.mechanisms.simplex import projected
from discreet.noise import Bits, resolve

MAX_SIZE: Final = 2**20
"""Of a domain."""
MAX_COUNT: Final = 2**28
CELLS: Final = 2**21
"""Cells of a table that are looked at together."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What reports add up to. Tallies of different reports can be added."""

    header: bytes
    sums: Integers
    count: int
    """Of well-formed reports."""
    bad: Mapping[str, int] = field(default_factory=dict)
    """How many were not, by reason: length, version, mechanism, parameters, payload, repeated."""

    def __post_init__(self) -> None:
        if self.count > MAX_COUNT:
            raise ValueError(f"a tally holds at most {MAX_COUNT:,} reports: sums of squares would not fit 64 bits")

    def __add__(self, other: Tally) -> Tally:
        if self.header != other.header:
            raise ValueError("tallies of different mechanisms, domains or epsilons have no sum")
        bad = dict(Counter(self.bad) + Counter(other.bad))
        return Tally(self.header, self.sums + other.sums, self.count + other.count, bad)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated values, each with its variance and an interval; all intervals hold together with the confidence."""

    values: Floats
    variances: Floats
    low: Floats
    high: Floats
    count: int
    bad: Mapping[str, int]
    confidence: float

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        shown = np.argsort(-self.values, kind="stable")[:20] if len(self) > 20 else np.arange(len(self))
        lines = [f"{i:>6}  {self.values[i]:9.4f}  ({self.low[i]:.4f} to {self.high[i]:.4f})" for i in shown]
        refused = f", {sum(self.bad.values()):,} bad" if self.bad else ""
        return "\n".join([*lines, f"{self.count:,} reports{refused}; intervals hold together at {self.confidence:g}"])


class Mechanism(ABC):
    """Randomises values at their source, and estimates from what became of them."""

    name: ClassVar[str]
    code: ClassVar[int]
    """In reports."""
    epsilon: Fraction

    @property
    @abstractmethod
    def size(self) -> int:
        """Of the domain, as reports say it."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a mechanism cannot be changed: build another one to set {name}")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "code" in vars(cls):
            assert cls.code not in MECHANISMS, f"code {cls.code} is taken"
            MECHANISMS[cls.code] = cls

    # what it is

    @classmethod
    @abstractmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """The mechanism that `parameters` describe; whether all of it fits is for `from_parameters` to see."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of a report under two values: exact, and at most e^ε."""

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """How long a payload is."""

    @property
    @abstractmethod
    def chances(self) -> dict[str, int]:
        """The integers by which it is drawn, for clients in other languages."""

    @property
    def loss(self) -> Pure:
        """Of one report."""
        return Pure(self.epsilon, relation=Relation.REPLACE_ONE)

    @property
    def header(self) -> bytes:
        return header(self.code, self.size, self.epsilon)

    @property
    def report_bytes(self) -> int:
        return HEADER + self.payload_bytes

    def parameters(self) -> dict[str, Any]:
        """All that a client in another language needs, as JSON holds it: see docs/reports.md."""
        return {
            "version": VERSION,
            "mechanism": self.name,
            "size": self.size,
            "epsilon": float(self.epsilon),
            "header": self.header.hex(),
            "payload_bytes": self.payload_bytes,
            **self.chances,
        }

    # the client's side

    def encode(self, values: ArrayLike, bits: Bits | None = None) -> Any:
        """A report for each value: rows of bytes, one for each, or one bytes object for a single value."""
        exact, source = self._checked(values), resolve(bits)
        if exact.ndim > 1:
            raise ValueError("values must be one value, or a list of values: one for each person")
        flat = exact.ravel()
        rows = np.empty((flat.size, self.report_bytes), dtype=np.uint8)
        rows[:, :HEADER] = np.frombuffer(self.header, dtype=np.uint8)
        step = max(CELLS // max(self.payload_bytes * 8, 1), 1)
        for start in range(0, flat.size, step):
            some = slice(start, start + step)
            rows[some, HEADER:] = self._randomised(flat[some], source)
        return rows if exact.ndim else rows.tobytes()

    def key(self, value: Any) -> str:
        """What a report of this value depends on: values with one key are randomised alike."""
        return str(self._checked(value).item())

    @abstractmethod
    def _checked(self, values: ArrayLike) -> NDArray[Any]:
        """The values as elements of the domain, or an error before anything is drawn."""

    @abstractmethod
    def _randomised(self, exact: NDArray[Any], bits: Bits) -> Bytes:
        """Payloads for these values."""

    # the collector's side

    def read(self, reports: Reports, ids: Sequence[Hashable] | None = None) -> Accepted:
        """The payloads of well-formed reports, and how many are bad. Of those with one id the first counts."""
        accepted = accept(reports, self.header, self.payload_bytes, ids)
        fine = self._is_valid(accepted.payloads)
        payloads = accepted.payloads if fine.all() else accepted.payloads[fine]
        return Accepted(payloads, dict(+Counter({**accepted.bad, "payload": int((~fine).sum())})))

    @abstractmethod
    def _is_valid(self, payloads: Bytes) -> Booleans:
        """Which of these payloads this mechanism may have made."""


class AdditiveMechanism(Mechanism):
    """A mechanism whose estimates need no more of reports than sums."""

    def tally(self, reports: Reports, ids: Sequence[Hashable] | None = None) -> Tally:
        """What the reports add up to; bad ones are counted and left out. Of those with one id the first counts."""
        accepted = self.read(reports, ids)
        return Tally(self.header, self._sums(accepted.payloads), len(accepted.payloads), accepted.bad)

    @abstractmethod
    def _sums(self, payloads: Bytes) -> Integers:
        """What is needed of them, added up."""

    def _tallied(self, reports: Reports | Tally, ids: Sequence[Hashable] | None) -> Tally:
        tally = reports if isinstance(reports, Tally) else self.tally(reports, ids)
        if tally.header != self.header:
            raise ValueError("the tally is of another mechanism, domain or epsilon")
        if not tally.count:
            refused = ", ".join(f"{count} {reason}" for reason, count in tally.bad.items())
            raise ValueError(f"there are no well-formed reports{': bad ones: ' + refused if refused else ''}")
        return tally


MECHANISMS: Final[dict[int, type[Mechanism]]] = {}
"""All of them, by their code in reports."""


@dataclass(frozen=True, init=False, repr=False)
class FrequencyMechanism(AdditiveMechanism):
    """Shares of values 0 … size − 1."""

    domain: int
    epsilon: Fraction

    def __init__(self, size: int, epsilon: Number) -> None:
        object.__setattr__(self, "domain", whole(size, "size", least=2))
        if self.domain > MAX_SIZE:
            raise ValueError(f"size must be at most {MAX_SIZE:,}: for larger domains use HeavyHitters")
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        return cls(parameters["size"], parameters["epsilon"])

    @property
    def size(self) -> int:
        return self.domain

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, epsilon={float(self.epsilon)})"

    @property
    @abstractmethod
    def truth(self) -> Fraction:
        """p: the probability that a report speaks for its own value."""

    @property
    @abstractmethod
    def lie(self) -> Fraction:
        """q: the probability that a report speaks for another value."""

    def _checked(self, values: ArrayLike) -> Integers:
        array = np.asarray(values)
        if array.shape == (0,):
            return np.empty(0, dtype=np.int64)
        if array.dtype.kind not in "iu" and not (array.dtype.kind == "b" and self.size == 2):
            raise TypeError(f"values must be integers from 0 to {self.size - 1}: number the answers first")
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise ValueError(f"values must lie between 0 and {self.size - 1}: number the answers first")
        return array.astype(np.int64)

    # what reports say

    @abstractmethod
    def supports(self, payloads: Bytes) -> Booleans:
        """For each payload (row) and value (column), whether it speaks for the value."""

    def posterior(self, report: bytes, prior: ArrayLike) -> Floats:
        """What somebody believes about a person's value after seeing the report, who believed `prior` before.

        Proof   Bayes, with P(report | v) ∝ ratio for values that the report speaks for, and ∝ 1 for others.
        """
        before = np.asarray(prior, dtype=np.float64)
        if before.shape != (self.size,) or not np.isclose(before.sum(), 1) or (before < 0).any():
            raise ValueError(f"prior must be {self.size} probabilities that add up to 1")
        accepted = self.read([report])
        if accepted.bad:
            raise ValueError("report is not one of this mechanism")
        weights = before * np.where(self.supports(accepted.payloads)[0], float(self.ratio), 1.0)
        return np.asarray(weights / weights.sum())

    def _sums(self, payloads: Bytes) -> Integers:
        counts = np.zeros(self.size, dtype=np.int64)
        step = max(CELLS // self.size, 1)
        for start in range(0, len(payloads), step):
            counts += self.supports(payloads[start : start + step]).sum(axis=0)
        return counts

    def estimate(
        self,
        reports: Reports | Tally,
        confidence: Number = 0.95,
        *,
        simplex: bool = False,
        ids: Sequence[Hashable] | None = None,
    ) -> Estimates:
        """The share of each value, without bias; with `simplex` the nearest shares that are not negative and add up
        to 1, which have less error where most values are rare, and a bias. Intervals are those without it."""
        level = float(probability(confidence, "confidence"))
        is_projected = flag(simplex, "simplex")
        tally = self._tallied(reports, ids)
        if tally.sums.shape != (self.size,) or tally.sums.min() < 0 or tally.sums.max() > tally.count:
            raise ValueError("the tally does not fit: it has a count for each value, and none above that of reports")
        gap, lie = float(self.truth - self.lie), float(self.lie)
        rates = tally.sums / tally.count
        values = (rates - lie) / gap
        low, high = ((side - lie) / gap for side in clopper_pearson_all(tally.sums, tally.count, level))
        variances = rates * (1 - rates) / (max(tally.count - 1, 1) * gap**2)
        if is_projected:
            values = projected(values[None, :], np.ones(1))[0]
        return Estimates(
            values, variances, np.clip(low, 0, 1), np.clip(high, 0, 1), tally.count, dict(tally.bad), level
        )

    # what to expect

    def variance(self, share: float, count: int) -> float:
        """Of the estimated share among the `count` people who answer, of whom `share` have the value."""
        p, q, n = float(self.truth), float(self.lie), whole(count, "count")
        _demand_share(share)
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (n * (p - q) ** 2)

    def population_variance(self, share: float, count: int) -> float:
        """The same where they are drawn from a population: sampling is counted too."""
        p, q, n = float(self.truth), float(self.lie), whole(count, "count")
        _demand_share(share)
        rate = q + share * (p - q)
        return rate * (1 - rate) / (n * (p - q) ** 2)

    def error(self, confidence: Number = 0.95, *, count: int, share: float = 0.0) -> float:
        """About the half-width of the interval of a value that has this share, all intervals holding together."""
        level = float(probability(confidence, "confidence"))
        return normal_quantile(level, self.size) * math.sqrt(self.population_variance(share, count))

    def influence(self, count: int) -> float:
        """How far one report among `count` can move an estimated share at most, whatever it says."""
        return 1 / (whole(count, "count") * float(self.truth - self.lie))


def _demand_share(share: float) -> None:
    if not 0 <= number(share, "share") <= 1:
        raise ValueError(f"share must lie between 0 and 1, not {share}")


def bits_of(payloads: Bytes, size: int) -> NDArray[np.bool_]:
    """Bitmaps, lowest bit first, as rows of booleans."""
    return np.unpackbits(payloads, axis=1, count=size, bitorder="little").view(np.bool_)


def is_ended(payloads: Bytes, size: int) -> Booleans:
    """Which bitmaps have no bit beyond the last value."""
    ended: Booleans = payloads[:, -1] >> np.uint8((size - 1) % 8) <= 1
    return ended
