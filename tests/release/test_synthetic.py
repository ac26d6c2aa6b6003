"""Synthetic tables: what they cost, what rows they have, and what they survive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.accounting import Concentrated, Pure
from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Cost, Exit, Sampler
from discreet.lab.hospital import build
from discreet.noise import SYSTEM
from discreet.policy import Kind
from discreet.release import Domain, MarginalSynthesizer, SyntheticTable, synthesize
from discreet.release.domain import Cut
from discreet.release.synthetic import rounds
from discreet.release.synthetic.compress import BINS, Compression, nonnegative
from discreet.release.synthetic.rounds import selected
from discreet.release.synthetic.table import NoisyMarginal
from tests.release.cases import became_public


def still(mechanism: Any, sensitivity: Sensitivity, exact: Any, bits: Any) -> Any:  # noqa: ARG001
    return np.asarray(exact)


def best(choices: Any, scores: Any, bits: Any) -> list[int]:  # noqa: ARG001
    return [int(np.argmax(each)) for each in scores]


EXACT = Sampler(add_noise=still, choose=best)


def dependent(count: int, seed: int = 0) -> dict[str, list[Any]]:
    """Columns that depend on each other, of all kinds."""
    dice = np.random.default_rng(seed)
    age = np.clip(dice.normal(45, 15, count), 0, 99).astype(int)
    ward = np.where(age > 60, "A", np.where(dice.random(count) < 0.7, "B", "C"))
    return {
        "age": age.tolist(),
        "ward": ward.tolist(),
        "cost": np.round(age * 10 + dice.random(count) * 100, 2).tolist(),
        "old": (age > 50).tolist(),
        "day": [date(2026, 1 + int(each) % 12, 1) for each in dice.integers(12, size=count)],
    }


COLUMNS: dict[str, Any] = {
    "age": (0, 99),
    "ward": ["A", "B", "C", "never"],
    "cost": (0.0, 1500.0),
    "old": bool,
    "day": (date(2026, 1, 1), date(2026, 12, 31)),
}


@pytest.fixture(scope="module")
def table() -> SyntheticTable:
    return synthesize(dependent(4000), columns=COLUMNS, epsilon=5, delta=1e-6)


@pytest.fixture
def hospital(tmp_path: Path) -> Iterator[Any]:
    with discreet.open(build(tmp_path)) as curator:
        yield curator


# what it costs


@pytest.mark.parametrize("cost", [Cost(Concentrated(Fraction(1, 50))), Cost(Pure(1))], ids=["rho", "epsilon"])
def test_the_losses_of_all_parts_add_up_to_what_is_charged(cost: Cost) -> None:
    """Whatever lengths the rounds have, all of the cost is spent and no more."""
    losses: list[Any] = []

    def add(mechanism: Any, sensitivity: Sensitivity, exact: Any, bits: Any) -> Any:  # noqa: ARG001
        losses.append(mechanism.loss)
        return mechanism.release(exact, bits)

    def choose(choices: Any, scores: Any, bits: Any) -> Any:
        losses.append(choices.loss)
        return [choices.mechanism.choose(group, bits) for group in scores]

    exit_ = Exit(cost, SYSTEM, sampler=Sampler(add_noise=add, choose=choose))
    dice = np.random.default_rng(0)
    columns = [dice.integers(size, size=500) for size in (3, 2, 5, 4)]
    selected(columns, (3, 2, 5, 4), (False, False, True, False), 1, exit_, 10_000, steps=1)
    spent = float(sum(loss.amount for loss in losses))
    assert spent <= float(cost.amount)
    assert spent == pytest.approx(float(cost.amount), rel=1e-6)  # what is missing was rounded away
    with pytest.raises(RuntimeError, match="cost more than was charged"):
        exit_.release(np.array([1]), Sensitivity.cells(1, 1), Fraction(1, 1000))


def test_a_ledger_is_charged_once_for_what_is_released() -> None:
    charged: list[Any] = []

    class Recording:
        def charge(self, loss: Any, *, why: str) -> Any:
            charged.append((loss, why))
            return nullcontext(SYSTEM)

    made = synthesize(dependent(50), columns=COLUMNS, rho=Fraction(1, 10), ledger=Recording())
    assert charged == [(made.cost, "MarginalSynthesizer.release")]
    assert made.cost == Concentrated(Fraction(1, 10))


def test_the_score_of_a_pair_moves_by_at_most_the_rows_of_a_unit() -> None:
    """On all neighbours of small tables, for a fixed model: by the definition of the score, not by its proof."""
    seen: list[list[int]] = []

    def choose(choices: Any, scores: Any, bits: Any) -> Any:  # noqa: ARG001
        assert choices.mechanism.sensitivity == 2
        assert not choices.mechanism.monotone
        seen.append(list(scores[0]))
        return [0]

    def three(mechanism: Any, sensitivity: Sensitivity, exact: Any, bits: Any) -> Any:  # noqa: ARG001
        return np.full(np.shape(exact), 3)

    dice = np.random.default_rng(2)
    base = dice.integers(2, size=(6, 3))
    tables = [base, *(np.vstack([base, more]) for more in dice.integers(2, size=(10, 2, 3)))]
    runs = []
    for each in tables:
        seen.clear()
        exit_ = Exit(Cost(Concentrated(1)), SYSTEM, sampler=Sampler(add_noise=three, choose=choose))
        selected(list(each.T), (2, 2, 2), (False,) * 3, 2, exit_, 10_000, steps=1)
        runs.append([list(scores) for scores in seen])
    for scores in runs[1:]:
        assert len(scores) == len(runs[0])
        assert np.abs(np.array(scores) - np.array(runs[0])).max() <= 2


# what rows it has


def test_rows_are_inside_the_domain_and_in_their_own_units(table: SyntheticTable) -> None:
    assert table.columns == list(COLUMNS)
    assert abs(len(table) - 4000) < 400
    for age, ward, cost, old, day in table.rows:
        assert type(age) is int
        assert 0 <= age <= 99
        assert ward in ("A", "B", "C", "never")
        assert type(cost) is float
        assert 0 <= cost <= 1500
        assert type(old) is bool
        assert type(day) is date
        assert date(2026, 1, 1) <= day <= date(2026, 12, 31)


def test_what_depends_on_each_other_does_so_in_the_rows(table: SyntheticTable) -> None:
    """The noise is far too small to hide it: ε = 5 on 4,000 rows. Independent columns would have 0.5 and 0."""
    ages, wards, costs, olds, _ = (np.array(column) for column in table.to_dict().values())
    assert np.mean((ages > 50) == olds) > 0.85
    assert np.corrcoef(ages, costs)[0, 1] > 0.8
    assert np.mean(wards[ages > 60] == "A") > 0.7


def test_a_table_stays_what_it_is_and_columns_of_equal_bins_are_not_alike(table: SyntheticTable) -> None:
    assert table.rows == table.rows
    draws = [table._uniform(place) for place in range(5)]
    for place, one in enumerate(draws):
        assert abs(np.corrcoef(one, np.arange(len(one)))[0, 1]) < 0.12
        for other in draws[:place]:
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.12  # seven deviations


def test_without_noise_marginals_are_those_of_the_rows() -> None:
    data = dependent(2000)
    domain = Domain.of(COLUMNS)
    synthesizer = MarginalSynthesizer(domain=domain, steps=300)
    made = synthesizer._released(data, EXACT, epsilon=1, delta=1e-6, rho=None, ledger=None, verbose=False)
    assert isinstance(made, SyntheticTable)
    assert len(made) == 2000
    for each in made.quality().columns:
        assert each.difference < 0.03


def test_frames_and_files_have_the_types_of_the_source(table: SyntheticTable, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert [str(kind) for kind in frame.dtypes] == ["int64", "str", "float64", "bool", "datetime64[us]"]
    path = tmp_path / "it's.parquet"
    table.to_parquet(path)
    assert len(pandas.read_parquet(path)) == len(table)
    assert table.to_arrow().num_rows == table.to_polars().height == len(table)


def test_files_are_written_without_pyarrow(
    table: SyntheticTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.release.synthetic.table.find_spec", lambda _: None)
    path = tmp_path / "it's.parquet"
    table.to_parquet(path)
    duckdb = pytest.importorskip("duckdb")
    kinds = duckdb.connect().execute("SELECT * FROM read_parquet(?) LIMIT 1", [str(path)])
    assert [str(each[1]) for each in kinds.description][1:] == ["VARCHAR", "DOUBLE", "BOOLEAN", "DATE"]
    assert duckdb.connect().execute("SELECT COUNT(*) FROM read_parquet(?)", [str(path)]).fetchall() == [(len(table),)]


def test_it_becomes_a_public_table_where_any_sql_is_free(table: SyntheticTable, tmp_path: Path) -> None:
    lines = table.save(tmp_path / "nobody.parquet")
    with discreet.open(became_public(tmp_path, lines)) as curator:
        answer = curator.query("SELECT ward, COUNT(*) AS n, MAX(cost) FROM nobody GROUP BY ward")
        assert sum(row[1] for row in answer.rows) == len(table)
        assert not curator.entries()
    assert '[tables."a b"]' in table.save(tmp_path / "x.parquet", table="a b")


# what it survives


@pytest.mark.parametrize(
    "columns",
    [
        {"constant": ["only"]},
        {"constant": ["only"], "other": ["one", "two"]},
        {"number": (0, 1)},
        {"flag": bool, "number": (0.0, 1e-9)},
    ],
    ids=lambda columns: "-".join(columns),
)
@pytest.mark.parametrize("count", [0, 1, 300])
def test_small_and_constant_tables_are_synthesized(columns: dict[str, Any], count: int) -> None:
    values = {"constant": "only", "other": "one", "number": 0, "flag": True}
    made = synthesize({name: [values[name]] * count for name in columns}, columns=columns, epsilon=1)
    assert made.columns == list(columns)
    assert len(made) < count + 200
    assert made.quality().rows == len(made)


def test_hostile_values_neither_stop_it_nor_come_out() -> None:
    data = {
        "age": [None, float("nan"), float("inf"), -1e308, 10**400, "x", b"\0", [1], {}, object(), True, 5],
        "ward": ["A", None, "A\0", "never", "<b>", "'; DROP", 7, [], {}, object(), "B", "A"],
    }
    made = synthesize(data, columns={name: COLUMNS[name] for name in data}, epsilon=3)
    assert {row[1] for row in made.rows} <= {"A", "B", "C", "never"}


def test_forty_mixed_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "ROUNDS", 0.1)
    dice = np.random.default_rng(4)
    columns: dict[str, Any] = {}
    for place in range(40):
        columns[f"c{place}"] = [(0, 50), (0.0, 1.0), bool, ["a", "b", "c"]][place % 4]
    kinds = [
        lambda: dice.integers(51, size=300).tolist(),
        lambda: dice.random(300).tolist(),
        lambda: (dice.random(300) < 0.5).tolist(),
        lambda: dice.choice(["a", "b", "c"], 300).tolist(),
    ]
    data = {name: kinds[place % 4]() for place, name in enumerate(columns)}
    synthesizer = MarginalSynthesizer(domain=Domain.of(columns), steps=3)
    made = synthesizer.release(data, epsilon=1, delta=1e-6)
    assert len(made.columns) == 40
    assert len({len(column) for column in made.codes}) == 1


def test_models_stay_within_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cost at which every pair is worth measuring."""
    monkeypatch.setattr(rounds, "REFIT", 1)
    dice = np.random.default_rng(0)
    columns = [dice.integers(6, size=500) for _ in range(6)]
    exit_ = Exit(Cost(Concentrated(1000)), SYSTEM)
    found = selected(columns, (6,) * 6, (False,) * 6, 1, exit_, 700, steps=1)
    assert found.fitted.model.tree.cells <= 700
    assert len(found.pairs) >= 6


