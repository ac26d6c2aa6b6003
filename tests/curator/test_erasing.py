"""Who was deleted at the source is gone after `discreet refresh --erase`, as an auditor would look: byte by byte."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.failures import FAILED
from discreet.curator import erasing, refreshing
from discreet.curator.erasing import Erasure
from discreet.curator.refreshing import refreshed
from discreet.curator.state import open_ledger, verify_ledger
from discreet.engines import erasing as erasing_files
from discreet.engines.arrivals import segments
from discreet.engines.frozen import index_of, names, stream_folder
from discreet.engines.remembered import SIGN
from discreet.ledger import Ledger
from discreet.policy import read
from tests.cli.runs import run, told
from tests.curator.streams import EXACT, STREAMS, Ride, add, day, opened, world
from tests.forked import CODE, forked
from tests.plain import plain

CANARY = "c" + secrets.token_hex(24)
"""A person whose name no compression shortens much: it is found by its bytes."""
OWNED = [kind for kind in STREAMS if kind not in ("row", "unit-week")]
COUNT = "SELECT COUNT(*) AS n FROM rides"


def found(folder: Path, canary: str = CANARY) -> list[str]:
    """The files below a folder that have the canary in their bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if canary.encode() in path.read_bytes())


def days(canary: bool, upto: int = 9) -> list[Ride]:
    people = ["ann", "bob", *([CANARY] if canary else [])]
    return [(who, day(1 + when), 3, "north", f"note of {who}") for when in range(upto) for who in people]


def rows_of(policy: Any, version: int = 10**6) -> list[tuple[Any, ...]]:
    table = policy.tables["rides"]
    files = segments(policy, table, names(policy, table), version)
    with plain() as connection:
        if not files:
            return []
        return connection.execute("SELECT * FROM read_parquet(?)", [[str(file) for file in files]]).fetchall()


@pytest.mark.parametrize("kind", STREAMS)
def test_a_person_leaves_sealed_blocks_waiting_rows_and_the_record_of_who_was_seen(tmp_path: Path, kind: str) -> None:
    path = world(tmp_path, kind)
    add(tmp_path, "a", days(canary=True))
    run("refresh", path, "--until", day(9))
    policy = read(path)
    assert any("parquet" in file for file in found(policy.state)), "the auditor's eyes are good"
    held = len(rows_of(policy))
    add(tmp_path, "a", days(canary=False))
    done = told("refresh", path, "--until", day(9), "--erase")
    assert done["erased"]["rides"]["rows"] >= 3
    assert done["erased"]["rides"]["units"] == (0 if kind == "row" else 1)
    assert done["held"] == []
    assert done["data_version"] >= 2
    assert found(policy.state) == []
    assert CANARY not in str(rows_of(policy))
    assert 0 < len(rows_of(policy)) < held
    run("ledger", "backup", path, tmp_path / "after.sqlite")
    assert CANARY.encode() not in (tmp_path / "after.sqlite").read_bytes()
    assert verify_ledger(policy).sound
    with opened(path, sampler=EXACT) as curator:
        assert curator.query(COUNT, epsilon=0.1, blocks="all").rows[0][0] == len(rows_of(policy))


@pytest.mark.long
@pytest.mark.parametrize("kind", OWNED)
def test_what_is_left_is_what_would_be_there_had_the_person_never_come(tmp_path: Path, kind: str) -> None:
    """The theorem: beside a world without the person, under the same secret."""
    for world_, canary in (("with", True), ("without", False)):
        (tmp_path / world_).mkdir()
        path = world(tmp_path / world_, kind)
        policy = read(path)
        policy.state.mkdir(mode=0o700)
        (policy.state / "secret").write_text("5" * 64, encoding="ascii")
        add(tmp_path / world_, "a", days(canary))
        run("refresh", path, "--until", day(9))
        add(tmp_path / world_, "a", days(canary=False))
        run("refresh", path, "--until", day(9), "--erase")
    left, never = (sorted(map(str, rows_of(read(tmp_path / each / "rides.toml")))) for each in ("with", "without"))
    assert left == never != []


@pytest.mark.parametrize("kind", ["unit", "unit in days"])
def test_who_comes_back_is_recognised_by_a_keyed_hash(tmp_path: Path, kind: str) -> None:
    """Otherwise it would be in more blocks than the stream charged for."""
    path = world(tmp_path, kind)
    add(tmp_path, "a", days(canary=True, upto=2))
    run("refresh", path, "--until", day(3))
    policy = read(path)
    table = policy.tables["rides"]
    add(tmp_path, "a", days(canary=False, upto=2))
    run("refresh", path, "--until", day(3), "--erase")
    with index_of(stream_folder(policy, table)) as index:
        buried = index.execute("SELECT * FROM seen WHERE unit LIKE ?", (f"{SIGN}%",)).fetchall()
    assert len(buried) == 1
    add(tmp_path, "b", [(CANARY, day(3), 4, "south", "back again")])
    run("refresh", path, "--until", day(9))
    with index_of(stream_folder(policy, table)) as index:
        (seen,) = index.execute("SELECT block, blocks FROM seen WHERE unit = ?", (CANARY,)).fetchall()
        assert not index.execute("SELECT 1 FROM seen WHERE unit LIKE ?", (f"{SIGN}%",)).fetchall()
    assert seen[0] == buried[0][1], "its block is the one of before"
    back = [row for row in rows_of(policy) if CANARY in str(row)]
    assert len(back) == (1 if kind == "unit" else 0), "two days were its own, and they are used up"


