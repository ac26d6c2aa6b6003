"""Clients and a coordinator over HTTP: failures, hostile messages on both sides, and processes that are killed."""

from __future__ import annotations

import http.client
import json
import math
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest

from discreet.errors import Problem, Refused
from discreet.federated.coordinator import Coordinator
from discreet.federated.keys import Identity
from discreet.federated.messages import (
    Dealt,
    End,
    Join,
    Mask,
    Prepare,
    Reveal,
    Shares,
    Train,
    Vector,
    Wait,
    Welcome,
    decoded,
    encoded,
    raw_weights,
    raw_words,
)
from discreet.federated.models import local_update
from discreet.federated.participant import Connection, Participant, Unreachable
from discreet.federated.plan import Plan
from discreet.federated.task import Feature, Task, parsed, read, rows_of
from discreet.federated.training import Done, Training
from discreet.federated.web import listening

TASK = Task(features=(Feature("age", 0, 100), Feature("bmi", 10, 60)), target="ill", local_rate=2.0)
FACTS: dict[str, Any] = {"clients": 5, "parameters": 3, "rounds": 3, "sigma": 0.5, "delta": 1e-5, "dropout": 0.25}
ENDLESS = 1e9


def rows(_: Task) -> tuple[Any, Any]:
    drawn = np.random.default_rng().normal(size=(6, 2))
    return drawn, (drawn[:, 0] > 0).astype(np.float64)


class Run:
    """A coordinator and clients, each in a thread, over real sockets."""

    def __init__(self, plan: Plan, *, patience: float = 30.0) -> None:
        self.training = Training(plan, np.zeros(3))
        self.coordinator = Coordinator(self.training, TASK, patience=patience)
        self.rounds: list[Done] = []
        self.ends: list[object] = []

    def __call__(self, clients: list[Callable[[str], object]]) -> None:
        with listening(self.coordinator) as url:
            threads = [threading.Thread(target=self._end, args=(act, url)) for act in clients]
            for thread in threads:
                thread.start()
            self.coordinator.run(wait=30.0, tell=self.rounds.append)
            for thread in threads:
                thread.join()

    def _end(self, act: Callable[[str], object], url: str) -> None:
        try:
            self.ends.append(act(url))
        except Problem as problem:
            self.ends.append(problem.code)


def honest(url: str) -> int:
    return Participant(url, rows, max_epsilon=ENDLESS, patience=2.0).run()


class Leaves(Participant):
    """A client whose process ends when it is asked for something."""

    kind: type[Any] = Mask
    left = False

    def _answer(self, message: Any) -> None:
        if isinstance(message, self.kind):
            self._connection.close()
            raise Unreachable("it left")
        super()._answer(message)


def leaving(kind: type[Any]) -> Callable[[str], int]:
    def act(url: str) -> int:
        participant = Leaves(url, rows, max_epsilon=ENDLESS, patience=0.0)
        participant.kind = kind
        return participant.run()

    return act


@pytest.mark.parametrize("place", ["central", "distributed", "local"])
def test_all_rounds_run_and_all_clients_hear_of_the_end(place: str) -> None:
    run = Run(Plan(**FACTS, noise=place))
    run([honest] * 5)
    assert [(done.members, done.survivors, done.used) for done in run.rounds] == [(5, 5, True)] * 3
    assert run.ends == [3] * 5
    assert np.isfinite(run.training.weights).all()
    assert run.training.weights.any()


@pytest.mark.parametrize("kind", [Prepare, Mask, Reveal])
def test_whoever_leaves_in_whichever_step_the_others_go_on(kind: type[Any]) -> None:
    run = Run(Plan(**FACTS, noise="distributed"))
    run([honest] * 4 + [leaving(kind)])
    assert [done.used for done in run.rounds] == [True] * 3
    assert [done.survivors for done in run.rounds][1:] == [4, 4]
    assert run.rounds[0].survivors == (5 if kind is Reveal else 4)
    assert sorted(map(str, run.ends)) == ["3"] * 4 + ["unreachable"]


