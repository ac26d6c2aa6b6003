"""A report about a table of the caller that was to be anonymous: measures, attacks, worst classes, and what to do.

It is the owner's own tool over the owner's own table: nothing is private towards whoever calls it, nothing is charged,
and no ledger is touched. Classes are shown by their sizes; what their people have in common only if that is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from discreet.lab.blocks import Block, Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import INK, OPEN, WIDTH, altair, chart_of, finished
from discreet.lab.disclosure import Disclosure, Intersection, disclosure
from discreet.lab.linkage_charts import crowds
from discreet.lab.measures import Measures, Published, measures
from discreet.lab.mondrian import Generalised, Lost, Wanted, generalise
from discreet.lab.trees import Tree
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.printing import counted

OWN: Final = "This is your own table, read on this machine. Nothing is hidden from you, and no budget is charged."
USUAL_K: Final = (5, 10)
"""What generalising is tried for where nothing is wanted."""
WORST: Final = 5
"""Classes that are shown."""
RATIO: Final = math.e
"""Posterior over prior that ε = 1 would allow."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """All that is known of a table, and of what was made of it."""

    table: Published
    measures: Measures
    hits: Disclosure
    tried: tuple[tuple[int, Lost], ...]
    """What k = 5 and k = 10 would lose, where nothing was wanted."""
    made: Generalised | None
    both: Intersection | None
    """With another release about the same people."""

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "rows": self.table.rows,
            "quasi": [column.name for column in self.table.quasi],
            "sensitive": self.table.sensitive.name,
            "measures": _plain(asdict(self.measures)),
            "attacks": _plain(asdict(self.hits)),
            "would_lose": {f"k={k}": _plain(asdict(lost)) for k, lost in self.tried},
            "generalised": None if self.made is None else _made_document(self.made),
            "both": None if self.both is None else asdict(self.both),
        }


def _made_document(made: Generalised) -> dict[str, Any]:
    return {
        "wanted": asdict(made.wanted),
        "measures": _plain(asdict(made.measures)),
        "attacks": _plain(asdict(disclosure(made.table))),
        "lost": _plain(asdict(made.lost)),
    }


def _plain(value: Any) -> Any:
    """A value that JSON can carry: an infinite number is null, what is no number a text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | str) or type(value) is int else str(value)


def measured(
    table: Published,
    wanted: Wanted | None = None,
    both: Intersection | None = None,
    trees: Mapping[str, Tree] | None = None,
) -> Measured:
    """Everything about a table, and a generalised one if something is wanted of it."""
    made = None if wanted is None else generalise(table, wanted, trees=trees)
    usual = () if wanted else (Wanted(k=k) for k in USUAL_K if k <= table.rows)
    tried = tuple((each.k, generalise(table, each, trees=trees).lost) for each in usual)
    return Measured(table, measures(table), disclosure(table), tried, made, both)


def blocks(given: Measured, *, values: bool = False) -> tuple[Block, ...]:
    """The report; `values` shows what the people of the worst classes have in common."""
    return (
        Words(OWN),
        _figures(given.measures),
        _verdict(given),
        _measures_table(given),
        Picture(
            lambda: crowds(given.table.classes.own),
            "Share of rows by the size of their class: "
            + ", ".join(f"{name}: {percent(rows / given.table.rows)}" for name, rows in given.measures.sizes.items()),
        ),
        Heading("Attacks"),
        _attacks_table(given),
        Picture(
            lambda: _attacks_chart(given),
            "People hit by each attack: " + ", ".join(f"{n}: {count(m)}" for n, m, _ in _attacks(given)) + ".",
        ),
        Heading("Worst classes"),
        _worst_table(given.table, values=values),
        Heading("Generalised"),
        *_generalised(given),
        Heading("Instead"),
        *_instead(given),
    )


def _figures(got: Measures) -> Figures:
    return Figures(
        (
            Figure(count(got.rows), "rows"),
            Figure(f"k = {count(got.k)}", "rows in the smallest class"),
            Figure(percent(got.unique / got.rows), "of the rows are alone in their class"),
            Figure(f"l = {count(got.distinct_l)}", "values in the least diverse class"),
            Figure(f"t = {digits(got.t, 2)}", "from the whole table, in the class that is farthest"),
        )
    )


