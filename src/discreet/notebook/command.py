"""What may stand behind `%%discreet` and `%discreet`: the options of the command line, read by the same parser."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from IPython.utils.process import arg_split  # type: ignore[attr-defined]  # it is meant for others, and not marked so
from IPython.utils.text import DollarFormatter

from discreet.answers.interface import Asks
from discreet.cli.options import OPTIONS, named
from discreet.cli.output import Target
from discreet.notebook.views import VIEWS

POLICY, _, *COSTS = OPTIONS
"""All but the question itself, which is the cell."""
LATER: Final = click.argument("policy", type=Target(), metavar="[POLICY|URL]", required=False)
"""Cells after the first need not name it."""
SETTINGS: Final = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class Asking:
    """A question that is asked, or previewed, of whom, and the name that the answer gets."""

    policy: Path | str | None
    """None for the one that was named last."""
    settings: dict[str, Any]
    dummy: bool
    preview: bool
    name: str | None


@dataclass(frozen=True, slots=True)
class Looking:
    """What is looked at; None for all of it."""

    policy: Path | str
    what: str | None
    analyst: str | None


class Name(click.ParamType[str]):
    """The name of a variable."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.isidentifier() or keyword.iskeyword(text):
            self.fail(f"{text!r} is no name of a variable: write one such as wards", param, ctx)
        return text


def costed(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a question, in this order."""
    for option in reversed(COSTS):
        command = option(command)
    return command


@click.command("%%discreet", context_settings=SETTINGS)
@LATER
@costed
@click.option("--fresh", is_flag=True, help="Draw new noise at its cost, even if the answer is cached.")
@click.option("--confirm", is_flag=True, help="Charge what --error takes, even above a tenth of what is left.")
@click.option("--preview", is_flag=True, help="Only cost and error: free, and no data is read.")
@click.option("--as", "name", type=Name(), help="The variable that gets the answer, besides _discreet.")
def ask(
    policy: Path | str | None,
    params: tuple[tuple[str, Any], ...],
    dummy: bool,
    fresh: bool,
    confirm: bool,
    preview: bool,
    name: str | None,
    **settings: Any,
) -> Asking:
    """Ask POLICY the query in this cell and charge it to the budget.

    POLICY is a file, an address, or a variable with a curator or a connection in it; left out,
    it is the one that was named last. {…} is replaced by the value of the expression; put it in
    quotes if there are blanks in it.

    \b
    %%discreet hospital.toml --epsilon 0.5 --as patients
    SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward
    """
    once = {} if preview else {"fresh": fresh, "confirm": confirm}
    return Asking(policy, {**settings, **once, "params": named(params)}, dummy, preview, name)


class Both(click.Command):
    """Tells about both magics: IPython runs no cell that is empty, so nobody could ask the other one for help."""

    def get_help(self, ctx: click.Context) -> str:
        return f"{super().get_help(ctx)}\n\n{ask.get_help(click.Context(ask, info_name=ask.name))}"


@click.command("%discreet", cls=Both, context_settings=SETTINGS)
@POLICY
@click.argument("what", type=click.Choice(list(VIEWS)), required=False)
@click.option("--analyst", help="Whose budget; else everybody's.")
def look(policy: Path | str, what: str | None, analyst: str | None) -> Looking:
    """Show the budget, the tables or the ledger of POLICY: a file, an address, or a variable with a
    curator or a connection in it.

    Questions are asked in cells that begin with %%discreet.
    """
    return Looking(policy, what, analyst)


def understood(command: click.Command, line: str, names: Mapping[str, Any]) -> Any:
    """What a line means to a command; None if it asks for help, which is printed."""
    try:
        words = arg_split(line, posix=True)
    except ValueError as wrong:
        reason = f"the line cannot be split into words ({wrong}): close every quote"
        raise click.UsageError(reason, click.Context(command, info_name=command.name)) from None
    try:
        with command.make_context(command.name, [_value(word, names, command) for word in words]) as context:
            return command.invoke(context)
    except click.exceptions.Exit:
        return None


def _value(word: str, names: Mapping[str, Any], command: click.Command) -> str:
    """A word with its values filled in. A value stays a value: what it says is never an option."""
    filled = _filled(word, names)
    if filled.startswith("-") and not word.startswith("-"):
        reason = f"{filled!r} is the value of {word} and looks like an option: write options as they are"
        raise click.UsageError(reason, click.Context(command, info_name=command.name))
    return filled


def _filled(word: str, names: Mapping[str, Any]) -> str:
    """A word with the values of what stands in braces or behind a dollar. {NAME} of a curator is its name."""
    inner = word.removeprefix("{").removesuffix("}")
    if isinstance(names.get(inner), Asks):
        return inner
    try:
        return str(DollarFormatter().vformat(word, [], names))
    except Exception:
        return word  # as in other magics: what cannot be filled in stays as it is
