"""`discreet stream retire`: old blocks that nobody shall ask about any more."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import json_option, policy_argument, printable, tell_program


@click.command()
@policy_argument
@click.argument("stream")
@click.option("--before", required=True, metavar="BLOCK", help="The first block that stays: its label, such as a day.")
@click.option("--reason", required=True, help="Why, for the record.")
@json_option
def retire(policy: Path, stream: str, before: str, reason: str, as_json: bool) -> None:
    """Retire all blocks of a STREAM of POLICY that were opened before a block, for good.

    Nobody can ask about them again. Answers that were given stay; the next `discreet refresh` deletes their rows.
    """
    from discreet.curator.state import open_ledger
    from discreet.policy import read

    with open_ledger(read(policy)) as ledger:
        standing = ledger.stream(stream)
        if before not in standing.labels:
            raise click.UsageError(f"no block of {printable(stream)} is called {printable(before)}")
        ledger.retire(stream, standing.labels.index(before), reason)
        after = ledger.stream(stream)
    retired, left = (sum(high - low + 1 for low, high in runs) for runs in (after.retired, after.live))
    if as_json:
        tell_program({"stream": stream, "retired": retired, "left": left})
    else:
        click.echo(f"{printable(stream)}: {retired} blocks are retired, {left} are left")
