"""Releases: publish once, use for ever. What is published is charged once, and free to read afterwards."""

from discreet.release.core import Publication, Published
from discreet.release.domain import Domain
from discreet.release.facets import FacetCounts, Facets
from discreet.release.histogram import Counts, Histogram
from discreet.release.query_log import LogCounts, QueryLog
from discreet.release.search_log import SearchLog
from discreet.release.totals import RunningTotals, Totals

__all__ = [
    "Counts",
    "Domain",
    "FacetCounts",
    "Facets",
    "Histogram",
    "LogCounts",
    "Publication",
    "Published",
    "QueryLog",
    "RunningTotals",
    "SearchLog",
    "Totals",
]
