"""The role that owners give to discreet: it may read, and owns the schema of the copy."""

from __future__ import annotations

import pytest

from tests.postgres.cluster import Cluster


@pytest.fixture(scope="session")
def database(postgres: Cluster) -> Cluster:
    postgres.run("CREATE ROLE reader LOGIN")
    return postgres
