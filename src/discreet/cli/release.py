"""`discreet release`: publish a summary of a table once; reading it is free from then on."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.options import Parameter, curator_at, named
from discreet.cli.output import Target, draw, json_option, plain, printable, progress, table, tell_program

if TYPE_CHECKING:
    from discreet.release import Published

MOST_SHOWN: Final = 20
"""Rows on a terminal; a file has them all."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A publication as a subcommand: its class, and what it is told beside the columns."""

    publication: str
    help: str
    options: Mapping[str, click.Option]
    """By argument of the publication."""
    columns: str = "names"
    """The argument that --column fills."""
    rows: bool = False
    """Whether it publishes rows of invented people, which go to Parquet files and have a quality."""


def _option(flag: str, **settings: Any) -> click.Option:
    return click.Option([flag, flag.removeprefix("--").replace("-", "_")], **settings)


_BINS: Final = {
    "bins": _option(
        "--bins", type=Parameter(), multiple=True, help="COLUMN=BINS: a number of them, or month; several may be."
    )
}
KINDS: Final = {
    "histogram": Kind("Histogram", "how many rows each combination of values has", _BINS),
    "workload": Kind(
        "Workload",
        "counting queries, measured together with the least error",
        {
            "parts": _option(
                "--queries", multiple=True, required=True,
                help='histogram, totals, ranges, prefixes or "marginals 2"; several may be.',
            ),
            **_BINS,
        },
    ),
    "facets": Kind("Facets", "the histogram of every column, for one cost", _BINS),
    "totals": Kind(
        "RunningTotals",
        "running totals over a column of dates",
        {
            "every": _option("--every", default="month", show_default=True, help="day, week, month, quarter or year."),
            "counted": _option("--counted", default="rows", show_default=True, help="rows, or units once in a step."),
            "method": _option("--method", default="best", show_default=True, help="best, plain, tree or root."),
        },
        columns="column",
    ),
    "log": Kind(
        "QueryLog",
        "which keys a log has, and how often",
        {
            "max_keys": _option("--max-keys", type=click.IntRange(min=1), help="Keys of each unit that count."),
            "max_count": _option("--max-count", type=click.IntRange(min=1), help="How often each of them counts."),
        },
    ),
    "hierarchy": Kind(
        "Hierarchy",
        "counts of places on several levels, which agree with each other",
        {
            "paths": _option(
                "--places", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True,
                help="A public CSV file of all places; its heading names the columns, from the top.",
            ),
            "value": _option("--value", help="A column whose sums are published too."),
        },
        columns="levels",
    ),
    "synth": Kind("MarginalSynthesizer", "a synthetic table with the columns of the source", _BINS, rows=True),
    "mwem": Kind(
        "MWEM",
        "a synthetic table of a small domain, by multiplicative weights over all of its cells",
        {
            "rounds": _option("--rounds", type=click.IntRange(min=1), help="Marginals that are chosen and measured."),
            "degree": _option("--degree", type=click.IntRange(min=1), help="Columns of a marginal, at most."),
            **_BINS,
        },
        rows=True,
    ),
    "small": Kind(
        "SmallDatabase",
        "a database of a few rows that answers all marginals about as the table does",
        {
            "size": _option("--size", type=click.IntRange(min=1), help="Rows of it; as many as --alpha needs."),
            "alpha": _option("--alpha", type=float, help="How far fractions may be off, before noise."),
            **_BINS,
        },
    ),
}  # fmt: skip
"""By subcommand."""
SHARED: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "-e": ("--epsilon", {"type": float, "help": "The cost: ε, or in a budget with δ what ε would cost there."}),
    "--rho": ("rho", {"type": float, "help": "The cost as ρ, in a budget with δ."}),
    "--delta": ("delta", {"type": float, "help": "A δ of its own for --epsilon."}),
    "-c": ("--column", {"multiple": True, "help": "Which columns; all if left out."}),
    "--max-rows": (
        "max_rows",
        {"type": click.IntRange(min=1), "help": "Rows of each unit that are read; 1 if left out."},
    ),
    "-o": (
        "--output",
        {"type": click.Path(path_type=Path, dir_okay=False), "help": "A new .csv or .json, or .parquet of rows."},
    ),
    "--report": (
        "report",
        {"type": click.Path(path_type=Path, dir_okay=False), "help": "A new page about the quality of rows."},
    ),
    "--preview": ("preview", {"is_flag": True, "help": "Only show cost and expected error; free."}),
    "--fresh": ("fresh", {"is_flag": True, "help": "Publish anew at its cost, even if it is cached."}),
    "--blocks": ("blocks", {"help": "Of a stream: newest 7, 2024-03, 2024-03-01..2024-03-07, or all."}),
    "--analyst": ("analyst", {"help": "Whose share is charged."}),
    "--dummy": ("dummy", {"is_flag": True, "help": "Use dummy data: free, and nothing private is read."}),
}
"""The options that all of them have: one flag, the other one or the name, and what click is told."""


