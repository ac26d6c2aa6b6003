"""The perturbed histogram: the lecture's five patients, and what counts give away of one of them."""

from __future__ import annotations

from typing import Final

RECORDS: Final = {"Alice": (43, "Y"), "Frank": (42, "Y"), "Bob": (31, "Y"), "Mary": (28, "Y"), "Dave": (43, "N")}
"""The lecture's table: age, and whether HIV-positive."""
DECADES: Final = ("20–29", "30–39", "40–49")


def positives(without: str = "", times: int = 1) -> list[str]:
    """The decade of each HIV-positive patient; all but the one left out are there so many times."""
    decades = []
    for name, (age, positive) in RECORDS.items():
        if positive == "Y":
            decades += [DECADES[age // 10 - 2]] * (times - (name == without))
    return decades


def counts(decades: list[str]) -> list[int]:
    """
    >>> counts(positives()), counts(positives(without="Bob"))
    ([1, 1, 2], [1, 0, 2])
    """
    return [decades.count(decade) for decade in DECADES]
