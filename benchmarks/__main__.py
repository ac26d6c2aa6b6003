"""Run every benchmark, or those named (`python -m benchmarks query noise`), and print one table.

`python -m benchmarks audits` audits other libraries instead, and is not among them: it compares nothing with ours.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

from benchmarks import (
    auditor,
    audits,
    blocks,
    federated,
    learn,
    ledger,
    ledger_postgres,
    local,
    noise,
    postgres,
    private_copy,
    pushdown,
    quantiles,
    query,
    release,
    release_logs,
    server,
    spark,
    start,
    stream,
    synthetic,
    validation,
)

MODULES = {"noise": noise, "start": start, "ledger": ledger, "private_copy": private_copy, "query": query,
           "quantiles": quantiles, "auditor": auditor, "server": server,
           "learn": learn, "release": release, "release_logs": release_logs, "synthetic": synthetic,
           "local": local, "federated": federated, "validation": validation, "stream": stream,
           "blocks": blocks, "postgres": postgres, "pushdown": pushdown,
           "ledger_postgres": ledger_postgres, "spark": spark}  # fmt: skip
PARTS = {**MODULES, **learn.PARTS}
"""What can be named: parts of `learn` too."""
PEERS = ("opendp",)


def main() -> None:
    if sys.argv[1:2] == ["audits"]:
        audits.main(sys.argv[2:])
        return
    unknown = set(sys.argv[1:]) - set(PARTS)
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    console = Console()
    console.print(f"Python {platform.python_version()} on {os.cpu_count()} cores; every ratio is from this run.")
    missing = [peer for peer in PEERS if not find_spec(peer)]
    if missing:
        console.print(f"not installed, so not compared: {', '.join(missing)}")
    table = Table("what", "ours", "against", "ratio", "to hold", "")
    for name in sys.argv[1:] or MODULES:
        for figure in PARTS[name].figures():
            mark = "[green]held[/]" if figure.held else "[red]NOT held[/]"
            table.add_row(figure.what, figure.ours, figure.peer, f"{figure.ratio:.3g}×", figure.to_hold, mark)
    console.print(table)


main()
