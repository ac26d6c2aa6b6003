"""`discreet collect`: a survey whose answers are randomised before they are sent."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import draw, json_option, printable, table, tell_program, write_new

if TYPE_CHECKING:
    from discreet.collector.estimates import Estimate
    from discreet.collector.store import Store
    from discreet.collector.survey import Survey

LISTENING: Final = ("host", "port", "names", "certificate", "key")
EXAMPLE: Final = """\
# A survey whose answers are randomised on the device of whoever answers.
#   discreet collect survey.toml
title = "How we sleep"
introduction = "Three questions about last night."
epsilon = 1.0            # of each report; a person's reports add up. 0.5 says little, 4 a lot
estimates = "open"       # everybody may see them; "owner": whoever has the token that is shown at the start
# closes = 2027-01-31    # the last day, in UTC
# invitations = true     # each counts once: discreet collect survey.toml --invite 100
# longitudinal = true    # asked again with another `round`, devices repeat the report of an answer that is the same
# round = "first"

[questions.rested]
text = "Did you wake up rested?"
kind = "yes-no"

[questions.woken]
text = "What woke you up?"
kind = "choice"
choices = ["an alarm", "somebody", "a noise", "nothing", "I did not sleep", "I would rather not say"]

[questions.hours]
text = "How many hours did you sleep?"
kind = "number"
min = 0
max = 12
"""


@click.command(short_help="Collect answers that are randomised before they are sent.")
@click.argument("survey", required=False, type=click.Path(path_type=Path))
@click.option("--example", is_flag=True, help="Write a survey to begin with to SURVEY; without it, print one.")
@click.option("--database", type=click.Path(path_type=Path), help="Where reports are stored; else SURVEY.duckdb.")
@click.option("--estimates", is_flag=True, help="Print what the reports say, and end.")
@click.option("--invite", type=click.IntRange(1, 100_000), help="Make so many invitations, print them, and end.")
@click.option("--url", default="", help="With --invite: print links to this address.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8010, show_default=True, help="0 takes a free one.")
@click.option("--name", "names", multiple=True, help="A host name that leads here; others are refused then.")
@click.option("--certificate", type=click.Path(path_type=Path), help="For https: the certificate, in PEM.")
@click.option("--key", type=click.Path(path_type=Path), help="For https: its private key, in PEM.")
@json_option
def collect(survey: Path | None, example: bool, database: Path | None, **options: Any) -> None:
    """Collect answers to SURVEY over HTTP, until Ctrl-C. They are randomised on the device of whoever answers.

    \b
    discreet collect survey.toml --example
    discreet collect survey.toml
    """
    if example:
        click.echo(EXAMPLE, nl=False) if survey is None else write_new(survey, EXAMPLE)
        return
    if survey is None:
        raise click.UsageError("name a survey file; --example makes one")
    from discreet.collector.reading import read
    from discreet.collector.store import Store

    questions = read(survey)
    path = database or survey.with_suffix(".duckdb")
    if options["estimates"] and not path.exists():
        raise click.UsageError(f"{path} does not exist: there are no reports yet")
    if options["invite"] and not questions.invitations:
        raise click.UsageError("the survey takes reports without invitations: write invitations = true")
    with closing(Store(path, questions)) as store:
        if options["estimates"]:
            _print_estimates(questions, store, as_json=options["as_json"])
        elif options["invite"]:
            _print_invitations(store, options["invite"], options["url"])
        else:
            _serve(questions, store, **{name: options[name] for name in LISTENING})


def _print_invitations(store: Store, count: int, url: str) -> None:
    for each in store.invite(count):
        click.echo(f"{url.rstrip('/')}/#{each}" if url else each)


def _print_estimates(survey: Survey, store: Store, *, as_json: bool) -> None:
    from discreet.collector.collection import Collection
    from discreet.collector.estimates import CONFIDENCE
    from discreet.collector.estimates import as_json as document
    from discreet.printing import counted

    estimates, refused = Collection(survey, store).estimates(), store.refused()
    if as_json:
        tell_program({**document(estimates), "refused": refused})
        return
    for each in estimates:
        click.echo(f"{printable(each.question.text)}  ({each.count:,} reports of ε {float(each.question.epsilon):g})")
        draw(table(["answer", "estimate", "from", "to"], _rows(each), numbers=frozenset({"estimate", "from", "to"})))
    bad = counted(sum(refused.values()), "submission was", "submissions were")
    ending = f", {bad} refused" if refused else ""
    click.echo(f"all intervals hold together with {100 * CONFIDENCE:g} %{ending}")


def _rows(estimate: Estimate) -> list[list[str]]:
    form = "{:.4g}" if estimate.question.bounds else "{:.1%}"
    return [[printable(row.answer), *map(form.format, (row.shown, row.low, row.high))] for row in estimate.rows]


def _serve(survey: Survey, store: Store, **where: Any) -> None:
    try:
        from discreet.collector.app import application
        from discreet.server.listening import Listening, listen
        from discreet.server.tokens import Made, Role, Tokens
    except ImportError as missing:
        raise click.UsageError(f"{missing.name} is not installed: pip install 'discreet[server]'") from None
    from discreet.collector.collection import Collection

    listening = Listening(**where)
    if bool(listening.certificate) != bool(listening.key):
        raise click.UsageError("--certificate and --key go together")
    owners, made = Tokens(None), Made.new()
    owners.add(made, Role.OWNER)
    collection = Collection(survey, store)

    def tell(url: str) -> None:
        click.echo(f"serving {printable(survey.title)} at {url}", err=True)
        if not (listening.is_loopback or listening.certificate):
            click.echo("not encrypted: put it behind a proxy that is, or give --certificate and --key", err=True)
        click.echo(f"estimates: {url}/estimates" if survey.is_open else f"estimates: {url}/estimates#{made.text}")

    listen(lambda: application(collection, owners, hosts=listening.hosts), listening, tell)
