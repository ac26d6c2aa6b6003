"""Everything that pages do is also a command, and no form of any page is missing from the tests that attack forms.

The tables here are compared with the routes of the application: whoever adds a form has to say which command does the
same, and who may send it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from fastapi import APIRouter
from starlette.routing import Route

from discreet.cli import discreet
from discreet.cli.audit import DEFAULT
from discreet.server.pages import owner, owner_acts
from discreet.server.pages.owner import AGAIN
from discreet.server.pages.site import DESK as AT_DESK
from discreet.server.pages.site import ROUTERS
from tests.cli.runs import run
from tests.server.desk import AtDesk, begin, build, desk
from tests.server.running import build as build_hospital
from tests.server.test_pages import ANALYST, AUDITOR, FORMS, HOME, OWNER
from tests.server.visitor import Site, site
from tests.test_deploy import parsed

SESSIONS = {"/sign-in": "a browser's session", "/sign-out": "a browser's session", "/jobs/{job}/cancel": "Ctrl-C"}
"""What only browsers need, and why."""
SQL = "SELECT COUNT(*) FROM patients"
COMMANDS = {
    "/preview": ["preview", "p.toml", SQL, "--epsilon", "1"],
    "/try": ["query", "p.toml", SQL, "--epsilon", "1", "--dummy"],
    "/ask": ["query", "p.toml", SQL, "--epsilon", "1"],
    "/saved": ["saved", "save", "p.toml", "name", SQL],
    "/saved/{saved}/remove": ["saved", "remove", "p.toml", "name"],
    "/releases": ["release", "facets", "p.toml", "patients", "--epsilon", "1"],
    "/releases/preview": ["release", "facets", "p.toml", "patients", "--epsilon", "1", "--preview"],
    "/ledger/verify": ["ledger", "verify", "p.toml"],
    "/owner/tokens": ["token", "create", "p.toml", "--role", "owner"],
    "/owner/tokens/{name}/revoke": ["token", "revoke", "0123abcd", "p.toml"],
    "/owner/budget": ["budget", "raise", "p.toml", "--epsilon", "5", "--why", "more"],
    "/owner/check": ["check", "p.toml"],
    "/owner/acknowledge": ["check", "p.toml", "--acknowledge", "tables.visits.max_rows: cut-rows"],
    "/owner/analysts": ["budget", "share", "p.toml", "name", "25%"],
    "/owner/backup": ["ledger", "backup", "p.toml", "monday.sqlite"],
    "/owner/suggest": ["check", "p.toml", "--suggest", "--epsilon", "0.1"],
    "/owner/audit": ["audit", DEFAULT, "p.toml"],
    "/owner/refresh": ["refresh", "p.toml", "--reason", "new rows"],
    "/owner/erase": ["refresh", "p.toml", "--erase", "--missing-files", "--reason", "request 114"],
}
"""The command that does the same as each form of a dataset."""
_WRITTEN = ["init", "visits.csv", "-o", "p.toml", "--decide", "budget.epsilon = 2.0"]
_CHECKED = ["check", "p.toml"]
DESK = {
    "/desk/new": _WRITTEN,
    "/desk/{draft}/files": _WRITTEN,
    "/desk/{draft}/units": _WRITTEN,
    "/desk/{draft}/columns/{number}": _WRITTEN,
    "/desk/{draft}/budget": _WRITTEN,
    "/desk/{draft}/analysts": _WRITTEN,
    "/desk/{draft}/write": _WRITTEN,
    "/desk/{draft}/look": _CHECKED,
    "/desk/{draft}/acknowledge": COMMANDS["/owner/acknowledge"],
    "/desk/open": ["tables", "p.toml"],
}
"""The same of the desk's."""
SHOWN = {
    "": ["tables", "p.toml"],
    "/saved/{saved}": ["saved", "show", "p.toml", "name"],
    "/ledger": ["ledger", "show", "p.toml"],
    "/streams": ["stream", "status", "p.toml"],
    "/owner/statement": ["report", "p.toml"],
    "/owner/script.sh": ["steps", "p.toml"],
    "/owner/notebook.ipynb": ["steps", "p.toml", "--notebook"],
}
"""Pages that show what a command shows."""
BACK = {"/owner", "/owner/audit", *(f"/owner/{each}" for each in AGAIN)}
"""The page itself, the report of an audit, and addresses that lead back to it."""


