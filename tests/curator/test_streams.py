"""Queries about blocks: which rows they read, what is charged to which line, what is cached, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.record import BlockNames
from discreet.curator.curator import Curator
from discreet.curator.state import grant_of
from discreet.curator.streams import chosen, declare
from discreet.engines.arrivals import segments
from discreet.engines.frozen import names
from discreet.engines.session import Session
from discreet.engines.text import reading_parquet
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.learn import CategoricalNB, LinearRegression
from discreet.ledger import Ledger, Memory
from discreet.policy.streams import protection
from discreet.release import Workload
from tests.curator.streams import EXACT, STREAMS, add, day, opened, policy, rides, world
from tests.plain import plain

COUNT = "SELECT COUNT(*) AS n FROM rides"
MISSING = "SELECT zone, note IS NULL AS missing FROM rides"
ZONES = "SELECT zone, COUNT(*) AS n, SUM(fare) AS total FROM rides GROUP BY zone ORDER BY zone"


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Curator]:
    """Five days of rides, of which four are sealed; the noise is off."""
    path = world(tmp_path)
    add(tmp_path, "a", rides(6, 5))
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(5))
        yield curator


def spent(curator: Curator) -> list[float]:
    """The ε on the line of each block."""
    standing = curator._ledger.stream("rides")
    return [float(standing.spent(number).amount) for number in range(standing.count)]


def refusal(curator: Curator, sql: str = COUNT, **said: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        curator.query(sql, **{"epsilon": 0.1, **said})
    return refused.value


def test_a_query_reads_its_blocks_and_no_others(stream: Curator) -> None:
    counts = {
        said: stream.query(COUNT, epsilon=0.01, blocks=said).rows[0][0] for said in ("newest 1", "newest 3", "all")
    }
    assert counts == {"newest 1": 12, "newest 3": 36, "all": 48}
    days = stream.query("SELECT day, COUNT(*) AS n FROM rides GROUP BY day", epsilon=0.01, blocks=["2024-01-02", 3])
    assert [row[0] for row in days.rows if row[1]] == [date(2024, 1, 2), date(2024, 1, 4)]


@pytest.fixture(scope="module")
def four_days() -> Iterator[Ledger]:
    """A ledger of four blocks, without a file."""
    found = policy()
    with Ledger(Memory(), grant_of(found), shares={}, unit=found.unit) as ledger:
        declare(found, ledger)
        for number in range(4):
            ledger.open_block("rides", f"file {number}", day(1 + number))
        yield ledger


@pytest.mark.parametrize(
    ("said", "ranges"),
    [
        ("newest", ((3, 3),)),
        ("newest 2", ((2, 3),)),
        ("newest 99", ((0, 3),)),
        ("all", ((0, 3),)),
        ("2024-01", ((0, 3),)),
        ("2024", ((0, 3),)),
        (" 2024-01-02 ", ((1, 1),)),
        ("2024-01-02..2024-01-03", ((1, 2),)),
        ("2023..2024-01-02", ((0, 1),)),
        ([0, 2], ((0, 0), (2, 2))),
        ([0, "newest 1", 0], ((0, 0), (3, 3))),
        (range(3), ((0, 2),)),
        (date(2024, 1, 3), ((2, 2),)),
        ({"rides": "newest 1"}, ((3, 3),)),
        (BlockNames("rides", ((1, 2),)), ((1, 2),)),
        ({"stream": "rides", "ranges": "0-1,3"}, ((0, 1), (3, 3))),
    ],
)
def test_names_of_blocks(four_days: Ledger, said: object, ranges: tuple[tuple[int, int], ...]) -> None:
    found = chosen(policy(), four_days, said)
    assert found is not None
    assert found.names == BlockNames("rides", ranges)
    assert found.files == tuple(f"file {number}" for number in found.names)
    again = chosen(policy(), four_days, found.names)
    assert again is not None
    assert again.digest == found.digest


@pytest.mark.parametrize(
    "said",
    ["", "newest -1", "newest 0", "2024-13", "2024-02", "2023", "2024-01-03..2024-01-02", "x..y", [], [[0]], [None], -1,
     4, 1.5, True, object(), {}, {"visits": 1}, {"ranges": "x"}, {"stream": "rides", "ranges": 3},
     {"rides": {"ranges": ""}}, "newest " + "9" * 400, {"stream": "rides", "ranges": "0-99999999999999999999"}],
)  # fmt: skip
def test_what_names_no_block_is_refused(four_days: Ledger, said: object) -> None:
    with pytest.raises(Refused, match="unknown-block"):
        chosen(policy(), four_days, said)


def test_other_blocks_and_other_files_have_other_digests(four_days: Ledger) -> None:
    """So nothing that is cached of one is shown for another."""
    found = [chosen(policy(), four_days, said) for said in ([0], [1], [0, 1])]
    digests = {each.digest for each in found if each is not None}
    digests |= {replace(each, files=("another",)).digest for each in found if each is not None}
    assert len(digests) == 6


def test_a_query_that_names_no_blocks_is_told_of_the_newest(stream: Curator) -> None:
    refused = refusal(stream)
    assert refused.code == "blocks-missing"
    assert 'blocks="newest 1", which is 2024-01-04 now' in refused.fix
    assert refused.edit is not None
    assert refused.edit.arguments == {"blocks": "newest 1"}
    assert stream.query(COUNT, epsilon=0.1, blocks=refused.edit.arguments["blocks"]).rows == [(12,)]


def test_before_the_first_block(tmp_path: Path) -> None:
    with opened(world(tmp_path)) as curator:
        assert refusal(curator).code == "blocks-missing"
        assert "no blocks yet" in refusal(curator, blocks="newest 1").reason


def test_a_charge_is_on_the_lines_of_its_blocks_and_on_no_other(stream: Curator) -> None:
    """most · capacity was charged when the stream was declared; queries add nothing to it."""
    whole = stream.budget().spent.epsilon
    assert whole == 1.0
    answer = stream.query(COUNT, epsilon=0.25, blocks="newest 2")
    assert spent(stream) == [0, 0, 0.25, 0.25]
    stream.query(ZONES, epsilon=0.5, blocks="2024-01-02..2024-01-03")
    assert spent(stream) == [0, 0.5, 0.75, 0.25]
    assert stream.budget().spent.epsilon == whole
    assert answer.remaining.epsilon == 0.75, "of the block that has least"
    assert answer.guarantee == (1.0, None)
    assert stream.preview(COUNT, epsilon=0.25, blocks="2024-01-03").more == 1


def test_the_charge_is_on_record_before_a_row_is_read(stream: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, rows = [], Session.rows

    def watched(engine: Session, *given: Any) -> list[tuple[Any, ...]]:
        seen.append([entry.blocks for entry in stream.entries()])
        return rows(engine, *given)

    monkeypatch.setattr(Session, "rows", watched)
    stream.query(COUNT, epsilon=0.1, blocks="newest 1")
    assert seen == [[BlockNames("rides", ((3, 3),))]]


def test_a_block_that_is_used_up(stream: Curator) -> None:
    stream.query(COUNT, epsilon=0.75, blocks="newest 1")
    with pytest.raises(BudgetExhausted) as refused:
        stream.query(ZONES, epsilon=0.5, blocks="newest 2")
    assert "block 3 (2024-01-04) of rides" in refused.value.reason
    assert "ask for epsilon 0.25 or less, or ask about block 2 (2024-01-03)" in refused.value.fix
    assert spent(stream) == [0, 0, 0, 0.75], "all or nothing"
    assert stream.query(ZONES, epsilon=0.25, blocks="newest 2").rows
    assert stream.query(COUNT, epsilon=0.75, blocks="newest 1").cached, "retired, and shown again for nothing"
    assert refusal(stream, "SELECT AVG(fare) FROM rides", blocks="newest 1").code == "block-retired"


def test_answers_are_cached_by_blocks(stream: Curator) -> None:
    """The same blocks, whatever they are called; a refresh leaves them as they are."""
    first = stream.query(ZONES, epsilon=0.2, blocks="newest 1")
    assert stream.query(ZONES, epsilon=0.2, blocks="2024-01-04").receipt == first.receipt
    assert stream.query(ZONES, epsilon=0.1, blocks=[3]).cached
    assert not stream.query(ZONES, epsilon=0.1, blocks=[2]).cached
    assert not stream.query(ZONES, epsilon=0.1, blocks=[2, 3]).cached
    assert stream.recall(int(first.receipt.split(":")[0])).rows == first.rows


def test_a_policy_of_streams_alone_keeps_its_answers_over_refreshes(tmp_path: Path) -> None:
    path = world(tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("[tables.zones]")] + text[text.index("[tables.rides.stream]") :], "utf-8")
    add(tmp_path, "a", rides(6, 5))
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(3))
        first = curator.query(COUNT, epsilon=0.2, blocks=[0, 1])
        assert curator.refresh(day(5)).streams["rides"].opened == 2
        again = curator.query(COUNT, epsilon=0.2, blocks="2024-01-01..2024-01-02")
        assert (again.cached, again.receipt) == (True, first.receipt)
        assert curator.query(COUNT, epsilon=0.2, blocks="newest 2").rows == [(24,)]


def bounded(curator: Curator, sql: str) -> list[tuple[Any, ...]]:
    """What DuckDB says of the rows of the same blocks."""
    table = curator.policy.tables["rides"]
    files = [str(path) for path in segments(curator.policy, table, names(curator.policy, table))]
    with plain() as connection:
        unit = "" if curator.policy.unit == "rider" and "row" in str(table.stream) else ", _discreet_unit AS rider_id"
        connection.execute(f"CREATE OR REPLACE TEMP VIEW rides AS SELECT *{unit} FROM {reading_parquet(files)}")
        return connection.execute(sql).fetchall()


QUESTIONS = [
    ZONES,
    "SELECT COUNT(DISTINCT rider_id) AS riders FROM rides",
    "SELECT COUNT(*) FROM rides WHERE fare > 3",
    "SELECT zone, COUNT(DISTINCT rider_id) AS riders FROM rides WHERE fare < 6 GROUP BY zone ORDER BY zone",
    "SELECT COUNT(*) FROM (SELECT rider_id, COUNT(*) AS n FROM rides GROUP BY rider_id) WHERE n > 1",
]


@pytest.mark.parametrize("kind", STREAMS)
def test_with_the_noise_off_answers_are_those_of_duckdb(tmp_path: Path, kind: str) -> None:
    """Over the rows that are in the blocks; bounds that nobody exceeds here cut nothing away.

    And what is protected is said with each, in the same sentence.
    """
    path = world(tmp_path, kind)
    add(tmp_path, "a", rides(6, 8))
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(16))
        sentence = protection(curator.policy.tables["rides"], curator.policy.unit)
        for sql in QUESTIONS if kind != "row" else [ZONES]:
            answer = curator.query(sql, epsilon=0.01, blocks="all")
            assert [tuple(map(float, _plain(row))) for row in answer.rows] == [
                tuple(map(float, _plain(row))) for row in bounded(curator, sql)
            ], sql
            assert answer.notes[0] == sentence
            assert answer.notes[1].startswith("blocks of rides: ")
            assert answer.loss.unit == curator.policy.unit
        assert curator.preview(COUNT, epsilon=0.01, blocks="newest 1").notes[0] == sentence
        assert sentence in curator.query(f"EXPLAIN PRIVACY {COUNT}", epsilon=0.01, blocks="newest 1").notes


def _plain(row: tuple[Any, ...]) -> list[Any]:
    return [value for value in row if not isinstance(value, str)]


def test_bounds_act_on_a_unit_in_one_block(tmp_path: Path) -> None:
    """A rider who rides ten times a day counts three times, every day."""
    path = world(tmp_path)
    add(tmp_path, "a", [("ann", day(1 + number // 10), number % 10, "north") for number in range(40)])
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(5))
        assert curator.query(COUNT, epsilon=0.1, blocks="all").rows == [(12,)]
        assert curator.query("SELECT COUNT(DISTINCT rider_id) FROM rides", epsilon=0.1, blocks="all").rows == [(4,)]


def test_bounds_act_on_the_unit_where_that_is_protected(tmp_path: Path) -> None:
    for kind, blocks in (("unit in days", "all"), ("unit", "all")):
        path = world(tmp_path / kind, kind)
        add(tmp_path / kind, "a", [("ann", day(1 + number // 10), number % 10, "north") for number in range(20)])
        with opened(path, sampler=EXACT) as curator:
            curator.refresh(day(5))
            add(tmp_path / kind, "b", [("ann", day(5), 9, "north")])
            curator.refresh(day(6))
            assert curator.query(COUNT, epsilon=0.1, blocks=blocks).rows == [(3,)]
            assert curator.query("SELECT COUNT(DISTINCT rider_id) FROM rides", epsilon=0.1, blocks=blocks).rows == [
                (1,)
            ]


def test_fits_scores_releases_and_batches_are_about_blocks(stream: Curator) -> None:
    """Through the one exit: the loss of each is on the lines of its blocks, and nothing on the global line."""
    rows = "SELECT fare, zone FROM rides"
    whole = stream.budget().spent
    model = stream.fit(CategoricalNB(), MISSING, target="missing", epsilon=0.1, blocks="newest 2")
    stream.score(model, MISSING, target="missing", epsilon=0.1, blocks="newest 1")
    stream.release(Workload.histogram(), "SELECT zone FROM rides", epsilon=0.2, blocks=[0])
    assert stream.preview_release(Workload.histogram(), "SELECT zone FROM rides", epsilon=0.2, blocks=[0]).cached
    stream.batch([COUNT, ZONES.replace(" ORDER BY zone", "")], epsilon=0.3, blocks=[0, 1])
    assert spent(stream) == pytest.approx([0.5, 0.3, 0.1, 0.2])
    assert stream.budget().spent == whole
    assert [entry.blocks is not None for entry in stream.entries()] == [True] * 4
    assert stream.recall(stream.entries()[-1].number)[0].rows
    with pytest.raises(Refused, match="blocks-missing"):
        stream.fit(LinearRegression(), rows, target="fare", epsilon=0.1)


def test_both_sides_of_a_hold_out_are_charged_to_their_blocks(stream: Curator) -> None:
    """A line has no parts: the sum counts, and the preview says so."""
    sql = MISSING
    task = CategoricalNB().task(sql, target="missing", epsilon=0.2, holdout="spring", blocks=[1])
    assert any("both sides are charged" in note for note in stream.preview(task).notes)
    model = stream.fit(CategoricalNB(), sql, target="missing", epsilon=0.2, holdout="spring", blocks=[1])
    stream.score(model, sql, target="missing", epsilon=0.2, holdout="spring", blocks=[1])
    assert spent(stream) == pytest.approx([0, 0.4, 0, 0])


def test_a_query_about_blocks_reads_public_tables_beside_them(stream: Curator) -> None:
    sql = "SELECT SUM(area) AS areas FROM rides JOIN zones USING (zone)"
    assert stream.query(sql, epsilon=0.1, blocks="newest 1").rows == [(12 / 2 * 8,)]


RIDERS = """
[tables.riders]
source = "riders.csv"
unit = "rider_id"
[tables.riders.columns]
age = { min = 0, max = 99 }
"""


def test_a_query_about_blocks_reads_no_other_private_table(tmp_path: Path) -> None:
    """Its loss would be on no line that counts the others' rows."""
    path = world(tmp_path, "unit", more=RIDERS)
    (tmp_path / "riders.csv").write_text("rider_id,age\nr1,30\n", encoding="utf-8")
    add(tmp_path, "a", rides())
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(2))
        for sql in (
            "SELECT COUNT(*) FROM riders",
            "SELECT COUNT(*) FROM rides JOIN riders ON rides.rider_id = riders.rider_id",
            "SELECT COUNT(*) FROM rides WHERE rider_id IN (SELECT rider_id FROM riders)",
            "SELECT (SELECT COUNT(*) FROM riders) AS n, COUNT(*) FROM rides",
            "SELECT COUNT(*) FROM (SELECT rider_id FROM rides UNION ALL SELECT rider_id FROM riders)",
        ):
            assert refusal(curator, sql, blocks="all").code == "blocks-apart", sql
        assert refusal(curator, "SELECT COUNT(*) FROM riders JOIN rides USING (rider_id)").code == "blocks-missing"
        assert curator.query("SELECT COUNT(*) FROM riders", epsilon=0.1).rows == [(1,)]
        assert curator.entries()[0].blocks is None


