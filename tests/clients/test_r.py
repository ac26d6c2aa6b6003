"""R: through RPostgres where it is, else through RPostgreSQL, which Debian packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.server.running import Running

LINES = [
    "tables patients wards",
    "fields age ward zip born",
    "exists TRUE FALSE",
    "without a cost refused",
    "columns ward n 3 TRUE",
    "parameters 1",
    "portions 2 1",
    "public 3",
    "rows refused",
    "writing refused",
    "transaction 3",
    "disconnected TRUE",
    "options 3",
    "unknown refused",
]


def test_r(server: Running) -> None:
    client = Path(__file__).with_name("client.R")
    more = {"PORT": str(server.pg_port), "DISCREET_TOKEN": server.tokens["epidemiology"], "TZ": "UTC"}
    command = ["Rscript", "--vanilla", str(client)]
    done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [line.strip() for line in done.stdout.splitlines()] == LINES, done.stderr
    assert server.tokens["epidemiology"] not in done.stderr + done.stdout