def posts(routers: Sequence[APIRouter]) -> set[str]:
    """The routes that forms are sent to."""
    return {each.path for router in routers for each in router.routes if isinstance(each, Route) and sends(each)}


def sends(route: Route) -> bool:
    return "POST" in (route.methods or ())


def tail(route: str) -> str:
    return route.removeprefix("/data/{dataset}")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(build_hospital(tmp_path_factory.mktemp("actions"), patients=20)) as made:
        yield made


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    with desk(build(tmp_path_factory.mktemp("desk") / "data")) as made:
        yield made


def test_no_form_is_without_its_command() -> None:
    assert {tail(route) for route in posts(ROUTERS)} == {*COMMANDS, *SESSIONS}
    assert posts(AT_DESK) == set(DESK)


def test_what_owners_look_at_and_export_is_a_command() -> None:
    routes = [each for router in (owner.router, owner_acts.router) for each in router.routes if isinstance(each, Route)]
    gets = {tail(each.path) for each in routes if "GET" in (each.methods or ())}
    assert gets == {*BACK, *(each for each in SHOWN if each.startswith("/owner/"))}


def test_the_command_exports_what_the_page_exports(hospital: Site, tmp_path: Path) -> None:
    visitor = hospital.visitor(OWNER)
    visitor.send(f"{HOME}/owner/tokens", holder="auditor", days="9")
    for file, words in (("script.sh", ()), ("notebook.ipynb", ("--notebook",))):
        exported = visitor.get(f"{HOME}/owner/{file}").text
        assert run("steps", hospital.policy, *words).output == exported
        run("steps", hospital.policy, *words, "-o", tmp_path / file)
        assert (tmp_path / file).read_text(encoding="utf-8") == exported
        run("steps", hospital.policy, *words, "-o", tmp_path / file, code=2)
    assert "--expires 9d" in (tmp_path / "script.sh").read_text(encoding="utf-8")
    run("steps", tmp_path / "none.toml", code=2)


def test_no_form_is_missing_from_the_table_that_tests_attack() -> None:
    routes = {route.replace("{dataset}", "hospital") for route in posts(ROUTERS)}
    assert {re.sub(r"\{\w+\}", "0", route) for route in routes} - {"/sign-in"} == set(FORMS)


@pytest.mark.parametrize("words", [*COMMANDS.values(), *DESK.values(), *SHOWN.values()], ids=" ".join)
def test_what_stands_in_the_tables_is_a_command(words: list[str]) -> None:
    parsed([*words])
    with pytest.raises(click.UsageError):
        parsed([*words, "--nonsense"])


def test_every_button_of_the_owners_page_shows_its_command(hospital: Site) -> None:
    page = hospital.visitor(OWNER).get(f"{HOME}/owner").text
    for section in re.findall(r"<section.*?</section>", page, re.DOTALL):
        if "<button" in section:
            assert "The same as" in section, section[:200]
    named = re.findall(r"The same as</span> <code>discreet ([a-z]+(?: [a-z]+)?) ", page)
    group = click.Context(discreet)
    for words in named:
        assert discreet.get_command(group, words.split()[0]) is not None, words


def test_forged_forms_of_the_desk_are_refused_whatever_they_are(clinic: AtDesk) -> None:
    visitor = clinic.owner()
    draft, other = begin(visitor, "forged", "visits.csv").rpartition("/")[2], clinic.owner()
    for route in DESK:
        path = route.replace("{draft}", draft).replace("{number}", "0")
        for proof in (None, "", "0" * 64, other.proof("/desk")):
            found = visitor.post(path, {} if proof is None else {"proof": proof})
            assert (found.status_code, "forged-form" in found.text) == (422, True), path


def test_reading_the_sources_anew_is_for_owners(hospital: Site) -> None:
    path = f"{HOME}/owner/refresh"
    for who in (ANALYST, AUDITOR):
        assert hospital.visitor(who).send(path, reason="x").status_code == 403
    assert hospital.visitor(OWNER).send(path, reason="new rows").status_code == 303
