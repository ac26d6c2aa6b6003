"""Sessions of Spark: opened here and nowhere else, with settings under which no value of a row is special.

A process has one Spark at most, and whoever needs it shares it: the first who comes starts it, the last who leaves ends
it, with its Java machine. One that somebody else started in this process is used, and left as it is; our settings are
those of a session of our own.

What Spark writes to disk when memory is short are private rows in clear. So on this machine it writes them into the
state folder, which its owner alone may enter; it listens on this machine alone, and to whoever knows a secret that it
makes itself. Neither it nor pyspark writes a log: messages hold values. Of other machines their own configuration says
all this. Its Java machine inherits the lock of that folder, because it may outlive a Python that is killed; rows of
another state folder that the same Spark writes are found there by a link. What was shuffled goes when nobody needs it.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from discreet.engines.connection import HUSHED, has_files, lock_of, scratch
from discreet.engines.problems import SourceError
from discreet.engines.spark.remote import client
from discreet.engines.stopping import CURRENT
from discreet.noise import SYSTEM
from discreet.policy.model import Cluster

LONGEST_REASON: Final = 500
LOOK: Final = 1.0
"""Seconds between looks at whether Spark has removed what nobody needs, and how often that is looked at."""
TIDIED: Final = 5
ELSEWHERE: Final = (
    "Spark would put rows into another folder than the state folder",
    "unset SPARK_LOCAL_DIRS, also in spark-env.sh",
)
MOUNTED: Final = "k8s:"
"""Where `spark.local.dir` is what is mounted in pods, and no folder of this machine."""
LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
ON_THIS_MACHINE: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}
ON_A_CLUSTER: Final = {
    "spark.io.encryption.enabled": "true",
    "spark.cleaner.referenceTracking.blocking.shuffle": "true",
}
"""What other machines shuffle and spill is encrypted, with a key that the driver's Java machine alone keeps: what stays
on their disks when they are killed can be read by nobody once it has ended. And of what they shuffled, nothing is
forgotten before it is removed there."""
LOGGED: Final = """status = off
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
"""What other machines find in the state folder, which they share, before they write a line: levels that the driver sets
do not reach them. Where nothing is appended to, Spark takes its own configuration instead."""
STARTED: Final = {
    "spark.app.name": "discreet",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.eventLog.enabled": "false",
    "spark.hadoop.fs.permissions.umask-mode": "077",
}
SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
    "spark.sql.connect.shuffleDependency.fileCleanup.enabled": "true",
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "5.0",
}
"""Of every session: no text has variables in it (Spark looks for them even in the names of columns), days before 1583
are what they are and fail nothing, what cannot be read is not left out, and what was shuffled goes with a copy. What
Spark's parser learns of each form of text goes when it takes a part of the memory (its percentage counts 9.7 kB for
what is 28): else a few thousand questions fill the memory, and Spark ends."""


@dataclass
class _Running:
    """The Spark of this process."""

    process: int
    context: Any
    gateway: Any
    """None if it is not ours to end."""
    spills: ExitStack
    """The folder that it writes to, and for each other state folder one with a link to it."""
    folders: tuple[Path, ...] = ()
    """What it writes to when memory is short; of one that is not ours nothing is known."""
    states: set[Path] = field(default_factory=set)
    has_machines: bool = False
    """Whether other programs shuffle for it, whose folders are not seen here."""
    users: int = 0
    leaves: int = 0
    """How often somebody left who had run something, while others stayed."""
    is_tidied: bool = False
    """Whether a thread looks after what they shuffled."""


_guard: Final = threading.RLock()
_running: dict[str, _Running] = {}


@contextmanager
def session(cluster: Cluster, state: Path, label: str, *, runs: bool = True) -> Iterator[Any]:
    """A session of its own; `SourceError` for this table if there is none. One that `runs` nothing but plans shuffles
    nothing, and leaves nothing to tidy up.
    """
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise SourceError(label, "Spark needs pyspark", "pip install 'discreet[spark]'") from None
    _hush()
    if cluster.is_remote:
        with client(cluster, label) as held:
            yield _configured(held)
        return
    running = _entered(cluster, state, label)
    try:
        from pyspark.sql import SparkSession

        yield _configured(SparkSession(running.context).newSession())
    finally:
        _left(cluster, running, has_run=runs)


