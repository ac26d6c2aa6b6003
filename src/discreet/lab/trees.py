"""Hierarchies of values: which are near each other, and what a group of them is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from discreet.errors import Refused
from discreet.lab.columns import Column
from discreet.lab.table_files import rows_of
from discreet.printing import printable

Tree = Mapping[Any, Sequence[str]]
"""For each value (or its text) the groups that it is in, from the smallest to the largest, as many for each; all are in
the whole."""
_FIX: Final = "give each value the groups it is in, smallest first, as many for each"


def groups_of(column: Column, tree: Tree) -> list[tuple[str, ...]]:
    """For each value of a column its groups; what is missing is a group of its own."""
    depths = {len(groups) for groups in tree.values()}
    if len(depths) != 1:
        raise Refused("table-invalid", f"branches of the tree of {printable(column.name)} differ in length", _FIX)
    (depth,) = depths
    groups: list[tuple[str, ...]] = []
    for value in column.values:
        known = tree.get(value, tree.get(str(value))) if value is not None else ["missing"] * depth
        if known is None:
            reason = f"the tree of {printable(column.name)} lacks {printable(str(value))}"
            raise Refused("table-invalid", reason, _FIX)
        groups.append(tuple(known))
    return groups


def read_tree(path: Path) -> dict[str, tuple[str, ...]]:
    """A hierarchy from a file: in each line a value and its groups, smallest first, such as 02138;0213*;021**;*

    Last columns that are the same for all are left out: the whole is in every tree.
    """
    rows = [[field.strip() for field in row] for row in rows_of(path)]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths == {1}:
        raise Refused("table-invalid", f"{printable(str(path))} is no hierarchy", _FIX)
    while len(rows[0]) > 1 and len({row[-1] for row in rows}) == 1:
        rows = [row[:-1] for row in rows]
    tree = {value: tuple(groups) for value, *groups in rows}
    if len(tree) < len(rows):
        raise Refused("table-invalid", f"{printable(str(path))} has a value in two lines", "give each value one line")
    return tree
