"""Which keys exist, when the keys themselves are private."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import TypeVar

from discreet.accounting.distributions import Noise
from discreet.accounting.losses import Concentrated, Sensitivity
from discreet.accounting.rounding import context, decimal
from discreet.exact import Number, probability, whole
from discreet.late import np
from discreet.mechanisms.calibrated import Additive, additive
from discreet.mechanisms.order import in_public_order
from discreet.noise import Bits

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, init=False, slots=True)
class KeySelection:
    """Reveal a key when the noisy number of units that hold it reaches a threshold τ.

    Theorem  δ-approximate ρ-zCDP (with ε: ρ = ε·tanh(ε/2)), where one unit holds at most `max_groups` keys.
    Proof    Keys that others hold too: their counts move by 1 in at most max_groups cells, which the noise covers. Keys
             that only this unit holds have count 1 and exist on one side only: none of them shows except with
             probability 1 − (1 − P(1 + Z ≥ τ))^max_groups ≤ δ, and τ is the least integer with that. Where none shows,
             what is seen is a function of the noisy counts of the other keys: those that pass are written plainly and
             in an order that is a function of themselves (see `order`), whoever came first in the data.
    Error    A key of n units shows with probability P(n + Z ≥ τ) (see `chance`).
    Source   Korolova, Kenthapadi, Mishra & Ntoulas 2009; Swanberg, Desfontaines & Haney 2023 for the exact tail.
    """

    delta: Fraction
    max_groups: int
    mechanism: Additive
    threshold: int

    def __init__(
        self,
        *,
        delta: Number,
        max_groups: int = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "max_groups", whole(max_groups, "max_groups"))
        object.__setattr__(self, "mechanism", additive(Sensitivity.cells(max_groups, 1), epsilon=epsilon, rho=rho))
        object.__setattr__(self, "threshold", 1 + self._noise.least(_each(self.delta, self.max_groups)))

    @property
    def loss(self) -> Concentrated:
        return Concentrated(self.mechanism.loss.concentrated().rho, self.delta)

    @property
    def _noise(self) -> Noise:
        return self.mechanism.noise(self.mechanism.sensitivity, 1)

    def select(self, counts: Mapping[Key, int], bits: Bits | None = None) -> dict[Key, int]:
        """The keys that pass, in their public order, with their noisy numbers of units.

        `counts` has every key that some unit holds. Of keys that Python takes for one (1, 1.0 and True) the plainest
        comes out, whichever was put in.
        """
        if not isinstance(counts, Mapping):
            raise TypeError("counts must map each key that is present to its number of units")
        if not counts:
            return {}
        held = in_public_order(counts)
        exact = [whole(count, "counts") for _, count in held]
        values = np.asarray(self.mechanism.release(exact, bits))
        return {key: int(value) for (key, _), value in zip(held, values, strict=True) if value >= self.threshold}

    release = select

    def chance(self, units: int) -> float:
        """The probability that a key held by so many units shows."""
        return float(self._noise.tail(self.threshold - whole(units, "units"))[0])

    def error(self, confidence: Number = 0.95) -> int:
        """The least number of units with which a key shows at least this often."""
        wanted = float(probability(confidence, "confidence"))
        low, high = 0, self.threshold + 1
        while self.chance(high) < wanted:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance(middle) >= wanted else (middle, high)
        return high


def _each(delta: Fraction, groups: int) -> Decimal:
    """1 − (1 − δ)^(1/groups), rounded down: what each of so many keys may show with."""
    wide = context(151 + len(str(delta.denominator)) - len(str(delta.numerator)))
    each = wide.subtract(1, wide.exp(wide.divide(wide.ln(decimal(1 - delta, wide)), groups)))
    return context(40, ROUND_FLOOR).multiply(each, Decimal("0.9999999999999999999999999"))