def test_a_stream_has_no_other_parts(stream: Curator) -> None:
    with pytest.raises(Refused, match="a stream has blocks, and no other parts"):
        stream.table("rides").partition("zone")


def test_rows_asked_in_python(stream: Curator) -> None:
    table = stream.table("rides")
    assert table.count(epsilon=0.1, blocks="newest 1").rows == [(12,)]
    assert table.blocks("newest 2").where("zone = 'north'").count(epsilon=0.1).rows == [(12,)]
    assert table.blocks("newest 2").preview.count(epsilon=0.1).notes[1] == "blocks of rides: 2024-01-03..2024-01-04"


def test_dummy_data_has_blocks(stream: Curator) -> None:
    dummy = stream.dummy(200)
    with dummy:
        assert dummy.query(COUNT, epsilon=1.0, blocks="2024").dummy
        assert dummy.query(COUNT, epsilon=1.0, blocks="2024", fresh=True).rows
        assert refusal(dummy).code == "blocks-missing"
        assert dummy.budget().spent.epsilon == 0
        with pytest.raises(Refused, match="rows in memory have no sources"):
            dummy.refresh()


def test_retired_blocks_are_deleted(stream: Curator) -> None:
    folder = stream.policy.state / "streams"
    before = len(list(folder.rglob("*.parquet")))
    stream._ledger.retire("rides", 2, "old")
    stream.refresh(day(5))
    assert len(list(folder.rglob("*.parquet"))) == before - 2
    assert refusal(stream, blocks="2024-01-01").code == "block-retired"
    assert stream.query(COUNT, epsilon=0.1, blocks="all").rows == [(24,)]


