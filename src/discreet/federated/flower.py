"""The same mechanism under Flower: its grid carries the messages, its nodes are the clients.

    app = server_app(plan, task, done=print)                         # for flwr.serverapp
    app = client_app(lambda task, context: rows, max_epsilon=3)      # for flwr.clientapp

Plans, noise, masks and journals are those of `discreet federated`; only the transport differs. A node's state between
two messages, secrets among it, is in Flower's own context, which stays with the node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from discreet.errors import Refused
from discreet.federated.encoding import Floats
from discreet.federated.journal import Journal
from discreet.federated.keys import demand_key
from discreet.federated.messages import FromClient, FromCoordinator, Join, Message, Welcome, decoded, encoded
from discreet.federated.plan import Plan
from discreet.federated.rounds import Accept, Rounds
from discreet.federated.task import Task
from discreet.federated.training import Training
from discreet.federated.worker import Worker

try:
    import flwr.app as flower
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ImportError:
    reason = "flwr is not installed: pip install flwr"
    raise ImportError(reason, name="flwr") from None

CONTENT: Final = "discreet"
"""The record that has the message, and on a node the state."""
PAUSE: Final = 0.2


def server_app(
    plan: Plan,
    task: Task,
    *,
    done: Callable[[Training], None],
    journal: Journal | None = None,
    wait: float = 600.0,
    patience: float = 60.0,
) -> ServerApp:
    """A server that trains what the plan says; `done` gets the training when it is over.

    wait       seconds for all clients to come; then it begins with those who are there
    patience   seconds for answers to come
    """
    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Grid, context: flower.Context) -> None:  # noqa: ARG001  (Flower's signature)
        training = Training(plan, task.made().initial(), rate=task.learning_rate, journal=journal)
        rounds = FlowerRounds(training, task, grid, patience=patience)
        rounds.gather(wait)
        while not training.over:
            rounds.one_round()
        done(training)

    return app


def client_app(load: Callable[[Task, flower.Context], tuple[Floats, Floats]], *, max_epsilon: float) -> ClientApp:
    """A client that takes part with the rows that `load` returns on its node."""
    app = ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: flower.Message, context: flower.Context) -> flower.Message:
        worker, question = _worker(context, load, max_epsilon), _content(message, FromCoordinator)
        if isinstance(question, Welcome):
            answer: Message = Join(worker.fresh_key())
            worker.welcome(question)
        else:
            answer = worker.reply(question)
        context.state[CONTENT] = flower.ConfigRecord({"state": worker.saved()})
        return flower.Message(_record(answer), reply_to=message)

    return app


def _worker(context: Any, load: Callable[[Task, Any], tuple[Floats, Floats]], max_epsilon: float) -> Worker:
    def rows(task: Task) -> tuple[Floats, Floats]:
        return load(task, context)

    if CONTENT not in context.state:
        return Worker(rows, max_epsilon=max_epsilon)
    return Worker.restored(context.state[CONTENT]["state"], rows, max_epsilon=max_epsilon)


class FlowerRounds(Rounds):
    """Rounds over a grid. Nodes that do not answer in time, or answer with an error, have failed."""

    def __init__(self, training: Training, task: Task, grid: Grid, *, patience: float) -> None:
        super().__init__(training)
        self._task, self._grid, self._patience = task, grid, patience
        self._nodes: dict[int, int] = {}
        self._keys: dict[int, bytes] = {}

    def gather(self, wait: float) -> None:
        """Number the nodes and learn their keys; those that refuse the plan take no part."""
        until = time.monotonic() + wait
        while len(nodes := sorted(self._grid.get_node_ids())) < self._plan.clients and time.monotonic() < until:
            time.sleep(PAUSE)
        self._nodes = dict(enumerate(nodes[: self._plan.clients]))
        fields = asdict(self._plan)
        welcomes = {number: Welcome(number, "", self._session, fields, self._task) for number in self._nodes}

        def accept(number: int, message: Message) -> None:
            assert isinstance(message, Join)
            demand_key(message.key)
            self._keys[number] = message.key

        self._ask(0, welcomes, Join, accept)

    def _present(self, members: Iterable[int]) -> dict[int, bytes]:
        return {number: self._keys[number] for number in members if number in self._keys}

    def _ask(self, round_number: int, questions: Mapping[int, Message], answer: type[Message], accept: Accept) -> None:
        numbers = {self._nodes[number]: number for number in questions}
        sent = [
            flower.Message(_record(question), dst_node_id=self._nodes[number], message_type="train")
            for number, question in questions.items()
        ]
        for reply in self._grid.send_and_receive(sent, timeout=self._patience):
            number = numbers.pop(reply.metadata.src_node_id, None)
            if number is None or reply.has_error():
                continue
            try:
                message = _content(reply, FromClient)
                if isinstance(message, answer) and getattr(message, "round", 0) == round_number:
                    accept(number, message)
            except Refused:  # a wrong answer is none
                continue


def _record(message: Message) -> Any:
    return flower.RecordDict({CONTENT: flower.ConfigRecord({"message": encoded(message)})})


def _content(message: Any, kind: Any) -> Any:
    record = message.content.get(CONTENT) if message.has_content() else None
    body = record.get("message") if isinstance(record, flower.ConfigRecord) else None
    if not isinstance(body, bytes):
        raise Refused("body-invalid", "the message is not one of discreet's", "use client_app and server_app")
    return decoded(body, kind)
