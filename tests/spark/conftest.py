"""One Spark for all tests here, on this machine: `make test-engines` brings it, and `make test` has none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from discreet.engines.spark.cluster import session
from discreet.policy.clusters import read_cluster

collect_ignore_glob: Final = [] if "DISCREET_SPARK" in os.environ else ["*"]
MASTER: Final = "spark:local[2]"
MISSING: Final = "need Java 17 or newer, which is not here"
CONFIGURATION: Final = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xss8m",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
}
"""For many small queries: nothing is compiled, and nothing is cut into more parts than one. In what is
shuffled a name can be looked for."""


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session to make tables with: while it is there, whoever reads them uses the same Spark."""
    if shutil.which("java") is None:
        many = sum("spark" in getattr(item, "fixturenames", ()) for item in request.session.items)
        pytest.skip(f"{many} tests {MISSING}")
    folder = tmp_path_factory.mktemp("spark")
    configured(folder, **{"spark.sql.warehouse.dir": str(folder / "warehouse")})
    with session(read_cluster(MASTER), folder, "tests") as started:
        yield started


def configured(folder: Path, **more: str) -> None:
    """Write Spark's own configuration, and have it found there."""
    lines = [f"{key} {value}" for key, value in {**CONFIGURATION, **more}.items()]
    (folder / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(folder)
