"""Operators on private rows: one class each, with its stability theorem."""

from discreet.sql.nodes.filter import Filter
from discreet.sql.nodes.node import Field, Limits, Node, Owner, Texts
from discreet.sql.nodes.project import Project
from discreet.sql.nodes.scan import Scan

__all__ = ["Field", "Filter", "Limits", "Node", "Owner", "Project", "Scan", "Texts"]
