"""Where all randomness comes from: the operating system, and nothing else.

There is no seed and no buffer. Every request goes to the kernel's generator, so a forked or copied process has
nothing to share, and nothing here can be replayed. `Bits` is abstract so that a test can hand in a script of words;
the package itself contains one source only, and `type(bits) is SystemBits` tells it from any stand-in.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from discreet.noise.uniform import Words


class Bits(ABC):
    """A supply of random bytes."""

    __slots__ = ()

    @abstractmethod
    def bytes(self, count: int) -> bytes:
        """`count` fresh random bytes."""

    def words(self, count: int) -> Words:
        """`count` fresh 64-bit words, uniform and independent."""
        from numpy import frombuffer

        return frombuffer(self.bytes(8 * count), dtype="<u8")

    def integer(self, width: int) -> int:
        """A uniform integer of `width` bits."""
        spare = -width % 8
        return int.from_bytes(self.bytes((width + spare) // 8), "little") >> spare


@final
class SystemBits(Bits):
    """The operating system's generator (`os.urandom`)."""

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def __repr__(self) -> str:
        return "SystemBits()"


SYSTEM: Final = SystemBits()


def resolve(bits: Bits | None) -> Bits:
    """The source to draw from: the system's, unless a charge (or a test) hands over its own."""
    if bits is None:
        return SYSTEM
    if isinstance(bits, Bits):
        return bits
    raise TypeError(
        f"bits must be a Bits object, not {type(bits).__name__}: seeds and generators are not accepted, "
        "leave the argument out to draw from the operating system"
    )
