"""A larger or a smaller budget, written into the policy file and onto the record in one go.

The file is written first. If the process dies before the record is, the next opening tells: a budget above what is on
record is refused, with the command that ends what was begun; one below it is put on record then.
"""

from __future__ import annotations

import os
import re
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from errno import EMLINK
from fractions import Fraction
from pathlib import Path
from typing import Final

from discreet.curator.state import lower_budget, raise_budget, recorded_grant
from discreet.errors import Refused
from discreet.exact import epsilon as positive
from discreet.files import locked
from discreet.ledger import Grant
from discreet.policy import Policy, PolicyError, parse

_BUDGET: Final = re.compile(r"(?ms)^[ \t]*\[[ \t]*budget[ \t]*\][^\n]*\n(.*?)(?=^[ \t]*\[|\Z)")
_EPSILON: Final = re.compile(r"(?m)^([ \t]*epsilon[ \t]*=[ \t]*)([-+.\w]+)")
_SHORT: Final = re.compile(
    r"(?m)^([ \t]*budget[ \t]*(?:=[ \t]*\{(?:[^}\n#\"']*,)?[ \t]*|\.[ \t]*)epsilon[ \t]*=[ \t]*)([-+.\w]+)"
)
"""`budget = { epsilon = 3.0 }` and `budget.epsilon = 3.0`. The changed file is read again before it is written."""
Record = Callable[[Policy, str], Grant]
BY_HAND: Final = "write it into the policy file yourself, then run `discreet budget raise`"


def grant_more(policy: Policy, epsilon: float, reason: str) -> Grant:
    """Grant so much in all. Only the one number in the file changes; if it cannot be found, nothing does."""
    wanted, now = _wanted(epsilon), policy.budget.epsilon
    if wanted == now and recorded_grant(policy).epsilon < now:  # the file was written and the record not
        return raise_budget(policy, reason)
    if wanted <= now:
        raise Refused("not-a-raise", f"the budget is {float(now):g} already", "write a larger one, or `budget lower`")
    return _locked(policy, wanted, reason, raise_budget)


def grant_less(policy: Policy, epsilon: float, reason: str) -> Grant:
    """Grant so much in all, which is less than before and no less than what is spent already."""
    wanted, now = _wanted(epsilon), policy.budget.epsilon
    if wanted >= now:
        raise Refused("not-a-raise", f"the budget is {float(now):g} already", "write a smaller one, or `budget raise`")
    return _locked(policy, wanted, reason, lower_budget)


def _wanted(epsilon: float) -> Fraction:
    try:
        return positive(epsilon)
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "write a number such as 5") from None


def _locked(policy: Policy, wanted: Fraction, reason: str, record: Record) -> Grant:
    try:
        with locked(policy.state / "raise.lock"):  # who fails puts the file back: it must be nobody else's by then
            return _granted(policy, wanted, reason, record)
    except OSError as wrong:
        raise Refused("policy", f"the budget cannot be changed here: {wrong.strerror}", BY_HAND) from None


def _granted(policy: Policy, wanted: Fraction, reason: str, record: Record) -> Grant:
    before = policy.path.read_bytes()
    encoding = "utf-8-sig" if before.startswith(BOM_UTF8) else "utf-8"
    changed = _changed(before.decode(encoding), float(wanted)).encode(encoding)
    try:
        raised = parse(changed, policy.path)
    except PolicyError as wrong:
        raise Refused("policy", f"the policy file cannot be changed here: {_first(wrong)}", BY_HAND) from None
    if replace(raised, budget=policy.budget) != policy or raised.budget.epsilon != wanted:
        raise Refused("policy", "the policy file is not what is served", "restart the server, and raise it then")
    try:
        _write(policy.path, changed)
    except OSError as wrong:
        raise Refused("policy", f"the policy file cannot be written here: {wrong.strerror}", BY_HAND) from None
    try:
        return record(raised, reason)
    except BaseException:
        _write(policy.path, before)
        raise


def _changed(text: str, epsilon: float) -> str:
    section = _BUDGET.search(text)
    number = _EPSILON.search(text, section.start(1), section.end(1)) if section else _SHORT.search(text)
    if number is None:
        raise Refused("policy", "the budget is not written in a form that can be changed here", BY_HAND)
    return f"{text[: number.start(2)]}{epsilon!r}{text[number.end(2) :]}"


def _first(wrong: PolicyError) -> str:
    problem = wrong.problems[0]
    return f"{problem.where}: {problem.reason}" if problem.where else problem.reason


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, with the rights that the file had."""
    path = path.resolve()
    known = path.stat()
    if known.st_nlink > 1:
        raise OSError(EMLINK, "it has several names (hard links), and would keep one of them")
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
