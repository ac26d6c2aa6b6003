"""What may be spent, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor

from discreet.accounting.balance import Amount, Balance, Lifetime, Of, Used, part_used
from discreet.accounting.conversion import epsilon_of_rho, rho_of_epsilon, rho_of_pure
from discreet.accounting.filters import ConcentratedFilter, Filter, PureFilter
from discreet.accounting.labels import label_of_rho
from discreet.accounting.rounding import UNITS, charged, float_down, float_up, granted
from discreet.ledger.codec import Amounts, less, plus
from discreet.ledger.windows import Window
from discreet.policy import Percentage, Share


@dataclass(frozen=True)
class Grant:
    """A budget as the owner wrote it, ε alone or (ε, δ), and its limits in the ledger's units."""

    epsilon: Fraction
    delta: Fraction | None
    limits: Amounts

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction | None) -> Grant:
        if delta is None:
            return cls(epsilon, delta, (granted(epsilon),))
        filter_ = ConcentratedFilter.of(epsilon, delta)
        return cls(epsilon, delta, (filter_.rho, filter_.delta))

    @cached_property
    def half(self) -> Fraction:
        """Of δ, for the conversion of ρ to ε."""
        assert self.delta is not None
        return self.delta / 2

    @property
    def nothing(self) -> Amounts:
        return (0,) * len(self.limits)

    def filter(self, spent: Amounts) -> Filter:
        return self._filter(self.limits, spent)

    @property
    def endless(self) -> Grant:
        """One that is counted alike, of which neither ε, ρ nor δ ever runs out: for rehearsals, never for real data."""
        return replace(self, limits=(10**60,) * len(self.limits))

    @property
    def unlimited(self) -> Filter:
        """A filter of this currency that admits everything."""
        return self.endless.filter(self.nothing)

    def share(self, share: Share, spent: Amounts) -> Filter:
        """An analyst's quota: the ρ of (ε, δ/2), and of the δ for key selection as large a part as of the ε.

        A share in per cent is that part of both, or of a pure budget's ε.

        The owner may make a share smaller than what the analyst spent already: then nothing is left of it.
        """
        return self.filled(self.share_limits(share), spent)

    def filled(self, limits: Amounts, spent: Amounts) -> Filter:
        """A filter of this currency with other limits, of which no more than all is spent."""
        return self._filter(limits, tuple(map(min, spent, limits)))

    def share_limits(self, share: Share) -> Amounts:
        if isinstance(share, Percentage):
            return tuple(floor(limit * share.fraction) for limit in self.limits)
        return _share_limits(self.epsilon, self.delta, share)

    def share_epsilon(self, share: Share) -> Fraction:
        """The ε of a share: what it guarantees by itself."""
        if not isinstance(share, Percentage):
            return share
        if self.delta is None or share.fraction == 1:
            return self.epsilon * share.fraction
        return epsilon_of_rho(Fraction(self.share_limits(share)[0], UNITS), self.delta / 2)

    def _filter(self, limits: Amounts, spent: Amounts) -> Filter:
        if self.delta is None:
            return PureFilter(limits[0], spent[0])
        return ConcentratedFilter(limits[0], limits[1], spent[0], spent[1], conversion=self.delta / 2)

    def within(self, other: Grant) -> bool:
        """Whether this grant allows no more than the other, in the same currency."""
        if self.delta is None or other.delta is None:
            return self.delta is other.delta and self.epsilon <= other.epsilon
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def converted(self, spent: Amounts) -> Amounts | None:
        """Amounts of another grant in this one's currency; pure spending becomes concentrated, never the reverse."""
        if len(spent) == len(self.limits):
            return spent
        if self.delta is None:
            return None
        return charged(rho_of_pure(Fraction(spent[0], UNITS))), 0

    def balance(
        self,
        limits: Amounts,
        spent: Amounts,
        epsilon: Fraction,
        units: Mapping[str, Amounts] | None = None,
        *,
        of: Of = "budget",
        limit: Amount | None = None,
    ) -> Balance:
        """`units` is what was spent about each unit, where there are several; `limit` is less than what remains."""
        remaining = self.remaining(less(limits, spent))
        apart = {unit: self._used(amounts) for unit, amounts in (units or {}).items()}
        if self.delta is None:
            total = Amount(float_up(Fraction(limits[0], UNITS)))
        else:
            total = Amount(float_up(epsilon), float_down(Fraction(limits[0], UNITS)), float_up(self.delta))
        return Balance(total, self._used(spent), remaining, units=apart, of=of, limit=limit)

    @staticmethod
    def used(limits: Amounts, spent: Amounts, of: Of = "budget") -> Used:
        """How much of limits is spent, of each currency: the quick part of a balance."""
        pairs = zip(spent, less(limits, spent), strict=True)
        part, *delta = (part_used(each, left) for each, left in pairs)
        return Used(part, delta[0] if delta and spent[1] else 0.0, of)

    def lifetime(self, window: Window, spent: Amounts) -> Lifetime:
        """What all windows up to this one mean together (the theorem of `windows`)."""
        allowed = window.allowed(self.limits)
        return Lifetime(window.number, window.most, self._claim(allowed, allowed), self._claim(spent, allowed))

    def ever(self, window: Window, most: int | None) -> Amount:
        """What all windows mean together that the policy allows, used or not."""
        more = max((most or 1) - window.number, 0)
        allowed = window.allowed(self.limits)
        for _ in range(more):
            allowed = plus(allowed, self.limits)
        return self._claim(allowed, allowed)

    def _claim(self, amounts: Amounts, allowed: Amounts) -> Amount:
        """A guarantee, in which half of all windows' δ is for conversion."""
        used = Fraction(amounts[0], UNITS)
        if self.delta is None:
            return Amount(float_up(used))
        conversion = Fraction(allowed[1], UNITS)
        epsilon = epsilon_of_rho(used, conversion)
        return Amount(float_up(epsilon), float_up(used), float_up(conversion + Fraction(amounts[1], UNITS)))

    def _used(self, spent: Amounts) -> Amount:
        """Amounts as what they guarantee."""
        used = Fraction(spent[0], UNITS)
        if self.delta is None:
            return Amount(float_up(used))
        epsilon = epsilon_of_rho(used, self.delta / 2)
        return Amount(float_up(epsilon), float_up(used), float_up(Fraction(spent[1], UNITS)))

    @property
    def tenth(self) -> Amount:
        """A tenth of it."""
        return self.remaining(tuple(limit // 10 for limit in self.limits))

    def remaining(self, left: Amounts) -> Amount:
        """What is left, rounded down; its ε is the largest that the next release may have."""
        if self.delta is None:
            return Amount(float_down(Fraction(left[0], UNITS)))
        rho = Fraction(left[0], UNITS)
        return Amount(label_of_rho(rho, self.half), float_down(rho), float_down(Fraction(left[1], UNITS)))


@lru_cache(maxsize=1024)
def _share_limits(total: Fraction, delta: Fraction | None, epsilon: Fraction) -> Amounts:
    if delta is None:
        return (granted(epsilon),)
    return granted(rho_of_epsilon(epsilon, delta / 2)), granted(delta / 2 * epsilon / total)
