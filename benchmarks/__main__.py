"""Measure every part and write what was found, or those named, and print it: `python -m benchmarks [PART…]`.

Without a name all of them are measured and saved in `benchmarks/results`, and docs/benchmarks.md and the figures of
README and docs are written from there. With names they are printed, and saved only with `--save`. `--write` measures
nothing and writes the pages again. `--full` shortens nothing, `--peers` installs other libraries where they are not.

`python -m benchmarks audits` audits other libraries instead, and `python -m benchmarks models` fills the tables of the
guide on models. Neither is among the parts: the first compares nothing with ours, the second takes longer than all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks import audits, machine, marks, page, results, runner
from benchmarks.parts import PARTS
from benchmarks.results import Result

LEARN = [name for name in PARTS if name.startswith("learn_")]


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["audits"]:
        audits.main(list(arguments[1:]))
        return
    if arguments[:1] == ["models"]:
        from benchmarks.learn import cells  # scikit-learn, which other parts can do without

        cells.main(list(arguments[1:]))
        return
    chosen = _chosen(arguments)
    names = [part for name in chosen.parts for part in (LEARN if name == "learn" else [name])] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are {', '.join([*PARTS, 'learn'])}")
    if not chosen.write:
        _measured(names, chosen, save=chosen.save or not chosen.parts)
    if chosen.write or not chosen.parts or chosen.save:
        everything = results.everything()
        page.write(everything)
        if problems := marks.write(everything):
            sys.exit("\n".join(problems))


def _chosen(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, and write what was found.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="what to measure; all of it, and saved, if not named")
    parser.add_argument("--save", action="store_true", help="keep what is measured of the parts named")
    parser.add_argument("--write", action="store_true", help="measure nothing: write the pages from what was saved")
    parser.add_argument("--full", action="store_true", help="shorten nothing, and give each part five times as long")
    parser.add_argument("--patience", type=float, default=1, metavar="TIMES", help="on a busy machine: longer limits")
    parser.add_argument("--peers", action="store_true", help="install libraries to compare with where they are not")
    return parser.parse_args(arguments)


def _measured(names: Sequence[str], chosen: argparse.Namespace, *, save: bool) -> None:
    facts, console = machine.facts(), Console()
    console.print(", ".join(facts.values()))
    for name in names:
        result = runner.run(name, facts, full=chosen.full, peers=chosen.peers, patience=chosen.patience)
        _show(console, result)
        if save:
            results.write(result)


def _show(console: Console, result: Result) -> None:
    about = PARTS[result.part].about
    title = f"{about}: {result.seconds:.0f} s, {result.processor:.0f} s of the processor, at load {result.load:g}"
    table = Table("what", "ours", "against", "ratio", "has to hold", "", title=title, title_justify="left")
    for row in result.rows:
        colour = "red" if row in result.misses else "green"
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        table.add_row(row.what, row.ours, row.against, ratio, row.to_hold, f"[{colour}]{row.mark.strip('*')}[/]")
    console.print(table)
    for note in (*result.notes, *([f"came to no end: {result.failed}"] if result.failed else [])):
        console.print(note, markup=False)


if __name__ == "__main__":
    main(sys.argv[1:])
