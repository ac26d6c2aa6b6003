"""An identity provider that does whatever a test wants, right or wrong, behind a transport of httpx."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from discreet.policy import read as read_policy
from discreet.server.app import application
from discreet.server.datasets import Dataset, Datasets
from discreet.server.oidc.provider import Provider
from discreet.server.oidc.routes import SignIns
from discreet.server.oidc.setup import Setup, read
from tests.server.visitor import Site, Visitor

ISSUER = "https://login.example.org/realm"
CLIENT = "discreet"
SECRET = "canary-secret-4711"
CLINIC = """\
scopes = ["groups"]
name = "the clinic"
[[access]]
claim = "groups"
value = "epi"
dataset = "hospital"
role = "analyst"
analyst = "epidemiology"
"""
"""What both kinds of providers are told to ask for, and who is an analyst."""
FILE = f"""
issuer = "{ISSUER}"
client_id = "{CLIENT}"
secret_variable = "DISCREET_TEST_OIDC"
address = "http://127.0.0.1:8000"
{CLINIC}[[access]]
claim = "email"
value = "owner@example.org"
dataset = "hospital"
role = "owner"
[[access]]
claim = ["realm_access", "roles"]
value = "audit"
dataset = "hospital"
role = "auditor"
"""


@cache
def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    assert number >= 0
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


@cache
def curve_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def edwards_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def public(key: Any, kid: str = "one", **more: str) -> dict[str, Any]:
    kinds: dict[type, Any] = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    (kind,) = (algorithm for type_, algorithm in kinds.items() if isinstance(key, type_))
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": kid, "use": "sig", **more}


Answer = Callable[[httpx.Request], httpx.Response]


@dataclass
class Hostile:
    """What it says; tests change it."""

    key: Any = field(default_factory=rsa_key)
    algorithm: str = "RS256"
    header: dict[str, Any] = field(default_factory=lambda: {"kid": "one"})
    claims: dict[str, Any] = field(default_factory=lambda: {"groups": ["epi"]})
    said: dict[str, Any] = field(default_factory=dict)
    keys: list[dict[str, Any]] | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    """Instead of its own, by path."""
    token: Callable[[dict[str, Any]], str] | None = None
    """How a token is made of its claims, where that is not as it should be."""
    nonces: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Nonce and challenge of each code."""
    requests: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/realm")
        self.requests.append(path)
        own = {
            "/.well-known/openid-configuration": self._discovery,
            "/jwks": lambda _: httpx.Response(200, json={"keys": self.keys or [public(self.key)]}),
            "/token": self._token,
        }
        return (self.answers.get(path) or own[path])(request)

    def _discovery(self, _: httpx.Request) -> httpx.Response:
        known = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/jwks",
            "end_session_endpoint": f"{ISSUER}/end",
            "authorization_response_iss_parameter_supported": True,
        }
        return httpx.Response(200, json={**known, **self.said})

    def authorize(self, address: str, code: str = "code-1") -> dict[str, str]:
        """What a browser brings back that was sent to this address, and signed in."""
        assert address.startswith(f"{ISSUER}/authorize?")
        sent = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert sent["redirect_uri"] == "http://127.0.0.1:8000/sign-in/oidc/back"
        assert (sent["response_type"], sent["scope"]) == ("code", "openid groups")
        assert (sent["client_id"], sent["code_challenge_method"]) == (CLIENT, "S256")
        self.nonces[code] = sent["nonce"], sent["code_challenge"]
        return {"code": code, "state": sent["state"], "iss": ISSUER}

    def _token(self, request: httpx.Request) -> httpx.Response:
        sent = dict(parse_qsl(request.content.decode()))
        pair = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        assert pair == f"{CLIENT}:{SECRET}"
        nonce, challenge = self.nonces.get(sent["code"], ("", ""))
        digest = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).decode().rstrip("=")
        if digest != challenge or sent["code"] in self.used:
            return httpx.Response(400, json={"error": "invalid_grant"})
        self.used.add(sent["code"])
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": "user-17", "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce}
        claims = {name: value for name, value in {**claims, **self.claims}.items() if value is not None}
        return httpx.Response(200, json={"access_token": "x", "token_type": "Bearer", "id_token": self._made(claims)})

    def _made(self, claims: dict[str, Any]) -> str:
        if self.token is not None:
            return self.token(claims)
        return str(jwt.encode(claims, self.key, algorithm=self.algorithm, headers=self.header))


@dataclass
class World:
    """The pages, with a provider that tests may change."""

    site: Site
    sign_ins: SignIns
    hostile: Hostile

    def begun(self, visitor: Visitor, back: str = "/") -> dict[str, str]:
        """What the provider sends a browser back with."""
        sent = visitor.get("/sign-in/oidc", params={"back": back})
        assert sent.status_code == 303, sent.text
        return self.hostile.authorize(sent.headers["location"], f"code-{len(self.hostile.nonces)}")

    def ended(self, visitor: Visitor, brought: dict[str, str]) -> httpx.Response:
        return visitor.get("/sign-in/oidc/back", params=brought)

    def sign_in(self, visitor: Visitor | None = None, back: str = "/") -> httpx.Response:
        visitor = visitor or self.site.visitor()
        return self.ended(visitor, self.begun(visitor, back))


def setup_of(folder: Path, text: str = FILE) -> Setup:
    path = folder / "oidc.toml"
    path.write_text(text, encoding="utf-8")
    return read(path)


@contextmanager
def world(policy: Path) -> Iterator[World]:
    """The pages over a policy and a provider, in this process."""
    import asyncio

    hostile = Hostile()
    sign_ins = SignIns(Provider(setup_of(policy.parent), httpx.MockTransport(lambda request: hostile(request))))
    app = application(Datasets([Dataset(read_policy(policy))]), workers=1, provider=sign_ins)
    made = World(Site(app, policy, {}, asyncio.new_event_loop()), sign_ins, hostile)
    try:
        yield made
    finally:
        made.site.close()
