"""A larger budget: one number of the file changes, it is recorded, and what cannot be changed safely is left alone."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from discreet.curator.state import ledger_path, open_ledger, raise_budget, recorded_grant
from discreet.errors import Refused
from discreet.ledger import Grant, LedgerError, verify
from discreet.owner import raising
from discreet.owner.raising import grant_more
from discreet.policy import Policy, parse, read
from tests.curator.worlds import hospital

BUDGET = "[budget]\nepsilon = 3.0\ndelta = 1e-6\n"
ROOT = Path(__file__).parents[2]
KILLED = """\
import os, sys
from pathlib import Path
from discreet.owner import raising
from discreet.policy import read
raising.raise_budget = lambda *_: os._exit(9)
raising.grant_more(read(Path(sys.argv[1])), 5, "a new study")
"""
LAYOUTS = {
    "plain": (BUDGET, "3.0"),
    "spaces": ("  [ budget ]  # epsilon = 7\n\tepsilon\t=   3.0   # was 2.0, epsilon = 2.0\n  delta=1e-6\n", "3.0"),
    "comment-first": ("# [budget]\n# epsilon = 3.0\n[budget]\n# epsilon = 3.0\nepsilon = 3.0\ndelta = 1e-6\n", "3.0"),
    "integer": ("[budget]\nepsilon = 3\ndelta = 1e-6\n", "3"),
    "exponent": ("[budget]\nepsilon = 0.3e+1\ndelta = 1e-6\n", "0.3e+1"),
    "last": ("[budget]\ndelta = 1e-6\n\n\nepsilon = 3.0\n", "3.0"),
    "inline": ("budget = { epsilon = 3.0, delta = 1e-6 }\n", "3.0"),
    "inline-last": ("  budget={delta = 1e-6,\tepsilon=3.0}  # epsilon = 7\n", "3.0"),
    "dotted": ("budget.epsilon = 3.0\nbudget.delta = 1e-6\n", "3.0"),
    "unicode": ("# ε für alle 💥\n[budget]\nepsilon = 3.0 # ε\ndelta = 1e-6\n", "3.0"),
}
"""Ways to write a budget, and the number in it."""
ODD = {
    "quoted-inline": 'budget = { "epsilon" = 3.0, delta = 1e-6 }\n',
    "quoted": '[budget]\n"epsilon" = 3.0\ndelta = 1e-6\n',
    "quoted-table": '["budget"]\nepsilon = 3.0\ndelta = 1e-6\n',
}


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return opened(hospital(tmp_path))


def opened(policy: Policy) -> Policy:
    open_ledger(policy).close()
    return policy


def written(tmp_path: Path, budget: str, *, newline: str = "\n") -> Policy:
    """The hospital with its budget like this, its ledger begun."""
    made = hospital(tmp_path)
    text = made.path.read_text(encoding="utf-8")
    assert text.count(BUDGET) == 1
    head, tail = text.split(BUDGET)
    inline = budget.strip().startswith("budget")
    changed = budget + head + tail if inline else head + budget + tail
    made.path.write_bytes(changed.replace("\n", newline).encode())
    return opened(read(made.path))


def left(folder: Path) -> list[str]:
    """Temporary files that somebody forgot."""
    return [each.name for each in folder.iterdir() if each.name.startswith(".")]


def alike(one: bytes, other: bytes) -> int:
    """How many bytes they begin with in common."""
    return next(place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_number_changes(tmp_path: Path, layout: str, newline: str) -> None:
    budget, number = LAYOUTS[layout]
    made = written(tmp_path, budget, newline=newline)
    before = made.path.read_bytes()
    granted = grant_more(made, 4.5, "a new study")
    after = made.path.read_bytes()
    assert len(after) == len(before) + len("4.5") - len(number)
    assert alike(before, after) + alike(before[::-1], after[::-1]) >= len(after) - len("4.5")
    raised = read(made.path)
    assert raised.budget.epsilon == 4.5
    assert raised.analysts == made.analysts
    assert granted == recorded_grant(raised)
    open_ledger(raised).close()


def test_it_is_recorded_with_its_reason(policy: Policy) -> None:
    before = verify(ledger_path(policy))
    grant_more(policy, 5, "a new study")
    report = verify(ledger_path(policy))
    assert report.sound
    assert report.records == before.records + 1


@pytest.mark.parametrize("layout", ODD)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path, layout: str) -> None:
    made = written(tmp_path, ODD[layout])
    before = made.path.read_bytes()
    with pytest.raises(Refused, match="discreet budget raise") as refused:
        grant_more(made, 5, "")
    assert refused.value.code == "policy"
    assert made.path.read_bytes() == before
    assert recorded_grant(made) == recorded_grant(read(made.path))


def test_a_disk_that_fills_meanwhile_leaves_policy_and_ledger_as_they_were(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file said the larger budget, the ledger the smaller: with no room to put it back no server started again."""
    before, names = policy.path.read_bytes(), sorted(policy.path.parent.iterdir())

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fails(*_: object) -> Grant:
        monkeypatch.setattr("discreet.owner.editing.tempfile.mkstemp", full)
        raise LedgerError("the disk is full", "free some space")

    monkeypatch.setattr(raising, "raise_budget", fails)
    with pytest.raises(LedgerError, match="the disk is full"):
        grant_more(policy, 5, "")
    assert policy.path.read_bytes() == before
    assert sorted(policy.path.parent.iterdir()) == names
    with open_ledger(read(policy.path)) as ledger:
        assert ledger.grant.epsilon == 3


