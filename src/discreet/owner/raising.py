"""A larger budget, written into the policy file and onto the record in one go."""

from __future__ import annotations

import os
import re
import tempfile
from codecs import BOM_UTF8
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from discreet.curator.state import raise_budget
from discreet.errors import Refused
from discreet.exact import epsilon as positive
from discreet.files import locked
from discreet.ledger import Grant
from discreet.policy import Policy, PolicyError, parse

_BUDGET: Final = re.compile(r"(?ms)^[ \t]*\[[ \t]*budget[ \t]*\][^\n]*\n(.*?)(?=^[ \t]*\[|\Z)")
_EPSILON: Final = re.compile(r"(?m)^([ \t]*epsilon[ \t]*=[ \t]*)([-+.\w]+)")
BY_HAND: Final = "write it into the policy file yourself, then run `discreet budget raise`"


def grant_more(policy: Policy, epsilon: float, reason: str) -> Grant:
    """Grant so much in all. Only the one number in the file changes; if it cannot be found, nothing does."""
    try:
        wanted = positive(epsilon)
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "write a number such as 5") from None
    if wanted <= policy.budget.epsilon:
        raise Refused("not-a-raise", f"the budget is {float(policy.budget.epsilon):g} already", "write a larger one")
    try:
        with locked(policy.state / "raise.lock"):  # who fails puts the file back: it must be nobody else's by then
            return _granted(policy, wanted, reason)
    except OSError as wrong:
        raise Refused("policy", f"the budget cannot be raised here: {wrong.strerror}", BY_HAND) from None


def _granted(policy: Policy, wanted: Fraction, reason: str) -> Grant:
    before = policy.path.read_bytes()
    encoding = "utf-8-sig" if before.startswith(BOM_UTF8) else "utf-8"
    changed = _changed(before.decode(encoding), float(wanted)).encode(encoding)
    try:
        raised = parse(changed, policy.path)
    except PolicyError:
        raise Refused("policy", "the policy file cannot be changed here", BY_HAND) from None
    if replace(raised, budget=policy.budget) != policy or raised.budget.epsilon != wanted:
        raise Refused("policy", "the policy file is not what is served", "restart the server, and raise it then")
    try:
        _write(policy.path, changed)
    except OSError as wrong:
        raise Refused("policy", f"the policy file cannot be written here: {wrong.strerror}", BY_HAND) from None
    try:
        return raise_budget(raised, reason)
    except BaseException:
        _write(policy.path, before)
        raise


def _changed(text: str, epsilon: float) -> str:
    section = _BUDGET.search(text)
    number = _EPSILON.search(text, section.start(1), section.end(1)) if section else None
    if number is None:
        raise Refused("policy", "the budget is not written in a form that can be changed here", BY_HAND)
    return f"{text[: number.start(2)]}{epsilon!r}{text[number.end(2) :]}"


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, with the rights that the file had."""
    path = path.resolve()
    known = path.stat()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if (known.st_uid, known.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.chown(name, known.st_uid, known.st_gid)
        os.chmod(name, known.st_mode & 0o777)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
