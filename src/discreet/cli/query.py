"""`discreet query` and `discreet preview`: a question, and what it would cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.options import asks, curator_at, named
from discreet.cli.output import draw, json_option, plain, progress, tell_program


@click.command(short_help="Ask a question in SQL; it is charged.")
@asks
@click.option("--fresh", is_flag=True, help="Draw new noise at its cost, even if the answer is cached.")
@click.option("--confirm", is_flag=True, help="Charge what --error takes, even above a tenth of what is left.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up after so long."
)
@json_option
def query(
    policy: Path | str,
    sql: str,
    params: tuple[tuple[str, Any], ...],
    time_limit: float | None,
    as_json: bool,
    dummy: bool,
    **settings: Any,
) -> None:
    """Ask POLICY the query SQL (- reads standard input) and charge it to the budget.

    A server is asked by its address instead, with the token in DISCREET_TOKEN.

    The same query again at the same cost or a lower one is answered from the cache, free. With --dummy it runs on
    dummy data, and nothing is charged.

    \b
    discreet query hospital.toml "SELECT COUNT(*) FROM patients" --epsilon 0.5
    """
    from discreet.answers.layout import answer_parts
    from discreet.answers.render import Drawing

    given = named(params)
    with (
        progress(shown=not as_json) as tell,
        curator_at(policy, dummy=dummy, time_limit=time_limit, progress=tell) as curator,
    ):
        answer = curator.query(sql, params=given, **settings)
    if as_json:
        tell_program(plain(answer.to_dict()))
    else:
        draw(Drawing(answer_parts(answer, most=None)))


@click.command(short_help="Show what a question would cost and how exact it would be; free.")
@asks
@json_option
def preview(
    policy: Path | str, sql: str, params: tuple[tuple[str, Any], ...], as_json: bool, dummy: bool, **settings: Any
) -> None:
    """Show what the question SQL (- reads standard input) would cost and how exact its answer would be.

    Free: no data is read for it.
    """
    given = named(params)
    with progress(shown=not as_json) as tell, curator_at(policy, dummy=dummy, progress=tell) as curator:
        shown = curator.preview(sql, params=given, **settings)
    if as_json:
        tell_program(plain(shown.to_dict()))
    else:
        draw(shown)
