"""Starting a server: what it serves, and whether it may."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import Refused
from discreet.server.access import AppState
from discreet.server.app import IdentityProvider, Observer, Port, application
from discreet.server.connections import LEAST, most_connections, most_files
from discreet.server.datasets import Datasets
from discreet.server.desk.desk import Desk
from discreet.server.listening import Listening, listen, socket_at, tls_context
from discreet.server.metrics import Metrics


def demand_tokens(datasets: Datasets, others: Container[str] = ()) -> None:
    """Raise if nobody could ask anything of a dataset; `others` are open to people without a token."""
    now = datetime.now(UTC)
    for name, dataset in datasets.items():
        if name not in others and not any(token.is_valid(now) for token in dataset.tokens.all()):
            raise Refused(
                "no-tokens",
                f"there is no valid token for {name}: nobody could ask",
                f"make one: discreet token create {dataset.curator.policy.path.name} --role owner",
            )


def serve(
    datasets: Datasets,
    where: Listening,
    tell: Callable[[str, int | None], None],
    desk: Desk | None = None,
    backups: Path | None = None,
) -> None:
    """Serve until it is told to stop. `tell` is called with the address, and psql's port, once it listens."""
    beside, port = (None, None) if where.pg_port is None else _wire(where, where.pg_port)
    observe = None if where.telemetry is None else _observer(where.telemetry)
    provider = None if where.oidc is None else provider_of(where.oidc, datasets)
    more: dict[str, Any] = {"beside": beside, "observe": observe, "provider": provider}
    app = partial(application, datasets, workers=where.workers, hosts=where.hosts, **more, desk=desk, backups=backups)
    listen(app, where, lambda url: tell(url, port))


def opened_by(path: Path) -> set[str]:
    """The datasets that people open whom an identity provider knows."""
    from discreet.server.oidc.setup import read

    return {rule.grant.dataset for rule in read(path).rules}


def provider_of(path: Path, datasets: Datasets) -> IdentityProvider:
    """The identity provider of a file; what it needs is imported only where there is one."""
    try:
        from discreet.server.oidc.routes import SignIns
        from discreet.server.oidc.setup import read
    except ModuleNotFoundError as missing:
        fix = "pip install 'discreet[oidc]', or leave --oidc out"
        raise Refused("sign-in-setup", f"{missing.name} is not installed here", fix) from None
    setup = read(path)
    setup.demand_served(datasets)
    return SignIns.of(setup)


def _observer(detail: str) -> Callable[[Metrics], Observer]:
    """What tells an operator's backend of requests; imported only where there is one."""
    try:
        from discreet.server.telemetry import Detail, Telemetry, demand_safe
    except ModuleNotFoundError:
        fix = "pip install 'discreet[telemetry]', or leave --telemetry out"
        raise Refused("telemetry-unavailable", "OpenTelemetry is not installed here", fix) from None
    demand_safe(os.environ)
    return lambda metrics: Telemetry(metrics, Detail(detail))


def _wire(where: Listening, port: int) -> tuple[Callable[[AppState], Port], int]:
    """PostgreSQL's protocol at a port of its own, and which that is."""
    context = tls_context(where)
    if context is None and not where.is_loopback:
        raise Refused(
            "address",
            "tokens are sent as passwords to --pg-port, and this would send them in clear to other machines",
            "give --certificate and --key, or leave --host out",
        )
    from discreet.server.wire.serving import Wire

    most = max(LEAST, most_connections(most_files()) // 4)
    listener = socket_at(where.host, port, most, "--pg-port")
    return lambda shared: Wire(shared, listener, context), listener.getsockname()[1]
