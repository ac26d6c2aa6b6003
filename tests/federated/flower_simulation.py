"""A training under Flower's simulation, for an environment that has it: prints what came out, as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from discreet.federated.plan import Plan
from discreet.federated.task import Feature, Task

TASK = Task(features=(Feature("x", -1, 1), Feature("y", -1, 1)), target="z", local_steps=5, local_rate=3.0)
CLIENTS = 5


def load(_: Task, context: Any) -> tuple[Any, Any]:
    """Rows of a node; they are made of its number, so that every message finds the same ones."""
    dice = np.random.default_rng(int(context.node_config["partition-id"]))
    rows = dice.uniform(-1, 1, (200, 2))
    return rows, (rows[:, 0] > rows[:, 1]).astype(np.float64)


def main(noise: str) -> None:
    from flwr.simulation import run_simulation

    from discreet.federated.flower import client_app, server_app

    plan = Plan(clients=CLIENTS, parameters=3, rounds=3, sigma=0.05, delta=1e-5, noise=noise)
    ended: list[Any] = []
    run_simulation(
        server_app=server_app(plan, TASK, done=ended.append, wait=120.0, patience=120.0),
        client_app=client_app(load, max_epsilon=1e9),
        num_supernodes=CLIENTS,
        backend_config={"client_resources": {"num_cpus": 1.0, "num_gpus": 0.0}},
    )
    (training,) = ended
    rows = np.random.default_rng().uniform(-1, 1, (2000, 2))
    right = TASK.made().predict(training.weights, rows) == (rows[:, 0] > rows[:, 1])
    print(json.dumps({"begun": training.begun, "right": float(right.mean()), "weights": training.weights.tolist()}))


if __name__ == "__main__":
    main(sys.argv[1])
