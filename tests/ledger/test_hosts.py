"""Curators on several hosts, over one ledger in PostgreSQL: where networks fail, nothing is lost or overspent."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.ledger.crowds import demand_whole
from tests.ledger.helpers import child
from tests.postgres.cluster import Cluster

ALONE = ("unshare", "--net")
"""In a network of its own."""


def may_have_networks() -> bool:
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return False
    return not subprocess.run([*ALONE, "ip", "link", "add", "name", "bridge", "type", "bridge"], check=False).returncode


@pytest.mark.long
@pytest.mark.parametrize(("hosts", "charges", "rounds"), [(3, 60, 3), pytest.param(6, 800, 32, marks=pytest.mark.slow)])
def test_cables_that_are_pulled_and_hosts_without_power(
    postgres: Cluster,  # noqa: ARG001  (it says why there is none)
    hosts: int,
    charges: int,
    rounds: int,
) -> None:
    """Each key is charged once, whoever vanishes, also with the lock that all others wait for."""
    if not may_have_networks():
        pytest.skip("2 tests need network namespaces (root, and Debian's iproute2), which are not here")
    ends = child("ends", hosts, charges, rounds, wrapped=ALONE, module="hosts")
    demand_whole(ends, charges)
