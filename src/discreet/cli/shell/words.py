"""What the shell says of costs and failures, in a line or two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from discreet.answers.figures import half_width
from discreet.answers.layout import is_payable
from discreet.cli.failures import EXHAUSTED, INTERRUPTED, REFUSED, Failure
from discreet.cli.output import at_least, at_most, printable

if TYPE_CHECKING:
    from discreet.answers import Preview
    from discreet.cli.shell.session import Session

MOST: Final = 4
"""Columns whose error is said before a question is run; `?` shows all."""
LONGEST: Final = 30
"""Letters of a name in the prompt."""


def offer(preview: Preview, epsilon: float | None) -> str:
    """What a question would cost, of what is left, and how exact the answer would be."""
    remaining = preview.remaining
    left = f"ε {at_most(remaining.epsilon)}" if remaining.rho is None else f"ρ {at_most(remaining.rho)}"
    of = " of the" if is_payable(preview.loss, remaining) else ", more than the"
    named = "" if remaining.rho is None or epsilon is None else f"ε {epsilon:g} "
    errors = _errors(preview)
    more = ["…"] if len(errors) > MOST else []
    return " · ".join([f"{named}costs {_cost(preview)}{of} {left} left", *errors[:MOST], *more])


def _cost(preview: Preview) -> str:
    from discreet.answers import loss_dict

    names = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
    amounts = loss_dict(preview.loss).items()
    return " ".join(f"{names[name]} {at_least(amount)}" for name, amount in amounts if amount or name != "delta")


def _errors(preview: Preview) -> list[str]:
    """The half-width of each column; of an average that of its largest group, which is the smallest."""
    found = []
    for name in preview.columns:
        sizes = preview.averages.get(name)
        if sizes:
            size = max(sizes)
            found.append(f"{printable(name)} ± {half_width(sizes[size])} in groups of {size:,}")
        elif name in preview.error:
            found.append(f"{printable(name)} ± {half_width(preview.error[name])}")
    return found


def prompt_of(session: Session) -> str:
    """Whom one talks to, and the largest cost that is left."""
    shown = printable(session.curator.policy.name)
    name = shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
    if session.dummy:
        return f"{name} (dummy)> "
    analyst = session.settings.analyst
    left = session.curator.budget(analyst).remaining.epsilon
    return f"{name}{f'/{printable(analyst)}' if analyst else ''} ε {at_most(left)} left> "


def tell(failure: Failure) -> None:
    """A failure as other commands tell it; a refusal with its code, which is what help is found by."""
    if failure.exit == INTERRUPTED:
        click.echo(f"\n{failure.reason}", err=True)  # the terminal showed ^C on a line that goes on
        return
    if failure.exit not in (REFUSED, EXHAUSTED):
        failure.tell(json=False)
        return
    click.secho(f"refused ({failure.code}): ", fg="yellow", nl=False, err=True)
    click.echo(printable(failure.reason), err=True)
    if failure.fix:
        click.echo(f"→ {printable(failure.fix)}", err=True)
