"""The lecture's search log: user names are sampled for each pair, as often as optimal counts say. A lesson, no release.

A log has for each user how often they looked for a pair, such as a query and the page that was clicked. The output has
the same form: for each pair, x of its users are drawn, with the probabilities of their shares in it. `SearchLog` finds
the best x under constraints for each user, and says what they protect. What it does not protect is why it takes no
tables of a curator: see `SearchLog`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import Refused
from discreet.exact import Number, number, probability, whole
from discreet.mechanisms.arrays import Integers

Objective = Literal["size", "frequent", "diversity"]
Row = tuple[str, str, int]
"""A user, a pair, and how often."""
Floats = NDArray[np.float64]
SLACK: Final = 1e-6
"""What HiGHS takes for equal; whether counts are within a limit is decided exactly where they are so near."""
MOST_WHOLE: Final = 20_000
"""Entries of the constraints up to which counts are optimal among integers; of more, the relaxation is rounded down and
filled up.
"""
PRIVATE: Final = (
    "SearchLog chooses its counts from exact rows, and no theorem covers that choice: it is a lesson, not a release",
    "use QueryLog, which protects every unit whatever the rows are",
)


@dataclass(frozen=True, slots=True)
class Protection:
    """What counts mean for each user if the same counts were drawn without them: see the theorem of `SearchLog`."""

    losses: Mapping[str, float]
    """For each user that is drawn from: ε of outputs without them; −ln of the probability of these."""

    @property
    def epsilon(self) -> float:
        """Of the user who is protected least."""
        return max(self.losses.values(), default=0.0)

    @property
    def delta(self) -> float:
        """The probability that this user's name is in the output."""
        return -math.expm1(-self.epsilon)

    def __str__(self) -> str:
        shown = [f"{user}: ε = {loss:.2f}, in the output with probability {-math.expm1(-loss):.4f}" for user, loss in
                 self.losses.items()]  # fmt: skip
        return "\n".join([*shown, "counts that were chosen by the rows are protected less than that"])


@dataclass(frozen=True, slots=True)
class Sampling:
    """Counts for each pair, within the constraints; `sample` draws the users."""

    log: SearchLog
    counts: Mapping[str, int]
    """Pairs that are left out have none."""
    objective: str
    is_optimal: bool
    """Whether no other counts are better; else they are those of the relaxation, rounded down and filled up."""

    @property
    def size(self) -> int:
        return sum(self.counts.values())

    @property
    def protection(self) -> Protection:
        return self.log.protection(self.counts)

    def sample(self) -> list[Row]:
        """An output log. Whoever owns the rows may draw it; nothing is charged, and nothing private is promised."""
        return self.log.sample(self.counts)


