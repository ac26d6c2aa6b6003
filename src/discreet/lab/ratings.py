"""Sparse ratings without names, and who posted a few of them elsewhere with a name (lecture 003: Netflix and IMDB).

Attack  Narayanan & Shmatikov 2008 (Scoreboard-RH). Whoever knows a few ratings of somebody, with stars and days that
        are about right, scores every record: Σ w(film)·(exp(−|Δstars|/1.5) + exp(−|Δdays|/30)) over the known films
        that the record has, where w = 1/ln(number of people who rated the film): rare films weigh most. The best record
        is named if it stands out: if its lead over the second is more than 1.5 standard deviations of all scores
        (eccentricity). Else nobody is named.

The ratings are invented: few films that many have seen, many films that few have (a long tail), and people who rated
few films or hundreds. On Netflix's 500,000 people, 8 ratings of which 2 may be wrong, with days within a fortnight,
named 99 % of the people; 2 ratings with days within 3 sufficed for 68 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, Floats, Integers, below, order, uniform
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace

PEOPLE, FILMS, DAYS = 8_000, 1_500, 2_000
STARS_OFF, DAYS_OFF = 1.5, 30.0
"""How fast a score falls with stars and days that are off."""
STANDS_OUT: Final = 1.5
"""The eccentricity from which a record is named."""
FEWEST: Final = 8
"""Films that everybody has rated at least: as many as an attacker may know."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Who rated what, when, with how many stars: sorted by film and person."""

    person: Integers
    film: Integers
    stars: Integers
    day: Integers
    starts: Integers
    """The first rating of each film, and the end of the last."""

    @property
    def seen(self) -> Integers:
        """How many people rated each film."""
        return np.diff(self.starts).astype(np.int64)


@lru_cache(maxsize=2)
def ratings(seed: int = SEED) -> Ratings:
    """The invented ratings, the same for a seed every time."""
    purpose = f"discreet.lab.ratings {seed}"
    many = FEWEST + (12 * (1 / uniform(f"{purpose} many", PEOPLE) - 1)).astype(np.int64).clip(0, 400)
    person = np.repeat(np.arange(PEOPLE), many)
    likely = np.cumsum(1 / (np.arange(FILMS) + 8.0))
    film = np.searchsorted(likely / likely[-1], uniform(f"{purpose} film", person.size)).clip(0, FILMS - 1)
    pairs = np.unique(film * PEOPLE + person)
    film, person = pairs // PEOPLE, pairs % PEOPLE
    taste = uniform(f"{purpose} taste", FILMS)[film] + uniform(f"{purpose} mood", film.size)
    stars = 1 + np.minimum((taste * 2.5).astype(np.int64), 4)
    joined = below(f"{purpose} joined", DAYS, PEOPLE)[person]
    day = joined + (uniform(f"{purpose} day", film.size) * (DAYS - joined)).astype(np.int64)
    return Ratings(person, film, stars, day, np.searchsorted(film, np.arange(FILMS + 1)).astype(np.int64))


@dataclass(frozen=True, slots=True)
class Known:
    """How much an attacker knows of somebody, and how well."""

    ratings: int
    stars_off: int = 1
    """Stars are right to within this."""
    days_off: int | None = 14
    """Days are right to within this; None if no day is known."""
    wrong: int = 0
    """So many of the ratings are of films that the person has not rated."""


@dataclass(frozen=True, slots=True)
class Named:
    """How often the attack named somebody, and whom."""

    tried: int
    right: int
    wrong: int

    @property
    def share(self) -> float:
        """Of those who were looked for, who were named rightly."""
        return self.right / self.tried


def named(given: Ratings, known: Known, *, seed: int = SEED, tries: int = 200, weighted: bool = True) -> Named:
    """The attack on some people, with what is known of each drawn from the seed."""
    purpose = f"discreet.lab.ratings {seed} attack {known}"
    by_person = np.argsort(given.person, kind="stable")
    first = np.searchsorted(given.person[by_person], np.arange(PEOPLE + 1))
    targets = np.flatnonzero(np.diff(first) >= known.ratings)
    targets = targets[order(purpose, targets.size)[:tries]]
    right = wrong = 0
    for number, target in enumerate(targets.tolist()):
        own = by_person[first[target] : first[target + 1]]
        posted = own[order(f"{purpose} {number}", own.size)[: known.ratings]]
        scores = _scores(given, posted, known, f"{purpose} {number}", weighted=weighted)
        who = _standing_out(scores)
        right += who == target
        wrong += who is not None and who != target
    return Named(targets.size, right, wrong)