def _hush() -> None:
    """Have nothing said that pyspark would say of failures, on stderr, with the values that failed."""
    from pyspark.logger import PySparkLogger

    for called in LOGGERS:
        PySparkLogger.getLogger(called).disabled = True
    warnings.filterwarnings("ignore", module=r"pyspark\.")  # of pandas, which we do not use
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # all that goes to Java and comes back, where somebody debugs


def _configured(held: Any) -> Any:
    for key, value in SETTINGS.items():
        held.conf.set(key, value)
    return held


def _entered(cluster: Cluster, state: Path, label: str) -> _Running:
    with _guard:
        running = _running.get(cluster.master)
        if running is not None and (running.process != os.getpid() or _ended(running.context)):
            running = None
        if running is None:
            running = _running[cluster.master] = _found(cluster, label) or _started(cluster, state, label)
        running.users += 1
        _link(running, state.resolve())
        return running


def _link(running: _Running, state: Path) -> None:
    """Have whoever erases in this state folder find what Spark writes elsewhere."""
    if state in running.states:
        return
    running.states.add(state)
    for index, folder in enumerate(running.folders):
        if not folder.is_relative_to(state):
            (running.spills.enter_context(scratch(state)) / str(index)).symlink_to(folder)


def rows_on_disk() -> bool:
    """Whether the Spark of this process has rows on this disk now: what queries that run shuffle, and nothing else."""
    with _guard:
        running = [each for each in _running.values() if each.process == os.getpid()]
    return any(list(map(_has_rows, running)))


def _has_rows(running: _Running) -> bool:
    """Whether it still has files, which it is asked to remove: it does so once it sees that no plan needs them."""
    if not any(map(has_files, running.folders)) and not _has_shuffled(running):
        return False
    gc.collect()
    with suppress(Exception):
        running.context._jvm.System.gc()
    return True


def _has_shuffled(running: _Running) -> bool:
    """Whether other machines still have what was shuffled, as the driver knows; what they cannot say, they may have."""
    if not running.has_machines or _ended(running.context):
        return False
    try:
        return bool(_tracker(running.context).shuffleStatuses().nonEmpty())
    except Exception:
        return not _ended(running.context)


def _tracker(context: Any) -> Any:
    """What knows of everything that is shuffled. Java finds it by a handle: py4j looks at all methods of a class, and
    dies of one in this whose types are not there."""
    java = context._jvm.java.lang
    environment, tracker = map(java.Class.forName, ("org.apache.spark.SparkEnv", "org.apache.spark.MapOutputTracker"))
    returned = java.invoke.MethodType.methodType(tracker)
    handle = java.invoke.MethodHandles.publicLookup().findVirtual(environment, "mapOutputTracker", returned)
    given = context._jvm.java.util.ArrayList()
    given.add(context._jsc.sc().env())
    return handle.invokeWithArguments(given)


def _tidy(running: _Running) -> None:
    """Somebody left, others stay: what was shuffled for the former goes. One thread does it for all who leave: each
    look at what others shuffle right now has Java collect its memory, and holds up whatever runs.
    """
    looks, leaves = TIDIED, running.leaves
    while True:
        has_rows = _has_rows(running)
        with _guard:
            if running.leaves != leaves:  # meanwhile: for them it is looked anew
                looks, leaves, has_rows = TIDIED + 1, running.leaves, True
            looks -= 1
            if not (has_rows and looks):
                running.is_tidied = False
                return
        time.sleep(LOOK)


def _left(cluster: Cluster, running: _Running, *, has_run: bool = True) -> None:
    with _guard:
        running.users -= 1
        if running.gateway is None or running.process != os.getpid():
            return
        if running.users:
            running.leaves += has_run
            if has_run and not running.is_tidied:
                running.is_tidied = True
                threading.Thread(target=_tidy, args=(running,), daemon=True).start()
            return
        if _running.get(cluster.master) is running:
            del _running[cluster.master]
        _end(running)