def _verdict(given: Measured) -> Note:
    alone, known = given.measures.unique, given.hits.homogeneity.people
    name = given.table.sensitive.name
    if alone:
        whom = counted(alone, "person is", "people are")
        return Note(f"{whom} alone: whoever knows these columns of them has their row, and {name}.", "bad")
    if known:
        whom = counted(known, "person is", "people are")
        return Note(f"Nobody is alone, and yet {whom} in a class with one value of {name}: it is known.", "bad")
    if near := given.hits.background[0].people:
        whose = "that of one person" if near == 1 else f"those of {count(near)} people"
        return Note(f"Nobody's {name} is certain, but whoever can rule out one value of it knows {whose}.", "bad")
    if given.hits.skewness.ratio > RATIO:
        return Note(
            f"Nobody's {name} is certain from these columns alone, but a class makes a value up to "
            f"{digits(given.hits.skewness.ratio)} times as likely as it was: more than ε = 1 would allow."
        )
    return Note(f"From these columns alone nobody's {name} is certain, or much more likely than before.", "good")


def _measures_table(given: Measured) -> Table:
    got = given.measures
    rows = (
        ("k-anonymity", count(got.k), "every class has so many rows"),
        ("classes", count(got.classes), f"{digits(got.rows / got.classes)} rows in a class on average"),
        ("right guesses at rows", percent(got.reidentified), "if one row of the class is picked by chance"),
        ("l-diversity, distinct", count(got.distinct_l), "every class has so many values"),
        ("l-diversity, entropy", digits(got.entropy_l), "as many values as these, if they were equally frequent"),
        *(
            (f"l-diversity, recursive, l = {many}", f"c > {digits(c)}" if math.isfinite(c) else "for no c", _SAYS[many])
            for many, c in got.recursive_c.items()
        ),
        (f"t-closeness, {got.distance}", digits(got.t), "earth mover's distance to the whole table"),
    )
    return Table("Measures: those of the worst class", ("measure", "value", "which means"), rows)


_SAYS: Final = {
    2: "the most frequent value is less than c times all others together",
    3: "and less than c times all but the two most frequent",
}


def _attacks(given: Measured) -> list[tuple[str, int, str]]:
    """What each attack is called, how many people it hits, and what it takes."""
    hits = given.hits
    listed = [
        ("re-identification", given.measures.unique, "knows the columns, and finds one row"),
        ("homogeneity", hits.homogeneity.people, "knows the columns: all of the class have the same"),
        ("background knowledge, 1", hits.background[0].people, "and can rule out one value"),
        ("background knowledge, 2", hits.background[1].people, "and can rule out two"),
        (
            "skewness",
            hits.skewness.people,
            f"up to {digits(hits.skewness.ratio)} times as likely as in the whole table",
        ),
    ]
    if hits.similarity is not None:
        listed.append(("similarity", hits.similarity.people, "all values of the class are near each other"))
    if given.both is not None:
        known = f"from this release {count(given.both.alone[0])}, from the other {count(given.both.alone[1])} alone"
        listed.append(("intersection", given.both.together, f"has both releases; {known}"))
    return listed


def _attacks_table(given: Measured) -> Table:
    rows = tuple((name, count(hit), percent(hit / given.table.rows), takes) for name, hit, takes in _attacks(given))
    return Table("Whom attacks hit", ("attack", "people", "of all", "whoever …"), rows)


def _attacks_chart(given: Measured) -> Any:
    alt = altair()
    records = [
        {"attack": name, "share": hit / given.table.rows, "shown": count(hit)} for name, hit, _ in _attacks(given)
    ]
    base = chart_of(records).encode(y=alt.Y("attack:N", sort=[record["attack"] for record in records], title=None))
    x = alt.X("share:Q", title="share of the people", scale=alt.Scale(domain=[0, 1.25]))
    x = x.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    bars = base.mark_bar(color=OPEN, height={"band": 0.65}).encode(x=x)
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(x=x, text="shown:N")
    drawn = alt.layer(bars, words).properties(width=WIDTH - 110, height=alt.Step(26))
    return finished(drawn, "Whom attacks hit")


