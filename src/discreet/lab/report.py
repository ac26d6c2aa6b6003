"""Experiments as one page of HTML that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from discreet.answers.document import document, words
from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.embedded import picture
from discreet.lab.blocks import Block, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.experiment import Experiment, Outcome
from discreet.lab.lectures import LECTURES
from discreet.version import __version__

TITLE: Final = "What an attacker can do, and what noise leaves them"
INTRODUCTION: Final = (
    "Each experiment attacks something that was released without protection, and then what discreet releases instead. "
    "Nobody on this page exists: all data are invented, and the true values are shown."
)
UNDRAWN: Final = "Pictures need altair and vl-convert: install discreet with its extra “plot”."
_NAMED: Final = re.compile(r'(?<=[ "])(id="|url\(#|(?:xlink:)?href="#)(?=[\w-]+["\)])')
"""Where an SVG names a part of its own or refers to it."""


def report(outcomes: Mapping[Experiment, Outcome], *, seed: int | None = None) -> str:
    """All of them on one page, with contents."""
    seeded = "" if seed is None else f" Seed of the dummy data: {seed}."
    made = f"Made by discreet {__version__}.{seeded} Noise has no seed: made again, these numbers differ a little."
    contents = "".join(
        f'<li><a href="#{words(each.name)}">{words(each.title)}</a> {_faint(each.teaser)}</li>' for each in outcomes
    )
    body = [
        f"<main><h1>{words(TITLE)}</h1>",
        f"<p>{words(INTRODUCTION)}</p>",
        f"<p>{_faint(made)}</p>",
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav>',
        *(section(each, outcome, seed) for each, outcome in outcomes.items()),
        "</main>",
    ]
    return document(TITLE, body)


def section(experiment: Experiment, outcome: Outcome, seed: int | None = None) -> str:
    """One experiment with its heading."""
    lectures = " and ".join(f"lecture {number} ({LECTURES[number]})" for number in experiment.lectures)
    again = f"discreet lab {experiment.name}" + ("" if seed is None else f" --seed {seed}")
    parts = [
        f'<section id="{words(experiment.name)}"><h2>{words(experiment.title)}</h2>',
        f"<p>{_faint(f'{experiment.teaser} From {lectures}. Again:')} <code>{words(again)}</code></p>",
        *rendered((outcome.figures, *outcome.pictures, *outcome.tables), experiment.name),
        *(f"<p>{words(sentence)}</p>" for sentence in outcome.sentences),
        f'<div class="guarantee"><p><b>What differential privacy guarantees.</b> {words(outcome.guarantee)}</p></div>',
        "</section>",
    ]
    return "\n".join(parts)


def _faint(text: str) -> str:
    return f'<span class="faint">{words(text)}</span>'


def rendered(blocks: Iterable[Block], name: str) -> Iterable[str]:
    """Blocks as HTML; `name` keeps the parts of pictures apart that stand on one page."""
    for number, block in enumerate(blocks):
        match block:
            case Words(text):
                yield f"<p>{words(text)}</p>"
            case Heading(text):
                yield f"<h3>{words(text)}</h3>"
            case Note(text, tone):
                yield f'<p class="{words(tone)}">{words(text)}</p>'
            case Figures(items):
                each = (f"<span><b>{words(figure.value)}</b>{words(figure.label)}</span>" for figure in items)
                yield f'<div class="figures">{"".join(each)}</div>'
            case Picture():
                yield _drawn(block, f"{name}-{number}-")
            case Table():
                yield _tabled(block)


@beside_others
def standalone(block: Picture) -> str:
    """A picture as a file of its own."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(block.chart().to_dict())
    return svg


def _drawn(block: Picture, prefix: str) -> str:
    svg = picture(block.chart, block.alt)
    if svg is None:
        return f'<p class="faint">{words(block.alt)} {words(UNDRAWN)}</p>'
    apart = _NAMED.sub(lambda name: name[0] + prefix, svg)
    return f"<figure>{apart}</figure>"


def _tabled(block: Table) -> str:
    heads = "".join(f'<th scope="col">{words(name)}</th>' if name else "<td></td>" for name in block.columns)
    rows = "".join(_row(row, marked=number in block.marked) for number, row in enumerate(block.rows))
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{words(block.caption)}"><table>'
        f"<caption>{words(block.caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(cells: Sequence[str], *, marked: bool) -> str:
    first, *rest = cells
    inner = "".join(f"<td>{words(cell)}</td>" for cell in rest)
    return f'<tr{" class=marked" if marked else ""}><th scope="row">{words(first)}</th>{inner}</tr>'
