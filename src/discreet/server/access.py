"""Who may do what: the token of a request, the dataset that it opens there, and the role that its holder has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Request
from fastapi.security import HTTPBearer

from discreet.errors import Refused
from discreet.server.datasets import Caller, Dataset, Datasets
from discreet.server.dispatch import Desk
from discreet.server.front import tell
from discreet.server.limits import Rates
from discreet.server.metrics import Metrics
from discreet.server.tokens import Role

LONGEST: Final = 200
bearer: Final = HTTPBearer(auto_error=False, description="A token made with `discreet token create`.")


@dataclass(frozen=True, slots=True)
class House:
    """All that the routes share."""

    datasets: Datasets
    desk: Desk
    rates: Rates
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a dataset by somebody who may send it."""

    dataset: Dataset
    caller: Caller


def house(request: Request) -> House:
    found: House = request.app.state.house
    return found


async def callers(request: Request, token: Annotated[Any, Depends(bearer)]) -> dict[str, Caller]:
    """For each dataset that the request's token opens, who its holder is there."""
    found = house(request).datasets.callers(token.credentials[:LONGEST]) if token else {}
    if not found:
        raise Refused("unauthorized", "the token is missing, unknown, expired or revoked", "send a valid bearer token")
    caller = next(iter(found.values()))
    tell(request.scope, token=caller.token)
    per_minute = max(house(request).datasets[name].curator.policy.serving.requests_per_minute for name in found)
    house(request).rates.admit(caller.token, per_minute)
    return found


Callers = Annotated[dict[str, Caller], Depends(callers)]


def _visit(*roles: Role) -> Callable[..., Awaitable[Visit]]:
    """The dataset that a request is for, if its token opens it and has one of these roles there."""

    async def visit(request: Request, known: Callers, dataset: Annotated[str, Path(max_length=LONGEST)]) -> Visit:
        if dataset not in known:
            raise Refused("unknown-dataset", "this token opens no such dataset", f"it opens: {', '.join(known)}")
        caller = known[dataset]
        tell(request.scope, dataset=dataset, role=str(caller.role))
        if caller.role not in roles:
            raise Refused("forbidden", f"the role {caller.role} may not do this", f"it is for: {', '.join(roles)}")
        return Visit(house(request).datasets[dataset], caller)

    return visit


Anybody = Annotated[Visit, Depends(_visit(*Role))]
Asking = Annotated[Visit, Depends(_visit(Role.OWNER, Role.ANALYST))]
Watching = Annotated[Visit, Depends(_visit(Role.OWNER, Role.AUDITOR))]


async def watcher(request: Request, known: Callers) -> None:
    """Somebody who sees everything of every dataset that the server has."""
    if len(known) < len(house(request).datasets) or not all(caller.role.sees_everybody for caller in known.values()):
        raise Refused("forbidden", "metrics are about all datasets", "use a token of an owner or an auditor of all")
