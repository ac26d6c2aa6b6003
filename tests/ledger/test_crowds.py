"""Curators on one ledger in PostgreSQL, killed at will, and their server with them: nothing is lost or overspent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.ledger import Acceptance, LedgerDamaged, LedgerError, Marks
from discreet.ledger.homes import InDatabase
from tests.ledger.crowds import demand_whole, opened
from tests.ledger.helpers import child, spend
from tests.postgres import ledgers
from tests.postgres.cluster import Cluster, running, until


@pytest.fixture(scope="module")
def own(postgres: Cluster) -> Iterator[Cluster]:  # noqa: ARG001  (it says why there is none)
    """A server that may be killed."""
    with running() as cluster:
        yield cluster


@pytest.mark.long
@pytest.mark.parametrize(
    ("processes", "charges", "rounds"), [(3, 80, 4), pytest.param(8, 2000, 40, marks=pytest.mark.slow)]
)
def test_what_was_acknowledged_is_there_whoever_is_killed(
    own: Cluster, processes: int, charges: int, rounds: int
) -> None:
    """Each key is charged once; the budget is spent to the last hundredth and not beyond."""
    where = ledgers.prepared(own)
    ends = child("crowd", own.folder, own.port, where.schema, processes, charges, rounds, module="crowds")
    demand_whole(ends, charges)


@pytest.mark.slow
def test_failover_and_restore_are_noticed_on_real_servers(own: Cluster, tmp_path: Path) -> None:
    """A standby, one that was promoted, a point-in-time restore, and the same bytes put back: no charges."""
    where = ledgers.prepared(own)
    marks, other = Marks(tmp_path / "marks"), Marks(tmp_path / "other")
    with opened(InDatabase(where), marks) as ledger:
        spend(ledger)
    with own.copied() as restored, own.copied() as same, own.copied("-R") as standby:
        with opened(InDatabase(where), marks) as ledger:
            spend(ledger)
        standby.start()
        copy = InDatabase(ledgers.address(standby, where.schema))
        with pytest.raises(LedgerError, match="is a standby"):
            copy.store()
        until(lambda: standby.value(f"SELECT number FROM {where.schema}.head") == 4)
        own.control("-m", "immediate", "stop")
        try:
            standby.control("promote")
            for known in (marks, other, None):
                with pytest.raises(LedgerDamaged, match="replaced by a standby"):
                    opened(copy, known)
            with opened(copy, marks, accept=Acceptance("failover", forget=False)) as ledger:
                assert ledger.count() == 2
            standby.control("-m", "fast", "stop")
            restored.start("restore_command = 'false'", "recovery_target_action = 'promote'", signal="recovery.signal")
            until(lambda: not restored.value("SELECT pg_is_in_recovery()"))
            copy = InDatabase(ledgers.address(restored, where.schema))
            for known in (other, None):
                with pytest.raises(LedgerDamaged, match="was restored"):
                    opened(copy, known)
            with pytest.raises(LedgerDamaged, match="was rolled back"):
                opened(copy, marks)
            same.start()
            with pytest.raises(LedgerDamaged, match="was rolled back"):
                opened(InDatabase(ledgers.address(same, where.schema)), marks)
        finally:
            own.start()