def test_words_that_look_like_a_budget_are_not_changed(tmp_path: Path) -> None:
    made = opened(hospital(tmp_path, {'["F", "M"]': '["F", "M", """\n[budget]\nepsilon = 9\n"""]'}))
    grant_more(made, 5, "")
    text = made.path.read_text(encoding="utf-8")
    assert "epsilon = 9\n" in text
    budget = BUDGET.replace("3.0", "5.0")
    before = text.replace(budget, "") + budget
    made.path.write_text(before, encoding="utf-8")
    with pytest.raises(Refused) as refused:
        grant_more(read(made.path), 6, "")
    assert refused.value.code == "policy"
    assert made.path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("wrong", [3, 3.0, 2.9, 1e-9])
def test_it_is_only_ever_more(policy: Policy, wrong: float) -> None:
    before = policy.path.read_bytes()
    with pytest.raises(Refused) as refused:
        grant_more(policy, wrong, "")
    assert refused.value.code == "not-a-raise"
    assert policy.path.read_bytes() == before


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1, 0, 1e10, "much", None, True])
def test_a_number_that_is_none_is_refused(policy: Policy, wrong: float) -> None:
    with pytest.raises(Refused, match="such as 5") as refused:
        grant_more(policy, wrong, "")
    assert refused.value.code == "cost-invalid"


def test_a_large_number_is_read_back_as_it_was_meant(policy: Policy) -> None:
    grant_more(policy, 1e9, "")
    assert read(policy.path).budget.epsilon == 10**9


def test_a_file_that_changed_meanwhile_is_left_alone(policy: Policy) -> None:
    changed = policy.path.read_bytes().replace(b"max = 110", b"max = 120")
    policy.path.write_bytes(changed)
    with pytest.raises(Refused, match="restart the server"):
        grant_more(policy, 5, "")
    assert policy.path.read_bytes() == changed


