"""People are erased from the owner's page as the command does it: by the owner, who has confirmed what stays."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from discreet.curator.refreshing import HELD
from discreet.owner.steps import Steps
from discreet.policy import read
from discreet.server.pages import owner_acts
from tests.curator.test_erasing import found
from tests.server.running import build, until
from tests.server.test_pages import ANALYST, AUDITOR, HOME, OWNER
from tests.server.visitor import Site, Visitor, site

ERASE, PAGE = f"{HOME}/owner/erase", f"{HOME}/owner"
PERSON = f"p{secrets.token_hex(20)}"
UNCONFIRMED = [{}, {"sure": ""}, {"sure": "0"}, {"sure": "yes"}, {"sure": "on"}, {"sure": "1 "}, {"missing": "1"}]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("erasing")
    policy, people = build(folder, patients=30), folder / "patients.csv"
    people.write_text(f"{people.read_text(encoding='utf-8')}{PERSON},50,A,{PERSON},1970-01-11\n", encoding="utf-8")
    with site(policy) as made:
        made.visitor(ANALYST).ask("SELECT COUNT(*) AS n FROM patients")
        yield made


def version(made: Site) -> int:
    return int(made.app.state.app_state.datasets["hospital"].curator._ledger.data_version)


def erased(visitor: Visitor, **fields: str) -> str:
    """The page after an erasure has ended."""
    sent = visitor.send(ERASE, sure="1", **fields)
    assert (sent.status_code, sent.headers["location"]) == (303, f"{PAGE}#erase")

    def ended() -> str | None:
        text = visitor.get(PAGE).text
        return None if "people are erased" in text else text

    text = until(ended)
    assert text is not None
    return text


def test_what_stays_is_said_before(hospital: Site) -> None:
    page = hospital.visitor(OWNER).get(PAGE).text
    form = page[page.index('id="erase"') : page.index('id="backup"')]
    for words in ("noisy answers", "backups that were made before", "cannot be undone", "--erase", "required"):
        assert words in form, words
    guide = form.partition('href="/docs/')[2].partition('"')[0]
    assert "Erasing people" in hospital.visitor(OWNER).get(f"/docs/{guide}").text


@pytest.mark.parametrize("fields", UNCONFIRMED, ids=str)
def test_without_the_confirmation_nothing_happens(hospital: Site, fields: dict[str, str]) -> None:
    before = version(hospital)
    refused = hospital.visitor(OWNER).send(ERASE, **fields)
    assert (refused.status_code, "was not confirmed" in refused.text) == (422, True)
    assert "<details open>" in refused.text
    assert version(hospital) == before
    assert hospital.app.state.works.of("hospital erase") is None


def test_it_is_for_owners_and_for_forms_of_their_own(hospital: Site) -> None:
    before, visitor = version(hospital), hospital.visitor(OWNER)
    for who in (ANALYST, AUDITOR):
        assert hospital.visitor(who).send(ERASE, sure="1").status_code == 403
    for proof in ({}, {"proof": ""}, {"proof": "0" * 64}, {"proof": hospital.visitor(OWNER).proof()}):
        forged = visitor.post(ERASE, {"sure": "1", **proof})
        assert (forged.status_code, "forged-form" in forged.text) == (422, True)
    assert visitor.get(ERASE).headers["location"] == PAGE
    assert version(hospital) == before
    assert hospital.app.state.works.of("hospital erase") is None


def test_a_source_that_cannot_be_read_erases_nobody(hospital: Site) -> None:
    people, before = read(hospital.policy).folder / "patients.csv", version(hospital)
    away = people.rename(people.with_suffix(".away"))
    try:
        page = erased(hospital.visitor(OWNER))
    finally:
        away.rename(people)
    assert "source-unreadable" in page or "cannot be read" in page
    assert "is erased" not in page
    assert version(hospital) == before
    assert found(read(hospital.policy).state, PERSON)


def test_a_person_is_gone_from_every_file(hospital: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that erases lets its own copies go; what others hold is said, and is no success."""
    policy, visitor = read(hospital.policy), hospital.visitor(OWNER)
    people = policy.folder / "patients.csv"
    left = [line for line in people.read_text(encoding="utf-8").splitlines() if PERSON not in line]
    people.write_text("\n".join(left) + "\n", encoding="utf-8")
    before = version(hospital)
    page = erased(visitor, reason=f"<script>{'x' * 900}")
    assert "whoever is gone at the source is erased; backups of before, and answers, are as they were" in page
    assert f"data version {before + 1} now" in page
    assert "Not gone from the disk yet" not in page
    assert (version(hospital), found(policy.folder, PERSON)) == (before + 1, [])
    assert "<script>x" not in visitor.get(f"{HOME}/ledger").text
    words = Steps.of(policy).all()[-1].words
    assert (words[:4], len(words[-1])) == (("refresh", hospital.policy.name, "--erase", "--reason"), 500)
    assert hospital.visitor(ANALYST).ask("SELECT COUNT(*) AS n FROM patients WHERE age > 40")
    monkeypatch.setattr("discreet.curator.erasing.held", lambda *_: ("data version 1 is <open> elsewhere",))
    page = erased(visitor, reason="again")
    assert "Not gone from the disk yet" in page
    assert "data version 1 is &lt;open&gt; elsewhere" in page
    assert "is erased; backups" not in page
    assert HELD.partition(",")[0] in page


def test_streams_ask_whether_missing_files_were_deleted(hospital: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    page = hospital.visitor(OWNER).get(PAGE).text
    assert 'name="missing"' not in page
    wanted: list[object] = []

    def refreshed(*_: object, erase: object, **__: object) -> None:
        wanted.append(erase)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner_acts, "refreshed", refreshed)
    page = erased(hospital.visitor(OWNER), missing="1")
    assert "No space left on device" in page
    assert [getattr(each, "missing_files", None) for each in wanted] == [True]
