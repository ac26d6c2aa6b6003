"""What the pages let nobody do: forged forms, stolen sessions, foreign scripts, words that become markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from xml.dom import minidom

import pytest

from discreet.answers.document import ALLOWED as DOCUMENT
from discreet.answers.document import STYLE
from discreet.answers.plots.embedded import inked, picture
from discreet.server.pages import sessions as module
from discreet.server.pages.rendering import STATIC
from tests.server.running import POLICY, build
from tests.server.test_pages import ALLOWED, ANALYST, FORMS, HOME, OWNER, WARDS
from tests.server.visitor import URL, Seen, Site, Visitor, site

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onload='alert(1)", 'x role="', "{{7*7}}")
WHO = HOSTILE[1]
COLUMN = "<b onmouseover=alert(3)>"
ALIAS = HOSTILE[0]
ANSWER = f"{HOME}/answers/3"
"""The first: before it, the ledger holds who has which share."""
ELEMENTS = {"script": "src", "link": "href", "img": "src", "form": "action", "a": "href", "svg": "", "use": "href"}
"""What pages may load or lead to, and where they say it."""


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(build(tmp_path_factory.mktemp("safety"), patients=60)) as made:
        assert made.visitor(OWNER).ask(WARDS) == ANSWER
        yield made


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A policy whose every word would like to be markup."""
    values = ", ".join(f"'''{each}'''" for each in ("A", *HOSTILE))
    changes = {
        '["A", "B", "C"]': f"[{values}]",
        "[analysts.epidemiology]": f"[analysts.'{WHO}']",
        "zip =": f"'{COLUMN}' =",
        'name = "patient"': 'name = "<i>patient</i>"',
        "[tables.wards": "[tables.'<table>'",
    }
    text = POLICY
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    folder = tmp_path_factory.mktemp("hostile")
    policy = build(folder, patients=60, text=text)
    source = folder / "patients.csv"
    source.write_text(source.read_text(encoding="utf-8").replace("zip", COLUMN, 1), encoding="utf-8")
    with site(policy) as made:
        yield made


def session(visitor: Visitor) -> str:
    return str(visitor.client.cookies["discreet"])


# forms


@pytest.mark.parametrize("path", FORMS)
def test_forms_that_prove_nothing_are_refused(hospital: Site, path: str) -> None:
    owner, other = hospital.visitor(OWNER), hospital.visitor(OWNER)
    for proof in (None, "", "0" * 64, "é", other.proof(), owner.proof()[:-1]):
        found = owner.post(path, {} if proof is None else {"proof": proof})
        assert found.status_code == 422, (path, proof)
        assert "forged-form" in found.text
        assert "open the page again" in found.text
    assert owner.get("/").status_code == 200  # still signed in
    assert hospital.policy.read_text(encoding="utf-8") == POLICY


def test_a_proof_ends_with_its_session(hospital: Site) -> None:
    owner = hospital.visitor(OWNER)
    proof = owner.proof()
    owner.send("/sign-out")
    owner.sign_in(hospital.tokens[OWNER])
    assert "forged-form" in owner.post(f"{HOME}/owner/check", {"proof": proof}).text


@pytest.mark.parametrize("origin", ["http://elsewhere.example", "null", "http://127.0.0.1:9000", "", "http://[::1"])
def test_others_sign_nobody_in(hospital: Site, origin: str) -> None:
    visitor = hospital.visitor()
    found = visitor.post("/sign-in", {"token": hospital.tokens[OWNER]}, headers={"origin": origin})
    assert found.status_code == 422
    assert "set-cookie" not in found.headers


def test_a_link_signs_nobody_out_of_a_session(hospital: Site) -> None:
    for visitor, way in ((hospital.visitor(), "enter"), (hospital.visitor(ANALYST), "wait")):
        (form,) = [given for tag, given in Seen.of(visitor.get("/sign-in").text).tags if "data-sign-in" in given]
        assert form["data-sign-in"] == way


@pytest.mark.parametrize("body", [b"\xff\xfe=1", b"&".join([b"a=1"] * 60), b"proof=%00%ff", b"{}"])
def test_what_is_no_form_is_refused(hospital: Site, body: bytes) -> None:
    visitor = hospital.visitor(ANALYST)
    found = visitor.loop.run_until_complete(visitor.client.post(f"{HOME}/preview", content=body))
    assert found.status_code == 422
    assert "open the page again" in found.text


