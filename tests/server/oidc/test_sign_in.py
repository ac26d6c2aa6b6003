"""Signing in through an identity provider that does all it can to be believed when it should not be."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import jwt
import pytest

from discreet.errors import Refused
from discreet.server.datasets import Granted
from discreet.server.oidc import provider as providers
from discreet.server.oidc import routes
from discreet.server.oidc.provider import ALGORITHMS
from discreet.server.tokens import Role
from tests.cli.runs import run
from tests.server.oidc.hostile import (
    CLIENT,
    FILE,
    ISSUER,
    SECRET,
    Hostile,
    World,
    curve_key,
    edwards_key,
    public,
    rsa_key,
    setup_of,
    world,
)
from tests.server.running import POLICY, build
from tests.server.visitor import shown

CANARY = "xyzzy-4711"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_TEST_OIDC", f"{SECRET}\n")
        with world(build(tmp_path_factory.mktemp("oidc"), patients=3)) as made:
            yield made


@pytest.fixture
def here(shared: World) -> World:
    """A provider that is new, and behaves."""
    shared.hostile.__dict__.update(Hostile().__dict__)
    provider = shared.sign_ins.provider
    provider._endpoints, provider._keys, provider._failed, provider._fetched = None, [], -1e9, -1e9
    shared.site.app.state.app_state.rates._guesses.clear()
    return shared


def refusal(response: httpx.Response, code: str = "sign-in-failed") -> str:
    """The words of a refusal; nobody was signed in by it."""
    assert response.headers["discreet-code"] == code, shown(response.text)
    assert "discreet=" not in response.headers.get("set-cookie", "")
    words = shown(response.text)
    assert SECRET not in words
    assert CANARY not in words
    return words


def test_somebody_signs_in_asks_and_signs_out(here: World) -> None:
    visitor = here.site.visitor()
    assert "Sign in with the clinic" in visitor.get("/sign-in", params={"back": "/data/hospital/ledger"}).text
    arrived = here.sign_in(visitor, "/data/hospital/ledger")
    assert (arrived.status_code, arrived.headers["location"]) == (303, "/data/hospital/ledger")
    page = visitor.get("/data/hospital")
    assert page.status_code == 200
    assert "hospital · epidemiology" in shown(page.text)
    place = visitor.ask("SELECT COUNT(*) AS n FROM patients")
    assert visitor.get(place).status_code == 200
    assert visitor.get("/data/hospital/owner").status_code == 403
    out = visitor.send("/sign-out")
    assert out.headers["location"] == "/sign-in?ended=1"
    ended = visitor.get(out.headers["location"])
    assert f"{ISSUER}/end?client_id={CLIENT}" in ended.text
    assert "You are signed out here." in shown(ended.text)
    assert visitor.get("/data/hospital").status_code == 303


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"groups": "epi"}, "epidemiology"),
        ({"groups": ["x", "epi"]}, "epidemiology"),
        ({"groups": None, "email": "owner@example.org", "email_verified": True}, "owner"),
        ({"groups": None, "realm_access": {"roles": ["audit"]}}, "auditor"),
        ({"groups": ["epi"], "email": "owner@example.org", "email_verified": True}, "epidemiology"),
    ],
)
def test_claims_become_roles_and_the_first_entry_counts(here: World, claims: dict[str, Any], role: str) -> None:
    here.hostile.claims = claims
    visitor = here.site.visitor()
    assert here.sign_in(visitor).status_code == 303
    assert f"hospital · {role}" in shown(visitor.get("/data/hospital/ledger").text)


@pytest.mark.parametrize(
    "claims",
    [
        {"groups": None},
        {"groups": []},
        {"groups": ["EPI"]},
        {"groups": "epi "},
        {"groups": ["\uff45\uff50\uff49", "\u0435pi", "epi\u200b", "epi\0"]},
        {"groups": None, "email": "Owner@example.org", "email_verified": True},
        {"groups": None, "email": "owner@ex\u0430mple.org", "email_verified": True},
        {"groups": None, "email": ["owner@example.org"], "email_verified": ["true"]},
        {"groups": [["epi"]]},
        {"groups": {"epi": True}},
        {"groups": True},
        {"groups": None, "email": "owner@example.org"},
        {"groups": None, "email": "owner@example.org", "email_verified": "true"},
        {"groups": None, "email": "owner@example.org", "email_verified": False},
        {"groups": None, "realm_access": ["roles"]},
        {"groups": None, "realm_access.roles": "audit"},
    ],
)
def test_without_an_entry_nobody_is_let_in(here: World, claims: dict[str, Any]) -> None:
    here.hostile.claims = claims
    assert "nothing here is open to you" in refusal(here.sign_in(), "forbidden")


def test_whoever_the_policy_no_longer_knows_is_shut_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TEST_OIDC", SECRET)
    with world(build(tmp_path, patients=3)) as made:
        visitor = made.site.visitor()
        assert made.sign_in(visitor).status_code == 303
        assert visitor.get("/data/hospital").status_code == 200
        without = POLICY.replace("[analysts.epidemiology]\nepsilon = 10.0\n", "")
        made.site.policy.write_text(without, encoding="utf-8")
        made.site.app.state.app_state.datasets.reload()
        assert visitor.get("/data/hospital").status_code == 303


def test_a_session_lasts_as_long_as_the_file_says(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = here.site.visitor()
    assert here.sign_in(visitor).status_code == 303
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + 8 * 3600 - 60)
    assert visitor.get("/data/hospital").status_code == 200
    monkeypatch.setattr(time, "monotonic", lambda: real() + 8 * 3600)
    assert visitor.get("/data/hospital").status_code == 303


# the way there and back


def test_an_answer_is_used_once(here: World) -> None:
    visitor = here.site.visitor()
    brought = here.begun(visitor)
    assert here.ended(visitor, brought).status_code == 303
    assert "used already" in refusal(here.ended(visitor, brought))
    again = here.begun(visitor)
    assert "does not accept the code" in refusal(here.ended(visitor, {**again, "code": brought["code"]}))


def test_nobody_is_signed_in_by_a_link_of_somebody_else(here: World) -> None:
    """Login CSRF: the attacker's own answer, brought by the victim's browser."""
    attacker, victim = here.site.visitor(), here.site.visitor()
    brought = here.begun(attacker)
    assert "not begun by this browser" in refusal(here.ended(victim, brought))
    here.begun(victim)
    assert "not begun by this browser" in refusal(here.ended(victim, here.begun(attacker)))
    assert "not begun by this browser" in refusal(here.ended(attacker, brought)), "it was taken by then"


@pytest.mark.parametrize("state", ["", "x", "0" * 64, "'; DROP TABLE", "\ud7ff", "9" * 10_000])
def test_a_state_that_is_none(here: World, state: str) -> None:
    refusal(here.ended(here.site.visitor(), {"state": state, "code": "x", "iss": ISSUER}))


def test_what_is_too_long_ago_is_forgotten(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = here.site.visitor()
    brought, real = here.begun(visitor), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + routes.LASTS)
    assert "too long ago" in refusal(here.ended(visitor, brought))


def test_those_who_begin_and_never_end_take_nothing_from_others(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a list of those who are on their way would be filled by anybody, and others had to begin again."""
    monkeypatch.setattr(routes, "MAX_ENDED", 5)
    visitor, flood = here.site.visitor(), here.site.visitor()
    brought = here.begun(visitor, "/data/hospital/ledger")
    many = [here.begun(flood) for _ in range(9)]
    for each in many[:8]:
        refusal(here.ended(flood, {**each, "code": "guessed"}))
    assert len(here.sign_ins.ended._ended) <= 5
    arrived = here.ended(visitor, brought)
    assert (arrived.status_code, arrived.headers["location"]) == (303, "/data/hospital/ledger")
    assert "used already" in refusal(here.ended(visitor, brought))
    assert here.ended(flood, many[-1]).status_code == 303, "several may be begun in one browser"


