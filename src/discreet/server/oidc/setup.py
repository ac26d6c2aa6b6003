"""Who may sign in through an identity provider, and as what: a file of the operator's. Nothing secret stands in it.

    issuer = "https://login.example.org/realms/clinic"
    client_id = "discreet"
    secret_variable = "DISCREET_OIDC_SECRET"     # or secret_file = "/run/…"; neither for a public client
    address = "https://discreet.example.org"     # where browsers find this server

    [[access]]
    claim = "groups"
    value = "epidemiologists"
    dataset = "hospital"
    role = "analyst"
    analyst = "epidemiology"

Of several entries that fit somebody, the first for each dataset counts. Whom none fits is not let in.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from discreet.errors import Refused
from discreet.server.datasets import Datasets, Granted
from discreet.server.tokens import Role

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
MAX_BYTES: Final = 2**18
MAX_LETTERS: Final = 500
SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,100}")
KEYS: Final = {
    "issuer": str,
    "client_id": str,
    "address": str,
    "secret_variable": str,
    "secret_file": str,
    "scopes": list,
    "name": str,
    "hours": int,
    "access": list,
}
RULE: Final = {"claim", "value", "dataset", "role", "analyst"}


def wrong(reason: str, fix: str) -> Refused:
    return Refused("sign-in-setup", reason, fix)


@dataclass(frozen=True, slots=True)
class Rule:
    """Whom an entry fits, and what it lets them do."""

    claim: tuple[str, ...]
    """The name of a claim; several lead into tables within it."""
    value: str
    grant: Granted

    def fits(self, claims: Mapping[str, Any]) -> bool:
        """Whether the claim is this text, or a list that has it. An address counts only if it was verified."""
        if self.claim == ("email",) and claims.get("email_verified") is not True:
            return False
        content: Any = claims
        for name in self.claim:
            content = content.get(name) if isinstance(content, Mapping) else None
        values = content if isinstance(content, list) else [content]
        return any(isinstance(value, str) and value == self.value for value in values)


@dataclass(frozen=True, slots=True)
class Setup:
    """What the file says, and the secret that it names."""

    issuer: str
    client_id: str
    address: str
    rules: tuple[Rule, ...]
    scopes: tuple[str, ...] = ()
    name: str = "your organisation"
    hours: int = 8
    secret: str = field(default="", repr=False)

    @property
    def back(self) -> str:
        """Where the provider sends browsers back to."""
        return f"{self.address}/sign-in/oidc/back"

    @property
    def is_encrypted(self) -> bool:
        return self.address.startswith("https://")

    def grants(self, claims: Mapping[str, Any]) -> tuple[Granted, ...]:
        """What somebody with these claims may do: for each dataset what the first entry that fits says."""
        by_dataset: dict[str, Granted] = {}
        for rule in self.rules:
            if rule.fits(claims):
                by_dataset.setdefault(rule.grant.dataset, rule.grant)
        return tuple(by_dataset.values())

    def demand_served(self, datasets: Datasets) -> None:
        """Raise if an entry is about a dataset or an analyst that there is not."""
        for rule in self.rules:
            if rule.grant.dataset not in datasets:
                known = ", ".join(datasets)
                raise wrong(f"access: {rule.grant.dataset!r} is not served here", f"name one of: {known}")
            analysts = datasets[rule.grant.dataset].curator.policy.analysts
            if rule.grant.analyst is not None and rule.grant.analyst not in analysts:
                known = ", ".join(analysts) or "there are none"
                raise wrong(f"access: {rule.grant.analyst!r} has no share in the policy", f"analysts: {known}")


def read(path: Path) -> Setup:
    """The file, or a refusal that says what is wrong with it and repeats no secret."""
    try:
        text = path.read_bytes()
        raw = tomllib.loads(text[:MAX_BYTES].decode()) if len(text) <= MAX_BYTES else None
    except OSError as failed:
        raise wrong(f"{path}: {failed.strerror}", "name a file that can be read") from None
    except (ValueError, RecursionError):
        raw = None
    if raw is None:
        raise wrong(f"{path} is no TOML file of at most {MAX_BYTES} bytes", "see the guide, page 44")
    return _setup(raw)


def _setup(raw: Mapping[str, Any]) -> Setup:
    for key, value in raw.items():
        if key not in KEYS:
            raise wrong(f"{key[:50]!r} is not known here", f"keys: {', '.join(KEYS)}")
        if type(value) is not KEYS[key] or not value:
            raise wrong(f"{key} is no {KEYS[key].__name__}, or empty", "see the guide, page 44")
    missing = [key for key in ("issuer", "client_id", "address", "access") if key not in raw]
    if missing:
        raise wrong(f"{', '.join(missing)} missing", "see the guide, page 44")
    _demand_address("issuer", raw["issuer"])
    _demand_address("address", raw["address"], bare=True)
    scopes = raw.get("scopes", [])
    if not all(isinstance(scope, str) and SCOPE.fullmatch(scope) for scope in scopes):
        raise wrong("scopes are a list of words", 'write scopes = ["groups"]')
    hours = raw.get("hours", 8)
    if not 1 <= hours <= 12:
        raise wrong("hours are 1 to 12", "write hours = 8")
    more = {"name": raw["name"][:60]} if "name" in raw else {}
    return Setup(
        issuer=raw["issuer"],
        client_id=raw["client_id"][:MAX_LETTERS],
        address=raw["address"].rstrip("/"),
        rules=tuple(_rule(each) for each in raw["access"]),
        scopes=tuple(scopes),
        hours=hours,
        secret=_secret(raw),
        **more,
    )


def _demand_address(key: str, value: str, *, bare: bool = False) -> None:
    """Raise unless it is an https address without anything secret in it; http is for this machine alone."""
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    is_plain = value.isascii() and value.isprintable() and " " not in value and "@" not in parts.netloc
    if not (host and is_safe and is_plain) or parts.query or parts.fragment or len(value) > MAX_LETTERS:
        raise wrong(f"{key} is no https address", f'write {key} = "https://…"; http is for this machine alone')
    if bare and parts.path not in ("", "/"):
        raise wrong(f"{key} has a path, and pages are at the top of a host", "leave the path out")


def _rule(raw: object) -> Rule:
    if not isinstance(raw, dict) or not {"claim", "value", "dataset", "role"} <= raw.keys() <= RULE:
        raise wrong("an entry of access has claim, value, dataset and role", f"keys: {', '.join(sorted(RULE))}")
    claim = raw["claim"] if isinstance(raw["claim"], list) else [raw["claim"]]
    texts = [*claim, *(raw[key] for key in ("value", "dataset", "role"))]
    if not claim or not all(isinstance(text, str) and 0 < len(text) <= MAX_LETTERS for text in texts):
        raise wrong("an entry of access has texts", 'write claim = "groups" and value = "epidemiologists"')
    if raw["role"] not in list(Role):
        raise wrong(f"there is no role {raw['role'][:50]!r}", f"roles: {', '.join(Role)}")
    role, analyst = Role(raw["role"]), raw.get("analyst")
    if (role is Role.ANALYST) != (isinstance(analyst, str) and bool(analyst)):
        raise wrong("analysts are named, and nobody else is", 'write analyst = "…" for the role analyst alone')
    return Rule(tuple(claim), raw["value"], Granted(raw["dataset"], role, analyst))


def _secret(raw: Mapping[str, Any]) -> str:
    """From a variable or a file; empty for a client without one."""
    if "secret_variable" in raw and "secret_file" in raw:
        raise wrong("the secret is in a variable or in a file", "leave one of them out")
    if "secret_variable" in raw:
        content = os.environ.get(raw["secret_variable"], "")
    elif "secret_file" in raw:
        try:
            content = Path(raw["secret_file"]).read_text(encoding="utf-8")
        except (OSError, ValueError):
            content = ""
    else:
        return ""
    if not content.strip() or len(content) > MAX_LETTERS or not content.strip().isprintable():
        raise wrong("the secret is missing, or none", "set the variable, or name a file that has it and nothing else")
    return content.strip()
