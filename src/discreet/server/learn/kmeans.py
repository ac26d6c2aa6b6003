"""Private k-means: noisy counts and noisy sums, round after round."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import INK, NEUTRAL, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.examples.kmeans import SIDE, Floats, Integers, Private, cost, domain, plain, points, private
from discreet.lab.writing import count, digits
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

POINTS: Final = {"300": "300", "3000": "3,000", "30000": "30,000"}
WHERE: Final = {"far": "far apart", "near": "close by"}
DOMAINS: Final = {"no": "from 0 to 100, as they are", "yes": "from −50 to 50, centred"}
PLAIN, NOISY = "without privacy", "private"
SHOWN: Final = 300
"""Points in the picture."""


def _body(values: Values) -> Body:
    rows = points(int(values["points"]), values["where"])
    rounds, epsilon_, centred = values["rounds"], values["epsilon"], values["centred"] == "yes"
    run, best = private(rows, rounds, epsilon_, centred=centred), plain(rows, rounds)
    costs = cost(rows, best), cost(rows, run.centres)
    glance = (
        Picture(
            lambda: _chart(rows, best, run),
            "Points in three clusters, the centres that k-means finds without privacy, and the private ones: their "
            f"mean squared distances are {digits(costs[0])} and {digits(costs[1])}.",
        ),
        Figures(
            (
                Figure(digits(costs[0]), "mean squared distance without privacy"),
                Figure(digits(costs[1]), "and with it"),
                Figure(f"{digits(costs[1] / costs[0], 2)} ×", "as far"),
            )
        ),
    )
    figures = compared(
        "001",
        ("ε of each round", "ε/T", f"{digits(epsilon_)}/{rounds} = {digits(epsilon_ / rounds)}"),
        ("assigning points to centres costs", "nothing", "nothing: the centres are noisy"),
        ("noise on the counts", "Lap(2T/ε)", f"Lap({digits(float(run.counts.scale))})"),
        ("|dom|", "domain size", count(domain(centred))),
        ("noise on the sums", "Lap(2T·|dom|/ε)", f"Lap({digits(float(run.sums.scale), 4)})"),
        ("rounds, T", "10", str(rounds)),
    )
    more = (
        Table(
            "The last centres",
            ("", "without privacy", "private"),
            tuple(
                (f"cluster {number}", _pair(centre), _pair(other))
                for number, (centre, other) in enumerate(zip(best, run.centres, strict=True), start=1)
            ),
        ),
        Words(
            "Each round asks two questions of the points: how many are in each cluster, and what they add up to. Both "
            "answers are noisy, so the new centres are, and assigning points to them tells nothing more."
        ),
        Words(
            "Clusters that are far apart survive much noise; clusters close by do not, because the noise on "
            "sums grows with the domain and not with the clusters. More rounds mean more noise in each: fewer are "
            "often better."
        ),
        Words(
            "Sums of centred points need half the noise for the same ε. discreet.learn.KMeans goes further: it "
            "releases one noisy grid, and tries as often as it likes on that."
        ),
    )
    return Body(glance, figures, more)


def _pair(centre: Floats) -> str:
    return ", ".join(digits(float(each)) for each in centre)


def _chart(rows: Integers, best: Floats, run: Private) -> Any:
    alt = altair()
    some = rows[np.linspace(0, len(rows) - 1, SHOWN).astype(int)]
    scale = alt.Scale(domain=[-2, SIDE + 2], nice=False)
    x, y = alt.X("x:Q", title=None, scale=scale), alt.Y("y:Q", title=None, scale=scale)
    dots = chart_of([{"x": int(a), "y": int(b)} for a, b in some]).mark_circle(color=NEUTRAL, opacity=0.35, size=14)
    centres = [
        {"x": float(a), "y": float(b), "kind": kind}
        for kind, those in ((PLAIN, best), (NOISY, run.centres))
        for a, b in those
    ]
    marks = chart_of(centres).mark_point(filled=True, size=170, opacity=1, stroke=INK, strokeWidth=1)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=[PLAIN, NOISY], range=["diamond", "cross"]), legend=None)
    drawn = alt.layer(
        dots.encode(x=x, y=y),
        marks.encode(x=x, y=y, shape=shape, color=palette("kind", {PLAIN: OPEN, NOISY: PRIVATE})),
    )
    return finished(
        drawn.properties(width=WIDTH - 50, height=WIDTH - 80),
        "Three clusters",
        "diamonds: without privacy; crosses: with",
    )


LESSON: Final = Lesson(
    slug="k-means",
    title="Three clusters, privately",
    lectures=("001",),
    teaser="Noisy counts and noisy sums, T times. Clusters far apart survive it.",
    shows="k-means needs counts and sums only; with noise on both it still finds clusters that are far apart.",
    fields=(
        Choice("points", "Points", POINTS, "3000"),
        Choice("where", "Clusters", WHERE, "far"),
        Slider("rounds", "Rounds, T", "1", "10", "1", "10"),
        Choice("centred", "Points lie", DOMAINS, "no"),
        epsilon("1", low="0.1", high="10", step="0.1"),
    ),
    body=_body,
    sketch=Sketch(
        "Three steps towards a centre, one of them noisy.",
        lines=(
            ((0.05, 0.2), (0.35, 0.5), (0.6, 0.62), (0.9, 0.7)),
            tuple((x / 12, 0.55 + 0.3 * math.sin(2.2 * x) * (1 - x / 16)) for x in range(13)),
        ),
    ),
    figure=Figure("2T·|dom|/ε", "the noise on every sum of points"),
    question=ask(
        "Which steps of a round of private k-means use up budget?",
        (
            "Counting points and adding them up",
            "Both look at points. Assigning points to noisy centres tells nothing new: no number leaves.",
        ),
        (
            "All three, assigning points too",
            "The assignment is never released; it follows from centres that are noisy already.",
        ),
        ("Only adding up", "The sizes of clusters are answers about points as well: they need noise too."),
    ),
)
