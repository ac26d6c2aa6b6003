"""Starting a server: what it serves, and whether it may."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from discreet.errors import Refused
from discreet.server.app import application
from discreet.server.datasets import Datasets
from discreet.server.listening import Listening, listen


def demand_tokens(datasets: Datasets) -> None:
    """Raise if nobody could ask anything of a dataset."""
    now = datetime.now(UTC)
    for name, dataset in datasets.items():
        if not any(token.is_valid(now) for token in dataset.tokens.all()):
            raise Refused(
                "no-tokens",
                f"there is no valid token for {name}: nobody could ask",
                f"make one: discreet token create {dataset.curator.policy.path.name} --role owner",
            )


def serve(datasets: Datasets, where: Listening, tell: Any) -> None:
    """Serve until it is told to stop. `tell` is called with the address once it listens."""
    listen(partial(application, datasets, workers=where.workers, hosts=where.hosts), where, tell)
