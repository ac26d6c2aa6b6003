"""The desk with what files and tables are like elsewhere: semicolons, commas in numbers, folders that grow, databases,
bounds that nobody knows. The command that it shows writes the same policy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from html import unescape

import pytest

from discreet.policy import read
from discreet.server.desk import drafts as module
from tests.cli.runs import run
from tests.server.desk import AtDesk, begin, build, columns, desk, hidden, open_it, send, went, write
from tests.server.test_desk import looked
from tests.server.visitor import Visitor

pytestmark = pytest.mark.long
"""Each walks through a desk."""

PEOPLE = "kunde_nr;betrag;anteil\n" + "".join(f"{n % 20};{n},5;0,{n % 10}\n" for n in range(100))
RIDES = "rider_id,day,fare\n"
SECRET = "hunter2secret"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    folder = build(tmp_path_factory.mktemp("sources") / "data")
    (folder / "kunden.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "bars.csv").write_text(PEOPLE.replace(",", ".").replace(";", "|"), encoding="utf-8")
    (folder / "rides").mkdir()
    for day in (1, 2):
        rows = "".join(f"r{rider},2024-01-0{day},{rider % 40}\n" for rider in range(30))
        (folder / "rides" / f"{day}.csv").write_text(RIDES + rows, encoding="utf-8")
    (folder / "mixed").mkdir()
    for name in ("a", "b"):
        (folder / "mixed" / f"{name}.csv").write_text(RIDES, encoding="utf-8")
    (folder / "mixed" / "c.csv").symlink_to("/etc/passwd")
    with desk(folder) as made:
        yield made


@pytest.fixture(scope="module")
def owner(clinic: AtDesk) -> Visitor:
    return clinic.owner()


def repeated(owner: Visitor, clinic: AtDesk, draft: str, patch: pytest.MonkeyPatch) -> None:
    """The command of the last step writes the same policy."""
    found = re.search(r'<pre class="command"[^>]*>(.*?)</pre>', owner.get(f"{draft}/review").text, re.DOTALL)
    assert found
    _, *words = shlex.split(unescape(found[1]).replace("\\\n", ""))
    place = words.index("--output") + 1
    written = clinic.folder / words[place]
    before = written.read_bytes()
    written.unlink()
    patch.chdir(clinic.folder)
    run(*words)
    assert written.read_bytes() == before


# CSV


def test_a_file_with_semicolons_and_commas_in_numbers(
    clinic: AtDesk, owner: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = begin(owner, "kunden", "kunden.csv")
    page = owner.get(f"{draft}/units").text
    assert "semicolons, as the first line looks" in page
    units = {"unit_0": "column:kunde_nr", "rows_0": "5", "lines_0": "no", "decimal_0": ","}
    went(send(owner, f"{draft}/units", unit="kunde", tables="1", **units))
    betrag = {
        "betrag": {"kind": "number", "min": "0", "max": "200"},
        "anteil": {"kind": "number", "min": "0", "max": "1"},
    }
    went(columns(owner, f"{draft}/columns/0", betrag))
    went(send(owner, f"{draft}/budget", epsilon="9", delta=""))
    went(send(owner, f"{draft}/analysts"))
    assert "betrag" not in looked(owner, draft, "review").partition("Beside the files")[2], (
        "numbers are read as numbers"
    )
    went(write(owner, draft))
    table = read(clinic.folder / "kunden.toml").tables["kunden"]
    assert (table.source.separator, table.source.decimal) == (";", ",")
    repeated(owner, clinic, draft, monkeypatch)


def test_other_separators_are_other_columns_and_nothing_else_is_taken(owner: Visitor) -> None:
    draft = begin(owner, "bars", "bars.csv")
    known = {"unit": "kunde", "tables": "1", "unit_0": "column:kunde_nr", "rows_0": "5"}
    found = send(owner, f"{draft}/units", apart_0=",", **known)
    assert found.status_code == 200
    assert "are read anew" in found.text
    assert "kunde_nr|betrag|anteil" in found.text
    found = send(owner, f"{draft}/units", apart_0="\t", **{**known, "unit_0": "row"})
    assert '<option value="\t" selected>tabs</option>' in found.text
    found = send(owner, f"{draft}/units", apart_0="|", **{**known, "unit_0": "row"})
    assert "the column kunde_nr" in found.text
    assert went(send(owner, f"{draft}/units", apart_0="|", **known)).endswith("/columns/0")
    assert 'separator = "|"' in owner.get(f"{draft}/review").text.replace("&#34;", '"')
    for wrong in ({"apart_0": "x"}, {"apart_0": "|", "decimal_0": ";"}, {"apart_0": "|\n"}):
        assert send(owner, f"{draft}/units", **known, **wrong).status_code == 422, wrong


# tables that grow


def test_a_folder_of_files_that_grows(clinic: AtDesk, owner: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    page = owner.get("/desk/new").text
    assert "2 files as one table" in page
    assert 'value="mixed/*.csv"' not in page, "a link would be read by it"
    draft = begin(owner, "rides", "rides/*.csv")
    known = {"unit": "rider", "tables": "1", "unit_0": "column:rider_id", "rows_0": "3", "lines_0": "no"}
    growing = {
        "stream_by_0": "day",
        "stream_column_0": "day",
        "stream_epsilon_0": "5.1234567",
        "stream_protects_0": "block",
    }
    for wrong in (
        {"stream_by_0": "year"},
        {"stream_column_0": "nobody"},
        {"stream_column_0": ""},
        *({"stream_epsilon_0": each} for each in ("", "0", "-1", "nan", "inf", "x")),
        {"stream_protects_0": "nothing"},
        *({"stream_protects_0": "unit", "stream_most_0": each} for each in ("", "0", "x", "9" * 9)),
    ):
        assert send(owner, f"{draft}/units", **known, **{**growing, **wrong}).status_code == 422, wrong
    one = {**known, "rows_0": "1"}
    went(send(owner, f"{draft}/units", **one, **growing, stay="1"))
    page = looked(owner, draft, "units")
    assert "rows that would be read" not in page, "rows of a block are bounded, not all of them"
    assert "are never read" not in page
    assert went(send(owner, f"{draft}/units", **known, **growing)) == f"{draft}/columns/0"
    begun = re.search(r"<legend>day</legend>.*?</fieldset>", owner.get(f"{draft}/columns/0").text, re.DOTALL)
    assert begun
    assert '<option value="date" selected>' in begun[0]
    assert re.findall(r'name="m[a-z]+-\d+" value="([^"]*)"', begun[0]) == ["", ""], "two centuries of blocks"
    for day in ({"kind": "text"}, {"kind": "date"}, {"kind": "out"}):
        found = columns(owner, f"{draft}/columns/0", {"day": day, "fare": {"kind": "integer"}})
        assert (found.status_code, "the first and the last of its calendar" in found.text) == (422, True)
    told = {"day": {"kind": "date", "min": "2024-01-01", "max": "2024-12-31"}}
    fare = {"fare": {"kind": "integer", "min": "0", "max": "50"}}
    page = columns(owner, f"{draft}/columns/0", {**told, **fare}, show="1").text
    assert "A count would be off by" in page
    went(columns(owner, f"{draft}/columns/0", {**told, **fare}))
    assert "more than the whole budget" in send(owner, f"{draft}/budget", epsilon="4", delta="").text
    assert went(send(owner, f"{draft}/budget", epsilon="9", delta="")) == f"{draft}/analysts"
    went(send(owner, f"{draft}/analysts"))
    went(write(owner, draft))
    stream = read(clinic.folder / "rides.toml").tables["rides"].stream
    assert stream is not None
    assert (stream.by, stream.protects) == ("day", "unit-day")
    repeated(owner, clinic, draft, monkeypatch)
    again = owner.get(f"{draft}/units").text
    assert '<option value="day" selected>' in again
    assert 'value="5.1234567"' in again
    assert open_it(owner, "rides.toml").endswith("/data/rides/owner")


def test_files_of_one_table_are_one_line_and_each_can_still_be_chosen(owner: Visitor) -> None:
    """A year of days is 365 files: nobody finds the others among them."""
    page = owner.get("/desk/new").text
    table = re.search(r'value="rides/\*.csv".*?<details><summary>.*?</details>', page, re.DOTALL)
    assert table, page
    assert len(re.findall(r'name="file-\d+-\d+" value="rides/[^*"]+\.csv"', table[0])) > 1
    assert not re.search(r'value="rides/[^*"]', page.replace(table[0], ""))
    draft = begin(owner, "one-day", re.findall(r'value="(rides/[^*"]+\.csv)"', table[0])[0])
    assert "<details open><summary>Only some" in owner.get(f"{draft}/files").text


def test_a_unit_with_all_its_rows(owner: Visitor) -> None:
    draft = begin(owner, "whole", "rides/*.csv")
    known = {"unit": "rider", "tables": "1", "unit_0": "column:rider_id", "rows_0": "3", "lines_0": "no"}
    growing = {"stream_by_0": "day", "stream_column_0": "day", "stream_epsilon_0": "1"}
    went(send(owner, f"{draft}/units", **known, **growing, stream_protects_0="unit", stream_most_0="4"))
    text = unescape(owner.get(f"{draft}/review").text)
    assert 'stream = { by = "day", column = "day", epsilon = 1.0, protects = "unit", most = 4 }' in text
    went(send(owner, f"{draft}/units", **known, **{**growing, "stream_by_0": ""}))
    assert "stream =" not in owner.get(f"{draft}/review").text
    went(send(owner, f"{draft}/units", **{**known, "unit_0": "public"}, **growing))
    assert "stream =" not in owner.get(f"{draft}/review").text, "public tables have no budget"


def test_what_does_not_fit_together_is_told_where_it_is_decided(owner: Visitor) -> None:
    draft = begin(owner, "beside", "rides/*.csv", "visits.csv")
    known = {"unit": "rider", "tables": "2", "rows_0": "3", "rows_1": "3", "unit_0": "column:rider_id"}
    growing = {"stream_by_0": "day", "stream_column_0": "day", "stream_epsilon_0": "7", "stream_protects_0": "block"}
    found = send(owner, f"{draft}/units", **known, **growing, unit_1="column:patient_id")
    assert found.status_code == 422
    assert "is protected otherwise" in found.text
    assert "protect a unit with all its rows" in found.text, "the smallest change, as the form calls it"
    whole = {**growing, "stream_protects_0": "unit", "stream_most_0": "3"}
    went(send(owner, f"{draft}/units", **known, **whole, unit_1="column:patient_id"))
    assert "2. <" in found.text or "Whom to protect" in found.text
    went(send(owner, f"{draft}/units", **known, **growing, unit_1="out"))


def test_whose_rows_are_is_chosen_where_no_name_says_it(owner: Visitor) -> None:
    draft = begin(owner, "wards", "wards.csv")
    page = owner.get(f"{draft}/units").text
    assert re.search(r'<select id="unit-0" name="unit-0" required><option value="" selected>choose …</option>', page)
    assert send(owner, f"{draft}/units", unit="ward", tables="1", unit_0="").status_code == 422


# databases


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1/clinic",
        f"postgresql://127.0.0.1/clinic?password={SECRET}",
        f"dbname=clinic password={SECRET}",
        "mysql://127.0.0.1/clinic",
        "/etc/passwd",
        "../visits.csv",
        "file:///etc/passwd",
        "postgresql:///",
        "x" * 900,
    ],
)
def test_what_is_no_address_is_refused_and_never_repeated(owner: Visitor, address: str) -> None:
    found = send(owner, "/desk/new", name="base", database=address)
    assert found.status_code == 422
    assert "the database" in unescape(found.text)
    assert SECRET not in found.text
    assert f'value="{address}"' not in found.text


def test_a_database_that_does_not_answer_is_told_and_the_address_stays(owner: Visitor) -> None:
    found = send(owner, "/desk/new", name="base", database="postgresql://reader@127.0.0.1:1/clinic")
    assert found.status_code == 422
    assert 'value="postgresql://reader@127.0.0.1:1/clinic"' in found.text


def test_tables_of_a_database_are_tables_of_the_draft(
    owner: Visitor, clinic: AtDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {"clinic.visits": {"patient_id": "BIGINT", "cost": "DOUBLE"}}
    monkeypatch.setattr("discreet.owner.draft.described_tables", lambda *_: held)
    address = "postgresql://reader@127.0.0.1:1/clinic"
    draft = begin_with(owner, "base", address)
    known = {"unit": "patient", "tables": "1", "unit_0": "column:patient_id", "rows_0": "3"}
    went(send(owner, f"{draft}/units", **known))
    went(columns(owner, f"{draft}/columns/0", {"cost": {"kind": "number", "min": "0", "max": "50"}}))
    went(send(owner, f"{draft}/budget", epsilon="1", delta=""))
    page = unescape(owner.get(f"{draft}/review").text)
    assert f'source = "{address}"' in page
    assert 'table = "clinic.visits"' in page
    assert f'value="{address}"' in owner.get(f"{draft}/files").text
    went(write(owner, draft))
    assert read(clinic.folder / "base.toml").tables["visits"].source.table == "clinic.visits"


def begin_with(owner: Visitor, name: str, database: str) -> str:
    return went(send(owner, "/desk/new", name=name, database=database)).rpartition("/")[0]


def test_no_file_becomes_a_database(owner: Visitor, clinic: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "described_sources", _never)
    for field in ({"file_0": "postgresql://x/y"}, {"file_0": "visits.csv", "file_1": "postgresql://x/y"}):
        assert "no such file in the folder" in send(owner, "/desk/new", name="base", **field).text
    assert sorted(each.name for each in clinic.folder.glob("y*")) == []


def _never(*_: object, **__: object) -> None:
    raise AssertionError("nothing may be read")


# bounds that nobody knows


def test_bounds_that_queries_find_by_themselves(owner: Visitor, clinic: AtDesk) -> None:
    draft = begin(owner, "found", "visits.csv")
    known = {"unit": "patient", "tables": "1", "unit_0": "column:patient_id", "rows_0": "5", "lines_0": "no"}
    went(send(owner, f"{draft}/units", **known))
    cost = {"cost": {"kind": "number"}}
    page = columns(owner, f"{draft}/columns/0", cost, show="1").text
    assert "cost: without bounds, no error can be said" in page
    page = columns(owner, f"{draft}/columns/0", cost, show="1", implicit="1").text
    assert "cost: without bounds, each query finds them with a fifth of its cost" in page
    assert "checked" in page
    went(columns(owner, f"{draft}/columns/0", cost, implicit="1"))
    assert "implicit_bounds = true" in owner.get(f"{draft}/review").text
    assert re.search(r'name="implicit" value="1" checked', owner.get(f"{draft}/columns/0").text)
    went(send(owner, f"{draft}/units", **{**known, "unit_0": "public"}))
    page = owner.get(f"{draft}/columns/0").text
    assert "public, as the whole table is" in page
    assert "partition selection" not in page
    assert hidden(owner.get(f"{draft}/columns/0"), "implicit") == "1", "what was decided for others stays"
    went(send(owner, f"{draft}/units", **known))
    went(columns(owner, f"{draft}/columns/0", cost))
    assert "implicit_bounds" not in owner.get(f"{draft}/review").text
    assert hidden(owner.get(f"{draft}/columns/0"), "revision")
    assert clinic.told is not None
