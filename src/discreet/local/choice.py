"""Which mechanism to take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.exact import Number, whole
from discreet.local.core import MECHANISMS, FrequencyMechanism, Mechanism
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.means import MeanMechanism, OneBitMean, PiecewiseMean
from discreet.local.response import KaryResponse
from discreet.local.subset import SubsetSelection
from discreet.local.unary import OptimizedUnary, SymmetricUnary

FREQUENCIES: Final = (
    KaryResponse,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    OptimizedUnary,
    SymmetricUnary,
)
"""Those to choose among; where variance and length are alike, the first."""
NEARLY: Final = 1.05
"""Variances that differ by less count as equal; then the shorter report is taken, and then the simpler mechanism."""
ALIKE: Final = 32
"""Bytes by which reports are told apart."""
MOST_HASHED: Final = 2**14
"""Values of a domain for which hashing is offered: the collector's work is people times values."""
MAX_BYTES: Final = 1024


def best(domain_size: int, epsilon: Number, *, max_bytes: int = MAX_BYTES) -> FrequencyMechanism:
    """The mechanism with the least variance over all values, of those with reports of at most `max_bytes`.

    Of mechanisms whose variances are within 5 %, one with a short report.

    >>> best(4, 1).name, best(1024, 1).name, best(1024, 1, max_bytes=14).name
    ('k-ary', 'local-hashing', 'hadamard')
    """
    size, most = whole(domain_size, "domain_size", least=2), whole(max_bytes, "max_bytes")
    offered = [kind(size, epsilon) for kind in FREQUENCIES if kind is not LocalHashing or size <= MOST_HASHED]
    fitting = [each for each in offered if each.report_bytes <= most]
    if not fitting:
        raise ValueError(f"max_bytes must be at least {min(each.report_bytes for each in offered)}, not {max_bytes}")
    variances = {each: each.variance(1 / size, 1) for each in fitting}
    enough = NEARLY * min(variances.values())
    return min((each for each in fitting if variances[each] <= enough), key=lambda each: each.report_bytes // ALIKE)


def best_mean(bounds: tuple[Number, Number], epsilon: Number) -> MeanMechanism:
    """Of the mechanisms for means the one with the least variance in the worst case.

    >>> best_mean((0, 100), 1).name, best_mean((0, 100), 2).name
    ('one-bit-mean', 'piecewise-mean')
    """
    offered: list[MeanMechanism] = [OneBitMean(bounds, epsilon), PiecewiseMean(bounds, epsilon)]
    return min(offered, key=lambda each: each.worst_variance)


def from_parameters(parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism that `parameters()` described; refused if anything in it does not fit together."""
    if not isinstance(parameters, Mapping):
        raise TypeError("parameters must be a mapping, as parameters() gives it")
    named = {kind.name: kind for kind in MECHANISMS.values()}
    kind = named.get(str(parameters.get("mechanism")))
    if kind is None:
        raise ValueError(f"mechanism must be one of {', '.join(named)}")
    try:
        made = kind.of(parameters)
    except KeyError as missing:
        raise ValueError(f"the parameters have no {missing}") from None
    if made.parameters() != dict(parameters):
        raise ValueError("the parameters do not belong together: take those that parameters() gave")
    return made
