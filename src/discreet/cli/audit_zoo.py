"""`discreet audit zoo`: broken mechanisms, and whether the auditor catches them."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.audit import DIFFERENCE
from discreet.cli.output import draw, json_option, progress, table, tell_program


@click.command(short_help="Broken mechanisms, and what shows it.")
@click.option("--samples", type=click.IntRange(min=1000), help="Outputs on each side; else as many as each needs.")
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.999,
              show_default=True, help="Of each finding.")  # fmt: skip
@click.option("--twins", is_flag=True, help="Audit the correct twins instead.")
@json_option
def zoo(samples: int | None, confidence: float, twins: bool, as_json: bool) -> int:
    """Audit mechanisms that break their claim in ways that real systems have: all should be caught.

    Exit codes: 0 all as it should be, 6 one escaped, or a correct twin is accused.
    """
    from discreet.audit.blackbox import estimate
    from discreet.audit.outputs import batch
    from discreet.audit.zoo import ZOO

    results = []
    with progress(shown=not as_json) as tell:
        for index, specimen in enumerate(ZOO):
            if tell is not None:
                tell("auditing", index / len(ZOO))
            verdict = estimate(
                batch(specimen.twin if twins else specimen.broken),
                specimen.data,
                specimen.neighbour,
                claim=specimen.claim,
                samples=samples or specimen.samples,
                confidence=confidence,
            )
            results.append((specimen, verdict))
    if as_json:
        tell_program([_plain(specimen, verdict) for specimen, verdict in results])
    else:
        _draw(results, twins=twins)
    wrong = [specimen.name for specimen, verdict in results if verdict.violated == twins]
    if wrong:
        click.echo(f"{'accused' if twins else 'escaped'}: {', '.join(wrong)}", err=True)
    return DIFFERENCE if wrong else 0


def _plain(specimen: Any, verdict: Any) -> dict[str, Any]:
    return {
        "mechanism": specimen.name,
        "wrong": specimen.wrong,
        "claim": {"epsilon": verdict.claim.epsilon, "delta": verdict.claim.delta},
        "found": verdict.epsilon,
        "violated": verdict.violated,
        "witness": verdict.witness,
        "hits": verdict.hits,
        "misses": verdict.misses,
        "trials": verdict.trials,
        "confidence": verdict.confidence,
    }


def _draw(results: list[tuple[Any, Any]], *, twins: bool) -> None:
    from rich.text import Text

    rows = []
    for specimen, verdict in results:
        bound = Text(f"ε ≥ {verdict.epsilon:.2f}", style="bold red" if verdict.violated == twins else "green")
        story = verdict.witness if twins else f"{specimen.wrong}: {verdict.witness}"
        rows.append((specimen.name, str(verdict.claim), bound, story))
    draw(table(["mechanism", "claim", "found", "witness"], rows, numbers=frozenset({"found"})))
    caught, sure = sum(verdict.violated for _, verdict in results), results[0][1].confidence
    draw(f"\n{caught} of {len(results)} {'accused' if twins else 'caught'}, each with confidence {sure:g}")
