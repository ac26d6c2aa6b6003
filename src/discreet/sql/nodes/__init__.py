"""Operators on private rows: one class each, with its stability theorem."""

from discreet.sql.nodes.bound import Bound, lowered
from discreet.sql.nodes.filter import Filter
from discreet.sql.nodes.join import Join, Side
from discreet.sql.nodes.node import Field, Limits, Node, Owner
from discreet.sql.nodes.per_unit import PerUnit
from discreet.sql.nodes.project import Project
from discreet.sql.nodes.scan import Scan
from discreet.sql.nodes.semi import Mark, Semi
from discreet.sql.nodes.union import Union

__all__ = [
    "Bound",
    "Field",
    "Filter",
    "Join",
    "Limits",
    "Mark",
    "Node",
    "Owner",
    "PerUnit",
    "Project",
    "Scan",
    "Semi",
    "Side",
    "Union",
    "lowered",
]
