"""Exported models, evaluated with Python alone: what the guide says, and nothing of discreet or NumPy."""

from __future__ import annotations

import math
from typing import Any


def predict(document: dict[str, Any], row: list[Any]) -> Any:
    """What an exported model says of a row: a class, or a number."""
    assert (document["format"], document["version"]) == ("discreet-model", 1)
    model = document
    if document["kind"] == "pipeline":
        row, model = prepared(document, row), document["model"]
    scores = SCORES[model["kind"]](model, row)
    if model["output"] == "number":
        low, high = model["range"] or (-math.inf, math.inf)
        return min(max(scores[0], low), high)
    scores = [0.0, *scores] if len(scores) == 1 else scores
    if model["kind"] == "additive":
        highest = max(scores)
        total = sum(math.exp(score - highest) for score in scores)
        chances = [math.exp(score - highest) / total for score in scores]
        scores = [math.log(chance * max(1, 2 - 2 * chance)) for chance in chances]
    weighed = [score + weight for score, weight in zip(scores, model["log_weights"], strict=True)]
    return model["classes"][weighed.index(max(weighed))]


def prepared(document: dict[str, Any], row: list[Any]) -> list[float]:
    columns = list(zip(row, document["columns"], strict=True))
    numbers = [float(value) for value, values in columns if values is None]
    for step in document["steps"]:
        if step["step"] == "one-hot":
            numbers += [float(value == each) for value, values in columns if values is not None for each in values]
        elif step["step"] == "scale":
            numbers = [(x - m) / s for x, m, s in zip(numbers, step["subtract"], step["divide"], strict=True)]
        elif step["step"] == "range":
            ends = zip(numbers, step["low"], step["high"], step["times"], step["plus"], strict=True)
            numbers = [min(max(x, low), high) * times + plus for x, low, high, times, plus in ends]
        else:
            centred = [x - m for x, m in zip(numbers, step["subtract"], strict=True)]
            numbers = [sum(c * x for c, x in zip(line, centred, strict=True)) for line in step["components"]]
    return numbers


def linear(model: dict[str, Any], row: list[float]) -> list[float]:
    row = [min(max(x, low), high) for x, low, high in zip(row, model["low"], model["high"], strict=True)]
    lines = zip(model["coefficients"], model["intercepts"], strict=True)
    return [sum(c * x for c, x in zip(line, row, strict=True)) + start for line, start in lines]


def trees(model: dict[str, Any], row: list[float]) -> list[float]:
    scores = list(model["start"])
    for tree in model["trees"]:
        leaf = 0
        for feature, threshold in zip(tree["features"], tree["thresholds"], strict=True):
            leaf = 2 * leaf + (row[feature] > threshold)
        scores = [score + value for score, value in zip(scores, tree["leaves"][leaf], strict=True)]
    return scores


def additive(model: dict[str, Any], row: list[float]) -> list[float]:
    scores = list(model["start"])
    for value, term in zip(row, model["terms"], strict=True):
        place = sum(edge <= value for edge in term["edges"])
        scores = [score + more for score, more in zip(scores, term["adds"][place], strict=True)]
    return scores


SCORES = {"linear": linear, "trees": trees, "additive": additive}
