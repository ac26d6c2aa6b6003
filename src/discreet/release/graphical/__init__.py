"""Graphical models of tables with integer codes: belief propagation, estimation from noisy marginals, sampling."""

from discreet.release.graphical.estimate import Fitted, Measured, fit
from discreet.release.graphical.junction import Clique, JunctionTree, cells_of
from discreet.release.graphical.model import Floats, Model, brute_force, pairs_of
from discreet.release.graphical.sampling import sample

__all__ = [
    "Clique",
    "Fitted",
    "Floats",
    "JunctionTree",
    "Measured",
    "Model",
    "brute_force",
    "cells_of",
    "fit",
    "pairs_of",
    "sample",
]
