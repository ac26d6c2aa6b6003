"""An identity provider that speaks OpenID Connect: what it says of itself, its keys, and who it says somebody is.

The authorization-code flow with PKCE. Of what the provider sends nothing is believed that its signature does not cover:
who somebody is are the claims of the ID token, and no others. Answers are small, come soon and from the address that
was asked: redirects are not followed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import math
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpx
import jwt

from discreet.errors import Refused
from discreet.server.oidc.setup import LOOPBACK, Setup

MAX_BYTES: Final = 2**18
"""Of an answer of the provider."""
MAX_KEYS: Final = 100
MAX_TOKEN: Final = 2**15
SECONDS: Final = 10.0
"""Within which the provider answers."""
LASTS: Final = 3600.0
"""Seconds for which what it says of itself is believed, and of its keys: one that was stolen is given up."""
PAUSE: Final = 5.0
"""Seconds for which a provider that failed is not asked: whoever opens our page makes us ask it."""
AGAIN: Final = 30.0
"""Seconds before its keys are fetched again because of a signature that none of them made."""
SKEW: Final = 60
"""Seconds by which its clock may differ from ours."""
ALGORITHMS: Final[Mapping[str, tuple[str, str | None]]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Signatures that are accepted, each with the type and curve of its keys. None of them has a shared secret."""
RSA_BITS: Final = range(2048, 8200)
"""Of six each letter has."""
ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def failed(reason: str) -> Refused:
    """Who somebody is was not proven. The reason is a text of ours: nothing of what was sent is in it."""
    return Refused("sign-in-failed", reason, "sign in again; if that does not help, ask the owner")


def unavailable(reason: str) -> Refused:
    return Refused("sign-in-unavailable", reason, "try again in a minute, or sign in with a token")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What the provider says of itself."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None
    says_issuer: bool
    """Whether it names itself when it sends browsers back (RFC 9207), so that two providers cannot be mixed up."""
    takes_basic: bool
    """Whether the secret goes into a header; else it is a field of the form."""
    at: float


