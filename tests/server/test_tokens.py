"""Tokens: what is stored of them, when they are accepted, and the commands that make and revoke them."""

from __future__ import annotations

import hmac
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import LedgerError
from discreet.policy import read
from discreet.server import tokens as module
from discreet.server.tokens import FORM, Made, Role, Tokens
from tests.cli.runs import run, told
from tests.server.running import build

HOUR = timedelta(hours=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tokens.sqlite"


def added(tokens: Tokens, role: Role = Role.OWNER, **settings: Any) -> str:
    made = Made.new()
    tokens.add(made, role, **settings)
    return made.text


def test_a_token_is_found_by_its_text_only(path: Path) -> None:
    tokens = Tokens(path)
    text, other = added(tokens, Role.ANALYST, analyst="finance"), Made.new().text
    found = tokens.find(text)
    assert found is not None
    assert (found.role, found.analyst, found.expires) == (Role.ANALYST, "finance", None)
    _, name, secret = text.split("_")
    wrong = [
        "",
        other,
        text[:-1],
        text + "0",
        text.upper(),
        f" {text}",
        f"{text}\n",
        secret,
        name,
        f"discreet_{name}_{other.split('_')[2]}",
        f"discreet_{other.split('_')[1]}_{secret}",
        f"discreet_{name}_{module.NOBODY}",
        f"discreet_{name}_{'0' * 63}٠",
        "discreet_%_%",
        "' OR 1=1 --",
        "\0",
    ]
    assert [tokens.find(each) for each in wrong] == [None] * len(wrong)
    tokens.close()


def test_no_two_tokens_are_alike() -> None:
    made = [Made.new() for _ in range(100)]
    assert len({each.text for each in made}) == 100
    assert all(FORM.fullmatch(each.text) for each in made)


def test_only_digests_are_on_the_disk(path: Path) -> None:
    tokens = Tokens(path)
    text = added(tokens, Role.ANALYST, analyst="finance")
    held = b"".join(file.read_bytes() for file in path.parent.iterdir())
    secret = text.split("_")[2]
    assert b"finance" in held  # the file was really written
    assert secret.encode() not in held
    assert bytes.fromhex(secret) not in held
    assert module._digest(secret).encode() in held
    tokens.close()


def test_files_are_their_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        tokens = Tokens(path)
        added(tokens)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    tokens.close()


def test_a_token_expires(path: Path) -> None:
    tokens = Tokens(path)
    now = datetime.now(UTC)
    assert tokens.find(added(tokens, expires=now - timedelta(seconds=2))) is None
    assert tokens.find(added(tokens, expires=now + HOUR)) is not None
    token = tokens.all()[-1]
    assert token.expires is not None
    assert token.is_valid(token.expires - timedelta(seconds=1))
    assert not token.is_valid(token.expires)
    tokens.close()


def test_an_expiry_means_the_same_in_every_time_zone(path: Path) -> None:
    from datetime import timezone

    tokens = Tokens(path)
    east = datetime.now(timezone(timedelta(hours=9))) + HOUR
    assert tokens.find(added(tokens, expires=east)) is not None
    assert tokens.find(added(tokens, expires=east - 2 * HOUR)) is None
    tokens.close()


def test_a_revocation_by_another_process_holds_at_once(path: Path) -> None:
    tokens = Tokens(path)
    text, other = added(tokens), added(tokens)
    name = text.split("_")[1]
    assert tokens.find(text) is not None
    program = (
        "import sys, pathlib; from discreet.server.tokens import Tokens; "
        "t, name = Tokens(pathlib.Path(sys.argv[1])), sys.argv[2]; "
        "print(*(t.revoke(each) is not None for each in (name, name, 'x')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(path), name], capture_output=True, text=True, check=True, timeout=300
    )
    assert result.stdout.split() == ["True", "False", "False"]
    assert tokens.find(text) is None
    assert tokens.find(other) is not None
    assert [each.revoked is None for each in tokens.all() if each.id == name] == [False]
    tokens.close()


def test_digests_are_compared_in_constant_time_also_where_there_is_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def watched(one: str, two: str) -> bool:
        compared.append((len(one), len(two)))
        return hmac.compare_digest(one, two)

    monkeypatch.setattr(module, "hmac", type("Watched", (), {"compare_digest": staticmethod(watched)}))
    tokens = Tokens(path)
    for text in (added(tokens), Made.new().text, "nonsense", ""):
        tokens.find(text)
    assert compared == [(64, 64)] * 4
    tokens.close()


def test_a_damaged_file_is_told_in_words(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(LedgerError, match=r"tokens\.sqlite"):
        Tokens(path)


# the commands


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return build(tmp_path, patients=1)


def test_a_token_is_made_listed_and_revoked(policy: Path) -> None:
    made = told("token", "create", policy, "--role", "analyst", "--analyst", "finance", "--expires", "90d")
    assert FORM.fullmatch(made["token"])
    assert (made["role"], made["analyst"]) == ("analyst", "finance")
    tokens = Tokens.of(read(policy))
    found = tokens.find(made["token"])
    assert found is not None
    assert found.expires is not None
    assert timedelta(days=89) < found.expires - datetime.now(UTC) <= timedelta(days=90)
    (listed,) = told("token", "list", policy)["tokens"]
    assert (listed["id"], listed["state"], listed["policy"]) == (made["id"], "valid", "hospital")
    assert made["token"].split("_")[2] not in json.dumps(listed)
    assert told("token", "revoke", made["id"], policy) == {"id": made["id"], "policies": ["hospital"]}
    assert tokens.find(made["token"]) is None
    assert told("token", "list", policy)["tokens"][0]["state"] == "revoked"
    assert "no valid token" in run("token", "revoke", made["id"], policy, code=2).output
    tokens.close()


def test_the_only_policy_of_a_folder_need_not_be_named(policy: Path) -> None:
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")  # no policy
    shown = run("token", "create", "--role", "owner")
    text, *_ = shown.stdout.split()
    assert FORM.fullmatch(text)
    assert "owner may ask hospital" in shown.stderr
    assert text.split("_")[1] in run("token", "list").stdout
    run("token", "revoke", text)  # the whole token does, too
    assert "revoked" in run("token", "list").stdout
    policy.with_name("second.toml").write_text(policy.read_text(encoding="utf-8"), encoding="utf-8")
    assert "2 policies" in run("token", "list", code=2).output


def test_one_token_for_two_policies(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = build(tmp_path / "b", patients=1)
    text = told("token", "create", policy, other, "--role", "auditor")["token"]
    for each in (policy, other):
        tokens = Tokens.of(read(each))
        assert tokens.find(text) is not None
        tokens.close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--role", "analyst"], "--analyst goes with"),
        (["--role", "owner", "--analyst", "finance"], "--analyst goes with"),
        (["--role", "analyst", "--analyst", "nobody"], "epidemiology, finance"),
        (["--role", "king"], "king"),
        ([], "--role"),
        (["--role", "owner", "--expires", "yesterday"], "write 90d"),
        (["--role", "owner", "--expires", "2001-01-01"], "is over already"),
        (["--role", "owner", "--expires", "0d"], "is over already"),
        (["--role", "owner", "--expires", "-1d"], "-1d"),
        (["--role", "owner", "--expires", ""], "write 90d"),
    ],
)
def test_wrong_use_is_told_and_makes_no_token(policy: Path, options: list[str], says: str) -> None:
    assert says in run("token", "create", policy, *options, code=2).output
    assert "there is no token" in run("token", "list", policy).output


@pytest.mark.parametrize("far", ["99999w", "9999-12-31", "2127-01-31T12:00:00+09:00"])
def test_a_token_may_last_long(policy: Path, far: str) -> None:
    text = run("token", "create", policy, "--role", "owner", "--expires", far).stdout.split()[0]
    tokens = Tokens.of(read(policy))
    assert tokens.find(text) is not None
    tokens.close()


def test_a_server_does_not_start_where_nobody_could_ask(policy: Path) -> None:
    for _ in range(2):
        found = run("serve", policy, "--port", "0", code=3)
        assert "nobody could ask" in found.output
        assert "discreet token create hospital.toml --role owner" in found.output
        run("token", "revoke", run("token", "create", policy, "--role", "owner").stdout.split()[0], policy)


def test_the_demo_is_for_this_machine_only(policy: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        assert "--demo listens at this machine only" in run("serve", policy, "--demo", "--host", host, code=2).output
    assert "go together" in run("serve", policy, "--certificate", "x.pem", code=2).output
    assert "name a policy" in run("serve", code=2).output
