"""Costs are shown before they are charged: what a question would cost, and what somebody replies to that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from discreet.accounting.balance import percent
from discreet.answers.figures import half_width
from discreet.answers.layout import budget_words, error_range, short_cost
from discreet.cli.output import draw, printable
from discreet.cli.shell.session import Session, Settings, is_free, names_cost, wants_error
from discreet.exit.consent import TENTH

if TYPE_CHECKING:
    from discreet.answers import Preview

YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no", "q", "quit", "exit"})
MAX_COLUMNS: Final = 4
"""Columns whose error is shown before a query is run; `?` shows all."""
Reply = Callable[[str], str]


def agree(session: Session, sql: str, reply: Reply) -> Settings | None:
    """How to ask the question, once somebody agreed to its cost; None if nobody did. What is free needs no reply.

    Of a dummy the cost is only shown: that is what the real question would cost.
    """
    settings = session.settings
    while True:
        preview = session.preview(sql, settings)
        if is_free(sql, preview):
            return settings
        click.echo(offer(preview))
        if session.dummy:
            return settings
        usual = preview.remaining.affords(preview.loss) and not _is_much(sql, settings, preview)
        answer = reply(f"run? [{'Y/n' if usual else 'y/N'}/cost/?] ").strip().lower()
        answer = answer or ("y" if usual else "n")
        if answer in YES:
            return replace(settings, confirm=True)
        if answer in NO:
            return None
        if answer == "?":
            draw(preview)
        else:
            settings = _recosted(settings, sql, answer)


def _is_much(sql: str, settings: Settings, preview: Preview) -> bool:
    """Whether a cost that nobody named is more than a tenth of what is left: Enter alone does not agree to that."""
    by_error = settings.error is not None or settings.is_usual
    part = preview.remaining.part(preview.loss)
    if part <= TENTH or not (wants_error(sql) if names_cost(sql) else by_error):
        return False
    click.echo(f"this is {percent(part)} of what is left")
    return True


def _recosted(settings: Settings, sql: str, answer: str) -> Settings:
    """The settings with the cost that was typed; as they were if it was none."""
    cost = _number(answer)
    if cost is None:
        click.echo("Enter or y runs it, n does not, ? shows more, and a number such as 0.05 is a new cost")
        return settings
    if names_cost(sql):
        click.echo("the question names its cost itself: change it there")
        return settings
    return settings.with_cost(cost)


def _number(answer: str) -> float | None:
    try:
        value = float(answer)
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


def offer(preview: Preview) -> str:
    """What a question would cost, how much is used up, and how exact the answer would be."""
    much = "" if preview.remaining.affords(preview.loss) else ", more than what remains"
    errors = _errors(preview)
    more = ["…"] if len(errors) > MAX_COLUMNS else []
    cost = f"cost {short_cost(preview.loss, preview.guarantee)}{much}"
    return " · ".join([cost, budget_words(preview.used, preview.more), *errors[:MAX_COLUMNS], *more])


def _errors(preview: Preview) -> list[str]:
    """The half-width of each column; of an average that of its largest group, which is the smallest."""
    errors = []
    for name in preview.columns:
        sizes = preview.averages.get(name)
        if sizes:
            size = max(sizes)
            errors.append(f"{printable(name)} ± {half_width(sizes[size])} in groups of {size:,}")
        elif name in preview.error:
            errors.append(f"{printable(name)} ± {half_width(preview.error[name])}")
        elif name in preview.ranges:
            errors.append(f"{printable(name)} {error_range(preview, name)}")
    return errors
