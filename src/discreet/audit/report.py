"""An audit as one page of HTML: no script, nothing from elsewhere, light or dark as the reader has it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import Final

from discreet.audit.pictures import caption, svg
from discreet.audit.policies import Audit, Result
from discreet.audit.replay import Report
from discreet.printing import printable

PICTURES: Final = 6
STYLE: Final = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --faint: #596069; --line: #d9dce1; --bad: #b3261e;
  --good: #1f7a4d; --bar: #3d7fd6; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #1b1b1f; --ink: #e8e8ec; --faint: #a3a7b0; --line: #3d3d45; --bad: #ff8a80; --good: #5fd39b; }
}
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.faint { color: var(--faint); }
.bad { color: var(--bad); font-weight: 600; }
.good { color: var(--good); font-weight: 600; }
.figures { display: flex; flex-wrap: wrap; gap: 2rem; margin: 1rem 0; }
.figures b { display: block; font-size: 1.4rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
code { font: 12.5px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
.share { white-space: nowrap; font-variant-numeric: tabular-nums; } meter { width: 5rem; vertical-align: middle; }
figure { margin: 1.2rem 0 2rem; } figcaption { color: var(--faint); font-size: 13px; margin-bottom: .4rem; }
svg { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .3rem 0 1.2rem; } dd { margin: 0; }
"""
ALLOWED: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; base-uri 'none'; "
    f"form-action 'none'"
)
"""What the page may load or run, wherever it is opened: its own style, by its digest, and nothing else."""
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
        f"<h1>{_words(title)}</h1>",
        _verdict(audit),
        _figures(audit),
        f"<p>{_words(METHOD)}</p>",
        f'<p class="faint">{_words(MADE_UP)}</p>',
        *_differences(audit.of("difference")),
        *_pictures(audit),
        *_questions(audit),
    ]
    head = (
        f'<meta charset="utf-8"/><meta http-equiv="Content-Security-Policy" content="{ALLOWED}"/>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{_words(title)}</title><style>{STYLE}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{chr(10).join(body)}</body></html>\n'


def _words(text: str) -> str:
    return escape(printable(text))


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
    spans = "".join(f"<span><b>{_words(number)}</b>{_words(name)}</span>" for name, number in figures.items())
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
        details = "".join(f"<dt>{_words(name)}</dt><dd>{_words(value)}</dd>" for name, value in facts.items() if value)
        yield f'<p class="bad"><code>{_words(report.question)}</code></p><dl>{details}</dl>'


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
        words = f"{caption(moved, audit.budget.delta)} The unit: {result.what}."
        text = f"<code>{_words(result.report.question)}</code><figcaption>{_words(words)}</figcaption>"
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
        _words(result.question.kind),
        f"<code>{_words(report.question)}</code>",
        str(result.pairs),
        f'<span class="{state}">{_words(verdict)}</span>',
        f'<span class="share">{_used(report)}</span>',
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _used(report: Report) -> str:
    """The part of the sensitivity as a bar; nothing where no noise is added, such as for medians."""
    if report.moved is None:
        return "–"
    share = float(report.l1)
    return f'<meter max="1" value="{min(share, 1):.3f}">{share:.0%}</meter> {share:.0%}'