class Releases(click.Group):
    """A subcommand for each publication, made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*KINDS, "batch"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name == "batch":
            from discreet.cli.batch import batch

            return batch
        return _command(cmd_name, KINDS[cmd_name]) if cmd_name in KINDS else None


@click.group(cls=Releases, short_help="Publish a summary of a table once; it is charged.")
def release() -> None:
    """Publish a summary of a table, or of the rows of a SELECT: charged once, free to read for ever.

    \b
    discreet release facets hospital.toml patients --epsilon 0.5
    discreet release synth hospital.toml patients --epsilon 1 -o patients.parquet --report patients.html
    """


def _command(name: str, kind: Kind) -> click.Command:
    def run(policy: Path | str, **given: Any) -> None:
        _run(kind, policy, given)

    policy = click.Argument(["policy"], type=Target(), metavar="POLICY|URL")
    source = click.Argument(["sql"], metavar="TABLE|SQL")
    shared = [click.Option([flag, other], **settings) for flag, (other, settings) in SHARED.items()]
    command = click.Command(
        name,
        callback=run,
        params=[policy, source, *kind.options.values(), *shared],
        help=f"Publish {kind.help}. POLICY may be the address of a server; TABLE may be a SELECT of its rows.",
        short_help=f"Publish {kind.help}.",
    )
    made: click.Command = json_option(command)
    return made


def _run(kind: Kind, policy: Path | str, given: dict[str, Any]) -> None:
    output, report, as_json = given.pop("output"), given.pop("report"), given.pop("as_json")
    preview, dummy, sql = given.pop("preview"), given.pop("dummy"), given.pop("sql")
    _demand_suitable(kind, output, report)
    arguments = _arguments(kind, given)
    from discreet.release.sent import publication_of

    publication = publication_of(kind.publication, arguments)
    if preview:
        del given["fresh"]
    with progress(shown=not as_json) as tell, curator_at(policy, dummy=dummy, progress=tell) as curator:
        if preview:
            expected = curator.preview_release(publication, sql, **given)
        else:
            published = curator.perform(_watched(publication, sql, shown=not as_json, **given))
    if preview:
        return tell_program(plain(expected.to_dict())) if as_json else draw(expected)
    _write(published, output, report)
    return _tell(published, output, as_json=as_json)


def _watched(publication: Any, sql: str, *, shown: bool, **options: Any) -> Any:
    """The task, with bars on a terminal for publications that have some."""
    from dataclasses import fields, replace

    if shown and sys.stderr.isatty() and "verbose" in {field.name for field in fields(publication)}:
        publication = replace(publication, verbose=True)
    return publication.task(sql, **options)


def _arguments(kind: Kind, given: dict[str, Any]) -> dict[str, Any]:
    """What the publication is told; the rest is what is told about the rows and the cost."""
    names = list(given.pop("column"))
    arguments = {name: _given(name, given.pop(option.name or name)) for name, option in kind.options.items()}
    if kind.columns == "column" and len(names) > 1:
        raise click.UsageError("running totals are over one column of dates: give --column once")
    if "paths" in arguments:  # the heading says what they are
        names, arguments["paths"] = names or arguments["paths"][0], arguments["paths"][1:]
    if names:
        arguments[kind.columns] = names[0] if kind.columns == "column" else names
    return {name: value for name, value in arguments.items() if value not in (None, [], {})}


def _given(name: str, value: Any) -> Any:
    if name == "paths":
        with Path(value).open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file))
    if name == "bins":
        return named(value)
    return list(value) if isinstance(value, tuple) else value


def _demand_suitable(kind: Kind, output: Path | None, report: Path | None) -> None:
    """What cannot be written is said before anything is charged."""
    if report is not None and not kind.rows:
        raise click.UsageError("only synthetic tables have a page about their quality: leave --report out")
    endings = [ending for ending in WRITERS if kind.rows or ending != ".parquet"]
    if output is not None and output.suffix.lower() not in endings:
        raise click.UsageError(f"{output} must end in one of {', '.join(endings)}: name another file")
    for path in (output, report):
        if path is not None and (path.exists() or not path.parent.is_dir()):
            raise click.UsageError(f"{path} exists already, or its folder does not: name a new file")


# what was published


def _parquet(published: Published, path: Path) -> None:
    published.to_parquet(path)  # type: ignore[attr-defined]


def _csv(published: Published, path: Path) -> None:
    _new(path, published.csv())


def _json(published: Published, path: Path) -> None:
    import json

    _new(path, json.dumps(published.document(), allow_nan=False))


WRITERS: Final[dict[str, Callable[[Any, Path], None]]] = {".parquet": _parquet, ".csv": _csv, ".json": _json}


def _new(path: Path, text: str) -> None:
    from discreet.cli.output import write_new

    write_new(path, text)


def _write(published: Published, output: Path | None, report: Path | None) -> None:
    if output is not None:
        WRITERS[output.suffix.lower()](published, output)
    if report is not None:
        published.quality().save(report)  # type: ignore[attr-defined]  # _demand_suitable saw to it


def _tell(published: Published, output: Path | None, *, as_json: bool) -> None:
    if as_json:
        return tell_program(published.document())
    names, rows = published.listed()
    numbers = frozenset(name for index, name in enumerate(names) if rows and isinstance(rows[0][index], int | float))
    shown = [[_shown(value) for value in row] for row in rows[:MOST_SHOWN]]
    draw(table(names, shown, numbers=numbers))
    more = len(rows) - MOST_SHOWN
    if more > 0:
        click.echo(f"… and {more:,} more rows" + ("" if output is not None else ": -o out.csv writes them all"))
    error = getattr(published, "error", None)
    if isinstance(error, float):
        click.echo(f"95 % of the values are within ± {error:.4g}")
    cost = "free: it was published before" if published.cached else f"cost {published.cost.words}"  # type: ignore[union-attr]
    click.echo(f"{cost}; receipt {printable(published.receipt)}")
    if output is not None:
        click.echo(f"written to {printable(str(output))}")
    return None


def _shown(value: Any) -> str:
    from discreet.release.core import spoken

    value = spoken(value)
    return f"{value:,.1f}" if isinstance(value, float) else "–" if value is None else str(value)