class SearchLog:
    """The sanitiser of search logs by multinomial sampling with optimal counts. Didactic: see what it protects.

    Theorem  For counts x that do not depend on the rows, with loss_j = Σ_i x_i·ln(c_i/(c_i − c_ij)) ≤ ε and
             ≤ ln(1/(1 − δ)) for each user j: outputs without j are at most e^ε times as likely without j as with j, and
             never more likely with j; all others together have probability ≤ δ with j, and 0 without j. (Probabilistic
             differential privacy for adding or removing one user.)
    Proof    Users are drawn independently, for pair i with probabilities c_ij/c_i. Without j the others of pair i have
             c_i − c_ij between them, so an output without j has ∏ ((c_i − c_ij)/c_i)^x_i = e^−loss_j times the
             probability that it has then. Sums over all outputs without j: their probability is e^−loss_j ≥ 1 − δ.
             A pair that one user alone holds has an infinite loss: x_i = 0, it is suppressed.
    Not so   Optimal counts depend on the rows, and so does which pairs are suppressed: both differ between neighbours,
             and whoever sees the output sees them. The paper's answer (noise on counts that few users move) leaves
             out that suppression is seen and that noisy counts may break the constraints. And δ of the size that
             makes outputs long means: each user's name is published with that probability. So this is a lesson about
             what a definition promises, and refuses the tables of a curator; `QueryLog` is the release.
    Source   Hong, Vaidya, Lu & Wu 2012; the lecture about data publishing.
    """

    def __init__(self, rows: Iterable[Row] | Any) -> None:
        if hasattr(rows, "perform") or isinstance(rows, str):
            raise Refused("not-private", *PRIVATE)
        held: dict[tuple[str, str], int] = {}
        for user, pair, count in rows:
            key = str(user), str(pair)
            held[key] = held.get(key, 0) + whole(count, "a count")
        self.users = list(dict.fromkeys(user for user, _ in held))
        self.pairs = list(dict.fromkeys(pair for _, pair in held))
        places = ({name: index for index, name in enumerate(names)} for names in (self.users, self.pairs))
        of_user, of_pair = places
        self._user: Integers = np.array([of_user[user] for user, _ in held], dtype=np.int64)
        self._pair: Integers = np.array([of_pair[pair] for _, pair in held], dtype=np.int64)
        self._count: Integers = np.array(list(held.values()), dtype=np.int64)
        self._total: Integers = np.bincount(self._pair, self._count, len(self.pairs)).astype(np.int64)
        self._shared = np.bincount(self._pair, minlength=len(self.pairs)) > 1

    @staticmethod
    def task(*_: Any, **__: Any) -> NoReturn:
        """It is none: the tables of a curator are refused."""
        raise Refused("not-private", *PRIVATE)

    # what counts protect

    @property
    def totals(self) -> dict[str, int]:
        """How often each pair was looked for."""
        return dict(zip(self.pairs, self._total.tolist(), strict=True))

    @property
    def suppressed(self) -> list[str]:
        """The pairs of one user alone: they are never drawn."""
        return [pair for pair, shared in zip(self.pairs, self._shared.tolist(), strict=True) if not shared]

    def protection(self, counts: Mapping[str, int]) -> Protection:
        """What any counts mean for each user whose pairs are drawn; infinite where a suppressed pair is."""
        drawn = self._vector(counts)
        losses = self._losses(drawn)
        met = np.bincount(self._user, drawn[self._pair], len(self.users)) > 0
        return Protection({user: float(losses[at]) for at, user in enumerate(self.users) if met[at]})

    def _losses(self, drawn: Integers) -> Floats:
        times = drawn[self._pair]
        met = times > 0
        return np.asarray(np.bincount(self._user[met], times[met] * self._rates()[met], len(self.users)), np.float64)

    def _rates(self) -> Floats:
        """ln(c_i/(c_i − c_ij)) of each entry: what drawing its pair once costs its user."""
        total = self._total[self._pair]
        with np.errstate(divide="ignore"):
            return -np.log1p(-self._count / total)

    def _vector(self, counts: Mapping[str, int]) -> Integers:
        unknown = sorted(set(counts) - set(self.pairs))
        if unknown:
            raise ValueError(f"the log has no pair {unknown[0]!r}")
        return np.array([whole(counts.get(pair, 0), "a count", least=0) for pair in self.pairs], dtype=np.int64)

    def is_within(self, counts: Mapping[str, int], *, epsilon: Number, delta: Number) -> bool:
        """Whether counts keep the constraints of all users, exactly."""
        limits = _Limits.read(epsilon, delta)
        return not len(self._violated(self._vector(counts), limits))

    def _violated(self, drawn: Integers, limits: _Limits) -> Integers:
        """The users whose constraints do not hold: by floats, and exactly where these are near the limit."""
        at = drawn[self._pair] > 0
        losses = self._losses(drawn)
        near = np.flatnonzero(np.abs(losses - limits.most) <= SLACK * max(1.0, limits.most))
        wrong = losses > limits.most
        for user in near.tolist():
            mine = at & (self._user == user)
            total, own, times = self._total[self._pair[mine]], self._count[mine], drawn[self._pair[mine]]
            wrong[user] = not limits.holds(total.tolist(), own.tolist(), times.tolist())
        return np.flatnonzero(wrong)

    # the best counts

    def optimal(
        self,
        *,
        epsilon: Number,
        delta: Number,
        objective: Objective = "size",
        support: Number = Fraction(1, 100),
        size: int | None = None,
    ) -> Sampling:
        """The best counts within the constraints of all users, and of what was looked for.

        `objective` is "size": as many as possible; "frequent": pairs that have at least `support` of the log keep
        their shares of an output of `size` as well as possible; "diversity": as many different pairs as possible.
        Counts are at most those of the log, and integers by HiGHS; of very many pairs the relaxation is rounded down.
        """
        limits = _Limits.read(epsilon, delta)
        if objective not in get_args(Objective):
            raise ValueError(f"objective must be one of {', '.join(get_args(Objective))}, not {objective!r}")
        if size is not None and objective != "frequent":
            raise ValueError("size belongs to the objective frequent: leave it out")
        solve: dict[str, Callable[[], tuple[Integers, bool]]] = {
            "size": lambda: self._best(limits, 1.0, self._total),
            "diversity": lambda: self._best(limits, 1.0, np.minimum(self._total, 1)),
            "frequent": lambda: self._frequent(limits, probability(support, "support"), size),
        }
        drawn, is_optimal = solve[objective]()
        if len(self._violated(drawn, limits)):
            raise RuntimeError("the counts break a constraint")
        counts = {pair: int(times) for pair, times in zip(self.pairs, drawn.tolist(), strict=True) if times}
        return Sampling(self, counts, objective, is_optimal)

    def _best(self, limits: _Limits, value: float, most: Integers) -> tuple[Integers, bool]:
        """As many draws as possible, of each pair at most so many."""
        program = _Program.of(self, limits, most)
        return program.solved(np.full(len(program.pairs), -value), ())

    def _frequent(self, limits: _Limits, support: Fraction, size: int | None) -> tuple[Integers, bool]:
        """Shares of frequent pairs in the output near those in the log: y_i ≥ ±(x_i/|O| − c_i/|D|), Σ y least."""
        longest, _ = self._best(limits, 1.0, self._total)
        wanted = int(longest.sum()) if size is None else whole(size, "size", least=0)
        if wanted > longest.sum():
            raise ValueError(f"no output of {wanted} keeps the constraints: the longest has {int(longest.sum())}")
        program = _Program.of(self, limits, self._total)
        if not program.is_small:
            raise ValueError("the log is too long for the objective frequent: use size, or lower delta")
        if not wanted:
            return longest, True
        share = self._total[program.pairs] / self._total.sum()
        frequent = np.flatnonzero(self._total[program.pairs] >= float(support) * int(self._total.sum()))
        return program.nearest(share, frequent, wanted)

    # the output

    def sample(self, counts: Mapping[str, int]) -> list[Row]:
        """Users of each pair, drawn as often as the counts say, with the probabilities of their shares."""
        drawn = self._vector(counts)
        order = np.argsort(self._pair, kind="stable")
        ends = np.searchsorted(self._pair[order], np.arange(len(self.pairs) + 1))
        rows: list[Row] = []
        for pair in np.flatnonzero(drawn).tolist():
            held = order[ends[pair] : ends[pair + 1]]
            edges = np.cumsum(self._count[held])
            tickets = noise.below(int(edges[-1]), int(drawn[pair]))
            times = np.bincount(np.searchsorted(edges, tickets, side="right"), minlength=len(held))
            users = self._user[held].tolist()
            rows += [(self.users[user], self.pairs[pair], int(n)) for user, n in zip(users, times, strict=True) if n]
        return rows


