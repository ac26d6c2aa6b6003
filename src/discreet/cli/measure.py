"""`discreet lab measure`: how anonymous a table is, and whom attacks hit."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.output import draw, json_option, printable, table, tell_program, write_new

if TYPE_CHECKING:
    from discreet.lab.blocks import Block
    from discreet.lab.disclosure import Intersection
    from discreet.lab.measures import Published
    from discreet.lab.mondrian import Generalised, Wanted
    from discreet.lab.trees import Tree

WIDTH = 100


class Names(click.ParamType[tuple[str, ...]]):
    """Names of columns, separated by commas."""

    name = "COLUMN,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in next(csv.reader([str(value)], skipinitialspace=True), ()))


class Named(click.ParamType[tuple[str, Path]]):
    """COLUMN=FILE."""

    name = "COLUMN=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        column, equals, file = str(value).partition("=")
        if not (column and equals and file):
            self.fail(f"{value!r} is not COLUMN=FILE", param, ctx)
        return column, Path(file)


@click.command(short_help="Measure a table of yours that was to be anonymous, and whom attacks hit.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--quasi", type=Names(), multiple=True, required=True, help="Columns that others may know: age,zip,sex")
@click.option("--sensitive", metavar="COLUMN", required=True, help="What nobody should learn.")
@click.option("--k", type=int, help="Rows that every class should have.")
@click.option("--l", "l", type=float, help="Values of the sensitive column that every class should have.")
@click.option("--t", type=float, help="How far a class may be from the whole table, from 0 to 1.")
@click.option(
    "--diversity",
    type=click.Choice(["distinct", "entropy", "recursive"]),
    default="distinct",
    show_default=True,
    help="What --l counts.",
)
@click.option("--c", type=float, default=3.0, show_default=True, help="Of recursive (c, l)-diversity.")
@click.option(
    "--distance",
    type=click.Choice(["equal", "ordered"]),
    help="How far values are apart. [default: ordered for numbers and dates, else equal]",
)
@click.option(
    "--tree",
    "trees",
    type=Named(),
    multiple=True,
    help="The hierarchy of a column: lines such as 02138;0213*;021**",
)
@click.option("--other", type=click.Path(path_type=Path), help="Another release about the same people.")
@click.option("--person", metavar="COLUMN", help="With --other: the column that says who is who in both.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the generalised table, as CSV.")
@click.option("--report", type=click.Path(path_type=Path), help="Write a page of HTML, with pictures.")
@click.option("--values", is_flag=True, help="Show what the people of the worst classes have in common.")
@json_option
def measure(
    file: Path, quasi: tuple[tuple[str, ...], ...], sensitive: str, out: Path | None, report: Path | None, values: bool,
    other: Path | None, person: str | None, distance: str | None, trees: tuple[tuple[str, Path], ...],
    as_json: bool, **wish: Any,
) -> None:  # fmt: skip
    """Say how anonymous the table in FILE is (CSV or Parquet): k-anonymity, l-diversity, t-closeness, and attacks.

    It is your own table: nothing is hidden from you, nothing is charged, and no ledger is touched.

    \b
    discreet lab measure patients.csv --quasi age,zip,sex --sensitive disease
    discreet lab measure patients.csv --quasi age,zip,sex --sensitive disease --k 5 --l 2 --t 0.3 --out safer.csv
    """
    from discreet.lab.measured import blocks, measured
    from discreet.lab.measures import published

    wanted, columns = _wanted(**wish), [name for names in quasi for name in names]
    _demand(wanted, out, report, other, person)
    forest = _forest(trees, (*columns, sensitive))
    own = None if distance else forest.get(sensitive)
    given = published(file, quasi=columns, sensitive=sensitive, distance=distance, tree=own)
    both = None if other is None or person is None else _both(file, other, given, person, columns, sensitive)
    got = measured(given, wanted, both, forest)
    if out and got.made:
        write_new(out, generalised_text(got.made))
        out.chmod(0o600)
    shown = blocks(got, values=values)
    if report:
        write_new(report, _page(file, shown))
    if as_json:
        return tell_program(got.document())
    for block in shown:
        _show(block)
    for written in filter(None, (out if got.made else None, report)):
        click.echo(f"wrote {printable(str(written))}", err=True)
    return None


def _forest(trees: Sequence[tuple[str, Path]], columns: Sequence[str]) -> dict[str, Tree]:
    """The hierarchies by column."""
    from discreet.lab.trees import read_tree

    for column, _ in trees:
        if column not in columns:
            raise click.UsageError(f"--tree is for {printable(column)}, which is neither in --quasi nor --sensitive")
    return {column: read_tree(path) for column, path in trees}


def _wanted(k: int | None, l: float | None, t: float | None, diversity: str, c: float) -> Wanted | None:  # noqa: E741
    from discreet.lab.mondrian import Wanted

    if k is None and l is None and t is None:
        return None
    return Wanted(k=1 if k is None else k, l=1 if l is None else l, t=1.0 if t is None else t, kind=diversity, c=c)


def _demand(
    wanted: Wanted | None, out: Path | None, report: Path | None, other: Path | None, person: str | None
) -> None:
    """What cannot be is said before the work begins."""
    if out and not wanted:
        raise click.UsageError("--out is for a generalised table: say what it should have, as in --k 5")
    if (other is None) != (person is None):
        raise click.UsageError("--other and --person belong together: which release, and who is who in both")
    if out and report and out.absolute() == report.absolute():
        raise click.UsageError("--out and --report name the same file: name two")
    for path in filter(None, (out, report)):
        if path.exists():
            raise click.UsageError(f"{path} exists already: name a new file, or remove it")
        if not path.absolute().parent.is_dir():
            raise click.UsageError(f"{path} cannot be written: there is no such folder")


def _both(file: Path, other: Path, given: Published, person: str, quasi: Sequence[str], sensitive: str) -> Intersection:
    """What this release and another one tell together."""
    from discreet.lab.columns import columns_of
    from discreet.lab.disclosure import intersection, rows_of_people
    from discreet.lab.measures import published

    (here,), (there,) = columns_of(file, [person]), columns_of(other, [person])
    keys = [[column.values[code] for code in column.codes.tolist()] for column in (here, there)]
    second = published(other, quasi=[name for name in quasi if name != person], sensitive=sensitive)
    return intersection(given, second, rows_of_people(*keys))


def generalised_text(made: Generalised) -> str:
    """The table as CSV: sorted, so that the order of rows says nothing about who was where in the old one."""
    columns = made.columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    rows = [tuple("" if value is None else str(value) for value in row) for row in zip(*columns.values(), strict=True)]
    writer.writerows(sorted(rows))
    return text.getvalue()


def _page(file: Path, shown: Sequence[Block]) -> str:
    from discreet.answers.document import document, words
    from discreet.lab.report import rendered

    title = f"How anonymous {file.name} is"
    return document(title, [f"<main><h1>{words(title)}</h1>", *rendered(shown, "measure"), "</main>"])


def _show(block: Block) -> None:
    from discreet.lab.blocks import Figures, Heading, Note, Table, Words

    match block:
        case Words(text):
            click.echo(click.wrap_text(printable(text), WIDTH) + "\n")
        case Heading(text):
            click.secho(printable(text), bold=True)
        case Note(text, tone):
            click.secho(click.wrap_text(printable(text), WIDTH) + "\n", fg=_COLOURS[tone])
        case Figures(items):
            wide = max(len(figure.value) for figure in items)
            for figure in items:
                click.echo(f"  {printable(figure.value):>{wide}}  {printable(figure.label)}")
            click.echo()
        case Table(caption, columns, rows):
            click.echo(click.style(printable(caption), dim=True))
            draw(table(columns, rows))
            click.echo()


_COLOURS = {"bad": "red", "good": "green", "": None}
