"""Uniform integers and permutations, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from discreet.late import np
from discreet.noise.bits import Bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"
Words: TypeAlias = "NDArray[np.uint64]"
Booleans: TypeAlias = "NDArray[np.bool_]"
COIN_BITS: Final = 53
"""Chances of coins are whole multiples of 2⁻⁵³: JavaScript's numbers hold them too."""


def below(bits: Bits, limits: Integers) -> Integers:
    """For each limit n ≥ 1 an integer uniform on 0 … n − 1.

    Proof   Words masked to the bit length of n − 1 are uniform below a power of two; those ≥ n are thrown away and
            drawn again, which leaves the rest uniform. More than half are kept.
    """
    masks = _masks((limits - 1).view(np.uint64))
    out = np.empty(limits.shape, dtype=np.int64)
    todo = np.arange(limits.size)
    while todo.size:
        drawn = (bits.words(todo.size) & masks[todo]).view(np.int64)
        accepted = drawn < limits[todo]
        out[todo[accepted]] = drawn[accepted]
        todo = todo[~accepted]
    return out


def below_scalar(bits: Bits, limit: int) -> int:
    """An integer uniform on 0 … limit − 1, for a limit of any size."""
    width = (limit - 1).bit_length()
    while True:
        drawn = bits.integer(width)
        if drawn < limit:
            return drawn


def permutation(bits: Bits, count: int) -> Integers:
    """A uniform permutation of 0 … count − 1.

    Proof   Given that `count` independent words are distinct, each order of them is equally likely; the order is read
            off by sorting. Words that are not all distinct are thrown away (seldom: about count²/2⁶⁵).
    """
    while True:
        keys = bits.words(count)
        order = np.argsort(keys)
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64)


def coins(bits: Bits, count: int, chances: Integers) -> Booleans:
    """True with probability chance/2⁵³, for one chance or for `count` of them.

    Proof   A uniform integer of 53 bits lies below `chance` with that probability. Its first 8 bits decide, unless they
            are those of `chance`; then the other 45, which are drawn only then, do.
    """
    first, rest = chances >> 45, chances & (2**45 - 1)
    drawn = np.frombuffer(bits.bytes(count), dtype=np.uint8)
    # one chance as a Python integer: NumPy then compares bytes with a byte
    heads: Booleans = drawn < (first if first.ndim else first.item())
    ties = np.flatnonzero(drawn == (first if first.ndim else first.item()))
    heads[ties] = (bits.words(ties.size) >> np.uint64(19)).view(np.int64) < (rest[ties] if rest.ndim else rest)
    return heads


def subsets(bits: Bits, count: int, size: int, chosen: int) -> Booleans:
    """`count` uniform subsets of 0 … size − 1 with `chosen` members each, as rows of booleans.

    Proof   Of a set into which each element came by a coin of the same chance, nothing is known but its number of
            members: given that, it is uniform. A uniform element outside is added (or one inside removed) until the
            number is right, which leaves it uniform. Elements are drawn until one is outside (inside).
    """
    level = round(256 * chosen / size)  # a chance in 256ths, so that a byte decides
    members: Booleans
    if 16 <= level <= 240:
        members = (np.frombuffer(bits.bytes(count * size), dtype=np.uint8) < level).reshape(count, size)
    else:  # nearly none or nearly all: few are to be added or removed, and elements outside (inside) are many
        members = np.full((count, size), level > 240)
    missing = chosen - members.sum(axis=1, dtype=np.int64)
    todo = np.flatnonzero(missing)
    while todo.size:
        drawn = below(bits, np.full(todo.size, size, dtype=np.int64))
        adding = missing[todo] > 0
        fitting = members[todo, drawn] != adding
        changed, element = todo[fitting], drawn[fitting]
        members[changed, element] = adding[fitting]
        missing[changed] -= np.where(adding[fitting], 1, -1)
        todo = np.flatnonzero(missing)
    return members


def _masks(values: Words) -> Words:
    """The smallest 2ᵏ − 1 that covers each value, by integer operations only."""
    for shift in (1, 2, 4, 8, 16, 32):
        values = values | (values >> np.uint64(shift))
    return values
