"""Releases: publish once, use for ever. What is published is charged once, and free to read afterwards."""

from discreet.release.core import Publication, Published
from discreet.release.domain import Domain
from discreet.release.histogram import Counts, Histogram

__all__ = ["Counts", "Domain", "Histogram", "Publication", "Published"]
