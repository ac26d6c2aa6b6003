"""Keys of clients: agreed by X25519, derived by HKDF, used for ChaCha20 and ChaCha20-Poly1305.

All of it is the `cryptography` library's; random bytes are those of `discreet.noise`.
"""

from __future__ import annotations

import hmac
from typing import Final

import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import Words
from discreet.noise import Bits, resolve

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError:
    message = "cryptography is not installed: pip install 'discreet[federated]'"
    raise ImportError(message, name="cryptography") from None

PUBLIC: Final = 32
"""Bytes of a public key."""
SEED: Final = 32
_NONCE: Final = bytes(12)
"""Every key seals one message only."""
_ANYBODY: Final = X25519PrivateKey.from_private_bytes(bytes(PUBLIC))
"""Agrees with whatever is a key: what it agrees on is used for nothing."""


class Identity:
    """A client's key pair, and what it agreed on with others.

    It is used over many rounds: what is derived for a round says nothing about other rounds. No round is masked twice,
    since two vectors under one mask would show their difference.
    """

    def __init__(self, bits: Bits | None = None, *, private: bytes | None = None) -> None:
        self.private = resolve(bits).bytes(PUBLIC) if private is None else private
        self._private = X25519PrivateKey.from_private_bytes(self.private)
        self.public: bytes = self._private.public_key().public_bytes_raw()
        self._secrets: dict[bytes, bytes] = {}
        self._newest: dict[bytes, int] = {}

    def begin(self, session: bytes, round_number: int) -> None:
        """Take part in a round: once, and in no earlier one any more."""
        if round_number <= self._newest.get(session, 0):
            raise Refused("wrong-round", f"round {round_number} is over for this client", "begin the next round")
        self._newest[session] = round_number

    def secret_with(self, public: bytes) -> bytes:
        """What nobody else knows but the owner of that key; computed once."""
        if public not in self._secrets:
            self._secrets[public] = self._agreed(public)
        return self._secrets[public]

    def _agreed(self, public: bytes) -> bytes:
        raw = _exchanged(self._private, public)
        info = b"discreet federated" + min(public, self.public) + max(public, self.public)
        return HKDF(algorithm=SHA256(), length=SEED, salt=None, info=info).derive(raw)


def demand_key(public: bytes) -> None:
    """Refuse what nobody can agree on a secret with: another size, or a point of which all multiples are known.

    Whoever was a neighbour of such a key would find out only in a round, and could take no part in it.
    """
    _exchanged(_ANYBODY, public)


def _exchanged(private: X25519PrivateKey, public: bytes) -> bytes:
    try:
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise Refused("body-invalid", "that is no public key", f"send {PUBLIC} bytes of X25519") from None


def derived(secret: bytes, label: bytes) -> bytes:
    """HKDF-Expand to 32 bytes: one block of HMAC-SHA256 (RFC 5869, section 2.3)."""
    return hmac.digest(secret, label + b"\x01", "sha256")


def words(seed: bytes, count: int) -> Words:
    """So many words that only those who know the seed can tell from random ones (ChaCha20)."""
    stream = Cipher(ChaCha20(seed, bytes(16)), None).encryptor().update(bytes(4 * count))
    return np.frombuffer(stream, dtype="<u4")


def sealed(key: bytes, text: bytes) -> bytes:
    return ChaCha20Poly1305(key).encrypt(_NONCE, text, None)


def opened(key: bytes, text: bytes) -> bytes:
    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, text, None)
    except InvalidTag:
        reason = "a sealed message is not what its sender sealed: some client lies"
        raise Refused("too-few-clients", reason, "begin the next round") from None