@dataclass(frozen=True, slots=True)
class _Limits:
    """ε and δ, and the least of what they allow a user."""

    epsilon: Fraction
    delta: Fraction
    most: float

    @classmethod
    def read(cls, epsilon: Number, delta: Number) -> _Limits:
        exact, chance = number(epsilon, "epsilon"), probability(delta, "delta")
        if exact <= 0:
            raise ValueError("epsilon must be above 0")
        return cls(exact, chance, min(float(exact), -math.log1p(-float(chance))))

    def holds(self, totals: list[int], own: list[int], times: list[int]) -> bool:
        """Whether ∏ (c/(c − own))^times is at most e^ε and 1/(1 − δ): e^ε is never rational, so digits decide."""
        above = math.prod(total**n for total, n in zip(totals, times, strict=True))
        below = math.prod((total - mine) ** n for total, mine, n in zip(totals, own, times, strict=True))
        if above * (self.delta.denominator - self.delta.numerator) > below * self.delta.denominator:
            return False
        with localcontext() as wide:
            wide.prec, wide.Emax, wide.Emin = 60, 10**9, -(10**9)
            epsilon = Decimal(self.epsilon.numerator) / self.epsilon.denominator
            return Decimal(above).ln() - Decimal(below).ln() < epsilon


@dataclass(frozen=True, slots=True)
class _Program:
    """The linear constraints of the users, without pairs that can have no draw and users who never mind."""

    log: SearchLog
    limits: _Limits
    pairs: Integers
    """The pairs that may be drawn at all: the others have 0."""
    most: Integers
    matrix: Any
    """One row for each user whose constraint could matter."""
    rows: Integers

    @classmethod
    def of(cls, log: SearchLog, limits: _Limits, most: Integers) -> _Program:
        from scipy.sparse import csr_array

        rates = log._rates()
        highest = np.zeros(len(log.pairs))
        np.maximum.at(highest, log._pair, rates)
        pairs = np.flatnonzero(log._shared & (highest <= limits.most + SLACK))
        column = np.full(len(log.pairs), -1)
        column[pairs] = np.arange(len(pairs))
        entry = column[log._pair] >= 0
        user, at, rate = log._user[entry], column[log._pair[entry]], rates[entry]
        worst = np.bincount(user, rate * most[log._pair[entry]], len(log.users))
        rows = np.flatnonzero(worst > limits.most - SLACK)
        row_of = np.full(len(log.users), -1)
        row_of[rows] = np.arange(len(rows))
        limited = row_of[user] >= 0
        matrix = csr_array((rate[limited], (row_of[user[limited]], at[limited])), shape=(len(rows), len(pairs)))
        return cls(log, limits, pairs, most[pairs], matrix, rows)

    def solved(self, value: Floats, more: tuple[Any, ...], extra: int = 0) -> tuple[Integers, bool]:
        """The counts of least value; after them `extra` variables that are no counts.

        What the solver takes for equal may be above a limit: then that user's limit is drawn in, and it is solved
        again.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, hstack

        count = len(self.pairs)
        if not count:
            return np.zeros(len(self.log.pairs), dtype=np.int64), True
        wide = hstack([self.matrix, csr_array((len(self.rows), extra))]).tocsc() if extra else self.matrix.tocsc()
        most = np.full(len(self.rows), self.limits.most)
        bounds = Bounds(np.zeros(count + extra), np.concatenate([self.most, np.full(extra, np.inf)]))
        kinds = np.concatenate([np.full(count, int(self.is_small)), np.zeros(extra)])
        while True:
            users = (LinearConstraint(wide, -np.inf, most),) if len(self.rows) else ()
            solution = milp(value, constraints=(*users, *more), bounds=bounds, integrality=kinds)
            if solution.x is None:
                raise RuntimeError(f"HiGHS found no counts: {solution.message}")
            part = solution.x[:count]
            drawn = np.zeros(len(self.log.pairs), dtype=np.int64)
            drawn[self.pairs] = np.rint(part) if self.is_small else self._filled(np.floor(part + SLACK))
            wrong = np.isin(self.rows, self.log._violated(drawn, self.limits))
            if not wrong.any():
                return drawn, self.is_small
            most[wrong] = np.minimum(most[wrong], (self.matrix @ drawn[self.pairs])[wrong]) - 2 * SLACK

    @property
    def is_small(self) -> bool:
        return int(self.matrix.nnz) <= MOST_WHOLE

    def _filled(self, counts: Floats) -> Floats:
        """Whole counts, and one more of each pair while there is room, those that cost a user least first."""
        columns = self.matrix.tocsc()
        room = self.limits.most - SLACK - self.matrix @ counts
        for pair in np.argsort(columns.max(axis=0).toarray().ravel()).tolist():
            at = slice(columns.indptr[pair], columns.indptr[pair + 1])
            users, rates = columns.indices[at], columns.data[at]
            spare = np.min(room[users] / rates, initial=self.most[pair] - counts[pair])
            more = max(0.0, math.floor(min(spare, self.most[pair] - counts[pair])))
            counts[pair] += more
            room[users] -= more * rates
        return counts

    def nearest(self, share: Floats, frequent: Integers, size: int) -> tuple[Integers, bool]:
        """`size` draws whose shares in frequent pairs are nearest to these."""
        from scipy.optimize import LinearConstraint
        from scipy.sparse import coo_array

        count, extra = len(self.pairs), len(frequent)
        each = np.arange(extra)
        row = np.concatenate([each, each, each + extra, each + extra])
        column = np.concatenate([frequent, count + each, frequent, count + each])
        entry = np.concatenate([np.full(extra, 1 / size), -np.ones(extra), np.full(extra, -1 / size), -np.ones(extra)])
        sides = coo_array((entry, (row, column)), shape=(2 * extra, count + extra)).tocsc()
        whole_ = LinearConstraint(np.concatenate([np.ones(count), np.zeros(extra)])[None, :], size, size)
        near = LinearConstraint(sides, -np.inf, np.concatenate([share[frequent], -share[frequent]]))
        value = np.concatenate([np.zeros(count), np.ones(extra)])
        return self.solved(value, (whole_, near) if extra else (whole_,), extra)
