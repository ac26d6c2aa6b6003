"""Signing in through a real identity provider, npm's oidc-provider, on this machine: over HTTP, and in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from tests.server import browser as browsers
from tests.server.oidc.hostile import CLINIC
from tests.server.running import PLAIN, Running, build, serving
from tests.server.visitor import shown
from tests.test_snippets import free_port

ROOT = Path(__file__).parents[3]
MODULES = ROOT / ".oidc"
SECRET = "a-secret-of-this-test"
NODE = shutil.which("node")
FILE = (
    """
issuer = "{issuer}"
client_id = "discreet"
secret_file = "{secret}"
address = "{address}"
"""
    + CLINIC
    + """
[[access]]
claim = "sub"
value = "olga"
dataset = "hospital"
role = "owner"
"""
)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        NODE is None or not (MODULES / ".ready").exists(),
        reason="3 tests sign in through npm's oidc-provider, which is not installed: install npm, then `make provider`",
    ),
]


@dataclass(frozen=True)
class Clinic:
    """A server, and the provider of those who use it."""

    server: Running
    issuer: str


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    folder = tmp_path_factory.mktemp("clinic")
    policy, port, there = build(folder, patients=20), free_port(), free_port()
    address, issuer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{there}"
    (folder / "secret").write_text(f"{SECRET}\n", encoding="utf-8")
    file = FILE.format(issuer=issuer, secret=folder / "secret", address=address)
    (folder / "oidc.toml").write_text(file, encoding="utf-8")
    provider = subprocess.Popen(
        [str(NODE), str(Path(__file__).with_name("provider.mjs")), str(there), f"{address}/sign-in/oidc/back", SECRET],
        env={**os.environ, "OIDC_MODULES": str(MODULES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert provider.stdout is not None
        assert provider.stdout.readline() == "listening\n"
        options = ("--port", str(port), "--oidc", str(folder / "oidc.toml"))
        with serving(policy, *options, tokens={}) as server:  # nobody has a token
            yield Clinic(server, issuer)
    finally:
        provider.kill()
        provider.communicate()


def signed_in(client: httpx.Client, clinic: Clinic, login: str) -> httpx.Response:
    """Through all pages of the provider, as a browser goes: forms are sent, redirects followed."""
    page = client.get(f"{clinic.server.url}/sign-in/oidc", params={"back": "/data/hospital/ledger"})
    while page.is_redirect or urlsplit(str(page.url)).netloc == urlsplit(clinic.issuer).netloc:
        if page.is_redirect:
            page = client.get(urljoin(str(page.url), page.headers["location"]))
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
        prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
        assert form, page.text
        assert prompt, page.text
        fields = {"prompt": prompt[1], "login": login, "password": "anything"}
        page = client.post(urljoin(str(page.url), unescape(form[1])), data=fields)
    return page


def client() -> httpx.Client:
    return httpx.Client(trust_env=False, verify=PLAIN, timeout=300, headers={"accept": "text/html"})


def test_people_sign_in_as_what_their_claims_say(clinic: Clinic) -> None:
    for login, who in (("ann", "hospital · epidemiology"), ("olga", "hospital · owner")):
        with client() as browser:
            page = signed_in(browser, clinic, login)
            assert str(page.url) == f"{clinic.server.url}/data/hospital/ledger"
            assert who in shown(page.text)
    log = clinic.server.log.read_text(encoding="utf-8")
    lines = [line for line in map(json.loads, log.splitlines()) if line["event"] == "sign-in"]
    assert len({line["token"] for line in lines}) == 2
    assert all(line["token"].startswith("oidc-") for line in lines)
    assert not [each for each in ("ann", "olga", SECRET, "code=", "state=", "eyJ") if each in log]


def test_somebody_without_an_entry_is_known_and_not_let_in(clinic: Clinic) -> None:
    with client() as browser:
        page = signed_in(browser, clinic, "eve")
        assert page.headers["discreet-code"] == "forbidden"
        assert "nothing here is open to you" in shown(page.text)
        assert browser.get(f"{clinic.server.url}/data/hospital").status_code == 303


@pytest.mark.skipif(browsers.CHROMIUM is None, reason=f"1 test would {browsers.MISSING}")
def test_a_browser_signs_in_and_out_without_javascript_of_ours(clinic: Clinic) -> None:
    pictures = os.environ.get("DISCREET_PICTURES")
    with browsers.chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844}, java_script_enabled=False)
        page.goto(f"{clinic.server.url}/sign-in")
        if pictures:
            page.screenshot(path=f"{pictures}/oidc-sign-in.png", full_page=True)
        page.get_by_role("link", name="Sign in with the clinic").click()
        page.get_by_placeholder("Enter any login").fill("ann")
        page.get_by_placeholder("and password").fill("x")
        page.get_by_role("button").first.click()
        page.get_by_role("button").first.click()
        page.wait_for_url(f"{clinic.server.url}/")
        assert "hospital" in page.content()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_text("You are signed out here.").wait_for()
        if pictures:
            page.screenshot(path=f"{pictures}/oidc-signed-out.png", full_page=True)
        page.get_by_role("link", name="Sign out of the clinic, too").click()
        assert page.url.startswith(clinic.issuer)
        page.close()
        size = {"width": 390, "height": 844}
        with browser.new_context(viewport=size, color_scheme="dark", bypass_csp=True) as context:  # type: ignore[arg-type]
            dark = context.new_page()
            dark.goto(f"{clinic.server.url}/sign-in?ended=1")
            assert browsers.barriers(dark) == []
            assert browsers.overflowing(dark) == []