def test_values_that_are_many_in_two_columns_are_never_multiplied_out() -> None:
    """Pairs that no model could hold are not even counted; at this cost nothing is rare."""
    count = 40_000
    columns = [np.arange(count) % 20_000, np.arange(count) // 2, np.arange(count) % 2]
    exit_ = Exit(Cost(Pure(10**6)), SYSTEM)
    selection = selected(columns, (20_000, 20_000, 2), (False,) * 3, 1, exit_, 50_000, steps=1)
    assert {each.attributes for each in selection.pairs} <= {(0, 2), (1, 2)}
    alone = selected(columns[:2], (20_000, 20_000), (False,) * 2, 1, Exit(Cost(Pure(10**6)), SYSTEM), 50_000, steps=1)
    assert not alone.pairs
    dice = np.random.default_rng(0)
    split = alone.compressions[0].split(np.arange(20_000), lambda many: dice.random(many))
    assert (split == np.arange(20_000)).all()


def test_noise_that_makes_numbers_of_rows_enormous_fills_no_memory() -> None:
    def enormous(mechanism: Any, sensitivity: Sensitivity, exact: Any, bits: Any) -> Any:  # noqa: ARG001
        return np.full(np.shape(exact), 10**15)

    small = MarginalSynthesizer(domain=Domain.of({"a": bool, "b": bool}), steps=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.release.synthetic.marginals.MOST_VALUES", 1000)
        sampler = Sampler(add_noise=enormous, choose=best)
        made = small._released({"a": [], "b": []}, sampler, epsilon=1, delta=None, rho=None, ledger=None, verbose=False)
    assert isinstance(made, SyntheticTable)
    assert len(made) == 500


def test_tables_that_are_too_wide_are_refused() -> None:
    with pytest.raises(Refused, match="columns"):
        synthesize({}, columns={f"c{each}": bool for each in range(201)}, epsilon=1)


# compression


def test_rare_values_are_held_together_and_told_apart_again() -> None:
    noisy = np.array([500.0, 2, 300, -4, 1, 0])
    found = Compression.of(noisy, 10.0, ordered=False)
    assert found.groups.tolist() == [0, 2, 1, 2, 2, 2]
    assert np.bincount(found.groups, weights=found.weights).tolist() == pytest.approx([1, 1, 1])
    dice = np.random.default_rng(0)
    values = found.split(np.array([0] * 10 + [2] * 1000), lambda count: dice.random(count))
    assert set(values[:10].tolist()) == {0}
    assert set(values[10:].tolist()) <= {1, 3, 4, 5}


def test_neighbours_are_held_together_until_they_are_many() -> None:
    counts = np.array([0.0] * 10 + [40] + [1] * 400 + [900])
    found = Compression.of(counts, 1.0, ordered=True)
    assert (np.diff(found.groups) >= 0).all()
    assert found.size <= BINS + 2
    assert (found.groups == found.groups[-1]).sum() == 1  # what is many by itself stays by itself


@pytest.mark.parametrize("noisy", [[-5.0, -3.0], [0.0], [1e9, -1e9, 3.0], [2.0, 2.0, 2.0]])
@pytest.mark.parametrize("ordered", [True, False])
def test_any_noisy_counts_are_compressed(noisy: list[float], ordered: bool) -> None:
    found = Compression.of(np.array(noisy), 3.0, ordered=ordered)
    assert sorted(set(found.groups.tolist())) == list(range(found.size))
    assert (found.weights >= 0).all()
    assert np.bincount(found.groups, weights=found.weights) == pytest.approx(np.ones(found.size))


def test_projections_are_nearest() -> None:
    assert nonnegative(np.array([5.0, -1.0, 1.0]), 6.0).tolist() == pytest.approx([5.0, 0.0, 1.0])
    assert nonnegative(np.array([3.0, 3.0]), 2.0).tolist() == pytest.approx([1.0, 1.0])
    assert nonnegative(np.array([3.0]), -2.0).tolist() == [0.0]


# how it is said


def test_quality_is_against_noisy_counts_alone(table: SyntheticTable, tmp_path: Path) -> None:
    quality = table.quality()
    assert [each.names for each in quality.columns] == [(name,) for name in COLUMNS]
    assert quality.pairs
    assert 0 < quality.error < 0.2
    assert "as noise makes it" in str(quality)
    assert quality.to_dict()["rows"] == len(table)
    assert "<table" in quality._repr_html_()
    quality.save(tmp_path / "report.html", title="<script>")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<svg" in page


def test_what_was_measured_twice_is_compared_once_by_both(table: SyntheticTable) -> None:
    one = table.measured[0]
    again = NoisyMarginal(names=one.names, groups=one.groups, values=one.values + 30, deviation=one.deviation)
    (compared,) = replace(table, measured=(one, again)).quality().compared
    assert compared.noise == pytest.approx(replace(table, measured=(one,)).quality().compared[0].noise / 2**0.5)
    mean = one.values + 15
    assert compared.difference == pytest.approx(
        float(np.abs(one.counts([table.codes[0]]) - mean).sum()) / 2 / len(table)
    )


def test_of_a_curator_it_is_charged_once_cached_and_recalled(hospital: Any) -> None:
    made = synthesize(hospital, "patients", epsilon=1, columns=["age", "sex", "smoker"])
    (entry,) = hospital.entries()
    assert made.cost == entry.loss
    assert synthesize(hospital, "patients", epsilon=1, columns=["age", "sex", "smoker"]).cached
    assert hospital.recall(entry.number).rows == made.rows
    assert abs(len(made) - 5000) < 1000
    assert {type(value) for value in made.rows[0]} == {int, str, bool}


def test_refusals_say_what_to_do(hospital: Any) -> None:
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((hospital, ["patients", "visits"]), {"epsilon": 1}),
        ((hospital, "patients"), {"epsilon": 1, "columns": {"age": (0, 1)}}),
        ((hospital, "patients"), {"epsilon": 1, "columns": "age"}),
        (({"a": [1]},), {"epsilon": 1}),
        (({"a": [1]}, "SELECT a"), {"epsilon": 1, "columns": {"a": [1]}}),
    ]
    for arguments, options in wrong:
        with pytest.raises(Refused) as refused:
            synthesize(*arguments, **options)
        assert refused.value.code == "release-invalid"
        assert refused.value.fix
    for synthesizer in (
        MarginalSynthesizer(max_cells=10**9),
        MarginalSynthesizer(max_cells=0),
        MarginalSynthesizer(steps=-1),
    ):
        with pytest.raises(Refused):
            hospital.release(synthesizer, "patients", epsilon=1)
    assert not hospital.entries()


def test_previews_say_how_the_cost_is_shared(hospital: Any) -> None:
    preview = hospital.preview_release(MarginalSynthesizer(), "patients", epsilon=1)
    assert sum(preview.shares.values()) == pytest.approx(1)
    assert "values of private texts" in preview.shares


def test_values_within_bins_are_on_the_grid_of_the_column() -> None:
    cents = Cut("cost", Kind.NUMBER, (Fraction(0), Fraction(1), Fraction(5)), step=Fraction(1, 100))
    dice = np.random.default_rng(0)
    values = cents.drawn(np.array([0] * 500 + [1] * 500), dice.integers(2**32, size=1000))
    assert all(value == round(value, 2) for value in values)
    assert all(0 <= value < 1 for value in values[:500])
    assert all(1 <= value <= 5 for value in values[500:])
