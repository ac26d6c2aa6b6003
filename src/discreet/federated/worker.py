"""A client's side of a training, whatever carries its messages. It believes the coordinator no more than it must.

It computes by itself what the plan costs, and takes part only if that is within its own limit; it adds its own noise;
it takes part in no round twice, in no more rounds than were agreed, and under no other plan than the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import msgspec

from discreet.errors import Refused
from discreet.federated.encoding import Floats, to_words
from discreet.federated.graph import shape
from discreet.federated.keys import PUBLIC, Identity
from discreet.federated.masking import Member, Setting
from discreet.federated.messages import (
    Dealt,
    Mask,
    Message,
    Prepare,
    Reveal,
    Shares,
    Train,
    Vector,
    Welcome,
    raw_words,
    weights_of,
)
from discreet.federated.models import local_update
from discreet.federated.places import contribution
from discreet.federated.plan import Plan, demand
from discreet.federated.task import Task
from discreet.noise import Bits

Load = Callable[[Task], tuple[Floats, Floats]]
"""Features and targets of this client's rows."""


class Saved(msgspec.Struct, frozen=True):
    """All that a client must remember between two messages. It holds secrets: it never leaves the client."""

    private: bytes
    welcome: Welcome
    newest: int
    taken: int
    pending: Prepare | None = None
    own: bytes = b""
    inbox: dict[int, bytes] | None = None
    revealed: bool = False


