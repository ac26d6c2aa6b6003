"""A policy audited by itself: pairs and questions made from it alone, and the page that tells what was found."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import discreet
from discreet.accounting import rho_for
from discreet.accounting.losses import Sensitivity
from discreet.audit import audit_policy, neighbours, pictures, policies, replay
from discreet.audit.compare import KINDS, Moved
from discreet.audit.neighbours import units, without
from discreet.audit.policies import Audit
from discreet.audit.questions import MAKERS, Question, questions
from discreet.audit.report import MADE_UP, UNDRAWN, page
from discreet.audit.worlds import MOST_ROWS, Pair, searched, small
from discreet.curator.dummy import Dummy
from discreet.engines import copy, memory
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from discreet.lab.hospital import text as demo_text
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM
from discreet.policy import Policy
from discreet.printing import at_least
from discreet.sql import measures
from discreet.sql.measures import Contribution
from discreet.sql.release import Release
from tests.attacks.test_unique_keys import POLICY as UNIQUE
from tests.audit.worlds import ACCOUNTS_OF, NAMES, OWNED, SPELLINGS, WORLDS, Data
from tests.budget import later
from tests.curator.worlds import POLICY, SOURCES, hospital
from tests.policy.examples import BANK, HEAD, HOSPITAL, policy_of

pytestmark = pytest.mark.long
"""Each audits a whole policy, or shows what one found."""

PURE = HOSPITAL.replace("delta = 1e-6 ", "")
STRANGE = (
    HEAD
    + """