def test_too_many_who_leave_end_the_round_and_not_the_training() -> None:
    run = Run(Plan(**FACTS, noise="distributed"))
    run([honest] * 3 + [leaving(Mask)] * 2)
    assert [done.used for done in run.rounds] == [False, True, True]
    assert run.training.begun == 3


@pytest.mark.parametrize("noise", ["central", "distributed"])
def test_where_nobody_is_no_round_is_spent(noise: str) -> None:
    run = Run(Plan(**FACTS, noise=noise))
    with pytest.raises(Refused, match="clients are here, after 0 rounds"):
        run.coordinator.run(wait=0.0)
    assert run.training.begun == 0


def test_sums_over_the_web_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise off: masked sums are those of the updates."""
    monkeypatch.setattr(
        "discreet.federated.places.noise.gaussian", lambda _, size, **__: np.zeros(size, dtype=np.int64)
    )
    shared = rows(TASK)
    run = Run(Plan(**{**FACTS, "rounds": 1}, noise="distributed"))
    run([lambda url: Participant(url, lambda _: shared, max_epsilon=ENDLESS).run()] * 5)
    update = local_update(TASK.made(), np.zeros(3), *shared, rate=2.0)
    assert update is not None
    assert np.allclose(run.training.weights, update * min(1.0, 1 / float(np.linalg.norm(update))), atol=1e-5)


# hostile clients


@contextmanager
def asked(plan: Plan) -> Iterator[tuple[Callable[..., tuple[int, Any]], Coordinator]]:
    """A coordinator, and a way to send it anything."""
    coordinator = Coordinator(Training(plan, np.zeros(3)), TASK, patience=30.0)
    with listening(coordinator) as url:
        host = urlsplit(url).netloc

        def send(path: str, body: bytes, method: str = "POST", **headers: str) -> tuple[int, Any]:
            connection = http.client.HTTPConnection(host, timeout=30)
            told = {
                "Content-Type": "application/json",
                **{name.replace("_", "-"): text for name, text in headers.items()},
            }
            connection.request(method, path, body, told)
            reply = connection.getresponse()
            content = reply.read()
            connection.close()
            return reply.status, json.loads(content) if reply.getheader(
                "Content-Type"
            ) == "application/json" else content

        yield send, coordinator


JOIN = b'{"kind":"join","key":"CQ' + b"A" * 41 + b'="}'


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "code"),
    [
        ("/join", b"not json", {}, 415, "not-json"),
        ("/join", b"\xff\xfe", {}, 415, "not-json"),
        ("/join", b"[" * 100_000, {}, 422, "body-invalid"),
        ("/join", b"", {}, 415, "not-json"),
        ("/join", b"[]", {}, 422, "body-invalid"),
        ("/join", b'{"kind":"join"}', {}, 422, "body-invalid"),
        ("/join", b'{"kind":"join","key":"AAAA"}', {}, 422, "body-invalid"),
        ("/join", b'{"kind":"join","key":7}', {}, 422, "body-invalid"),
        ("/join", JOIN[:-1] + b',"more":1}', {}, 422, "body-invalid"),
        ("/join", JOIN, {"Content_Type": "text/plain"}, 415, "not-json"),
        ("/join", JOIN, {"Host": "evil.example:80"}, 400, "unknown-host"),
        ("/join", JOIN, {"Content_Length": "99999999"}, 413, "too-large"),
        ("/join", JOIN, {"Content_Length": "9" * 5000}, 413, "too-large"),
        ("/join", JOIN, {"Content_Length": "-1"}, 400, "http"),
        ("/join", JOIN, {"Content_Length": "x"}, 400, "http"),
        ("/nowhere", JOIN, {}, 404, "unknown-route"),
        ("/work", b'{"kind":"work"}', {}, 401, "unauthorized"),
        ("/work", b'{"kind":"work"}', {"Authorization": "Bearer guess"}, 401, "unauthorized"),
        ("/work", JOIN, {}, 422, "body-invalid"),
        ("/send", b'{"kind":"vector","round":1,"words":""}', {}, 401, "unauthorized"),
        ("/send", b'{"kind":"vector","round":"1","words":""}', {}, 422, "body-invalid"),
        ("/send", b'{"kind":"vector","round":1,"words":"?"}', {}, 422, "body-invalid"),
        # numbers that 2^61 - 1 divides have one hash, and a table of many of them takes time with their square
        (
            "/send",
            b'{"kind":"shares","round":1,"stayed":{"2305843009213693951":""},"failed":{}}',
            {},
            422,
            "body-invalid",
        ),
        ("/send", b'{"kind":"dealt","round":1,"envelope":"","shares":{"-1":""}}', {}, 422, "body-invalid"),
    ],
)
def test_messages_that_are_none_are_refused(
    path: str, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    with asked(Plan(**FACTS)) as (send, _):
        assert send(path, body, **headers)[0] == status
        told = send(path, body, **headers)[1]
        assert told["code"] == code
        assert told["fix"]


def test_other_methods_find_nothing() -> None:
    with asked(Plan(**FACTS)) as (send, _):
        assert send("/join", b"", method="GET")[0] == 501


def test_nobody_joins_a_full_training_and_nobody_has_anothers_token() -> None:
    with asked(Plan(**FACTS)) as (_, coordinator):
        taken = [coordinator.join(decoded(JOIN, Join), object()) for _ in range(5)]
        assert [seat.number for seat in taken] == [0, 1, 2, 3, 4]
        assert len({seat.token for seat in taken}) == 5
        with pytest.raises(Refused, match="all clients"):
            coordinator.join(decoded(JOIN, Join), object())


def test_the_seat_of_a_client_that_left_is_given_to_the_next() -> None:
    with asked(Plan(**FACTS)) as (_, coordinator):
        lines = [object() for _ in range(5)]
        taken = [coordinator.join(decoded(JOIN, Join), line) for line in lines]
        coordinator.gone(lines[3])
        again = coordinator.join(decoded(JOIN, Join), object())
        assert again.number == 3
        with pytest.raises(Refused, match="nobody has this token"):
            coordinator.send(taken[3].token, Vector(1, b""))


class Hostile(Participant):
    """A client that sends wrong messages before each right one; what it was told is kept."""

    def _answer(self, message: Any) -> None:
        reply = self.worker.reply(message)
        for wrong in self._wrong(reply):
            try:
                self._connection.say("/send", wrong)
                refusals.append("accepted")
            except Refused as refusal:
                refusals.append(refusal.code)
        self._connection.say("/send", reply)
        try:
            self._connection.say("/send", reply)
            refusals.append("replayed")
        except Refused as refusal:
            refusals.append(refusal.code)

    def _wrong(self, reply: Any) -> Iterator[Any]:
        yield msgspec.structs.replace(reply, round=reply.round + 1)
        yield msgspec.structs.replace(reply, round=0)
        if isinstance(reply, Vector):
            yield Vector(reply.round, reply.words[:-1])
            yield Vector(reply.round, reply.words + b"\0\0\0\0")
            yield Shares(reply.round, {}, {})
        if isinstance(reply, Dealt):
            yield Dealt(reply.round, b"", reply.shares)
            yield Dealt(reply.round, reply.envelope, {**reply.shares, 99: bytes(50)})
            yield Vector(reply.round, bytes(12))
        if isinstance(reply, Shares):
            yield Shares(reply.round, reply.stayed, reply.stayed)
            yield Shares(reply.round, {}, {})


refusals: list[str] = []


def test_wrong_sizes_wrong_rounds_and_replays_are_refused_and_harm_nobody() -> None:
    refusals.clear()
    run = Run(Plan(**FACTS, noise="distributed"))
    run([honest] * 4 + [lambda url: Hostile(url, rows, max_epsilon=ENDLESS).run()])
    assert [done.survivors for done in run.rounds] == [5, 5, 5]
    assert run.ends == [3] * 5
    assert set(refusals) == {"wrong-round", "body-invalid"}
    assert len(refusals) == 3 * (6 + 6 + 5)


def loud(url: str) -> int:
    """A client whose update is as long as words allow: as long as those of all clients together, with their noise."""
    participant = Participant(url, rows, max_epsilon=ENDLESS, patience=0.0)
    participant.worker.reply = lambda message: Vector(  # type: ignore[method-assign]
        message.round,  # type: ignore[attr-defined]
        raw_words(np.full(3, 2**31 - 1, dtype=np.uint32)),
    )
    return participant.run()


@pytest.mark.parametrize("place", ["central", "local"])
def test_what_no_noise_explains_is_no_update(place: str) -> None:
    run = Run(Plan(**FACTS, noise=place))
    clients: list[Callable[[str], object]] = [honest] * 4
    run([*clients, loud])
    assert [done.survivors for done in run.rounds] == [4] * 3
    assert sorted(map(str, run.ends)) == ["3"] * 4 + ["body-invalid"]


def test_noise_of_honest_clients_is_never_taken_for_a_lie() -> None:
    """The farthest update, and noise of which one in 10¹² is as large."""
    plan = Plan(**FACTS, noise="local", quantile=0.5)
    far = math.isqrt(plan.grid.sensitivity_squared) + 7 * math.sqrt(plan.variance)
    assert far < plan.farthest < 2**31 / 2


class Liar(Leaves):
    """A client that deals what nobody can open, in the first round; it leaves when it is asked for `kind`."""

    part = ""

    def _answer(self, message: Any) -> None:
        honest = self.worker.reply

        def reply(message: Any) -> Any:
            dealt = honest(message)
            if not isinstance(dealt, Dealt) or dealt.round > 1:
                return dealt
            spoilt = {
                "envelope": bytes(len(dealt.envelope)),
                "shares": {u: bytes(len(s)) for u, s in dealt.shares.items()},
            }
            return msgspec.structs.replace(dealt, **{self.part: spoilt[self.part]})

        self.worker.reply = reply  # type: ignore[method-assign]
        try:
            super()._answer(message)
        finally:
            self.worker.reply = honest  # type: ignore[method-assign]


def lying(part: str, kind: type[Any]) -> Callable[[str], int]:
    def act(url: str) -> int:
        participant = Liar(url, rows, max_epsilon=ENDLESS, patience=2.0 if kind is Wait else 0.0)
        participant.part, participant.kind = part, kind
        return participant.run()

    return act


def test_shares_that_nobody_can_open_cost_a_round_and_drive_nobody_away() -> None:
    run = Run(Plan(**FACTS, noise="distributed"))
    run([honest] * 4 + [lying("shares", Wait)])
    assert [done.used for done in run.rounds] == [False, True, True]
    assert run.ends == [3] * 5


def test_an_envelope_that_nobody_can_open_costs_a_round_and_not_the_training() -> None:
    run = Run(Plan(**FACTS, noise="distributed"))
    run([honest] * 4 + [lying("envelope", Mask)])
    assert [done.used for done in run.rounds] == [False, True, True]
    assert sorted(map(str, run.ends)) == ["3"] * 4 + ["unreachable"]


LOW: Final = (
    bytes(32),
    bytes([1, *bytes(31)]),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
)
"""Points of which every multiple is known, so that no secret can be agreed with them: neighbours would refuse them."""


@pytest.mark.parametrize("key", LOW, ids=bytes.hex)
def test_keys_that_nobody_can_agree_with_get_no_seat(key: bytes) -> None:
    with asked(Plan(**FACTS, noise="distributed")) as (_, coordinator):
        with pytest.raises(Refused, match="no public key"):
            coordinator.join(Join(key), object())
        assert coordinator.join(Join(Identity().public), object()).number == 0


def test_a_client_whose_neighbours_did_not_deal_goes_on_with_the_next_round() -> None:
    keys = {number: Identity().public for number in (1, 2)}
    prepare = Prepare(1, (0, 1, 2), keys, raw_weights(np.zeros(3)), 1.0)
    participant, fake = faced(Plan(**FACTS, noise="distributed"), prepare, Mask(1, {}), End(1))
    assert participant.run() == 1
    assert not any(isinstance(heard, Vector) for heard in fake.heard)


class Silent(Participant):
    """A client that answers nothing and asks what is next."""

    def _answer(self, message: Any) -> None:
        """Nothing is sent."""


def test_who_asks_again_without_an_answer_is_not_waited_for() -> None:
    """Nobody but the coordinator's patience, which is endless here, would end the round."""
    run = Run(Plan(**{**FACTS, "rounds": 1}), patience=1e6)
    clients: list[Callable[[str], object]] = [honest] * 4
    run([*clients, lambda url: Silent(url, rows, max_epsilon=ENDLESS, patience=2.0).run()])
    assert [done.survivors for done in run.rounds] == [4]