class Provider:
    """One provider. Used from one event loop."""

    def __init__(self, setup: Setup, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.setup = setup
        self._transport = transport
        self._http: httpx.AsyncClient | None = None
        self._endpoints: Endpoints | None = None
        self._keys: list[dict[str, Any]] = []
        self._fetching, self._fetching_keys = asyncio.Lock(), asyncio.Lock()
        self._failed = -math.inf
        self._fetched = -math.inf
        """When its keys were asked for, answered or not."""
        self._believed = -math.inf
        """When it said which keys it has."""

    async def authorization(self, state: str, nonce: str, verifier: str) -> str:
        """Where a browser goes to sign in."""
        digest = hashlib.sha256(verifier.encode()).digest()
        fields = {
            "response_type": "code",
            "client_id": self.setup.client_id,
            "redirect_uri": self.setup.back,
            "scope": " ".join(dict.fromkeys(("openid", *self.setup.scopes))),
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return _with((await self._known()).authorization_endpoint, fields)

    async def sign_out(self) -> str | None:
        """Where a browser signs out there, too; None if the provider has no such page or cannot be asked."""
        try:
            address = (await self._known()).end_session_endpoint
        except Refused:
            return None
        back = {"client_id": self.setup.client_id, "post_logout_redirect_uri": f"{self.setup.address}/sign-in"}
        return None if address is None else _with(address, back)

    async def demand_issuer(self, issuer: str | None) -> None:
        """Raise if whoever sent the browser back is another provider, or does not say who, where ours would."""
        known = await self._known()
        if (issuer is None and known.says_issuer) or issuer not in (None, self.setup.issuer):
            raise failed("the answer comes from another identity provider")

    async def claims(self, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """Who somebody is, for the code that their browser brought back."""
        known = await self._known()
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.setup.back,
            "code_verifier": verifier,
            "client_id": self.setup.client_id,
        }
        headers = {}
        if self.setup.secret and known.takes_basic:
            pair = f"{quote(self.setup.client_id, safe='')}:{quote(self.setup.secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif self.setup.secret:
            fields["client_secret"] = self.setup.secret
        answer = await self._asked("POST", known.token_endpoint, data=fields, headers=headers, refused=REFUSED)
        token = answer.get("id_token")
        if not isinstance(token, str) or len(token) > MAX_TOKEN:
            raise failed("the identity provider sent no ID token")
        return await self._verified(token, nonce)

    async def _verified(self, token: str, nonce: str) -> dict[str, Any]:
        """The claims of an ID token that this provider signed, now, for us and for this sign-in.

        A token that none of its keys signed makes us look for new ones, seldom: a provider changes its keys, perhaps
        under the same name, or without any.
        """
        header = _header(token)
        claims = self._signed(token, header)
        if claims is None:
            await self._fetch_keys()
            claims = self._signed(token, header)
        if claims is None:
            raise failed("the ID token is signed with a key that the identity provider does not have")
        _demand_ours(claims, self.setup.client_id, nonce)
        return claims

    def _signed(self, token: str, header: Mapping[str, str]) -> dict[str, Any] | None:
        """The claims of a token that a key signed which the provider has; None if none did."""
        key = self._key(header)
        if key is None:
            return None
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                jwt.PyJWK(key, algorithm=header["alg"]).key,
                algorithms=[header["alg"]],
                audience=self.setup.client_id,
                issuer=self.setup.issuer,
                leeway=SKEW,
                options={"require": ["iss", "sub", "aud", "exp", "iat", "nonce"]},
            )
        except jwt.InvalidSignatureError:
            return None
        except Exception:  # whatever the library makes of it: it is no token that we accept
            raise failed("the ID token is not valid: not signed by the provider, not for us, or not now") from None
        return claims

    def _key(self, header: Mapping[str, str]) -> dict[str, Any] | None:
        """The one key that a token names; if it names none, the only one that could have signed it."""
        if time.monotonic() - self._believed >= LASTS:
            return None
        kind, curve = ALGORITHMS[header["alg"]]
        fitting = [
            key
            for key in self._keys
            if key.get("kty") == kind
            and key.get("crv") == curve
            and key.get("use") in (None, "sig")
            and key.get("alg") in (None, header["alg"])
            and ("kid" not in header or key.get("kid") == header["kid"])
        ]
        return fitting[0] if len(fitting) == 1 and _is_sound(fitting[0]) else None

    # asking

    async def _known(self) -> Endpoints:
        """What the provider says of itself, fetched now and then; one that failed is left alone for some seconds."""
        async with self._fetching:
            if self._endpoints is not None and time.monotonic() - self._endpoints.at < LASTS:
                return self._endpoints
            if time.monotonic() - self._failed < PAUSE:
                raise unavailable("the identity provider did not answer a moment ago")
            self._failed = time.monotonic()
            self._endpoints = await self._discovered()
            self._failed = -math.inf
            return self._endpoints

    async def _discovered(self) -> Endpoints:
        said = await self._asked("GET", f"{self.setup.issuer.rstrip('/')}/.well-known/openid-configuration")
        if said.get("issuer") != self.setup.issuer:
            raise unavailable("the identity provider calls itself otherwise than it is called here")
        is_here = self.setup.issuer.startswith("http://")
        if not all(_is_safe(said.get(name), is_here=is_here) for name in ENDPOINTS):
            raise unavailable("the identity provider has an address that is not encrypted, or none")
        ending = said.get("end_session_endpoint")
        methods = said.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return Endpoints(
            authorization_endpoint=said["authorization_endpoint"],
            token_endpoint=said["token_endpoint"],
            jwks_uri=said["jwks_uri"],
            end_session_endpoint=ending if _is_safe(ending, is_here=is_here) else None,
            says_issuer=said.get("authorization_response_iss_parameter_supported") is True,
            takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
            at=time.monotonic(),
        )

    async def _fetch_keys(self) -> None:
        """Ask for its keys, unless that was done a moment ago; whoever comes meanwhile waits for the answer."""
        async with self._fetching_keys:
            if time.monotonic() - self._fetched < AGAIN:
                return
            self._fetched = time.monotonic()
            keys = (await self._asked("GET", (await self._known()).jwks_uri)).get("keys")
            if not isinstance(keys, list) or len(keys) > MAX_KEYS:
                raise unavailable("the identity provider has no keys, or too many")
            self._keys, self._believed = [key for key in keys if isinstance(key, dict)], self._fetched

    async def _asked(self, method: str, address: str, *, refused: Refused | None = None, **more: Any) -> dict[str, Any]:
        """The JSON object at an address; `refused` if the provider says no."""
        try:
            async with asyncio.timeout(SECONDS), self._client().stream(method, address, **more) as response:
                if refused is not None and 400 <= response.status_code < 500:
                    raise refused
                if response.status_code != 200 or "content-encoding" in response.headers:
                    raise unavailable("the identity provider does not answer as it should")
                body = b""
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > MAX_BYTES:
                        raise unavailable("the identity provider sends too much")
                answer = json.loads(body)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ssl.SSLError, ValueError, RecursionError):
            raise unavailable("the identity provider does not answer, or not as it should") from None
        if not isinstance(answer, dict):
            raise unavailable("the identity provider does not answer as it should")
        return answer

    def _client(self) -> httpx.AsyncClient:
        """Made when it is first needed: the system's authorities take a while to load."""
        if self._http is None:
            self._http = httpx.AsyncClient(
                verify=ssl.create_default_context(),
                follow_redirects=False,
                trust_env=False,
                timeout=SECONDS,
                headers={"accept": "application/json", "accept-encoding": "identity"},
                transport=self._transport,
            )
        return self._http

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()


