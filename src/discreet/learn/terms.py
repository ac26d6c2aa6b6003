"""Pictures of fitted models: the curve of each feature, or how much each one matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.theme import COLOURS, altair, chart_of, dressed, theme_of
from discreet.learn.cards import seen_by

if TYPE_CHECKING:
    from altair.typing import ChartType


@beside_others
def plotted(model: Any, theme: str) -> ChartType:
    """Curves of an additive model, else importances; AttributeError where there are neither."""
    check_is_fitted(model)
    last = model.steps_[-1] if hasattr(model, "steps_") else model
    names, look = seen_by(model), theme_of(theme)
    chart = _curves(last, names) if "curves_" in vars(last) else _importances(last, names)
    what = "what each feature adds" if "curves_" in vars(last) else "how much each feature matters"
    return dressed(chart, look, type(last).__name__, [f"{what}; {last.loss_}"])


def _curves(model: Any, names: list[str]) -> Any:
    """A small chart for each feature: what it adds to each score, between two of its edges."""
    alt = altair()
    records = [record for index, name in enumerate(names) for record in _steps(model, index, name)]
    colour = alt.Color("score:N", scale=alt.Scale(range=list(COLOURS)), title="class")
    several = len({record["score"] for record in records}) > 1
    base = chart_of(records).mark_line(interpolate="step-after", color=COLOURS[0])
    shown = base.encode(
        x=alt.X("value:Q", title=None), y=alt.Y("adds:Q", title="adds"), **({"color": colour} if several else {})
    )
    return (
        shown.properties(width=200, height=110)
        .facet(facet=alt.Facet("feature:N", title=None, sort=names), columns=3)
        .resolve_scale(x="independent")
    )


def _steps(model: Any, index: int, name: str) -> list[dict[str, Any]]:
    edges, curve = (
        np.asarray(model.edges_[index]),
        np.asarray(model.curves_[index]).reshape(len(model.curves_[index]), -1),
    )
    labels = [str(label) for label in model.classes_] if hasattr(model, "classes_") else [""]
    scores = labels if curve.shape[1] == len(labels) else labels[-curve.shape[1] :]
    ends = np.append(np.arange(len(curve)), len(curve) - 1)  # the last step reaches to the last edge
    return [
        {"feature": name, "score": scores[column], "value": float(edge), "adds": float(curve[row, column])}
        for column in range(curve.shape[1])
        for edge, row in zip(edges, ends, strict=False)
    ]


def _importances(model: Any, names: list[str]) -> Any:
    alt = altair()
    shares = model.feature_importances_.tolist()
    records = [{"feature": name, "share": share} for name, share in zip(names, shares, strict=True)]
    bars = chart_of(records).mark_bar(color=COLOURS[0])
    return bars.encode(x=alt.X("share:Q", title="importance"), y=alt.Y("feature:N", title=None, sort="-x")).properties(
        width=320
    )