# hostile coordinators


class Fake:
    """A coordinator that says what a test tells it to."""

    def __init__(self, *messages: Any) -> None:
        self.messages, self.heard = list(messages), []  # type: ignore[var-annotated]

    def say(self, path: str, message: Any) -> Any:
        self.heard.append(message)
        return Wait() if path == "/send" else self.messages.pop(0)

    token = ""

    def close(self) -> None:
        """Nothing is open."""


def faced(plan: Plan, *messages: Any, most: float = ENDLESS, told: dict[str, Any] | None = None) -> tuple[Any, Fake]:
    participant = Participant("http://127.0.0.1:1", rows, max_epsilon=most)
    fake = Fake(Welcome(0, "t", bytes(16), told or asdict(plan), TASK), *messages)
    participant._connection = fake  # type: ignore[assignment]
    return participant, fake


def question(number: int, weights: bytes = raw_weights(np.zeros(3)), clip: float = 1.0) -> Train:
    return Train(number, weights, clip)


def test_a_client_computes_what_it_costs_and_takes_no_part_in_what_costs_more() -> None:
    participant, fake = faced(Plan(**FACTS), most=1.0)
    with pytest.raises(Refused, match="at most 1 is allowed"):
        participant.run()
    assert len(fake.heard) == 1


@pytest.mark.parametrize(
    "message",
    [
        question(0),
        question(4),
        question(-1),
        question(1, b"short"),
        question(1, raw_weights(np.array([np.nan, 0, 0]))),
        question(1, clip=0.0),
        question(1, clip=float("1e300")),
        Mask(1, {}),
        Reveal(1, (), ()),
    ],
    ids=str,
)
def test_a_client_answers_no_question_that_was_not_agreed(message: Any) -> None:
    participant, fake = faced(Plan(**FACTS), message)
    with pytest.raises((Refused, IndexError)):
        participant.run()
    assert not any(isinstance(heard, Vector | Shares) for heard in fake.heard)


