"""Costs are shown before they are paid: what a question would cost, and what somebody replies to that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import click

from discreet.answers.layout import is_payable
from discreet.cli.output import draw
from discreet.cli.shell.session import Session, Settings, is_free, names_cost
from discreet.cli.shell.words import offer

YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no", "q", "quit", "exit"})
Reply = Callable[[str], str]


def agree(session: Session, sql: str, reply: Reply) -> Settings | None:
    """How to ask the question, once somebody agreed to its cost; None if nobody did. What is free needs no reply.

    Of a dummy the cost is only shown: that is what the real question would cost.
    """
    settings = session.settings
    while True:
        found = session.preview(sql, settings)
        if is_free(sql, found):
            return settings
        click.echo(offer(found, None if names_cost(sql) else settings.epsilon))
        if session.dummy:
            return settings
        payable = is_payable(found.loss, found.remaining)
        said = reply(f"run? [{'Y/n' if payable else 'y/N'}/cost/?] ").strip().lower()
        said = said or ("y" if payable else "n")
        if said in YES:
            return settings
        if said in NO:
            return None
        if said == "?":
            draw(found)
        else:
            settings = _recosted(settings, sql, said)


def _recosted(settings: Settings, sql: str, said: str) -> Settings:
    """The settings with the cost that was typed; as they were if it was none."""
    cost = _number(said)
    if cost is None:
        click.echo("Enter or y runs it, n does not, ? shows more, and a number such as 0.05 is a new cost")
        return settings
    if names_cost(sql):
        click.echo("the question names its cost itself: change it there")
        return settings
    return settings.with_cost(cost)


def _number(said: str) -> float | None:
    try:
        found = float(said)
    except ValueError:
        return None
    return found if 0 < found < math.inf else None
