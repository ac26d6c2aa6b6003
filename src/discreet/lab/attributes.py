"""Attribute inference on synthetic data: who knows all but one thing about a person looks for rows like them.

Each synthetic table is made of those for whom a coin fell so, and the attack is tried on all: what it gets right about
those in the table beyond what it gets right about others is leakage, which `discreet.lab.bounds` bounds. The rest is
inference: synthetic data that say how things go together are good synthetic data.

Source   Stadler, Oprisanu & Troncoso 2022; nearest rows: Hittmeir, Mayer & Ekelhart 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.bounds import Flags, Recovered
from discreet.lab.experiment import Outcome
from discreet.lab.gaps import gap_chart, gap_table, points
from discreet.lab.invented import SEED, Floats, Integers, chosen, uniform
from discreet.lab.writing import count, percent

LEVELS: Final = {"age": 5, "district": 6, "job": 6, "school": 4, "children": 4, "illness": 5}
"""How many values each column has; the last one is the secret."""
SECRET: Final = len(LEVELS) - 1
ILLNESSES: Final = LEVELS["illness"]
PEOPLE, TABLES = 1_200, 10
EPSILON: Final = 1.0
EXACT: Final = 10**6
"""An ε that is as good as none."""
Make = Callable[[Integers, str], Integers]
"""Rows, and what this table is called, to synthetic rows."""


def people(seed: int, who: str, size: int) -> Integers:
    """Invented people: illness goes with age and with the job; district, school and children tell people apart."""
    purpose = f"discreet.lab.attributes {seed} {who}"
    columns = [
        chosen(f"{purpose} {name}", np.tile(np.arange(levels, 0, -1.0) + 2, (size, 1)))
        for name, levels in LEVELS.items()
    ]
    illness = np.arange(ILLNESSES)
    near = np.abs(illness - columns[0][:, None]) + np.abs(illness - columns[2][:, None] % ILLNESSES)
    columns[SECRET] = chosen(f"{purpose} illness", np.exp(-1.0 * near))
    return np.column_stack(columns)


def guessed(table: Integers, known: Integers) -> Integers:
    """For each person the commonest illness of the rows that agree with them in most columns; ties by the table.

    A table without rows, which noise can make of a few, tells nothing.
    """
    if not len(table):
        return np.zeros(len(known), dtype=np.int64)
    agree = (table[None, :, :SECRET] == known[:, None, :SECRET]).sum(axis=2)
    nearest = agree == agree.max(axis=1, keepdims=True)
    votes = nearest @ np.eye(ILLNESSES)[table[:, SECRET]]
    common: Floats = np.bincount(table[:, SECRET], minlength=ILLNESSES) / (len(table) + 1)
    return np.asarray((votes + common).argmax(axis=1), dtype=np.int64)


def inferred(make: Make, rows: Integers, coins: Flags) -> Recovered:
    """Make a table of each row of coins, and guess everybody's illness from it."""
    right = [
        guessed(make(rows[members], f"table {number}"), rows) == rows[:, SECRET] for number, members in enumerate(coins)
    ]
    return Recovered.counted(np.array(right), coins)


def resampled(seed: int) -> Make:
    """Rows drawn from the table itself, with replacement: what a generator that memorises comes to."""

    def make(rows: Integers, called: str) -> Integers:
        return rows[(uniform(f"discreet.lab.attributes {seed} {called}", len(rows)) * len(rows)).astype(np.int64)]

    return make


def copied(rows: Integers, called: str) -> Integers:  # noqa: ARG001
    """The table itself, without names: what “anonymised” often means."""
    return rows


def synthetic(epsilon: float) -> Make:
    """What `discreet.release.synthesize` makes of them; with a huge ε, what it would make without noise."""
    from discreet.release import synthesize

    columns = {name: list(range(levels)) for name, levels in LEVELS.items()}

    def make(rows: Integers, called: str) -> Integers:  # noqa: ARG001
        table = dict(zip(LEVELS, rows.T.tolist(), strict=True))
        made = synthesize(table, columns=columns, epsilon=epsilon).to_dict()
        return np.column_stack([np.array(made[name], dtype=np.int64) for name in LEVELS])

    return make


COPY: Final = "the rows, without names"
EXACT_NAME: Final = "synthetic, no noise"


def coins_for(seed: int, size: int, tables: int) -> Flags:
    return np.asarray(uniform(f"discreet.lab.attributes {seed} coins", tables * size).reshape(tables, size) < 0.5)


def run(seed: int = SEED) -> Outcome:
    """Attack copies, resampled rows, and synthetic rows without and with noise."""
    rows, coins = people(seed, "in", PEOPLE), coins_for(seed, PEOPLE, TABLES)
    ours = f"synthetic, ε = {EPSILON:g}"
    kinds: Mapping[str, Make] = {
        COPY: copied,
        "rows drawn again": resampled(seed),
        EXACT_NAME: synthetic(EXACT),
        ours: synthetic(EPSILON),
    }
    done = {name: inferred(make, rows, coins) for name, make in kinds.items()}
    prior = float(np.bincount(rows[:, SECRET]).max() / PEOPLE)
    other = float((guessed(people(seed, "others", PEOPLE // 2), rows) == rows[:, SECRET]).mean())
    return Outcome(
        Figures(
            (
                Figure(percent(done[COPY].inside), "of illnesses recovered from rows without names"),
                Figure(percent(done[ours].inside), f"recovered from synthetic rows, ε = {EPSILON:g}"),
                Figure(percent(other), "recovered from other people's records"),
                Figure(
                    points(done[ours].gap), f"what being in ours adds; at most {points(done[ours].most_gap(EPSILON))}"
                ),
            )
        ),
        (_table(done, prior, other, ours),),
        (
            Picture(
                lambda: gap_chart(done, title="Illnesses recovered from a table", baseline=other),
                f"For each kind of table, how many illnesses are recovered of those in it and of others: rows without "
                f"names {percent(done[COPY].inside)} against {percent(done[COPY].outside)}, ours "
                f"{percent(done[ours].inside)} against {percent(done[ours].outside)}.",
            ),
        ),
        _sentences(done, other, ours),
        _guarantee(done[ours]),
    )


def _table(done: Mapping[str, Recovered], prior: float, other: float, ours: str) -> Table:
    caption = f"Illnesses recovered from {count(TABLES)} tables of each kind, each of half of {count(PEOPLE)} people"
    return gap_table(
        caption, {"the commonest illness, for all": prior, "other people's records": other}, done, {ours: EPSILON}
    )


def _sentences(done: Mapping[str, Recovered], other: float, ours: str) -> tuple[str, str, str]:
    first = (
        f"Taking the names away protects nobody: whoever knows the other columns finds {percent(done[COPY].inside)} of "
        "the illnesses in the very row."
    )
    second = (
        "Synthetic rows are no protection by themselves: made without noise they say "
        f"{points(done[EXACT_NAME].gap)} more of those in them than of others, and nothing bounds that."
    )
    third = (
        f"With noise for ε = {EPSILON:g} the difference is {points(done[ours].gap)}; that other people's records find "
        f"{percent(other)} is inference, which no protection of one's own row prevents."
    )
    return first, second, third


def _guarantee(ours: Recovered) -> str:
    return (
        "A table that is released with ε-DP would be about as likely without your row, whoever looks at it and "
        f"whatever they know. With ε = {EPSILON:g} a share p of right guesses about those who are not in it becomes at "
        f"most e^ε·p, and at most 1 − e^−ε·(1 − p), of those who are: here {points(ours.most_gap(EPSILON))} more, "
        f"anywhere {points(math.tanh(EPSILON / 2))} more."
    )