def test_a_client_answers_each_round_once_and_no_more_often_than_agreed() -> None:
    participant, fake = faced(Plan(**FACTS, participations=2), *map(question, (1, 1, 2, 1, 3)))
    with pytest.raises(IndexError):  # the fake has nothing more to say
        participant.run()
    assert [heard.round for heard in fake.heard if isinstance(heard, Vector)] == [1, 2]
    assert participant.worker.taken == 2


def test_a_client_with_masks_sends_nothing_without_them() -> None:
    plan = Plan(**FACTS, noise="distributed")
    key = Identity().public
    few = Prepare(1, (0, 1), {1: key}, raw_weights(np.zeros(3)), 1.0)
    many = Prepare(1, tuple(range(9)), dict.fromkeys(range(1, 9), key), raw_weights(np.zeros(3)), 1.0)
    bad = Prepare(1, (0, 1, 2), {1: key, 2: b"short"}, raw_weights(np.zeros(3)), 1.0)
    for message in (question(1), few, many, bad):
        participant, fake = faced(plan, message)
        with pytest.raises(Refused):
            participant.run()
        assert not any(isinstance(heard, Vector | Dealt) for heard in fake.heard)


@pytest.mark.parametrize("told", [{}, {"sigma": 1}, {**asdict(Plan(**FACTS)), "more": 1}])
def test_plans_of_another_form_are_refused(told: dict[str, Any]) -> None:
    participant, _ = faced(Plan(**FACTS), told=told or {"x": 1})
    with pytest.raises(Refused, match="not of this version"):
        participant.run()


