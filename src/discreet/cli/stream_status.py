"""`discreet stream status`: what was charged for each block, and which are retired."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.output import is_address, json_option, printable, target_argument, tell_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.accounting.stream import StreamStanding

ROW: Final = 50
"""Blocks on a line."""
SHOWN: Final = 20
"""Lines that are shown, unless all are wanted."""
RETIRED: Final = "x"
SCALE: Final = f"each character is a block: 0 unused, 1 to 9 tenths of the capacity spent, {RETIRED} retired"


@click.command()
@target_argument
@click.argument("stream", required=False)
@click.option("--all", "every", is_flag=True, help="All blocks, not only the newest.")
@json_option
def status(policy: Path | str, stream: str | None, every: bool, as_json: bool) -> None:
    """Show what was charged for each block of POLICY's streams, or of one STREAM, and which blocks are retired."""
    from discreet.answers.wire import stream_written

    standings = _standings(policy)
    if stream is not None:
        if stream not in standings:
            known = ", ".join(map(printable, standings)) or "there are none"
            raise click.UsageError(f"no stream {printable(stream)!r} is on record; streams: {known}")
        standings = {stream: standings[stream]}
    if as_json:
        tell_program({"streams": [stream_written(each, None) for each in standings.values()]})
        return
    if not standings:
        click.echo("no stream is on record: declare one in the policy, and run `discreet refresh`")
    for each in standings.values():
        click.echo("\n".join(words(each)))
        click.echo("\n".join(strip(each, None if every else SHOWN)))


def _standings(target: Path | str) -> Mapping[str, StreamStanding]:
    from discreet.curator.state import streams
    from discreet.policy import read

    if is_address(target):
        from discreet.cli.options import connected

        with connected(target) as remote:
            return remote.streams()
    return streams(read(target))


def words(standing: StreamStanding) -> list[str]:
    """What a stream holds, and what of it can have been lost."""
    unit = "unit" if standing.capacity.unit is None else printable(standing.capacity.unit)
    gone = sum(last - first + 1 for first, last in standing.retired)
    blocks = f"{standing.count} block{'' if standing.count == 1 else 's'}"
    lies = "1 block" if standing.most == 1 else f"at most {standing.most} blocks"
    holds = f"the stream holds {standing.held.words} of the budget, and by now a {unit} can have lost"
    return [
        f"{printable(standing.name)}: {blocks}, {gone} retired; each may be charged {standing.capacity.words}",
        f"  one {unit} has rows in {lies}: {holds} {standing.lost.words}",
    ]


def strip(standing: StreamStanding, most: int | None) -> list[str]:
    """Blocks in the order of their numbers, oldest first, each line with the label of its first block."""
    marks = [_digit(share) for share in standing.used]
    for first, last in standing.retired:
        marks[first : last + 1] = RETIRED * (last - first + 1)
    starts = range(0, standing.count, ROW)
    shown = starts if most is None else starts[-most:]
    labels = [printable(standing.labels[start]) for start in shown]
    width = max(map(len, labels), default=0)
    lines = [
        f"  {label:<{width}}  {''.join(marks[start : start + ROW])}" for label, start in zip(labels, shown, strict=True)
    ]
    earlier = [f"  {shown[0]} earlier blocks: --all shows them"] if shown and shown[0] else []
    return [*earlier, *lines, f"  {SCALE}"] if lines else []


def _digit(share: float) -> str:
    """Tenths, rounded up: 0 is a block of which nothing was spent."""
    return str(min(9, math.ceil(10 * share)))
