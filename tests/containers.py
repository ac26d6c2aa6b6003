"""What is wrong with a container file, by the rules that the linter hadolint is asked for most, under its names.

hadolint itself is 56 MB, which no other test needs: `make test-engines` asks it.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Final

ONCE: Final = {"CMD": "DL4003", "ENTRYPOINT": "DL4004"}
"""The last of a stage wins, and the others mislead."""
RUNS: Final = {
    "DL3001": r"\b(?:ssh|vim|shutdown|service|ps|free|top|kill|mount)\s",
    "DL3003": r"(?:^|&&|;)\s*cd\s",
    "DL3004": r"\bsudo\s",
    "DL3008": r"\bapt-get\s+(?:-\S+\s+)*install\s+(?:-\S+\s+)*(?![^\s=]+=)[a-z]",
    "DL3009": r"\bapt-get\s+(?:-\S+\s+)*update\b(?!.*rm -rf /var/lib/apt/lists)",
    "DL3013": r"\bpip3?\s+install\s(?!.*--constraint)(?!.*--requirement)(?!.*==)",
    "DL3014": r"\bapt-get\s+install\s(?!.*(?:-y|--yes|-qq)\b)",
    "DL3015": r"\bapt-get\s+(?:-\S+\s+)*install\s(?!.*--no-install-recommends)",
    "DL3027": r"(?:^|&&|;)\s*apt\s",
    "DL3042": r"\bpip3?\s+install\s(?!.*--no-cache-dir)",
    "DL4006": r"[^|]\|[^|]",
}
"""In a RUN, what must not be found; a pipe hides that its first program failed."""
SECRET: Final = re.compile(r"\b\w*(?:password|secret|token|api_?key)\w*[= ]\S", re.IGNORECASE)


def instructions(text: str) -> list[tuple[str, str]]:
    """Each with what follows it, in one line; comments are gone."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    parts = [line.strip().partition(" ")[::2] for line in joined.splitlines() if line.strip()]
    return [(name.upper(), " ".join(rest.split())) for name, rest in parts]


def stages(text: str) -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = [[]]
    for name, rest in instructions(text):
        if name == "FROM" and any(known == "FROM" for known, _ in found[-1]):
            found.append([])
        found[-1].append((name, rest))
    return found


def linted(text: str) -> set[str]:
    """Names of the rules that it breaks."""
    parts = stages(text)
    names = {rest.split()[2] for part in parts for name, rest in part if name == "FROM" and " AS " in rest}
    return {rule for part in parts for rule in (*_of_stage(part), *_of_lines(part, names))} | set(_root(parts[-1]))


def _root(stage: list[tuple[str, str]]) -> Iterator[str]:
    users = [rest for name, rest in stage if name == "USER"]
    if not users or users[-1].split(":")[0] in ("root", "0"):
        yield "DL3002"


def _of_stage(stage: list[tuple[str, str]]) -> Iterator[str]:
    for name, rule in ONCE.items():
        if sum(known == name for known, _ in stage) > 1:
            yield rule
    if not stage or stage[0][0] not in ("FROM", "ARG"):
        yield "DL3061"


def _of_lines(stage: list[tuple[str, str]], names: set[str]) -> Iterator[str]:
    for name, rest in stage:
        yield from _of_line(name, rest, names)


def _of_line(name: str, rest: str, names: set[str]) -> Iterator[str]:
    if name == "FROM":
        yield from _image((rest.split() or [""])[0], names)
    elif name == "RUN":
        yield from (rule for rule, pattern in RUNS.items() if re.search(pattern, rest))
        if subprocess.run(["sh", "-n", "-c", rest], capture_output=True).returncode:
            yield "SC1072"
    elif name in ONCE and not _listed(rest):
        yield "DL3025"
    elif name == "WORKDIR" and not rest.strip("\"'").startswith(("/", "$")):
        yield "DL3000"
    elif name == "ADD":
        yield "DL3020"
    elif name in ("ENV", "ARG") and SECRET.search(rest):
        yield "DL3064"


def _image(image: str, names: set[str]) -> Iterator[str]:
    _, _, tag = image.partition("@" if "@" in image else ":")
    if not tag and image not in (*names, "scratch"):
        yield "DL3006"
    elif tag == "latest":
        yield "DL3007"


def _listed(rest: str) -> bool:
    try:
        return isinstance(json.loads(rest), list)
    except ValueError:
        return False
