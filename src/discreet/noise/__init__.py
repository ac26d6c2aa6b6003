"""Exact discrete noise from the operating system's random bits. Nothing else in discreet draws randomness.

Scales are rational and results are integers; a float scale is turned into a fraction that is never smaller. Without
`size` a function returns one Python int (or bool), with `size` an int64 (or bool) array of that shape.

>>> from discreet import noise
>>> type(noise.laplace(10))
<class 'int'>
>>> noise.gaussian(100, size=(2, 3)).shape
(2, 3)

Names that need arrays are imported on first use: a ledger needs bits alone, and who looks at one waits for no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from discreet.noise.bits import SYSTEM, Bits, SystemBits, resolve

if TYPE_CHECKING:
    from discreet.noise.draws import LEAST_SCALE as LEAST_SCALE
    from discreet.noise.draws import MOST_SCALE as MOST_SCALE
    from discreet.noise.draws import below as below
    from discreet.noise.draws import bernoulli_exp as bernoulli_exp
    from discreet.noise.draws import coins as coins
    from discreet.noise.draws import gaussian as gaussian
    from discreet.noise.draws import geometric as geometric
    from discreet.noise.draws import laplace as laplace
    from discreet.noise.draws import shuffle as shuffle
    from discreet.noise.draws import subsets as subsets
    from discreet.noise.draws import untruths as untruths
    from discreet.noise.race import Exponents as Exponents
    from discreet.noise.race import exponential_race as exponential_race
    from discreet.noise.race import gumbel_race as gumbel_race
    from discreet.noise.uniform import COIN_BITS as COIN_BITS
    from discreet.noise.uniform import Integers as Integers

_HOMES: Final = {
    "COIN_BITS": "uniform",
    "Exponents": "race",
    "Integers": "uniform",
    "LEAST_SCALE": "draws",
    "MOST_SCALE": "draws",
    "below": "draws",
    "bernoulli_exp": "draws",
    "coins": "draws",
    "exponential_race": "race",
    "gaussian": "draws",
    "geometric": "draws",
    "gumbel_race": "race",
    "laplace": "draws",
    "shuffle": "draws",
    "subsets": "draws",
    "untruths": "draws",
}
__all__ = [
    "COIN_BITS",
    "LEAST_SCALE",
    "MOST_SCALE",
    "SYSTEM",
    "Bits",
    "Exponents",
    "SystemBits",
    "below",
    "bernoulli_exp",
    "coins",
    "exponential_race",
    "gaussian",
    "geometric",
    "gumbel_race",
    "laplace",
    "resolve",
    "shuffle",
    "subsets",
    "untruths",
]


def __getattr__(name: str) -> Any:
    """What is looked up stays, so that no draw waits for it again."""
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet.noise' has no attribute {name!r}") from None
    value = globals()[name] = getattr(import_module(f"discreet.noise.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
