"""Tables in memory behind an exit without noise: what comes out are the exact integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.accounting.losses import Sensitivity
from discreet.curator.curator import Curator
from discreet.engines.engine import Engine
from discreet.engines.memory import Memory
from discreet.exit.cost import Additive
from discreet.exit.sampler import Sampler
from discreet.ledger import Grant, Ledger
from discreet.ledger import Memory as Journal
from discreet.noise import Bits
from discreet.opening import MAKERS, RECALLS
from discreet.policy import Policy
from discreet.policy.read import parse

Rows = Sequence[Mapping[str, Any]]
HEAD = 'name = "world"\n[budget]\nepsilon = 3\n[unit]\nname = "person"\n'


def policy_of(*parts: str, head: str = HEAD) -> Policy:
    """A policy that stands in no file."""
    return parse((head + "\n".join(parts)).encode(), Path("/nowhere/world.toml"))


def quiet(mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:  # noqa: ARG001
    """No noise at all: the hook that the public interface cannot reach."""
    return exact


@contextmanager
def ledger_of(policy: Policy, *, generous: bool = True) -> Iterator[Ledger]:
    """A ledger in memory; a generous one never runs out."""
    grant = Grant.of(policy.budget.epsilon, policy.budget.delta)
    with Ledger(Journal(), grant.endless if generous else grant, shares=policy.analysts) as ledger:
        yield ledger


class Recorded:
    """No noise, and every vector of exact integers noted."""

    def __init__(self) -> None:
        self.exact: list[tuple[int, ...]] = []

    def __call__(
        self,
        mechanism: Additive,  # noqa: ARG002
        sensitivity: Sensitivity,  # noqa: ARG002
        exact: Sequence[int],
        bits: Bits,  # noqa: ARG002
    ) -> Sequence[int]:
        self.exact.append(tuple(exact))
        return exact


@contextmanager
def opened(
    policy: Policy,
    tables: Mapping[str, Rows],
    *,
    add_noise: Callable[[Additive, Sensitivity, Sequence[int], Bits], Sequence[int]] = quiet,
    wrap: Callable[[Memory], Engine] = lambda engine: engine,
    sampler: Sampler | None = None,
    time_limit: float | None = None,
) -> Iterator[Curator]:
    """A curator over rows in memory, without noise unless told otherwise."""
    engine = Memory(policy, tables)
    try:
        with (
            ledger_of(policy) as ledger,
            Curator(
                policy,
                ledger,
                engine=wrap(engine),
                sampler=sampler or Sampler(add_noise=add_noise),
                recalls=RECALLS,
                makers=MAKERS,
                time_limit=time_limit,
            ) as curator,
        ):
            yield curator
    finally:
        engine.close()
