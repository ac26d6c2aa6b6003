"""Installs the locked list and ourselves (`.[learn,…]`) with uv, in a third of the time that pip takes.

`make venv` runs it with the environment's Python and goes on with pip where it fails: uv may be missing, or a package
may have no build for another Python. uv reads none of pip's settings; those that say where packages come from are
handed over to it.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
VARIABLES: Final = {"cert": "SSL_CERT_FILE", "default-timeout": "UV_HTTP_TIMEOUT", "proxy": "ALL_PROXY"}
OPTIONS: Final = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
"""Each with as many values as it has words."""


def locked(constraints: str) -> list[str]:
    """What every environment has: the lines up to the second comment."""
    _, *lines = constraints.splitlines()
    return list(takewhile(lambda line: not line.startswith("#"), lines))


def handed_over(settings: str) -> tuple[list[str], dict[str, str]]:
    """Options and variables of uv, from what `pip config list` prints: file by file, then the environment.

    >>> handed_over("global.timeout='9'\\n:env:.find-links='a b'")
    (['--find-links', 'a', '--find-links', 'b'], {})
    """
    said = dict(line.partition("=")[::2] for line in settings.splitlines() if "=" in line)
    named = {name.rpartition(".")[2]: str(ast.literal_eval(value)) for name, value in said.items()}
    options = [
        part for name, option in OPTIONS.items() for word in named.get(name, "").split() for part in (option, word)
    ]
    return options, {variable: named[name] for name, variable in VARIABLES.items() if name in named}


def main(ourselves: str) -> int:
    own = [sys.executable, "-m"]
    listed = subprocess.run([*own, "pip", "config", "list"], capture_output=True, text=True, check=True)
    options, variables = handed_over(listed.stdout)
    packages = locked((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    command = [*own, "uv", "pip", "install", "--python", sys.executable, "--quiet", "--no-config"]
    cache = Path(sys.prefix) / "unpacked"  # on the same disk: files get a second name, and are written once
    # as pip does: all sources are one, and nothing is shared with other environments
    alike = ["--index-strategy", "unsafe-best-match", "--link-mode", "hardlink", "--cache-dir", str(cache)]
    # then ourselves, with what another Python lacks of the list; what builds us is in it
    ours = ["--constraint", "constraints.txt", "--no-build-isolation", "--editable", ourselves]
    try:
        for what in (["--no-deps", *packages], ours):
            subprocess.run([*command, *alike, *options, *what], cwd=ROOT, env={**os.environ, **variables}, check=True)
        return 0
    except subprocess.CalledProcessError as failed:
        return failed.returncode
    finally:
        shutil.rmtree(cache, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
