"""`discreet federated`: train a model on the rows of many clients, which stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.output import json_option, printable, tell_program

if TYPE_CHECKING:
    from discreet.federated.plan import Plan
    from discreet.federated.task import Task
    from discreet.federated.training import Done, Training

plan_argument = click.argument("plan", type=click.Path(path_type=Path, exists=True, dir_okay=False))


@click.group(short_help="Train on the rows of many clients, which stay where they are.")
def federated() -> None:
    """Train a model on the rows of many clients: only noisy sums of their updates leave them.

    \b
    discreet federated preview plan.toml
    discreet federated coordinator plan.toml -o model.json
    discreet federated client http://127.0.0.1:8800 rows.csv --max-epsilon 3
    """


@federated.command(short_help="Show what a plan costs; free.")
@plan_argument
@json_option
def preview(plan: Path, as_json: bool) -> None:
    """Show what the training that PLAN describes promises to each client. No client is asked."""
    made, task = _read(plan)
    if as_json:
        return tell_program({"sigma": made.sigma, "parameters": made.parameters, "guarantees": _promises(made)})
    click.echo(f"{task.model} with {made.parameters:,} parameters, {made.rounds:,} rounds, noise {made.noise}")
    click.echo(f"noise of {made.sigma:.3g} clipping norms on each {'update' if made.noise == 'local' else 'sum'}")
    for promise in made.guarantees():
        click.echo(str(promise))
    return None


@federated.command(short_help="Ask clients, round after round.")
@plan_argument
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="A new .json for the model."
)
@click.option(
    "--journal", type=click.Path(path_type=Path, dir_okay=False), help="Which rounds began; PLAN.journal if left out."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8800, show_default=True, help="0 takes a free one.")
@click.option("--wait", type=click.FloatRange(min=0), default=600.0, show_default=True, help="Seconds for all to come.")
@click.option(
    "--patience", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds for an answer to come."
)
@json_option
def coordinator(
    plan: Path, output: Path, journal: Path | None, port: int, wait: float, patience: float, as_json: bool
) -> None:
    """Train what PLAN describes with clients of this machine, and write the model.

    Rounds are written to the journal before they begin. Started again with the same journal, it goes on with the next
    round: the one that was cut off stays spent.
    """
    made, task = _read(plan)
    if output.exists() or not output.parent.is_dir():
        raise click.UsageError(f"{output} exists already, or its folder does not: name a new file")
    import msgspec

    from discreet.federated.journal import Journal
    from discreet.federated.training import Training

    with _installed():
        from discreet.federated.coordinator import Coordinator
        from discreet.federated.web import listening

    where = plan.with_suffix(".journal") if journal is None else journal
    with Journal(where, made, msgspec.to_builtins(task)) as record:
        training = Training(made, task.made().initial(), rate=task.learning_rate, journal=record)
        if record.begun:
            click.echo(f"{record.begun} of {made.rounds} rounds were begun before: going on", err=True)
        if training.over:
            _write(output, training, task)
            return _tell(output, training, as_json=as_json)
        coordinating = Coordinator(
            training,
            task,
            patience=patience,
            joined=lambda count: click.echo(f"{count} of {made.clients} clients are here", err=True),
        )
        with listening(coordinating, port=port) as url:
            click.echo(f"waiting for {made.clients} clients at {url}", err=True)
            coordinating.run(wait=wait, tell=_tell_round)
    _write(output, training, task)
    return _tell(output, training, as_json=as_json)


@federated.command(short_help="Take part with the rows of a CSV file.")
@click.argument("url")
@click.argument("rows", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--max-epsilon", type=click.FloatRange(min=0, min_open=True), required=True, help="Refuse what costs more."
)
@click.option(
    "--patience", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds to look for URL."
)
@json_option
def client(url: str, rows: Path, max_epsilon: float, patience: float, as_json: bool) -> None:
    """Take part in the training at URL with the ROWS of a CSV file. They are read here, and stay here.

    What it costs is computed here too: more than --max-epsilon is refused before anything is sent.
    """
    from discreet.federated.task import rows_of

    with _installed():
        from discreet.federated.participant import Participant

    participant = Participant(url, lambda task: rows_of(rows, task), max_epsilon=max_epsilon, patience=patience)
    taken = participant.run()
    if as_json:
        return tell_program({"rounds": taken})
    click.echo(f"done: took part in {taken} rounds")
    return None


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as missing:
        raise click.UsageError(str(missing)) from None


def _read(path: Path) -> tuple[Plan, Task]:
    from discreet.federated.task import read

    return read(path)


def _promises(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"against": promise.against, "epsilon": promise.epsilon, "delta": promise.delta}
        for promise in plan.guarantees()
    ]


def _tell_round(done: Done) -> None:
    """For the coordinator's own eyes: how many took part is not published."""
    what = "learned" if done.used else "given up: too few stayed"
    click.echo(f"round {done.number}: {done.survivors} of {done.members} stayed, {what}", err=True)


def _write(output: Path, training: Training, task: Task) -> None:
    import json

    import msgspec

    from discreet.cli.output import write_new

    document = {
        "task": msgspec.to_builtins(task),
        "weights": training.weights.tolist(),
        "guarantees": _promises(training.plan),
    }
    write_new(output, json.dumps(document, allow_nan=False, indent=1))


def _tell(output: Path, training: Training, *, as_json: bool) -> None:
    if as_json:
        return tell_program({"output": str(output), "rounds": training.begun, "guarantees": _promises(training.plan)})
    click.echo(f"{training.begun} rounds; the model is in {printable(str(output))}")
    for promise in training.plan.guarantees():
        click.echo(str(promise))
    return None
