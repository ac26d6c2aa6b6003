"""Previews as pictures: how far each value of the answer may lie from the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from discreet.answers.figures import half_width
from discreet.answers.layout import cost_words, error_range, percent, rank_error
from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.panels import drawable
from discreet.answers.plots.theme import (
    COLOURS,
    Theme,
    altair,
    chart_of,
    dressed,
    sentence,
    shortened,
    theme_of,
)
from discreet.printing import printable

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.answers import Preview

ANY: Final = "any group"


@beside_others
def preview_chart(preview: Preview, theme: str = "light") -> ChartType:
    """For each noisy column a bar from −error to +error; for averages one for each size of group."""
    look = theme_of(theme)
    by_column = {name: _records(preview, name) for name in preview.columns}
    panels = [_panel(name, records, look) for name, records in by_column.items() if records]
    title = "expected error"
    if not panels:
        ranges = [f"{printable(name)} {error_range(preview, name)}" for name in preview.ranges]
        said = (
            f"depends on what is found: {', '.join(ranges)}"
            if ranges
            else "no error is known before the question is asked"
        )
        return sentence(look, title, said)
    unknown = [
        f"{printable(name)} {error_range(preview, name)}".strip()
        for name in preview.noise
        if not by_column.get(name) and name not in preview.ranks
    ]
    ranked = [f"{printable(name)} {rank_error(preview, name)}" for name in preview.ranks]
    cost = cost_words(preview.loss, preview.guarantee).replace(" ", " = ", 1)
    subtitle = [f"{'cached: free' if preview.cached else cost}, bars {percent(preview.confidence)}"]
    if ranked:
        subtitle.append(shortened(f"quantiles: {', '.join(ranked)}"))
    if unknown:
        subtitle.append(shortened(f"not known before it is asked: {', '.join(unknown)}"))
    return dressed(altair().concat(*panels, columns=1), look, title, subtitle)


def _records(preview: Preview, name: str) -> list[dict[str, Any]]:
    sizes = preview.averages.get(name)
    if sizes:
        halves = {f"groups of {size:,}": half for size, half in sizes.items()}
    else:
        halves = {ANY: preview.error[name]} if name in preview.error else {}
    return [
        {"group": group, "low": -half, "high": half, "shown": f"± {half_width(half)}"}
        for group, half in halves.items()
        if drawable(half) is not None
    ]


def _panel(name: str, records: list[dict[str, Any]], look: Theme) -> Any:
    alt = altair()
    groups = [record["group"] for record in records]
    column = shortened(printable(name))
    tooltip = [alt.Tooltip("group:N", title="size"), alt.Tooltip("shown:N", title=column)]
    y = alt.Y("group:N", sort=groups, title=None, axis=None if groups == [ANY] else alt.Axis())
    base = chart_of(records).encode(y=y, tooltip=tooltip)
    x = alt.X("low:Q", title=f"error of {column}", scale=alt.Scale(nice=True))
    middle = {"x": alt.datum(0)}
    bars = base.mark_bar(color=COLOURS[0], height={"band": 0.4}).encode(x=x, x2=alt.X2("high:Q"))
    dots = base.mark_point(filled=True, size=40, opacity=1, color=look.text).encode(**middle)
    words = base.mark_text(align="left", dx=6, color=look.text, fontSize=13).encode(x="high:Q", text="shown:N")
    return alt.layer(bars, dots, words).properties(width=420, height=alt.Step(30), title=column)