def test_a_coordinator_that_comes_back_with_another_plan_is_left() -> None:
    participant, fake = faced(Plan(**FACTS))
    participant._join()
    fake.messages = [Welcome(0, "t", bytes(16), asdict(replace(Plan(**FACTS), sigma=0.1)), TASK)]
    with pytest.raises(Refused, match="another plan"):
        participant._join()
    fake.messages = [Wait()]
    with pytest.raises(Refused, match="never should"):
        participant._join()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://example.org", "127.0.0.1:80", "http://127.0.0.1/deep"])
def test_addresses_that_are_none_or_not_safe_are_refused(url: str) -> None:
    with pytest.raises(Refused) as refusal:
        Connection(url)
    assert refusal.value.code == "address"


def test_who_finds_no_coordinator_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unreachable):
        Participant(f"http://127.0.0.1:{port}", rows, max_epsilon=1.0, patience=0.0).run()


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_coordinator_that_is_killed_while_it_answers_is_looked_for_again(length: int) -> None:
    """It has said how long its answer is, and a part of it has arrived: that is no answer, and no wrong one."""
    body = encoded(Wait())
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(count: int) -> None:
            asked, _ = server.accept()
            with asked:
                said = b""
                while not said.endswith(body):  # the message is a Wait, too
                    said += asked.recv(10_000)
                asked.sendall(head.encode() + body[:count])

        connection = Connection(f"http://127.0.0.1:{server.getsockname()[1]}")
        for count in (min(length, len(body) - 1), len(body)):
            thread = threading.Thread(target=answer, args=[count])
            thread.start()
            if count < len(body):
                with pytest.raises(Unreachable, match="IncompleteRead"):
                    connection.say("/work", Wait())
            else:
                assert connection.say("/work", Wait()) == Wait()
            thread.join()
        connection.close()