@pytest.mark.parametrize("checks", [True, False], ids=["PKCE is looked at", "only the nonce tells"])
def test_two_browsers_that_swap_their_codes_are_nobody(here: World, checks: bool) -> None:
    """Whoever slips their own code under somebody else's state would sign them in as themselves, or the other way."""
    one, other = here.site.visitor(), here.site.visitor()
    brought, theirs = here.begun(one), here.begun(other)
    if not checks:  # a provider that forgets the challenge, and keeps each nonce with its code
        token = here.hostile._token

        def forgets(request: httpx.Request) -> httpx.Response:
            sent = dict(parse_qsl(request.content.decode()))
            digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            here.hostile.nonces[sent["code"]] = here.hostile.nonces[sent["code"]][0], challenge
            return token(request)

        here.hostile.answers["/token"] = forgets
    refusal(here.ended(one, {**brought, "code": theirs["code"]}))
    refusal(here.ended(other, {**theirs, "state": brought["state"]}))
    refusal(here.ended(one, brought))


@pytest.mark.parametrize("ours", [True, False], ids=["as it calls itself", "without its slash"])
def test_an_issuer_with_a_slash_at_its_end(here: World, monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    monkeypatch.setattr(here.sign_ins.provider, "setup", replace(here.sign_ins.provider.setup, issuer=f"{ISSUER}/"))
    here.hostile.said = {"issuer": f"{ISSUER}/"}
    here.hostile.claims = {"groups": ["epi"], "iss": f"{ISSUER}/" if ours else ISSUER}
    visitor = here.site.visitor()
    found = here.ended(visitor, {**here.begun(visitor), "iss": f"{ISSUER}/"})
    if ours:
        assert found.status_code == 303
    else:
        refusal(found)


def test_a_state_of_somebody_else_s_making(here: World) -> None:
    """Every letter counts, and a process knows no state of another one."""
    visitor = here.site.visitor()
    brought = here.begun(visitor)
    state = brought["state"]
    wrong = [
        state[:index] + ("0" if state[index] != "0" else "1") + state[index + 1 :] for index in (0, 15, 40, 100, -1)
    ]
    wrong += [state + "0", state[:-1], state.upper(), f" {state}", routes.Secret().state("0" * 64)]
    for each in wrong[:9]:
        here.site.app.state.app_state.rates._guesses.clear()
        assert "not begun by this browser" in refusal(here.ended(visitor, {**brought, "state": each}))
    here.site.app.state.app_state.rates._guesses.clear()
    refusal(here.ended(visitor, {**brought, "state": wrong[-1]}))
    assert here.ended(visitor, brought).status_code == 303


def test_what_leaves_tells_nothing_of_what_stays(here: World) -> None:
    """Of nonce and verifier nothing can be told by the state, the cookie, or what was there before."""
    secret, other = routes.Secret(), routes.Secret()
    state = secret.state("0" * 64)
    known = {state[index : index + 64] for index in range(len(state))}
    apart = [each.tag(word, state) for each in (secret, other) for word in ("nonce", "verifier", "state")]
    assert len({*apart, *known}) == len(apart) + len(known)
    assert secret.state("0" * 64) != state
    visitor = here.site.visitor()
    assert here.begun(visitor)["state"] != here.begun(visitor)["state"]


@pytest.mark.parametrize(
    ("back", "place"),
    [
        ("/data/hospital?sql=SELECT%20%C3%BC", "/data/hospital?sql=SELECT%20%C3%BC"),
        ("/" + "x" * (routes.MAX_BACK - 1), "/" + "x" * (routes.MAX_BACK - 1)),
        ("/" + "x" * routes.MAX_BACK, "/"),
    ],
)
def test_the_browser_keeps_the_place_to_go_back_to(here: World, back: str, place: str) -> None:
    """The provider is not told it: an address may hold a question."""
    visitor = here.site.visitor()
    brought = here.begun(visitor, back)
    assert len(brought["state"]) == 176
    assert here.ended(visitor, brought).headers["location"] == place


@pytest.mark.parametrize("place", ["//evil.example", "https://evil.example", "", "\xff\xfe", "/\\evil.example"])
def test_a_place_that_somebody_put_into_a_browser_is_on_this_server(here: World, place: str) -> None:
    visitor = here.site.visitor()
    brought = here.begun(visitor)
    packed = base64.urlsafe_b64encode(place.encode("latin-1")).decode().rstrip("=")
    name, held = next((each.name, each.value) for each in visitor.client.cookies.jar if "sign-in" in each.name)
    visitor.client.cookies.clear()
    visitor.client.cookies.set(name, f"{(held or '')[:64]}{packed}")
    assert here.ended(visitor, brought).headers["location"] == "/"


@pytest.mark.parametrize("iss", [None, "", "https://evil.example", f"{ISSUER}/", ISSUER.upper()])
def test_providers_are_not_mixed_up(here: World, iss: str | None) -> None:
    visitor = here.site.visitor()
    brought = here.begun(visitor)
    del brought["iss"]
    words = refusal(here.ended(visitor, brought if iss is None else {**brought, "iss": iss}))
    assert "another identity provider" in words
    assert "/token" not in here.hostile.requests, "the code was sent to nobody"


def test_an_error_of_the_provider_is_not_repeated(here: World) -> None:
    visitor = here.site.visitor()
    brought = here.begun(visitor)
    said = {"error": f"<script>{CANARY}</script>", "error_description": CANARY}
    assert "did not sign you in" in refusal(here.ended(visitor, {**brought, **said}))
    refusal(here.ended(visitor, {**here.begun(visitor), "code": "x" * 5000}))


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", "x"])
def test_the_way_back_stays_on_this_server(here: World, back: str) -> None:
    assert here.sign_in(back=back).headers["location"] == "/"


def test_a_session_is_new_and_the_one_before_is_over(here: World) -> None:
    """Session fixation: what a browser had before is not what it has then."""
    visitor = here.site.visitor()
    assert here.sign_in(visitor).status_code == 303
    before = visitor.client.cookies["discreet"]
    assert here.sign_in(visitor).status_code == 303
    assert visitor.client.cookies["discreet"] != before
    other = here.site.visitor()
    other.client.cookies.set("discreet", before)
    assert other.get("/data/hospital").status_code == 303


def test_whoever_guesses_too_often_waits(here: World) -> None:
    visitor = here.site.visitor()
    codes = [here.ended(visitor, {"state": "x", "code": "x"}).headers["discreet-code"] for _ in range(15)]
    assert codes[0] == "sign-in-failed"
    assert codes[-1] == "rate-limited"


def test_the_api_takes_no_person_for_a_token(here: World) -> None:
    visitor = here.site.visitor()
    assert here.sign_in(visitor).status_code == 303
    assert visitor.get("/api/v1/datasets").status_code == 401


# tokens


def forged(alg: str, key: bytes, header: dict[str, Any] | None = None) -> Any:
    """A token that is put together by hand."""

    def make(claims: dict[str, Any]) -> str:
        parts = [{"alg": alg, "kid": "one", **(header or {})}, claims]
        text = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
        mac = hmac.new(key, text, hashlib.sha256).digest() if key else b""
        return (text + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()

    return make


def public_pem() -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "make",
    [
        forged("none", b""),
        forged("None", b""),
        forged("NONE", b""),
        forged("HS256", public_pem()),
        forged("HS256", b"secret"),
        forged("RS256", public_pem()),
        forged("RS256", b""),
        forged("RS256", b"x", {"crit": ["exp"]}),
        forged("RS256", b"x", {"kid": 7}),
        forged("RS256", b"x", {"jku": "https://evil.example/jwks", "kid": "evil"}),
        forged("RS256", b"x", {"jwk": public(rsa_key(1)), "kid": "evil"}),
        lambda claims: jwt.encode(claims, rsa_key(1), "RS256", headers={"kid": "one"}),
        lambda claims: jwt.encode(claims, rsa_key(1), "RS256", headers={"kid": "one", "jwk": public(rsa_key(1))}),
        lambda claims: jwt.encode(claims, rsa_key(), "RS256", headers={"kid": "two"}),
        lambda claims: jwt.encode(claims, curve_key(), "ES256", headers={"kid": "one"}),
        lambda claims: jwt.encode(claims, rsa_key(), "RS256", headers={"kid": "one"})[:-2] + "xx",
        lambda claims: jwt.encode({**claims, "sub": "x" * 40_000}, rsa_key(), "RS256", headers={"kid": "one"}),
        lambda _: "",
        lambda _: "a.b.c",
        lambda _: "☃",
        lambda _: "." * 30_000,
        lambda _: 17,
        lambda _: None,
    ],
)
def test_a_token_that_the_provider_did_not_sign(here: World, make: Any) -> None:
    here.hostile.token = make
    refusal(here.sign_in())


@pytest.mark.parametrize("shift", [0, -providers.SKEW + 15])
def test_a_clock_may_differ_a_little(here: World, shift: int) -> None:
    now = int(time.time())
    here.hostile.claims = {"groups": ["epi"], "exp": now + 5 + shift, "iat": now - shift, "nbf": now - shift}
    assert here.sign_in().status_code == 303


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": f"{ISSUER}/"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": ["another-client"]},
        {"aud": [CLIENT, "another-client"]},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"aud": []},
        {"aud": None},
        {"aud": CLIENT, "azp": "another-client"},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"exp": int(time.time()) - 120},
        {"iat": None},
        {"iat": int(time.time()) + 1200},
        {"nbf": int(time.time()) + 1200},
        {"nonce": "0" * 64},
        {"nonce": None},
        {"nonce": ["x"]},
        {"nonce": ""},
        {"sub": None},
        {"sub": ""},
        {"sub": 17},
        {"sub": "x" * 256},
    ],
    ids=str,
)
def test_a_token_that_is_not_ours_or_not_now(here: World, claims: dict[str, Any]) -> None:
    here.hostile.claims = {"groups": ["epi"], **claims}
    refusal(here.sign_in())


