"""A PostgreSQL of one's own, in a temporary folder: from the programs that are installed, or none.

It listens on a socket in its folder; over the network, with TLS and passwords, on a port of loopback that the system
chooses. PostgreSQL refuses to run as root, so there it runs as the user that its package made.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psycopg

MISSING: Final = "need PostgreSQL's programs (initdb and pg_ctl, of Debian's package postgresql), which are not here"
OWNER: Final = "postgres"
TRIES: Final = 5
SETTINGS: Final = {
    "shared_buffers": "16MB",
    "max_connections": "50",
    "autovacuum": "off",
    "log_min_duration_statement": "-1",
    "jit": "off",
    "max_prepared_transactions": "2",
}


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: on the path, or where Debian puts the newest."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    return max(versions, key=lambda path: float(path.parent.name), default=None)


def _runner() -> list[str] | None:
    """How to run programs as somebody who is not root."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam(OWNER)
    except KeyError:
        return None
    return ["runuser", "-u", OWNER, "--"] if shutil.which("runuser") else None


def is_here() -> bool:
    return programs() is not None and _runner() is not None


@dataclass(frozen=True)
class Cluster:
    """A server that runs."""

    folder: Path
    port: int
    listens: str = "localhost"

    def address(self, database: str = "postgres", user: str = OWNER) -> str:
        return f"postgresql://{user}@{quote(str(self.folder), safe='')}:{self.port}/{database}"

    def connect(self, database: str = "postgres", user: str = OWNER) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self.folder), port=self.port, dbname=database, user=user, autocommit=True)

    def run(self, *texts: str, database: str = "postgres", user: str = OWNER) -> None:
        with self.connect(database, user) as connection:
            for text in texts:
                connection.execute(text)

    def value(self, query: str) -> Any:
        """The first value of the first row."""
        with self.connect() as connection:
            row = connection.execute(query).fetchone()
        return None if row is None else row[0]

    def set(self, setting: str, value: str) -> None:
        """From its next look at its configuration on. What it was started with must not say another value."""
        self.run(f"ALTER SYSTEM SET {setting} = {value}")

    def reload(self, done: Callable[[], bool]) -> None:
        """Have it read its settings again: it does so when it comes to it."""
        self.run("SELECT pg_reload_conf()")
        until(done)

    def crash(self) -> None:
        """Stop it as a power cut stops its processes, and start it again: what it had in memory alone is lost."""
        self.control("-m", "immediate", "stop")
        self.start()

    @contextmanager
    def copied(self, *how: str) -> Iterator[Cluster]:
        """A copy of it as it is now, as `pg_basebackup` makes it, that is not started yet."""
        binaries, runner = programs(), _runner()
        assert binaries is not None
        assert runner is not None
        folder = Path(tempfile.mkdtemp(prefix="pg-"))
        try:
            if runner:
                shutil.chown(folder, OWNER)
                folder.chmod(0o755)
            taken = (
                "-h",
                str(self.folder),
                "-p",
                str(self.port),
                "-U",
                OWNER,
                "-c",
                "fast",
                "-D",
                str(folder / "data"),
            )
            _call(runner, binaries / "pg_basebackup", *taken, *how)
            yield Cluster(folder, _free_port())
        finally:
            with suppress(subprocess.CalledProcessError):
                Cluster(folder, 0).control("-m", "immediate", "stop")
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, *lines: str, signal: str = "") -> None:
        """Start a copy, with more lines of configuration, and a file that says what it is."""
        data = self.folder / "data"
        with (data / "postgresql.auto.conf").open("a", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in lines))
        if signal:
            (data / signal).touch()
            shutil.chown(data / signal, (data / "PG_VERSION").owner())
        self.control("-l", str(self.folder / "log"), "-o", _options(self), "start")

    def control(self, *arguments: str) -> None:
        """Run pg_ctl for it."""
        binaries, runner = programs(), _runner()
        assert binaries is not None
        assert runner is not None
        _call(runner, binaries / "pg_ctl", "-D", str(self.folder / "data"), "-w", *arguments)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")


def until(done: Callable[[], bool]) -> None:
    """Look again and again whether something has happened; whoever waits in vain fails."""
    for _ in range(3000):
        if done():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not happen")


@contextmanager
def running(listens: str = "localhost") -> Iterator[Cluster]:
    """A new cluster, until the block ends."""
    binaries, runner = programs(), _runner()
    assert binaries is not None
    assert runner is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path has 107 bytes at most
    try:
        if runner:
            shutil.chown(folder, OWNER)
            folder.chmod(0o755)
        data = folder / "data"
        made = ["-D", str(data), "-A", "trust", "-U", OWNER, "-N", "-E", "UTF8", "--locale=C", "--no-instructions"]
        _call(runner, binaries / "initdb", *made)
        control = binaries / "pg_ctl", "-D", str(data), "-w"
        port = _started(runner, *control, "-l", str(folder / "log"), folder=folder, listens=listens)
        try:
            yield Cluster(folder, port, listens)
        finally:
            _call(runner, *control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(runner: list[str], program: Path, *arguments: str, folder: Path, listens: str) -> int:
    """Start it on a port that is free; if somebody else was faster, on another."""
    for left in reversed(range(TRIES)):
        port = _free_port()
        try:
            _call(runner, program, *arguments, "-o", _options(Cluster(folder, port, listens)), "start")
        except subprocess.CalledProcessError:
            if not left:
                raise
        else:
            return port
    raise AssertionError


def _options(cluster: Cluster) -> str:
    where = {"unix_socket_directories": cluster.folder, "listen_addresses": cluster.listens, "port": cluster.port}
    return " ".join(f"-c {key}={value}" for key, value in {**SETTINGS, **where}.items())


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def _call(runner: list[str], program: Path, *arguments: str) -> None:
    subprocess.run([*runner, str(program), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")
