"""Small worlds on disk: tables written as files, with a policy that reads them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.policy import Policy, read
from tests.plain import plain

HEAD = 'name = "world"\n[budget]\nepsilon = 3\n[unit]\nname = "person"\n'
VISITS = """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 3
[tables.visits.columns]
ward = { type = "text" }
cost = { min = 0, max = 100 }
"""
Row = tuple[Any, ...]


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_parquet(path: Path, query: str) -> None:
    with plain() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def policy(folder: Path, *tables: str) -> Policy:
    path = folder / "world.toml"
    path.write_text(HEAD + "\n".join(tables), encoding="utf-8")
    return read(path)