@pytest.mark.parametrize(("key", "algorithm"), [(rsa_key, "PS256"), (curve_key, "ES256"), (edwards_key, "EdDSA")])
def test_other_signatures_that_are_safe(here: World, key: Any, algorithm: str) -> None:
    here.hostile.key, here.hostile.algorithm = key(), algorithm
    assert here.sign_in().status_code == 303
    assert not any(name.startswith("HS") or name == "none" for name in ALGORITHMS)


# keys


def test_keys_change_and_are_looked_for_seldom(here: World) -> None:
    assert here.sign_in().status_code == 303
    here.hostile.key, here.hostile.header = rsa_key(1), {"kid": "two"}
    here.hostile.keys = [public(rsa_key()), public(rsa_key(1), "two")]
    refusal(here.sign_in())  # they were fetched a moment ago
    here.sign_ins.provider._fetched -= providers.AGAIN
    assert here.sign_in().status_code == 303
    fetched = here.hostile.requests.count("/jwks")
    here.hostile.header = {"kid": CANARY}
    for _ in range(3):
        refusal(here.sign_in())
    assert here.hostile.requests.count("/jwks") == fetched


def test_a_key_that_the_provider_gave_up_is_not_believed_for_ever(here: World) -> None:
    """It was stolen, say: whoever has it signs tokens that nobody else makes us look behind."""
    assert here.sign_in().status_code == 303
    here.hostile.keys = [public(rsa_key(1), "two")]
    provider = here.sign_ins.provider
    provider._fetched, provider._believed = (at - providers.LASTS for at in (provider._fetched, provider._believed))
    refusal(here.sign_in())
    here.hostile.answers["/jwks"] = lambda _: httpx.Response(503)
    provider._fetched -= providers.AGAIN
    refusal(here.sign_in(), "sign-in-unavailable")
    refusal(here.sign_in())