REFUSED: Final = failed("the identity provider does not accept the code: it was used before, or is not for us")


def _with(address: str, fields: Mapping[str, str]) -> str:
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(fields)}"


def _is_safe(address: object, *, is_here: bool) -> bool:
    """Whether nobody between us and it can read or change what is sent. One elsewhere sends us to no service of this
    machine: what answers here without TLS is a provider only if `is_here`.
    """
    if not isinstance(address, str) or len(address) > 2000 or not address.isprintable():
        return False
    try:
        parts = urlsplit(address)
        host, scheme = parts.hostname, parts.scheme
    except ValueError:
        return False
    return bool(host) and (scheme == "https" or (is_here and scheme == "http" and host in LOOPBACK))


def _header(token: str) -> dict[str, str]:
    """What a token says about its signature, if it is one that we accept."""
    try:
        header = jwt.get_unverified_header(token)
    except Exception:
        raise failed("the identity provider sent no ID token") from None
    if header.get("alg") not in ALGORITHMS:
        raise failed("the ID token is not signed, or in a way that is not accepted")
    if not isinstance(header.get("kid", ""), str) or "crit" in header:
        raise failed("the ID token has a header that is not understood")
    return dict(header)


def _is_sound(key: Mapping[str, Any]) -> bool:
    """Whether an RSA key is neither too short to be safe nor so long that verifying takes long."""
    if key.get("kty") != "RSA":
        return True
    modulus = key.get("n")
    return isinstance(modulus, str) and 6 * len(modulus) in RSA_BITS


def _demand_ours(claims: Mapping[str, Any], client: str, nonce: str) -> None:
    """Raise unless a signed token is about this sign-in, and about somebody."""
    given, subject, audience = claims.get("nonce"), claims.get("sub"), claims.get("aud")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise failed("the ID token is of another sign-in")
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise failed("the ID token names nobody")
    others: Sequence[object] = audience if isinstance(audience, list) else [audience]
    if claims.get("azp", client) != client or (len(others) > 1 and "azp" not in claims):
        raise failed("the ID token is for somebody else")
