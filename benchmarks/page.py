"""The page of all figures, docs/benchmarks.md, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.parts import PARTS
from benchmarks.results import Result, Row

PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BUSY: Final = 1.0
"""Other programs at work on each core, from which on times are those of a busy machine."""
HEAD: Final = """# Benchmarks

Every figure beside what it is compared with, in one run on one machine, and what has to hold for it. `make bench`
measures all of it again and writes this page; `python -m benchmarks query noise` measures parts and prints them,
`--save` keeps them. Where a part is shortened, it says how; `--full` measures all of it, and `--peers` also installs
the libraries that stand beside ours where they need an environment of their own. A ratio is ours over theirs, or theirs
over ours where more of that is better: what has to hold says which. Limits were set before, and a figure that misses
its own stays here.
"""


def page(results: Sequence[Result]) -> str:
    rows = [row for result in results for row in result.rows]
    limited = [row for row in rows if row.ratio is not None and row.to_hold != "–"]
    misses = [row for result in results for row in result.misses]
    lines = [HEAD, *_machines(results), "", _summary(results, len(rows), len(limited), len(misses)), ""]
    if misses:
        lines += ["## What does not hold", "", *_table(misses), ""]
    for result in results:
        lines += [*_part(result), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _summary(results: Sequence[Result], rows: int, limited: int, misses: int) -> str:
    minutes = sum(result.seconds for result in results) / 60
    unmeasured = [PARTS[name].about for name in PARTS if name not in {result.part for result in results}]
    failed = [PARTS[result.part].about for result in results if result.failed]
    said = f"{rows} figures, {limited} of them with a limit: **{limited - misses} hold, {misses} do not**. "
    said += f"They took {minutes:.0f} minutes."
    if failed:
        said += f" Came to no end: {', '.join(failed)}."
    if unmeasured:
        said += f" Not measured: {', '.join(unmeasured)}."
    return said


def _machines(results: Sequence[Result]) -> Iterator[str]:
    """One table for each machine: usually there is one."""
    machines = {tuple(result.machine.items()): result.machine for result in results}
    for facts in machines.values():
        here = [result for result in results if result.machine == facts]
        dates, commits = (sorted({getattr(result, name) for result in here}) for name in ("date", "commit"))
        loads = [result.load for result in here]
        yield "| | |"
        yield "|---|---|"
        yield from (f"| {name} | {value} |" for name, value in facts.items())
        yield f"| date | {' to '.join(dict.fromkeys((dates[0], dates[-1])))} |"
        yield f"| commit | {', '.join(commits)} |"
        yield f"| load when parts began | {min(loads):g} to {max(loads):g}{_busy(facts, max(loads))} |"
        if len(machines) > 1:
            yield f"| parts | {', '.join(PARTS[result.part].about for result in here)} |"
            yield ""


def _busy(facts: Mapping[str, str], load: float) -> str:
    cores = int(facts.get("cores", "1"))
    return ": others were at work, so times are longer than they would be alone" if load > BUSY * cores else ""


def _part(result: Result) -> Iterator[str]:
    part = PARTS[result.part]
    yield f"## {part.about}"
    yield ""
    said = [f"`python -m benchmarks {result.part}`: {result.seconds:.0f} s, {result.processor:.0f} s of the processor."]
    if result.left_out:
        said.append(f"Shortened: {result.left_out}.")
    if result.failed:
        said.append(f"**It came to no end: {_cell(result.failed)}.**")
    yield " ".join(said)
    for note in result.notes:
        yield f"- {_cell(note)}"
    if result.rows:
        yield ""
        yield from _table(result.rows)


def _table(rows: Iterable[Row]) -> Iterator[str]:
    yield "| what | ours | against | ratio | has to hold | |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        ratio = "" if row.ratio is None or row.to_hold == "–" else f"{row.ratio:.3g}"
        cells = (_cell(row.what), _cell(row.ours), _cell(row.against), ratio, _cell(row.to_hold), row.mark)
        yield f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """As it is, in a table of Markdown."""
    for sign in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(sign, f"\\{sign}")
    return text


def write(results: Sequence[Result], path: Path = PAGE) -> None:
    path.write_text(page(results), encoding="utf-8")
