"""Federated averaging with privacy for clients: their rows stay where they are.

plan        what is fixed in advance, and what it costs
encoding    updates as whole numbers modulo 2³²; how far one client moves a sum
smoothing   why discrete noise of many clients costs what Gaussian noise costs
places      noise: central, distributed, local
training    rounds, one after the other
masking     secure aggregation: the sum is seen, nothing else; keys, graph and sharing are its parts
simulation  all clients in one process
rounds, worker    the two sides of a round, whatever carries their messages; task, messages and journal are their parts
coordinator, web, participant     over HTTP, between processes; flower: under Flower
"""

from __future__ import annotations

from discreet.federated.models import Linear, Logistic, TwoLayer
from discreet.federated.plan import COORDINATOR, MODELS, Guarantee, Plan
from discreet.federated.simulation import History, plot, simulate
from discreet.federated.split import dirichlet_split
from discreet.federated.training import Training

__all__ = [
    "COORDINATOR",
    "MODELS",
    "Guarantee",
    "History",
    "Linear",
    "Logistic",
    "Plan",
    "Training",
    "TwoLayer",
    "dirichlet_split",
    "plot",
    "simulate",
]
