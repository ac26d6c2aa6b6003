"""What earlier versions left on disk is still what it was: spending, cached answers, request keys, tokens, parts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

import discreet
from discreet.accounting import Pure
from discreet.accounting.record import Key, PartName
from discreet.curator.curator import Curator
from discreet.curator.refreshing import refresh
from discreet.errors import Refused
from discreet.ledger import Grant, Ledger, back_up, verify
from discreet.policy import read
from discreet.server.tokens import Tokens
from discreet.sql.cache import NoisyMeasures
from tests.fixtures.build import HERE, amounts

TOLD: Final[dict[str, Any]] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
KINDS: Final = ("pure", "concentrated")
KEY: Final = Key("request 2", "digest of the request")


def copied(name: str, folder: Path) -> Path:
    """The state as its owner would have it: for nobody else to read."""
    target = folder / name
    shutil.copytree(HERE / name, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return target


@pytest.fixture(scope="module", params=KINDS)
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Curator]]:
    folder = copied(request.param, tmp_path_factory.mktemp("old"))
    assert verify(folder / "state" / "ledger.sqlite").problems == ()
    with discreet.open(folder / "hospital.toml") as hospital:
        yield request.param, hospital


def test_whoever_only_looks_changes_nothing(tmp_path: Path) -> None:
    """The layout of an earlier version is brought up to date by those who write, and its seal stays until then."""
    path = copied("long", tmp_path) / "ledger.sqlite"
    before = path.read_bytes()
    assert verify(path).sealed
    assert back_up(path, tmp_path / "backup").sound
    assert path.read_bytes() == before
    assert verify(path).sealed


def spent(hospital: Curator) -> dict[str, float]:
    return {str(name): hospital.budget(name).spent.epsilon for name in (None, *hospital.policy.analysts)}


def recalled(hospital: Curator, number: int) -> list[list[object]] | str:
    try:
        return [list(row) for row in hospital.recall(number).rows]
    except Refused as refused:
        return refused.code


def test_spending_is_what_it_was(old: tuple[str, Curator]) -> None:
    kind, hospital = old
    told = TOLD[kind]
    assert spent(hospital) == told["spent"]
    assert {str(name): hospital.budget(name).total.epsilon for name in (None, "ann", "bob")} == told["total"]
    found = [[each.number, each.question, each.answered, *amounts(each.loss)] for each in hospital.entries()]
    assert found == told["charges"]


def test_cached_answers_are_still_there(old: tuple[str, Curator]) -> None:
    kind, hospital = old
    assert TOLD[kind]["kept"]
    for number, (plan, answer) in TOLD[kind]["kept"].items():
        found = hospital._ledger.answer(int(number))
        assert found is not None
        assert found.answer.hex() == answer
        assert hospital._ledger.entry(int(number)).plan == plan  # type: ignore[union-attr]
        assert NoisyMeasures.decode(bytes.fromhex(answer)) is not None


def test_a_cached_answer_is_recalled_as_it_was_or_its_meaning_changed(old: tuple[str, Curator]) -> None:
    """Another lowering of the same text is another question; then its answer is gone, never another one."""
    kind, hospital = old
    before = spent(hospital)
    for number, rows in TOLD[kind]["rows"].items():
        assert recalled(hospital, int(number)) in (rows, "answer-gone"), number
    assert spent(hospital) == before


def test_request_keys_are_still_known(old: tuple[str, Curator]) -> None:
    kind, hospital = old
    number = hospital._ledger.charged(KEY)
    assert [number, "SELECT COUNT(*) AS n FROM patients WHERE age > 40"] in [row[:2] for row in TOLD[kind]["charges"]]


def test_tokens_are_still_accepted(old: tuple[str, Curator]) -> None:
    kind, hospital = old
    tokens = Tokens.of(hospital.policy)
    try:
        for text, (role, analyst) in TOLD[kind]["tokens"].items():
            found = tokens.find(text)
            assert found is not None
            assert [str(found.role), found.analyst] == [role, analyst]
    finally:
        tokens.close()


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on(kind: str, tmp_path: Path) -> None:
    """New charges, parts, a refresh; then it still verifies, and nothing was forgotten."""
    folder = copied(kind, tmp_path)
    policy = read(folder / "hospital.toml")
    with discreet.open(folder / "hospital.toml") as hospital:
        before = hospital.budget().spent.epsilon
        answer = hospital.query("SELECT COUNT(*) AS n FROM visits WHERE cost < 7", epsilon=0.01)
        assert not answer.cached
        middle = hospital.budget().spent.epsilon
        assert middle > before
        hospital.table("visits").partition("ward")["C"].count(epsilon=0.01, analyst="bob")
        last = hospital.budget().spent.epsilon
        assert last > middle, "the copy is another one: its parts begin from nothing"
    assert refresh(policy, "another week") == 4, "the old copy is of an older kind: the first question read anew"
    with discreet.open(folder / "hospital.toml") as hospital:
        assert hospital.budget().spent.epsilon == last
    report = verify(policy.state / "ledger.sqlite", [answer.receipt])
    assert report.problems == ()
    assert report.charges == len(TOLD[kind]["charges"]) + 2


def test_a_long_ledger_resumes_with_its_lines(tmp_path: Path) -> None:
    path = copied("long", tmp_path) / "ledger.sqlite"
    grant = Grant.of(Fraction(10), None)
    with Ledger.open(path, grant, shares={"ann": Fraction(5)}, protected="p", name="long") as ledger:
        assert ledger.balance().spent.epsilon == TOLD["long"]["spent"]
        assert ledger.balance("ann").spent.epsilon == TOLD["long"]["ann"]
        assert ledger.data_version == 1010
        tenth = Pure(Fraction(1, 10))
        costs = {
            (part, most): ledger.increase(tenth, PartName(f"partition {most}", part, most))
            for part, most in (("a", 1), ("b", 1), ("b", 2), ("c", 2))
        }
        # lines stand at a 0.4, b 0.2 (one part each), and at a 0.3, b 0.2, c 0.1 (two parts each)
        nothing = Pure(0)
        assert costs == {("a", 1): tenth, ("b", 1): nothing, ("b", 2): tenth, ("c", 2): nothing}
        with ledger.charge(tenth, why="one more", part=PartName("partition 1", "b", 1)):
            pass
        assert ledger.balance().spent.epsilon == TOLD["long"]["spent"]
    assert verify(path).problems == ()