def test_files_that_are_gone_stop_it_unless_that_is_meant(tmp_path: Path) -> None:
    path = world(tmp_path)
    add(tmp_path, "a", days(canary=False))
    add(tmp_path, "b", [(CANARY, day(1), 4, "south", "x")])
    run("refresh", path, "--until", day(9))
    (tmp_path / "rides" / "b.csv").unlink()
    refused = run("refresh", path, "--until", day(9), "--erase", code=FAILED)
    assert "--missing-files" in refused.output
    assert CANARY in str(rows_of(read(path))), "nothing was erased"
    run("refresh", path, "--until", day(9), "--erase", "--missing-files")
    assert found(read(path).state) == []
    (tmp_path / "rides" / "a.csv").unlink()
    run("refresh", path, "--until", day(9), "--erase", "--missing-files")
    assert rows_of(read(path)) == []


def test_a_file_that_cannot_be_read_erases_nobody(tmp_path: Path) -> None:
    path = world(tmp_path, source="rides/*.parquet")
    with plain() as connection:
        for name, who in (("a", "ann"), ("b", CANARY)):
            row = f"SELECT '{who}' AS rider_id, DATE '2024-01-01' AS day, 3 AS fare, 'north' AS zone, 'x' AS note"
            connection.execute(f"COPY ({row}) TO '{tmp_path}/rides/{name}.parquet' (FORMAT parquet)")
    run("refresh", path, "--until", day(9))
    (tmp_path / "rides" / "b.parquet").write_bytes(b"PAR1 this is none")
    run("refresh", path, "--until", day(9), "--erase", code=FAILED)
    assert CANARY in str(rows_of(read(path)))


FORMATS = {"people.parquet": "(FORMAT parquet)", "people.csv": "(FORMAT csv, HEADER)", "people.duckdb": ""}


INSIDE = "table = 'people'"


def people(folder: Path, *, canary: bool) -> None:
    """The same table in all kinds of files, each anew."""
    rows = f"SELECT p AS person, 'note of ' || p AS note FROM unnest(['ann', 'bob', '{CANARY}']) AS t(p)"
    rows += "" if canary else f" WHERE p <> '{CANARY}'"
    with plain() as connection:
        for file, how in FORMATS.items():
            (folder / file).unlink(missing_ok=True)
            if how:
                connection.execute(f"COPY ({rows}) TO '{folder / file}' {how}")
            else:
                connection.execute(f"ATTACH '{folder / file}' AS d; CREATE TABLE d.people AS {rows}; DETACH d")


def test_a_person_leaves_copies_of_files_of_all_kinds(tmp_path: Path) -> None:
    tables = [
        f"[tables.t{number}]\nsource = '{file}'\n{'' if how else INSIDE}\nunit = 'person'\n"
        f"[tables.t{number}.columns]\nnote = {{ type = 'text' }}\n"
        for number, (file, how) in enumerate(FORMATS.items())
    ]
    path = tmp_path / "world.toml"
    path.write_text('name = "world"\n[budget]\nepsilon = 9\n[unit]\nname = "person"\n' + "".join(tables), "utf-8")
    people(tmp_path, canary=True)
    run("refresh", path)
    state = read(path).state
    assert found(state), "the auditor's eyes are good"
    people(tmp_path, canary=False)
    assert told("refresh", path, "--erase")["held"] == []
    assert found(state) == []
    (copy,) = (state / "data").glob("*.duckdb")
    with plain() as connection:
        connection.execute(f"ATTACH '{copy}' AS c (READ_ONLY)")
        for number in range(len(FORMATS)):
            assert len(connection.execute(f"SELECT * FROM c.t{number}").fetchall()) == 2


class Killed(BaseException):
    """The process ends here."""


POINTS: dict[str, tuple[Any, str]] = {
    "while rows are written": (erasing_files._Erasure, "_write"),
    "before the copy": (refreshing, "private_copy"),
    "before the record": (Ledger, "advance_data"),
    "after the record": (refreshing, "forget_others"),
    "before it holds for good": (erasing_files, "bury"),
    "before old files go": (erasing_files, "sweep_folders"),
}


