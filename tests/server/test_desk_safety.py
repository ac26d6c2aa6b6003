"""What the desk lets nobody do: others at it, forged forms, paths out of the folder, links used twice, tokens told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet.cli import discreet
from discreet.policy import read
from discreet.server.desk.files import demand_offered, offered, policies
from discreet.server.desk.links import Links
from discreet.server.tokens import Made, Role
from tests.cli.runs import run
from tests.server.desk import AtDesk, begin, build, desk, hidden, open_it, send, walk, went, write
from tests.server.running import build as build_hospital
from tests.server.running import until
from tests.server.visitor import URL, Visitor, site

TOKEN = re.compile(r"discreet_[0-9a-f]{8}_[0-9a-f]{64}")
OUTSIDE = (
    *("../secret.csv", "data/../../secret.csv", "./visits.csv", "/etc/passwd", "link.csv", "linked/secret.csv"),
    *("visits*.csv", "VISITS.CSV", "visits.csv\0", "", "\n", "postgresql://x/y", "file:///etc/passwd", "visits.csv#x"),
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    """A desk with a policy that is open, and one that others have tokens for."""
    folder = tmp_path_factory.mktemp("safety")
    (folder / "secret.csv").write_text("id,secret\n1,x\n", encoding="utf-8")
    build(folder / "data")
    (folder / "data" / "link.csv").symlink_to(folder / "secret.csv")
    (folder / "data" / "linked").symlink_to(folder)
    with desk(folder / "data") as made:
        owner = made.owner()
        went(write(owner, walk(owner)))
        open_it(owner, "clinic.toml")
        yield made


@pytest.fixture(scope="module")
def owner(clinic: AtDesk) -> Visitor:
    return clinic.owner()


def forms(draft: str) -> list[str]:
    steps = ("files", "units", "columns/0", "budget", "analysts", "look", "acknowledge", "write")
    return ["/desk/new", "/desk/open", *(f"{draft}/{step}" for step in steps)]


def others(clinic: AtDesk) -> dict[str, Visitor]:
    """People with tokens of the dataset that is open at the desk."""
    dataset = clinic.site.app.state.app_state.datasets["clinic"]
    visitors = {}
    for role, analyst in ((Role.OWNER, None), (Role.ANALYST, "finance"), (Role.AUDITOR, None)):
        made = Made.new()
        dataset.tokens.add(made, role, analyst)
        visitors[str(role)] = clinic.site.visitor().sign_in(made.text)
    return visitors


@pytest.mark.long
def test_the_desk_is_for_whoever_started_it(clinic: AtDesk, owner: Visitor) -> None:
    draft = begin(owner, "draft", "visits.csv")
    pages = ["/desk", "/desk/new", "/desk/opening", *(f"{draft}/{step}" for step in ("files", "units", "review"))]
    for who, visitor in others(clinic).items():  # also owners of the dataset, who sit elsewhere
        for path in pages:
            assert visitor.get(path).status_code == 403, (who, path)
        for path in forms(draft):
            assert visitor.post(path, {"proof": visitor.proof()}).status_code == 403, (who, path)
        assert 'href="/desk"' not in visitor.get("/").text
    nobody = clinic.site.visitor()
    for path in pages:
        assert nobody.get(path).headers["location"].startswith("/sign-in")
    for path in forms(draft):
        assert nobody.post(path).headers["location"].startswith("/sign-in")


def test_forms_that_prove_nothing_are_refused(clinic: AtDesk, owner: Visitor) -> None:
    draft, other = begin(owner, "forged", "visits.csv"), clinic.owner()
    before = sorted(each.name for each in clinic.folder.iterdir())
    for path in forms(draft):
        for proof in (None, "", "0" * 64, other.proof("/desk")):
            found = owner.post(path, {} if proof is None else {"proof": proof})
            assert (found.status_code, "forged-form" in found.text) == (422, True), path
    assert sorted(each.name for each in clinic.folder.iterdir()) == before


def test_a_server_for_others_has_no_desk(tmp_path: Path) -> None:
    with site(build_hospital(tmp_path, patients=50)) as served:
        visitor = served.visitor("owner")
        for path in ("/desk", "/desk/new", "/desk/0/units"):
            assert visitor.get(path).status_code == 404
        assert visitor.send("/desk/open", file="hospital.toml").status_code == 404
        found = visitor.send("/data/hospital/owner/backup", into="folder")
        assert (found.status_code, "--backups" in found.text) == (422, True)  # no folder was named at its start


# links


def test_a_link_signs_in_once_and_the_next_is_told(clinic: AtDesk) -> None:
    link = clinic.links.new()
    before = len(clinic.told)
    first, second = clinic.site.visitor(), clinic.site.visitor()
    first.sign_in(link)
    assert first.get("/desk").status_code == 200
    assert second.post("/sign-in", {"token": link}).status_code == 401
    (following,) = clinic.told[before:]
    assert second.sign_in(following).get("/desk").status_code == 200
    for text in (link, clinic.links.new()):  # neither a used nor a fresh link opens anything by itself
        api = first.loop.run_until_complete(
            httpx.AsyncClient(transport=httpx.ASGITransport(clinic.site.app), base_url=URL).get(
                "/api/v1/datasets", headers={"authorization": f"Bearer {text}"}
            )
        )
        assert api.status_code == 401


def test_links_of_others_are_none() -> None:
    links = Links()
    for text in ("", "x", "discreet_00000000_" + "0" * 64, Links().new(), "é", "\0"):
        assert links.redeem(text) is None
        assert links.find(text) is None
    link = links.new()
    assert links.find(link) is None
    held = links.redeem(link)
    assert held is not None
    assert links.redeem(held) is None  # what a session holds is no link
    assert links.find(held) is not None
    links.close()


def test_tokens_are_in_no_log_no_address_and_no_export(
    clinic: AtDesk, owner: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    visitor = clinic.owner()
    made = visitor.send("/data/clinic/owner/tokens", holder="analyst:finance", days="30")
    (token,) = set(TOKEN.findall(made.text))
    assert "no-store" in made.headers["cache-control"]
    for path in ("/data/clinic/owner", "/data/clinic/owner/script.sh", "/data/clinic/owner/notebook.ipynb"):
        assert not TOKEN.search(visitor.get(path).text), path
    script = visitor.get("/data/clinic/owner/script.sh").text
    assert "--role analyst --analyst finance --expires 30d" in script
    assert not TOKEN.search(caplog.text)
    short = token.split("_")[1]
    assert visitor.send(f"/data/clinic/owner/tokens/{short}/revoke").status_code == 303
    assert f"# the token {short} was revoked" in visitor.get("/data/clinic/owner/script.sh").text
    assert clinic.site.visitor().post("/sign-in", {"token": token}).status_code == 401
    assert not TOKEN.search((clinic.folder / "clinic.discreet" / "steps.jsonl").read_text(encoding="utf-8"))
    assert owner.get("/data/clinic/owner").status_code == 200


# files


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_form_names_a_file_that_was_not_offered(owner: Visitor, name: str) -> None:
    found = send(owner, "/desk/new", name="outside", file_0="visits.csv", file_1=name)
    assert found.status_code == 422, name
    assert "no such file in the folder" in found.text
    assert "secret" not in found.text.replace("secret.csv", "")
    proof = owner.proof("/desk")
    assert owner.post("/desk/open", {"proof": proof, "file": name}).status_code == 404


def test_links_pipes_and_odd_names_are_not_offered(tmp_path: Path) -> None:
    folder = build(tmp_path / "data")
    (tmp_path / "secret.csv").write_text("id\n1\n", encoding="utf-8")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.csv")
    (folder / "bell\a.csv").write_text("a\n", encoding="utf-8")
    (folder / "odd[1].csv").write_text("a\n", encoding="utf-8")
    (folder / ".hidden.csv").write_text("a\n", encoding="utf-8")
    (folder / "x.discreet").mkdir()
    (folder / "x.discreet" / "rows.duckdb").write_text("", encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "sub" / "more.csv").write_text("a\n", encoding="utf-8")
    with open(os.fsencode(folder) + b"/\xff.csv", "w", encoding="utf-8"):
        pass
    fine = [each.name for each in offered(folder) if not each.problem]
    assert fine == ["sub/more.csv", "visits.csv", "wards.csv"]
    assert {each.problem.split(",")[0].split(":")[0] for each in offered(folder) if each.problem} == {
        "is a link",
        "is no regular file",
        "has a name that cannot be shown",
        "has * ? or [ in its name",
    }
    assert demand_offered(folder, ["sub/more.csv"]) == ["sub/more.csv"]
    (folder / "linked.toml").symlink_to(tmp_path / "secret.csv")
    assert policies(folder) == []
    assert offered(tmp_path / "nowhere") == []


def test_a_file_that_becomes_a_link_is_taken_no_longer(tmp_path: Path) -> None:
    folder = build(tmp_path / "data")
    (tmp_path / "secret.csv").write_text("hidden_column\n1\n", encoding="utf-8")
    with desk(folder) as made:
        owner = made.owner()
        draft = begin(owner, "clinic", "visits.csv")
        (folder / "visits.csv").unlink()
        (folder / "visits.csv").symlink_to(tmp_path / "secret.csv")
        for step in ("units", "review"):
            found = owner.get(f"{draft}/{step}")
            assert (found.status_code, "hidden_column" in found.text) == (404, False)
        assert send(owner, "/desk/new", name="again", file_0="visits.csv").status_code == 422


def test_drafts_that_are_not_there(owner: Visitor) -> None:
    for draft in ("0", "x" * 300, "..%2f..", "%00"):
        assert owner.get(f"/desk/{draft}/units").status_code == 404
    draft = begin(owner, "few", "visits.csv")
    assert owner.get(f"{draft}/columns/7").status_code == 404
    assert owner.get(f"{draft}/columns/x").status_code == 422
    for path in ("-1", "99999999999999999999"):
        assert owner.get(f"{draft}/columns/{path}").status_code in (404, 422)
    page = owner.get(f"{draft}/units")
    more = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision"), "unit": "x", "tables": "1"}
    for chosen in ("", "column:nobody", "path:a -> b.c", "x"):
        assert owner.post(f"{draft}/units", {**more, "unit-0": chosen}).status_code == 422, chosen
    for rows in ("0", "-1", "x", "1e3", "9" * 30, "١"):
        found = owner.post(f"{draft}/units", {**more, "unit-0": "column:patient_id", "rows-0": rows})
        assert found.status_code in (303, 422), rows
        if found.status_code == 303:
            more["revision"] = hidden(owner.get(f"{draft}/units"), "revision")


# the command


def test_the_command_wants_a_folder(tmp_path: Path) -> None:
    run("desk", tmp_path / "nowhere", code=2)
    (tmp_path / "file").write_text("", encoding="utf-8")
    run("desk", tmp_path / "file", code=2)
    options = {name for each in discreet.get_command(None, "desk").params for name in each.opts}  # type: ignore[arg-type, union-attr]
    assert "--host" not in options  # this machine, and no other


def test_a_policy_of_the_folder_is_opened_by_its_file(clinic: AtDesk, owner: Visitor) -> None:
    (clinic.folder / "twin.toml").write_bytes((clinic.folder / "clinic.toml").read_bytes())
    went(owner.post("/desk/open", {"proof": owner.proof("/desk"), "file": "twin.toml"}))
    page = until(lambda: found if "notice bad" in (found := owner.get("/desk/opening?file=twin.toml").text) else "")
    assert "another policy that is open" in page
    assert read(clinic.folder / "twin.toml").name == "clinic"
    assert open_it(owner, "clinic.toml") == "/data/clinic/owner"  # it is open already