@pytest.mark.parametrize("header", [{"kid": "one"}, {}], ids=["the same name", "no name"])
def test_another_key_in_the_place_of_one_is_found(here: World, header: dict[str, str]) -> None:
    """Its name says nothing of the change: only that what was signed does not verify."""
    here.hostile.header = header
    assert here.sign_in().status_code == 303
    here.hostile.key, here.hostile.keys = rsa_key(1), [public(rsa_key(1))]
    refusal(here.sign_in())  # they were fetched a moment ago
    here.sign_ins.provider._fetched -= providers.AGAIN
    assert here.sign_in().status_code == 303
    fetched = here.hostile.requests.count("/jwks")
    here.hostile.key = rsa_key(2)
    for _ in range(3):
        refusal(here.sign_in())
    assert here.hostile.requests.count("/jwks") == fetched


@pytest.mark.parametrize(
    "keys",
    [
        [public(rsa_key()), public(rsa_key(1))],
        [public(rsa_key(), use="enc")],
        [public(rsa_key(), alg="PS256")],
        [public(rsa_key(), kty="oct", k="c2VjcmV0")],
        [{**public(rsa_key()), "n": "A" * 100_000}],
        [{**public(rsa_key()), "n": "AQAB"}],
        [{**public(rsa_key()), "n": 5}],
        [{"kid": "one", "kty": "RSA"}],
        ["key", 5, None, []],
    ],
    ids=range(9),
)
def test_keys_that_verify_nothing(here: World, keys: list[Any]) -> None:
    here.hostile.keys = keys
    refusal(here.sign_in())


