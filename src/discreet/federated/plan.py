"""What is fixed before the first round: who may take part, what is added where, and what all of it costs.

The list of clients is public, and so is who took part where a coordinator sees it. What is protected is a client's
data: all of its rows are there, or none of them (its update is zero then). A training is one release that is fixed in
advance: so many rounds are charged, whether they succeed or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, Self

from discreet.accounting import epsilon_for_training, sigma_for_training
from discreet.errors import Refused
from discreet.exact import Number, extent, flag, number, positive, probability, whole
from discreet.exact import epsilon as accepted
from discreet.federated.encoding import LEAST_STEPS, Grid, steps_for, tail
from discreet.federated.smoothing import BLUR, LEAST_SHARE, drawn_variance, slack
from discreet.mechanisms.prefixes import SquareRoot

PLACES: Final = ("central", "distributed", "local")
MODELS: Final = "whoever sees the models"
COORDINATOR: Final = "the coordinator"
FINE: Final = 2**10
"""Steps that 1 has in the square root that correlated noise is made of."""
MOST_CORRELATED_STEPS: Final = 2**16
"""So that correlated noise stays within what samplers draw."""
MOST_OF: Final = {"clients": 10**6, "parameters": 10**7, "rounds": 10**5}


def demand(holds: bool, reason: str, fix: str) -> None:
    if not holds:
        raise Refused("training-invalid", reason, fix)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(ε, δ)-DP for all rows of one client, against somebody."""

    against: str
    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"({self.epsilon:.4g}, {self.delta:g})-DP for all rows of one client, against {self.against}"


