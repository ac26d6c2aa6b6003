"""What coordinator and clients say to each other: JSON, checked against these types before anything looks at it.

Bytes are base64. Vectors are words of 32 bits, least significant byte first. Every message but the first names the
round it belongs to; the sender is known by the token that it got when it joined.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

import msgspec
import numpy as np

from discreet.errors import Refused
from discreet.federated.encoding import Floats, Words
from discreet.federated.task import Task

Kind = TypeVar("Kind")
LIMIT: Final = 2**20
"""Bytes that any message may have beside its vector."""
Number = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
"""Of a client. Larger numbers may have one hash, and tables of those take long."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """One of those below; `kind` is its name in small letters."""


class Join(Message, frozen=True):
    """A client's first message: its public key."""

    key: bytes


class Welcome(Message, frozen=True):
    """The answer: who it is, and what was agreed. Clients compute what it costs them by themselves."""

    number: int
    token: str
    session: bytes
    plan: dict[str, Any]
    task: Task


class Work(Message, frozen=True):
    """What is there to do?"""


class Wait(Message, frozen=True):
    """Nothing yet: ask again."""


class End(Message, frozen=True):
    """The training is over."""

    rounds: int


class Train(Message, frozen=True):
    """Send an update."""

    round: int
    weights: bytes
    clip: float


class Prepare(Message, frozen=True):
    """Deal, for a round with these members; keys are those of the neighbours."""

    round: int
    members: tuple[Number, ...]
    keys: dict[Number, bytes]
    weights: bytes
    clip: float


class Mask(Message, frozen=True):
    """Send the masked vector; these are what neighbours dealt."""

    round: int
    inbox: dict[Number, bytes]


class Reveal(Message, frozen=True):
    """Give the shares of those neighbours who stayed, and of those who failed."""

    round: int
    stayed: tuple[Number, ...]
    failed: tuple[Number, ...]


class Dealt(Message, frozen=True):
    round: int
    envelope: bytes
    shares: dict[Number, bytes]


class Vector(Message, frozen=True):
    round: int
    words: bytes


class Shares(Message, frozen=True):
    round: int
    stayed: dict[Number, bytes]
    failed: dict[Number, bytes]


FromClient = Join | Work | Dealt | Vector | Shares
FromCoordinator = Welcome | Wait | End | Train | Prepare | Mask | Reveal
_KNOWN: Final = tuple(msgspec.json.Decoder[Any](kind) for kind in (FromClient, FromCoordinator))
"""So that msgspec knows all types before there are threads: one that it only half knows would end the process."""


def encoded(message: Message) -> bytes:
    return msgspec.json.encode(message)


def decoded(body: bytes, kind: Any) -> Any:
    """The message, or a refusal."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as wrong:
        raise Refused("body-invalid", f"the message does not have its form: {wrong}", "see messages.py") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused("not-json", "the message is not JSON", "send JSON") from None


def words_of(raw: bytes, width: int) -> Words:
    if len(raw) != 4 * width:
        raise Refused("body-invalid", f"a vector has {width} words of 32 bits", "send all of them")
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32)


def raw_words(words: Words) -> bytes:
    return words.astype("<u4").tobytes()


def weights_of(raw: bytes, size: int) -> Floats:
    weights = np.frombuffer(raw, dtype="<f8").astype(np.float64) if len(raw) == 8 * size else np.empty(0)
    if len(weights) != size or not np.isfinite(weights).all():
        raise Refused("body-invalid", f"a model has {size} finite weights", "send all of them")
    return weights


def raw_weights(weights: Floats) -> bytes:
    return weights.astype("<f8").tobytes()
