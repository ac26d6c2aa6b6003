"""Curators on hosts of their own over one ledger in PostgreSQL: cables are pulled, and hosts lose their power.

`unshare --net python -m tests.ledger.hosts ends HOSTS CHARGES ROUNDS`: where it begins is the server's host. Every
curator is in a network namespace of its own, which ends with it; a cable leads from each to the server's.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from discreet.ledger.homes import InDatabase
from discreet.ledger.postgres import Address
from discreet.ledger.postgres.session import SETTINGS
from discreet.policy.databases import read_address
from tests.ledger.crowds import Crowd, counted
from tests.postgres import ledgers
from tests.postgres.cluster import Cluster, running

NETWORK: Final = "192.0.2"
"""Addresses for examples (RFC 5737), which lead nowhere else."""
SERVER: Final = f"{NETWORK}.1"
NEWNET: Final = 0x40000000
"""CLONE_NEWNET, for `unshare`."""


def ip(*words: object, host: int | None = None) -> None:
    there = [] if host is None else ["nsenter", f"--net=/proc/{host}/ns/net"]
    subprocess.run([*there, "ip", *map(str, words)], check=True)


class Hosts(Crowd):
    """Curators, each on a host of its own."""

    def __init__(self, cluster: Cluster, where: Address, charges: int) -> None:
        super().__init__(cluster, where, charges)
        self._number = 1
        self._cables: dict[int, str] = {}
        ip("link", "add", "name", "bridge", "type", "bridge")
        ip("addr", "add", f"{SERVER}/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")

    def start(self) -> None:
        self._started(self._spend)

    def _started(self, body: Callable[[], None]) -> int:
        """A host on which this runs as soon as it has its cable."""
        ready, go = os.pipe(), os.pipe()
        process = os.fork()
        if not process:
            self._lived(body, ready[1], go[0])
        self.running.add(process)
        os.read(ready[0], 1)
        self._connect(process)
        os.write(go[1], b"!")
        for end in (*ready, *go):
            os.close(end)
        return process

    def _lived(self, body: Callable[[], None], ready: int, go: int) -> NoReturn:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(NEWNET):
                raise OSError(ctypes.get_errno(), "unshare")
            os.write(ready, b"!")
            os.read(go, 1)
            body()
            os._exit(0)
        except BaseException as error:
            self._say(f"! {type(error).__name__}: {error}")
            os._exit(1)

    def _connect(self, process: int) -> None:
        self._number += 1
        cable = self._cables[process] = f"cable{self._number}"
        ip("link", "add", "name", cable, "type", "veth", "peer", "name", "eth0", "netns", process)
        ip("link", "set", cable, "master", "bridge", "up")
        ip("addr", "add", f"{NETWORK}.{self._number}/24", "dev", "eth0", host=process)
        ip("link", "set", "eth0", "up", host=process)

    def pull(self) -> None:
        """The cable of one of them, until the others have gone on."""
        if self.living():
            process = random.choice(sorted(self.running))
            ip("link", "set", self._cables[process], "down")
            self.hear_more(3, besides=process)
            ip("link", "set", self._cables[process], "up")

    def power_cut(self) -> None:
        """Nothing of one of them reaches the server any more, not even that its connection ended."""
        if self.living():
            self._cut(random.choice(sorted(self.running)))
        self.start()

    def cut_with_the_lock(self) -> None:
        """As one of them loses its power while all others wait for it."""
        reader, writer = os.pipe()
        process = self._started(lambda: self._hold(writer))
        os.read(reader, 1)
        self._cut(process)

    def _hold(self, holds: int) -> None:
        with self._open() as ledger, ledger._store.transaction(lambda: ledger._newest):
            os.write(holds, b"!")
            signal.pause()

    def _cut(self, process: int) -> None:
        ip("link", "set", self._cables[process], "down")
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        self.running.discard(process)


def ends(hosts: str, charges: str, rounds: str) -> object:
    SETTINGS["idle_in_transaction_session_timeout"] = "'1s'"  # a minute, for others than tests
    ip("link", "set", "lo", "up")
    with running(listens="*") as cluster:
        hba = cluster.folder / "data" / "pg_hba.conf"
        hba.write_text(f"host all all {NETWORK}.0/24 trust\n{hba.read_text()}", encoding="ascii")
        cluster.run("SELECT pg_reload_conf()")
        schema = ledgers.prepared(cluster).schema
        login = read_address(f"postgresql://{ledgers.ROLE}@{SERVER}:{cluster.port}/postgres?sslmode=disable")
        them = Hosts(cluster, Address(login, schema, Path()), int(charges))
        acts = [them.pull, them.power_cut, them.cut_with_the_lock, them.crash]
        said = them.live(int(hosts), int(rounds), acts)
        return counted(said, InDatabase(ledgers.address(cluster, schema)), them.grant)


if __name__ == "__main__":
    assert sys.argv[1] == ends.__name__
    print(json.dumps(ends(*sys.argv[2:])))
