"""Federated learning: rows stay on phones, updates are sent; private only if they are noisy."""

from __future__ import annotations

from typing import Any, Final

from discreet.federated import COORDINATOR, MODELS
from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import NEUTRAL, OPEN, PRIVATE, altair, finished, lines
from discreet.lab.examples.phones import DELTA, FEATURES, NO_NOISE, ROWS, Run, trained, update
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

PHONES: Final = (20, 50, 100)
PLACES: Final = {"none": "no noise", "central": "noise on the sum", "local": "noise on each phone"}
COLOURS: Final = {PLACES["none"]: NEUTRAL, PLACES["central"]: PRIVATE, PLACES["local"]: OPEN}


def _body(values: Values) -> Body:
    phones, rounds, epsilon_ = int(values["phones"]), values["rounds"], values["epsilon"]
    runs = trained(phones, rounds, epsilon_, ("central", "local"))
    last = {where: run.scores[-1] for where, run in runs.items()}
    sent = update(0, phones)
    sigma = runs["central"].plan.sigma
    glance = (
        Picture(
            lambda: _chart(runs),
            "How often models are right, round after round. In the end "
            + ", ".join(f"{PLACES[where]}: {percent(score)}" for where, score in last.items())
            + ".",
        ),
        Figures(
            (
                Figure(percent(last["none"]), "right without noise: not private"),
                Figure(percent(last["central"]), "right with noise on the sum"),
                Figure(percent(last["local"]), "right with noise on each phone"),
                Figure(digits(sigma), "σ, in norms of one phone's update"),
            )
        ),
    )
    figures = compared(
        "003",
        ("the rows", "stay on the phones", f"{ROWS} rows on each of {count(phones)} phones"),
        ("a phone sends", "its local update", f"{FEATURES + 1} numbers a round, {rounds} rounds"),
        ("is that private?", "not automatically", f"without noise: σ = {NO_NOISE:g}, ε without limit"),
        (
            "made private by",
            "randomised updates",
            f"({digits(epsilon_)}, {digits(DELTA, 1)})-DP for all rows of a phone",
        ),
    )
    more = (
        Table(
            "Who learns how much of one phone",
            ("", f"against {MODELS}", f"against {COORDINATOR}"),
            (
                ("no noise", "everything", "everything"),
                ("noise on the sum", f"ε = {digits(epsilon_)}", "sees every update: must be trusted"),
                ("noise on each phone", f"at most ε = {digits(epsilon_)}", f"ε = {digits(epsilon_)}"),
            ),
        ),
        Words(
            "What the first phone would send in the first round without noise: "
            + ", ".join(digits(float(each)) for each in sent)
            + ". Such an update is a sum over the phone's own rows, and from several rounds rows can be computed back. "
            "That rows stay at home is not enough."
        ),
        Words(
            "With noise on each phone nobody has to be trusted, but the noises of all phones add up: it takes many "
            "phones. Secure aggregation lets phones share the noise of one, so that the coordinator sees a sum only: "
            "discreet.federated does all three, over real connections."
        ),
    )
    return Body(glance, figures, more)


def _chart(runs: dict[str, Run]) -> Any:
    alt = altair()
    records = [
        {"round": number, "kind": PLACES[where], "score": score}
        for where, run in runs.items()
        for number, score in enumerate(run.scores, start=1)
    ]
    x = alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0))
    y = alt.Y(
        "score:Q", title="right on others", axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(domain=[0, 1])
    )
    return finished(lines(records, x=x, y=y, colours=COLOURS), "Where the noise is added matters")


LESSON: Final = Lesson(
    slug="federated",
    title="Rows that stay on phones",
    lectures=("003",),
    teaser="Google never sees your pictures, only what your phone made of them. Is that private?",
    shows="Updates tell about rows, so rows that stay at home are private only if the updates are noisy.",
    fields=(
        Choice("phones", "Phones", {str(size): count(size) for size in PHONES}, "100"),
        Slider("rounds", "Rounds", "1", "6", "1", "5"),
        epsilon("4", low="0.5", high="10", step="0.5"),
    ),
    body=_body,
    sketch=Sketch(
        "One line that rises, one that wavers.",
        lines=(
            ((0.0, 0.4), (0.25, 0.55), (0.5, 0.45), (0.75, 0.7), (1.0, 0.6)),
            ((0.0, 0.45), (0.25, 0.75), (0.5, 0.85), (0.75, 0.88), (1.0, 0.9)),
        ),
    ),
    figure=Figure("not automatically", "the lecture's answer to: is it private?"),
    question=ask(
        "Phones send exact updates through secure aggregation: the coordinator sees their exact sum and nothing else. "
        "Is that differentially private?",
        (
            "No",
            "An exact sum with and without one phone differs by its update. It is hidden who sent what, not what.",
        ),
        ("Yes, nobody sees single updates", "The sum changes by one phone's update, exactly: see the first lesson."),
        ("Only if there are very many phones", "However many: whoever knows all other updates computes yours."),
    ),
)
