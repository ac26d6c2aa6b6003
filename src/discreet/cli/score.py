"""`discreet score`: how good a fitted model is on private rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from discreet.cli.options import Sql, curator_at
from discreet.cli.output import draw, json_option, plain, printable, progress, target_argument, tell_program


@click.command(short_help="Say how good a fitted model is, on private rows; it is charged.")
@target_argument
@click.argument("model", metavar="MODEL")
@click.argument("sql", type=Sql(), metavar="SQL")
@click.option("--target", required=True, help="The column that the model predicts.")
@click.option(
    "-m",
    "--metric",
    multiple=True,
    help="accuracy, roc_auc, r2 and others; several are one charge. [default: by model]",
)
@click.option("-e", "--epsilon", type=float, help="The cost: ε, or in a budget with δ what ε would cost there.")
@click.option("--rho", type=float, help="The cost as ρ, in a budget with δ.")
@click.option("--delta", type=float, help="A δ of its own for --epsilon.")
@click.option("--holdout", help="The name of a hold-out: score on the units that a fit with it left out.")
@click.option("--positive", help="The class whose probability is ranked, of more than two.")
@click.option("--max-rows", type=click.IntRange(min=1), help="Rows of each unit that are read; 1 if left out.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--blocks", help="Of a stream: newest 7, 2024-03, 2024-03-01..2024-03-07, or all.")
@click.option("--analyst", help="Whose share is charged.")
@click.option("--preview", is_flag=True, help="Only show what it would cost; free.")
@click.option("--fresh", is_flag=True, help="Draw new noise at its cost, even if the scores are cached.")
@click.option("--dummy", is_flag=True, help="Use dummy data: free, and nothing private is read.")
@json_option
def score(
    policy: Path | str, model: str, sql: str, preview: bool, dummy: bool, as_json: bool, metric: tuple[str, ...],
    fresh: bool, **said: Any,
) -> None:  # fmt: skip
    """Score a fitted MODEL on the rows of SQL: the number of the charge that fitted it, or a file of its JSON.

    \b
    discreet score hospital.toml 3 "SELECT age, weight, smoker FROM patients" --target smoker \\
        -m accuracy -m roc_auc --epsilon 0.5
    """
    metrics = None if not metric else metric[0] if len(metric) == 1 else list(metric)
    with progress(shown=not as_json) as tell, curator_at(policy, dummy=dummy, progress=tell) as curator:
        task = _model(curator, model).score_task(sql, metric=metrics, fresh=fresh, **said)
        if preview:
            expected = curator.preview(task)
            return tell_program(plain(expected.to_dict())) if as_json else draw(expected)
        scores = curator.perform(task)
    if as_json:
        return tell_program(scores.document())
    for line in str(scores).splitlines():
        click.echo(printable(line))
    cost = "free: it was scored before" if scores.cached else f"cost {scores.loss.words}"
    click.echo(f"{cost}; receipt {printable(scores.receipt)}")
    return None


def _model(curator: Any, named: str) -> Any:
    """A fitted model: of a charge, or of a file."""
    from discreet.answers.models import Learner
    from discreet.errors import Refused

    try:
        from discreet.learn.sent import model_to_score
    except ModuleNotFoundError:
        raise click.UsageError("scores need scikit-learn: install discreet[learn]") from None
    if named.isdigit():
        model = curator.recall(int(named))
        if not isinstance(model, Learner):
            raise Refused("score-invalid", "this charge fitted no model", "name the charge of a fit, or a file")
        return model
    try:
        document = json.loads(Path(named).read_text(encoding="utf-8"))
    except (OSError, ValueError) as wrong:
        raise click.UsageError(f"{named} is no model: name the charge of a fit, or a file of its JSON") from wrong
    return model_to_score(document)
