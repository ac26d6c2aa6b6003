"""What shuffling does for reports that were randomised at the source.

Theorem  n people send reports of an ε₀-DP randomiser, and somebody trusted mixes them. Then the mixed reports are
         (ε, δ)-DP for every pair that dominates
             P = (A + D, C − A + 1 − D)  over  Q = (A + 1 − D, C − A + D)
         with C ~ Bin(n − 1, e^−ε₀), A ~ Bin(C, ½), D ~ Bernoulli(e^ε₀/(e^ε₀ + 1)), for replacing one person's value.
Proof    Each other person's report is, with probability e^−ε₀, as likely as not a clone of what either value of the one
         person would have sent; C of them hide the one report. Source: Feldman, McMillan & Talwar 2021, Theorem 3.1,
         improved in 2023. P and Q change places when the two counts do, so that both directions are alike.
Number   Given C = c, the first count has P(a) = d·B(a − 1) + (1 − d)·B(a) and Q(a) = (1 − d)·B(a − 1) + d·B(a), with B
         of Bin(c, ½) and d of D. The δ given c falls as c grows (one more clone is one more
         randomiser, which can be ignored), so that each c may stand for all that follow it, up to the next one taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from discreet.accounting.pairs import Floats
from discreet.exact import Number, probability, whole
from discreet.exact import epsilon as accepted
from discreet.late import np

TAKEN: Final = 200
"""Numbers of clones that are looked at."""
ROOM: Final = 1 + 1e-9
MAX_PEOPLE: Final = 10**9


def amplify(epsilon: Number, n: int, delta: Number) -> float:
    """The ε of n shuffled reports, each of which is `epsilon`-DP by itself; never above that.

    >>> round(amplify(1, 10_000, 1e-6), 3)
    0.053
    """
    local, people = float(accepted(epsilon)), whole(n, "n")
    if people > MAX_PEOPLE:
        raise ValueError(f"n must be at most {MAX_PEOPLE:.0e}")
    wanted = float(probability(delta, "delta"))
    low, high = 0.0, local
    if _delta(local, people, 0.0) <= wanted:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(local, people, middle) > wanted else (low, middle)
    return high


def amplified_by_formula(epsilon: Number, n: int, delta: Number) -> float:
    """The closed form, several times larger; infinite where it says nothing (ε₀ > ln(n/(16·ln(2/δ)))).

    >>> round(amplified_by_formula(1, 10_000, 1e-6), 3)
    0.214
    """
    local, people, wanted = float(accepted(epsilon)), whole(n, "n"), float(probability(delta, "delta"))
    if local > math.log(people / (16 * math.log(2 / wanted))):
        return math.inf
    grown = math.exp(local)
    spread = 8 * math.sqrt(grown * math.log(4 / wanted) / people) + 8 * grown / people
    return math.log1p((grown - 1) / (grown + 1) * spread)


def _delta(local: float, people: int, epsilon: float) -> float:
    """δ at ε: for each stretch of numbers of clones its probability times the δ of its least."""
    least, masses = _clones(local, people)
    return min(math.fsum(mass * _given(local, int(c), epsilon) for c, mass in zip(least, masses, strict=True)), 1.0)


@lru_cache(maxsize=64)
def _clones(local: float, people: int) -> tuple[list[int], list[float]]:
    """Stretches of Bin(n − 1, e^−ε₀): where each begins, and how likely it is (rounded up)."""
    others, chance = people - 1, math.exp(-local)
    deviation = math.sqrt(others * chance * (1 - chance))
    centre = others * chance
    low, high = max(0, math.floor(centre - 12 * deviation - 50)), min(others, math.ceil(centre + 12 * deviation + 50))
    log_odds = local + math.log1p(-chance) if chance < 1 else -math.inf  # ln of (1 − chance)/chance
    middle = min(max(round(centre), low), high)
    masses = _from_middle(low, high, middle, lambda k: np.log((others - k + 1) / k) - log_odds)
    starts = np.unique(np.linspace(low, high + 1, min(TAKEN, high - low + 1) + 1).astype(np.int64))[:-1]
    sums = np.add.reduceat(masses, starts - low) * ROOM
    # what lies outside (below 10⁻³⁰) counts as if it hid nothing
    return [0, *starts.tolist()], [1e-30, *sums.tolist()]


def _given(local: float, c: int, epsilon: float) -> float:
    """δ at ε given c clones: Σ over a above some point of P(a) − e^ε·Q(a)."""
    low, half = _half(c)
    mass = np.concatenate([[0.0], half, [0.0]])
    true = 1 / (1 + math.exp(-local))
    p = true * mass[:-1] + (1 - true) * mass[1:]
    q = (1 - true) * mass[:-1] + true * mass[1:]
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) * ROOM + 1e-25 * (low > 0)


@lru_cache(maxsize=1024)
def _half(c: int) -> tuple[int, Floats]:
    """Bin(c, ½), from some number on: what lies outside is below 10⁻³⁰."""
    width = math.ceil(6 * math.sqrt(c)) + 20
    low, high = max(0, c // 2 - width), min(c, c // 2 + width)
    return low, _from_middle(low, high, c // 2, lambda k: np.log((c - k + 1) / k))


def _from_middle(low: int, high: int, middle: int, log_ratio: Callable[[Floats], Floats]) -> Floats:
    """Probabilities from low to high, by the ratios of neighbours; they add up to 1."""
    k = np.arange(low + 1, high + 1, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(log_ratio(k))])
    logs -= logs[middle - low]
    masses = np.exp(logs)
    return np.asarray(masses / masses.sum())