budget.delta = 1e-6
name = "<script>alert(1)</script>"
[tables."order"]
source = "o.csv"
unit = "the <b>unit</b>"
max_rows = 2
[tables."order".columns]
"select" = { values = ["it's", "<i>", "", "Å🦆"], nullable = true }
"a \\"quoted\\" one" = { min = -5, max = 5, step = 0.5 }
"huge" = { min = -1e100, max = 1e100 }
"Größe" = { type = "integer", min = -9223372036854775808, max = 9223372036854775807 }
"</td>" = { type = "text" }
"paid at" = { type = "timestamp" }
[tables."Rows & more"]
source = "r.csv"
unit = "row"
"""
)
"""Names that want to be something else, huge numbers, a table without columns."""
TEXTS = {"demo": demo_text(), "hospital": HOSPITAL, "pure": PURE, "bank": BANK, "clinic": POLICY, "strange": STRANGE}
SMALL_TEXTS = {
    "owned": OWNED.format(visits="", stays=""),
    "accounts": ACCOUNTS_OF,
    "names": NAMES,
    "spellings": SPELLINGS,
    **{name: world.text for name, world in WORLDS.items()},
}


def policy(name: str) -> Policy:
    return policy_of({**TEXTS, **SMALL_TEXTS}[name])


# pairs of neighbours


def check_pair(audited: Policy, pair: Pair) -> None:
    """They differ in one unit with all its rows, or in one row that is a unit."""
    gone = set(units(audited, pair.data)) - set(units(audited, pair.neighbour))
    if gone:
        (unit,) = gone
        assert pair.neighbour == without(audited, pair.data, unit), pair.what
    else:
        (table,) = pair.tables
        owner = audited.tables[table].owner
        assert owner is not None
        assert owner.column is None
        assert len(pair.data[table]) == len(pair.neighbour[table]) + 1


@pytest.mark.parametrize("name", [*TEXTS, *SMALL_TEXTS])
def test_pairs_differ_in_one_unit(name: str) -> None:
    audited = policy(name)
    found = [*searched(audited), *list(small(audited))[::7]]
    assert len(found) > 10
    for pair in found:
        check_pair(audited, pair)
        assert pair.tables


@pytest.mark.parametrize("name", ["hospital", "bank", "clinic", "owned", "accounts"])
def test_a_unit_has_rows_in_all_tables(name: str) -> None:
    """Along foreign keys, and under one name: else no join would find it."""
    audited = policy(name)
    owned = {t.name for t in audited.private_tables.values() if t.owner and t.owner.column}
    first = next(searched(audited))
    assert first.tables == owned
    for table in owned:
        extra = len(first.data[table]) - len(first.neighbour[table])
        assert extra == min(audited.tables[table].max_rows, MOST_ROWS)


def extra(pair: Pair, table: str) -> list[Any]:
    return [row for row in pair.data[table] if row not in pair.neighbour[table]]


def test_each_part_is_what_it_says() -> None:
    audited = policy("hospital")
    high, everywhere, low, own, beyond, null = list(searched(audited))[:6]
    assert {row["cost"] for row in extra(high, "visits")} == {5000}
    assert {row["cost"] for row in extra(low, "visits")} == {0}
    assert (
        len(extra(everywhere, "visits")) <= len(everywhere.data["visits"]) - len(everywhere.neighbour["visits"]) == 60
    )
    assert {row["ward"] for row in extra(everywhere, "patients")} == {"A", "B", "C"}
    others = {row["zip"] for row in own.neighbour["patients"]}
    assert extra(own, "patients")[0]["zip"] not in others
    assert extra(high, "patients")[0]["zip"] in others
    assert {row["cost"] for row in extra(beyond, "visits")} == {5_005_000, 1e300, -1e300}
    assert {row["cost"] for row in extra(null, "visits")} == {None}


def test_all_small_worlds_of_a_tiny_domain() -> None:
    """Two units with at most three rows in all over two values: 2·(1 + 2 + 3) + 3·(1 + 2) + 4."""
    text = HEAD + '[tables.t]\nsource = "t.csv"\nunit = "who"\n[tables.t.columns]\nyes = { type = "boolean" }\n'
    found = list(small(policy_of(text)))
    assert len(found) == len({repr(pair) for pair in found}) == 25
    assert {row["yes"] for pair in found for row in pair.data["t"]} == {True, False}
    nullable = list(small(policy_of(text.replace('"boolean"', '"boolean", nullable = true'))))
    assert {row["yes"] for pair in nullable for row in pair.data["t"]} == {True, False, None}


def test_neighbours_of_a_policy_alone_are_pairs() -> None:
    audited = policy("hospital")
    first, second = list(neighbours(audited)), list(neighbours(audited))
    assert first == second
    assert first == [*searched(audited), *small(audited)]
    data, neighbour, what = first[0]
    assert len(data["visits"]) > len(neighbour["visits"])
    assert "upper ends" in what


def test_units_that_have_no_names_left() -> None:
    """Where all declared units are taken, the last one gets more rows; it still goes with all of them."""
    text = HEAD + '[tables.t]\nsource = "t.csv"\nunit = "who"\n[tables.t.columns]\nwho = { values = ["a", "b"] }\n'
    audited = policy_of(text)
    for pair in searched(audited):
        check_pair(audited, pair)


# questions


@pytest.mark.parametrize("name", later(sorted(TEXTS, key=lambda name: name not in ("hospital", "strange")), 2))
def test_questions_are_valid_for_their_policy(name: str) -> None:
    audited = policy(name)
    asked = questions(audited)
    assert asked == questions(audited)
    assert len({question.text for question in asked}) == len(asked) > 20
    refused = []
    with Dummy(audited, rows=5) as curator:
        for question in asked:
            assert question.tables <= set(audited.tables)
            try:
                curator.preview(question.text, epsilon=0.2)
            except Refused as no:
                if not ("are too large" in no.reason and "huge" in question.text):
                    refused.append((question.text, no))
    assert not refused, refused[:5]


def test_a_few_questions_are_of_all_kinds() -> None:
    kinds = [question.kind for question in questions(policy("clinic"), len(MAKERS))]
    assert len(set(kinds)) >= len(MAKERS) - 3
    assert {question.kind for question in questions(policy("bank"))} == set(MAKERS) - {"private keys", "unique keys"}
    assert "unique keys" in {question.kind for question in questions(policy_of(UNIQUE))}
    assert questions(policy("clinic"), 5) == questions(policy("clinic"))[:5]


def test_what_a_policy_cannot_do_is_not_asked() -> None:
    pure = "\n".join(question.text for question in questions(policy("pure")))
    assert "GROUP BY zip" not in pure
    assert "CASE zip WHEN" in pure
    assert "other = true" in "\n".join(question.text for question in questions(policy("hospital")))


# audits


@pytest.fixture(scope="module")
def audited() -> Audit:
    return audit_policy(policy("hospital"), most=4)


def test_an_audit_finds_nothing_where_nothing_is_wrong(audited: Audit) -> None:
    assert audited.passed
    assert len(audited.results) == len(audited.of("the same")) == 4
    assert audited.share == 1
    assert audited.comparisons > 30
    assert all(result.report.calls for result in audited.results)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TEXTS, *SMALL_TEXTS])
def test_audits_of_all_policies(name: str) -> None:
    """Many questions of one policy, and some of the others."""
    found = audit_policy(policy(name), most=60 if name == "owned" else 5)
    assert found.passed, [str(result.report) for result in found.of("difference")]
    if name in ("demo", "bank", "strange"):
        assert name == "strange" or not found.of("refused")
        assert found.epsilon == (Fraction(1, 4) if name == "bank" else 1)
    ElementTree.fromstring(page(found).removeprefix("<!DOCTYPE html>\n"))


def test_every_pair_means_every_pair() -> None:
    text = HEAD + '[tables.t]\nsource = "t.csv"\nunit = "who"\n[tables.t.columns]\nyes = { type = "boolean" }\n'
    tiny = policy_of(text)
    told: list[float] = []
    few = audit_policy(tiny, most=1)
    every = audit_policy(tiny, most=1, every_pair=True, progress=lambda _, share: told.append(share))
    assert (few.pairs, every.comparisons) == (every.pairs, every.pairs)
    assert few.comparisons < every.comparisons
    assert told == [0, 1]


def test_a_policy_without_private_tables_has_nothing_to_ask() -> None:
    found = audit_policy(policy_of(HEAD + '[tables.t]\nsource = "t.csv"\npublic = true\n'))
    assert found.results == ()
    assert "nothing to ask" in page(found)


def asking(monkeypatch: pytest.MonkeyPatch, *texts: str, tables: Sequence[str] = ("visits", "patients")) -> None:
    """Audits ask these questions, which are about these tables."""
    made = [Question(text, "ours", frozenset(tables)) for text in texts]
    monkeypatch.setattr(policies, "questions", lambda *_: made)


def test_refusals_are_told_and_are_no_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    asking(monkeypatch, "SELECT cost FROM visits", "SELECT COUNT(*) FROM visits")
    found = audit_policy(policy("hospital"))
    assert [result.state for result in found.results] == ["refused", "the same"]
    assert found.passed
    assert f"refused: {found.results[0].report.refusal}" in page(found)


def unclamped(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (measures, copy):
        monkeypatch.setattr(module, "whole_steps", lambda value, *_: f"TRY_CAST({value} AS BIGINT)")


def understated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Release, "contribution", Contribution(1, 1, 1))


def unbounded_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    original, selection = Memory.execute, copy.selection
    ranks = re.compile(r'"(_discreet_(row|key_\w+|nth_\w+)|r\d)" <= \d+')
    monkeypatch.setattr(memory, "selection", lambda *given: ranks.sub("TRUE", selection(*given)))
    monkeypatch.setattr(
        Memory,
        "execute",
        lambda self, text, seconds=None: original(self, ranks.sub("TRUE", text), seconds),
    )


def unpaid(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.exit.cost import Cost

    original = Cost.noise
    monkeypatch.setattr(
        Cost,
        "noise",
        lambda self, sensitivity, share: original(
            self, Sensitivity(sensitivity.l1 / 2, sensitivity.l2_squared / 4), share
        ),
    )


ALONE = rho_for(1, 5e-7)
"""What a question for epsilon=1 costs under the policy of the hospital."""
BROKEN = [
    (
        unclamped,
        "SELECT SUM(cost) FROM visits",
        "distance",
        r"call 1: one unit moves it by \d+ .*beyond the declared",
    ),
    (understated, "SELECT COUNT(*) FROM visits", "distance", r"moves it by 20 \(squares 400\), beyond .* of 1 "),
    (
        unbounded_groups,
        "SELECT COUNT(*) FROM visits",
        "distance",
        r"moves it by 60 .*beyond the declared sensitivity of 20",
    ),
    (
        unbounded_groups,
        "SELECT zip, COUNT(*) FROM patients GROUP BY zip",
        "keys",
        r"moves 3 keys, .* at most 1 groups",
    ),
    (
        unpaid,
        "SELECT SUM(cost) FROM visits",
        "cost",
        re.escape(f"noise worth ρ {at_least(4 * ALONE)} was drawn and ρ {at_least(ALONE)} charged"),
    ),
]


def test_what_is_broken_below_passes_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asking(monkeypatch, *dict.fromkeys(asked for _, asked, _, _ in BROKEN))
    found = audit_policy(policy("hospital"))
    assert found.passed
    assert len(found.of("the same")) == 3


@pytest.mark.parametrize(("spoil", "asked", "kind", "words"), BROKEN)
def test_what_is_broken_is_named(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pytest.MonkeyPatch], None], asked: str, kind: str, words: str
) -> None:
    asking(monkeypatch, asked)
    spoil(monkeypatch)
    found = audit_policy(policy("hospital"))
    (result,) = found.of("difference")
    assert not found.passed
    assert kind in KINDS
    assert result.report.kind == kind
    assert re.search(words, str(result.report.difference)), result.report.difference
    assert result.report.expected
    assert result.report.observed
    assert (found.share > 1) == (kind == "distance")
    shown = page(found)
    assert "1 of 1 questions tell two neighbours apart" in shown
    assert result.what in shown


# replays of curators and of functions


def test_a_curator_is_audited_by_its_policy_alone(tmp_path: Path) -> None:
    real = hospital(tmp_path)
    with discreet.open(real.path) as curator:
        curator.query("SELECT COUNT(*) FROM patients", epsilon=0.1)
        before = curator.entries(), sorted(tmp_path.rglob("*"))
        data: Data = {"visits": [{"patient_id": 1, "cost": 9}]}
        report = replay(curator, "SELECT SUM(cost) FROM visits", data, {"visits": []}, epsilon=1)
        assert (report.same, report.calls) == (True, 1)
        assert report.moved is not None
        assert (report.moved.here, report.moved.there) == (900, 0)
        assert (curator.entries(), sorted(tmp_path.rglob("*"))) == before


def total(_: str, data: Data, sampler: Sampler) -> object:
    return sampler.add_noise(
        Laplace(1, sensitivity=5), Sensitivity.cells(1, 5), [sum(row["x"] for row in data["t"])], SYSTEM
    )


def exactly(_: str, data: Data, door: Sampler) -> Any:
    total(_, data, door)
    return data["t"]


def failing(_: str, data: Data, __: Sampler) -> Any:
    return 1 // len(data["t"])


@pytest.mark.parametrize(
    ("mechanism", "value", "kind", "words"),
    [
        (total, 5, None, "None"),
        (total, 6, "distance", "moves it by 6 (squares 36), beyond the declared sensitivity of 5 (squares 25)"),
        (exactly, 1, "outcome", "[{'x': 1}] on one side, [] on the other"),
        (failing, 1, "outcome", "an answer on one side, the error ZeroDivisionError"),
    ],
)
def test_functions_are_replayed_too(mechanism: Any, value: int, kind: str | None, words: str) -> None:
    report = replay(mechanism, "total", {"t": [{"x": value}]}, {"t": []})
    assert report.kind == kind
    assert words in str(report.difference)


@pytest.mark.parametrize("nothing", ["hospital.toml", None, 7])
def test_what_cannot_be_audited_is_told(nothing: Any) -> None:
    with pytest.raises(TypeError, match="a policy, a curator or a function"):
        replay(nothing, "SELECT 1", {}, {}, epsilon=1)


def test_a_function_has_no_cost() -> None:
    with pytest.raises(TypeError, match="no cost"):
        replay(total, "total", {"t": []}, {"t": []}, epsilon=1)


# nothing is touched


def test_sources_and_state_are_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = hospital(tmp_path)
    for file in SOURCES:
        (tmp_path / file).unlink()
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    assert audit_policy(real, most=2).passed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hospital.toml", "temporary"]
    assert list(elsewhere.iterdir()) == []


# the page


def test_the_page_is_whole_and_needs_nothing_else(audited: Audit) -> None:
    shown = page(audited)
    tree = ElementTree.fromstring(shown.removeprefix("<!DOCTYPE html>\n"))
    tags = [element.tag for element in tree.iter()]
    assert 1 < tags.count("svg") <= 6
    assert tags.count("tr") == 1 + len(audited.results)
    assert not {"script", "link", "iframe", "img", "object", "image", "use"} & set(tags)
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=|\bhref=|\bon\w+=", shown)
    assert "prefers-color-scheme: dark" in shown
    assert MADE_UP in shown
    for result in audited.results:
        assert result.question.kind in shown


def test_names_cannot_become_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    texts = ['SELECT COUNT("</td>") FROM "order"', 'SELECT "select", COUNT(*) FROM "order" GROUP BY 1', "<script>"]
    asking(monkeypatch, *texts, tables=("order",))
    found = audit_policy(policy("strange"))
    shown = page(found)
    assert "&lt;script&gt;alert(1)" in shown
    assert not re.search(r"<script|<b>unit|<i>'|<td></td></td>", shown)
    assert [result.state for result in found.results] == ["the same", "the same", "refused"]
    ElementTree.fromstring(shown.removeprefix("<!DOCTYPE html>\n"))


def test_without_what_draws_the_page_says_so(audited: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda name: None if name == "vl_convert" else name)
    shown = page(audited)
    assert UNDRAWN in shown
    assert "<svg" not in shown


# pictures


def records(moved: Moved) -> list[tuple[float, float, float, float]]:
    return pictures._records(moved)


@pytest.mark.parametrize("mechanism", [Laplace(1, sensitivity=3), Gaussian(rho=Fraction(1, 2), sensitivity=3)])
def test_pictures_show_the_exact_probabilities(mechanism: Laplace | Gaussian) -> None:
    found = records(Moved(1, mechanism, Sensitivity.cells(1, 3), 13, 10, Fraction(1)))
    for column in (1, 2):
        assert 0.998 < math.fsum(record[column] for record in found) <= 1 + 1e-12
    assert max(found, key=lambda record: record[1])[0] == 3
    assert max(found, key=lambda record: record[2])[0] == 0
    for _, here, there, ratio in found:
        assert math.isclose(math.log(here / there), ratio, abs_tol=1e-9)


def test_laplace_noise_stays_within_its_band() -> None:
    moved = Moved(1, Laplace(1, sensitivity=3), Sensitivity.cells(1, 3), 13, 10, Fraction(1))
    band = pictures.Band.of(moved, None)
    assert (band.epsilon, band.delta) == (1, None)
    assert max(abs(record[3]) for record in records(moved)) == pytest.approx(band.epsilon)
    beyond = Moved(1, Laplace(1, sensitivity=3), Sensitivity.cells(1, 3), 16, 10, Fraction(2))
    assert max(abs(record[3]) for record in records(beyond)) == pytest.approx(2 * band.epsilon)
    assert "stays between" in pictures.caption(moved, None)
    assert "one unit shows more" in pictures.caption(beyond, None)


def test_gaussian_noise_is_told_in_its_own_currency() -> None:
    moved = Moved(1, Gaussian(rho=Fraction(1, 2), sensitivity=3), Sensitivity.cells(1, 3), 13, 10, Fraction(1))
    told = pictures.caption(moved, Fraction(1, 10**6))
    assert "ρ 0.5" in told
    assert "at δ = 1e-06" in told
    assert "stays between" not in told


def test_numbers_of_any_size_are_drawn() -> None:
    for here in (0, 10**9, -(10**30)):
        mechanism = Laplace(1, sensitivity=10**12)
        drawn = pictures.svg(Moved(1, mechanism, Sensitivity.cells(1, 10**12), here, 0, Fraction(1)), None)
        assert drawn is not None
        ElementTree.fromstring(drawn)
