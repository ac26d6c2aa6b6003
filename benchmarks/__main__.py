"""Run every benchmark and print one table."""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

from benchmarks import ledger, noise, private_copy, start

MODULES = (noise, start, ledger, private_copy)
PEERS = ("opendp",)


def main() -> None:
    console = Console()
    console.print(f"Python {platform.python_version()} on {os.cpu_count()} cores; every ratio is from this run.")
    missing = [peer for peer in PEERS if not find_spec(peer)]
    if missing:
        console.print(f"not installed, so not compared: {', '.join(missing)}")
    table = Table("what", "ours", "against", "ratio", "to hold", "")
    for module in MODULES:
        for figure in module.figures():
            mark = "[green]held[/]" if figure.held else "[red]NOT held[/]"
            table.add_row(figure.what, figure.ours, figure.peer, f"{figure.ratio:.3g}×", figure.to_hold, mark)
    console.print(table)


main()
