"""`discreet release batch`: several queries for one cost, in one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.options import Sql, curator_at
from discreet.cli.output import draw, json_option, plain, progress, target_argument, tell_program


@click.command(short_help="Answer several queries together, for one cost.")
@target_argument
@click.argument("queries", type=Sql(), nargs=-1, required=True, metavar="SQL...")
@click.option("-e", "--epsilon", type=float, help="The cost of all: ε, or in a budget with δ what ε would cost there.")
@click.option("--rho", type=float, help="The cost as ρ, in a budget with δ.")
@click.option("--delta", type=float, help="A δ of its own for --epsilon.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--blocks", help="Of a stream: newest 7, 2024-03, 2024-03-01..2024-03-07, or all.")
@click.option("--analyst", help="Whose share is charged.")
@click.option("--preview", is_flag=True, help="Only show cost and expected errors; free.")
@click.option("--fresh", is_flag=True, help="Draw new noise at its cost, even if the answers are cached.")
@click.option("--dummy", is_flag=True, help="Use dummy data: free, and nothing private is read.")
@json_option
def batch(
    policy: Path | str, queries: tuple[str, ...], preview: bool, fresh: bool, dummy: bool, as_json: bool, **said: Any
) -> None:
    """Ask POLICY several queries for one cost. POLICY may be the address of a server.

    Counting queries over the same rows are measured together, with less error than one by one.

    \b
    discreet release batch hospital.toml --epsilon 0.5 \\
        "SELECT COUNT(*) FROM patients WHERE age < 40" "SELECT COUNT(*) FROM patients WHERE age < 65"
    """
    with progress(shown=not as_json) as tell, curator_at(policy, dummy=dummy, progress=tell) as curator:
        if preview:
            expected = curator.preview(curator.batched(queries, **said))
        else:
            answers = curator.batch(queries, fresh=fresh, **said)
    if preview:
        return tell_program(plain(expected.to_dict())) if as_json else draw(expected)
    if as_json:
        return tell_program({"answers": [plain(answer.to_dict()) for answer in answers]})
    from discreet.answers.layout import answer_parts
    from discreet.answers.render import Drawing

    for answer in answers:
        draw(Drawing(answer_parts(answer, most=None)))
    return None