# plans in files, and rows

PLAN = {
    "clients": 4,
    "rounds": 40,
    "epsilon": 60,
    "delta": 1e-5,
    "noise": "distributed",
    "dropout": 0.25,
    "target": "ill",
    "features": {"age": {"min": 0, "max": 100}},
}


def test_a_file_describes_plan_and_task() -> None:
    plan, task = parsed(PLAN)
    assert plan.guarantees()[0].epsilon <= 60
    assert (plan.parameters, task.made().size, task.model) == (2, 2, "logistic")
    wide, _ = parsed({**PLAN, "model": "two-layer", "hidden": 3})
    assert wide.parameters == 2 * 3 + 3 + 1
    local, _ = parsed({**PLAN, "noise": "local"})
    assert local.guarantees()[0].epsilon <= 60
    exact, _ = parsed({**{name: value for name, value in PLAN.items() if name != "epsilon"}, "sigma": 2.0})
    assert exact.sigma == 2.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": {}}, "no features"),
        ({"features": 3}, "no features"),
        ({"features": {"age": 3}}, "age has no bounds"),
        ({"features": {"age": {"min": 3}}}, "missing required field"),
        ({"features": {"age": {"min": 3, "max": 3}}}, "min below max"),
        ({"features": {"ill": {"min": 0, "max": 3}}}, "target is none of them"),
        ({"model": "forest"}, "model must be one of"),
        ({"hidden": 0}, "hidden must lie"),
        ({"local_steps": 0}, "local_steps"),
        ({"local_rate": -1.0}, "rates of learning"),
        ({"sigma": 1.0}, "either epsilon or sigma"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"epsilom": 1}, "nothing here is called epsilom"),
        ({"against": "nobody"}, "against is"),
        ({"rounds": 0}, "rounds must be at least 1"),
    ],
)
def test_files_that_describe_no_training_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        parsed({**PLAN, **change})


def test_missing_keys_are_named() -> None:
    with pytest.raises(Refused, match="rounds is missing"):
        parsed({name: value for name, value in PLAN.items() if name != "rounds"})


