"""Who may do what: the token of a request, the dataset that it opens there, and the role that its holder has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Depends, Request
from fastapi import Path as InPath
from fastapi.security import HTTPBearer

from discreet.errors import Refused
from discreet.server.datasets import Caller, Dataset, Datasets, Person
from discreet.server.dispatch import Dispatcher
from discreet.server.front import tell
from discreet.server.limits import Rates
from discreet.server.metrics import Metrics
from discreet.server.service import Readiness
from discreet.server.tokens import Role
from discreet.tracing import RequestSpan

if TYPE_CHECKING:
    from discreet.server.desk.desk import Desk

MAX_LENGTH: Final = 200
AT_DESK: Final = 6000
"""Requests of one minute of whoever started the desk."""
bearer: Final = HTTPBearer(auto_error=False, description="A token made with `discreet token create`.")


@dataclass(frozen=True, slots=True)
class AppState:
    """All that the routes share."""

    datasets: Datasets
    dispatcher: Dispatcher
    rates: Rates
    metrics: Metrics
    readiness: Readiness
    trace: Callable[[], RequestSpan | None] = lambda: None
    """Begins the span of a request, where an operator traces them."""
    desk: Desk | None = None
    """Where the owner of this machine writes policies; None on a server for others."""
    backups: Path | None = None
    """A folder that owners may have ledgers backed up into, if whoever started the server named one."""


@dataclass(frozen=True, slots=True)
class Access:
    """A request to a dataset by somebody who may send it."""

    dataset: Dataset
    caller: Caller


def app_state(request: Request) -> AppState:
    state: AppState = request.app.state.app_state
    return state


def admitted(request: Request, holder: str | Person) -> dict[str, Caller]:
    """For each dataset that a token or a person opens, who that is there: none if nobody knows it. It counts as a
    request.
    """
    shared = app_state(request)
    known = shared.datasets.callers(holder[:MAX_LENGTH] if isinstance(holder, str) else holder) if holder else {}
    owner = shared.datasets.owner(holder[:MAX_LENGTH]) if isinstance(holder, str) else None
    if owner is not None:
        tell(request.scope, token=owner.id)
        shared.rates.admit(owner.id, AT_DESK)
    elif known:
        caller = next(iter(known.values()))
        tell(request.scope, token=caller.token)
        most = max(shared.datasets[name].curator.policy.serving.requests_per_minute for name in known)
        shared.rates.admit(caller.token, most)
    return known


def is_at_desk(request: Request, token: str) -> bool:
    """Whether this is whoever started the desk."""
    shared = app_state(request)
    return shared.desk is not None and shared.datasets.owner(token[:MAX_LENGTH]) is not None


def granted(request: Request, known: dict[str, Caller], dataset: str, roles: tuple[Role, ...]) -> Access:
    """The dataset that a request is for, if its token opens it and has one of these roles there."""
    if dataset not in known:
        raise Refused("unknown-dataset", "this token opens no such dataset", f"it opens: {', '.join(known)}")
    caller = known[dataset]
    tell(request.scope, dataset=dataset, role=str(caller.role), analyst=caller.analyst)
    if caller.role not in roles:
        raise Refused("forbidden", f"the role {caller.role} may not do this", f"it is for: {', '.join(roles)}")
    return Access(app_state(request).datasets[dataset], caller)


async def callers(request: Request, token: Annotated[Any, Depends(bearer)]) -> dict[str, Caller]:
    """Whoever sends the request, by its bearer token."""
    return known_callers(request, token.credentials if token else "")


def known_callers(request: Request, token: str) -> dict[str, Caller]:
    """For each dataset that a token opens, who that is there; refused if it opens none."""
    known = admitted(request, token)
    if not known:
        raise Refused("unauthorized", "the token is missing, unknown, expired or revoked", "send a valid bearer token")
    return known


Callers = Annotated[dict[str, Caller], Depends(callers)]


def _access(*roles: Role) -> Callable[..., Awaitable[Access]]:
    async def access(
        request: Request, known: Callers, dataset: Annotated[str, InPath(max_length=MAX_LENGTH)]
    ) -> Access:
        return granted(request, known, dataset, roles)

    return access


Anybody = Annotated[Access, Depends(_access(*Role))]
ASKING: Final = (Role.OWNER, Role.ANALYST)
Asking = Annotated[Access, Depends(_access(*ASKING))]
Watching = Annotated[Access, Depends(_access(Role.OWNER, Role.AUDITOR))]


async def watcher(request: Request, known: Callers) -> None:
    """Somebody who sees everything of every dataset that the server has."""
    if len(known) < len(app_state(request).datasets) or not all(
        caller.role.sees_everybody for caller in known.values()
    ):
        raise Refused("forbidden", "metrics are about all datasets", "use a token of an owner or an auditor of all")
