"""Publications and releases that somebody else sent: requests to a server, what was published to a client.

Neither is believed (deserialisation of untrusted data). A publication is one of those that `discreet.release` offers,
made by its constructor, which checks; values are numbers, texts, lists and tables of plain types, and what would let a
small request do much work is limited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import Concentrated, Pure
from discreet.answers.answer import loss_dict
from discreet.answers.documents import Release
from discreet.answers.models import RECEIPT, RELEASE_READERS, values_sent
from discreet.answers.values import UNREADABLE
from discreet.answers.wire import loss_read
from discreet.errors import Refused
from discreet.printing import printable
from discreet.release.codec import CODEC, VERSION, document, value_of
from discreet.release.core import PUBLICATIONS, Charged, Publication, Published
from discreet.release.workload import Part

DEEPEST: Final = 16
"""How deep lists stand in each other."""
LARGEST: Final = 2**53
REASON_LENGTH: Final = 200


def offered() -> dict[str, type[Publication]]:
    """The publications of this package, by name."""
    return {name: kind for name, kind in PUBLICATIONS.items() if kind.__module__.startswith("discreet.release.")}


def arguments_of(kind: type[Publication]) -> list[str]:
    """What a publication can be told."""
    return [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]


# what a server is sent


def publication_of(
    name: str, params: Mapping[str, Any] | None = None, written: Mapping[str, Any] | None = None
) -> Publication:
    """The publication that a request describes, or a refusal: by plain values, or as `CODEC` writes its fields."""
    known = offered()
    if name not in known:
        raise Refused("release-invalid", "there is no such publication", f"use one of: {', '.join(sorted(known))}")
    if params and written:
        raise Refused("release-invalid", "params and fields say the same", "give one of them")
    given = params or written or {}
    takes = arguments_of(known[name])
    if set(given) - set(takes):
        raise Refused("release-invalid", f"{name} has no such argument", f"it has: {', '.join(takes)}")
    _demand_modest(given)
    try:
        made = {each: _plain(each, value) if params else CODEC.read(value) for each, value in given.items()}
        return known[name](**made)
    except Refused:
        raise
    except UNREADABLE as wrong:
        said = printable(str(wrong))[:REASON_LENGTH] or "an argument cannot be read"
        raise Refused("release-invalid", f"{name}: {said}", "give it numbers, texts and lists") from None


def _plain(name: str, value: Any) -> Any:
    """The value of an argument, said plainly: families of queries are texts such as "ranges" or "marginals 2"."""
    if name == "parts" and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(_part(*each.split()) for each in value)
    return plainly(value)


def _part(kind: str = "", ways: str = "", *_: str) -> Part:
    return Part(kind, int(ways) if ways else None)


def plainly(value: Any) -> Any:
    """Lists become tuples, which do not change; tables stay tables."""
    if isinstance(value, list):
        return tuple(plainly(item) for item in value)
    return {name: plainly(item) for name, item in value.items()} if isinstance(value, dict) else value


def _demand_modest(given: Mapping[str, Any]) -> None:
    """Refuse what is deep or long, and numbers that are none."""
    for value in values_sent(given, "arguments", DEEPEST):
        if isinstance(value, int | float) and not abs(value) <= LARGEST:  # NaN is not, either
            raise Refused("release-invalid", "a number is too large", "use smaller numbers")


# what a client is sent


def document_of(published: Published) -> Release:
    """What was published, as JSON has it."""
    charged = published.charged
    assert charged is not None, "what a task let out was charged"
    loss = charged.cost.times(Fraction(0)) if charged.loss is None else charged.loss
    return {
        **document(published),  # type: ignore[typeddict-item]
        "loss": loss_dict(loss),
        "cost": loss_dict(charged.cost),
        "unit": charged.cost.unit,
        "receipt": charged.receipt,
    }


def published_of(sent: Release) -> Published:
    """What a server says was published; ValueError if that is none of the kinds that this version knows."""
    try:
        value = value_of(sent)
        if not isinstance(value, Published) or not RECEIPT.fullmatch(sent["receipt"]):
            raise ValueError("no release")
        loss, cost = (loss_read(sent[name], sent.get("unit")) for name in ("loss", "cost"))
    except (*UNREADABLE, MemoryError, Refused) as wrong:
        raise ValueError("no release") from wrong
    return replace(value, charged=Charged(cost, _spent(loss), sent["receipt"]))


def _spent(loss: Pure | Concentrated) -> Pure | Concentrated | None:
    return None if loss.is_zero else loss


RELEASE_READERS[VERSION] = published_of