# sessions


def test_the_cookie_is_for_this_site_and_no_script(hospital: Site) -> None:
    for url, origin, encrypted in (
        (URL, URL, False),
        (URL, URL.replace("http", "https"), True),  # behind a proxy that encrypts
        (URL.replace("http", "https"), URL.replace("http", "https"), True),
    ):
        visitor = hospital.visitor(url=url)
        found = visitor.post("/sign-in", {"token": hospital.tokens[OWNER]}, headers={"origin": origin})
        flags = {part.strip().lower() for part in found.headers["set-cookie"].split(";")[1:]}
        assert {"httponly", "samesite=lax", "path=/"} <= flags
        assert ("secure" in flags) == encrypted
        assert hospital.tokens[OWNER] not in found.headers["set-cookie"]
        prefix = "__Host-" if encrypted else ""
        assert re.match(rf"{prefix}discreet=[0-9a-f]{{64}};", found.headers["set-cookie"])
        assert "domain" not in found.headers["set-cookie"].lower()


def test_a_session_over_tls_cannot_be_put_into_a_browser_by_another_host(hospital: Site) -> None:
    """Cookie tossing: a sibling domain can set `discreet`, and nobody but this host `__Host-discreet`."""
    safe = URL.replace("http", "https")
    attacker = hospital.visitor(url=safe)
    attacker.post("/sign-in", {"token": hospital.tokens[ANALYST]}, headers={"origin": safe})
    name = attacker.client.cookies["__Host-discreet"]
    assert attacker.get("/").status_code == 200
    victim = hospital.visitor(url=safe)
    assert victim.get("/", headers={"cookie": f"discreet={name}"}).status_code == 303
    victim.post("/sign-in", {"token": hospital.tokens[OWNER]}, headers={"origin": safe})
    own = victim.client.cookies["__Host-discreet"]
    both = victim.get("/data/hospital/owner", headers={"cookie": f"discreet={name}; __Host-discreet={own}"})
    assert both.status_code == 200
    assert "__Host-discreet=" in str(attacker.send("/sign-out").headers.get_list("set-cookie"))
    assert hospital.visitor(url=safe).get("/", headers={"cookie": f"__Host-discreet={name}"}).status_code == 303


@pytest.mark.parametrize(
    "told", [{"origin": "https://HOST"}, {"sec-fetch-site": "none"}, {"sec-fetch-site": "same-site"}]
)
def test_behind_a_proxy_that_encrypts_it_is_the_same(hospital: Site, told: dict[str, str]) -> None:
    """Whoever tosses a cookie asks for it without TLS; the browser it is tossed into says how it came."""
    host = "discreet.example"
    name = session(hospital.visitor(ANALYST))
    headers = {key: value.replace("HOST", host) for key, value in told.items()} | {"host": host}
    assert hospital.visitor().get("/", headers={"cookie": f"discreet={name}", "host": host}).status_code == 200
    assert hospital.visitor().get("/", headers={"cookie": f"discreet={name}", **headers}).status_code == 303
    begun = hospital.visitor().post("/sign-in", {"token": hospital.tokens[ANALYST]}, headers=headers)
    assert begun.headers["set-cookie"].startswith("__Host-discreet=")


def test_browsers_tell_their_own_machine_too(hospital: Site) -> None:
    """`Sec-Fetch-Site` is sent to localhost without TLS: a desk's session is found."""
    name = session(hospital.visitor(ANALYST))
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
        headers = {"cookie": f"discreet={name}", "host": host, "sec-fetch-site": "none"}
        assert hospital.visitor().get("/", headers=headers).status_code == 200


def test_a_session_without_tls_is_no_session_over_tls(hospital: Site) -> None:
    """Whoever reads a plain cookie on the way cannot use it under the other name."""
    name = session(hospital.visitor(ANALYST))
    assert hospital.visitor().get("/", headers={"cookie": f"__Host-discreet={name}"}).status_code == 303


def test_signing_out_ends_the_session(hospital: Site) -> None:
    visitor = hospital.visitor(OWNER)
    name = session(visitor)
    found = visitor.send("/sign-out")
    assert found.headers["location"] == "/sign-in"
    thief = hospital.visitor()
    thief.client.cookies.set("discreet", name)
    assert thief.get("/").status_code == 303


