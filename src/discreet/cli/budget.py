"""`discreet budget`: what may be spent, is spent and remains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import (
    bar,
    draw,
    is_address,
    json_option,
    policy_argument,
    printable,
    table,
    target_argument,
    tell_program,
    why_option,
)

if TYPE_CHECKING:
    from discreet.accounting.balance import Balance
    from discreet.ledger import Grant
    from discreet.policy import Policy


class ShowUnlessNamed(click.Group):
    """`budget POLICY` shows; `budget raise POLICY` raises."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=ShowUnlessNamed, no_args_is_help=False, short_help="Show what may be spent; raise it, lower it, share it."
)
def budget() -> None:
    """Show what may be spent, is spent and remains: discreet budget POLICY [ANALYST]."""


@budget.command()
@target_argument
@click.argument("analyst", required=False)
@json_option
def show(policy: Path | str, analyst: str | None, as_json: bool) -> None:
    """Show what POLICY's budget is, what is spent of it and what remains; of everybody, or of one ANALYST."""
    from discreet.curator.state import balances, recorded_grant, streams
    from discreet.policy import read

    if is_address(policy):
        _show_remote(policy, analyst, as_json=as_json)
        return
    declared = read(policy)
    shown = balances(declared, analyst)
    if as_json:
        _tell(declared.name, analyst, shown)
        return
    recorded = recorded_grant(declared)
    draw_balances(shown)
    for stream in streams(declared).values():
        click.echo(f"{printable(stream.name)} holds {stream.held.words} of it: `discreet stream status` has its blocks")
    _explain(declared, recorded)


def _show_remote(url: str, analyst: str | None, *, as_json: bool) -> None:
    from discreet.cli.options import connected

    with connected(url) as remote:
        shown: Mapping[str | None, Balance]
        shown = remote.balances() if analyst is None else {analyst: remote.budget(analyst)}
    if as_json:
        _tell(remote.name, analyst, shown)
        return
    draw_balances(shown)


def _tell(name: str, analyst: str | None, shown: Mapping[str | None, Balance]) -> None:
    amounts = {who: asdict(balance) for who, balance in shown.items()}
    whole = amounts.pop(None, None) or amounts[analyst]
    tell_program({"policy": name, "analyst": analyst, **whole, "analysts": {} if analyst else amounts})


def draw_balances(shown: Mapping[str | None, Balance]) -> None:
    """Balances for people: how much is used up of each, and below it ε, δ and ρ."""
    from discreet.accounting.balance import details, headline

    rows = [[who or "everybody", bar(each.used.larger), headline(each.used)] for who, each in shown.items()]
    draw(table(["", "", ""], rows))
    click.echo("\ndetails")
    for who, balance in shown.items():
        click.echo(f"{printable(who or 'everybody')}:")
        for text in details(balance):
            click.echo(f"  {text}")


def _explain(policy: Policy, recorded: Grant) -> None:
    from discreet.curator.state import grant_of, shown

    wanted = grant_of(policy)
    if not wanted.within(recorded):
        click.echo(f"the policy says {shown(wanted)}, the ledger {shown(recorded)}: `discreet budget raise` raises it")


@budget.command("raise")
@policy_argument
@click.option("--epsilon", type=float, help="What may be spent in all; else what POLICY says already.")
@why_option
@json_option
def raise_(policy: Path, epsilon: float | None, reason: str, as_json: bool) -> None:
    """Raise the budget, in POLICY's file and on record. More may be learned about everybody then, for good.

    Of the file only the one number changes. Without --epsilon, what it says by now is put on record.
    """
    from discreet.curator.state import raise_budget
    from discreet.owner.raising import grant_more
    from discreet.policy import read

    raised = read(policy)
    why = reason or "raised"
    grant = raise_budget(raised, why) if epsilon is None else grant_more(raised, epsilon, why)
    _tell_grant(raised, grant, as_json=as_json)


@budget.command()
@policy_argument
@click.option("--epsilon", type=float, required=True, help="What may be spent in all.")
@why_option
@json_option
def lower(policy: Path, epsilon: float, reason: str, as_json: bool) -> None:
    """Lower the budget, in POLICY's file and on record: never below what is spent already."""
    from discreet.owner.raising import grant_less
    from discreet.policy import read

    lowered = read(policy)
    _tell_grant(lowered, grant_less(lowered, epsilon, reason or "lowered"), as_json=as_json)


def _tell_grant(policy: Policy, grant: Grant, *, as_json: bool) -> None:
    from discreet.curator.state import shown

    if as_json:
        delta = None if grant.delta is None else float(grant.delta)
        tell_program({"policy": policy.name, "epsilon": float(grant.epsilon), "delta": delta})
    else:
        click.echo(f"{printable(policy.name)} may spend {shown(grant)} now")


@budget.command()
@policy_argument
@click.argument("analyst")
@click.argument("share")
@json_option
def share(policy: Path, analyst: str, share: str, as_json: bool) -> None:
    """Give ANALYST a SHARE of the budget, in POLICY's file: an ε such as 0.5, or a part such as 25%.

    It is put on record when the policy is opened next.
    """
    from discreet.owner.editing import add_analyst
    from discreet.policy import read

    changed = add_analyst(read(policy), analyst, share)
    if as_json:
        tell_program({"policy": changed.name, "analyst": analyst, "analysts": list(changed.analysts)})
    else:
        click.echo(f"{printable(analyst)} may ask {printable(changed.name)} now, with a token: `discreet token create`")


@budget.command()
@policy_argument
@click.option("--number", type=int, help="The number of the window to open: the next one.")
@click.option("--why", required=True, help="Why, for the record.")
@json_option
def window(policy: Path, number: int | None, why: str, as_json: bool) -> None:
    """Open the next window of POLICY's budget: all of it may be spent once more, by everybody.

    What was spent stays spent and keeps adding up. The policy says with max_windows how many there may be.
    """
    from discreet.accounting.balance import lifetime_lines
    from discreet.curator.state import open_window
    from discreet.policy import read

    declared = read(policy)
    balance = open_window(declared, number, why)
    if as_json:
        tell_program({"policy": declared.name, **asdict(balance)})
        return
    for text in lifetime_lines(balance):
        click.echo(text)
