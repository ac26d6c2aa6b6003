"""The command line: every command with its arguments and options, as click knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from discreet.cli import discreet
from tests.reference.text import cell, line, prose, table

SOURCE: Final = Path(__file__).parents[2] / "src" / "discreet"
EXITS: Final = {
    0: "answered",
    2: "wrong use: the message says what would be right",
    3: "refused: see [codes](../guide/codes.md)",
    4: "the budget is exhausted",
    5: "the engine failed",
    6: "an audit found something",
}
VARIABLES: Final = {
    "DISCREET_TOKEN": "the token with which `discreet query https://…`, `discreet shell https://…` and `discreet.connect` ask",
    "DISCREET_CA": "the certificate of your own authority, in PEM, that vouches for the server",
    "DISCREET_MARKS": "the folder of high-water marks, by which a ledger that was rolled back is noticed",
    "DISCREET_MEMORY": "how much memory the engines of one process may use together, such as `8GB`",
    "DISCREET_LOG": "where commands log, one line of JSON for each event: a file, or `-` for standard error",
    "DISCREET_TRACEBACK": "set, it lets unforeseen errors through, for those who look for their cause",
}
"""What the environment says, by name."""
HEAD: Final = """# The command line

Made from the commands themselves by `python -m tests.reference`. `discreet COMMAND --help` says the same in the
terminal; `--json` is there wherever a program may want to read the answer. `POLICY` is a policy file; where `TARGET`
stands, the address of a server's dataset does too ([a server](../guide/12-server.md)).

"""


def page() -> str:
    parts = [HEAD]
    parts.append("## Exit codes\n\n" + table(["code", "means"], ([str(code), says] for code, says in EXITS.items())))
    variables = ([cell(name), says] for name, says in VARIABLES.items())
    parts.append("## Variables of the environment\n\n" + table(["variable", "says"], variables))
    parts.append("## Commands\n")
    parts += [_command(command, context) for command, context in commands() if not isinstance(command, click.Group)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def commands() -> Iterator[tuple[click.Command, click.Context]]:
    """All commands and groups below the outermost, in the order of its help."""
    outermost = click.Context(discreet, info_name="discreet", help_option_names=["-h", "--help"])
    yield from _below(discreet, outermost)


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        inner = click.Context(command, parent=context, info_name=name)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def _command(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    rows = [[_spelled(each, context), line(_said(each)), _default(each)] for each in parameters(command)]
    told = table(["option", "says", "unless given"], rows) if rows else ""
    return f"### {context.command_path}\n\n    {usage}\n\n{prose(command.help or '')}\n\n{told}"


def parameters(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option) and not each.hidden]


def _spelled(option: click.Option, context: click.Context) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    return cell(names if option.is_flag else f"{names} {option.make_metavar(context)}")


def _said(option: click.Option) -> str:
    ends = {"min": "least", "max": "most"}
    limits = [f"at {word} {getattr(option.type, end)}" for end, word in ends.items() if _limit(option, end) is not None]
    several = ["may be given several times"] if option.multiple else []
    needed = ["needed"] if option.required else []
    more = "; ".join([*needed, *limits, *several])
    return f"{option.help} ({more})" if more else str(option.help)


def _limit(option: click.Option, end: str) -> Any:
    return getattr(option.type, end, None) if isinstance(option.type, click.IntRange | click.FloatRange) else None


def _default(option: click.Option) -> str:
    shown = option.default
    if option.is_flag or option.multiple or not isinstance(shown, str | int | float):
        return ""
    return cell(str(shown))


def variables() -> set[str]:
    """Those that the program reads."""
    return {
        name for path in SOURCE.rglob("*.py") for name in re.findall(r"\bDISCREET_[A-Z]+\b", path.read_text("utf-8"))
    }
