"""A cluster of this machine, with a secret: a master, a worker that starts executors, and the driver of these tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from discreet.engines.spark.cluster import session
from discreet.policy.clusters import read_cluster
from tests.spark.conftest import CONFIGURATION, MISSING, configured
from tests.spark.servers import Program, master, worker

collect_ignore_glob: Final = [] if os.environ.get("DISCREET_SPARK") == "cluster" else ["*"]
SECRET: Final = "between-machines-2f81"
SHARED: Final = {"spark.authenticate": "true", "spark.authenticate.secret": SECRET}
SMALL: Final = {
    **CONFIGURATION,
    **SHARED,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xss8m",
}


@dataclass(frozen=True, slots=True)
class Machines:
    """The programs, the folder that the worker has all that it writes in, and what ends the driver."""

    master: Program
    worker: Program
    folder: Path
    spark: Any
    driver: ExitStack

    @property
    def address(self) -> str:
        return self.master.said

    @property
    def executors(self) -> list[int]:
        """The processes that the worker has started."""
        tasks = Path(f"/proc/{self.worker.process.pid}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    if shutil.which("java") is None:
        pytest.skip(f"tests of clusters {MISSING}")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "driver").mkdir()
    configured(folder / "driver", **SMALL, **{"spark.sql.warehouse.dir": str(folder / "warehouse")})
    with ExitStack() as stack:
        first = stack.enter_context(master(folder / "master", SHARED))
        second = stack.enter_context(worker(folder / "worker", first.said, SHARED))
        driver = stack.enter_context(ExitStack())
        spark = driver.enter_context(session(read_cluster(first.said), folder / "driver", "tests"))
        yield Machines(first, second, folder / "worker", spark, driver)


@pytest.fixture(scope="session")
def spark(machines: Machines) -> Any:
    return machines.spark
