"""What was published as a file for spreadsheets."""

from __future__ import annotations

import numpy as np

from discreet.release import LogCounts


def test_a_key_that_a_spreadsheet_would_run_is_a_text() -> None:
    """Keys of a log are whatever people typed."""
    keys = (("=HYPERLINK(1)",), ("+1",), ("plain",))
    values = np.array([3, 2, 1], dtype=np.int64)
    log = LogCounts(names=("count",), keys=keys, values=values, error=1.0, max_keys=1, max_count=1)
    assert log.csv().splitlines() == ["count,count", "'=HYPERLINK(1),3", "'+1,2", "plain,1"]
