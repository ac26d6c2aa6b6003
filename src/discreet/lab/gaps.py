"""How those in a release fare beside those who are not: a table and a picture that two experiments share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.lab.blocks import Table
from discreet.lab.bounds import PROVES, Recovered, proven_words
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.writing import percent

IN, OUT = "those in it", "others"


def points(gap: float) -> str:
    """
    >>> points(-0.0123), points(-0.0001), points(0.426)
    ('−1.2 points', '0 points', '42.6 points')
    """
    return f"{round(100 * gap, 1) + 0.0:.4g} points".replace("-", "−")


def gap_table(
    caption: str, baselines: Mapping[str, float], done: Mapping[str, Recovered], promised: Mapping[str, float]
) -> Table:
    """Baselines, then each release with the gap, what ε allows and what the gap proves about ε."""
    rows = [(name, "", percent(share), "", "", "") for name, share in baselines.items()]
    for name, each in done.items():
        allowed = points(each.most_gap(promised[name])) if name in promised else "no bound"
        shares = percent(each.inside), percent(each.outside)
        rows.append((name, *shares, points(each.gap), allowed, proven_words(each.epsilon())))
    return Table(caption, ("", IN, OUT, "gap", "gap at most", PROVES), tuple(rows))


def gap_chart(done: Mapping[str, Recovered], *, title: str, baseline: float) -> Any:
    """Two bars for each release, and a line for who has no release at all."""
    alt = altair()
    records = [
        {"kind": name, "who": who, "share": share}
        for name, each in done.items()
        for who, share in ((IN, each.inside), (OUT, each.outside))
    ]
    bars = (
        chart_of(records)
        .mark_bar()
        .encode(
            y=alt.Y("kind:N", sort=list(done), title=None),
            yOffset=alt.YOffset("who:N", sort=[IN, OUT]),
            x=alt.X("share:Q", title="guessed rightly", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~%")),
            color=palette("who", {IN: OPEN, OUT: PRIVATE}),
        )
    )
    line = chart_of([{"share": baseline}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="share:Q")
    drawn = alt.layer(bars, line).properties(width=WIDTH - 130, height=alt.Step(18))
    return finished(drawn, title, "dashed: from other people's records alone")
