"""All clients in one process: to see what a plan costs and how good its models are, on rows that the caller owns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.answers.progress import shown
from discreet.errors import Refused
from discreet.federated.encoding import Floats
from discreet.federated.models import Model, local_update, score
from discreet.federated.places import contribution
from discreet.federated.plan import Guarantee, Plan, demand
from discreet.federated.training import Round, Training
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.federated.summation import Masks

Rows = tuple[Floats, Floats]
"""Features and targets."""
MOST_POINTS: Final = 25
"""Of a curve: each needs an ε of its own."""


@dataclass(frozen=True, slots=True)
class History:
    """A training that ended: its model, and the scores on the way. Scores are exact: they are the caller's own."""

    plan: Plan
    weights: Floats
    rounds: tuple[int, ...]
    scores: tuple[float, ...]
    given_up: int

    def guarantees(self) -> tuple[Guarantee, ...]:
        return self.plan.guarantees()

    def records(self) -> list[dict[str, Any]]:
        """Score and ε after some of the rounds, against the first that the plan promises something about."""
        every = max(len(self.rounds) // MOST_POINTS, 1)
        shown_rounds = sorted({*range(0, len(self.rounds), every), len(self.rounds) - 1} - {-1})
        return [
            {
                "noise": self.plan.noise,
                "round": self.rounds[index],
                "score": self.scores[index],
                "epsilon": self.plan.guarantees(self.rounds[index])[0].epsilon,
            }
            for index in shown_rounds
        ]


def simulate(
    plan: Plan,
    model: Model,
    clients: Sequence[Rows],
    *,
    test: Rows | None = None,
    rate: float = 1.0,
    local_steps: int = 1,
    local_rate: float = 1.0,
    masked: bool = False,
    failing: Callable[[Round], Iterable[int]] | None = None,
    verbose: bool = False,
    bits: Bits | None = None,
) -> History:
    """Train on the rows of clients. `masked` adds up by secure aggregation, as real clients do; `failing` names members
    that fail in a round after they dealt."""
    demand(
        len(clients) == plan.clients, f"the plan has {plan.clients} clients, not {len(clients)}", "split the rows again"
    )
    demand(model.size == plan.parameters, f"the model has {model.size} parameters", f"pass parameters={model.size}")
    training = Training(plan, model.initial(bits), rate=rate, bits=bits)
    adding = _masks(plan, bits) if masked else None
    scores, given_up = [], 0
    for _ in shown(range(plan.rounds), plan.rounds, "rounds") if verbose else range(plan.rounds):
        now = training.begin()
        lost = set(failing(now)) if failing is not None else set()

        def sent(member: int, now: Round = now) -> Integers:
            rows, targets = clients[member]
            update = local_update(model, now.weights, rows, targets, steps=local_steps, rate=local_rate)
            return contribution(plan, update, clip=now.clip, members=len(now.members), bits=bits)

        stay = [member for member in now.members if member not in lost]
        try:
            total = adding.total(now, stay, sent) if adding is not None else _plain(plan, stay, sent)
            done = training.finish(total, len(stay))
        except Refused as refusal:
            if refusal.code != "too-few-clients":
                raise
            done = training.give_up()
        given_up += not done.used
        scores.append(score(model, done.weights, *test) if test is not None else float("nan"))
    return History(plan, training.weights, tuple(range(1, plan.rounds + 1)), tuple(scores), given_up)


def _masks(plan: Plan, bits: Bits | None) -> Masks:
    from discreet.federated.summation import Masks  # it needs cryptography

    return Masks(plan, bits)


def _plain(plan: Plan, stay: Sequence[int], sent: Callable[[int], Integers]) -> Integers:
    total = np.zeros(plan.grid.width, dtype=np.int64)
    for member in stay:
        total += sent(member)
    return total


def plot(histories: Iterable[History], theme: str = "light") -> ChartType:
    """Score and ε, round after round, for each place of noise. It needs altair."""
    from discreet.answers.plots.beside import drawn_beside

    listed = list(histories)
    return drawn_beside(lambda: _chart(listed, theme))


def _chart(listed: list[History], theme: str) -> ChartType:
    from discreet.answers.plots.theme import COLOURS, altair, chart_of, dressed, theme_of

    alt, look = altair(), theme_of(theme)
    demand(bool(listed), "there is nothing to draw", "pass what simulate() returned")
    records = [record for history in listed for record in history.records()]
    places = list(dict.fromkeys(record["noise"] for record in records))
    colour = alt.Color("noise:N", scale=alt.Scale(domain=places, range=list(COLOURS[: len(places)])), title="noise")
    base = chart_of(records).encode(x=alt.X("round:Q", axis=alt.Axis(grid=False)), color=colour)
    upper = base.mark_line().encode(y=alt.Y("score:Q", scale=alt.Scale(zero=False))).properties(width=460, height=200)
    lower = base.mark_line().encode(y=alt.Y("epsilon:Q", title="ε")).properties(width=460, height=120)
    against = dict.fromkeys(f"{history.plan.noise}: {history.guarantees()[0].against}" for history in listed)
    subtitle = [
        f"{listed[0].plan.clients:,} clients, delta {float(listed[0].plan.delta):g}; ε against",
        "; ".join(against),
    ]
    return dressed(alt.vconcat(upper, lower), look, "Federated training", subtitle)
