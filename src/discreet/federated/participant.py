"""A client of a federated training, over HTTP. It believes the coordinator no more than it must.

It computes by itself what the plan costs, and takes part only if that is within its own limit; it adds its own noise;
it takes part in no round twice, in no more rounds than were agreed, and under no other plan than the first; its secrets
are in memory only.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from discreet.errors import Problem, Refused
from discreet.federated.encoding import Floats, to_words
from discreet.federated.graph import shape
from discreet.federated.keys import PUBLIC, Identity
from discreet.federated.masking import Member, Setting
from discreet.federated.messages import (
    Dealt,
    End,
    FromCoordinator,
    Join,
    Mask,
    Message,
    Prepare,
    Reveal,
    Shares,
    Train,
    Vector,
    Wait,
    Welcome,
    Work,
    decoded,
    encoded,
    raw_words,
    weights_of,
)
from discreet.federated.models import local_update
from discreet.federated.places import contribution
from discreet.federated.plan import Plan, demand
from discreet.federated.task import Task
from discreet.noise import Bits

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
TIMEOUT: Final = 60.0
MOST_BYTES: Final = 2**28
PAUSE: Final = 0.2
Load = Callable[[Task], tuple[Floats, Floats]]


class Unreachable(Problem):
    """The coordinator does not answer."""

    code = "unreachable"


class Connection:
    """One connection to a coordinator, opened again when it breaks."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise Refused("address", f"{url!r} is no address of a coordinator", "write http://127.0.0.1:8800")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise Refused("address", "http is for this machine: others could read along", "use https")
        kind = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
        self._made = kind(parts.hostname, parts.port, timeout=TIMEOUT)
        self.token = ""

    def say(self, path: str, message: Message) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        try:
            self._made.request("POST", path, encoded(message), headers)
            reply = self._made.getresponse()
            body = reply.read(MOST_BYTES)
        except (OSError, http.client.HTTPException) as wrong:
            self._made.close()
            raise Unreachable(
                f"the coordinator does not answer ({type(wrong).__name__})", "see whether it runs"
            ) from None
        if reply.status != 200:
            raise _refusal(body)
        return decoded(body, FromCoordinator)

    def close(self) -> None:
        self._made.close()


def _refusal(body: bytes) -> Problem:
    try:
        problem = msgspec.json.decode(body, type=dict[str, str])
        return Refused(problem["code"], problem["reason"], problem["fix"])
    except (msgspec.DecodeError, KeyError):
        return Unreachable("what answers is no coordinator", "check the address")


