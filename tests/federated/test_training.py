"""Trainings: noise as drawn is noise as counted, neighbours move sums by what is said, killed ones go on or end."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.accounting import Batch, GaussianNoise, Sampled
from discreet.errors import Refused
from discreet.federated import Linear, Logistic, Plan, Training, TwoLayer, dirichlet_split, plot, simulate
from discreet.federated.encoding import from_words
from discreet.federated.journal import Journal
from discreet.federated.models import Model, local_update, score
from discreet.federated.places import contribution, filled
from discreet.federated.smoothing import BLUR
from tests.statistics import ALARM, gaussian_law, law, misfit

FACTS: dict[str, Any] = {"clients": 12, "parameters": 3, "rounds": 4, "sigma": 1.0, "delta": 1e-5}


def invented(rows: int, features: int = 2) -> tuple[Any, Any]:
    drawn = np.random.default_rng().normal(size=(rows, features))
    return drawn, (drawn[:, 0] > drawn[:, 1]).astype(np.float64)


def clients(count: int = 12, rows: int = 4) -> list[tuple[Any, Any]]:
    return [invented(rows) for _ in range(count)]


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Noise off, and what would have been drawn: the variance of each draw of a vector."""
    variances: list[int] = []

    def nothing(variance: int, size: int, **_: object) -> Any:
        variances.append(variance)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr("discreet.federated.places.noise.gaussian", nothing)
    return variances


# noise


@pytest.mark.parametrize("place", ["central", "distributed", "local"])
def test_what_is_added_has_the_law_that_is_counted(place: str) -> None:
    """Black box: zero updates of three clients, 40,000 coordinates, the noise of their sum after it was filled up."""
    plan = Plan(clients=3, parameters=40_000, rounds=1, sigma=0.0005, delta=1e-5, noise=place, dropout=0.0)
    total = sum(contribution(plan, None, clip=1.0, members=3) for _ in range(3))
    noisy = filled(plan, np.asarray(total, dtype=np.int64), members=3, survivors=3)
    variance = {
        "central": plan.variance,
        "distributed": 3 * plan.share(3) + plan.missing(3, 3),
        "local": 3 * plan.variance,
    }[place]
    assert misfit(noisy, gaussian_law(variance)) > ALARM


