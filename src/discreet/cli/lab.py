"""`discreet lab`: attacks to learn from, on invented data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import draw, json_option, printable, table, tell_program
from discreet.cli.program import LazyGroup

if TYPE_CHECKING:
    from discreet.lab.experiment import Experiment, Outcome

COMMANDS: Final = {"all": "discreet.cli.lab:every", "measure": "discreet.cli.measure:measure"}
ENDINGS: Final = (".html", ".svg", ".json")
WIDTH: Final = 100
"""Of sentences, at most."""
MOST_SEED: Final = 2**63 - 1


class LabGroup(LazyGroup):
    """A group with a command for each experiment."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from discreet.lab.experiments import EXPERIMENTS

        return [*EXPERIMENTS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from discreet.lab.experiments import EXPERIMENTS

        if cmd_name in EXPERIMENTS:
            return _command(EXPERIMENTS[cmd_name])
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=LabGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    subcommand_metavar="[NAME [OPTIONS]]",
    options_metavar="",
    short_help="Attacks to learn from, on invented data.",
)
@click.pass_context
def lab(ctx: click.Context) -> None:
    """Attack what was released without protection, and what discreet releases instead, and compare.

    `discreet lab` lists the experiments, `discreet lab NAME` runs one, `discreet lab all --out report.html` runs all of
    them and writes one page. Nobody in them exists.
    """
    if ctx.invoked_subcommand is None:
        _list()


seed_option: Final = click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    help="Of the dummy data only, never of the noise: that has none, so two runs with one seed differ by it.",
)


@lab.command("all", short_help="Run all of them and write one page.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Where the page goes: one file of HTML that needs nothing else.",
)
@seed_option
def every(out: Path, seed: int | None) -> None:
    """Run all experiments and write what they show as one page."""
    _demand_writable(out, (".html",))
    from discreet.lab.experiments import EXPERIMENTS
    from discreet.lab.report import report

    began, outcomes = monotonic(), {}
    for number, experiment in enumerate(EXPERIMENTS.values(), start=1):
        started = monotonic()
        with _working(f"{number} of {len(EXPERIMENTS)}: {experiment.name}"):
            outcomes[experiment] = _run(experiment, seed)
        click.echo(f"{experiment.name:<16} {monotonic() - started:6.1f} s")
    with _working("drawing"):
        page = report(outcomes, seed=seed)
    out.write_text(page, encoding="utf-8")
    click.echo(f"{len(outcomes)} experiments in {monotonic() - began:.0f} s; page: {printable(str(out))}")


def _command(experiment: Experiment) -> click.Command:
    """The command that runs one experiment."""

    @click.command(experiment.name, short_help=experiment.teaser, help=f"{experiment.title} {experiment.teaser}")
    @click.option(
        "--out",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write it too: the whole as .html or .json, or the picture as .svg.",
    )
    @seed_option
    @json_option
    def command(out: Path | None, seed: int | None, as_json: bool, **settings: float) -> None:
        if out is not None:
            _demand_writable(out, ENDINGS)
        with _working(experiment.name):
            outcome = _run(experiment, seed, **settings)
        if out is not None:
            _write(experiment, outcome, seed, out)
        if as_json:
            tell_program(_document(experiment, outcome, seed))
        else:
            _tell(experiment, outcome)
            if out is not None:
                click.echo(f"\nwritten to {printable(str(out))}")

    for setting in reversed(experiment.settings):
        option = click.option(
            f"--{setting.name}",
            type=type(setting.default),
            default=setting.default,
            show_default=True,
            help=setting.what,
        )
        command = option(command)
    return command


def _list() -> None:
    from discreet.lab.experiments import EXPERIMENTS

    rows = [[each.name, each.teaser, ", ".join(each.lectures)] for each in EXPERIMENTS.values()]
    draw(table(["experiment", "what it shows", "lecture"], rows))
    click.echo("\ndiscreet lab NAME runs one; discreet lab all --out report.html runs all and writes one page")
    click.echo(
        "discreet lab measure FILE --quasi … --sensitive … measures a table of your own that was to be anonymous"
    )


def _run(experiment: Experiment, seed: int | None, **settings: float) -> Outcome:
    try:
        return experiment.run(**settings) if seed is None else experiment.run(seed=seed, **settings)
    except ValueError as wrong:
        if not settings:
            raise
        raise click.UsageError(printable(str(wrong))) from None
    except ImportError as missing:
        raise click.UsageError(f"{missing}. Experiments need more than the core: discreet[learn,plot]") from None


def _demand_writable(out: Path, endings: tuple[str, ...]) -> None:
    """What cannot be written is said before the work begins."""
    if out.suffix.lower() not in endings:
        raise click.UsageError(f"{out} must end in {' or '.join(endings)}: name another file with --out")
    if out.suffix.lower() == ".svg" and (find_spec("altair") is None or find_spec("vl_convert") is None):
        raise click.UsageError("pictures need altair and vl-convert: install discreet[plot]")
    if not out.parent.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK):
        raise click.UsageError(f"{out} cannot be written: name another file with --out")


@contextmanager
def _working(what: str) -> Iterator[None]:
    """A sign of life on standard error while something takes long, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(printable(what)):
        yield


def _tell(experiment: Experiment, outcome: Outcome) -> None:
    click.secho(printable(experiment.title), bold=True)
    click.echo()
    wide = max(len(figure.value) for figure in outcome.figures.items)
    for figure in outcome.figures.items:
        click.echo(f"  {printable(figure.value):>{wide}}  {printable(figure.label)}")
    for each in outcome.tables:
        click.secho(f"\n{printable(each.caption)}", bold=True)
        draw(table(each.columns, each.rows))
    click.echo()
    for number, sentence in enumerate(outcome.sentences, start=1):
        _say(f"{number}. {sentence}", "   ")
    click.secho("\nWhat differential privacy guarantees", fg="green", bold=True)
    _say(outcome.guarantee)


def _say(text: str, indent: str = "") -> None:
    columns = get_terminal_size((WIDTH, 0)).columns
    click.echo(click.wrap_text(printable(text), min(WIDTH, columns), subsequent_indent=indent))


def _document(experiment: Experiment, outcome: Outcome, seed: int | None) -> dict[str, Any]:
    return {"experiment": experiment.name, "title": experiment.title, "seed": seed, **outcome.document()}


def _write(experiment: Experiment, outcome: Outcome, seed: int | None, out: Path) -> None:
    """The whole as a page or for programs, or its pictures, the second as NAME-2.svg."""
    ending = out.suffix.lower()
    if ending == ".json":
        import json

        out.write_text(json.dumps(_document(experiment, outcome, seed), ensure_ascii=False, indent=1), encoding="utf-8")
    elif ending == ".html":
        from discreet.lab.report import report

        out.write_text(report({experiment: outcome}, seed=seed), encoding="utf-8")
    else:
        from discreet.lab.report import standalone

        for number, picture in enumerate(outcome.pictures, start=1):
            target = out if number == 1 else out.with_stem(f"{out.stem}-{number}")
            target.write_text(standalone(picture), encoding="utf-8")