@dataclass(frozen=True, slots=True)
class View:
    """What somebody sees: so many releases with Gaussian noise of `factor` · sigma norms, on samples of this rate."""

    against: str
    rate: float
    times: int
    factor: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training with privacy for clients.

    clients         how many there are: public
    parameters      of the model
    rounds          so many are charged
    sigma           the noise of a round, in norms: what counts after discreteness, dropouts and colluding clients;
                    of correlated noise, in norms of all that a client moves in a training
    delta           of the guarantees
    rate            with which each client takes part in a round, by a coin of its own
    noise           where noise is added: "central", "distributed" over the clients, or "local"
    clip            the norm to which updates are clipped
    quantile        of the updates' norms that the clipping norm follows; None: it stays as it is
    participations  rounds in which one client takes part at most; None: all of them
    dropout         part of the clients of a round that may fail without ending it
    colluding       part of the clients of a round who may tell what noise they drew
    correlated      noise that cancels between rounds (DP-FTRL); clients take turns, and no coin has to be trusted
    """

    clients: int
    parameters: int
    rounds: int
    sigma: float
    delta: float
    rate: float = 1.0
    noise: str = "central"
    clip: float = 1.0
    quantile: float | None = None
    participations: int | None = None
    dropout: float = 0.1
    colluding: float = 0.0
    correlated: bool = False

    def __post_init__(self) -> None:
        try:
            self._check()
        except (TypeError, ValueError) as wrong:
            raise Refused("training-invalid", str(wrong), "see help(discreet.federated.Plan)") from None

    def _check(self) -> None:
        for name, most in MOST_OF.items():
            demand(whole(getattr(self, name), name) <= most, f"a training has at most {most:,} {name}", f"lower {name}")
        extent(self.sigma, "sigma")
        probability(self.delta, "delta")
        demand(0 < number(self.rate, "rate") <= 1, "rate must lie above 0 and be at most 1", "pass rate=0.1")
        demand(self.noise in PLACES, f"noise must be one of {', '.join(PLACES)}", 'pass noise="central"')
        demand(1e-12 <= positive(self.clip, "clip") <= 1e12, "clip must lie between 1e-12 and 1e12", "use another unit")
        demand(
            number(self.dropout, "dropout") >= 0 and number(self.colluding, "colluding") >= 0 and self.honest > 0,
            "dropout and colluding are parts of the clients of a round: together below 1, else nobody draws noise",
            "pass dropout=0.1 and colluding=0",
        )
        if self.quantile is not None:
            probability(self.quantile, "quantile")
        if self.participations is not None:
            whole(self.participations, "participations")
        self._check_together()

    def _check_together(self) -> None:
        demand(
            not flag(self.correlated, "correlated")
            or (self.noise == "central" and self.quantile is None and self.participations is None),
            "correlated noise is drawn in one place, for one clipping norm, and clients take turns",
            'pass noise="central", and leave quantile and participations out',
        )
        enough = max(LEAST_STEPS, 10 * math.isqrt(self.parameters) + 10)
        demand(
            self.grid.steps >= enough,
            f"sums modulo 2^32 leave {self.grid.steps:,} steps to the clipping norm; {enough:,} are needed",
            "lower clients, sigma or parameters",
        )
        demand(
            self.noise != "distributed" or self.shared_variance >= LEAST_SHARE * self.clients,
            "so little noise cannot be shared by so many clients",
            "raise sigma or lower clients",
        )

    @classmethod
    def within(cls, epsilon: Number, *, against: str = MODELS, **settings: Any) -> Self:
        """The plan with about the least noise that is (ε, δ)-DP against somebody.

        Local noise hides updates from the coordinator; whoever sees models sees less.

        >>> plan = Plan.within(2, clients=1000, parameters=20, rounds=50, rate=0.1, delta=1e-5)
        >>> print(plan.guarantees()[0])
        (2, 1e-05)-DP for all rows of one client, against whoever sees the models
        """
        wanted = float(accepted(epsilon))
        plan = cls(sigma=1.0, **settings)
        views = {view.against: view for view in plan.views(plan.rounds)}
        demand(
            against in views or (plan.noise, against) == ("local", MODELS),
            f"nothing is promised against {against}",
            f"choose: {' or '.join(views)}",
        )
        view = views.get(against) or views[COORDINATOR]
        needed = sigma_for_training(wanted - 2 * plan.slack, view.rate, view.times, plan.delta * math.exp(-plan.slack))
        return replace(plan, sigma=needed / view.factor)

    # what it costs

    def views(self, rounds: int) -> list[View]:
        """What is seen of so many rounds, and by whom.

        Models        Against whoever sees neither who takes part nor how many do, sampling counts. A client that takes
                      part in at most `participations` rounds does so with no larger chance in any of them, whatever was
                      seen before: every round is dominated by one with the full rate, so rounds compose as if there
                      were no cap. Noise is the same whoever takes part: distributed noise is filled up (`places`).
                      Assumed: whether a round is given up does not depend on a client's coin. Where that is not so,
                      what is said against the coordinator holds still: the noise is no less.
        Coordinator   It sees who takes part, and so do the members of a masked round: no sampling counts. With
                      distributed noise it sees sums (`masking` says why), with local noise every single update; models
                      are post-processing of those.
        Correlated    All rounds together are one Gaussian release, as adaptive as rounds are (Denisov et al. 2022).
        """
        capped = rounds if self.participations is None else min(rounds, self.participations)
        if self.correlated:
            return [View(MODELS, 1.0, min(rounds, 1))]
        models = View(MODELS, self.rate, capped if self.rate == 1 else rounds)
        coordinator = View(COORDINATOR, 1.0, capped)
        filled = replace(models, factor=1 / math.sqrt(self.honest))
        return {"central": [models], "distributed": [filled, coordinator], "local": [coordinator]}[self.noise]

    def guarantees(self, rounds: int | None = None) -> tuple[Guarantee, ...]:
        """What holds after so many rounds; after all of them, if left out."""
        done = self.rounds if rounds is None else min(whole(rounds, "rounds", least=0), self.rounds)
        return tuple(
            Guarantee(view.against, _epsilon(view, self.sigma, self.delta, self.slack), self.delta)
            for view in self.views(done)
        )

    @property
    def slack(self) -> float:
        """By what discrete noise may differ from continuous noise, over all rounds (`smoothing`)."""
        draws = 1 if self.noise == "central" else self.clients + 1
        return slack(draws, self.grid.width, self.rounds)

    # what follows from it

    @property
    def expected(self) -> float:
        """Clients of a round, on average: what sums are divided by, whoever takes part."""
        return self.clients / self.turns if self.correlated else self.clients * self.rate

    @property
    def turns(self) -> int:
        """Rounds until a client's turn comes again, where clients take turns."""
        return max(math.floor(1 / number(self.rate, "rate")), 1)

    @property
    def honest(self) -> Fraction:
        """The part of the clients of a round that is sure to add noise which nobody knows."""
        return 1 - number(self.dropout, "dropout") - number(self.colluding, "colluding")

    def least(self, members: int) -> int:
        """Clients that must stay until the end of a round, or its sum is not looked at."""
        return math.ceil(members * (1 - number(self.dropout, "dropout")))

    @cached_property
    def grid(self) -> Grid:
        rooms = {"central": 1.0, "distributed": 1.01 / float(self.honest), "local": float(self.clients)}
        spread = float(self.sigma) * math.sqrt(rooms[self.noise])
        votes = self.quantile is not None
        steps = steps_for(self.clients, spread, (self.parameters + votes) * self.rounds)
        return Grid(self.parameters, min(steps, MOST_CORRELATED_STEPS) if self.correlated else steps, votes)

    @cached_property
    def root(self) -> SquareRoot:
        """Of which correlated noise is made."""
        return SquareRoot(self.rounds, FINE)

    @cached_property
    def moved_squared(self) -> int:
        """The square of the L2 norm by which a client's rows move what is measured.

        Theorem  With correlated noise, M·x is measured for the sums x of all rounds (`mechanisms.prefixes`), and a
                 client takes part every `turns` rounds. Then M·x moves by at most that of a client which takes part in
                 the first round and every `turns` rounds after it, with updates of the full norm in one direction.
        Proof    ‖Σ M_s ⊗ u_s‖² = Σ_st ⟨M_s, M_t⟩·⟨u_s, u_t⟩ ≤ Δ²·Σ_st ⟨M_s, M_t⟩, since M ≥ 0; and those products rise
                 neither with |s − t| nor with max(s, t), as `SquareRoot` proves.
        """
        if not self.correlated:
            return self.grid.sensitivity_squared
        taken = self.root.column * 0
        taken[:: self.turns] = 1
        squares = sum(int(each) ** 2 for each in self.root.measured(taken))
        return self.grid.sensitivity_squared * squares

    @cached_property
    def variance(self) -> int:
        """Of the noise that the coordinator adds, or each client where noise is local."""
        return drawn_variance(self._continuous)

    @cached_property
    def farthest(self) -> int:
        """Where noise is local, no number of an honest client is farther from zero, but for 10⁻¹² in a training.

        So a client that lies moves a number of the model by so much in a round, and not by what words can hold.
        """
        noise = tail(self.clients * self.rounds * self.grid.width) * math.sqrt(self.variance)
        return math.isqrt(self.grid.sensitivity_squared) + 1 + math.ceil(noise)

    @cached_property
    def shared_variance(self) -> int:
        """Of all distributed noise: enough even if only the honest ones that must stay are counted."""
        return math.ceil((self._continuous + BLUR) / self.honest)

    def share(self, members: int) -> int:
        """The variance that each of so many clients adds: at most this much more than `shared_variance` in all."""
        return -(-self.shared_variance // members)

    def missing(self, members: int, survivors: int) -> int:
        """The variance that fills distributed noise up: all rounds have the same, whoever took part."""
        return self.shared_variance + self.clients + LEAST_SHARE - survivors * self.share(members)

    @property
    def _continuous(self) -> Fraction:
        return Fraction(self.sigma) ** 2 * self.moved_squared


@lru_cache(maxsize=4096)
def _epsilon(view: View, sigma: float, delta: float, slack: float) -> float:
    if view.times == 0:
        return 0.0
    base = epsilon_for_training(sigma * view.factor, view.rate, view.times, delta * math.exp(-slack))
    return base + 2 * slack
