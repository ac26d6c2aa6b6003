"""The pictures of the guide, made again by `python -m tests.guide`, each from a fresh copy of the demo's hospital."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import discreet
from discreet.lab.hospital import build

PICTURES: Final = Path(__file__).parents[1] / "docs" / "guide" / "pictures"
WARDS: Final = "SELECT ward, COUNT(*) AS patients FROM patients GROUP BY ward"
PRESSURE: Final = "SELECT ward, AVG(blood_pressure) AS pressure FROM patients GROUP BY ward"
PLACES: Final = "SELECT zip, COUNT(*) AS patients FROM patients GROUP BY zip"


def wards(hospital: discreet.Curator) -> Any:
    return hospital.query(WARDS, epsilon=0.5).plot()


def costs(hospital: discreet.Curator) -> Any:
    """The same question at three costs, over one axis."""
    import altair

    charts = {epsilon: hospital.query(WARDS, epsilon=epsilon, fresh=True).plot() for epsilon in (0.1, 0.3, 1)}
    config = charts[1].config
    for epsilon, chart in charts.items():
        chart.config = altair.Undefined  # a picture has one, and its parts have none
        chart.title, chart.height = f"epsilon={epsilon}", altair.Step(15)
    together = altair.vconcat(*charts.values()).resolve_scale(x="shared")
    together.config = config
    return together


def pressure(hospital: discreet.Curator) -> Any:
    return hospital.query(PRESSURE, epsilon=1).plot()


def places(hospital: discreet.Curator) -> Any:
    return hospital.query(PLACES, epsilon=0.5).plot()


def budget(hospital: discreet.Curator) -> Any:
    """A week of questions: two analysts within their shares, and a partition that pays once for seven wards."""
    for epsilon in (0.1, 0.2, 0.15, 0.25):
        hospital.query(WARDS, epsilon=epsilon, analyst="finance", fresh=True)
    hospital.query(PRESSURE, epsilon=0.7, analyst="epidemiology")
    parts = hospital.table("patients").partition("ward")
    for part in parts.values():
        part.count(epsilon=1)
    hospital.query(PLACES, epsilon=0.5, analyst="epidemiology")
    hospital.query("SELECT code, COUNT(*) AS visits FROM visits GROUP BY code", epsilon=1)
    return hospital.plot()


def clusters(_: discreet.Curator) -> Any:
    """The same rows clustered without privacy, by the lecture's method and by ours."""
    import sklearn.cluster

    from discreet.answers.plots.theme import THEMES, altair, dressed
    from discreet.learn import KMeans

    rows = _blobs()
    models = {
        "not private": sklearn.cluster.KMeans(9, n_init=10, random_state=0),
        "the lecture's": KMeans(9, bounds=(-1, 1), epsilon=1, method="lloyd"),
        "KMeans": KMeans(9, bounds=(-1, 1), epsilon=1),
    }
    costs = {name: -model.fit(rows).score(rows) for name, model in models.items()}
    told = [f"{name}: cost {cost / costs['not private']:.2f}" for name, cost in costs.items()]
    panels = [_clustered(rows, model, title) for model, title in zip(models.values(), told, strict=True)]
    return dressed(altair().hconcat(*panels), THEMES["light"], "", [])


def _blobs() -> Any:
    """Nine of them, so that a step of their coordinates is half a pixel."""
    import numpy as np

    dice = np.random.default_rng(4)
    middles = np.array([(x, y) for x in (-0.6, 0, 0.6) for y in (-0.6, 0, 0.6)]) + dice.uniform(-0.12, 0.12, (9, 2))
    found = middles[dice.integers(9, size=5_000)] + dice.normal(0, 0.06, (5_000, 2))
    return np.round(np.clip(found, -1, 1) * 200) / 200


def _clustered(rows: Any, model: Any, title: str) -> Any:
    """Some of the rows, coloured by the nearest centre, and the centres."""
    from discreet.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of

    alt, some = altair(), rows[:100]
    axis: dict[str, Any] = {"title": None, "axis": None, "scale": alt.Scale(domain=(-1, 1))}
    place = {"x": alt.X("x:Q", **axis), "y": alt.Y("y:Q", **axis)}
    points = [{"x": x, "y": y, "c": int(c)} for (x, y), c in zip(some.tolist(), model.predict(some), strict=True)]
    centres = [{"x": round(x, 2), "y": round(y, 2)} for x, y in model.cluster_centers_.tolist()]
    colour = alt.Color("c:N", scale=alt.Scale(range=[*COLOURS, NEUTRAL]), legend=None)
    drawn = chart_of(points).mark_square(size=12, aria=False).encode(**place, color=colour)
    marks = chart_of(centres).mark_point(shape="cross", size=90, filled=True, opacity=1, color="black", aria=False)
    both = drawn + marks.encode(**place)
    frame = alt.ViewBackground(stroke=NEUTRAL)
    return both.properties(width=200, height=200, view=frame, title=alt.Title(title, fontSize=12, offset=8))