def test_files_that_are_not_toml_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(b"clients = [")
    with pytest.raises(Refused, match="not TOML"):
        read(path)


def test_rows_are_clamped_scaled_and_never_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("bmi,age,ill\n35,0,1\n10,1e9,0\nnone,,yes\n60,nan,2\n,-inf,0\n", "utf-8")
    features, targets = rows_of(path, TASK)
    assert features.tolist() == [[-1, 0], [1, -1], [0, 1], [-1, 0]]
    assert targets.tolist() == [1, 0, 1, 0]
    path.write_text("age,bmi,ill\n", "utf-8")
    assert rows_of(path, TASK)[0].shape == (0, 2)
    path.write_text("age,ill\n1,2\n", "utf-8")
    with pytest.raises(Refused, match="no column bmi"):
        rows_of(path, TASK)
    path.write_bytes(b"\xff\xff")
    with pytest.raises(Refused, match="no CSV"):
        rows_of(path, TASK)


# processes

TOML = """
clients = 4
rounds = 6
sigma = 1.0
delta = 1e-5
noise = "distributed"
dropout = 0.25
target = "ill"
[features]
age = { min = 0, max = 100 }
"""


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "discreet.cli", "federated", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(process: subprocess.Popen[str], text: str) -> str:
    """Read what a process tells until it says this."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return line
    raise AssertionError(f"it never said {text}")


@pytest.mark.long
def test_killed_clients_and_a_killed_coordinator_spend_no_more_than_was_said(tmp_path: Path) -> None:
    """Real processes. A client that is stopped holds a round open, so that others are killed within it for sure."""
    (tmp_path / "plan.toml").write_text(TOML, "utf-8")
    (tmp_path / "rows.csv").write_text("age,ill\n10,0\n80,1\n", "utf-8")
    words = ("coordinator", "plan.toml", "-o", "model.json", "--wait", "120")
    first = started(tmp_path, *words, "--port", "0")
    url = until(first, "waiting for 4 clients").split()[-1]

    def client() -> subprocess.Popen[str]:
        return started(tmp_path, "client", url, "rows.csv", "--max-epsilon", "1000", "--patience", "300")

    held = client()
    until(first, "1 of 4 clients")
    held.send_signal(signal.SIGSTOP)
    others = [client(), client(), client()]
    until(first, "4 of 4 clients")
    while b"begun" not in (tmp_path / "plan.journal").read_bytes():
        time.sleep(0.05)
    first.kill()  # within the first round
    others[0].kill()
    first.communicate()
    second = started(tmp_path, *words, "--port", url.rsplit(":", 1)[1])
    held.send_signal(signal.SIGCONT)
    until(second, "3 of 4 clients")
    held.send_signal(signal.SIGSTOP)
    late = client()
    until(second, "4 of 4 clients")
    late.kill()  # within the second round
    held.send_signal(signal.SIGCONT)
    _, heard = second.communicate(timeout=300)
    ended = [each.communicate(timeout=300) for each in (held, *others, late)]
    assert second.returncode == 0, heard
    assert [each.returncode for each in (held, *others[1:])] == [0, 0, 0], ended
    events = [json.loads(line) for line in (tmp_path / "plan.journal").read_text("utf-8").splitlines()]
    assert [event["begun"] for event in events if "begun" in event] == [1, 2, 3, 4, 5, 6]
    assert [event["done"] for event in events if "done" in event] == [2, 3, 4, 5, 6]
    assert [event["survivors"] for event in events if "done" in event][1:] == [3, 3, 3, 3]
    document = json.loads((tmp_path / "model.json").read_text("utf-8"))
    assert len(document["weights"]) == 2
    again = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "federated", *words[:3], "other.json", "--port", "0"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "6 rounds" in again.stdout
    assert json.loads((tmp_path / "other.json").read_text("utf-8"))["weights"] == document["weights"]


def test_messages_say_what_they_are() -> None:
    assert json.loads(encoded(Vector(3, b"\1\2\3\4"))) == {"kind": "vector", "round": 3, "words": "AQIDBA=="}
