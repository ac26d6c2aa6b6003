"""What the query benchmarks ask, and within which bounds: read by ours, and by peers in their environments."""

from __future__ import annotations

EPSILON = 1.0
DELTA = 1e-6
"""For peers that need one."""
MAX_GROUPS = 3
MAX_ROWS_PER_GROUP = 5
MAX_ROWS = MAX_GROUPS * MAX_ROWS_PER_GROUP
"""For peers that bound the rows of a unit and not its groups."""
HIGHEST = 100
"""Values go from 0 to this, in cents."""
CATEGORIES = tuple(f"c{place}" for place in range(1, 101))
PARTS = tuple(f"g{place}" for place in range(1, 21))
GROUPED = "SELECT category, COUNT(*) AS n, SUM(value) AS s FROM events GROUP BY category"
SMALL = "SELECT COUNT(*) AS n FROM events"
SMALL_ROWS = 1000
REPORT = "SELECT part, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS a FROM report GROUP BY part"
TOTALS = "SELECT part, COUNT(*) AS n, SUM(value) AS s FROM report GROUP BY part"
"""The report as it is best asked of peers that would charge for the mean as well."""
REPETITIONS = 50
