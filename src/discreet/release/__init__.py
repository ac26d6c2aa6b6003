"""Releases: publish once, use for ever. What is published is charged once, and free to read afterwards."""

from discreet.release.answers import Answers
from discreet.release.core import Publication, Published
from discreet.release.domain import Domain
from discreet.release.facets import FacetCounts, Facets
from discreet.release.hierarchy import Hierarchy, HierarchyCounts
from discreet.release.histogram import Counts, Histogram
from discreet.release.query_log import LogCounts, QueryLog
from discreet.release.search_log import SearchLog
from discreet.release.synthetic.family import SyntheticFamily, synthesize_family
from discreet.release.synthetic.marginals import MarginalSynthesizer
from discreet.release.synthetic.mwem import MWEM
from discreet.release.synthetic.quality import Quality
from discreet.release.synthetic.small import SmallDatabase, SmallRows
from discreet.release.synthetic.synthesize import synthesize
from discreet.release.synthetic.table import SyntheticTable
from discreet.release.totals import RunningTotals, Totals
from discreet.release.workload import Optimized, Part, Workload, optimize

__all__ = [
    "MWEM",
    "Answers",
    "Counts",
    "Domain",
    "FacetCounts",
    "Facets",
    "Hierarchy",
    "HierarchyCounts",
    "Histogram",
    "LogCounts",
    "MarginalSynthesizer",
    "Optimized",
    "Part",
    "Publication",
    "Published",
    "Quality",
    "QueryLog",
    "RunningTotals",
    "SearchLog",
    "SmallDatabase",
    "SmallRows",
    "SyntheticFamily",
    "SyntheticTable",
    "Totals",
    "Workload",
    "optimize",
    "synthesize",
    "synthesize_family",
]
