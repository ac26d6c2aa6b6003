"""Programs of Spark that tests start and kill: a master, a worker, a server of Spark Connect, on 127.0.0.1 alone."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CONNECT: Final = "org.apache.spark.sql.connect.service.SparkConnectService"
SMALL: Final = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}


@dataclass(frozen=True, slots=True)
class Program:
    """One that runs."""

    process: subprocess.Popen[bytes]
    log: Path
    said: str
    """What it said when it was ready."""

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def started(
    folder: Path, arguments: list[str], ready: str, settings: Mapping[str, str], **environment: str
) -> Iterator[Program]:
    """A class of Spark in a Java machine of its own, once its log says that it is ready."""
    import pyspark

    folder.mkdir()
    home = Path(pyspark.__file__).parent
    lines = "\n".join(f"{key} {value}" for key, value in settings.items())
    (folder / "spark-defaults.conf").write_text(lines, encoding="utf-8")
    held = {**os.environ, "SPARK_HOME": str(home), "SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}
    log = folder / "log"
    with log.open("wb") as written:
        command = [str(home / "bin" / "spark-class"), *arguments]
        process = subprocess.Popen(
            command, env={**held, **SMALL, **environment}, cwd=folder, stdout=written, stderr=written
        )
    try:
        while (found := re.search(ready, log.read_text(encoding="utf-8"))) is None:
            assert process.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.05)
        yield Program(process, log, found[1])
    finally:
        process.kill()
        process.wait()


def master(folder: Path, settings: Mapping[str, str]) -> Any:
    arguments = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    return started(folder, arguments, r"Starting Spark master at (\S+)", {**settings, **NO_REST})


def worker(folder: Path, address: str, settings: Mapping[str, str]) -> Any:
    """It works, and puts what it shuffles, below its folder."""
    arguments = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    arguments += ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"), address]
    ready = r"Successfully registered with master (\S+)"
    return started(folder, arguments, ready, settings, SPARK_LOCAL_DIRS=str(folder / "local"))


def connect(folder: Path, settings: Mapping[str, str]) -> Any:
    """A server of Spark Connect; what it says is its address."""
    arguments = ["org.apache.spark.deploy.SparkSubmit", "--class"]
    arguments += ["org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    own = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    ready = r"Spark Connect server started at: (\S+)"
    return started(folder, arguments, ready, {**settings, **own}, SPARK_DAEMON_MEMORY="1g")


NO_REST: Final = {"spark.master.rest.enabled": "false"}


class Service:
    """Spark Connect in the Java machine of tests, where it starts and stops in no time."""

    def __init__(self, spark: Any) -> None:
        self._jvm, self._context = spark._jvm, spark.sparkContext._jsc.sc()
        self._conf = self._context.conf()
        self._service = getattr(getattr(self._jvm, f"{CONNECT}$"), "MODULE$")
        self.port = 0

    def start(self, **more: str) -> str:
        """It listens where it listened before; its address."""
        self._conf.set("spark.connect.grpc.binding.address", "127.0.0.1")
        self._conf.set("spark.connect.grpc.binding.port", str(self.port))
        for key, value in more.items():
            self._conf.set(key, value)
        self._service.start(self._context)
        self.port = int(self._service.localPort())
        return f"sc://127.0.0.1:{self.port}"

    def stop(self) -> None:
        nothing = self._jvm.scala.Option.empty()
        self._service.stop(nothing, nothing)