def test_the_audit_of_noise_can_fail() -> None:
    plan = Plan(clients=3, parameters=40_000, rounds=1, sigma=0.0005, delta=1e-5)
    assert misfit(noise.gaussian(plan.variance * 4 // 5, 40_000), gaussian_law(plan.variance)) < ALARM


@pytest.mark.parametrize("place", ["central", "distributed", "local"])
def test_what_ran_costs_what_was_said(place: str, silent: list[int]) -> None:
    """The accountant once more, from the variances that were drawn: no round cost more than the plan counted."""
    plan = Plan(**FACTS, noise=place, rate=0.75, quantile=0.5)
    simulate(plan, Logistic(2), clients())
    moved = plan.grid.sensitivity_squared
    if place == "central":
        assert len(silent) == plan.rounds
        sigmas = [math.sqrt((variance - BLUR) / moved) for variance in silent]
        batch = Batch([(Sampled(GaussianNoise(sigma), 0.75), 1) for sigma in sigmas])
        assert batch.epsilon(1e-5) == pytest.approx(plan.guarantees()[0].epsilon, rel=1e-6)
    elif place == "local":
        assert math.sqrt((min(silent) - BLUR) / moved) == pytest.approx(plan.sigma, rel=1e-6)
        assert len(set(silent)) == 1
    else:
        assert _totals(plan, silent) == {plan.shared_variance + plan.clients + 8}


def _totals(plan: Plan, variances: list[int]) -> set[int]:
    """The noise of each round: so many equal shares, and what fills them up."""
    totals, index = set(), 0
    while index < len(variances):
        share = variances[index]
        members = next(m for m in range(1, plan.clients + 1) if plan.share(m) == share)
        totals.add(sum(variances[index : index + members + 1]))
        index += members + 1
    return totals


@pytest.mark.parametrize("place", ["central", "distributed", "local"])
@pytest.mark.parametrize("quantile", [None, 0.5])
def test_the_rows_of_one_client_move_a_sum_by_no_more_than_is_said(
    place: str, quantile: float | None, silent: list[int]
) -> None:
    """Grey box: the same round with and without each client's rows, rows that are far out among them."""
    plan = Plan(**FACTS, noise=place, quantile=quantile)
    model, rows = Logistic(2), clients()
    rows[3] = (np.full((1, 2), 1e200), np.ones(1))
    rows[4] = (np.full((1, 2), 1e-300), np.ones(1))
    for weights in (np.zeros(3), np.array([5.0, -3.0, 1e6])):
        for features, targets in rows:
            update = local_update(model, weights, features, targets, steps=2, rate=10.0)
            moved = contribution(plan, update, clip=0.01, members=12) - contribution(plan, None, clip=0.01, members=12)
            assert sum(int(each) ** 2 for each in moved) <= plan.grid.sensitivity_squared
    assert place == "central" or silent


# rounds


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("place", ["central", "distributed", "local"])
def test_without_noise_it_is_federated_averaging(place: str, masked: bool, silent: list[int]) -> None:
    """Masked or not, wherever noise is: the mean of clipped updates, divided by the expected number of clients."""
    plan = Plan(**{**FACTS, "rounds": 1}, noise=place, clip=0.1)
    model, rows = Logistic(2), clients()
    history = simulate(plan, model, rows, masked=masked, rate=2.0)
    updates = [local_update(model, np.zeros(3), *each) for each in rows]
    clipped = [update * min(1.0, 0.1 / float(np.linalg.norm(update))) for update in updates if update is not None]
    assert np.allclose(history.weights, 2.0 * np.sum(clipped, axis=0) / 12, atol=1e-6)
    assert silent


def test_correlated_rounds_without_noise_are_plain_ones(silent: list[int]) -> None:
    plan = Plan(**{**FACTS, "rate": 0.5}, correlated=True)
    rows = clients()
    history = simulate(plan, Logistic(2), rows)
    model, weights = Logistic(2), np.zeros(3)
    for number in range(4):
        updates = [local_update(model, weights, *rows[u]) for u in range(number % 2, 12, 2)]
        clipped = [update * min(1.0, 1 / float(np.linalg.norm(update))) for update in updates if update is not None]
        weights = weights + np.sum(clipped, axis=0) / 6
    assert np.allclose(history.weights, weights, atol=1e-3)
    assert set(silent) == {plan.variance}


def test_correlated_noise_on_the_model_grows_slowly() -> None:
    """After 64 rounds without updates: independent noise of the same cost would spread more than twice as far."""
    facts: dict[str, Any] = {"clients": 8, "parameters": 400, "rounds": 64, "sigma": 1.0, "delta": 1e-5}
    plan = Plan(**facts, correlated=True, rate=1 / 64)
    training = Training(plan, np.zeros(400))
    while not training.over:
        training.begin()
        training.finish(np.zeros(400, dtype=np.int64), 1)
    scale = plan.expected
    root = plan.root.variances()[-1] * plan.variance / plan.grid.steps**2
    assert (training.weights * scale).var() == pytest.approx(root, rel=0.5)
    assert math.sqrt(root) < 64**0.5 / 2


def test_the_clipping_norm_finds_its_quantile(silent: list[int]) -> None:
    plan = Plan(clients=40, parameters=1, rounds=60, sigma=1.0, delta=1e-5, quantile=0.5, clip=100.0)
    training = Training(plan, np.zeros(1))
    lengths = np.linspace(0.5, 2.0, 40)
    while not training.over:
        now = training.begin()
        sums = [contribution(plan, np.array([lengths[u]]), clip=now.clip, members=40) for u in now.members]
        training.finish(np.sum(sums, axis=0), len(sums))
    assert 1.0 < training.clip < 1.6
    assert silent


def test_poisson_samples_have_their_rate_and_turns_their_order() -> None:
    plan = Plan(clients=1000, parameters=1, rounds=30, sigma=1.0, delta=1e-5, rate=0.3)
    training = Training(plan, np.zeros(1))
    counts = np.array([len(training.begin().members) for _ in range(30)])
    assert abs(counts.sum() - 9000) < 8 * math.sqrt(30_000 * 0.21)
    assert len(set(counts.tolist())) > 5
    turns = Training(Plan(**{**FACTS, "rate": 0.3}, correlated=True), np.zeros(3))
    assert [turns.begin().members[:2] for _ in range(4)] == [(0, 3), (1, 4), (2, 5), (0, 3)]
    capped = Training(Plan(**FACTS, participations=2), np.zeros(3))
    assert [len(capped.begin().members) for _ in range(4)] == [12, 12, 0, 0]


def test_rounds_with_too_few_survivors_are_given_up_and_stay_spent() -> None:
    plan = Plan(**FACTS, noise="distributed", dropout=0.25)
    history = simulate(plan, Logistic(2), clients(), masked=True, failing=lambda now: range(now.number))
    assert history.given_up == 1  # in the fourth round four of twelve fail, and three may
    training = Training(plan, np.zeros(3))
    with pytest.raises(Refused, match="no round is under way"):
        training.finish(np.zeros(3, dtype=np.int64), 12)
    for _ in range(4):
        training.begin()
    with pytest.raises(Refused, match="all 4 rounds were begun"):
        training.begin()


@pytest.mark.parametrize("place", ["central", "distributed", "local"])
def test_it_learns(place: str) -> None:
    """Far less noise than privacy wants: 100 clients, and a line that tells two classes apart."""
    rows = clients(100, 10)
    test = invented(400)
    plan = Plan(clients=100, parameters=3, rounds=15, sigma=0.05, delta=1e-5, noise=place, rate=0.5)
    history = simulate(plan, Logistic(2), rows, test=test, rate=3.0, local_rate=3.0)
    assert history.scores[-1] > 0.9
    assert len(history.records()) == 15


def test_a_curve_shows_every_place_of_noise() -> None:
    pytest.importorskip("altair")
    rows = clients()
    test = invented(20)
    histories = [simulate(Plan(**FACTS, noise=place), Logistic(2), rows, test=test) for place in ("central", "local")]
    drawn = plot(histories).to_dict()
    assert {record["noise"] for record in drawn["data"]["values"]} == {"central", "local"}
    with pytest.raises(Refused, match="nothing to draw"):
        plot([])


def test_simulations_that_do_not_fit_their_plan_are_refused() -> None:
    with pytest.raises(Refused, match="12 clients, not 3"):
        simulate(Plan(**FACTS), Logistic(2), clients(3))
    with pytest.raises(Refused, match="4 parameters"):
        simulate(Plan(**FACTS), Logistic(3), clients())
    with pytest.raises(Refused, match="not those of the plan"):
        Training(Plan(**FACTS), np.zeros(9))


# killed and started again


def journal(path: Path, **changes: Any) -> Journal:
    return Journal(path, Plan(**{**FACTS, **changes}), {"model": "logistic"})


def run(path: Path, rounds: int, **changes: Any) -> Training:
    """So many rounds, then the process ends: the last one was begun and is cut off."""
    with journal(path, **changes) as record:
        training = Training(Plan(**{**FACTS, **changes}), np.zeros(3), journal=record)
        for _ in range(rounds):
            training.begin()
            training.finish(np.full(3, 1000, dtype=np.int64), 12)
        if not training.over:
            training.begin()
    return training


def test_a_training_that_was_cut_off_goes_on_and_begins_no_more_rounds_than_agreed(tmp_path: Path) -> None:
    path = tmp_path / "training.journal"
    first = run(path, 1)
    assert first.begun == 2
    with journal(path) as record:
        second = Training(Plan(**FACTS), np.zeros(3), journal=record)
        assert second.begun == 2
        assert (second.weights == first.weights).all()
        assert second.begin().number == 3
        second.finish(np.zeros(3, dtype=np.int64), 12)
        assert second.begin().number == 4
        with pytest.raises(Refused, match="all 4 rounds"):
            second.begin()
    begun = [json.loads(line).get("begun") for line in path.read_text("utf-8").splitlines()]
    assert [number for number in begun if number] == [1, 2, 3, 4]


@pytest.mark.parametrize("cut", [1, 5, 17])
def test_a_line_that_a_crash_cut_off_is_forgotten_and_what_it_was_to_allow_did_not_happen(
    cut: int, tmp_path: Path
) -> None:
    path = tmp_path / "training.journal"
    run(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"begun":3}'[:cut])
    with journal(path) as record:
        assert record.begun == 2
    assert path.read_bytes() == whole


def test_a_round_is_on_disk_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "training.journal"
    with journal(path) as record:
        training = Training(Plan(**FACTS), np.zeros(3), journal=record)
        monkeypatch.setattr("os.fsync", _failing)
        with pytest.raises(OSError, match="disk"):
            training.begin()
        assert training.begun == 0


def _failing(_: int) -> None:
    raise OSError("the disk is full")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"not a journal\n", "no journal"), (b"[]\n", "no journal"), (b'{"plan":1}\n', "another plan")],
)
def test_files_that_are_no_journal_of_this_plan_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "training.journal"
    path.write_bytes(content)
    with pytest.raises(Refused, match=said):
        journal(path)
    assert path.read_bytes() == content