def bayes(_: discreet.Curator) -> Any:
    """Naïve Bayes on handwritten digits, at seven costs."""
    from sklearn.datasets import load_digits

    from discreet.learn import GaussianNB, learning_curve

    digits = load_digits()
    model = GaussianNB(bounds=(0, 16), classes=range(10))
    return learning_curve(model, digits.data, digits.target, delta=1e-5).plot()


def synthetic(hospital: discreet.Curator) -> Any:
    from discreet.release import synthesize

    columns = ["age", "sex", "ward", "blood_pressure", "smoker"]
    return synthesize(hospital, "patients", epsilon=1, columns=columns).quality().plot()


def federated(_: discreet.Curator) -> Any:
    """One training with noise in each place, for the same ε."""
    import numpy as np

    from discreet.federated import Logistic, Plan, dirichlet_split, plot, simulate

    dice = np.random.default_rng(0)
    rows = dice.normal(size=(8000, 6))
    labels = (rows @ [1, -2, 0.5, 0, 1, -1] + dice.normal(size=8000) > 0).astype(np.float64)
    clients = [(rows[part], labels[part]) for part in dirichlet_split(labels[:6000], 200, alpha=1)]
    facts: dict[str, Any] = {"clients": 200, "parameters": 7, "rounds": 15, "rate": 0.5, "delta": 1e-5}
    plans = [Plan.within(4, noise=noise, **facts) for noise in ("central", "distributed", "local")]
    test = rows[6000:], labels[6000:]
    return plot(simulate(plan, Logistic(6), clients, test=test, local_steps=2, rate=0.5) for plan in plans)


def quality(_: discreet.Curator) -> Any:
    """The tables of the page on models: how much of what is gained without privacy is kept."""
    from discreet.answers.plots.theme import COLOURS, THEMES, altair, chart_of, dressed

    alt = altair()
    text = (PICTURES.parent / "28-models-beside-others.md").read_text(encoding="utf-8")
    points = [point for table in _tables(text) for point in _kept(table)]
    order = list(dict.fromkeys(point["set"] for point in points))
    colour = alt.Color(
        "by:N",
        scale=alt.Scale(range=list(COLOURS)),
        sort=None,
        title=None,
        legend=alt.Legend(columns=2, orient="top", labelLimit=400),
    )
    shape = alt.Shape("by:N", sort=None, title=None)
    x = alt.X(
        "kept:Q",
        title="share of the gain without privacy",
        scale=alt.Scale(domain=(0, 1.1), clamp=True),
        axis=alt.Axis(format="%"),
    )
    drawn = (
        chart_of(points)
        .mark_point(size=55, strokeWidth=2, aria=False)
        .encode(x=x, y=alt.Y("set:N", sort=order, title=None), color=colour, shape=shape)
    )
    return dressed(drawn.properties(width=430, height=alt.Step(19)), THEMES["light"], "", [])


def _tables(text: str) -> list[list[list[str]]]:
    """Of each table with a measure that has a scale of its own: its lines, and of each the cells."""
    parts = [part for part in text.split("\n\n") if part.startswith(("| area under", "| error over"))]
    return [[[cell.strip(" *") for cell in line.strip("|").split("|")] for line in part.splitlines()] for part in parts]


def _kept(table: list[list[str]]) -> list[dict[str, Any]]:
    """Where nothing is learned an area is a half, and an error 1; of errors, squares are explained."""
    titles, _, *lines = table
    gain: Callable[[str], float] = (
        (lambda cell: float(cell.split()[0]) - 0.5) if titles[0].startswith("area") else _explained
    )
    by = {
        2: "linear or logistic model",
        3: "diffprivlib's",
        5: "additive model, δ",
        6: "DP-EBM, δ",
        7: "additive model, bounds 30× too wide",
    }
    return [
        {"set": line[0].split(" (")[0], "by": name, "kept": round(gain(line[at]) / gain(line[1]), 3)}
        for line in lines
        for at, name in by.items()
        if "–" not in (line[at], line[1])
    ]


def _explained(cell: str) -> float:
    return 0.0 if cell.startswith(">") else 1 - float(cell.split()[0]) ** 2


def year(_: discreet.Curator) -> Any:
    """A year of rides on a stream: how wrong models of fares are, and how much of their budget days used."""
    from discreet.lab import rides
    from discreet.lab.year import picture, weeks

    with tempfile.TemporaryDirectory() as folder:
        return picture(list(weeks(rides.build(Path(folder)))))


DRAWN: Final[dict[str, Callable[[discreet.Curator], Any]]] = {
    "wards.svg": wards,
    "costs.svg": costs,
    "pressure.svg": pressure,
    "places.svg": places,
    "budget.svg": budget,
    "clusters.svg": clusters,
    "bayes.svg": bayes,
    "quality.svg": quality,
    "synthetic.svg": synthetic,
    "federated.svg": federated,
    "year.svg": year,
}


def draw(folder: Path, names: Iterable[str] = DRAWN) -> None:
    """Write these pictures into a folder."""
    for name in names:
        with tempfile.TemporaryDirectory() as fresh, discreet.open(build(Path(fresh))) as hospital:
            DRAWN[name](hospital).save(folder / name)


if __name__ == "__main__":
    draw(PICTURES, sys.argv[1:] or DRAWN)
