"""The lecture's PINQ program, asked of a real curator: a budget of 1, and three noisy counts of a thousand numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from discreet.errors import BudgetExhausted
from discreet.lab.curators import curator_over
from discreet.mechanisms import Laplace

NUMBERS: Final = 1000
COSTS: Final = (0.01, 0.1, 1.0)
"""What the lecture's three counts ask for."""
SQL: Final = "SELECT COUNT(*) AS n FROM numbers"
POLICY: Final = """\
name = "numbers"
[budget]
epsilon = {budget}
[unit]
name = "number"
[tables.numbers]
source = "numbers.csv"
unit = "number"
[tables.numbers.columns]
parity = {{ values = ["even", "odd"] }}
x = {{ min = 1, max = 1000 }}
"""


@dataclass(frozen=True, slots=True)
class Count:
    """One NoisyCount: what it asked for, and what came of it."""

    epsilon: float
    answer: int | None
    half: float
    """95 % of such answers are at most this far off."""
    spent: float
    """By all counts until then."""
    refusal: str = ""


def noisy_counts(costs: Sequence[float], budget: float) -> list[Count]:
    """The counts one after the other, of a curator with this budget and a ledger on disk.

    >>> [count.answer is None for count in noisy_counts(COSTS, 1.0)]
    [False, False, True]
    """
    rows = [
        {"number": number, "parity": "odd" if number % 2 else "even", "x": number} for number in range(1, NUMBERS + 1)
    ]
    counts: list[Count] = []
    spent = 0.0
    with curator_over(POLICY.format(budget=budget), {"numbers": rows}) as curator:
        for cost in costs:
            half = Laplace(epsilon=cost, sensitivity=1).error(0.95)
            try:
                answer = curator.query(SQL, epsilon=cost, fresh=True).rows[0][0]
            except BudgetExhausted as refused:
                counts.append(Count(cost, None, half, spent, str(refused)))
            else:
                spent += cost
                counts.append(Count(cost, answer, half, spent))
    return counts