def _scores(given: Ratings, posted: Integers, known: Known, purpose: str, *, weighted: bool) -> Floats:
    """The score of every record against what is known about right of some ratings."""
    off = uniform(f"{purpose} off", 3 * posted.size).reshape(3, -1)
    films, stars, days = given.film[posted], given.stars[posted], given.day[posted]
    films[: known.wrong] = (off[2, : known.wrong] * FILMS).astype(np.int64)
    stars = stars + np.floor(off[0] * (2 * known.stars_off + 1)).astype(np.int64) - known.stars_off
    days = days + np.floor(off[1] * (2 * (known.days_off or 0) + 1)).astype(np.int64) - (known.days_off or 0)
    scores = np.zeros(PEOPLE)
    for film, star, day in zip(films.tolist(), stars.tolist(), days.tolist(), strict=True):
        those = slice(int(given.starts[film]), int(given.starts[film + 1]))
        alike = np.exp(-np.abs(given.stars[those] - star) / STARS_OFF)
        if known.days_off is not None:
            alike = alike + np.exp(-np.abs(given.day[those] - day) / DAYS_OFF)
        scores[given.person[those]] += alike * (1 / math.log(max(those.stop - those.start, 2)) if weighted else 1)
    return scores


def _standing_out(scores: Floats) -> int | None:
    """The record that stands out, if one does."""
    second, best = np.partition(scores, -2)[-2:]
    spread = float(scores.std())
    return int(np.argmax(scores)) if spread > 0 and (best - second) / spread > STANDS_OUT else None


@dataclass(frozen=True, slots=True)
class Counts:
    """What noisy counts of the same ratings give instead: films by how many rated them, within an error."""

    epsilon: float
    films: int
    """Films of each person that count."""
    error: float
    """In 95 of 100 cases a count is at most this far off."""
    top: int
    """Of the twenty most rated films, how many are among the twenty with the largest noisy counts."""
    guessed: float
    """How often an attacker is right who knows the films of somebody and all of everybody else, and guesses whether
    that somebody is counted."""
    bound: float


def counted(given: Ratings, *, epsilon: float, films: int = 8, tries: int = 2_000) -> Counts:
    """Counts of people by film at cost ε for all of them together, with at most `films` films of each person.

    Theorem  ε-DP for adding or removing one person with all ratings.
    Proof    A person adds 1 to at most `films` counts: the L1 sensitivity is `films`, and so is that of the noise.

    The attacker's best guess sums the noisy counts of the person's films, less everybody else's: the likelihood ratio
    of discrete Laplace noise is a sum of clamped differences. It is right at most e^ε/(1 + e^ε) of the time.
    """
    mechanism = Laplace(epsilon=epsilon, sensitivity=films)
    exact = np.bincount(given.film[_some(given, films)], minlength=FILMS).astype(np.int64)
    noisy: Integers = mechanism.release(exact)
    best, shown = (set(np.argsort(-counts, kind="stable")[:20].tolist()) for counts in (given.seen, noisy))
    inside = np.arange(tries, dtype=np.int64) % 2
    seen: Integers = mechanism.release(np.repeat(inside[:, None], films, axis=1).ravel()).reshape(tries, films)
    evidence = (np.abs(seen) - np.abs(seen - 1)).sum(axis=1)
    right = float(((evidence > 0) == (inside == 1)).mean())
    return Counts(epsilon, films, mechanism.error(0.95), len(best & shown), right, 1 / (1 + math.exp(-epsilon)))


def _some(given: Ratings, films: int) -> Integers:
    """At most so many ratings of each person, chosen by a number of their own: nobody else's ratings matter."""
    by_person = np.lexsort((uniform("discreet.lab.ratings some", given.film.size), given.person))
    starts = np.searchsorted(given.person[by_person], np.arange(PEOPLE))
    rank = np.arange(by_person.size) - starts[given.person[by_person]]
    return by_person[rank < films].astype(np.int64)


KNOWN: Final = {
    "stars and days (± 14)": (Known(2), Known(4), Known(8)),
    "stars alone": (Known(2, days_off=None), Known(4, days_off=None), Known(8, days_off=None)),
}
"""What attackers know, little and more."""
COSTS: Final = (0.1, 1.0, 3.0)