def test_a_token_without_a_key_name_needs_one_key(here: World) -> None:
    here.hostile.header = {}
    assert here.sign_in().status_code == 303
    here.sign_ins.provider._keys = [public(rsa_key()), public(rsa_key(1), "two")]
    refusal(here.sign_in())


# what the provider answers

EVIL = "https://evil.example/"


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks", "/token"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda _: httpx.Response(302, headers={"location": EVIL}),
        lambda _: httpx.Response(500, text=CANARY),
        lambda _: httpx.Response(200, text=CANARY),
        lambda _: httpx.Response(200, content=b"[]"),
        lambda _: httpx.Response(200, content=b"\xff\xfe"),
        lambda _: httpx.Response(200, content=b"[" * 200_000),
        lambda _: httpx.Response(200, content=b" " * 300_000),
        lambda _: httpx.Response(200, json={"keys": [public(rsa_key())] * 101}),
        lambda _: httpx.Response(200, content=b"x", headers={"content-encoding": "br"}),
        lambda _: (_ for _ in ()).throw(httpx.ConnectError(CANARY)),
        lambda _: (_ for _ in ()).throw(httpx.ReadTimeout(CANARY)),
    ],
    ids=range(11),
)
def test_a_provider_that_does_not_answer_as_it_should(here: World, path: str, answer: Any) -> None:
    """Refused in one text; redirects are not followed, and what it said is nowhere."""
    here.hostile.answers[path] = answer
    visitor = here.site.visitor()
    sent = visitor.get("/sign-in/oidc")
    if sent.status_code == 303:
        sent = here.ended(visitor, here.hostile.authorize(sent.headers["location"]))
    refusal(sent, sent.headers["discreet-code"])
    assert sent.status_code in (401, 503)
    assert "try again in a minute" in shown(sent.text) or "sign in again" in shown(sent.text)
    assert visitor.get("/sign-in").status_code == 200, "tokens are still taken"