def _found(cluster: Cluster, label: str) -> _Running | None:
    """One that somebody else started in this process."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or _ended(context):
        return None
    if context.master != cluster.master:
        reason = f"this process has a Spark of its own already, whose master is {context.master}"
        raise SourceError(label, reason, "a process has one: name the same master, or run it in another process")
    return _Running(os.getpid(), context, None, ExitStack())


def _written_to(context: Any) -> tuple[Path, ...]:
    """Where Spark puts what it shuffles, as it says itself: the environment counts for more than settings."""
    folders = context._jvm.org.apache.spark.util.Utils.getConfiguredLocalDirs(context._jsc.sc().conf())
    return tuple(Path(folder).resolve() for folder in folders)


def _ended(context: Any) -> bool:
    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:  # its Java machine is gone
        return True


def _started(cluster: Cluster, state: Path, label: str) -> _Running:
    """Start Spark. Its Java machine makes files that its owner alone may read, and says nothing."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    spills = ExitStack()
    folder = spills.enter_context(scratch(state))
    settings = {**STARTED, **(ON_THIS_MACHINE if cluster.is_local else ON_A_CLUSTER)}
    if not cluster.is_local:
        quiet_file = folder.resolve() / HUSHED
        quiet_file.write_text(LOGGED, encoding="ascii")
        settings["spark.executor.defaultJavaOptions"] = f"-Dlog4j2.configurationFile={quiet_file.as_uri()}"
    if not cluster.master.startswith(MOUNTED):
        settings["spark.local.dir"] = str(folder)
    conf = SparkConf().setMaster(cluster.master).setAll(list(settings.items()))
    before = signal.getsignal(signal.SIGINT)
    gateway: Any = None
    try:
        nowhere = subprocess.DEVNULL
        quiet = {"stdout": nowhere, "stderr": nowhere, "umask": 0o077, "pass_fds": (lock_of(state),)}
        SparkContext._gateway = SparkContext._jvm = None
        gateway = launch_gateway(conf, popen_kwargs=quiet)
        context = SparkContext(conf=conf, gateway=gateway)
        written_to = _written_to(context)
        ours = tuple(each for each in written_to if each.is_relative_to(folder.resolve()))
        if cluster.is_local and ours != written_to:
            raise SourceError(label, *ELSEWHERE)
        running = _Running(os.getpid(), context, gateway, spills, ours, {state.resolve()}, not cluster.is_local)
    except BaseException as error:
        _end(_Running(os.getpid(), None, gateway, spills))
        if not isinstance(error, Exception) or isinstance(error, SourceError):
            raise
        fix = "see that `java -version` says 17 or newer, and that the master is there"
        raise SourceError(label, f"Spark did not start: {said(error)}", fix) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # Spark's own would end what other threads ask
    return running


def _end(running: _Running) -> None:
    """End Spark, and its Java machine, which lives for as long as what it reads from is open."""
    from pyspark import SparkContext

    with suppress(Exception):
        if running.context is not None:
            running.context.stop()
    with suppress(Exception):
        running.gateway.shutdown()
    with suppress(Exception):
        running.gateway.proc.stdin.close()
        running.gateway.proc.wait(timeout=20)
    if SparkContext._gateway is running.gateway:
        SparkContext._gateway = SparkContext._jvm = None
    running.spills.close()


@contextmanager
def interruptible(held: Any) -> Iterator[Callable[[], None]]:
    """While Spark works for this thread: what ends that work. Ctrl-C does, and so does whoever stops the query."""
    group = f"discreet-{SYSTEM.bytes(8).hex()}"
    context = None
    with suppress(Exception):  # a client of Spark Connect has none
        context = held.sparkContext

    def interrupt() -> None:
        with suppress(Exception):
            context.cancelJobGroup(group) if context is not None else held.interruptTag(group)

    if context is not None:
        context.setJobGroup(group, "discreet", interruptOnCancel=True)
    else:
        held.addTag(group)
    stop = CURRENT.get()
    try:
        with nullcontext() if stop is None else stop.over(interrupt):
            yield interrupt
    except BaseException:
        interrupt()
        raise
    finally:
        if context is None:
            with suppress(Exception):
                held.removeTag(group)


def said(error: BaseException, secret: str | None = None) -> str:
    """What went wrong, in one line, before any row was read."""
    reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    reason = " ".join(reason.split())[:LONGEST_REASON]
    return reason.replace(secret, "…") if secret else reason
