"""The desk without a browser: from files to a policy that is open, its export, and what changes meanwhile."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from discreet.curator.state import recorded_grant
from discreet.ledger import verify
from discreet.owner.steps import Steps
from discreet.policy import read
from tests.cli.runs import run
from tests.server.desk import (
    COLUMNS,
    VISITS,
    WARDS,
    AtDesk,
    begin,
    build,
    columns,
    desk,
    hidden,
    open_it,
    send,
    walk,
    went,
    write,
)
from tests.server.running import until
from tests.server.visitor import Visitor, shown

RECORDER = '#!/bin/sh\nprintf "%s\\0" "$@" >> calls\nprintf "\\n\\0" >> calls\n'
"""A `discreet` that notes the words that a shell gives it."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    """A desk whose files nobody changes."""
    with desk(build(tmp_path_factory.mktemp("desk"))) as made:
        yield made


@pytest.fixture(scope="module")
def owner(clinic: AtDesk) -> Visitor:
    return clinic.owner()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[AtDesk]:
    (tmp_path / "data").mkdir()
    with desk(build(tmp_path / "data"), tmp_path / "backups") as made:
        yield made


def looked(visitor: Visitor, draft: str, step: str) -> str:
    """The page of a step, after a look at the files."""
    proof = hidden(visitor.get(f"{draft}/{step}"), "proof")
    assert went(visitor.post(f"{draft}/look", {"proof": proof})) == f"{draft}/review#look"
    return seen(visitor, draft, step)


def seen(visitor: Visitor, draft: str, step: str) -> str:
    """The page of a step, once a look has ended."""
    return until(lambda: "" if "data-look-again" in (page := visitor.get(f"{draft}/{step}").text) else page)


def called(script: str, folder: Path) -> list[list[str]]:
    """The words of each command of a script, as a real shell reads them."""
    (folder / "bin").mkdir()
    (folder / "bin" / "discreet").write_text(RECORDER, encoding="utf-8")
    (folder / "bin" / "discreet").chmod(0o755)
    (folder / "it.sh").write_text(script, encoding="utf-8")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "it.sh"], cwd=folder, env={**os.environ, "PATH": path}, check=True, timeout=60)
    words = (folder / "calls").read_bytes().decode().split("\0")
    calls: list[list[str]] = [[]]
    for word in words[:-1]:
        calls[-1].append(word) if word != "\n" else calls.append([])
    for name in ("calls", "it.sh", "bin/discreet"):
        (folder / name).unlink()
    (folder / "bin").rmdir()
    return calls[:-1]


def repeated(calls: list[list[str]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands in a folder, each with exactly these words."""
    monkeypatch.chdir(folder)
    for words in calls:
        run(*words)


# the whole way, and its export


