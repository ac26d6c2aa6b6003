"""What went wrong, as one message and an exit code; never a traceback."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import printable, tell_program

if TYPE_CHECKING:
    from discreet.errors import Edit

WRONG_USE: Final = 2
REFUSED: Final = 3
EXHAUSTED: Final = 4
FAILED: Final = 5
INTERRUPTED: Final = 130
PIPE: Final = 141
ROWS: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".duckdb", ".db")
"""How files of rows end, which somebody may name where a policy is wanted."""
TRACEBACK: Final = "DISCREET_TRACEBACK"
"""The environment variable that lets unforeseen errors through, for those who look for their cause."""

_ARGUMENT: Final = re.compile(
    r'\b(epsilon|rho|delta|error|group_size|confidence|dialect|analyst|[klct])=("?)([\w.-]+)\2'
)
_RANGE: Final = re.compile(r"(\S+) is not in the range (?:([^\s<]+)(<=?))?x(?:([<>]=?)(\S+?))?\.(?!\S)")
_NUMBER: Final = re.compile(r"is not a valid (integer|float)(?: range)?\.")
_LOW: Final = {"<=": "at least", "<": "above"}
_HIGH: Final = {"<=": "at most", "<": "below", ">=": "at least", ">": "above"}
_PARAMS: Final = re.compile(r'params=\{"(\w+)": ([^}]*)\}')


def typed(fix: str) -> str:
    """A fix that names arguments of Python, with the options of the command line that they are.

    >>> typed('leave it out, or write dialect="bigquery"'), typed('write params={"name": value} for $name')
    ('leave it out, or write --dialect bigquery', 'write -p name=value for $name')
    """
    named = (
        _PARAMS.sub(r"-p \1=\2", fix)
        .replace("fresh=True", "--fresh")
        .replace("confirm=True", "--confirm")
        .replace('blocks="', '--blocks "')
    )
    return _ARGUMENT.sub(lambda match: f"--{match[1].replace('_', '-')} {match[3]}", named)


def plainly(message: str) -> str:
    """What click says about a number, without its formulas.

    >>> plainly("0 is not in the range x>=1."), plainly("1.5 is not in the range 0<=x<1.")
    ('must be at least 1, not 0', 'must be at least 0 and below 1, not 1.5')
    >>> plainly("'abc' is not a valid float range."), plainly("'1.5' is not a valid integer.")
    ("'abc' is no number", "'1.5' is no whole number")
    """

    def sides(match: re.Match[str]) -> str:
        value, low, below, above, high = match.groups()
        said = [f"{_LOW[below]} {low}"] if low else []
        said += [f"{_HIGH[above]} {high}"] if high else []
        return f"must be {' and '.join(said)}, not {value}"

    message = _RANGE.sub(sides, message)
    return _NUMBER.sub(lambda match: "is no whole number" if match[1] == "integer" else "is no number", message)


class NobodyReads(Exception):  # noqa: N818  (nothing is wrong with us)
    """Whoever read our output went away."""


@dataclass(slots=True)
class End:
    """How the program ends."""

    code: int = 0
    why: str = ""
    """The code of what went wrong."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as it is reported: to people in a message, to programs as an object.

    `spent` is None where a charge may stand: what was charged before data was touched stays charged.
    """

    exit: int
    code: str
    reason: str
    fix: str = ""
    spent: int | None = 0
    edit: Edit | None = None

    def tell(self, *, json: bool) -> None:
        if json:
            error = {"code": self.code, "reason": self.reason, "fix": self.fix, "spent": self.spent}
            tell_program({"error": error})
        click.secho("error: ", fg="red", nl=False, err=True)
        click.echo("\n".join(map(printable, self.reason.split("\n"))), err=True)
        if self._typed:
            click.echo(f"→ {printable(self._typed)}", err=True)

    @property
    def _typed(self) -> str:
        """The fix, as one types it on a command line."""
        if self.code != "cost-missing" or self.edit is None:
            return typed(self.fix)
        wanted = ", or the error that you want: --error 10" if "error=" in self.fix else ""
        return f"add --epsilon {self.edit.arguments['epsilon']:g}{wanted}"


@contextmanager
def ending(*, json: bool) -> Iterator[End]:
    """Turn what is raised inside into an exit code and a message."""
    end = End()
    _keep_printing()
    try:
        yield end
    except (click.Abort, KeyboardInterrupt):
        end.code = INTERRUPTED
    except NobodyReads:
        end.code = PIPE
        _forget_output()
    except Exception as error:
        failure = failure_of(error)
        end.code, end.why = failure.exit, failure.code
        with suppress(BrokenPipeError):
            failure.tell(json=json)


def failure_of(error: Exception) -> Failure:
    """The failure that an error stands for.

    Errors are told apart by name: importing what defines them would take longer than most commands.
    """
    for kind in type(error).__mro__:
        tell = TELLERS.get(f"{kind.__module__}.{kind.__qualname__}")
        if tell is not None:
            return tell(error)
    if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
        return Failure(INTERRUPTED, "interrupted", "interrupted", spent=None)
    if os.environ.get(TRACEBACK):
        raise error
    reason = f"something unforeseen happened ({type(error).__name__})"
    return Failure(FAILED, "internal", reason, f"please report it, with what {TRACEBACK}=1 shows", spent=None)


def _problem(exit_: int, problem: Any) -> Failure:
    return Failure(exit_, problem.code, problem.reason, problem.fix, problem.spent, problem.edit)


def _policy(wrong: Any) -> Failure:
    if len(wrong.problems) > 1:
        return Failure(WRONG_USE, "policy", str(wrong), f"fix these {len(wrong.problems)} problems")
    (problem,) = wrong.problems
    if problem.where.startswith("line ") and wrong.file.lower().endswith(ROWS):
        fix = f"name a policy, not its rows; one is made of them by: discreet init {shlex.quote(wrong.file)}"
        return Failure(WRONG_USE, "policy", f"{wrong.file}: is no policy", fix)
    return Failure(WRONG_USE, "policy", f"{wrong.file}: {problem.reason}", problem.fix)


def _source(failed: Any) -> Failure:
    return Failure(FAILED, "source", f"{failed.table}: {failed.reason}", failed.fix)


def _file(failed: Any) -> Failure:
    where = f"{failed.filename}: " if failed.filename else ""
    reason = where + (failed.strerror or type(failed).__name__)
    return Failure(FAILED, "file", reason, "check the path and its rights", spent=None)


def _usage(wrong: click.UsageError) -> Failure:
    command = wrong.ctx.command_path if wrong.ctx else "discreet"
    return Failure(WRONG_USE, "usage", plainly(wrong.format_message()), f"see `{command} --help`")


def _click(wrong: click.ClickException) -> Failure:
    return Failure(WRONG_USE, "usage", wrong.format_message())


TELLERS: Final[dict[str, Callable[[Any], Failure]]] = {
    "discreet.errors.BudgetExhausted": partial(_problem, EXHAUSTED),
    "discreet.errors.Refused": partial(_problem, REFUSED),
    "discreet.errors.Problem": partial(_problem, FAILED),
    "discreet.policy.problems.PolicyError": _policy,
    "discreet.engines.problems.SourceError": _source,
    "click.exceptions.UsageError": _usage,
    "click.exceptions.ClickException": _click,
    "builtins.OSError": _file,
}
"""How each kind of error is reported."""


def _keep_printing() -> None:
    """A terminal that cannot show a character shows its code instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Nobody reads on: what Python still flushes at its end must not fail again."""
    with suppress(OSError, ValueError):
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, sys.stdout.fileno())
        os.close(silence)
