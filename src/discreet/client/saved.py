"""Saved queries on a server: those of whoever holds the token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from discreet.answers import documents
from discreet.client.http import NOTHING
from discreet.client.problems import alien
from discreet.client.remote import Remote


@dataclass(frozen=True, slots=True)
class RemoteSaved:
    """What a dataset's server has saved for this token's holder."""

    remote: Remote

    def all(self) -> list[documents.SavedQuery]:
        """By name."""
        document = self.remote._connection.get(self.remote._path("saved"), documents.SavedQueries)
        return list(document["saved"])

    def save(self, name: str, sql: str, **chosen: Any) -> documents.SavedQuery:
        """Save a query under a name, with its `epsilon` or `error` and its `blocks`. Nothing is run."""
        body = {"name": name, "sql": sql, **{key: value for key, value in chosen.items() if value is not None}}
        send = self.remote._connection.send
        _, document = send("POST", self.remote._path("saved"), documents.SavedQuery, json=body)
        made: documents.SavedQuery = document
        return made

    def remove(self, id_: str) -> None:
        path = self.remote._path(f"saved/{quote(id_, safe='')}")
        status, _ = self.remote._connection.send("DELETE", path)
        if status != NOTHING:
            raise alien(self.remote._connection.url)