def _worst_table(table: Published, *, values: bool) -> Table:
    """The smallest classes and, of equal ones, the least diverse: their sizes, and only if wanted who is in them."""
    spread, sizes = table.spread, table.classes.sizes
    worst = np.lexsort((spread.distinct, sizes))[:WORST].tolist()
    names = tuple(column.name for column in table.quasi) if values else ()
    rows = []
    for number, group in enumerate(worst, 1):
        row = int(np.argmax(table.classes.of == group))
        shown = [str(column.values[int(column.codes[row])]) for column in table.quasi] if values else []
        most = int(spread.most[group]) / int(sizes[group])
        rows.append((str(number), count(int(sizes[group])), count(int(spread.distinct[group])), percent(most), *shown))
    heads = ("class", "rows", f"values of {table.sensitive.name}", "most frequent", *names)
    caption = f"The {len(rows)} smallest of {counted(sizes.size, 'class', 'classes')}"
    return Table(caption if values else f"{caption}; --values shows who is in them", heads, tuple(rows))


def _generalised(given: Measured) -> tuple[Block, ...]:
    if given.made is None:
        rows = tuple(_lost_row(f"k = {k}", lost) for k, lost in given.tried)
        return (
            Table("What a generalised file would lose", _LOST, rows)
            if rows
            else Words("There are too few rows to put into classes."),
            Words("With --k, --l, --t and --out a generalised file is written."),
        )
    made, after = given.made, disclosure(given.made.table)
    changes = (
        ("k", given.measures.k, made.measures.k),
        ("l, distinct", given.measures.distinct_l, made.measures.distinct_l),
        ("l, entropy", given.measures.entropy_l, made.measures.entropy_l),
        ("t", given.measures.t, made.measures.t),
        ("classes", given.measures.classes, made.measures.classes),
        ("people alone", given.measures.unique, made.measures.unique),
        ("people by homogeneity", given.hits.homogeneity.people, after.homogeneity.people),
        ("people if one value is ruled out", given.hits.background[0].people, after.background[0].people),
        ("posterior over prior, at most", given.hits.skewness.ratio, after.skewness.ratio),
    )
    rows = tuple((name, _number(before), _number(now)) for name, before, now in changes)
    by_column = ", ".join(f"{name} {percent(share)}" for name, share in made.lost.by_column.items())
    return (
        Table("Before and after", ("", "as it is", "generalised"), rows),
        Table("What that loses", _LOST, (_lost_row(_wish(made.wanted), made.lost),)),
        Words(f"Certainty lost by column: {by_column}. Columns that were not named are left out of the file."),
    )


_LOST: Final = ("wanted", "certainty lost", "discernibility", "rows in a class over k")


def _lost_row(name: str, lost: Lost) -> tuple[str, ...]:
    return name, percent(lost.certainty), count(lost.discernibility), digits(lost.average)


def _wish(wanted: Wanted) -> str:
    parts = [f"k = {wanted.k}"]
    if wanted.l > 1:
        parts.append(f"l = {wanted.l:g} ({wanted.kind})")
    if wanted.t < 1:
        parts.append(f"t = {wanted.t:g}")
    return ", ".join(parts)


def _number(value: float) -> str:
    return count(value) if isinstance(value, int) else digits(value)


def _instead(given: Measured) -> Sequence[Block]:
    mechanism = Laplace(epsilon=1, sensitivity=1)
    error = count(mechanism.error(0.95))
    return (
        Words(
            "These measures are about whoever knows these columns and nothing else. A further column, a further "
            "release or one more fact, and they say nothing: no measure of a table bounds what is learned from it."
        ),
        Words(
            "discreet releases answers instead of rows. At ε = 1 the counts of all values of "
            f"{given.table.sensitive.name} are each within ± {error} of the truth in 95 of 100 cases, however many "
            "rows there are, if a row is a person. Whatever anybody knows, the odds about one then move by a factor of "
            f"{digits(math.e)} at most, and a ledger adds up what further answers cost. To draft a policy: "
            "discreet init FILE --unit COLUMN -o policy.toml"
        ),
    )