class Participant:
    """What a client knows: its rows, what it agreed to, and where it stands.

    max_epsilon   it takes part only if all that the plan promises is within this
    patience      seconds for which it looks for a coordinator that does not answer
    """

    def __init__(
        self, url: str, load: Load, *, max_epsilon: float, patience: float = 30.0, bits: Bits | None = None
    ) -> None:
        self._connection, self._load = Connection(url), load
        self._most, self._patience, self._bits = max_epsilon, patience, bits
        self._agreed: tuple[Plan, Task] | None = None
        self._rows: tuple[Floats, Floats] | None = None
        self._newest = self.taken = 0
        self._member: Member | None = None
        self._pending: Prepare | None = None

    # what it agreed to

    def _join(self) -> None:
        self._identity = Identity(self._bits)
        self._connection.token = ""
        welcome = self._expected(self._connection.say("/join", Join(self._identity.public)), Welcome)
        plan, task = _plan_of(welcome.plan), welcome.task
        demand(plan.parameters == task.made().size, "the plan is not that of the model", "ask the coordinator")
        if self._agreed is None:
            self._agree(plan, task)
        if self._agreed != (plan, task):
            raise Refused(
                "training-invalid", "the coordinator came back with another plan", "agree to it anew: start again"
            )
        self._number, self._session, self._connection.token = welcome.number, welcome.session, welcome.token
        self._member = self._pending = None

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

    # rounds

    def run(self) -> int:
        """Take part until the training is over; in how many rounds it did."""
        try:
            self._patiently(self._join)
            while True:
                message = self._patiently(lambda: self._connection.say("/work", Work()))
                if isinstance(message, End):
                    return self.taken
                if not isinstance(message, Wait):
                    self._answer(message)
        finally:
            self._connection.close()

    def _patiently(self, act: Callable[[], Any]) -> Any:
        """Look for the coordinator for a while; one that came back is joined again."""
        until = time.monotonic() + self._patience
        while True:
            try:
                return act()
            except Unreachable:
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)
            except Refused as refusal:
                if refusal.code != "unauthorized":
                    raise
                act = self._rejoined(act)

    def _rejoined(self, act: Callable[[], Any]) -> Callable[[], Any]:
        def again() -> Any:
            self._join()
            return act()

        return again

    def _answer(self, message: Message) -> None:
        try:
            reply = self._reply(message)
            self._connection.say("/send", reply)
        except Unreachable:  # the round goes on without it
            self._member = self._pending = None
        except Refused as refusal:
            if refusal.code not in ("wrong-round", "unauthorized"):
                raise
            self._member = self._pending = None

    def _reply(self, message: Message) -> Message:
        if isinstance(message, Train):
            demand(
                self._plan.noise != "distributed",
                "this plan has masks, and nobody is asked without",
                "ask the coordinator",
            )
            self._begin(message.round)
            return Vector(message.round, self._vector(message, members=1))
        if isinstance(message, Prepare):
            return self._prepared(message)
        member, pending = self._member, self._pending
        if member is None or pending is None or pending.round != getattr(message, "round", None):
            raise Refused("wrong-round", "this client is in no such round", "begin the next round")
        if isinstance(message, Mask):
            return Vector(message.round, self._vector(pending, members=len(pending.members), inbox=message.inbox))
        if isinstance(message, Reveal):
            revealed = member.reveal(set(message.stayed), set(message.failed))
            return Shares(message.round, dict(revealed.stayed), dict(revealed.failed))
        raise Refused("body-invalid", "the coordinator says what it never should", "check the address")

    def _prepared(self, message: Prepare) -> Message:
        self._begin(message.round)
        plan = self._plan
        demand(plan.noise == "distributed", "the plan has no masks", "ask the coordinator")
        if len(message.members) > plan.clients or any(len(key) != PUBLIC for key in message.keys.values()):
            raise Refused("body-invalid", "more members than clients, or keys of a wrong size", "ask the coordinator")
        # the graph is computed here too: a coordinator cannot make it thinner
        setting = Setting(self._session, message.round, message.members, shape(len(message.members)), plan.grid.width)
        self._member = Member(self._identity, self._number, setting, message.keys, bits=self._bits)
        self._pending = message
        dealt = self._member.deal()
        return Dealt(message.round, dealt.envelope, dict(dealt.shares))

    def _begin(self, number: int) -> None:
        """Rounds only go up, and no more are begun than were agreed."""
        plan = self._plan
        if not self._newest < number <= plan.rounds:
            raise Refused("wrong-round", f"round {number} is over for this client, or was never agreed", "go on")
        if self.taken >= (plan.rounds if plan.participations is None else plan.participations):
            raise Refused("wrong-round", "this client has taken part as often as was agreed", "go on without it")
        self._newest, self.taken = number, self.taken + 1

    def _vector(self, question: Train | Prepare, *, members: int, inbox: dict[int, bytes] | None = None) -> bytes:
        (plan, task), model = (self._plan, self._task), self._task.made()
        assert self._rows is not None
        demand(1e-12 <= question.clip <= 1e12, "the clipping norm is none", "ask the coordinator")
        weights = weights_of(question.weights, model.size)
        update = local_update(model, weights, *self._rows, steps=task.local_steps, rate=task.local_rate)
        words = to_words(contribution(plan, update, clip=question.clip, members=members, bits=self._bits))
        return raw_words(words if inbox is None or self._member is None else self._member.masked(words, inbox))

    @property
    def _plan(self) -> Plan:
        assert self._agreed is not None
        return self._agreed[0]

    @property
    def _task(self) -> Task:
        assert self._agreed is not None
        return self._agreed[1]

    def _expected(self, message: Any, kind: type[Any]) -> Any:
        if not isinstance(message, kind):
            raise Refused("body-invalid", "the coordinator says what it never should", "check the address")
        return message


def _plan_of(fields: dict[str, Any]) -> Plan:
    if set(fields) != set(Plan.__dataclass_fields__):
        raise Refused("training-invalid", "the coordinator's plan is not of this version", "install the same version")
    return Plan(**fields)
