"""What a folder offers: files to protect, and policies. Nothing outside of it is ever named, opened or listed.

Names come from here and nowhere else: what a form sends must be one of them. Links are not followed, because they lead
elsewhere; names with * ? [ are patterns to a policy, and would mean other files, too.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from discreet.errors import Refused
from discreet.policy import Format, PolicyError, read
from discreet.policy.databases import read_address
from discreet.policy.problems import shown_file
from discreet.policy.section import RuleError
from discreet.policy.sources import EXTENSIONS, is_pattern, read_path

DEPTH: Final = 3
"""Folders within folders that are looked into."""
MAX_FILES: Final = 500
"""Files that are listed, and folders that are looked into."""
MOST_POLICIES: Final = 100
STATE: Final = ".discreet"
DATABASES: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Offered:
    """A file: its path from the folder on, how large it is, and why it cannot be taken, if so."""

    name: str
    bytes: int
    problem: str = ""
    files: int = 1
    """Of a folder whose files are one table: how many there are now."""
    parts: tuple[Offered, ...] = ()
    """Those files, one by one."""

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
    """The files in a folder that look like data, in order; and folders of several, as one table that may grow."""
    files = list(islice(_walk(folder, folder, DEPTH, [MAX_FILES]), MAX_FILES))
    return sorted([*files, *_together(folder, files)], key=lambda each: each.name)


def shown_together(files: Sequence[Offered]) -> list[Offered]:
    """The same files as a form lists them: those of one table under it, so that a year of days is one line."""
    parts = {part.name for each in files for part in each.parts}
    return [each for each in files if each.name not in parts]


def _together(root: Path, files: Sequence[Offered]) -> Iterator[Offered]:
    """A pattern for each folder below that has several files of one kind, if nothing else would be read by it."""
    kinds: dict[str, list[Offered]] = {}
    for each in files:
        folder, _, name = each.name.rpartition("/")
        ending = next((ending for ending in sorted(EXTENSIONS, key=len, reverse=True) if name.endswith(ending)), "")
        if folder and ending and EXTENSIONS[ending] is not Format.DUCKDB:
            kinds.setdefault(f"{folder}/*{ending}", []).append(each)
    for pattern, held in kinds.items():
        if len(held) > 1 and not is_pattern(pattern.rpartition("/")[0]) and _read_by(root, pattern) == _plain(held):
            yield Offered(pattern, sum(each.bytes for each in held), files=len(held), parts=tuple(held))


def _plain(files: Sequence[Offered]) -> set[str]:
    return {each.name for each in files if not each.problem}


def _read_by(root: Path, pattern: str) -> set[str]:
    """The files that a policy reads for a pattern."""
    return {os.path.relpath(path, root) for path in glob.glob(str(Path(glob.escape(str(root))) / pattern))}


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


def is_database(source: str) -> bool:
    """Whether a source is a database and no file: no file of a folder is called so."""
    return source.startswith(DATABASES)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the first form chose: files by the names that the folder offered, and perhaps a database by its address."""

    name: str
    files: tuple[str, ...]
    database: str

    @classmethod
    def of(cls, form: Mapping[str, str]) -> Self:
        files = tuple(form[field] for field in form if field.startswith("file-"))
        return cls(form.get("name", "").strip(), files, form.get("database", "").strip())

    @property
    def sources(self) -> tuple[str, ...]:
        return (*self.files, *([self.database] if self.database else []))

    @property
    def again(self) -> dict[str, Any]:
        """What the form shows when it is shown again: no address that may hold a password."""
        database = "" if _unlike(self.database) else self.database
        return {"name": self.name, "chosen": set(self.files), "database": database}

    def demand(self, folder: Path) -> None:
        """Raise unless each file is one that the folder offers, and the database is named without anything secret."""
        wrong = _unlike(self.database)
        if wrong is not None:
            raise Refused("body-invalid", f"the database {wrong}", wrong.fix)
        if self.files or not self.database:
            demand_offered(folder, list(self.files))


def _unlike(database: str) -> RuleError | None:
    """Why something is no address of a database; its text is not repeated."""
    if not database:
        return None
    try:
        read_address(database.partition("#")[0])
    except RuleError as wrong:
        return wrong
    return None if is_database(database) else RuleError("is no address of PostgreSQL", "begin it with postgresql://")


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
    files = [file for name in names for file in (sorted(_read_by(folder, name)) if is_pattern(name) else [name])]
    for name in files:
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
