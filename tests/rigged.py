"""A scripted source of bits, for tests only. `discreet` ships none, and `type(bits) is SystemBits` tells it apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from discreet.noise import Bits

Script = Iterable[int | bytes] | Callable[[int], bytes]


class OutOfBitsError(Exception):
    """More bits were asked for than the script holds."""


class Rigged(Bits):
    """Hands out the script: 64-bit words and byte strings one after the other, or what a function of the count says.

    When the script runs out, the rest comes from `then`, or `OutOfBitsError` is raised. `taken` counts the bytes given.
    """

    __slots__ = ("_script", "_then", "taken")

    def __init__(self, script: Script, *, then: Bits | None = None) -> None:
        self._script = script if callable(script) else _reader(script)
        self._then = then
        self.taken = 0

    def bytes(self, count: int) -> bytes:
        given = self._script(count)
        if len(given) < count:
            if self._then is None:
                raise OutOfBitsError(f"{count} bytes asked for, {len(given)} left in the script")
            given += self._then.bytes(count - len(given))
        self.taken += count
        return given


def _reader(script: Iterable[int | bytes]) -> Callable[[int], bytes]:
    whole = b"".join(part if isinstance(part, bytes) else part.to_bytes(8, "little") for part in script)
    place = 0

    def read(count: int) -> bytes:
        nonlocal place
        given = whole[place : place + count]
        place += len(given)
        return given

    return read


def repeated(byte: int) -> Rigged:
    """The same byte for ever: 0 names the lower end of an interval, 255 the upper one."""
    return Rigged(lambda count: bytes([byte]) * count)
