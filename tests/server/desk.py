"""A desk in this process, for tests: a folder of files, and whoever started it, without a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

import httpx
from playwright.sync_api import Page

from discreet.server.app import application
from discreet.server.datasets import Datasets
from discreet.server.desk.desk import Desk
from discreet.server.desk.links import Links
from tests.forked import forked
from tests.server.running import MARKS, Running, environment, until
from tests.server.visitor import Site, Visitor

VISITS = "patient_id,cost,ward,notes,age\n" + "".join(
    f"p{number % 40},{number * 7 % 100},{'ABC'[number % 3]},note {number},{20 + number % 60}\n" for number in range(200)
)
WARDS = "ward,beds\nA,10\nB,20\nC,30\n"
COLUMNS = {
    "cost": {"kind": "number", "min": "0", "max": "5000"},
    "ward": {"kind": "text", "values": "A\r\nB\r\nC"},
    "notes": {"kind": "out"},
    "age": {"kind": "integer", "min": "0", "max": "120"},
}
"""What a walk decides about the columns of visits."""


@dataclass
class AtDesk:
    """Whoever started a desk."""

    site: Site
    folder: Path
    links: Links
    told: list[str] = field(default_factory=list)
    """The links that were shown after one was used."""

    def owner(self) -> Visitor:
        """A new session of the owner's."""
        return self.site.visitor().sign_in(self.links.new())


@contextmanager
def desk(folder: Path, backups: Path | None = None) -> Iterator[AtDesk]:
    """A desk over this folder."""
    told: list[str] = []
    links = Links(told.append)
    app = application(Datasets([], owners=links), workers=2, desk=Desk(folder, links), backups=backups)
    made = Site(app, folder, {}, asyncio.new_event_loop())
    try:
        yield AtDesk(made, folder, links, told)
    finally:
        made.close()


@contextmanager
def desking(folder: Path, *options: str) -> Iterator[Running]:
    """`discreet desk FOLDER --port 0 …` in a process of its own until the block ends; its link is in `tokens`."""
    log = folder.parent / f"{folder.name}-desk.log"
    arguments = ["desk", str(folder), "--port", "0", "--log", str(log), *options]
    process = forked("tests.server.loud", *arguments, environment={**environment(), MARKS: str(folder)})
    try:
        link = next((line.strip() for line in process.stderr if "/sign-in#" in line), "")
        url, _, token = link.partition("/sign-in#")
        assert token, process.wait()
        yield Running(process, url, folder / "clinic.toml", log, {"owner": token})
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def enter(page: Page, running: Running) -> None:
    """As a person does: with the link, once."""
    page.goto(f"/sign-in#{running.tokens['owner']}")
    page.wait_for_url("**/desk")


def hidden(page: httpx.Response, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found, (name, page.text)
    return unescape(found[1])


def send(visitor: Visitor, path: str, **fields: str) -> httpx.Response:
    """A form of the page at this path, as it is now, with these fields."""
    page = visitor.get(path)
    assert page.status_code == 200, page.text
    known = {"proof": hidden(page, "proof")}
    if 'name="revision"' in page.text:
        known["revision"] = hidden(page, "revision")
    return visitor.post(path, {**known, **{name.replace("_", "-"): value for name, value in fields.items()}})


def went(found: httpx.Response) -> str:
    assert found.status_code == 303, found.text
    return str(found.headers["location"])


def begin(visitor: Visitor, name: str, *files: str) -> str:
    """The address of a new draft."""
    fields = {f"file_{number}": file for number, file in enumerate(files)}
    return went(send(visitor, "/desk/new", name=name, **fields)).rpartition("/")[0]


def columns(
    visitor: Visitor, path: str, decided: dict[str, dict[str, str]], page: httpx.Response | None = None, **more: str
) -> httpx.Response:
    """The form of a table's columns, with what is decided about each; opened anew, or as it was seen before."""
    page = page or visitor.get(path)
    assert page.status_code == 200, page.text
    names = [unescape(name) for name in re.findall(r'name="column-\d+" value="([^"]*)"', page.text)]
    fields = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision")}
    for number, name in enumerate(names):
        fields |= {f"column-{number}": name, f"kind-{number}": "out"}
        fields |= {f"{key}-{number}": value for key, value in decided.get(name, {}).items()}
    return visitor.post(path, {**fields, **more})


def walk(visitor: Visitor, name: str = "clinic", *, budget: str = "2", delta: str = "") -> str:
    """From files to the page with the policy; the address of the draft."""
    draft = begin(visitor, name, "visits.csv", "wards.csv")
    units = {"unit_0": "column:patient_id", "rows_0": "2", "lines_0": "no", "unit_1": "public", "lines_1": "no"}
    assert went(send(visitor, f"{draft}/units", unit="patient", tables="2", **units)) == f"{draft}/columns/0"
    assert went(columns(visitor, f"{draft}/columns/0", COLUMNS)) == f"{draft}/columns/1"
    public = {"ward": {"kind": "text"}, "beds": {"kind": "integer"}}
    assert went(columns(visitor, f"{draft}/columns/1", public)) == f"{draft}/budget"
    assert went(send(visitor, f"{draft}/budget", epsilon=budget, delta=delta)) == f"{draft}/analysts"
    shares = {"name_0": "finance", "share_0": "0.5", "name_1": "study", "share_1": "25 %"}
    assert went(send(visitor, f"{draft}/analysts", **shares)) == f"{draft}/review"
    return draft


def write(visitor: Visitor, draft: str) -> httpx.Response:
    page = visitor.get(f"{draft}/review")
    text = re.search(r'name="text"[^>]*>\n(.*?)</textarea>', page.text, re.DOTALL)
    assert text, page.text
    fields = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision"), "text": unescape(text[1])}
    return visitor.post(f"{draft}/write", fields)


def open_it(visitor: Visitor, file: str) -> str:
    """Open a policy of the folder; the address of its owner's page."""
    found = visitor.post("/desk/open", {"proof": visitor.proof("/desk"), "file": file})
    waiting = went(found)

    def opened() -> str:
        page = visitor.get(waiting)
        assert "notice bad" not in page.text, page.text
        return str(page.headers.get("location", ""))

    return until(opened)


def build(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "visits.csv").write_text(VISITS, encoding="utf-8")
    (folder / "wards.csv").write_text(WARDS, encoding="utf-8")
    return folder
