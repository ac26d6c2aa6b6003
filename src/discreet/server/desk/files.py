"""What a folder offers: files to protect, and policies. Nothing outside of it is ever named, opened or listed.

Names come from here and nowhere else: what a form sends must be one of them. Links are not followed, because they lead
elsewhere; names with * ? [ are patterns to a policy, and would mean other files, too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from discreet.errors import Refused
from discreet.policy import PolicyError, read
from discreet.policy.problems import shown_file
from discreet.policy.section import RuleError
from discreet.policy.sources import EXTENSIONS, is_pattern, read_path

DEPTH: Final = 3
"""Folders within folders that are looked into."""
MAX_FILES: Final = 500
"""Files that are listed, and folders that are looked into."""
MOST_POLICIES: Final = 100
STATE: Final = ".discreet"


@dataclass(frozen=True, slots=True)
class Offered:
    """A file: its path from the folder on, how large it is, and why it cannot be taken, if so."""

    name: str
    bytes: int
    problem: str = ""

    @property
    def size(self) -> str:
        """In words.

        >>> Offered("a.csv", 12_345_678).size, Offered("a.csv", 12).size
        ('12.3 MB', '12 bytes')
        """
        for unit, many in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
            if self.bytes >= many:
                return f"{self.bytes / many:.1f} {unit}"
        return f"{self.bytes} bytes"


@dataclass(frozen=True, slots=True)
class Written:
    """A policy file of the folder: what it is called, or what is wrong with it."""

    file: str
    name: str
    problem: str = ""


def offered(folder: Path) -> list[Offered]:
    """The files in a folder that look like data, in order."""
    return sorted(islice(_walk(folder, folder, DEPTH, [MAX_FILES]), MAX_FILES), key=lambda each: each.name)


def _walk(root: Path, folder: Path, depth: int, left: list[int]) -> Iterator[Offered]:
    left[0] -= 1
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth and left[0] > 0 and not entry.name.endswith(STATE):
                yield from _walk(root, Path(entry.path), depth - 1, left)
        elif entry.name.lower().endswith(tuple(EXTENSIONS)):
            yield _offered(os.path.relpath(entry.path, root), entry)


def _offered(name: str, entry: os.DirEntry[str]) -> Offered:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return Offered(_printed(name), 0, "cannot be read")
    problem = ""
    if stat.S_ISLNK(status.st_mode):
        problem = "is a link, and may lead out of the folder"
    elif not stat.S_ISREG(status.st_mode):
        problem = "is no regular file"
    elif not name.isprintable():
        problem = "has a name that cannot be shown: rename it"
    elif is_pattern(name):
        problem = "has * ? or [ in its name, which would be a pattern: rename it"
    else:
        try:
            read_path(name)
        except RuleError as wrong:
            problem = str(wrong)
    return Offered(_printed(name), status.st_size, problem)


def _printed(name: str) -> str:
    return shown_file(name)


def demand_offered(folder: Path, names: list[str]) -> list[str]:
    """The same names, if each of them is a file that the folder offers now."""
    known = {each.name for each in offered(folder) if not each.problem}
    if not names:
        raise Refused("file-unknown", "no file was chosen", "choose at least one")
    for name in names:
        if name not in known:
            raise Refused("file-unknown", "there is no such file in the folder", "choose among those that are listed")
    return names


def demand_inside(folder: Path, names: Sequence[str]) -> None:
    """Raise if a file that was offered leads out of the folder by now: it, or a folder on the way to it, is a link."""
    for name in names:
        path = folder / name
        steps = [path, *path.parents[: len(Path(name).parts) - 1]]
        if any(step.is_symlink() for step in steps) or (path.exists() and not path.is_file()):
            raise Refused("file-unknown", f"{name} is no file of the folder any more", "choose the files again")


def policies(folder: Path) -> list[Written]:
    """The policies of the folder itself: regular files that end in .toml."""
    listed: list[Written] = []
    for path in sorted(folder.glob("*.toml"))[:MOST_POLICIES]:
        if path.name.startswith(".") or path.is_symlink() or not path.is_file() or not path.name.isprintable():
            continue
        try:
            listed.append(Written(path.name, read(path).name))
        except PolicyError as wrong:
            listed.append(Written(path.name, path.stem, str(wrong.problems[0])))
    return listed