class Worker:
    """What a client knows: its rows, what it agreed to, and where it stands.

    max_epsilon   it takes part only if all that the plan promises is within this
    """

    def __init__(self, load: Load, *, max_epsilon: float, bits: Bits | None = None) -> None:
        self._load, self._most, self._bits = load, max_epsilon, bits
        self._agreed: tuple[Plan, Task] | None = None
        self._rows: tuple[Floats, Floats] | None = None
        self._welcome: Welcome | None = None
        self._identity = Identity(bits)
        self._newest = self.taken = 0
        self._member: Member | None = None
        self._pending: Prepare | None = None
        self._inbox: dict[int, bytes] | None = None

    # what it agreed to

    def fresh_key(self) -> bytes:
        """The public key of a new pair: each coordinator that it joins gets another one."""
        self._identity = Identity(self._bits)
        return self._identity.public

    def welcome(self, welcome: Welcome) -> None:
        """Agree, or refuse."""
        plan, task = _plan_of(welcome.plan), welcome.task
        demand(plan.parameters == task.made().size, "the plan is not that of the model", "ask the coordinator")
        if self._agreed is None:
            self._agree(plan, task)
        if self._agreed != (plan, task):
            reason = "the coordinator came back with another plan"
            raise Refused("training-invalid", reason, "agree to it anew: start again")
        self._welcome = welcome
        self.forget()

    def _agree(self, plan: Plan, task: Task) -> None:
        worst = max(promise.epsilon for promise in plan.guarantees())
        if worst > self._most:
            raise Refused(
                "cost-too-high",
                f"this training costs epsilon {worst:.3g}, and at most {self._most:g} is allowed here",
                "raise --max-epsilon, or ask for a plan with more noise",
            )
        self._rows = self._load(task)
        self._agreed = plan, task

    def forget(self) -> None:
        """The round goes on without this client."""
        self._member = self._pending = self._inbox = None

    # rounds

    def reply(self, message: Message) -> Message:
        """The answer to a question of the coordinator."""
        if isinstance(message, Train):
            demand(
                self._plan.noise != "distributed", "this plan has masks: nobody is asked without", "ask the coordinator"
            )
            self._begin(message.round)
            return Vector(message.round, self._vector(message, members=1))
        if isinstance(message, Prepare):
            return self._prepared(message)
        member, pending = self._member, self._pending
        if member is None or pending is None or pending.round != getattr(message, "round", None):
            raise Refused("wrong-round", "this client is in no such round", "begin the next round")
        if isinstance(message, Mask):
            words = self._vector(pending, members=len(pending.members), inbox=message.inbox)
            self._inbox = message.inbox
            return Vector(message.round, words)
        if isinstance(message, Reveal):
            revealed = member.reveal(set(message.stayed), set(message.failed))
            return Shares(message.round, dict(revealed.stayed), dict(revealed.failed))
        raise Refused("body-invalid", "the coordinator says what it never should", "check the address")

    def _prepared(self, message: Prepare) -> Message:
        self._begin(message.round)
        demand(self._plan.noise == "distributed", "the plan has no masks", "ask the coordinator")
        if len(message.members) > self._plan.clients or any(len(key) != PUBLIC for key in message.keys.values()):
            raise Refused("body-invalid", "more members than clients, or keys of a wrong size", "ask the coordinator")
        self._member, self._pending = self._made(message), message
        dealt = self._member.deal()
        return Dealt(message.round, dealt.envelope, dict(dealt.shares))

    def _made(self, message: Prepare, own: bytes | None = None) -> Member:
        """The graph is computed here too: a coordinator cannot make it thinner."""
        assert self._welcome is not None
        session, width = self._welcome.session, self._plan.grid.width
        setting = Setting(session, message.round, message.members, shape(len(message.members)), width)
        return Member(self._identity, self._welcome.number, setting, message.keys, own=own, bits=self._bits)

    def _begin(self, number: int) -> None:
        """Rounds only go up, and no more are begun than were agreed."""
        plan = self._plan
        if not self._newest < number <= plan.rounds:
            raise Refused("wrong-round", f"round {number} is over for this client, or was never agreed", "go on")
        if self.taken >= (plan.rounds if plan.participations is None else plan.participations):
            raise Refused("wrong-round", "this client has taken part as often as was agreed", "go on without it")
        self._newest, self.taken = number, self.taken + 1
        self.forget()

    def _vector(self, question: Train | Prepare, *, members: int, inbox: dict[int, bytes] | None = None) -> bytes:
        assert self._agreed is not None
        assert self._rows is not None
        (plan, task), model = self._agreed, self._agreed[1].made()
        demand(1e-12 <= question.clip <= 1e12, "the clipping norm is none", "ask the coordinator")
        weights = weights_of(question.weights, model.size)
        update = local_update(model, weights, *self._rows, steps=task.local_steps, rate=task.local_rate)
        words = to_words(contribution(plan, update, clip=question.clip, members=members, bits=self._bits))
        return raw_words(words if inbox is None or self._member is None else self._member.masked(words, inbox))

    @property
    def _plan(self) -> Plan:
        if self._agreed is None:
            raise Refused("wrong-round", "this client has agreed to nothing", "welcome it first")
        return self._agreed[0]

    # between two processes of one client

    def saved(self) -> bytes:
        assert self._welcome is not None
        member = self._member
        own, revealed = (b"", False) if member is None else (member.own, member.revealed)
        state = Saved(
            self._identity.private, self._welcome, self._newest, self.taken, self._pending, own, self._inbox, revealed
        )
        return msgspec.json.encode(state)

    @classmethod
    def restored(cls, saved: bytes, load: Load, *, max_epsilon: float, bits: Bits | None = None) -> Self:
        state = msgspec.json.decode(saved, type=Saved)
        worker = cls(load, max_epsilon=max_epsilon, bits=bits)
        worker._identity = Identity(private=state.private)
        worker.welcome(state.welcome)
        worker._newest, worker.taken = state.newest, state.taken
        if state.pending is not None:
            worker._pending, worker._inbox = state.pending, state.inbox
            worker._member = worker._made(state.pending, state.own)
            worker._member.resume(state.inbox, revealed=state.revealed)
        return worker


def _plan_of(fields: dict[str, Any]) -> Plan:
    if set(fields) != set(Plan.__dataclass_fields__):
        raise Refused("training-invalid", "the coordinator's plan is not of this version", "install the same version")
    return Plan(**fields)
