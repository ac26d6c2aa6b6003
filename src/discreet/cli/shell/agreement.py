"""Prices are shown before they are paid: what a question would cost, and what somebody replies to that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import click

from discreet.cli.output import draw
from discreet.cli.shell.session import Session, Settings, is_free, names_price
from discreet.cli.shell.words import offer
from discreet.curator.answers.showing import is_payable

YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no", "q", "quit", "exit"})
Reply = Callable[[str], str]


def agree(session: Session, sql: str, reply: Reply) -> Settings | None:
    """How to ask the question, once somebody agreed to its price; None if nobody did. What is free needs no reply.

    Of a dummy the price is only shown: that is what the real question would cost.
    """
    settings = session.settings
    while True:
        found = session.preview(sql, settings)
        if is_free(sql, found):
            return settings
        click.echo(offer(found, None if names_price(sql) else settings.epsilon))
        if session.dummy:
            return settings
        payable = is_payable(found.loss, found.remaining)
        said = reply(f"run? [{'Y/n' if payable else 'y/N'}/price/?] ").strip().lower()
        said = said or ("y" if payable else "n")
        if said in YES:
            return settings
        if said in NO:
            return None
        if said == "?":
            draw(found)
        else:
            settings = _repriced(settings, sql, said)


def _repriced(settings: Settings, sql: str, said: str) -> Settings:
    """The settings with the price that was typed; as they were if it was none."""
    price = _number(said)
    if price is None:
        click.echo("Enter or y runs it, n does not, ? shows more, and a number such as 0.05 is a new price")
        return settings
    if names_price(sql):
        click.echo("the question names its price itself: change it there")
        return settings
    return settings.with_price(price)


def _number(said: str) -> float | None:
    try:
        found = float(said)
    except ValueError:
        return None
    return found if 0 < found < math.inf else None