def run(seed: int = SEED) -> Outcome:
    """People named from a few of their ratings, and what noisy counts of the same ratings tell."""
    given = ratings(seed)
    results = {(kind, k.ratings): named(given, k, seed=seed) for kind, each in KNOWN.items() for k in each}
    partly = named(given, Known(8, wrong=2), seed=seed)
    counts = [counted(given, epsilon=epsilon) for epsilon in COSTS]
    dated = next(iter(KNOWN))
    two, eight = results[dated, 2], results[dated, 8]
    return Outcome(
        figures=Figures(
            (
                Figure(f"{count(given.person.size)}", f"ratings of {count(PEOPLE)} people without names"),
                Figure(percent(two.share), "named from 2 ratings, stars ± 1 and days ± 14"),
                Figure(percent(eight.share), "named from 8"),
                Figure(percent(partly.share), "named from 8 of which 2 are wrong (Netflix: 99 %)"),
                Figure(percent(1 / PEOPLE), "would be named by chance"),
            )
        ),
        tables=(_named_table(results, partly), _counts_table(counts)),
        pictures=(
            Picture(
                lambda: _chart(results),
                "People who are named by how many of their ratings are known: with days "
                + ", ".join(percent(results[dated, many].share) for many in (2, 4, 8))
                + "; with stars alone far fewer.",
            ),
        ),
        sentences=(
            (
                "Hardly two people rate the same few films on about the same days, so that a handful of ratings is as "
                "good as a name, and rare films tell most."
            ),
            (
                f"The attack names nobody where no record stands out: of {count(eight.tried)} people it named "
                f"{count(eight.wrong)} wrongly from eight ratings."
            ),
            (
                f"Noisy counts of the same ratings at ε = {digits(counts[1].epsilon)} have {counts[1].top} of the 20 "
                "most rated films among their first 20, and no records that anybody could be matched with."
            ),
        ),
        guarantee=(
            "Counts at ε for all films together are e^ε times as likely with somebody's ratings as without them, at "
            f"most: who knows all but one of the people guesses whether that one is counted rightly at most "
            f"{percent(counts[1].bound)} of the time at ε = {digits(counts[1].epsilon)}."
        ),
    )


def _named_table(results: Mapping[tuple[str, int], Named], partly: Named) -> Table:
    rows = [(f"{many}, {kind}", percent(r.share), percent(r.wrong / r.tried)) for (kind, many), r in results.items()]
    rows.append(
        ("8 of which 2 are wrong, stars and days (± 14)", percent(partly.share), percent(partly.wrong / partly.tried))
    )
    caption = f"What is known of somebody, and who is named ({count(partly.tried)} people tried)"
    return Table(caption, ("ratings that are known", "named rightly", "named wrongly"), tuple(rows))


def _counts_table(counts: Sequence[Counts]) -> Table:
    rows = tuple(
        (digits(c.epsilon), f"± {count(c.error)}", f"{c.top} of 20", percent(c.guessed), percent(c.bound))
        for c in counts
    )
    caption = f"Counts of people by film instead, with {counts[0].films} films of each person"
    columns = ("ε", "95 % of a count", "most rated films right", "guess: is one counted?", "at most")
    return Table(caption, columns, rows)


def _chart(results: Mapping[tuple[str, int], Named]) -> Any:
    alt = altair()
    records = [
        {"known": str(many), "share": r.share, "shown": percent(r.share, 2), "kind": kind}
        for (kind, many), r in results.items()
    ]
    colours = dict(zip(KNOWN, (OPEN, PRIVATE), strict=True))
    base = chart_of(records).encode(
        x=alt.X("known:N", sort=None, title="ratings that are known", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("kind:N", sort=list(KNOWN)),
    )
    y = alt.Y("share:Q", title="people who are named", scale=alt.Scale(domain=[0, 1.1]))
    y = y.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    bars = base.mark_bar().encode(y=y, color=palette("kind", colours))
    words = base.mark_text(dy=-7, color=INK, fontSize=12).encode(y=y, text="shown:N")
    drawn = alt.layer(bars, words).properties(width=WIDTH - 50, height=200)
    return finished(drawn, "Named from a few ratings", f"among {count(PEOPLE)} people; by chance {percent(1 / PEOPLE)}")
