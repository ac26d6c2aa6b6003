r"""The commands that begin with a backslash: one function and one row of the table each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

import click
from rich.text import Text

from discreet.answers import Answer
from discreet.answers.saving import csv_of
from discreet.cli.output import draw, plain, printable, table, write_new
from discreet.cli.shell import manual
from discreet.cli.shell.session import Session
from discreet.policy import suggest


@dataclass(frozen=True, slots=True)
class Command:
    """What follows the name, what it does in a few words, and the function that does it."""

    takes: str
    says: str
    act: Callable[[Session, str], None]


def obey(session: Session, line: str) -> None:
    """Do what a line that begins with a backslash says."""
    word, _, rest = line[1:].strip().removesuffix(";").partition(" ")
    command = COMMANDS.get(word.lower())
    if command is None:
        near = suggest(word, COMMANDS)
        hint = f": did you mean \\{near}?" if near else ""
        raise click.UsageError(f"there is no command \\{printable(word)}{hint}")
    argument = rest.strip()
    if argument and not command.takes:
        raise click.UsageError(f"\\{word.lower()} takes nothing")
    if not argument and command.takes and not command.takes.startswith("["):
        raise click.UsageError(f"\\{word.lower()} takes {command.takes}")
    command.act(session, argument)


# how questions are asked


def _epsilon(session: Session, text: str) -> None:
    session.settings = session.settings.with_cost(_positive(text))
    click.echo(f"questions cost ε {session.settings.epsilon:g} from now on")


def _error(session: Session, text: str) -> None:
    session.settings = session.settings.with_error(_positive(text))
    click.echo(f"questions are asked to within ± {session.settings.error:g} from now on, at the cost that takes")


def _group_size(session: Session, text: str) -> None:
    size = _positive(text)
    if size != int(size):
        raise click.UsageError("a group has a whole number of rows: write \\group_size 1000")
    session.settings = replace(session.settings, group_size=int(size))
    click.echo(f"errors of averages hold in groups of {int(size):,} rows or more from now on")


def _confidence(session: Session, text: str) -> None:
    wanted = _positive(text)
    if wanted >= 1:
        raise click.UsageError("a confidence lies between 0 and 1: write \\confidence 0.95")
    session.settings = replace(session.settings, confidence=wanted)
    click.echo(f"intervals hold with {100 * wanted:.6g} % from now on")


def _analyst(session: Session, name: str) -> None:
    session.curator.budget(name or None)  # refuses whom the policy does not know
    session.settings = replace(session.settings, analyst=name or None)
    click.echo(f"{f'the share of {printable(name)}' if name else 'no share'} is charged from now on")


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise click.UsageError(f"{printable(text)} is not a number above 0: write one such as 0.5")
    return value


# looking


def _budget(session: Session, _: str) -> None:
    from discreet.cli.budget import draw_balances

    curator, analyst = session.curator, session.settings.analyst
    draw_balances(curator.balances() if analyst is None else {analyst: curator.budget(analyst)})


def _ledger(session: Session, text: str) -> None:
    from discreet.answers.wire import entry_shown
    from discreet.cli.ledger import draw_entries

    if text and not (text.isascii() and text.isdecimal() and int(text[:9])):
        raise click.UsageError("\\ledger takes a whole number above 0, or nothing: \\ledger 10")
    curator = session.curator
    entries = curator.latest(limit=int(text[:9]))[::-1] if text else curator.entries()
    draw_entries([entry_shown(entry) for entry in entries])


def _tables(session: Session, name: str) -> None:
    from discreet.cli.tables import draw_tables

    tables = session.curator.tables()
    if name:
        folded = {known.casefold(): known for known in tables}
        if name.casefold() not in folded:
            near = suggest(name, tables) or ", ".join(tables)
            raise click.UsageError(f"there is no table {printable(name)}; there is: {printable(near)}")
        return draw_tables({folded[name.casefold()]: tables[folded[name.casefold()]]})
    return draw_tables(tables)


def _preview(session: Session, sql: str) -> None:
    draw(session.preview(sql, session.settings))


def _help(_: Session, about: str) -> None:
    if about:
        _explain(about)
        return
    click.echo("a statement ends with ; or an empty line; Tab completes, Ctrl-C clears the line, Ctrl-D ends")
    draw(table(["", ""], [[f"\\{name} {command.takes}", command.says] for name, command in COMMANDS.items()]))
    for title, functions in (("aggregates", manual.AGGREGATES), ("of each row", manual.VALUES)):
        draw(Text.assemble((f"{title}: ", "bold"), ", ".join(functions)))
    click.echo("help NAME says more about one of them, such as help \\plot or help QUANTILE")


def _explain(about: str) -> None:
    """A command or a function of SQL, in two lines."""
    word = about.removeprefix("\\").partition("(")[0].strip()
    command = COMMANDS.get(word.lower())
    if command is not None:
        draw(table(["", ""], [[f"\\{word.lower()} {command.takes}", command.says]]))
    function = manual.FUNCTIONS.get(word.upper())
    if function is not None:
        form, says = function
        what = "of many rows, with noise" if word.upper() in manual.AGGREGATES else "of each row"
        draw(table(["", ""], [[form, f"{says} ({what})"]]))
    if command is None and function is None:
        near = suggest(word, [*COMMANDS, *manual.FUNCTIONS])
        hint = f": did you mean {near}?" if near else ""
        raise click.UsageError(f"there is no command and no function {printable(word)}{hint}")


# the last answer


def _save(session: Session, name: str) -> None:
    answer = _last(session)
    path = Path(name).expanduser()
    formats = {".csv": lambda: csv_of(answer), ".json": lambda: json.dumps(plain(answer.to_dict())) + "\n"}
    if path.suffix.lower() not in formats:
        raise click.UsageError("answers are saved as .csv or .json: name such a file")
    write_new(path, formats[path.suffix.lower()]())
    click.echo(f"wrote {printable(str(path))}")


def _plot(session: Session, name: str) -> None:
    answer = _last(session)
    path = Path(name).expanduser() if name else _free_name()
    if path.suffix.lower() not in PICTURES:
        raise click.UsageError(f"pictures are saved as {', '.join(PICTURES)}: name such a file")
    if path.exists():
        raise click.UsageError(f"{path} exists already: name a new file, or remove it")
    try:
        answer.plot().save(str(path))
    except ImportError as missing:
        raise click.UsageError(printable(str(missing))) from None
    click.echo(f"wrote {printable(str(path))}")


def _free_name() -> Path:
    return next(path for number in count(1) if not (path := Path(f"answer-{number}.svg")).exists())


def _last(session: Session) -> Answer:
    if session.answer is None:
        raise click.UsageError("there is no answer yet: ask a question first")
    return session.answer


def _quit(_: Session, __: str) -> None:
    raise EOFError


PICTURES: Final = (".svg", ".png", ".pdf", ".html", ".json")
COMMANDS: Final = {
    "epsilon": Command("COST", "what a question costs from now on", _epsilon),
    "error": Command("HALF-WIDTH", "ask for this accuracy from now on; the cost is found", _error),
    "group_size": Command("ROWS", "of averages: the smallest group for which \\error holds", _group_size),
    "confidence": Command("SHARE", "how sure intervals are, such as 0.95", _confidence),
    "analyst": Command("[NAME]", "whose share is charged; without a name only the budget", _analyst),
    "budget": Command("", "what may be spent, is spent and remains", _budget),
    "ledger": Command("[N]", "what was asked and charged; the last N", _ledger),
    "tables": Command("[TABLE]", "tables, columns, bounds and keys", _tables),
    "preview": Command("SQL", "cost and error in full; free", _preview),
    "plot": Command("[FILE]", "draw the last answer into a file", _plot),
    "save": Command("FILE", "write the last answer as .csv or .json", _save),
    "help": Command("[NAME]", "this list, or what one command or function does", _help),
    "quit": Command("", "end; also exit, quit and Ctrl-D", _quit),
}
"""Every command by its name."""
