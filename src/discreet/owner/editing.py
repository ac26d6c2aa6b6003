"""Changes of a policy file: one place of it changes, and all else stays as its owner wrote it.

The changed text is read before it is written: unless it says what was there and the one change, nothing is written. A
file that somebody edited meanwhile is left alone, and so is one that says things in a way that is not understood here.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from errno import EMLINK
from pathlib import Path
from typing import Final

from discreet.errors import Refused
from discreet.files import locked
from discreet.owner.check import LINTS, name_of
from discreet.owner.toml import key, quoted
from discreet.policy import Percentage, Policy, PolicyError, Share, parse
from discreet.policy.section import RuleError, epsilon, identifier, percent, text

BY_HAND: Final = "write it into the policy file yourself"
MAX_FINDING: Final = 1000
_LIST: Final = re.compile(r"(?m)^[ \t]*acknowledged[ \t]*=[ \t]*\[")
_OPENING: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*")
"""Comments and empty lines at the top of a file."""


def acknowledge(policy: Policy, finding: str) -> Policy:
    """Write a finding of `check` into the policy as known and meant so; the policy that says it."""
    where, colon, lint = finding.rpartition(": ")
    if not (where and colon and where.isprintable() and len(finding) <= MAX_FINDING and lint in map(name_of, LINTS)):
        raise Refused(
            "policy",
            "this is no finding that could be acknowledged",
            "write it as `discreet check` shows it, such as 'tables.visits.max_rows: cut-rows'",
        )
    if finding in policy.acknowledged:
        return policy
    wanted = (*policy.acknowledged, finding)
    return _written(policy, lambda before: _with_list(before, wanted), replace(policy, acknowledged=wanted))


def add_analyst(policy: Policy, name: str, share: str) -> Policy:
    """Write an analyst with a share into the policy: an ε such as 0.5, or a part of the budget such as 25 %."""
    try:
        part = _share(share)
        text(identifier(name))
    except (RuleError, ValueError) as wrong:
        fix = getattr(wrong, "fix", "") or "write a share such as 0.5, or 25 %"
        raise Refused("policy", f"this cannot be written into the policy: {wrong}", fix) from None
    if name in policy.analysts:
        raise Refused("policy", "there is an analyst of this name already", "change the share in the policy file")
    value = f'share = "{share.strip()}"' if isinstance(part, Percentage) else f"epsilon = {float(part)!r}"
    more = f"\n[analysts.{key(name)}]\n{value}\n"
    wanted = replace(policy, analysts={**policy.analysts, name: part})
    return _written(policy, lambda before: f"{before.rstrip()}\n{more}", wanted)


def _share(written: str) -> Share:
    """What an analyst may spend, as somebody writes it."""
    if "%" in written:
        return Percentage(percent(written.strip()))
    try:
        return epsilon(float(written))
    except ValueError:
        raise RuleError("the share is no positive number", "write a share such as 0.5, or 25 %") from None


def _written(policy: Policy, change: Callable[[str], str], wanted: Policy) -> Policy:
    with changing(policy, change, lambda changed: changed == wanted) as changed:
        return changed


def _with_list(before: str, findings: tuple[str, ...]) -> str:
    listed = f"acknowledged = [{', '.join(map(quoted, findings))}]"
    listing = _LIST.search(before)
    if listing is None:
        opening = _OPENING.match(before)
        begins = opening.end() if opening else 0
        return f"{before[:begins]}{listed}\n{before[begins:]}"
    for end in re.finditer(r"\]", before[listing.end() :]):
        ends = listing.end() + end.end()
        with suppress(ValueError):
            tomllib.loads(before[listing.start() : ends])
            return f"{before[: listing.start()]}{listed}{before[ends:]}"
    return before


@contextmanager
def changing(
    policy: Policy, change: Callable[[str], str], is_meant: Callable[[Policy], bool], by_hand: str = BY_HAND
) -> Iterator[Policy]:
    """The policy as it is after the change, which is written; if what is done then fails, the file is put back.

    That needs no room: a disk that is full is why it fails.
    """
    try:
        policy.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(policy.state / "raise.lock"):  # who fails puts the file back: it must be nobody else's by then
            before = policy.path.read_bytes()
            content, changed = _changed(policy, before, change, by_hand)
            if not is_meant(changed):
                raise Refused(
                    "policy",
                    "the policy file is not what is served",
                    "restart the server, or open it again, and change it then",
                )
            with _staged_or_refused(policy.path, (before, content), by_hand) as (old, new):
                os.replace(new, policy.path.resolve())
                try:
                    yield changed
                except BaseException:
                    os.replace(old, policy.path.resolve())
                    raise
    except OSError as wrong:
        raise Refused("policy", f"the policy cannot be changed here: {wrong.strerror}", by_hand) from None


def _changed(policy: Policy, before: bytes, change: Callable[[str], str], by_hand: str) -> tuple[bytes, Policy]:
    encoding = "utf-8-sig" if before.startswith(BOM_UTF8) else "utf-8"
    try:
        parse(before, policy.path)
    except PolicyError as wrong:
        problem = wrong.problems[0]
        fix = f"correct it and do this again, or {by_hand}"
        raise Refused("policy", f"the policy file is broken: {problem.reason}", fix) from None
    try:
        content = change(before.decode(encoding)).encode(encoding)
        return content, parse(content, policy.path)
    except UnicodeError:
        raise Refused("policy", "the policy file is not UTF-8", by_hand) from None
    except PolicyError as wrong:
        problem = wrong.problems[0]
        raise Refused("policy", f"the policy file cannot be changed here: {problem.reason}", by_hand) from None


@contextmanager
def _staged_or_refused(path: Path, contents: Sequence[bytes], by_hand: str) -> Iterator[list[Path]]:
    with ExitStack() as held:
        try:
            staged = [held.enter_context(_staged(path.resolve(), content)) for content in contents]
        except OSError as wrong:
            raise Refused("policy", f"the policy file cannot be written here: {wrong.strerror}", by_hand) from None
        yield staged


def write(path: Path, content: bytes) -> None:
    """All of it or nothing, with the rights that the file had."""
    path = path.resolve()
    with _staged(path, content) as fresh:
        os.replace(fresh, path)


@contextmanager
def _staged(path: Path, content: bytes) -> Iterator[Path]:
    """What may take the place of a file, with the rights that it has: all of it is on disk. At the end it is gone."""
    known = path.stat()
    if known.st_nlink > 1:
        raise OSError(EMLINK, "it has several names (hard links), and would keep one of them")
    with _on_disk(path, content) as fresh:
        if (known.st_uid, known.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.chown(fresh, known.st_uid, known.st_gid)
        fresh.chmod(known.st_mode & 0o777)
        yield fresh


def write_new(path: Path, content: bytes) -> None:
    """A file that was not there: all of it or nothing, and never in the place of another. `FileExistsError` then."""
    with _on_disk(path, content) as fresh:
        fresh.chmod(0o644)
        os.link(fresh, path)


@contextmanager
def _on_disk(path: Path, content: bytes) -> Iterator[Path]:
    """A file beside this one, all of which is on disk. At the end it is gone, unless it has another name by then."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
