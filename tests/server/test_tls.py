"""Certificates of one's own: who is trusted, what is said if nobody is, and what browsers are told."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy

import discreet
from discreet.client import Unreachable, dbapi, http
from tests.server.running import Running, build, serving

TLS = Path(__file__).parent / "tls"
AUTHORITY = TLS / "authority.pem"


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    policy = build(tmp_path_factory.mktemp("tls"), patients=10)
    with serving(policy, "--certificate", str(TLS / "server.pem"), "--key", str(TLS / "server.key")) as running:
        yield running


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it was waited before something was tried again."""
    found: list[float] = []
    clock = {"sleep": staticmethod(found.append), "monotonic": staticmethod(lambda: 0.0)}
    monkeypatch.setattr(http, "time", type("Clock", (), clock))
    return found


def connected(running: Running, url: str | None = None, **settings: Any) -> discreet.client.Remote:
    return discreet.connect(url or running.url, token=running.tokens["epidemiology"], **settings)


@pytest.mark.parametrize("ca", [str(AUTHORITY), AUTHORITY], ids=["text", "path"])
def test_an_authority_of_one_s_own_is_trusted(encrypted: Running, ca: Any) -> None:
    assert encrypted.url.startswith("https://")
    for url in (encrypted.url, encrypted.url.replace("127.0.0.1", "localhost")):
        with connected(encrypted, url, ca=ca) as remote:
            assert remote.name == "hospital"


def test_it_may_stand_in_the_environment(encrypted: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_CA", str(AUTHORITY))
    with connected(encrypted) as remote:
        assert remote.budget().total.epsilon == 30.0


def test_nobody_else_is_trusted(encrypted: Running, pauses: list[float]) -> None:
    with pytest.raises(Unreachable, match="TLS: the certificate of") as raised:
        connected(encrypted)
    assert "is not trusted" in raised.value.reason
    assert "ca=" in raised.value.fix
    assert pauses == []  # it would be the same again


def test_another_name_is_another_server(encrypted: Running, pauses: list[float]) -> None:
    url = encrypted.url.replace("127.0.0.1", "127.0.0.2")
    with pytest.raises(Unreachable) as raised:
        connected(encrypted, url, ca=AUTHORITY)
    assert "TLS" in str(raised.value) or pauses  # where there is no such address, nobody answers there


def test_a_server_that_does_not_encrypt_is_told(server: Running, pauses: list[float]) -> None:
    with pytest.raises(Unreachable, match="TLS") as raised:
        connected(server, server.url.replace("http://", "https://"), ca=AUTHORITY)
    assert "http://" in raised.value.fix
    assert pauses == []


@pytest.mark.parametrize("ca", ["nothing.pem", str(TLS / "README.md"), "\0", 5], ids=repr)
def test_what_is_no_certificate_is_refused(encrypted: Running, ca: Any) -> None:
    with pytest.raises(discreet.Refused, match="certificate"):
        connected(encrypted, ca=ca)


def test_a_certificate_is_for_https(server: Running) -> None:
    with pytest.raises(discreet.Refused, match="without encryption"):
        connected(server, ca=AUTHORITY)


def test_drivers_take_it_too(encrypted: Running) -> None:
    token = encrypted.tokens["epidemiology"]
    with dbapi.connect(encrypted.url, token=token, ca=str(AUTHORITY), dummy=True, epsilon=0.1) as connection:
        cursor = connection.cursor().execute("SELECT COUNT(*) FROM patients")
        assert len(cursor.fetchall()) == 1
    with pytest.raises(dbapi.OperationalError, match="TLS"):
        dbapi.connect(encrypted.url, token=token)
    place = encrypted.url.removeprefix("https://")
    engine = sqlalchemy.create_engine(
        f"discreet://:{token}@{place}/hospital?insecure=false&ca={AUTHORITY}&dummy=true&epsilon=0.1"
    )
    with engine.connect() as connected:
        assert len(connected.execute(sqlalchemy.text("SELECT COUNT(*) FROM patients")).all()) == 1


def test_browsers_are_told_to_stay_encrypted(encrypted: Running, server: Running) -> None:
    context = ssl.create_default_context(cafile=AUTHORITY)
    with httpx.Client(verify=context, trust_env=False) as client:
        for path in ("/sign-in", "/api/v1/health", "/nope"):
            assert client.get(encrypted.url + path).headers["strict-transport-security"] == "max-age=31536000"
            assert "strict-transport-security" not in client.get(server.url + path).headers
        here = encrypted.url.replace("127.0.0.1", "localhost")  # other programs of this machine have that name too
        assert "strict-transport-security" not in client.get(f"{here}/sign-in").headers
