"""The demo keeps every promise of its story, leaves its files behind, and destroys nothing."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import NamedTuple

import click
import duckdb
import pytest

from discreet.accounting import Concentrated
from discreet.cli.demo import COUNTING, FOLDER, HASTY, NEIGHBOUR, PATIENT, Story, settle, tell
from discreet.cli.narration import Teller
from discreet.curator.state import open_ledger
from discreet.errors import BudgetExhausted
from discreet.lab.hospital import build
from discreet.policy import read
from tests.cli.runs import run, spend, told


class Told(NamedTuple):
    """A story, the text it was told in, and where it took place."""

    story: Story
    text: str
    policy: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Told:
    policy = build(tmp_path_factory.mktemp("demo"))
    with pytest.MonkeyPatch.context() as patch:
        shown: list[str] = []
        patch.setattr(click, "echo", lambda text="", nl=True: shown.append(text + "\n" * nl))
        story = tell(policy, Teller(), HASTY)
    return Told(story, "".join(shown), policy)


# the story


def test_the_preview_was_true_to_cost_and_error(demo: Told) -> None:
    preview, answer = demo.story.preview, demo.story.answer
    assert preview.loss == answer.loss == answer.cost
    for row, interval in zip(answer.rows, answer.intervals, strict=True):
        low, high = interval["patients"]
        assert (high - low) / 2 == preview.error["patients"]
        assert low <= row[1] <= high


def test_the_answer_is_near_the_truth(demo: Told) -> None:
    """Seven counts within three half-widths of 95 %: missed once in 10⁷ runs."""
    source = demo.policy.parent / "patients.parquet"
    with duckdb.connect() as connection:
        exact = dict(connection.execute(f"SELECT ward, count(*) FROM '{source}' GROUP BY ward").fetchall())
    assert dict(demo.story.answer.rows).keys() == exact.keys()
    assert all(abs(n - exact[ward]) <= 3 * demo.story.preview.error["patients"] for ward, n in demo.story.answer.rows)


def test_the_same_question_again_is_the_same_answer_and_free(demo: Told) -> None:
    answer, again = demo.story.answer, demo.story.again
    assert not answer.cached
    assert again.cached
    assert again.rows == answer.rows
    assert again.intervals == answer.intervals
    assert again.receipt == answer.receipt
    assert again.loss == Concentrated(0)
    assert "the same answer, free" in demo.text


def test_refusals_carry_their_fix_and_the_fix_works(demo: Told) -> None:
    raw, unbounded = demo.story.refusals
    assert (raw.code, unbounded.code) == ("not-an-aggregate", "undeclared-bounds")
    assert raw.fix
    assert "CLAMP(" in unbounded.fix
    assert 0 <= demo.story.fixed.rows[0][0] <= 2000
    assert unbounded.fix in " ".join(demo.text.split())


def test_a_kept_answer_is_one_lie_however_often_it_is_told(demo: Told) -> None:
    assert len(demo.story.repeated) == HASTY.repeats
    assert len(set(demo.story.repeated)) == 1
    assert "Cached: the same noisy answer every time" in demo.text
    assert "charged once" in demo.text


def test_fresh_draws_differ_and_are_all_paid(demo: Told) -> None:
    """With a standard deviation above 30, all alike would be a wonder."""
    assert len(set(demo.story.fresh)) > 1
    assert len(demo.story.fresh) > HASTY.repeats
    with open_ledger(read(demo.policy)) as ledger:
        paid = [entry for entry in ledger.entries() if entry.question == NEIGHBOUR]
    assert len(paid) == len(demo.story.fresh)
    assert all(entry.analyst == "finance" for entry in paid)


def test_the_budget_ends_cleanly(demo: Told) -> None:
    """Refused, nothing charged for it, every charge answered, and others may go on."""
    assert isinstance(demo.story.exhausted, BudgetExhausted)
    finance, everybody = demo.story.balances["finance"], demo.story.balances[None]
    assert finance.remaining.epsilon < HASTY.cost
    assert finance.spent.epsilon <= finance.total.epsilon == 0.5
    assert everybody.remaining.epsilon > 0.2
    with open_ledger(read(demo.policy)) as ledger:
        assert all(entry.answered for entry in ledger.entries())
        assert ledger.balance("finance") == finance


def test_the_ledger_is_sound_and_holds_the_receipt(demo: Told) -> None:
    assert demo.story.report.sound
    assert demo.story.report.charges == len(demo.story.fresh) + 2
    assert told("ledger", "verify", demo.policy, "--receipt", demo.story.answer.receipt)["sound"]


def test_it_is_told_in_steps_on_lines_of_moderate_length(demo: Told) -> None:
    lines = demo.text.splitlines()
    assert [line[0] for line in lines if line[:1].isdigit()] == list("123456789")
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    starts = [place for place, line in enumerate(lines) if line[:1].isdigit()] + [len(lines)]
    assert all(after - before <= 24 for before, after in itertools.pairwise(starts))


def test_the_neighbour_is_alone_and_smokes(demo: Told) -> None:
    exact = NEIGHBOUR.replace("FROM patients", f"FROM '{demo.policy.parent / 'patients.parquet'}'")
    with duckdb.connect() as connection:
        assert connection.execute(exact).fetchall() == [(1,)]
        assert connection.execute(exact.removesuffix(" AND smoker")).fetchall() == [(1,)]


@pytest.mark.long
def test_the_whole_command_leaves_a_hospital_to_go_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("demo").stdout
    policy = FOLDER / "hospital.toml"
    assert {path.name for path in FOLDER.iterdir()} == {
        "hospital.toml", "patients.parquet", "visits.parquet", "wards.csv", "hospital.discreet",
    }  # fmt: skip
    assert f"Asked {PATIENT.repeats} times, charged once" in shown
    for command in (f"discreet query {policy}", f"discreet budget {policy}", f"discreet ledger show {policy}"):
        assert command in shown
    assert told("budget", policy)["remaining"]["epsilon"] > 0.2
    charged = [entry for entry in told("ledger", "show", policy)["entries"] if entry["answered"] is not None]
    assert charged[0]["question"] == COUNTING
    assert "discreet-demo is in use, and stays as it is" in run("demo", "--fast").stdout
    assert (tmp_path / "discreet-demo-2" / "hospital.toml").exists()


# where it takes place


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    folder, remark = settle(tmp_path / "a" / "b")
    assert (folder, remark) == (tmp_path / "a" / "b", "")
    assert (folder / "hospital.toml").exists()


def test_an_unspent_hospital_is_used_again(tmp_path: Path) -> None:
    wanted = tmp_path / "demo"
    settle(wanted)
    with open_ledger(read(wanted / "hospital.toml")):
        pass
    folder, remark = settle(wanted)
    assert folder == wanted
    assert "there already, and unspent" in remark


def test_a_spent_hospital_stays_as_it_is(tmp_path: Path) -> None:
    wanted = tmp_path / "demo"
    settle(wanted)
    spend(read(wanted / "hospital.toml"), 0.1)
    folder, remark = settle(wanted)
    assert folder == tmp_path / "demo-2"
    assert "is in use" in remark
    assert settle(wanted)[0] == tmp_path / "demo-2"
    spend(read(folder / "hospital.toml"), 0.1)
    assert settle(wanted)[0] == tmp_path / "demo-3"


@pytest.mark.parametrize("name", ["hospital.toml", "thesis.txt"])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, name: str) -> None:
    wanted = tmp_path / "demo"
    wanted.mkdir()
    (wanted / name).write_text("mine", encoding="utf-8")
    assert settle(wanted)[0] == tmp_path / "demo-2"
    assert [path.read_text(encoding="utf-8") for path in wanted.iterdir()] == ["mine"]


def test_a_file_or_a_dangling_link_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine", encoding="utf-8")
    os.symlink(tmp_path / "nowhere", tmp_path / "demo-2")
    assert settle(tmp_path / "demo")[0] == tmp_path / "demo-3"


def test_a_damaged_ledger_is_left_alone(tmp_path: Path) -> None:
    settle(tmp_path / "demo")
    with open_ledger(read(tmp_path / "demo" / "hospital.toml")):
        pass
    ledger = tmp_path / "demo" / "hospital.discreet" / "ledger.sqlite"
    ledger.write_bytes(b"no database" * 1000)
    assert settle(tmp_path / "demo")[0] == tmp_path / "demo-2"


def test_a_folder_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = run("demo", "--folder", tmp_path / "file" / "demo", code=2)
    assert "cannot be written" in result.stderr


def test_where_nothing_can_be_written_the_hospital_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("discreet.files.NETWORKS", {"ext4", "overlay", "tmpfs", "xfs", "btrfs", None})
    folder, remark = settle(None)
    assert folder.parent == tmp_path
    assert "it is on a network" in remark
    assert (folder / "hospital.toml").exists()
