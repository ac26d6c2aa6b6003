"""What a server serves: the policies that it was started with, each with its curator and its tokens."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy  # noqa: F401  (whoever asks first is not to wait for it)

from discreet.curator.curator import Curator
from discreet.curator.saved import SavedQueries
from discreet.curator.state import open_ledger
from discreet.engines.copy import Progress
from discreet.errors import Refused
from discreet.ledger import LedgerError
from discreet.logs import note
from discreet.opening import MAKERS, RECALLS
from discreet.policy import Policy, PolicyError, read
from discreet.printing import printable
from discreet.server.tokens import Made, Role, Token, Tokens


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request to a dataset."""

    token: str
    """The id of the token."""
    role: Role
    analyst: str | None

    def charged_as(self, wanted: str | None) -> str | None:
        """Whose share is charged: an analyst's own, the owner's choice."""
        if self.role is Role.OWNER or wanted in (None, self.analyst):
            return wanted or self.analyst
        raise Refused("forbidden", "this token asks for another analyst", "leave analyst out")


@dataclass(frozen=True, slots=True)
class Granted:
    """What somebody may do with a dataset."""

    dataset: str
    role: Role
    analyst: str | None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom an identity provider knows."""

    id: str
    """The same at every sign-in; it says nothing about them."""
    grants: tuple[Granted, ...]
    seconds: float
    """For which they are signed in."""


class Dataset:
    """One policy. `reload` looks at its file: what the owner changed there holds without a restart.

    among   how many datasets share the memory and the disk of the machine.
    """

    def __init__(
        self, policy: Policy, tokens: Tokens | None = None, progress: Progress | None = None, among: int = 1
    ) -> None:
        self.tokens = tokens or Tokens.of(policy)
        self.saved = SavedQueries.of(policy)
        self._lock = threading.Lock()
        self._written = self._complained = _written(policy.path)
        self._among = among
        self._curator = _curator(policy, progress, among)
        self._dummy: Curator | None = None
        self._counting = threading.Lock()
        self._answers: Counter[str] = Counter()

    @cached_property
    def name(self) -> str:
        """It stays: a policy that has another is not opened (`_look`)."""
        return name_of(self._curator.policy)

    @property
    def curator(self) -> Curator:
        return self._curator

    def count(self, kind: str) -> None:
        """One more answer: charged, cached, free, or of dummy data."""
        with self._counting:
            self._answers[kind] += 1

    @property
    def answers(self) -> dict[str, int]:
        """How many answers there were, by kind, since the server was started."""
        with self._counting:
            return dict(self._answers)

    def reload(self) -> None:
        """Look at the policy file now."""
        with self._lock:
            self._look()
            with suppress(LedgerError):  # it is told to whoever asks
                self._curator.let_go()

    def _look(self) -> None:
        """Open the policy anew if its file changed. One that cannot be used is left alone: the old one holds.

        Its owner may believe that somebody is shut out now, so the log says that nobody is.
        """
        written = _written(self._curator.policy.path)
        if written in (None, self._written):
            return
        try:
            policy = read(self._curator.policy.path)
            if name_of(policy) != self.name or policy.state != self._curator.policy.state:
                raise LedgerError("its name or its state folder is another one now", "start the server again")
            self._curator = _curator(policy, None, self._among)  # the old one is not closed: it may be answering
        except (PolicyError, LedgerError) as wrong:
            if self._complained != written:
                words = f"{self.name} cannot be used, and the policy before still holds: {printable(str(wrong))}"
                note("policy-unusable", words, dataset=self.name)
            self._complained = written
            return
        self._written, self._dummy = written, None
        note("policy-read", dataset=self.name)

    @property
    def dummy(self) -> Curator:
        """A curator over dummy data, made when it is first asked for."""
        curator = self.curator
        with self._lock:
            if self._dummy is None:
                self._dummy = curator.dummy()
            return self._dummy

    def make_token(self, made: Made, role: Role, analyst: str | None, expires: datetime | None = None) -> None:
        """Accept a token from now on; first it is put on record."""
        self._curator.note_token("made", made.id, role, analyst)
        self.tokens.add(made, role, analyst, expires)

    def revoke_token(self, name: str) -> None:
        """Accept a token no longer. It holds before it is on record."""
        token = self.tokens.revoke(name)
        if token is not None:
            self._curator.note_token("revoked", token.id, token.role, token.analyst)

    def caller(self, holder: Token | Granted, name: str = "") -> Caller | None:
        """Who holds a token, or was let in by this name; None if it is an analyst that the policy no longer knows."""
        if holder.role is Role.ANALYST and holder.analyst not in self.curator.policy.analysts:
            return None
        return Caller(holder.id if isinstance(holder, Token) else name, holder.role, holder.analyst)

    def close(self) -> None:
        self._curator.close()
        if self._dummy is not None:
            self._dummy.close()
        self.tokens.close()
        self.saved.close()


class Finds(Protocol):
    """Knows tokens by their texts."""

    def find(self, text: str) -> Token | None: ...


class Datasets(Mapping[str, Dataset]):
    """Datasets by their names. Whoever `owners` finds owns all of them, as long as the server runs."""

    def __init__(self, datasets: Iterable[Dataset], owners: Finds | None = None) -> None:
        self._owners = owners
        self._lock = threading.Lock()
        self._datasets: dict[str, Dataset] = {}
        for dataset in datasets:
            self.add(dataset)

    def add(self, dataset: Dataset) -> None:
        """Serve one more. The mapping is replaced as a whole: whoever iterates over the old one goes on."""
        with self._lock:
            if dataset.name in self._datasets:
                raise Refused("policy", f"two policies are called {dataset.name}", "give each a name of its own")
            self._datasets = {**self._datasets, dataset.name: dataset}

    def __getitem__(self, name: str) -> Dataset:
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)

    def callers(self, holder: str | Person) -> dict[str, Caller]:
        """For each dataset that a token or a person opens, who that is there."""
        if isinstance(holder, Person):
            granted = [each for each in holder.grants if each.dataset in self._datasets]
            known = {each.dataset: self._datasets[each.dataset].caller(each, holder.id) for each in granted}
            return {name: caller for name, caller in known.items() if caller is not None}
        owner = self.owner(holder)
        if owner is not None:
            return {name: Caller(owner.id, owner.role, None) for name in self._datasets}
        by_dataset = {}
        for name, dataset in self._datasets.items():
            token = dataset.tokens.find(holder)
            caller = None if token is None else dataset.caller(token)
            if caller is not None:
                by_dataset[name] = caller
        return by_dataset

    def owner(self, text: str) -> Token | None:
        """Whoever owns all of them, if that is whose text it is."""
        return None if self._owners is None else self._owners.find(text)

    def reload(self) -> None:
        """Look at all policy files."""
        for dataset in self._datasets.values():
            dataset.reload()

    def close(self) -> None:
        for dataset in self._datasets.values():
            dataset.close()


def name_of(policy: Policy) -> str:
    """The policy's name as an address can hold it.

    >>> from types import SimpleNamespace
    >>> name_of(SimpleNamespace(name="St. Mary's / east", path=Path("x.toml")))
    'St.-Mary-s-east'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", policy.name).strip("-.") or "dataset"


def _curator(policy: Policy, progress: Progress | None, among: int) -> Curator:
    limit, pad = policy.serving.time_limit, policy.serving.pad_ms / 1000
    ledger = open_ledger(policy)
    return Curator(
        policy, ledger, time_limit=limit, pad=pad, progress=progress, among=among, recalls=RECALLS, makers=MAKERS
    )


def _written(path: Path) -> tuple[int, int] | None:
    """When the file was written last, and its size."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