def test_a_journal_belongs_to_one_plan_and_one_process(tmp_path: Path) -> None:
    path = tmp_path / "training.journal"
    with journal(path), pytest.raises(Refused, match="another process"):
        journal(path)
    with pytest.raises(Refused, match="another plan"):
        journal(path, sigma=0.5)
    with journal(path) as record, pytest.raises(ValueError, match="one after the other"):
        record.begin(7)


@pytest.mark.parametrize("changes", [{"correlated": True}, {"participations": 2}])
def test_what_only_memory_knew_ends_with_the_process(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "training.journal"
    run(path, 1, **changes)
    with journal(path, **changes) as record, pytest.raises(Refused, match="in the memory of the process"):
        Training(Plan(**FACTS, **changes), np.zeros(3), journal=record)


# models and splits


@pytest.mark.parametrize("model", [Linear(3), Logistic(3), TwoLayer(3, 4)], ids=lambda model: type(model).__name__)
def test_gradients_are_those_of_the_loss(model: Model) -> None:
    rows, targets = invented(7, 3)
    weights = np.random.default_rng().normal(size=model.size) / 2
    gradient = model.gradient(weights, rows, targets)
    for index in range(model.size):
        step = np.zeros(model.size)
        step[index] = 1e-5
        slope = (loss(model, weights + step, rows, targets) - loss(model, weights - step, rows, targets)) / 2e-5
        assert gradient[index] == pytest.approx(slope, abs=1e-6, rel=1e-4)


def loss(model: Model, weights: Any, rows: Any, targets: Any) -> float:
    wide = np.hstack([rows, np.ones((len(rows), 1))])
    if isinstance(model, Linear):
        return float(((wide @ weights - targets) ** 2).mean() / 2)
    if isinstance(model, TwoLayer):
        inner, outer = model._layers(weights)
        scores = np.tanh(wide @ inner) @ outer[:-1] + outer[-1]
    else:
        scores = wide @ weights
    return float((np.logaddexp(0, scores) - targets * scores).mean())


def test_all_models_learn_alone() -> None:
    rows, targets = invented(500)
    for model in (Linear(2), Logistic(2), TwoLayer(2, 4)):
        weights = model.initial()
        for _ in range(40):
            update = local_update(model, weights, rows, targets, steps=5, rate=0.3)
            assert update is not None
            weights = weights + update
        assert score(model, weights, rows, targets) > (0.4 if isinstance(model, Linear) else 0.9)
    assert score(Linear(1), np.zeros(2), np.zeros((2, 1)), np.zeros(2)) == 0.0
    assert local_update(Logistic(2), np.zeros(3), np.empty((0, 2)), np.empty(0)) is None


def test_splits_give_each_row_to_one_client() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 1])
    parts = dirichlet_split(labels, 7, alpha=0.3)
    assert len(parts) == 7
    assert sorted(np.concatenate(parts).tolist()) == list(range(81))


