"""One desk: a folder, who may sit at it, the drafts on it, and the policies of the folder that are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.curator.refreshing import prepared
from discreet.curator.state import open_ledger
from discreet.errors import Refused
from discreet.owner.check import checked
from discreet.owner.editing import write_new
from discreet.owner.inspection import inspected
from discreet.owner.steps import Steps, beside
from discreet.policy import Finding, Policy, parse, read
from discreet.policy.engines import DUCKDB
from discreet.policy.problems import key_path
from discreet.server.datasets import Dataset, Datasets, name_of
from discreet.server.desk.drafts import Draft, Drafts
from discreet.server.desk.files import policies
from discreet.server.desk.links import Links
from discreet.server.desk.units import LIMITS
from discreet.server.works import Tell

AMONG: Final = 4
"""Datasets that are thought to share the machine: how many will be opened is not known before."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a draft is beside its sources. It contains exact values: do not share."""

    revision: int
    """Of the draft that was looked at."""
    findings: tuple[Finding, ...]
    parts: Mapping[str, Mapping[int, float]]
    """For each table, for each limit of rows per unit, the part of the rows that would be read."""


class Desk:
    """What whoever started it may do: write policies for the files of a folder, and open them."""

    def __init__(self, folder: Path, links: Links) -> None:
        self.folder = folder.resolve()
        self.links = links
        self.drafts = Drafts(self.folder)

    def look(self, draft: Draft) -> Looked:
        """Look at a draft beside its sources, as `discreet check` does.

        Of tables that grow, `max_rows` bounds the rows of a block: what all of them are says nothing about it.
        """
        policy, growing = draft.provisional(), draft.growing
        with inspected(policy) as inspection:
            private = [table for table in policy.private_tables.values() if table.name not in growing]
            parts = {table.name: inspection.parts_read(table, _limits(table.max_rows)) for table in private}
        bounded = {key_path("tables", name, "max_rows") for name in growing}
        findings = tuple(each for each in checked(policy).findings if each.where not in bounded)
        return Looked(draft.revision, findings, parts)

    def write(self, draft: Draft) -> Policy:
        """Write the policy of a draft, where no file of that name is. It is what was shown, or it is not written."""
        text = draft.text().encode()
        path = self.folder / draft.file
        policy = parse(text, path)
        try:
            write_new(path, text)
        except FileExistsError:
            raise Refused(
                "policy-exists",
                f"there is a file {draft.file} in the folder already, and it stays as it is",
                "choose another name in the first step, or move that file away",
            ) from None
        except OSError as wrong:
            raise Refused("policy", f"{draft.file} cannot be written here: {wrong.strerror}", "make room") from None
        Steps.of(policy).add(*draft.command)
        return policy

    def demand_policy(self, file: str) -> Policy:
        """A policy of the folder, by the name that the desk listed it under."""
        if file not in {each.file for each in policies(self.folder)}:
            raise Refused("file-unknown", "there is no such policy in the folder", "choose among those that are listed")
        return read(self.folder / file)

    def open(self, policy: Policy, datasets: Datasets, tell: Tell) -> str:
        """Open a policy: its ledger begins and its private copy is made; the name of the dataset."""
        name = name_of(policy)
        if name in datasets:
            if datasets[name].curator.policy.path == policy.path:
                return name
            raise Refused("policy", f"another policy that is open is called {name}", "give each a name of its own")
        _make_copy(policy, tell)
        dataset = Dataset(policy, None, tell, AMONG)
        try:
            dataset.curator.make_copy()
            Steps.of(policy).add("tables", beside(policy))
            datasets.add(dataset)
        except BaseException:
            dataset.close()
            raise
        return name


def _make_copy(policy: Policy, tell: Tell) -> None:
    """Make the private copy first: a curator says only that tables cannot be read, and owners may know why."""
    if policy.engine == DUCKDB:
        with open_ledger(policy) as ledger:
            prepared(policy, ledger, tell, AMONG)


def _limits(now: int) -> Sequence[int]:
    return sorted({*LIMITS, now})
