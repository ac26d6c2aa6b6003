"""The format of ledgers: the constitution in the docstring of its codec."""

from __future__ import annotations

import re
from typing import Final

from discreet.ledger import codec
from tests.reference.text import cell, escaped, line, table

HEAD: Final = """# The format of ledgers

Made from the docstring of `ledger/codec.py` by `python -m tests.reference`. A ledger is a journal: lines of JSON that are
only ever added, each with the hash of the one before. In a file it is SQLite (`ledger.sqlite` in the state folder,
[why](../decisions/005-the-ledger-file.md)), on several hosts a schema of PostgreSQL
([how](../guide/35-a-ledger-in-postgresql.md)). `discreet ledger export` writes the records, `discreet ledger verify` follows the
hashes, and a receipt (`number:hash`) is a place in the chain that an analyst holds. What the records tell:
[what happened](../guide/40-the-ledger-as-a-story.md).

"""
KIND: Final = re.compile(rf"^({'|'.join(codec.VERSIONS)}) +(\S.*)$")


def page() -> str:
    text = codec.__doc__ or ""
    parts = [HEAD]
    for paragraph in text.split("\n\n")[1:]:
        title, _, body = paragraph.strip("\n").partition("\n")
        if title == "Constitution":
            parts.append(f"## The constitution\n\n{_numbered(body)}\n")
        elif re.match(r"(Kinds of v|V)ersion \d", title):
            parts.append(f"## {title.removesuffix(' of')}\n\n{_kinds(body)}")
        elif KIND.match(title):
            parts.append(_kinds(f"{title}\n{body}"))
        else:
            parts.append(escaped(" ".join(paragraph.split())) + "\n")
    newest = table(["kind", "newest version"], ([cell(kind), str(number)] for kind, number in codec.VERSIONS.items()))
    parts.append(f"## Versions\n\nA reader refuses what is newer.\n\n{newest}")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _numbered(body: str) -> str:
    return escaped(re.sub(r"\n {3}", " ", body))


def _kinds(body: str) -> str:
    rows: list[list[str]] = []
    for each in body.split("\n"):
        kind = KIND.match(each)
        if kind:
            rows.append([kind[1], kind[2]])
        elif rows:
            rows[-1][1] += f" {each.strip()}"
    return table(["kind", "says"], ([cell(kind), line(said)] for kind, said in rows))
