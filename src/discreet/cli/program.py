"""The command and its subcommands, each imported when it is used.

Modules of this package import click and the standard library at their top and everything else inside of functions:
`discreet --help` must not wait for numpy or duckdb.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import click

from discreet.cli.failures import NobodyReads, ending
from discreet.cli.logged import logged
from discreet.version import __version__

COMMANDS: Final = {
    "demo": "discreet.cli.demo:demo",
    "query": "discreet.cli.query:query",
    "preview": "discreet.cli.query:preview",
    "release": "discreet.cli.release:release",
    "score": "discreet.cli.score:score",
    "saved": "discreet.cli.saved:saved",
    "shell": "discreet.cli.shell.command:shell",
    "tables": "discreet.cli.tables:tables",
    "check": "discreet.cli.check:check",
    "init": "discreet.cli.init:init",
    "desk": "discreet.cli.desk:desk",
    "steps": "discreet.cli.steps:steps",
    "refresh": "discreet.cli.refresh:refresh",
    "stream": "discreet.cli.stream:stream",
    "upgrade": "discreet.cli.upgrade:upgrade",
    "budget": "discreet.cli.budget:budget",
    "ledger": "discreet.cli.ledger:ledger",
    "serve": "discreet.cli.serve:serve",
    "token": "discreet.cli.token:token",
    "collect": "discreet.cli.collect:collect",
    "audit": "discreet.cli.audit:audit",
    "report": "discreet.cli.report:report",
    "lab": "discreet.cli.lab:lab",
    "federated": "discreet.cli.federated:federated",
}
"""Where each subcommand lives."""
YOUNG: Final = 50_000
"""Objects that may be made before Python looks for cycles among them: modules that are imported make many and no
cycles, and looking through those took a twelfth of the time until a preview."""


class LazyGroup(click.Group):
    """A group whose commands are named here and imported when they are asked for."""

    def __init__(self, *args: Any, lazy: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._lazy:
            return None
        module, _, name = self._lazy[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as wrong:
            from difflib import get_close_matches

            near = get_close_matches(args[0], list(self._lazy), 1)
            if not near:
                raise
            raise click.UsageError(f"{wrong.format_message()} Did you mean '{near[0]}'?", ctx) from None


class Program(LazyGroup):
    """The outermost group: whatever happens becomes an exit code and one clear message."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise NobodyReads from None  # click would end with 1, like many other things

    def main(  # type: ignore[override]  # click's overloads tell modes apart that end alike here
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **settings: Any
    ) -> Any:
        given = list(sys.argv[1:] if args is None else args) or ["--help"]
        settings["standalone_mode"] = False
        with logged(lambda: self.named(given)) as seen, ending(json="--json" in given) as end:
            seen.append(end)
            end.code = super().main(given, prog_name or "discreet", **settings) or 0
        sys.exit(end.code)

    def named(self, given: Sequence[str]) -> str:
        """The command that somebody typed, in words of ours: what else they typed is not in it."""
        group: click.Command | None = self
        names = []
        for word in given:
            if not isinstance(group, click.Group) or word.startswith("-"):
                break
            group = group.get_command(click.Context(group), word)
            names += [word] if group is not None else []
        return " ".join(names) or "discreet"


@click.group(
    cls=Program, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False
)
@click.version_option(__version__, prog_name="discreet")
def discreet() -> None:
    """Ask questions of private data; get answers that provably say almost nothing about any one person.

    Exit codes: 0 answered, 2 wrong use, 3 refused, 4 budget exhausted, 5 the engine failed, 6 an audit found something.
    """


def main() -> None:
    """The entry point. At its end Python would look for cycles among all that was imported: a fifth of a preview.

    Where DuckDB was loaded it has to: of what is not freed DuckDB's binding prints a list.
    """
    gc.set_threshold(YOUNG)
    try:
        discreet.main()
    finally:
        (gc.unfreeze if "duckdb" in sys.modules else gc.freeze)()