def test_blocks_of_another_folder_are_never_read(stream: Curator) -> None:
    """A state folder that was restored beside a ledger of other blocks: nothing is charged, and nothing read."""
    folder = stream.policy.state / "streams"
    table, files = stream.policy.tables["rides"], stream._ledger.stream("rides").files
    segments(stream.policy, table, dict(enumerate(files)))[0].unlink()  # of a block: rows that wait are nobody's yet
    with pytest.raises(QueryFailed, match="nothing was charged"):
        stream.query(COUNT, epsilon=0.1, blocks="all")
    shutil.rmtree(folder)
    with pytest.raises(QueryFailed, match="nothing was charged"):
        stream.query(COUNT, epsilon=0.1, blocks="newest 1")
    assert stream.entries() == []


def test_analysts_have_a_share_of_each_block(tmp_path: Path) -> None:
    path = world(tmp_path, more='[analysts.lab]\nshare = "40 %"\n')
    add(tmp_path, "a", rides())
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(4))
        assert curator.query(COUNT, epsilon=0.3, blocks="all", analyst="lab").remaining.epsilon == pytest.approx(0.1)
        with pytest.raises(BudgetExhausted, match="of the share of lab"):
            curator.query(ZONES, epsilon=0.2, blocks=[0], analyst="lab")
        assert curator.query(ZONES, epsilon=0.7, blocks=[0]).rows