def test_a_file_that_is_no_policy_any_more_is_left_alone(policy: Policy) -> None:
    changed = policy.path.read_bytes() + b"[nonsense"
    policy.path.write_bytes(changed)
    with pytest.raises(Refused, match="discreet budget raise"):
        grant_more(policy, 5, "")
    assert policy.path.read_bytes() == changed


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_rights_and_links_are_kept(policy: Policy, mode: int) -> None:
    kept = policy.path.parent / "kept"
    kept.mkdir()
    real = policy.path.rename(kept / "real.toml")
    policy.path.symlink_to(real)
    real.chmod(mode)
    grant_more(policy, 5, "")
    assert policy.path.is_symlink()
    assert real.stat().st_mode & 0o777 == mode
    assert read(policy.path).budget.epsilon == 5
    assert left(policy.path.parent) == left(kept) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_file_stays_its_owners(policy: Policy) -> None:
    os.chown(policy.path, 12345, 12346)
    grant_more(policy, 5, "")
    known = policy.path.stat()
    assert (known.st_uid, known.st_gid) == (12345, 12346)


def test_what_cannot_be_recorded_is_taken_back(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    before = policy.path.read_bytes()

    def fails(*_: object) -> None:
        assert policy.path.read_bytes() != before
        raise LedgerError("it is full", "make room")

    monkeypatch.setattr(raising, "raise_budget", fails)
    with pytest.raises(LedgerError):
        grant_more(policy, 5, "")
    assert policy.path.read_bytes() == before
    assert left(policy.path.parent) == []


@pytest.mark.parametrize("call", ["tempfile.mkstemp", "os.fsync", "os.replace"])
def test_what_cannot_be_written_is_left_alone(policy: Policy, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = policy.path.read_bytes()
    monkeypatch.setattr(f"discreet.owner.editing.{call}", fails)
    with pytest.raises(Refused, match="No space left on device"):
        grant_more(policy, 5, "")
    monkeypatch.undo()
    assert policy.path.read_bytes() == before
    assert left(policy.path.parent) == []
    assert recorded_grant(policy) == recorded_grant(read(policy.path))


def test_killed_before_it_is_recorded_the_next_start_says_what_to_do(policy: Policy) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, policy.path], cwd=ROOT, timeout=300, check=False)
    assert killed.returncode == 9
    raised = read(policy.path)
    assert raised.budget.epsilon == 5
    with pytest.raises(LedgerError, match="discreet budget raise"):
        open_ledger(raised)
    raise_budget(raised, "a new study")
    open_ledger(raised).close()
    assert verify(ledger_path(raised)).sound


def test_two_owners_at_once_end_with_the_larger(policy: Policy) -> None:
    grant_more(policy, 6, "the first")
    with pytest.raises(Refused) as refused:
        grant_more(policy, 5, "the second, who saw the old budget")
    assert refused.value.code == "not-a-raise"
    assert parse(policy.path.read_bytes(), policy.path).budget.epsilon == 6


def test_who_is_overtaken_does_not_undo_the_other(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, failures = threading.Event(), threading.Event(), list[Refused]()

    def late(raised: Policy, reason: str) -> Grant:
        if raised.budget.epsilon == 5:
            begun.set()
            go.wait(300)
        return raise_budget(raised, reason)

    def grant(epsilon: float) -> None:
        try:
            grant_more(policy, epsilon, "")
        except Refused as refused:
            failures.append(refused)

    monkeypatch.setattr(raising, "raise_budget", late)
    owners = [threading.Thread(target=grant, args=(epsilon,)) for epsilon in (5, 10)]
    owners[0].start()
    assert begun.wait(300)
    owners[1].start()
    owners[1].join(0.5)  # it ends only if nothing keeps it from overtaking
    go.set()
    for owner in owners:
        owner.join()
    assert not failures
    assert read(policy.path).budget.epsilon == 10
    assert recorded_grant(policy).epsilon == 10


def test_a_mark_at_the_beginning_stays(policy: Policy) -> None:
    before = policy.path.read_bytes()
    policy.path.write_bytes(b"\xef\xbb\xbf" + before)
    grant_more(policy, 5, "a new study")
    assert policy.path.read_bytes() == b"\xef\xbb\xbf" + before.replace(b"3.0", b"5.0", 1)
