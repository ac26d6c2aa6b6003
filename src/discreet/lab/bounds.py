"""What differential privacy leaves to whoever guesses about people, and what right guesses prove about ε.

Theorem  Let a fair coin decide for each person, by itself, whether a release is made with their row, and let the
         release be ε-DP.
         (1) What is said of a person with probability p when their row is left out is said with at most
         min(e^ε·p, 1 − e^−ε·(1 − p)) when it is in; the same holds for shares of people.
         (2) Whatever is guessed from the release about some of the coins, the number of right guesses is at most
         Bin(guesses, e^ε/(1 + e^ε)), in stochastic order.
Proof    Fix all coins but one: the two tables are neighbours, so any event is at most e^ε times as likely on one side;
         (1) is that for an event and for its opposite, and the bound is concave in p, so it holds for means.
         (2) Given the release and all earlier coins, the odds of the next coin are a ratio of sums over the later ones,
         term by term within e^±ε; so the next guess is right with at most e^ε/(1 + e^ε), whatever came of those before.
         Several releases, each with coins of its own, are one long row of coins. Guesses may use anything but the coins
         that they are about.
Source   Kairouz, Oh & Viswanath 2015 for (1); Steinke, Nasr & Jagielski 2023 for (2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.audit.guesses import proven

Flags = NDArray[np.bool_]
ALPHA: Final = 0.001
"""What is said to be proven is wrong with this probability at most."""
PROVES: Final = f"proves ({1 - ALPHA:.1%})"
"""The head of a column of what is."""


def most_with(without: float, epsilon: float) -> float:
    """(1): how likely something is with a row, at most, if it is so likely without.

    >>> round(most_with(0.01, 1), 4), round(most_with(0.9, 1), 4)
    (0.0272, 0.9632)
    """
    return min(math.exp(epsilon) * without, 1 - math.exp(-epsilon) * (1 - without))


def proves(right: int, wrong: int, alpha: float = ALPHA) -> float:
    """(2): what ε is at least, by Clopper and Pearson; 0 if nothing is proven."""
    return max(proven(right, wrong, right + wrong, delta=0.0, alpha=alpha), 0.0) if right + wrong else 0.0


def proven_words(epsilon: float) -> str:
    """
    >>> proven_words(1.239), proven_words(0.001)
    ('ε ≥ 1.23', 'nothing')
    """
    return f"ε ≥ {math.floor(100 * epsilon) / 100:g}" if epsilon >= 0.01 else "nothing"


@dataclass(frozen=True, slots=True)
class Recovered:
    """How often an attack was right about those whose rows were in a release, and about those who were left out."""

    right_in: int
    members: int
    right_out: int
    others: int

    @classmethod
    def counted(cls, right: Flags, coins: Flags) -> Recovered:
        """From whether it was right about each person, and whose row was in, for each release."""
        return cls(int(right[coins].sum()), int(coins.sum()), int(right[~coins].sum()), int((~coins).sum()))

    @property
    def inside(self) -> float:
        return self.right_in / self.members

    @property
    def outside(self) -> float:
        return self.right_out / self.others

    @property
    def gap(self) -> float:
        """What a row in the release adds: leakage. The rest would be inferred without it."""
        return self.inside - self.outside

    def most_gap(self, epsilon: float) -> float:
        """(1): what a row in an ε-DP release can add at most."""
        return most_with(self.outside, epsilon) - self.outside

    def epsilon(self, alpha: float = ALPHA) -> float:
        """(2), by the better of two rules, each with half of α.

        Those whom the attack is right about are called members; or those whom it is wrong about are called none.
        """
        wrong_in, wrong_out = self.members - self.right_in, self.others - self.right_out
        return max(proves(self.right_in, self.right_out, alpha / 2), proves(wrong_out, wrong_in, alpha / 2))
