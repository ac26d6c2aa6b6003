"""An audit as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from discreet.answers.document import document, words
from discreet.audit.pictures import caption, svg
from discreet.audit.policies import Audit, Result
from discreet.audit.replay import Report

PICTURES: Final = 6
MADE_UP: Final = (
    "Everything on this page is about dummy data, made from the policy alone: no source, no state and no "
    "ledger was read, so no number here says anything about a real person. Whoever may see the policy may see this "
    "page."
)
METHOD: Final = (
    "Each question was asked twice, of a database and of the same database without one unit, and the second time it "
    "was given the noisy values of the first. Then everything that can be seen must be the same, and the exact numbers "
    "must lie within the sensitivity that was declared for their noise."
)
UNDRAWN: Final = "Pictures need altair and vl-convert: install discreet with its extra “plot”, and audit again."


def page(audit: Audit) -> str:
    """The whole page."""
    title = f"Audit of {audit.policy}"
    body = [
        f"<h1>{words(title)}</h1>",
        _verdict(audit),
        _figures(audit),
        f"<p>{words(METHOD)}</p>",
        f'<p class="faint">{words(MADE_UP)}</p>',
        *_differences(audit.of("difference")),
        *_pictures(audit),
        *_questions(audit),
    ]
    return document(title, body)


def _verdict(audit: Audit) -> str:
    differences = len(audit.of("difference"))
    if not audit.results:
        return '<p class="bad">There is nothing to ask: the policy has no private table with rows.</p>'
    if differences:
        return f'<p class="bad">{differences} of {len(audit.results)} questions tell two neighbours apart.</p>'
    return '<p class="good">No query distinguishes two neighbours by more than its noise covers.</p>'


def _figures(audit: Audit) -> str:
    budget = f"ε {float(audit.budget.epsilon):g}"
    if audit.budget.delta is not None:
        budget += f", δ {float(audit.budget.delta):g}"
    figures = {
        "questions": f"{len(audit.results):,}",
        "refused, on both sides alike": f"{len(audit.of('refused')):,}",
        "pairs of neighbours": f"{audit.pairs:,}",
        "comparisons": f"{audit.comparisons:,}",
        "differences": f"{len(audit.of('difference')):,}",
        "of a sensitivity used at most": f"{float(audit.share):.0%}",
        f"budget, for each {audit.unit}": budget,
    }
    spans = "".join(f"<span><b>{words(number)}</b>{words(name)}</span>" for name, number in figures.items())
    return f'<div class="figures">{spans}</div>'


def _differences(results: Sequence[Result]) -> Iterable[str]:
    if results:
        yield "<h2>Differences</h2>"
    for result in results:
        report = result.report
        facts = {
            "what": report.difference or "",
            "kind": report.kind or "",
            "expected, or first side": report.expected,
            "observed, or other side": report.observed,
            "the unit": result.what,
        }
        details = "".join(f"<dt>{words(name)}</dt><dd>{words(value)}</dd>" for name, value in facts.items() if value)
        yield f'<p class="bad"><code>{words(report.question)}</code></p><dl>{details}</dl>'


def _pictures(audit: Audit) -> Iterable[str]:
    chosen = _telling(audit)
    if not chosen:
        return
    yield "<h2>How well two neighbours can be distinguished</h2>"
    yield (
        "<p>For some questions, the number that one unit moves furthest: where its noisy value falls with and without "
        "that unit, and below it the logarithm of the ratio of the two probabilities, inside its band.</p>"
    )
    for result in chosen:
        moved = result.report.moved
        assert moved is not None
        picture = svg(moved, audit.budget.delta)
        if picture is None:
            yield f'<p class="faint">{UNDRAWN}</p>'
            return
        what = f"{caption(moved, audit.budget.delta)} The unit: {result.what}."
        text = f"<code>{words(result.report.question)}</code><figcaption>{words(what)}</figcaption>"
        yield f"<figure>{text}{picture}</figure>"


def _telling(audit: Audit) -> list[Result]:
    """Differences first, then of each kind of question the one that uses most of its sensitivity."""
    moving = [result for result in audit.results if result.report.moved is not None]
    moving.sort(key=lambda result: (result.report.same, -result.report.l1))
    kinds: dict[str, Result] = {}
    for result in moving:
        kinds.setdefault(result.question.kind, result)
    return list(kinds.values())[:PICTURES]


def _questions(audit: Audit) -> Iterable[str]:
    if not audit.results:
        return
    heads = ("kind", "question", "pairs", "found", "sensitivity used")
    rows = "".join(f"<tr>{_row(result)}</tr>" for result in audit.results)
    yield "<h2>All questions</h2>"
    yield (
        f'<div class="wide"><table><thead><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(result: Result) -> str:
    report = result.report
    state = {"difference": "bad", "refused": "faint", "the same": ""}[result.state]
    verdict = result.state if report.refusal is None else f"refused: {report.refusal}"
    cells = (
        words(result.question.kind),
        f"<code>{words(report.question)}</code>",
        str(result.pairs),
        f'<span class="{state}">{words(verdict)}</span>',
        f'<span class="share">{_used(report)}</span>',
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _used(report: Report) -> str:
    """The part of the sensitivity as a bar; nothing where no noise is added, such as for medians."""
    if report.moved is None:
        return "–"
    share = float(report.l1)
    return f'<meter max="1" value="{min(share, 1):.3f}">{share:.0%}</meter> {share:.0%}'