@pytest.mark.parametrize(("point", "before"), [*((point, True) for point in POINTS), ("before the copy", False)])
def test_a_process_that_dies_leaves_all_or_nothing_and_the_next_one_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, before: bool
) -> None:
    """Whoever asks sees the person in streams and tables alike, or in none of them."""
    path = world(tmp_path, "unit in days", more=VISITS)
    add(tmp_path, "a", days(canary=True))
    visits(tmp_path, canary=True)
    run("refresh", path, "--until", day(9))
    policy = read(path)
    place, name = POINTS[point]
    original: Callable[..., Any] = getattr(place, name)

    def dies(*given: Any, **more: Any) -> Any:
        if not before:
            original(*given, **more)
        raise Killed

    add(tmp_path, "a", days(canary=False))
    visits(tmp_path, canary=False)
    with monkeypatch.context() as patch, open_ledger(policy) as ledger:
        patch.setattr(place, name, dies)
        patch.setattr(erasing, "settle_streams", _only_first(erasing.settle_streams, point))
        with pytest.raises(Killed):
            refreshed(policy, ledger, "erased", until=day(9), erase=Erasure(patience=0))
    assert is_whole(path) in (True, False)
    run("refresh", path, "--until", day(9), "--erase", "--wait", "0")
    assert is_whole(path) is False
    assert found(policy.state) == []
    assert verify_ledger(policy).sound


def _only_first(settle: Callable[..., None], point: str) -> Callable[..., None]:
    """A process that was killed runs nothing afterwards; where settling itself dies, it must be begun."""

    def settled(*given: Any) -> None:
        if "good" in point or "old files" in point:
            settle(*given)

    return settled


VISITS = """
[tables.calls]
source = "calls.csv"
unit = "rider_id"
[tables.calls.columns]
note = { type = "text" }
"""


def visits(folder: Path, *, canary: bool) -> None:
    people = ["ann", "bob", *([CANARY] if canary else [])]
    lines = "\n".join(f"{who},call of {who}" for who in people)
    (folder / "calls.csv").write_text(f"rider_id,note\n{lines}\n", encoding="utf-8")


def is_whole(path: Path) -> bool:
    """Whether the person is in what is asked now; never in one half of it."""
    with opened(path, sampler=EXACT) as curator:
        version = curator._ledger.data_version
        rides = str(rows_of(curator.policy, version))
        calls = curator.query("SELECT COUNT(*) AS n FROM calls", epsilon=0.01, fresh=True).rows[0][0]
        there = (CANARY in rides, calls == 3)
    assert there[0] == there[1]
    return there[0]


@pytest.mark.long
def test_a_program_that_has_an_earlier_copy_open_is_told_until_it_lets_go(tmp_path: Path) -> None:
    """A file that was removed stays on the disk for whoever has it open; a server lets go by itself."""
    path = world(tmp_path, "unit in days", more=VISITS)
    add(tmp_path, "a", days(canary=True, upto=2))
    visits(tmp_path, canary=True)
    count = "SELECT COUNT(*) AS n FROM calls"
    with opened(path, sampler=EXACT) as server:
        server.refresh(day(3))
        assert server.query(count, epsilon=0.1).rows == [(3,)]
        server.query(COUNT, epsilon=0.1, blocks="all")
        visits(tmp_path, canary=False)
        add(tmp_path, "a", days(canary=False, upto=2))
        for _ in range(2):  # also who asks again is told
            told_ = run("refresh", path, "--until", day(3), "--erase", "--wait", "0", code=FAILED)
            assert "data version 2, which a program has open" in told_.output
        server.let_go()
        done = told("refresh", path, "--until", day(3), "--erase", "--wait", "0")
        assert done["held"] == []
        assert server.query(count, epsilon=0.1).rows == [(2,)]
        assert [path.name for path in (read(path).state / "data").glob("*.held")] == [
            f"{done['data_version']}.{next((read(path).state / 'data').glob('*.duckdb')).name.split('.')[1]}.held"
        ]


def test_a_program_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    path = world(tmp_path, "unit in days", more=VISITS)
    add(tmp_path, "a", days(canary=True, upto=2))
    visits(tmp_path, canary=True)
    run("refresh", path, "--until", day(3))
    program = (
        "import discreet, sys, time; curator = discreet.open(sys.argv[1]); "
        "curator.query('SELECT COUNT(*) AS n FROM calls', epsilon=0.1); print('open', flush=True); time.sleep(600)"
    )
    other = forked(CODE, program, str(path), environment=os.environ, printed=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        visits(tmp_path, canary=False)
        add(tmp_path, "a", days(canary=False, upto=2))
        held = told("refresh", path, "--until", day(3), "--erase", "--wait", "0", code=FAILED)["held"]
        assert held == ["the copy of data version 2, which a program has open"]
    finally:
        other.kill()
        other.communicate(timeout=120)
    assert told("refresh", path, "--until", day(3), "--erase")["held"] == []
    assert found(read(path).state) == []


def test_what_killed_programs_left_on_disk_goes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their spill: in the state folder, and, of an owner who looked before there was one, in a folder of this user."""
    path = world(tmp_path)
    add(tmp_path, "a", days(canary=False, upto=2))
    run("refresh", path, "--until", day(3))
    temporary = tmp_path / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for root in (read(path).state, temporary / f"discreet-{os.getuid()}"):
        left = root / "spill" / f"4194305-{'a' * 16}" / "0"
        left.mkdir(parents=True, mode=0o700)
        (left / "duckdb_temp_block-1.block").write_text(CANARY, encoding="utf-8")
    run("refresh", path, "--until", day(3), "--erase")
    assert found(tmp_path) == []