@pytest.mark.parametrize(
    "said",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://login.example.org/token"},
        {"token_endpoint": "http://127.0.0.1:5432/token"},
        {"jwks_uri": "http://localhost:8000/metrics"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://["},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"authorization_endpoint": f"https://x/\n{CANARY}"},
    ],
    ids=str,
)
def test_what_a_provider_says_of_itself_is_checked(here: World, said: dict[str, Any]) -> None:
    here.hostile.said = said
    refusal(here.site.visitor().get("/sign-in/oidc"), "sign-in-unavailable")
    asked = len(here.hostile.requests)
    refusal(here.site.visitor().get("/sign-in/oidc"), "sign-in-unavailable")
    assert len(here.hostile.requests) == asked, "one that failed is left alone for a while"


def test_an_unsafe_way_out_is_not_offered(here: World) -> None:
    here.hostile.said = {"end_session_endpoint": "javascript:alert(1)"}
    page = here.site.visitor().get("/sign-in", params={"ended": "1"}).text
    assert "javascript:alert" not in page
    assert "You are signed out here." in shown(page)


# the file


def test_the_file_says_who_may_do_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TEST_OIDC", SECRET)
    setup = setup_of(tmp_path)
    assert SECRET not in repr(setup)
    assert setup.grants({"groups": ["epi"]}) == (Granted("hospital", Role.ANALYST, "epidemiology"),)
    assert setup.back == "http://127.0.0.1:8000/sign-in/oidc/back"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("issuer =", "isuer ="),
        (f'"{ISSUER}"', '"http://login.example.org"'),
        (f'"{ISSUER}"', '"https://user:password@login.example.org"'),
        (f'"{ISSUER}"', '"https://login.example.org/?x=1"'),
        (f'"{ISSUER}"', '"https://["'),
        (f'"{ISSUER}"', "17"),
        ('address = "http://127.0.0.1:8000"', 'address = "http://discreet.example.org"'),
        ('address = "http://127.0.0.1:8000"', 'address = "https://discreet.example.org/here"'),
        ('address = "http://127.0.0.1:8000"', ""),
        ('"DISCREET_TEST_OIDC"', '"DISCREET_TEST_NOTHING"'),
        ("secret_variable", 'secret_file = "/no/such/file"\nsecret_variable'),
        ('secret_variable = "DISCREET_TEST_OIDC"', 'secret_file = "/no/such/file"'),
        ('secret_variable = "DISCREET_TEST_OIDC"', f'secret = "{SECRET}"'),
        ('scopes = ["groups"]', 'scopes = ["a b"]'),
        ('scopes = ["groups"]', "scopes = [5]"),
        ('name = "the clinic"', "hours = 13"),
        ('name = "the clinic"', "hours = 0"),
        ('role = "auditor"', 'role = "root"'),
        ('role = "auditor"', 'role = "analyst"'),
        ('role = "auditor"', 'role = "auditor"\nanalyst = "finance"'),
        ('value = "epi"', 'value = ""'),
        ('value = "epi"', "value = 5"),
        ('value = "epi"', 'value = "epi"\nmore = 1'),
        ('claim = "email"', "claim = []"),
        ("[[access]]", "[access"),
        ("issuer", "\x00"),
    ],
)
def test_a_file_that_cannot_be_used(before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TEST_OIDC", SECRET)
    assert before in FILE
    with pytest.raises(Refused) as refused:
        setup_of(tmp_path, FILE.replace(before, after))
    assert refused.value.code == "sign-in-setup"
    assert SECRET not in str(refused.value)
    assert "password@" not in str(refused.value)


def test_a_server_does_not_start_with_entries_about_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TEST_OIDC", SECRET)
    policy, file = build(tmp_path, patients=1), tmp_path / "oidc.toml"
    for before, after, words in (
        ('dataset = "hospital"', 'dataset = "clinic"', "is not served here"),
        ('"epidemiology"', '"nobody"', "has no share in the policy"),
    ):
        file.write_text(FILE.replace(before, after), encoding="utf-8")
        run("token", "create", policy, "--role", "owner")
        assert words in run("serve", policy, "--port", "0", "--oidc", file, code=3).output
    assert "name a file" in run("serve", policy, "--port", "0", "--oidc", tmp_path / "nothing", code=3).output
    file.write_text(FILE, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.delitem(sys.modules, "discreet.server.oidc.routes")
    monkeypatch.delitem(sys.modules, "discreet.server.oidc.provider")
    assert "discreet[oidc]" in run("serve", policy, "--port", "0", "--oidc", file, code=3).output
