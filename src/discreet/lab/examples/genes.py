"""Model inversion in small: genes are asked of a model that knows its patients by heart, and of noisy counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from discreet.lab.bounds import Flags, Recovered
from discreet.lab.invented import Floats, Integers, uniform
from discreet.lab.inversion import DOSES, FINDINGS, GENES, LEVELS, Patients, guessed, imputed, patients
from discreet.mechanisms import Laplace

SEED: Final = 1
FADING, DOUBT = 0.1, 0.5
"""What a patient counts for who differs in one finding more, and what nobody in particular does."""
TABLES: Final = FINDINGS + 2
"""A person is in one cell of a table for each finding, for the gene, and for doses alone."""


@cache
def invented(size: int) -> tuple[Patients, Flags, float]:
    """Patients, who of them a model is trained on, and how often other people's records tell a gene."""
    people = patients(SEED, "lesson", size)
    return people, uniform("genes members", size) < 0.5, imputed(patients(SEED, "lesson, others", size), people)


def by_heart(people: Patients) -> Callable[[Integers], Floats]:
    """The doses of patients who are alike, the more alike the more: who is in it finds themselves."""

    def likely(rows: Integers) -> Floats:
        alike = FADING ** (rows[:, None, :] != people.rows[None]).sum(axis=2)
        doses = alike @ np.eye(DOSES)[people.dose] + DOUBT / DOSES
        return np.asarray(doses / doses.sum(axis=1, keepdims=True))

    return likely


def mechanism(epsilon: float) -> Laplace:
    """Noise for all counts at once: a person moves one count of each table."""
    return Laplace(epsilon=epsilon, sensitivity=TABLES)


def from_counts(people: Patients, noise: Laplace | None) -> Callable[[Integers], Floats]:
    """Naïve Bayes from counts of doses alone and with each finding and the gene; noisy, unless there is no noise."""
    pairs = [np.bincount(people.dose * LEVELS + column, minlength=DOSES * LEVELS) for column in people.rows.T]
    counts = np.concatenate([np.bincount(people.dose, minlength=DOSES), *pairs])
    held = np.maximum(counts if noise is None else np.asarray(noise.release(counts)), 1).astype(np.float64)
    doses, tables = held[:DOSES], held[DOSES:].reshape(-1, DOSES, LEVELS)
    given = np.log(tables / tables.sum(axis=2, keepdims=True))

    def likely(rows: Integers) -> Floats:
        logs = np.log(doses / doses.sum()) + sum(given[n][:, rows[:, n]].T for n in range(rows.shape[1]))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    return likely


@dataclass(frozen=True, slots=True)
class Inverted:
    """Genes recovered from each model, of those in it and of others, and without any."""

    heart: Recovered
    counts: Recovered
    private: Recovered
    records: float
    commonest: float


def inverted(size: int, epsilon: float) -> Inverted:
    """Train on half of the patients, guess everybody's gene from findings and dose."""
    people, members, records = invented(size)
    known = people.of(members)
    models = (by_heart(known), from_counts(known, None), from_counts(known, mechanism(epsilon)))
    heart, counts, private = (
        Recovered.counted((guessed(model, people) == people.gene)[None], members[None]) for model in models
    )
    return Inverted(heart, counts, private, records, float((people.gene == GENES.argmax()).mean()))
