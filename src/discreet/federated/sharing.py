"""Shamir's secret sharing: any `threshold` shares give a secret back, fewer say nothing about it.

Theorem  Fewer than t shares of a secret have the same distribution whatever the secret is.
Proof    A polynomial of degree t − 1 over a field, uniform but for its value at 0, takes uniform values at any t − 1
         other points: for each secret and each t − 1 values there is exactly one such polynomial.
Source   Shamir 1979. The field has 2¹³⁰ − 5 elements, a prime above all secrets of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from discreet import noise
from discreet.noise import Bits

PRIME: Final = 2**130 - 5
SECRET: Final = 16
"""Bytes of a secret."""
SHARE: Final = 17
"""Bytes of a share."""


def shared(secret: bytes, *, threshold: int, count: int, bits: Bits | None = None) -> list[bytes]:
    """The shares at the points 1 … count."""
    if len(secret) != SECRET or not 1 <= threshold <= count < 2**16:
        raise ValueError("a secret has 16 bytes, and no more shares are needed than there are")
    polynomial = [noise.below(PRIME, bits=bits) for _ in range(threshold - 1)] + [int.from_bytes(secret, "big")]
    return [_value(polynomial, point).to_bytes(SHARE, "big") for point in range(1, count + 1)]


def _value(polynomial: list[int], point: int) -> int:
    """From the highest power down (Horner); points are small, so reducing once at the end is quickest."""
    value = 0
    for coefficient in polynomial:
        value = value * point + coefficient
    return value % PRIME


def restored(shares: Mapping[int, bytes], *, threshold: int) -> bytes:
    """The secret, from shares by point; of more than enough, the first are used."""
    if len(shares) < threshold:
        raise ValueError("there are too few shares")
    points = tuple(sorted(shares)[:threshold])
    values = (int.from_bytes(shares[point], "big") for point in points)
    secret = sum(weight * value for weight, value in zip(_weights(points), values, strict=True)) % PRIME
    if secret >= 2 ** (8 * SECRET):
        raise ValueError("these are not shares of one secret")
    return secret.to_bytes(SECRET, "big")


@lru_cache(maxsize=4096)
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """Of the values at these points in that at 0 (Lagrange)."""
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % PRIME, below * (other - point) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(weights)