def stopped(*_: object) -> None:
    """As if the process had ended here."""
    raise SystemExit


def test_a_crash_between_files_and_ledger_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that were sealed and not opened are opened by the next refresh, by the same names."""
    path = world(tmp_path)
    add(tmp_path, "a", rides())
    with opened(path, sampler=EXACT) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(type(curator._ledger), "open_blocks", stopped)
            with pytest.raises(SystemExit):
                curator.refresh(day(5))
        assert curator._ledger.stream("rides").count == 0
        assert curator.refresh(day(5)).streams["rides"].read == 0
        table = curator.policy.tables["rides"]
        assert curator._ledger.stream("rides").files == tuple(names(curator.policy, table).values())
        assert curator.query(COUNT, epsilon=0.1, blocks="all").rows == [(48,)]


@pytest.mark.parametrize("own", ["", "delta = 1e-9\n"])
def test_in_a_budget_with_delta_a_block_has_its_own(tmp_path: Path, own: str) -> None:
    """ε is told by the δ of the block: one query for all of its ε fits, and what a refusal offers is accepted."""
    path = world(tmp_path, delta=True, more=own)
    add(tmp_path, "a", rides(6, 3))
    with opened(path, sampler=EXACT) as curator:
        curator.refresh(day(4))
        answer = curator.query(COUNT, epsilon=0.4, blocks=[0])
        assert answer.guarantee[1] == pytest.approx(1e-9 if own else 1e-6 / 3)
        with pytest.raises(BudgetExhausted) as refused:
            curator.query(ZONES, epsilon=1, blocks=[0])
        assert refused.value.edit is not None
        offered = refused.value.edit.arguments["epsilon"]
        assert isinstance(offered, float)
        assert 0.6 < offered <= answer.remaining.epsilon < offered + 1e-6
        assert curator.query(ZONES, epsilon=offered, blocks=[0]).remaining.epsilon < 0.01
        assert curator.query("SELECT note, COUNT(*) AS n FROM rides GROUP BY note", epsilon=1, blocks=[1]).columns
        assert refusal(curator, COUNT, blocks=[1]).code in ("budget-exhausted", "block-retired")