def test_small_alpha_makes_clients_differ() -> None:
    """10,000 rows, 10 clients: at α = 10⁻⁶ one or two have all of them; at α = 10⁶ all have about the same."""
    labels = np.zeros(10_000)
    sizes = {alpha: [len(part) for part in dirichlet_split(labels, 10, alpha=alpha)] for alpha in (1e-6, 10**6)}
    assert np.std(sizes[1e-6]) > 1000
    assert np.std(sizes[10**6]) < 300


def test_shares_are_dirichlet() -> None:
    """Two clients, α = 1, n rows: the first one's number of rows is uniform on 0 … n."""
    counts = [len(dirichlet_split(np.zeros(3), 2)[0]) for _ in range(1000)]
    assert misfit(counts, law([0.25] * 4)) > ALARM


def test_words_of_contributions_add_up_modulo_two_to_the_32(silent: list[int]) -> None:
    plan = Plan(**FACTS)
    sent = [contribution(plan, np.array([-0.5, 0.1, 0.2]), clip=1.0, members=12) for _ in range(12)]
    words: Any = np.sum([np.asarray(each % 2**32, dtype=np.uint32) for each in sent], axis=0, dtype=np.uint32)
    assert (from_words(words) == np.sum(sent, axis=0)).all()
    assert not silent