def test_signing_in_begins_a_session_of_its_own(hospital: Site) -> None:
    visitor = hospital.visitor()
    visitor.client.cookies.set("discreet", "0" * 64)
    found = visitor.post("/sign-in", {"token": hospital.tokens[OWNER]})
    assert "0" * 64 not in found.headers["set-cookie"]


@pytest.mark.parametrize("name", ["", "x", "0" * 64, "é", "a" * 5000])
def test_a_session_cannot_be_guessed(hospital: Site, name: str) -> None:
    visitor = hospital.visitor()
    assert visitor.get("/", headers={"cookie": f"discreet={name}".encode()}).status_code == 303


def test_sessions_grow_old_and_are_not_too_many(hospital: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor, later = hospital.visitor(OWNER), hospital.visitor(OWNER)
    monkeypatch.setattr(module, "MAX_SESSIONS", 1)
    assert visitor.get("/").status_code == 303
    assert later.get("/").status_code == 200
    monkeypatch.setattr(module, "LASTS", 0.0)
    assert later.get("/").status_code == 303


def test_who_signs_in_again_and_again_ends_no_session_of_others(
    hospital: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right tokens are not counted, so that as many sessions begin as somebody wants."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 20)
    monkeypatch.setattr(module, "MOST_OF_ONE", 3)
    owner, first = hospital.visitor(OWNER), hospital.visitor("finance")
    latest = [hospital.visitor("finance") for _ in range(25)][-3:]
    assert [visitor.get("/").status_code for visitor in (owner, first, *latest)] == [200, 303, 200, 200, 200]


def test_a_wrong_token_signs_nobody_in(hospital: Site) -> None:
    for wrong in ("", "x", hospital.tokens[OWNER][:-1], "é" * 300, "\0", hospital.tokens[OWNER] + "0" * 300):
        found = hospital.visitor().post("/sign-in", {"token": wrong})
        assert found.status_code == 401, wrong
        assert "set-cookie" not in found.headers
        assert "ask the owner for another" in found.text
        assert not wrong.strip("\0") or wrong not in found.text or len(wrong) < 3


# what pages may load


@pytest.mark.parametrize("path", [*ALLOWED, "/nope", ANSWER, "/learn/coins", "/docs/install", "/docs/search?q=x"])
def test_pages_load_our_own_files_only(hospital: Site, path: str) -> None:
    found = hospital.visitor(OWNER).get(path)
    allowed = found.headers["content-security-policy"]
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    assert "*" not in allowed
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["cache-control"] == "no-store"
    if not found.headers["content-type"].startswith("text/html"):
        return
    own = f"<style>{STYLE}</style>" if allowed.startswith(DOCUMENT) else ""  # a document to print: allowed by digest
    assert harmless(found.text.replace(own, "", 1)) == []


def harmless(html: str) -> list[str]:
    """What in a page is not ours, or would not be allowed to run."""
    found = []
    for tag, given in Seen.of(html).tags:
        found += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        address = given.get(ELEMENTS.get(tag, "")) or "/"
        if not address.startswith(("/", "#", "?")) or address.startswith("//"):
            found.append(f"{tag} {address}")
        if tag in ("style", "iframe", "object", "embed", "base") or (tag == "script" and not given.get("src")):
            found.append(tag)
    return found


def test_the_check_above_sees_what_is_wrong() -> None:
    wrong = ["<p style=''>", "<p onclick=x>", "<script>1</script>", "<style>a</style>", "<img src='//x'>", "<base>"]
    assert all(harmless(each) for each in [*wrong, "<a href='javascript:1'>", "<script src='https://x'></script>"])


def test_static_files_are_kept_for_ever_and_change_their_address(hospital: Site) -> None:
    visitor = hospital.visitor()
    for name, asset in STATIC.items():
        found = visitor.get(STATIC.address(name))
        assert (found.status_code, found.headers["content-type"]) == (200, asset.media)
        assert "immutable" in found.headers["cache-control"]
    assert visitor.get(STATIC.address("style.css").replace("style.css", "../home.py")).status_code == 404


# words that would like to be markup


@pytest.mark.long
def test_no_word_becomes_markup(hostile: Site) -> None:
    visitor, owner = hostile.visitor(WHO), hostile.visitor(OWNER)
    questions = [
        f'SELECT ward, COUNT(*) AS "{ALIAS}" FROM patients GROUP BY ward',
        f"SELECT COUNT(*) AS n FROM patients WHERE \"{COLUMN}\" = '{HOSTILE[1].replace(chr(39), chr(39) * 2)}'",
    ]
    places = [visitor.ask(each) for each in questions]
    for sql in (questions[0], *HOSTILE, f'SELECT "{ALIAS}" FROM "{COLUMN}"', '</textarea><script src="//x"></script>'):
        for path in ("preview", "try", "ask"):
            page = visitor.send(f"{HOME}/{path}", sql=sql, epsilon=HOSTILE[1], error=HOSTILE[0], by=HOSTILE[2]).text
            assert harmless(page) == [], sql
            assert sql != HOSTILE[-1] or sql in page  # no template of ours
    pages = ["/", HOME, *places, f"{HOME}/ledger"]
    for path in pages:
        assert harmless(visitor.get(path).text) == []
    for path in ("/", HOME, f"{HOME}/ledger", f"{HOME}/owner", *places):
        assert harmless(owner.get(path).text) == []
    for word in HOSTILE:
        for fields in (("analyst",), ("text", "answered")):  # by somebody who is not there, nothing is looked for
            page = owner.get(f"{HOME}/ledger", params=dict.fromkeys(fields, word)).text
            assert harmless(page) == []
    made = owner.send(f"{HOME}/owner/tokens", holder=f"analyst:{WHO}").text
    assert "The new token of &#34;&gt;&lt;img" in made
    assert harmless(made) == []
    assert harmless(owner.send(f"{HOME}/owner/check").text) == []
    assert harmless(owner.send(f"{HOME}/ledger/verify", receipt=" ".join(HOSTILE)).text) == []
    assert harmless(owner.get("/sign-in", params={"back": "/" + HOSTILE[1]}).text) == []
    for path in (f"/data/{HOSTILE[0]}", f"/{HOSTILE[1]}", f"/learn/{HOSTILE[0]}", f"{HOME}/jobs/{HOSTILE[0]}"):
        assert harmless(owner.get(path).text) == []
    assert harmless(visitor.get(f"/learn/coins?epsilon={HOSTILE[1]}").text) == []
    for word in HOSTILE:
        assert harmless(visitor.get("/docs/search", params={"q": word}).text) == []
        assert harmless(visitor.get(f"/docs/{word}").text) == []


def test_labels_in_pictures_stay_labels(hostile: Site) -> None:
    visitor = hostile.visitor(WHO)
    place = visitor.ask(f'SELECT ward, COUNT(*) AS "{ALIAS}" FROM patients GROUP BY ward')
    drawn = re.search(r"<svg (?!class=\"gauge).*?</svg>", visitor.get(place).text, re.DOTALL)
    assert drawn is not None
    texts = [node.firstChild.data for node in minidom.parseString(drawn[0]).getElementsByTagName("text")]  # type: ignore[union-attr]
    assert set(HOSTILE) <= set(texts)
    assert ALIAS in texts


def test_a_label_that_looks_like_an_attribute_is_left_alone() -> None:
    svg = '<svg width="1"><g role="x" aria-label="a &gt; b"><text fill="#000">x role="</text><path d="M1"/></g></svg>'
    assert inked(svg, 'it says "so"') == (
        '<svg role="img" aria-label="it says &quot;so&quot;" width="1"><g><text fill="#000">x role="</text>'
        '<path d="M1"/></g></svg>'
    )


def test_pages_do_without_pictures(monkeypatch: pytest.MonkeyPatch, hospital: Site) -> None:
    def missing() -> None:
        raise ImportError

    assert picture(partial(missing), "nothing") is None
    monkeypatch.setattr("discreet.server.pages.answers.picture", lambda *_: None)
    visitor = hospital.visitor(ANALYST)
    assert "pip install &#39;discreet[plot]&#39;" in visitor.get(visitor.ask(WARDS, "0.02")).text


def test_tables_of_the_policy_are_listed_as_they_are_written(hostile: Site) -> None:
    page = hostile.visitor(WHO).get(HOME).text
    assert "<code>&lt;table&gt;</code>" in page
    assert "&lt;b onmouseover=alert(3)&gt;" in page