def test_from_files_to_a_policy_that_others_may_ask(
    fresh: AtDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = fresh.owner()
    draft = walk(owner)
    page = owner.get(f"{draft}/review").text
    assert "Still to decide" not in page
    assert not list(fresh.folder.glob("*.toml"))  # nothing is written before the last step
    assert went(write(owner, draft)) == f"{draft}/review"
    assert "clinic.toml is written" in shown(owner.get(f"{draft}/review").text)
    path = fresh.folder / "clinic.toml"
    written = path.read_text(encoding="utf-8")
    policy = read(path)
    assert (policy.unit, policy.tables["visits"].max_rows, policy.tables["wards"].is_public) == ("patient", 2, True)
    assert list(policy.tables["visits"].columns) == ["cost", "ward", "age"]
    assert path.stat().st_mode & 0o777 == 0o644
    home = open_it(owner, "clinic.toml")
    assert home == "/data/clinic/owner"
    assert "Owner of clinic" in shown(owner.get(home).text)

    # the owner's page
    raised = owner.send(f"{home}/budget", epsilon="3", reason="a second study; $(touch gone)", act="raise")
    assert raised.status_code == 303
    assert owner.send(f"{home}/budget", epsilon="2.5", act="lower").status_code == 303
    assert recorded_grant(read(path)).epsilon == 2.5
    assert owner.send(f"{home}/analysts", name="-x 'y'", share="10 %").status_code == 303
    token = re.findall(r"discreet_[0-9a-f]{8}_[0-9a-f]{64}", owner.send(f"{home}/tokens", holder="analyst:-x 'y'").text)
    assert len(set(token)) == 1
    assert fresh.site.visitor().sign_in(token[0]).get("/data/clinic").status_code == 200
    checked = owner.send(f"{home}/check").text
    assert "Contains exact values: do not share" in checked
    finding = unescape(re.findall(r'name="finding" value="([^"]*)"', checked)[0])
    assert owner.send(f"{home}/acknowledge", finding=finding).status_code == 303
    assert finding in read(path).acknowledged
    assert f'value="{finding}"' not in unescape(owner.get(home).text)
    owner.send(f"{home}/refresh", reason="a new month")
    until(lambda: "data version" in owner.get(home).text)
    kept = owner.send(f"{home}/backup")
    assert kept.headers["content-disposition"] == 'attachment; filename="clinic-ledger.sqlite"'
    (tmp_path / "kept.sqlite").write_bytes(kept.content)
    assert verify(tmp_path / "kept.sqlite").sound
    assert "Backed up" in owner.send(f"{home}/backup", into="folder").text
    (backup,) = (tmp_path / "backups").iterdir()
    assert verify(backup).sound
    statement = owner.get(f"{home}/statement")
    assert statement.status_code == 200
    assert "patient" in statement.text

    # the same, repeated from the script in an empty folder that has the same files
    script = owner.get(f"{home}/script.sh").text
    assert token[0] not in script
    notebook = json.loads(owner.get(f"{home}/notebook.ipynb").text)
    again = build(tmp_path / "again")
    calls = called(script, again)
    assert [words[0] for words in calls] == [
        *("init", "tables", "budget", "budget", "budget", "token", "check", "refresh", "ledger", "ledger")
    ]
    repeated(calls, again, monkeypatch)
    assert (again / "clinic.toml").read_bytes() == path.read_bytes() != written.encode()
    assert not list(tmp_path.rglob("gone"))
    told: list[list[str]] = []
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in cells[1:-1]:  # the first defines the command, the last opens the policy
        exec(cell, {"discreet": lambda *words: told.append(list(words))})
    assert told == calls
    assert all(cell.isascii() for cell in cells)


def test_the_command_of_the_last_step_writes_the_same(
    clinic: AtDesk, owner: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = walk(owner, "same", delta="1e-6")
    page = owner.get(f"{draft}/review").text
    text = unescape(re.findall(r'aria-label="The policy’s text">(.*?)</pre>', page, re.DOTALL)[0])
    command = unescape(re.findall(r'aria-label="The same as a command">(.*?)</pre>', page, re.DOTALL)[0])
    build(tmp_path / "same")
    (words,) = called(command, tmp_path / "same")
    repeated([words], tmp_path / "same", monkeypatch)
    assert (tmp_path / "same" / "same.toml").read_text(encoding="utf-8") == text
    assert not list(clinic.folder.glob("*.toml"))


HOSTILE = (
    "-rf $(touch gone) `touch gone`.csv",
    "a';touch gone;'.csv",
    '"><script>alert(1)</script>.csv',
    "{x} $y !z.csv",
)


@pytest.mark.long
def test_names_are_words_to_the_script_and_texts_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = ["id", "'; touch gone; '", '"] = false\n[x]', "<img src=x onerror=alert(1)>", "$(touch gone)", "{{7*7}}"]
    folder = tmp_path / "data"
    folder.mkdir()
    lines = ",".join('"' + name.replace('"', '""') + '"' for name in header) + "\n" + ",".join("123456") + "\n"
    files = [name for name in HOSTILE if "/" not in name]
    for name in files:
        (folder / name).write_text(lines, encoding="utf-8")
    with desk(folder) as made:
        owner = made.owner()
        listing = owner.get("/desk/new").text
        assert "<script>alert" not in listing
        draft = begin(owner, "hostile", *files)
        units = {f"unit_{number}": "column:id" for number in range(len(files))}
        went(send(owner, f"{draft}/units", unit="<i>person</i>", tables=str(len(files)), **units))
        for number in range(len(files)):
            path = f"{draft}/columns/{number}"
            page = owner.get(path).text
            assert "<img src=x" not in page
            names = [unescape(name) for name in re.findall(r'name="column-\d+" value="([^"]*)"', page)]
            assert names == [name for name in header[1:] if name.isprintable()]
            decided = {name: {"kind": "text", "values": "'; touch gone\n$(touch gone)\n<b>"} for name in names}
            went(columns(owner, path, decided))
        went(send(owner, f"{draft}/budget", epsilon="1"))
        went(send(owner, f"{draft}/analysts", name_0="</pre><script>", share_0="0.5"))
        review = owner.get(f"{draft}/review").text
        assert "</pre><script>" not in review
        went(write(owner, draft))
        policy = read(folder / "hostile.toml")
        assert {table.source.path for table in policy.tables.values()} == set(files)
        script = open_script(owner)
    again = tmp_path / "again"
    again.mkdir()
    for name in files:
        (again / name).write_text(lines, encoding="utf-8")
    repeated(called(script, again), again, monkeypatch)
    assert (again / "hostile.toml").read_bytes() == policy.path.read_bytes()
    assert not list(tmp_path.rglob("gone"))


def open_script(owner: Visitor) -> str:
    home = open_it(owner, "hostile.toml")
    assert "<i>person" not in owner.get(home).text
    return owner.get(f"{home}/script.sh").text


# errors and meanings, while choosing


def test_errors_follow_the_bounds_from_the_text_alone(clinic: AtDesk, owner: Visitor) -> None:
    draft = begin(owner, "errors", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", unit_0="column:patient_id", rows_0="2"))
    path = f"{draft}/columns/0"

    def halves(high: str, cost: str = "0.1") -> list[float]:
        decided = {"cost": {"kind": "number", "min": "0", "max": high}}
        found = columns(owner, path, decided, fragment="1", cost=cost)
        assert found.status_code == 200, found.text
        shown, beside = found.text.split("<div hidden>")  # the box, and what stands beside each column
        box, field = (
            [float(each.replace(",", "")) for each in re.findall(r"±\s([\d.,]*\d)", text)] for text in (shown, beside)
        )
        assert box[1:] == field
        return box

    count, total, average = halves("1000")
    assert (count, round(total / halves("500")[1]), round(total / halves("1000", "1")[1])) == (60, 2, 10)
    assert average < total
    revision = hidden(owner.get(path), "revision")
    halves("10")
    assert hidden(owner.get(path), "revision") == revision  # looking changes nothing
    assert not (clinic.folder / "errors.discreet").exists()


NONSENSE: list[tuple[dict[str, str], str]] = [
    ({"kind": "number", "min": "5", "max": "1"}, "must lie below max"),
    ({"kind": "number", "min": "5"}, "give both bounds, or neither"),
    ({"kind": "number", "min": "x", "max": "1"}, "none of numbers"),
    ({"kind": "number", "min": "nan", "max": "1"}, "finite"),
    ({"kind": "integer", "min": "0.5", "max": "1"}, "none of whole numbers"),
    ({"kind": "date", "min": "yesterday", "max": "2020-01-01"}, "none of days"),
    ({"kind": "text", "values": "A\nA"}, "must be distinct"),
    ({"kind": "integer", "values": "1\ntwo"}, "none of whole numbers"),
    ({"kind": "blob"}, "choose what the column holds"),
    ({"kind": ""}, "choose what the column holds"),
    ({"kind": "integer", "min": "9" * 400, "max": "1"}, "none of whole numbers"),
]


@pytest.mark.long
def test_what_makes_no_sense_is_said_beside_its_column(owner: Visitor) -> None:
    """Each from the form as it was opened once: what is refused changes no draft."""
    draft = begin(owner, "wrong", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", unit_0="column:patient_id"))
    page = owner.get(f"{draft}/columns/0")
    for decided, words in NONSENSE:
        given = {"cost": decided, "age": {"kind": "integer", "min": "0", "max": "9"}}
        found = columns(owner, f"{draft}/columns/0", given, page=page)
        assert found.status_code == 422, decided
        assert words in shown(found.text), decided
        assert "± " in found.text, decided  # what is right is still said the errors of
    assert went(columns(owner, f"{draft}/columns/0", COLUMNS, page=page)) == f"{draft}/budget"


@pytest.mark.long
def test_a_budget_is_told_in_words_and_queries(owner: Visitor) -> None:
    draft = begin(owner, "words", "visits.csv")
    went(send(owner, f"{draft}/units", unit="patient", tables="1", unit_0="column:patient_id"))
    went(columns(owner, f"{draft}/columns/0", COLUMNS))
    found = send(owner, f"{draft}/budget", epsilon="3", fragment="1")
    assert "at most 95.3 % sure" in shown(found.text)
    assert re.findall(r'<td class="number">(\d+)</td>', found.text) == ["100", "30", "10", "5"]  # as guide 39 has it
    for epsilon, delta in (("", ""), ("0", ""), ("nan", ""), ("1", "2"), ("1", "x")):
        found = send(owner, f"{draft}/budget", epsilon=epsilon, delta=delta)
        assert found.status_code == 422, (epsilon, delta)
        assert 'class="bad"' in found.text
    went(send(owner, f"{draft}/budget", epsilon="3"))
    for share in ("", "x", "-1", "nan", "9", "200 %"):
        assert send(owner, f"{draft}/analysts", name_0="finance", share_0=share).status_code == 422, share
    for name in ("owner", "\x07", "_discreet_x", "x" * 300):
        assert send(owner, f"{draft}/analysts", name_0=name, share_0="0.5").status_code == 422, name


@pytest.mark.long
def test_what_is_looked_at_in_the_files_is_exact_and_marked(owner: Visitor) -> None:
    draft = begin(owner, "exact", "visits.csv")
    units = {"unit_0": "column:patient_id", "rows_0": "2", "lines_0": "no"}
    went(send(owner, f"{draft}/units", unit="patient", tables="1", stay="1", **units))
    page = looked(owner, draft, "units")
    assert "Contains exact values: do not share" in page
    assert re.findall(r'<td class="number">([\d.]+) %</td>', page)[:3] == ["20.0", "40.0", "100.0"]
    assert "cut-rows" not in page
    tight = {**COLUMNS, "cost": {"kind": "number", "min": "0", "max": "99"}}
    went(columns(owner, f"{draft}/columns/0", tight, stay="1"))
    page = looked(owner, draft, "columns/0")
    assert "smallest and the largest value of the data" in page
    clamped = {**COLUMNS, "cost": {"kind": "number", "min": "0", "max": "1"}}
    went(columns(owner, f"{draft}/columns/0", clamped, stay="1"))
    assert "before your last change" in owner.get(f"{draft}/columns/0").text
    page = looked(owner, draft, "columns/0")
    assert "answers tell more of the bounds than of the data" in page
    went(send(owner, f"{draft}/budget", epsilon="1"))
    page = looked(owner, draft, "review")
    proof, revision = hidden(owner.get(f"{draft}/review"), "proof"), hidden(owner.get(f"{draft}/review"), "revision")
    wanted = "tables.visits.columns.cost: outside-bounds"
    fields = {"proof": proof, "revision": revision, "finding": wanted}
    assert owner.post(f"{draft}/acknowledge", {**fields, "finding": "x: y"}).status_code == 422
    went(owner.post(f"{draft}/acknowledge", fields))
    assert f'acknowledged = ["{wanted}"]' in unescape(owner.get(f"{draft}/review").text)


def test_looking_keeps_what_the_form_says_first(owner: Visitor) -> None:
    """Else what is looked at is not what is seen: a table whose unit is chosen has none yet."""
    draft = begin(owner, "keeps", "visits.csv")
    assert "missing" in looked(owner, draft, "units"), "nothing was kept"
    units = {"unit_0": "column:patient_id", "rows_0": "2", "lines_0": "no"}
    sent = send(owner, f"{draft}/units", unit="patient", tables="1", look="1", **units)
    assert went(sent) == f"{draft}/units#look"
    assert "rows that would be read" in seen(owner, draft, "units")
    clamped = {**COLUMNS, "cost": {"kind": "number", "min": "0", "max": "1"}}
    assert went(columns(owner, f"{draft}/columns/0", clamped, look="1")) == f"{draft}/columns/0#look"
    assert "answers tell more of the bounds than of the data" in seen(owner, draft, "columns/0")


def test_a_look_that_failed_is_not_told_of_what_was_kept_since(owner: Visitor) -> None:
    draft = begin(owner, "failed", "visits.csv")
    assert "missing" in looked(owner, draft, "units")
    units = {"unit_0": "column:patient_id", "rows_0": "2", "lines_0": "no"}
    went(send(owner, f"{draft}/units", unit="patient", tables="1", **units))
    for step in ("units", "columns/0", "review"):
        assert "notice bad" not in owner.get(f"{draft}/{step}").text, step


# what changes meanwhile


def test_two_tabs_overwrite_nothing_of_each_other(owner: Visitor) -> None:
    draft = begin(owner, "tabs", "visits.csv")
    page = owner.get(f"{draft}/units")
    seen = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision"), "tables": "1", "unit": "patient"}
    went(owner.post(f"{draft}/units", {**seen, "unit-0": "column:patient_id"}))
    found = owner.post(f"{draft}/units", {**seen, "unit-0": "row"})
    assert found.status_code == 409
    assert "in another tab" in found.text
    assert 'value="column:patient_id" selected' in owner.get(f"{draft}/units").text
    for wrong in ("", "x", "-1", "1e9"):
        assert owner.post(f"{draft}/units", {**seen, "revision": wrong, "unit-0": "row"}).status_code == 409


def test_files_that_change_meanwhile_are_noticed(fresh: AtDesk) -> None:
    owner = fresh.owner()
    draft = walk(owner)
    page = owner.get(f"{draft}/columns/0")
    (fresh.folder / "visits.csv").write_text(VISITS.replace("notes", "remarks", 1), encoding="utf-8")
    names = re.findall(r'name="column-\d+" value="([^"]*)"', page.text)
    fields = {f"column-{number}": name for number, name in enumerate(names)}
    more = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision")}
    found = owner.post(f"{draft}/columns/0", {**fields, **more})
    assert (found.status_code, "other tables or columns now" in found.text) == (409, True)
    found = owner.get(f"{draft}/review")  # a column that was decided is gone
    assert found.status_code == 422
    assert "has no such column" in shown(found.text)
    (fresh.folder / "visits.csv").unlink()
    found = owner.get(f"{draft}/units")
    assert found.status_code == 422
    assert "no such file" in shown(found.text)
    (fresh.folder / "visits.csv").write_text(VISITS, encoding="utf-8")
    page = owner.get(f"{draft}/review")
    more = {"proof": hidden(page, "proof"), "revision": hidden(page, "revision")}
    found = owner.post(f"{draft}/write", {**more, "text": "name = 'another'"})  # not what was shown
    assert found.status_code == 409
    assert not list(fresh.folder.glob("*.toml"))


@pytest.mark.long
def test_no_file_is_overwritten_and_none_is_half_written(fresh: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = fresh.owner()
    draft = walk(owner)
    path = fresh.folder / "clinic.toml"
    path.write_text("mine", encoding="utf-8")
    found = write(owner, draft)
    assert (found.status_code, "policy-exists" in found.text) == (409, True)
    assert path.read_text(encoding="utf-8") == "mine"
    path.unlink()
    path.symlink_to(fresh.folder / "elsewhere")
    assert write(owner, draft).status_code == 409  # not through a link that leads nowhere either
    path.unlink()
    for call in ("os.fsync", "os.link", "tempfile.mkstemp"):
        with monkeypatch.context() as patch:
            patch.setattr(f"discreet.owner.editing.{call}", _full)
            found = write(owner, draft)
        assert found.status_code == 422, found.text
        assert "No space left on device" in found.text
        assert sorted(each.name for each in fresh.folder.iterdir()) == ["visits.csv", "wards.csv"]
    went(write(owner, draft))


def _full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.long
def test_a_policy_that_was_edited_by_hand_is_left_alone(fresh: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = fresh.owner()
    went(write(owner, walk(owner)))
    home, path = open_it(owner, "clinic.toml"), fresh.folder / "clinic.toml"
    edited = path.read_text(encoding="utf-8").replace("max = 120", "max = 110")
    path.write_text(edited, encoding="utf-8")
    for form, fields in {
        "analysts": {"name": "new", "share": "0.1"},
        "acknowledge": {"finding": "tables.visits.max_rows: cut-rows"},
        "budget": {"epsilon": "9", "act": "raise"},
    }.items():
        found = owner.send(f"{home}/{form}", **fields)
        assert found.status_code == 422, form
        assert "is not what is served" in found.text
    assert path.read_text(encoding="utf-8") == edited
    fresh.site.app.state.app_state.datasets.reload()  # as the server does every second
    monkeypatch.setattr("discreet.owner.editing.os.replace", _full)
    assert owner.send(f"{home}/analysts", name="new", share="0.1").status_code == 422
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == edited
    for name, share in (("", "1"), ("new", ""), ("new", "x"), ("owner", "0.1"), ("finance", "0.1"), ("new", "99")):
        assert owner.send(f"{home}/analysts", name=name, share=share).status_code == 422, (name, share)
    for finding in ("", "x", "x: y", "a\nb: cut-rows", "x" * 2000 + ": cut-rows"):
        assert owner.send(f"{home}/acknowledge", finding=finding).status_code == 422, finding
    assert path.read_text(encoding="utf-8") == edited


def test_files_that_are_no_tables_are_refused(fresh: AtDesk) -> None:
    owner = fresh.owner()
    for name, content in {"empty.csv": b"", "binary.parquet": b"\0" * 100, "no.duckdb": b"x" * 5000}.items():
        (fresh.folder / name).write_bytes(content)
        found = send(owner, "/desk/new", name="bad", file_0=name)
        assert found.status_code == 422, name
        assert "source-unreadable" in found.text
        assert ("is empty" in found.text) == (name == "empty.csv")
    for many, status in ((1000, 303), (1001, 422)):  # a form of more would be refused after all was filled in
        names = ",".join(f"column_with_a_long_name_{number}" for number in range(many - 1))
        (fresh.folder / "wide.csv").write_text(f"person_id,{names}\n", encoding="utf-8")
        found = send(owner, "/desk/new", name="wide", file_0="wide.csv")
        assert found.status_code == status, many
    assert "wide has 1,001 columns" in found.text
    for name in ("", ".", "../x", "a/b", "x" * 61, "é", "-x", "a b", "a\nb"):
        assert send(owner, "/desk/new", name=name, file_0="visits.csv").status_code == 422, name
    assert "no file was chosen" in send(owner, "/desk/new", name="none").text
    (fresh.folder / "broken.toml").write_text("[", encoding="utf-8")
    assert "cannot be used" in owner.get("/desk").text


@pytest.mark.long
def test_opening_says_what_is_wrong_with_the_files(fresh: AtDesk) -> None:
    owner = fresh.owner()
    went(write(owner, walk(owner)))
    (fresh.folder / "wards.csv").write_text(WARDS.replace("beds", "chairs"), encoding="utf-8")
    went(owner.post("/desk/open", {"proof": owner.proof("/desk"), "file": "clinic.toml"}))
    page = until(lambda: found if "notice bad" in (found := owner.get("/desk/opening?file=clinic.toml").text) else "")
    assert "wards" in shown(page), shown(page)
    assert "clinic" not in fresh.site.app.state.app_state.datasets
    (fresh.folder / "wards.csv").write_text(WARDS, encoding="utf-8")
    assert open_it(owner, "clinic.toml") == "/data/clinic/owner"


def test_steps_that_cannot_be_noted_stop_nobody(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "state")
    steps.add("check", "a.toml")
    with (tmp_path / "state" / "steps.jsonl").open("a") as file:
        file.write('{"words": [1], "remark": ""}\n{"words": ["x"')
    assert [step.words for step in steps.all()] == [("check", "a.toml")]
    other = Steps(tmp_path / "linked")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "steps.jsonl").symlink_to(tmp_path / "victim")
    other.add("x")
    assert not (tmp_path / "victim").exists()
