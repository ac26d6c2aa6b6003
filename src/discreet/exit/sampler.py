"""Where random bits meet exact numbers: the draws that an exit makes, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from discreet import noise
from discreet.accounting.losses import Sensitivity
from discreet.exit.cost import Additive, Choices
from discreet.mechanisms import KeySelection
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits
from discreet.tracing import phase

Cell = tuple[Any, ...]
"""A combination of keys."""
AddNoise = Callable[[Additive, Sensitivity, Any, Bits], Any]
"""Mechanism, declared sensitivity, exact integers (a list or an array), bits of the charge; as many noisy integers."""
Select = Callable[[KeySelection, Mapping[Cell, int], Bits], Mapping[Cell, int]]
"""Mechanism, exact numbers of units, bits of the charge; the keys that are selected, with their noisy numbers."""
Choose = Callable[[Choices, Sequence[Any], Bits], Sequence[int]]
"""Mechanism, exact scores of each group, bits of the charge; the place of what is chosen in each."""

Below = Callable[[int, int | tuple[int, ...], Bits], Integers]
"""Limit, size, bits of the charge; uniform integers, for post-processing."""


def add_noise(mechanism: Additive, sensitivity: Sensitivity, exact: Any, bits: Bits) -> Any:  # noqa: ARG001
    """The exact integers plus fresh noise, as one vector."""
    with phase("noise"):
        if isinstance(exact, list) and len(exact) == 1:  # no array has to be made of it
            return [mechanism.release(exact[0], bits)]
        return mechanism.release(exact, bits) if len(exact) else exact


def below(limit: int, size: int | tuple[int, ...], bits: Bits) -> Integers:
    """Uniform integers from 0 to limit − 1."""
    return noise.below(limit, size, bits=bits)


def select(mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Mapping[Cell, int]:
    """The keys whose noisy number of units passes the threshold, in their public order, as the engine wrote them."""
    written = {cell: cell for cell in exact}
    with phase("noise"):
        selected = mechanism.select(exact, bits)
    return {written[cell]: noisy for cell, noisy in selected.items()}


def choose(mechanism: Choices, scores: Sequence[Any], bits: Bits) -> Sequence[int]:
    """In each group the candidate that the mechanism chooses."""
    with phase("noise"):
        return [mechanism.mechanism.choose(group, bits) for group in scores]


@dataclass(frozen=True, slots=True)
class Sampler:
    """How an exit draws. Auditors give a curator one that records what passes, or repeats another run."""

    add_noise: AddNoise = add_noise
    select: Select = select
    choose: Choose = choose
    below: Below = below


SAMPLER: Final = Sampler()
